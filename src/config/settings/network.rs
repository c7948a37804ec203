//! Listeners, connections and requests.

use crate::config::setting::{
    Check::{Any, AtLeast},
    Setting,
    Type::{Int, Long, Text},
    off, on,
};

pub const SETTINGS: &[Setting] = &[
    on(
        "advertised.listeners",
        Text,
        None,
        Any,
        "What clients are told to connect to, by listener name. Without it: what `listeners` \
         says, and for a wildcard address the host name (127.0.0.1 with `--dev`).",
    ),
    on(
        "connections.max.idle.ms",
        Long,
        Some("600000"),
        Any,
        "Milliseconds after which a silent connection is closed; negative: never.",
    ),
    on(
        "fetch.max.bytes",
        Int,
        Some("57671680"),
        AtLeast(1024),
        "Most bytes of records in one fetch answer, whatever the consumer asks for.",
    ),
    off("fetch.purgatory.purge.interval.requests", Int, Some("1000"), Any),
    off("inter.broker.listener.name", Text, None, Any),
    on(
        "listener.security.protocol.map",
        Text,
        Some("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"),
        Any,
        "The security protocol of each listener name. Only PLAINTEXT is served.",
    )
    .dynamic(),
    on(
        "listeners",
        Text,
        Some("PLAINTEXT://:9092"),
        Any,
        "Where the node listens: `NAME://HOST:PORT`, comma-separated. An empty host means all \
         interfaces, port 0 any free port.",
    )
    .dynamic(),
    off("max.connection.creation.rate", Int, Some("2147483647"), AtLeast(0)).dynamic(),
    on(
        "max.connections",
        Int,
        Some("2147483647"),
        AtLeast(0),
        "Most client connections of each listener.",
    )
    .dynamic(),
    off("max.connections.per.ip", Int, Some("2147483647"), AtLeast(0)).dynamic(),
    off("max.connections.per.ip.overrides", Text, Some(""), Any).dynamic(),
    on(
        "max.incremental.fetch.session.cache.slots",
        Int,
        Some("1000"),
        AtLeast(0),
        "Fetch sessions kept; more consumers than this fall back to full fetch requests.",
    ),
    on(
        "max.request.partition.size.limit",
        Int,
        Some("2000"),
        AtLeast(1),
        "Most partitions in one DescribeTopicPartitions answer, whatever the client asks for.",
    ),
    off("num.io.threads", Int, Some("8"), AtLeast(1)).dynamic(),
    off("num.network.threads", Int, Some("3"), AtLeast(1)).dynamic(),
    off("queued.max.request.bytes", Long, Some("-1"), Any),
    off("queued.max.requests", Int, Some("500"), AtLeast(1)),
    off("request.timeout.ms", Int, Some("30000"), Any),
    off("socket.connection.setup.timeout.max.ms", Long, Some("30000"), Any),
    off("socket.connection.setup.timeout.ms", Long, Some("10000"), Any),
    on(
        "socket.listen.backlog.size",
        Int,
        Some("50"),
        AtLeast(1),
        "Connections that may wait to be accepted.",
    ),
    off("socket.receive.buffer.bytes", Int, Some("102400"), Any),
    on(
        "socket.request.max.bytes",
        Int,
        Some("104857600"),
        AtLeast(1),
        "Largest request accepted; a connection that announces a larger one is closed.",
    ),
    off("socket.send.buffer.bytes", Int, Some("102400"), Any),
];
