"""Ten keyed orders, a tenth of a second apart.  producer.py BOOTSTRAP[,BOOTSTRAP] TOPIC ACKS FIRST COUNT [flush]

Without `flush` it ends as a plain script does, which leaves the last records to the library's own exit handling.
"""
import json
import sys
import time

from kafka import KafkaProducer

servers, topic, acks, first, count = sys.argv[1:6]
settings = {} if acks == "default" else {"acks": acks}
producer = KafkaProducer(
    bootstrap_servers=servers.split(","),
    value_serializer=lambda value: json.dumps(value).encode("utf-8"),
    linger_ms=100,
    batch_size=32 * 1024,
    **settings,
)
for number in range(int(first), int(first) + int(count)):
    order = {"order_id": number, "amount": 42}
    producer.send(topic, key=f"user-{number % 3}".encode("utf-8"), value=order)
    time.sleep(0.1)
if sys.argv[6:] == ["flush"]:
    producer.flush()
