//! The broker under test: `BOOTSTRAP`, or one Ottla that lives as long as the test binary.

use std::sync::{LazyLock, mpsc};
use std::thread;

use ottla::broker::Broker;
use ottla::config::Config;

/// `host:port` of the broker.
pub fn address() -> &'static str {
    &ADDRESS
}

/// True for another broker than our own: where Ottla differs on purpose, that one may do as Kafka does.
pub fn is_foreign() -> bool {
    std::env::var_os("BOOTSTRAP").is_some()
}

static ADDRESS: LazyLock<String> =
    LazyLock::new(|| std::env::var("BOOTSTRAP").unwrap_or_else(|_| start()));

/// Starts a broker with Kafka's defaults (but for the delay `compat/kafka/start` turns off too), in memory, on a free port,
/// in a thread of its own: the tests themselves are not asynchronous.
fn start() -> String {
    let set = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("group.initial.rebalance.delay.ms", "0")];
    let mut config = Config::build(false, &set).expect("a configuration");
    config.log_dir = None;
    let (started, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let broker = Broker::start(config).await.expect("the broker starts");
            started.send(broker.addr().to_string()).expect("a test waits for it");
            eprintln!("the broker is dead: {}", broker.failed().await);
            std::process::abort();
        });
    });
    address.recv().expect("the broker starts")
}
