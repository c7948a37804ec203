//! Transactions and idempotent producers.

use crate::config::setting::{
    Check::{Any, AtLeast},
    Setting,
    Type::{Boolean, Int, Short},
    off, on,
};

pub const SETTINGS: &[Setting] = &[
    off("add.partitions.to.txn.retry.backoff.max.ms", Int, Some("100"), AtLeast(0)),
    off("add.partitions.to.txn.retry.backoff.ms", Int, Some("20"), AtLeast(1)),
    on(
        "producer.id.expiration.check.interval.ms",
        Int,
        Some("600000"),
        AtLeast(1),
        "How often silent producers are looked for, in milliseconds.",
    )
    .internal(),
    on(
        "producer.id.expiration.ms",
        Int,
        Some("86400000"),
        AtLeast(1),
        "Milliseconds of silence after which an idempotent producer's sequence numbers are \
         forgotten.",
    )
    .dynamic(),
    off(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Int,
        Some("10000"),
        AtLeast(1),
    ),
    off("transaction.max.timeout.ms", Int, Some("900000"), AtLeast(1)),
    off("transaction.partition.verification.enable", Boolean, Some("true"), Any).dynamic(),
    off(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Int,
        Some("3600000"),
        AtLeast(1),
    ),
    off("transaction.state.log.load.buffer.size", Int, Some("5242880"), AtLeast(1)),
    off("transaction.state.log.min.isr", Int, Some("2"), AtLeast(1)),
    off("transaction.state.log.num.partitions", Int, Some("50"), AtLeast(1)),
    off("transaction.state.log.replication.factor", Short, Some("3"), AtLeast(1)),
    off("transaction.state.log.segment.bytes", Int, Some("104857600"), AtLeast(1)),
    off("transaction.two.phase.commit.enable", Boolean, Some("false"), Any),
    off("transactional.id.expiration.ms", Int, Some("604800000"), AtLeast(1)),
];
