//! Sources and their order, every refusal's message, listeners and what they advertise, the tables, the description of
//! the broker. Values Kafka answers were seen on 4.1.1.

use super::{describe::Source, *};
use expect_test::expect;
use std::{fs, path::Path};

fn refusal(set: &[(&str, &str)]) -> String {
    Config::build(false, set).expect_err("must be refused").to_string()
}

/// Loads a file with this text, as `config.yaml`.
fn from_file(text: &str) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::write(&path, text).unwrap();
    let shown = dir.path().display().to_string() + "/";
    Config::load(&Sources { file: Some(path), ..Sources::default() })
        .map_err(|error| error.to_string().replace(&shown, ""))
}

fn environment(variables: &[(&str, &str)]) -> Sources {
    let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    Sources { environment: variables.iter().map(owned).collect(), ..Sources::default() }
}

#[test]
fn defaults_are_kafkas_and_dev_changes_defaults_only() {
    let kafka = Config::default();
    assert_eq!(kafka.log_dir.as_deref(), Some(Path::new("./ottla-data")));
    let most = kafka.topic_defaults.max_message_bytes;
    assert_eq!((kafka.node_id, kafka.num_partitions, most), (1, 1, 1048588));
    assert_eq!(kafka.group_initial_rebalance_delay_ms, 3000);
    assert_eq!(kafka.group_min_session_timeout_ms, 6000);
    assert_eq!(kafka.offsets_topic_num_partitions, 50);
    assert_eq!((&kafka.listeners[0].host, kafka.listeners[0].port), (&None, 9092));

    let dev = Config::dev();
    assert_eq!(dev.log_dir, None);
    assert_eq!(dev.group_initial_rebalance_delay_ms, 0);
    assert_eq!(dev.group_min_session_timeout_ms, 1);
    assert_eq!(dev.offsets_topic_num_partitions, 1);
    assert_eq!(dev.listeners[0].host.as_deref(), Some("127.0.0.1"));

    let set = [
        ("offsets.topic.num.partitions", "7"),
        ("log.dirs", "/d"),
        ("listeners", "A://:1"),
        ("listener.security.protocol.map", "A:PLAINTEXT"),
    ];
    let dev = Config::build(true, &set).unwrap();
    assert_eq!(dev.offsets_topic_num_partitions, 7);
    assert_eq!(dev.log_dir.as_deref(), Some(Path::new("/d")));
    assert_eq!((&dev.listeners[0].host, dev.listeners[0].port), (&None, 1));
}

#[test]
fn later_sources_win() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    fs::write(&path, "num.partitions: 2\nlog.dirs: /file\nlisteners: PLAINTEXT://file:1\n")
        .unwrap();
    let mut sources = Sources { file: Some(path), ..Sources::default() };
    let loaded = |sources: &Sources| {
        let config = Config::load(sources).unwrap();
        let listener = config.listeners[0].host.clone().unwrap();
        let dir = config.log_dir.unwrap().display().to_string();
        (config.num_partitions, dir, listener)
    };
    let as_expected = |n, dir: &str, listener: &str| (n, dir.to_owned(), listener.to_owned());
    assert_eq!(loaded(&sources), as_expected(2, "/file", "file"));
    let variables = [
        ("OTTLA_NUM_PARTITIONS", "3"),
        ("OTTLA_LOG_DIRS", "/env"),
        ("OTTLA_LISTENERS", "PLAINTEXT://env:1"),
        ("PATH", "/bin"),
    ];
    sources.environment = environment(&variables).environment;
    assert_eq!(loaded(&sources), as_expected(3, "/env", "env"));
    sources.set = vec![
        "num.partitions=4".into(),
        "log.dirs = /set".into(),
        "listeners=PLAINTEXT://set:1".into(),
        "num.partitions=5".into(),
    ];
    assert_eq!(loaded(&sources), as_expected(5, "/set", "set"));
    sources.listen = Some("listen:1".into());
    sources.log_dir = Some("/log-dir".into());
    assert_eq!(loaded(&sources), as_expected(5, "/log-dir", "listen"));
    sources.dev = true;
    assert_eq!(loaded(&sources), as_expected(5, "/log-dir", "listen"));
}

