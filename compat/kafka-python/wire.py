"""The few requests with which the checks look at a broker themselves, written by hand: no client library between."""
import socket
import struct


def string(text):
    return struct.pack(">h", len(text)) + text.encode()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0] if len(values) == 1 else values

    def bytes(self, size):
        piece = self.data[self.at:self.at + max(size, 0)]
        self.at += max(size, 0)
        return piece

    def string(self):
        return self.bytes(self.take("h")).decode()


def ask(bootstrap, key, version, body):
    host, port = bootstrap.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.settimeout(20)
        frame = struct.pack(">hhih", key, version, 1, -1) + body
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        stream = connection.makefile("rb")
        answer = stream.read(struct.unpack(">i", stream.read(4))[0])
    reader = Reader(answer)
    assert reader.take("i") == 1, "correlation id"
    return reader


def create_topic(bootstrap, topic, partitions):
    """CreateTopics v2; returns the error code."""
    body = struct.pack(">i", 1) + string(topic) + struct.pack(">ihii", partitions, 1, 0, 0) + struct.pack(">i?", 10000, False)
    reader = ask(bootstrap, 19, 2, body)
    reader.take("ii")
    reader.string()
    return reader.take("h")


def partitions_of(bootstrap, topic):
    """Metadata v4 without creating it; the number of partitions that have a leader."""
    reader = ask(bootstrap, 3, 4, struct.pack(">i", 1) + string(topic) + struct.pack(">?", False))
    reader.take("i")
    for _ in range(reader.take("i")):
        reader.take("i"), reader.string(), reader.take("i"), reader.string()
    reader.string(), reader.take("ii")
    reader.take("h"), reader.string(), reader.take("?")
    ready = 0
    for _ in range(reader.take("i")):
        error, _, leader = reader.take("hii")
        for _ in range(2):
            reader.bytes(4 * reader.take("i"))
        ready += error == 0 and leader >= 0
    return ready


def assignments(bootstrap, group):
    """DescribeGroups v0; the assignments of a stable group's members, as bytes; otherwise none."""
    reader = ask(bootstrap, 15, 0, struct.pack(">i", 1) + string(group))
    reader.take("i"), reader.take("h"), reader.string()
    state = reader.string()
    reader.string(), reader.string()
    found = []
    for _ in range(reader.take("i")):
        reader.string(), reader.string(), reader.string()
        reader.bytes(reader.take("i"))
        found.append(reader.bytes(reader.take("i")))
    return found if state == "Stable" else []


def assigned_partitions(assignment):
    """How many partitions a consumer's assignment names."""
    if not assignment:
        return 0
    reader = Reader(assignment)
    reader.take("h")
    count = 0
    for _ in range(reader.take("i")):
        reader.string()
        size = reader.take("i")
        reader.bytes(4 * size)
        count += size
    return count


def log_ends(bootstrap, topic, partitions):
    """ListOffsets v1; partition -> end."""
    asked = b"".join(struct.pack(">iq", index, -1) for index in range(partitions))
    reader = ask(bootstrap, 2, 1, struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">i", partitions) + asked)
    reader.take("i"), reader.string()
    ends = {}
    for _ in range(reader.take("i")):
        index, error, _, offset = reader.take("ihqq")
        assert error == 0, error
        ends[index] = offset
    return ends


def committed(bootstrap, group, topic, partitions):
    """OffsetFetch v1; partition -> offset, -1 for none."""
    asked = struct.pack(f">{partitions}i", *range(partitions))
    reader = ask(bootstrap, 9, 1, string(group) + struct.pack(">i", 1) + string(topic) + struct.pack(">i", partitions) + asked)
    reader.take("i"), reader.string()
    offsets = {}
    for _ in range(reader.take("i")):
        index, offset = reader.take("iq")
        reader.string()
        assert reader.take("h") == 0
        offsets[index] = offset
    return offsets
