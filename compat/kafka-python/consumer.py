"""Prints every order as JSON and commits after each.  consumer.py BOOTSTRAP[,BOOTSTRAP] TOPIC GROUP"""
import json
import sys

from kafka import KafkaConsumer

servers, topic, group = sys.argv[1:]
consumer = KafkaConsumer(
    topic,
    bootstrap_servers=servers.split(","),
    group_id=group,
    enable_auto_commit=False,
    value_deserializer=lambda value: json.loads(value.decode("utf-8")),
    max_poll_records=10,
)
for message in consumer:
    seen = {"partition": message.partition, "offset": message.offset}
    seen.update(key=message.key.decode("utf-8"), value=message.value)
    print(json.dumps(seen), flush=True)
    consumer.commit()