#[test]
fn a_file_holds_kafkas_names_with_plain_values() {
    let config = from_file(
        "# comment\nnode.id: 7\nauto.create.topics.enable: FALSE\n\"broker.rack\": 'a b'\n\
         log.cleaner.min.cleanable.ratio: 0.25\nlog.cleanup.policy: compact, delete\n",
    )
    .unwrap();
    assert_eq!((config.node_id, config.auto_create_topics_enable), (7, false));
    assert_eq!(config.broker_rack.as_deref(), Some("a b"));
    let policy = config.topic_defaults.cleanup_policy;
    assert!(policy.compact && policy.delete);
    assert_eq!(from_file("").unwrap().node_id, 1);
    assert_eq!(from_file("# nothing\n").unwrap().node_id, 1);
}

#[test]
fn a_bad_file_is_refused_with_name_line_and_nearest_name() {
    let cases = [
        (
            "node.id: 1\nnum.partitons: 3\n",
            "config.yaml, line 2: unknown setting `num.partitons`, did you mean `num.partitions`?",
        ),
        (
            "'log.dir.': x\n",
            "config.yaml, line 1: unknown setting `log.dir.`, did you mean `log.dir`?",
        ),
        (
            "completely.different: 1\n",
            "config.yaml, line 1: unknown setting `completely.different`",
        ),
        (
            "\n\n  num.partitions : x\n",
            "config.yaml, line 3: Invalid value x for configuration num.partitions: Not a number of type INT",
        ),
        (
            "num.partitions: 0\n",
            "config.yaml, line 1: Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        (
            "{node.id: 1, num.partitions: 0}\n",
            "config.yaml: Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        (
            "log:\n  dirs: x\n",
            "config.yaml, line 1: `log` is nested: settings are one `name: value` each, with Kafka's dotted names",
        ),
        (
            "log.dirs: [a]\n",
            "config.yaml, line 1: `log.dirs` is nested: settings are one `name: value` each, with Kafka's dotted names",
        ),
        ("log.dirs:\n", "config.yaml, line 1: `log.dirs` has no value (\"\" is the empty one)"),
        ("- a\n", "config.yaml: must be a map of settings, `name: value`"),
        ("5: a\n", "config.yaml: `5` is not a setting's name"),
        ("node.id: 1\nnode.id: 2\n", "config.yaml: duplicate entry with key \"node.id\""),
        (
            "node.id: 1\nlog.dirs: a,b\n",
            "config.yaml, line 2: `log.dirs` names more than one directory: a node has exactly one",
        ),
        (
            "node.id: 1\nlisteners: SSL://:1\n",
            "config.yaml, line 2: listener SSL: security protocol SSL is not there yet, only PLAINTEXT is",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(from_file(text).expect_err(text), message, "{text}");
    }
    assert!(from_file("a: [").expect_err("not YAML").starts_with("config.yaml: "));
    let missing = Sources { file: Some("/nowhere/config.yaml".into()), ..Sources::default() };
    let message = Config::load(&missing).expect_err("missing").to_string();
    assert_eq!(message, "/nowhere/config.yaml: No such file or directory (os error 2)");
}

#[test]
fn bad_variables_and_arguments_are_refused() {
    let set = |text: &str| Sources { set: vec![text.into()], ..Sources::default() };
    let listen = |text: &str| Sources { listen: Some(text.into()), ..Sources::default() };
    let cases = [
        (
            environment(&[("OTTLA_NUM_PARTITONS", "1")]),
            "environment variable OTTLA_NUM_PARTITONS: unknown setting `num.partitons`, did you mean `OTTLA_NUM_PARTITIONS`?",
        ),
        (
            environment(&[("OTTLA_num_partitions", "1")]),
            "environment variable OTTLA_num_partitions: unknown setting `num.partitions`, did you mean `OTTLA_NUM_PARTITIONS`?",
        ),
        (environment(&[("OTTLA_", "1")]), "environment variable OTTLA_: unknown setting ``"),
        (
            environment(&[("OTTLA_NUM_PARTITIONS", "")]),
            "environment variable OTTLA_NUM_PARTITIONS: Invalid value  for configuration num.partitions: Not a number of type INT",
        ),
        (set("num.partitions"), "--set: `num.partitions` is not name=value"),
        (
            set("num.partitions=-1"),
            "--set: Invalid value -1 for configuration num.partitions: Value must be at least 1",
        ),
        (
            set("num.partition=1"),
            "--set: unknown setting `num.partition`, did you mean `num.partitions`?",
        ),
        (listen("9092"), "--listen: `9092` is not HOST:PORT"),
        (listen("h:99999"), "--listen: `h:99999` is not HOST:PORT"),
        (listen("h:"), "--listen: `h:` is not HOST:PORT"),
        (listen("[h]:1"), "--listen: `[h]:1` is not HOST:PORT"),
        (listen("a,b:1"), "--listen: `a,b:1` is not HOST:PORT"),
        (listen("PLAINTEXT://h:1"), "--listen: `PLAINTEXT://h:1` is not HOST:PORT"),
    ];
    for (sources, message) in cases {
        assert_eq!(Config::load(&sources).expect_err(message).to_string(), message);
    }
}

/// A pod beside a service called ottla finds these in its environment.
#[test]
fn variables_that_kubernetes_makes_are_passed_over() {
    let variables = [
        ("OTTLA_PORT", "tcp://10.0.0.1:9092"),
        ("OTTLA_PORT_9092_TCP_ADDR", "10.0.0.1"),
        ("OTTLA_SERVICE_HOST", "10.0.0.1"),
        ("OTTLA_SERVICE_PORT_KAFKA", "9092"),
        ("OTTLA_BROKER_SERVICE_HOST", "10.0.0.1"),
        ("OTTLA_NUM_PARTITIONS", "2"),
    ];
    assert_eq!(Config::load(&environment(&variables)).unwrap().num_partitions, 2);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("node.id", "1"), ("broker.id", "2")],
            "`broker.id` is 2 and `node.id` is 1: they must be equal",
        ),
        (&[("broker.id", "-2")], "`broker.id` is -2, must not be negative"),
        (
            &[("node.id", "-1")],
            "Invalid value -1 for configuration node.id: Value must be at least 0",
        ),
        (&[("log.dirs", "")], "`log.dirs` must name a directory"),
        (&[("log.dir", "a,b")], "`log.dir` names more than one directory: a node has exactly one"),
        (&[("log.roll.ms", "0")], "`log.roll.ms` must be at least 1"),
        (&[("log.roll.jitter.ms", "-1")], "`log.roll.jitter.ms` must be at least 0"),
        (&[("log.retention.ms", "0")], "`log.retention.ms` must be -1 (unlimited) or at least 1"),
        (&[("log.retention.ms", "-2")], "`log.retention.ms` must be -1 (unlimited) or at least 1"),
        (
            &[("group.max.session.timeout.ms", "5")],
            "`group.min.session.timeout.ms` is above `group.max.session.timeout.ms`",
        ),
    ];
    for (set, message) in cases {
        assert_eq!(refusal(set), format!("configuration: {message}"), "{set:?}");
    }
    assert_eq!(Config::build(false, &[("broker.id", "5")]).unwrap().node_id, 5);
    let old = Config::build(false, &[("log.dir", "/old")]).unwrap();
    assert_eq!(old.log_dir.as_deref(), Some(Path::new("/old")));
}

