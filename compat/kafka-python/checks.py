"""Runs producer.py and consumer.py against a broker and checks what came of it.

checks.py BOOTSTRAP UNIQUE all | before-restart | after-restart
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import wire

HERE = os.path.dirname(os.path.abspath(__file__))
CLOSED_PORT = "127.0.0.1:1"
# How long a consumer goes on after its last expected record: 10 s is the seed's, less will do in CI.
SETTLE_S = float(os.environ.get("SETTLE_S", "2" if os.environ.get("CI") else "10"))

bootstrap, unique, phase = sys.argv[1:]
counts = {True: 0, False: 0}


def check(what, expected, actual):
    good = expected == actual
    counts[good] += 1
    print(("ok    " if good else "FAIL  ") + what, flush=True)
    if not good:
        print(f"      expected: {expected}\n      got:      {actual}", flush=True)


def until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not (result := holds()):
        if time.monotonic() > end:
            check(what, "in time", f"not after {seconds} s")
            return result
        time.sleep(0.1)
    return result


class Consumer:
    """A consumer.py in a process of its own, ended by SIGINT as by Ctrl-C."""

    def __init__(self, topic, group):
        self.output = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "consumer.py"), f"{bootstrap},{CLOSED_PORT}", topic, group],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.errors,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def seen(self):
        self.output.seek(0)
        return [json.loads(line) for line in self.output.read().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            check("the consumer ends at SIGINT", "ends", "killed")
        self.errors.seek(0)
        errors = self.errors.read()
        if "KeyboardInterrupt" not in errors:
            check("the consumer runs until SIGINT", "KeyboardInterrupt", errors[-2000:])


def produce(topic, acks, first, count, flush):
    command = [sys.executable, os.path.join(HERE, "producer.py"), f"{bootstrap},{CLOSED_PORT}", topic, acks, str(first), str(count)]
    command += ["flush"] if flush else []
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(f"a producer with acks {acks} ends well", 0, result.returncode)
    if result.returncode:
        print(result.stderr[-2000:])


def assigned(group, members):
    """Waits until so many members share the group's partitions."""
    def holds():
        found = [wire.assigned_partitions(it) for it in wire.assignments(bootstrap, group)]
        return len(found) == members and all(found)
    until(f"{members} consumers are assigned", holds)


def reached_the_log(topic, count):
    """What of a producer without flush() reached the log: 2.0.2 may end before its last record is sent."""
    def total():
        return sum(wire.log_ends(bootstrap, topic, wire.partitions_of(bootstrap, topic)).values())
    end = time.monotonic() + 3
    while total() < count and time.monotonic() < end:
        time.sleep(0.1)
    reached = total()
    if reached == count - 1:
        print("note  the producer ended before it had sent its last record")
        return reached
    return count


def consume(topic, group, acks, first, count, consumers=1, flush=True):
    """Consumers first, then a producer; what each consumer saw."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(Consumer(topic, group)) for _ in range(consumers)]
        assigned(group, consumers)
        produce(topic, acks, first, count, flush)
        count = count if flush else reached_the_log(topic, count)
        until("all records arrive", lambda: sum(len(it.seen()) for it in running) >= count)
        time.sleep(SETTLE_S)
    return [it.seen() for it in running]


def check_orders(what, seen, first, count):
    """Every order once, and in order per key."""
    orders = [it["value"]["order_id"] for it in seen]
    check(f"{what}: every value once", list(range(first, first + count)), sorted(orders))
    check(f"{what}: values are whole", {42}, {it["value"]["amount"] for it in seen})
    for key in sorted({it["key"] for it in seen}):
        of_key = [it["value"]["order_id"] for it in seen if it["key"] == key]
        expected = [n for n in range(first, first + count) if f"user-{n % 3}" == key]
        check(f"{what}: {key} in order", expected, of_key)


def check_commits(what, topic, group):
    partitions = wire.partitions_of(bootstrap, topic)
    ends = wire.log_ends(bootstrap, topic, partitions)
    offsets = wire.committed(bootstrap, group, topic, partitions)
    used = {index: end for index, end in ends.items() if end > 0}
    check(f"{what}: committed offsets are the log ends", used, {index: offsets[index] for index in used})


def names(label):
    return f"tests-orders-{label}-{unique}", f"tests-order-processors-{label}-{unique}"


def create(topic, partitions):
    check(f"{topic} is created", 0, wire.create_topic(bootstrap, topic, partitions))
    until("its leaders", lambda: wire.partitions_of(bootstrap, topic) == partitions)


def the_scripts(acks):
    """As in the seed: the topic is created by the first who names it."""
    topic, group = names(acks)
    (seen,) = consume(topic, group, acks, 0, 10, flush=False)
    check_orders(f"acks {acks}", seen, 0, reached_the_log(topic, 10))
    check_commits(f"acks {acks}", topic, group)


def committed_offsets_are_where_it_goes_on():
    topic, group = names("again")
    create(topic, 2)
    for first in (0, 10):
        (seen,) = consume(topic, group, "all", first, 10)
        check_orders(f"run {first // 10 + 1} of a group", seen, first, 10)
    check_commits("both runs", topic, group)


def two_consumers_share():
    topic, group = names("shared")
    create(topic, 4)
    both = consume(topic, group, "all", 0, 30, consumers=2)
    partitions = [{it["partition"] for it in seen} for seen in both]
    check("two consumers: no partition is read by both", set(), partitions[0] & partitions[1])
    everything = sorted(both[0] + both[1], key=lambda it: (it["partition"], it["offset"]))
    check_orders("two consumers", everything, 0, 30)
    check_commits("two consumers", topic, group)


if phase == "all":
    the_scripts("default")
    the_scripts("all")
    committed_offsets_are_where_it_goes_on()
    two_consumers_share()
elif phase == "before-restart":
    topic, group = names("restart")
    create(topic, 3)
    (seen,) = consume(topic, group, "all", 0, 10)
    check_orders("before the restart", seen, 0, 10)
    check_commits("before the restart", topic, group)
elif phase == "after-restart":
    topic, group = names("restart")
    check("the log is still there", 10, sum(wire.log_ends(bootstrap, topic, 3).values()))
    check_commits("after the restart", topic, group)
    (seen,) = consume(topic, group, "all", 10, 10)
    check_orders("after the restart", seen, 10, 10)
    check_commits("after the second run", topic, group)
print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] != 0)
