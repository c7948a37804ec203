//! A producer of librdkafka's: plain or idempotent.
//!
//! A delivery report with an offset is ok. One without an offset is unknown: librdkafka concludes that a record is in the log
//! when its sequence number is before one that was acknowledged, and it need not be (seen on Kafka, two
//! records in five minutes of kills; most likely the first batch of a new producer was refused, because the partition was not
//! led yet, and the second one, in flight behind it, was taken as the first). So is one with an error, since a record that was ever handed to a socket may be in the log. Only a record that
//! librdkafka did not take at all has failed for certain.

use super::{Life, World, settings::producer_settings};
use crate::{payload, random::Random, recorder::Process};
use judge::history::{Acks, Action, Partition, Phase, Role};
use rdkafka::{
    ClientContext, Message,
    error::RDKafkaErrorCode,
    producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext},
};
use std::{sync::Arc, time::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Never gives up a record while it lives.
    Idempotent,
    /// Idempotent, and gives up records after a while. When one of a batch times out that may be in the log already,
    /// librdkafka sends the others again under a new epoch (its INTRODUCTION.md, "Message timeouts"), where the broker cannot
    /// know them: they may be doubled, as with a plain producer.
    Impatient,
    /// acks=all, and no retries: nothing doubled, but much unknown.
    Once,
    /// acks=all with retries: may double and reorder.
    Plain,
    /// acks=1 with retries.
    Leader,
}

impl Kind {
    fn role(self) -> Role {
        Role::Producer {
            idempotent: self == Kind::Idempotent,
            acks: if self == Kind::Leader { Acks::Leader } else { Acks::All },
            // For an impatient one: it may send a record twice.
            retries: self != Kind::Once,
        }
    }
}

struct Deliveries {
    process: Process,
    world: Arc<World>,
}

/// A send that is not complete.
struct Sent {
    op: u64,
    to: Partition,
    key: u32,
    value: u64,
}

impl Sent {
    fn action(self, offset: Option<i64>) -> Action {
        Action::Send { to: self.to, key: self.key, value: self.value, offset }
    }
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Sent>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<Sent>) {
        let op = sent.op;
        match result {
            Ok(message) if message.offset() >= 0 => {
                let offset = message.offset();
                self.world.saw(&sent.to, offset);
                self.process.complete(op, Phase::Ok, sent.action(Some(offset)));
            }
            Ok(_) => {
                self.world.recorder.error("send: acknowledged without an offset");
                self.process.complete(op, Phase::Unknown, sent.action(None));
            }
            Err((error, _)) => {
                self.world.recorder.error(format!("send: {error}"));
                self.process.complete(op, Phase::Unknown, sent.action(None));
            }
        }
    }
}

/// One life. `pace`: records a second.
pub fn live(world: &Arc<World>, random: &mut Random, life: Life, kind: Kind, pace: u64) {
    let mut settings = producer_settings(world);
    settings.set("linger.ms", random.pick(&["0", "2", "20"]));
    settings.set("batch.num.messages", random.pick(&["1", "10", "1000"]));
    match kind {
        Kind::Idempotent => {
            settings.set("enable.idempotence", "true").set("message.timeout.ms", "0")
        }
        Kind::Impatient => settings.set("enable.idempotence", "true"),
        Kind::Once => settings.set("message.send.max.retries", "0"),
        Kind::Plain => settings.set("message.send.max.retries", "100"),
        Kind::Leader => settings.set("acks", "1"),
    };
    let topic = &world.topics[random.between(0, world.topics.len() as u64) as usize];
    if topic.packed {
        settings.set("compression.codec", random.pick(&["lz4", "snappy"]));
    }
    let process = world.recorder.process(kind.role());
    let deliveries = Deliveries { process: process.clone(), world: world.clone() };
    let producer: BaseProducer<Deliveries> = match settings.create_with_context(deliveries) {
        Ok(producer) => producer,
        Err(error) => {
            world.recorder.complain(format!("no producer: {error}"));
            return world.sleep(Duration::from_secs(1));
        }
    };
    let partitions: Vec<Partition> = topic.partitions().collect();
    while !life.is_over(world) {
        let burst = random.between(1, 20);
        for _ in 0..burst {
            let to = &partitions[random.between(0, partitions.len() as u64) as usize];
            send(&producer, &process, to, random);
        }
        producer.poll(Duration::ZERO);
        let pause = Duration::from_micros(burst * 1_000_000 / pace);
        producer.poll(pause / 2);
        world.sleep(pause / 2);
        // For the reason above. The raw producer, with one batch in flight, complains where this one gives up.
        if let Some((code, _)) = producer.client().fatal_error() {
            world.recorder.error(format!("a producer cannot go on: {code}"));
            break;
        }
    }
    if world.stopped() || random.once_in(2) {
        // Long enough for every record to be delivered or timed out.
        let _ = producer.flush(Duration::from_secs(12));
    }
    drop(producer);
    process.happened(Action::Crash);
}

fn send(
    producer: &BaseProducer<Deliveries>,
    process: &Process,
    to: &Partition,
    random: &mut Random,
) {
    let key = random.between(0, 100) as u32;
    // Mostly small; some large enough for a segment file.
    let padding = match random.between(0, 60) {
        0 => random.between(4_000, 12_000),
        1..10 => random.between(100, 1_000),
        _ => random.between(0, 30),
    };
    let value = process.recorder().next_value();
    let op = process.invoke(Action::Send { to: to.clone(), key, value, offset: None });
    let sent = Box::new(Sent { op, to: to.clone(), key, value });
    let (key, payload) = (payload::key(key), payload::encode(value, padding as usize));
    let record = BaseRecord::with_opaque_to(&to.topic, sent)
        .partition(to.index as i32)
        .key(&key)
        .payload(&payload);
    if let Err((error, record)) = producer.send(record) {
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::QueueFull) {
            process.recorder().error(format!("send: {error}"));
        }
        process.complete(op, Phase::Fail, record.delivery_opaque.action(None));
    }
}