#[test]
fn listeners_are_parsed() {
    let parsed = |listeners: &str| {
        let map = "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,EX_2:plaintext,CONTROLLER:PLAINTEXT";
        let set = [
            ("listeners", listeners),
            ("listener.security.protocol.map", map),
            ("controller.listener.names", "CONTROLLER"),
        ];
        let config = Config::build(false, &set).map_err(|error| error.to_string())?;
        let shown =
            |l: &Listener| format!("{}|{}|{}", l.name, l.host.as_deref().unwrap_or("any"), l.port);
        Ok::<_, String>(config.listeners.iter().map(shown).collect::<Vec<_>>().join(" "))
    };
    let good = [
        ("PLAINTEXT://:9092", "PLAINTEXT|any|9092"),
        ("plaintext://localhost:0", "PLAINTEXT|localhost|0"),
        ("PLAINTEXT://0.0.0.0:1", "PLAINTEXT|0.0.0.0|1"),
        ("PLAINTEXT://[::]:1", "PLAINTEXT|any|1"),
        ("PLAINTEXT://[::1]:1", "PLAINTEXT|::1|1"),
        ("PLAINTEXT://::1:1", "PLAINTEXT|::1|1"),
        ("IN://a:1 , EX_2://b:2", "IN|a|1 EX_2|b|2"),
        ("IN://127.0.0.1:1,EX_2://[::1]:1", "IN|127.0.0.1|1 EX_2|::1|1"),
        ("IN://a:0,EX_2://a:0", "IN|a|0 EX_2|a|0"),
        ("IN://:1,CONTROLLER://:2", "IN|any|1"),
    ];
    for (text, expected) in good {
        assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
    }
    let bad = [
        ("localhost:9092", "`listeners`: `localhost:9092` is not NAME://HOST:PORT"),
        ("://h:1", "`listeners`: `://h:1` is not NAME://HOST:PORT"),
        ("IN://h", "`listeners`: `IN://h` is not NAME://HOST:PORT"),
        ("IN://h:65536", "`listeners`: `IN://h:65536` is not NAME://HOST:PORT"),
        ("IN://h:-1", "`listeners`: `IN://h:-1` is not NAME://HOST:PORT"),
        ("IN://a b:1", "`listeners`: `IN://a b:1` is not NAME://HOST:PORT"),
        ("IN://a:1,in://b:2", "`listeners` names the listener IN twice"),
        (
            "IN://a:1,EX_2://b:1",
            "`listeners`: IN and EX_2 have the same port 1; only an IPv4 and an IPv6 address may share one",
        ),
        (
            "IN://127.0.0.1:1,EX_2://127.0.0.2:1",
            "`listeners`: IN and EX_2 have the same port 1; only an IPv4 and an IPv6 address may share one",
        ),
        (
            "IN://:1,CONTROLLER://:1",
            "`listeners`: IN and CONTROLLER have the same port 1; only an IPv4 and an IPv6 address may share one",
        ),
        ("CONTROLLER://:1", "`listeners` must name at least one client listener"),
        ("", "`listeners` must name at least one client listener"),
        (
            "X://:1",
            "listener X: `listener.security.protocol.map` does not say its security protocol",
        ),
    ];
    for (text, message) in bad {
        assert_eq!(parsed(text), Err(format!("configuration: {message}")), "{text}");
    }
    let map = |map: &str| refusal(&[("listener.security.protocol.map", map)]);
    assert_eq!(
        map("PLAINTEXT:SASL_SSL"),
        "configuration: listener PLAINTEXT: security protocol SASL_SSL is not there yet, only PLAINTEXT is"
    );
    assert_eq!(
        map("PLAINTEXT:TLS"),
        "configuration: `listener.security.protocol.map`: TLS is not a security protocol"
    );
    assert_eq!(
        map("PLAINTEXT"),
        "configuration: `listener.security.protocol.map`: `PLAINTEXT` is not NAME:PROTOCOL"
    );
}

