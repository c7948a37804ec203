//! What a topic may set, what is in effect, and how it is described. Messages and descriptions were seen on Kafka 4.1.1.

use super::*;
use crate::config::describe::{self, Source};

fn map(overrides: &[(&str, &str)]) -> BTreeMap<String, String> {
    overrides.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn overrides_are_checked_with_kafkas_words() {
    let ok: &[&[(&str, &str)]] = &[
        &[],
        &[("retention.ms", " 5 ")],
        &[("retention.ms", "+5")],
        &[("cleanup.policy", "compact, delete")],
        &[("cleanup.policy", "")],
        &[("compression.gzip.level", "-1")],
        &[("preallocate", "TRUE")],
        &[("min.cleanable.dirty.ratio", "1")],
        &[("retention.bytes", "-5")],
        &[("leader.replication.throttled.replicas", "*")],
        &[("leader.replication.throttled.replicas", "0:1, 1:2")],
        &[("leader.replication.throttled.replicas", "")],
        &[("leader.replication.throttled.replicas", " , ")],
        &[("leader.replication.throttled.replicas", "*,")],
        &[("leader.replication.throttled.replicas", "0:1,, 1:2,")],
        &[("internal.segment.bytes", "100")],
        &[("remote.log.copy.disable", "true")],
        &[("local.retention.ms", "604800001")],
    ];
    for overrides in ok {
        assert_eq!(validate(&Config::default(), &map(overrides)), Ok(()), "{overrides:?}");
    }
    let refused: &[(&[(&str, &str)], &str)] = &[
        (&[("nope", "1")], "Unknown topic config name: nope"),
        (&[("retention.ms", "x"), ("zzz", "1")], "Unknown topic config name: zzz"),
        (&[("message.format.version", "3.0")], "Unknown topic config name: message.format.version"),
        (
            &[("retention.ms", "abc")],
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        (
            &[("retention.ms", "")],
            "Invalid value  for configuration retention.ms: Not a number of type LONG",
        ),
        (
            &[("retention.ms", "5L")],
            "Invalid value 5L for configuration retention.ms: Not a number of type LONG",
        ),
        (
            &[("retention.ms", "9223372036854775808")],
            "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG",
        ),
        (
            &[("retention.ms", "-2")],
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            &[("segment.ms", "0")],
            "Invalid value 0 for configuration segment.ms: Value must be at least 1",
        ),
        (
            &[("segment.bytes", "1")],
            "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            &[("segment.bytes", "99999999999")],
            "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
        ),
        (
            &[("cleanup.policy", "x")],
            "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            &[("cleanup.policy", "delete,")],
            "Invalid value  for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            &[("compression.type", "GZIP")],
            "Invalid value GZIP for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            &[("compression.gzip.level", "0")],
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            &[("compression.lz4.level", "18")],
            "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17",
        ),
        (
            &[("compression.zstd.level", "-131073")],
            "Invalid value -131073 for configuration compression.zstd.level: Value must be at least -131072",
        ),
        (
            &[("leader.replication.throttled.replicas", "*,*")],
            "Invalid value [*, *] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            &[("preallocate", " 5 ")],
            "Invalid value  5  for configuration preallocate: Expected value to be either true or false",
        ),
        (
            &[("flush.ms", " x ")],
            "Invalid value  x  for configuration flush.ms: Not a number of type LONG",
        ),
        (
            &[("preallocate", "yes")],
            "Invalid value yes for configuration preallocate: Expected value to be either true or false",
        ),
        (
            &[("min.cleanable.dirty.ratio", "2")],
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            &[("min.cleanable.dirty.ratio", "x")],
            "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
        ),
        (
            &[("message.timestamp.type", "createtime")],
            "Invalid value createtime for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime",
        ),
        (
            &[("min.insync.replicas", "0")],
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            &[("flush.messages", "0")],
            "Invalid value 0 for configuration flush.messages: Value must be at least 1",
        ),
        (
            &[("leader.replication.throttled.replicas", "x")],
            "Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            &[("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            &[("remote.storage.enable", "true")],
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
        ),
    ];
    for (overrides, message) in refused {
        assert_eq!(
            validate(&Config::default(), &map(overrides)),
            Err(message.to_string()),
            "{overrides:?}"
        );
    }
}

#[test]
fn a_topic_overrides_the_broker_and_the_broker_the_default() {
    let defaults = LogConfig::resolve(&Config::default(), &map(&[]));
    assert_eq!(defaults.retention_ms, 604_800_000);
    assert_eq!((defaults.segment_ms, defaults.segment_bytes), (604_800_000, 1 << 30));
    assert_eq!((defaults.flush_messages, defaults.flush_ms), (i64::MAX, i64::MAX));
    assert_eq!(defaults.max_message_bytes, 1_048_588);
    assert_eq!(defaults.compression, Compression::Producer);
    assert_eq!(defaults.message_timestamp_type, TimestampType::CreateTime);
    assert_eq!(defaults.message_timestamp_before_max_ms, i64::MAX);
    assert_eq!(defaults.message_timestamp_after_max_ms, 3_600_000);
    assert_eq!(defaults.cleanup_policy, CleanupPolicy { compact: false, delete: true });

    let set = [
        ("message.max.bytes", "1000"),
        ("log.segment.bytes", "2000000"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "7"),
        ("log.message.timestamp.type", "LogAppendTime"),
    ];
    let broker = Config::build(false, &set).unwrap();
    let topic = map(&[
        ("max.message.bytes", "2000"),
        ("flush.messages", "1"),
        ("cleanup.policy", "compact"),
    ]);
    let resolved = LogConfig::resolve(&broker, &topic);
    assert_eq!((resolved.max_message_bytes, resolved.flush_messages), (2000, 1));
    assert_eq!(resolved.segment_bytes, 2_000_000);
    assert_eq!(resolved.compression, Compression::Zstd(7));
    assert_eq!(resolved.message_timestamp_type, TimestampType::LogAppendTime);
    assert_eq!(resolved.cleanup_policy, CleanupPolicy { compact: true, delete: false });
    assert_eq!(broker.topic_defaults, LogConfig::resolve(&broker, &map(&[])));

    let odd = map(&[("nope", "1"), ("max.message.bytes", "x"), ("internal.segment.bytes", "100")]);
    let resolved = LogConfig::resolve(&broker, &odd);
    assert_eq!((resolved.max_message_bytes, resolved.segment_bytes), (1000, 100));
}

#[test]
fn of_several_broker_names_the_finest_unit_wins() {
    type Case = (&'static [(&'static str, &'static str)], i64, i64, i64, i64);
    let cases: &[Case] = &[
        (
            &[
                ("log.retention.hours", "1"),
                ("log.roll.hours", "2"),
                ("log.roll.jitter.hours", "3"),
            ],
            3_600_000,
            7_200_000,
            10_800_000,
            i64::MAX,
        ),
        (
            &[
                ("log.retention.hours", "1"),
                ("log.retention.minutes", "2"),
                ("log.roll.hours", "2"),
                ("log.roll.ms", "5"),
            ],
            120_000,
            5,
            0,
            i64::MAX,
        ),
        (
            &[
                ("log.retention.minutes", "2"),
                ("log.retention.ms", "7"),
                ("log.flush.scheduler.interval.ms", "9"),
            ],
            7,
            604_800_000,
            0,
            9,
        ),
        (
            &[
                ("log.retention.hours", "-1"),
                ("log.flush.scheduler.interval.ms", "9"),
                ("log.flush.interval.ms", "8"),
            ],
            -1,
            604_800_000,
            0,
            8,
        ),
        (
            &[("log.retention.hours", "2147483647")],
            2_147_483_647 * 3_600_000,
            604_800_000,
            0,
            i64::MAX,
        ),
    ];
    for (set, retention, segment, jitter, flush) in cases {
        let config = Config::build(false, set).unwrap().topic_defaults;
        let got =
            (config.retention_ms, config.segment_ms, config.segment_jitter_ms, config.flush_ms);
        assert_eq!(got, (*retention, *segment, *jitter, *flush), "{set:?}");
    }
}

#[test]
fn defaults_are_the_brokers_in_the_table_too() {
    let values = Values::new(false);
    for topic_setting in table::all() {
        let setting = &topic_setting.setting;
        assert_eq!(
            default_of(topic_setting, &values).as_deref(),
            setting.default,
            "{}",
            setting.name
        );
        if let Some(default) = setting.default {
            assert_eq!(setting.read(default).as_deref(), Ok(default), "{}", setting.name);
        }
        for behind in topic_setting.behind {
            assert!(crate::config::settings::find(behind.name).is_some(), "{}", behind.name);
        }
    }
    assert!(table::all().map(|t| t.setting.name).is_sorted());
    assert_eq!(table::all().count(), 34);
}

#[test]
fn a_topic_is_described_as_kafka_describes_it() {
    let config =
        Config::build(false, &[("log.retention.hours", "1"), ("message.max.bytes", "1000")])
            .unwrap();
    let overrides =
        map(&[("segment.bytes", "2000000"), ("retention.bytes", "-1"), ("preallocate", "TRUE")]);
    let entries = describe::topic(&config, &overrides);
    assert_eq!(entries.len(), 33);
    let shown = |name: &str| {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        let synonyms: Vec<_> = entry
            .synonyms
            .iter()
            .map(|s| (&*s.name, s.value.as_deref().unwrap(), s.source as i8))
            .collect();
        (entry.value.clone().unwrap(), entry.source as i8, entry.kind.unwrap().code(), synonyms)
    };
    let own = |value: &str, source, kind, synonyms: &[(&'static str, &'static str, i8)]| {
        (value.to_owned(), source, kind, synonyms.to_vec())
    };
    // Set to its default, and yet the topic's own.
    assert_eq!(
        shown("retention.bytes"),
        own("-1", 1, 5, &[("retention.bytes", "-1", 1), ("log.retention.bytes", "-1", 5)])
    );
    assert_eq!(
        shown("segment.bytes"),
        own(
            "2000000",
            1,
            3,
            &[("segment.bytes", "2000000", 1), ("log.segment.bytes", "1073741824", 5)]
        )
    );
    assert_eq!(
        shown("preallocate"),
        own("true", 1, 1, &[("preallocate", "true", 1), ("log.preallocate", "false", 5)])
    );
    assert_eq!(
        shown("max.message.bytes"),
        own("1000", 4, 3, &[("message.max.bytes", "1000", 4), ("message.max.bytes", "1048588", 5)])
    );
    // The broker's hours are in effect, but Kafka names only `log.retention.ms` here, which is not set.
    assert_eq!(shown("retention.ms"), own("3600000", 5, 5, &[]));
    assert_eq!(shown("flush.ms"), own("9223372036854775807", 5, 5, &[]));
    assert_eq!(shown("remote.storage.enable"), own("false", 5, 1, &[]));
    assert_eq!(
        shown("cleanup.policy"),
        own("delete", 5, 7, &[("log.cleanup.policy", "delete", 5)])
    );
    assert!(entries.iter().all(|entry| !entry.read_only && !entry.sensitive));

    let with_internal = describe::topic(&config, &map(&[("internal.segment.bytes", "100")]));
    let internal =
        with_internal.iter().find(|entry| entry.name == "internal.segment.bytes").unwrap();
    assert_eq!((internal.value.as_deref(), internal.source), (Some("100"), Source::Topic));
}

#[test]
fn only_what_partitions_follow_makes_a_difference() {
    let with = |name: &str, value: &str| {
        let set = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Config::default().with_dynamic(&set, &BTreeMap::new())
    };
    for (name, value, differ) in [
        ("foo", "1", false),
        ("max.connections", "7", false),
        ("log.retention.ms", "604800000", false),
        ("log.retention.ms", "5", true),
        // Without effect unless a topic sets its codec.
        ("compression.gzip.level", "3", true),
        // No topic's own, but of all partitions.
        ("producer.id.expiration.ms", "5", true),
    ] {
        assert_eq!(defaults_differ(&Config::default(), &with(name, value)), differ, "{name}");
    }
}
