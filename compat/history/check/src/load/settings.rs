//! How librdkafka's clients are set up: impatient, so that a fault of seconds shows.

use super::World;
use rdkafka::ClientConfig;

/// Of every client.
pub fn common_settings(world: &World) -> ClientConfig {
    let mut settings = ClientConfig::new();
    for (name, value) in [
        ("broker.address.family", "v4"),
        ("reconnect.backoff.ms", "20"),
        ("reconnect.backoff.max.ms", "400"),
        ("retry.backoff.ms", "20"),
        ("socket.connection.setup.timeout.ms", "3000"),
        ("socket.timeout.ms", "3000"),
        ("topic.metadata.refresh.interval.ms", "5000"),
        ("log_level", "0"),
    ] {
        settings.set(name, value);
    }
    settings.set("bootstrap.servers", &world.bootstrap);
    settings
}

pub fn producer_settings(world: &World) -> ClientConfig {
    let mut settings = common_settings(world);
    for (name, value) in [
        ("acks", "all"),
        ("request.timeout.ms", "3000"),
        ("message.timeout.ms", "10000"),
        // So that a producer whose broker is away refuses records, too.
        ("queue.buffering.max.messages", "2000"),
    ] {
        settings.set(name, value);
    }
    settings
}

pub fn consumer_settings(world: &World, group: &str) -> ClientConfig {
    let mut settings = common_settings(world);
    for (name, value) in [
        ("group.id", group),
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("auto.offset.reset", "earliest"),
        ("check.crcs", "true"),
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "300"),
        ("fetch.wait.max.ms", "100"),
        ("fetch.error.backoff.ms", "50"),
        ("queued.max.messages.kbytes", "4096"),
    ] {
        settings.set(name, value);
    }
    settings
}