#[test]
fn what_clients_are_told() {
    let told = |dev: bool, listeners: &str, advertised: Option<&str>| {
        let map = "IN:PLAINTEXT,EX:PLAINTEXT,CONTROLLER:PLAINTEXT";
        let mut set = vec![
            ("listeners", listeners),
            ("listener.security.protocol.map", map),
            ("controller.listener.names", "CONTROLLER"),
        ];
        set.extend(advertised.map(|text| ("advertised.listeners", text)));
        let mut config = Config::build(dev, &set).map_err(|error| error.to_string())?;
        config.host_name = "box".into();
        let shown = (0..config.listeners.len()).map(|index| {
            let bound = config.listeners[index].port.max(5);
            let (host, port) = config.advertised(index, bound);
            host_port(&host, port)
        });
        Ok::<_, String>(shown.collect::<Vec<_>>().join(" "))
    };
    let good = [
        (false, "IN://:9", None, "box:9"),
        (true, "IN://:9", None, "127.0.0.1:9"),
        (false, "IN://0.0.0.0:9", None, "box:9"),
        (false, "IN://[::]:9", None, "box:9"),
        (false, "IN://10.0.0.1:9", None, "10.0.0.1:9"),
        (false, "IN://[::1]:0", None, "[::1]:5"),
        (false, "IN://:9,EX://:8", Some("EX://pub:80,IN://in:90"), "in:90 pub:80"),
        (false, "IN://:9,EX://h:8", Some("IN://in:90"), "in:90 h:8"),
        (false, "IN://:0", Some("in://in:0"), "in:5"),
        (false, "IN://:9,EX://:8", Some("IN://same:1,EX://same:1"), "same:1 same:1"),
        (false, "IN://:9,CONTROLLER://:8", Some("IN://in:9,CONTROLLER://c:8"), "in:9"),
    ];
    for (dev, listeners, advertised, expected) in good {
        assert_eq!(
            told(dev, listeners, advertised).as_deref(),
            Ok(expected),
            "{listeners} {advertised:?}"
        );
    }
    let bad = [
        (
            "IN://0.0.0.0:9",
            "`advertised.listeners`: clients cannot connect to `0.0.0.0:9`: name an address or a host",
        ),
        (
            "IN://[::]:9",
            "`advertised.listeners`: clients cannot connect to `[::]:9`: name an address or a host",
        ),
        (
            "IN://:9",
            "`advertised.listeners`: clients cannot connect to `:9`: name an address or a host",
        ),
        ("EX://h:9", "`advertised.listeners` names the listener EX, which `listeners` does not"),
        ("IN://a:9,IN://b:9", "`advertised.listeners` names the listener IN twice"),
        ("IN:9", "`advertised.listeners`: `IN:9` is not NAME://HOST:PORT"),
    ];
    for (advertised, message) in bad {
        for dev in [false, true] {
            let refused = told(dev, "IN://:9", Some(advertised));
            assert_eq!(refused, Err(format!("configuration: {message}")), "{advertised}");
        }
    }
}

