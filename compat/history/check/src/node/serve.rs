//! The node in memory: a process with Ottla in it, on a store whose disk fails when told to.
//!
//! Commands are lines of standard input, each answered by one line, `ok ...` or `error ...`:
//! `crash`, `power-cut SEED`, `start` (anew, on the same store), `slow MS`, `fail-write`, `fail-sync`, `full`, `room`,
//! `clock MS` (offset of the wall clock), `heal`, `failed` (why the broker serves no longer, if so),
//! `plant NAME ODDS SEED`, `acted NAME`.

use anyhow::{Context, Result, bail};
use ottla::{
    Broker, Config,
    config::Sources,
    faults::{Plant, Store},
};
use std::{
    io::{BufRead, Write},
    sync::atomic::Ordering,
    time::Duration,
};
use tokio::runtime::Runtime;

/// How long a crashed broker's tasks may hold its sockets.
const CRASH: Duration = Duration::from_secs(5);

struct Served {
    config: Config,
    store: Store,
    running: Option<(Runtime, Broker)>,
}

/// Serves until standard input ends.
pub fn serve(listen: String, set: Vec<String>) -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter("info,openraft=warn")
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let sources = Sources { listen: Some(listen), set, ..Sources::default() };
    let config = Config::load(&sources)?;
    let mut served = Served { config, store: Store::new(), running: None };
    served.start()?;
    say(&format!("ottla ready {}", served.advertised()))?;
    for line in std::io::stdin().lock().lines() {
        match served.command(&line?) {
            Ok(answer) => say(&format!("ok {answer}"))?,
            Err(error) => say(&format!("error {error:#}").replace('\n', " "))?,
        }
    }
    Ok(())
}

fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

impl Served {
    fn start(&mut self) -> Result<()> {
        if self.running.is_some() {
            bail!("it runs");
        }
        let runtime = Runtime::new()?;
        let broker = runtime.block_on(Broker::start_on(self.config.clone(), &self.store))?;
        self.running = Some((runtime, broker));
        Ok(())
    }

    fn advertised(&self) -> String {
        let advertised = self.running.as_ref().map(|(_, broker)| broker.advertised());
        advertised.map_or_else(String::new, |(host, port)| format!("{host}:{port}"))
    }

    /// After the store has crashed: closes the sockets, and whatever the broker still does counts no more.
    fn bury(&mut self) {
        if let Some((runtime, broker)) = self.running.take() {
            drop(broker);
            runtime.shutdown_timeout(CRASH);
        }
    }

    /// Why the broker serves no longer; empty when it does.
    fn failed(&self) -> String {
        let Some((runtime, broker)) = &self.running else { return String::new() };
        let failed = async { tokio::time::timeout(Duration::ZERO, broker.failed()).await };
        runtime.block_on(failed).unwrap_or_default()
    }

    fn command(&mut self, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["crash"] => {
                self.store.crash();
                self.bury();
            }
            ["power-cut", seed] => {
                self.store.power_cut(seed.parse()?);
                self.bury();
            }
            ["start"] => self.start()?,
            ["slow", ms] => self.store.slow(Duration::from_millis(ms.parse()?)),
            ["fail-write"] => self.store.fail_next_write(),
            ["fail-sync"] => self.store.fail_next_sync(),
            ["full"] => self.store.full(true),
            ["room"] => self.store.full(false),
            ["clock", ms] => {
                self.config.wall_clock_offset_ms.store(ms.parse()?, Ordering::Relaxed);
            }
            ["heal"] => {
                self.store.heal();
                self.config.wall_clock_offset_ms.store(0, Ordering::Relaxed);
                if self.running.is_none() {
                    self.start()?;
                }
            }
            ["failed"] => return Ok(self.failed()),
            ["plant", name, odds, seed] => {
                self.store.plant(name.parse()?, odds.parse()?, seed.parse()?);
            }
            ["acted", name] => {
                let plant: Plant = name.parse().context("acted")?;
                return Ok(self.store.acted(plant).to_string());
            }
            _ => bail!("no such command: {line}"),
        }
        Ok(String::new())
    }
}