#[test]
fn settings_without_effect_are_named_once() {
    let set = [
        ("num.io.threads", "3"),
        ("num.partitions", "3"),
        ("num.io.threads", "4"),
        ("ssl.protocol", "x"),
    ];
    let warnings = Config::build(false, &set).unwrap().warnings;
    expect![[r#"
        [
            "configuration: `num.io.threads` is known but has no effect in this version",
            "configuration: `ssl.protocol` is known but has no effect in this version",
        ]
    "#]]
    .assert_debug_eq(&warnings);
    assert!(Config::default().warnings.is_empty() && Config::dev().warnings.is_empty());
}

#[test]
fn the_tables_are_sound() {
    let mut names: Vec<_> = settings::all().map(|setting| setting.name).collect();
    let known = names.len();
    names.sort_unstable();
    names.dedup();
    // 336 of Kafka 4.1.1 and log.dir.reserve.bytes.
    assert_eq!((names.len(), known), (337, 337));
    for setting in settings::all() {
        assert_eq!(settings::find(setting.name), Some(setting), "areas are in name order");
        for dev in [false, true] {
            if let Some(default) = settings::default_of(setting, dev) {
                assert_eq!(setting.read(default).as_deref(), Ok(default), "{}", setting.name);
            }
        }
        assert!(
            !setting.name.contains('_'),
            "{}: OTTLA_ variables could not name it",
            setting.name
        );
        assert!(!setting.effect || setting.doc != setting::NO_EFFECT, "{}", setting.name);
    }
    for (name, _) in settings::DEV {
        assert!(settings::find(name).is_some(), "{name}");
    }
}

#[test]
fn values_are_shown_as_kafka_shows_them() {
    let shown = |name: &str, text: &str| settings::find(name).unwrap().read(text);
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(shown("num.partitions", " +5 "), ok("5"));
    assert_eq!(shown("auto.create.topics.enable", "True"), ok("true"));
    assert_eq!(shown("log.cleanup.policy", "compact , delete"), ok("compact,delete"));
    assert_eq!(shown("log.cleanup.policy", ""), ok(""));
    let double = |text: &str| shown("log.cleaner.io.max.bytes.per.second", text);
    for (text, kafka) in [
        ("1", "1.0"),
        ("0.5f", "0.5"),
        ("1e-1", "0.1"),
        ("0", "0.0"),
        ("0.001", "0.001"),
        ("0.0001", "1.0E-4"),
        ("1234567", "1234567.0"),
        ("12345678", "1.2345678E7"),
        ("1e300", "1.0E300"),
        ("-1e7", "-1.0E7"),
        ("NaN", "NaN"),
    ] {
        assert_eq!(double(text), ok(kafka), "{text}");
    }
    assert_eq!(
        shown("group.consumer.migration.policy", "x"),
        Err("Invalid value x for configuration group.consumer.migration.policy: String must be one of (case \
             insensitive): DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL"
            .into())
    );
    assert_eq!(shown("group.consumer.migration.policy", "upgrade"), ok("upgrade"));
    assert_eq!(
        shown("offsets.topic.replication.factor", "40000"),
        Err("Invalid value 40000 for configuration offsets.topic.replication.factor: Not a number of type SHORT".into())
    );
}

#[test]
fn nearest_names() {
    for (name, expected) in [
        ("num.partitons", Some("num.partitions")),
        ("advertised.listener", Some("advertised.listeners")),
        ("auto.create.topics.enabled", Some("auto.create.topics.enable")),
        ("", None),
        ("xyz", None),
        ("qqqqqqqqqqqqqqqqqqqqqqqqqq", None),
    ] {
        assert_eq!(settings::nearest(name), expected, "{name}");
    }
    // Bounded, whatever is asked.
    assert_eq!(settings::nearest(&"x".repeat(1 << 20)), None);
}

#[test]
fn the_broker_is_described_as_kafka_describes_itself() {
    let set = [
        ("listeners", "PLAINTEXT://h:1"),
        ("log.roll.hours", "5"),
        ("ssl.key.password", "secret"),
        ("unstable.api.versions.enable", "true"),
    ];
    let config = Config::build(false, &set).unwrap();
    let entries = describe::broker(&config);
    let names: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    assert!(names.is_sorted());
    let shown = |name: &str| {
        let entry = entries.iter().find(|entry| entry.name == name)?;
        let synonyms: Vec<_> =
            entry.synonyms.iter().map(|s| (&*s.name, s.value.as_deref(), s.source as i8)).collect();
        let flags = (entry.read_only, entry.sensitive, entry.kind.unwrap().code());
        Some(format!("{:?} {} {:?} {:?}", entry.value, entry.source as i8, flags, synonyms))
    };
    let expected = [
        (
            "listeners",
            r#"Some("PLAINTEXT://h:1") 4 (false, false, 2) [("listeners", Some("PLAINTEXT://h:1"), 4), ("listeners", Some("PLAINTEXT://:9092"), 5)]"#,
        ),
        ("num.partitions", r#"Some("1") 5 (true, false, 3) [("num.partitions", Some("1"), 5)]"#),
        ("log.retention.ms", "None 5 (false, false, 5) []"),
        (
            "log.retention.hours",
            r#"Some("168") 5 (true, false, 3) [("log.retention.hours", Some("168"), 5)]"#,
        ),
        ("log.roll.ms", "None 5 (false, false, 5) []"),
        (
            "log.roll.hours",
            r#"Some("5") 4 (true, false, 3) [("log.roll.hours", Some("5"), 4), ("log.roll.hours", Some("168"), 5)]"#,
        ),
        ("ssl.key.password", r#"None 4 (false, true, 9) [("ssl.key.password", None, 4)]"#),
        (
            "broker.id",
            r#"Some("1") 4 (true, false, 3) [("broker.id", Some("1"), 4), ("broker.id", Some("-1"), 5)]"#,
        ),
        (
            "unstable.api.versions.enable",
            r#"Some("true") 4 (true, false, 1) [("unstable.api.versions.enable", Some("true"), 4), ("unstable.api.versions.enable", Some("false"), 5)]"#,
        ),
    ];
    for (name, text) in expected {
        assert_eq!(shown(name).as_deref(), Some(text), "{name}");
    }
    assert_eq!(shown("unstable.feature.versions.enable"), None);
    // 316 of Kafka 4.1.1, our own, and one internal setting that was given.
    assert_eq!(entries.len(), 318);
    assert_eq!(describe::broker(&Config::default()).len(), 317);
}

#[test]
fn groups_and_client_metrics_are_described() {
    let config = Config::build(false, &[("group.consumer.session.timeout.ms", "50000")]).unwrap();
    let group = describe::group(&config, &Default::default());
    let session = group.iter().find(|e| e.name == "consumer.session.timeout.ms").unwrap();
    assert_eq!((session.value.as_deref(), session.source), (Some("50000"), Source::Default));
    assert_eq!(group.len(), 10);
    assert!(group.iter().all(|entry| entry.value.is_some() && !entry.read_only));
    let metrics: Vec<_> = describe::client_metrics(&Default::default())
        .into_iter()
        .map(|e| (e.name.into_owned(), e.value.unwrap()))
        .collect();
    let expected = [("interval.ms", "300000"), ("match", ""), ("metrics", "")];
    assert_eq!(metrics, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// `config.yaml` is the documented example: it names every setting that has effect, and changes nothing as it stands.
#[test]
fn the_example_file_is_true() {
    let text = include_str!("../../config.yaml");
    let config = from_file(text).unwrap();
    assert_eq!(config.warnings, [] as [&str; 0]);
    for (name, _) in config.values.all_given() {
        assert_eq!(config.values.given(name), shown_default(name), "{name}");
    }
    for setting in settings::all().filter(|setting| setting.effect) {
        let named =
            |line: &str| line.trim_start_matches("# ").starts_with(&format!("{}: ", setting.name));
        assert!(text.lines().any(named), "config.yaml does not name {}", setting.name);
    }
    let commented = text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
    for (name, value) in commented.filter(|(name, _)| !name.contains(' ') && name.contains('.')) {
        let setting = settings::find(name).unwrap_or_else(|| panic!("{name}"));
        assert!(setting.effect && setting.read(value).is_ok(), "{name}");
    }
}

/// What Kafka's table says, or what is set when nobody sets it.
fn shown_default(name: &str) -> Option<&'static str> {
    match name {
        "broker.id" => Some("1"),
        _ => settings::default_of(settings::find(name)?, false),
    }
}
