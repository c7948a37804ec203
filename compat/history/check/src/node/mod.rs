//! The broker under test: how it is started, and what can be done to it.
//!
//! It listens on one port for the whole run and advertises the proxy's, so that clients find it again after every restart.
//! Its log goes to `broker.log` in the run's directory, all starts in one file.

mod disk;
mod process;
pub mod serve;

use crate::plan::{Fault, Kind, Menu};
use anyhow::{Context, Result, bail};
use disk::Disk;
use process::Process;
use rustix::process::Signal;
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{process::Command, time::sleep};

/// How long a start may take, recovery included.
const START: Duration = Duration::from_secs(90);
/// Bytes free below which Ottla stops writing; a full disk leaves half of it.
const RESERVE_BYTES: u64 = 16 << 20;

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The program `ottla` with a data directory. `synced`: it acknowledges what is synced, and nothing else.
    Disk { program: PathBuf, synced: bool },
    /// This program with Ottla in it, on a store in memory that can fail (`serve`).
    Mem,
    /// Apache Kafka; `script` starts it.
    Kafka { script: PathBuf },
}

pub struct Node {
    target: Target,
    /// Of the run.
    dir: PathBuf,
    port: u16,
    advertised: String,
    disk: Option<Disk>,
    process: Option<Process>,
    starts: u32,
    /// Why a kind of fault is left out.
    pub skipped: Vec<String>,
}

impl Target {
    /// The faults it can go through. The first kind of each is the one there is most of.
    fn menu(&self, can_fill_disk: bool) -> Menu {
        let (node, slot) = match self {
            Target::Disk { .. } => {
                let mut kinds = vec![(Kind::Kill, 8), (Kind::Terminate, 2), (Kind::Pause, 4)];
                if can_fill_disk {
                    kinds.push((Kind::Full, 2));
                }
                (kinds, 4_000)
            }
            Target::Mem => (
                vec![
                    (Kind::Pause, 2),
                    (Kind::Slow, 3),
                    (Kind::FailWrite, 2),
                    (Kind::Full, 2),
                    (Kind::Clock, 2),
                    (Kind::Crash, 3),
                    (Kind::PowerCut, 3),
                ],
                4_000,
            ),
            Target::Kafka { .. } => {
                (vec![(Kind::Kill, 4), (Kind::Terminate, 1), (Kind::Pause, 2)], 25_000)
            }
        };
        Menu { node, slot: Duration::from_millis(slot), wire: true }
    }

    /// How long it is left alone after a fault at least, so that clients get on. Kafka may need longer than a slot to start.
    fn calm(&self) -> Duration {
        match self {
            Target::Disk { .. } | Target::Mem => Duration::from_millis(500),
            Target::Kafka { .. } => Duration::from_secs(8),
        }
    }
}

impl Node {
    /// Not started yet. `advertised`: the proxy.
    pub fn new(target: Target, dir: &Path, port: u16, advertised: String) -> Node {
        let mut skipped = Vec::new();
        let disk = match target {
            Target::Disk { .. } => Disk::mount(dir)
                .inspect_err(|error| skipped.push(format!("no full disk: {error:#}")))
                .ok(),
            _ => None,
        };
        let dir = dir.to_owned();
        Node { target, dir, port, advertised, disk, process: None, starts: 0, skipped }
    }

    pub fn describe(&self) -> String {
        match &self.target {
            Target::Disk { synced, .. } => {
                let files = self.disk.as_ref().map_or("a directory", Disk::kind);
                let synced = if *synced { "synced" } else { "unsynced" };
                format!("Ottla on disk ({files}), {synced}")
            }
            Target::Mem => "Ottla in memory, synced".into(),
            Target::Kafka { .. } => "Apache Kafka 4.1.1".into(),
        }
    }

    pub fn menu(&self) -> Menu {
        self.target.menu(self.disk.is_some())
    }

    pub fn calm(&self) -> Duration {
        self.target.calm()
    }

    /// Returns when it serves.
    pub async fn start(&mut self) -> Result<()> {
        let process = match &self.target {
            Target::Disk { program, synced } => self.start_ottla(program, *synced).await,
            Target::Mem => self.start_mem().await,
            Target::Kafka { script } => self.start_kafka(script).await,
        };
        self.process = Some(process.context("the broker does not start")?);
        self.starts += 1;
        Ok(())
    }

    /// What the broker did that nobody asked for: it ended.
    pub async fn failure(&mut self) -> Result<Option<String>> {
        if self.process()?.has_ended()? {
            return Ok(Some("the broker's process ended by itself".into()));
        }
        if self.target != Target::Mem {
            return Ok(None);
        }
        let failed = self.process()?.command("failed").await?;
        Ok(Some(failed).filter(|why| !why.is_empty()))
    }

    /// Injects a fault, waits, and heals it: the broker serves again when this returns.
    pub async fn carry_out(&mut self, fault: &Fault) -> Result<()> {
        let wait = |ms: &u64| sleep(Duration::from_millis(*ms));
        match fault {
            Fault::Kill { down } => {
                self.end(Signal::KILL).await?;
                wait(down).await;
                self.start().await
            }
            Fault::Terminate { down } => {
                self.end(Signal::TERM).await?;
                wait(down).await;
                self.start().await
            }
            Fault::Pause { lasting } => {
                self.process()?.signal(Signal::STOP)?;
                wait(lasting).await;
                self.process()?.signal(Signal::CONT)
            }
            Fault::Full { lasting } => {
                match &self.disk {
                    Some(disk) => disk.fill(RESERVE_BYTES / 2)?,
                    None => self.command("full").await?,
                }
                wait(lasting).await;
                match &self.disk {
                    Some(disk) => disk.free(),
                    None => self.command("room").await,
                }
            }
            Fault::Slow { write, lasting } => {
                self.command(&format!("slow {write}")).await?;
                wait(lasting).await;
                self.command("slow 0").await
            }
            Fault::FailWrite { sync, lasting } => {
                self.command(if *sync { "fail-sync" } else { "fail-write" }).await?;
                wait(lasting).await;
                self.command("crash").await?;
                self.command("start").await
            }
            Fault::Crash { slow, down } => self.crash("crash", *slow, *down).await,
            Fault::PowerCut { slow, seed, down } => {
                self.crash(&format!("power-cut {seed}"), *slow, *down).await
            }
            Fault::Clock { to } => self.command(&format!("clock {to}")).await,
            Fault::Cut { .. } | Fault::Stall { .. } => bail!("not a fault of the node: {fault}"),
        }
    }

    async fn crash(&mut self, how: &str, slow: u64, down: u64) -> Result<()> {
        self.command(&format!("slow {slow}")).await?;
        // A record takes twice that to be synced.
        sleep(Duration::from_millis(6 * slow)).await;
        self.command(how).await?;
        self.command("slow 0").await?;
        sleep(Duration::from_millis(down)).await;
        self.command("start").await
    }

    /// Only in memory.
    pub async fn command(&mut self, command: &str) -> Result<()> {
        self.process()?.command(command).await.map(drop)
    }

    pub async fn ask(&mut self, question: &str) -> Result<String> {
        self.process()?.command(question).await
    }

    /// Starts it again if it has ended, and ends every fault of its storage and clock.
    pub async fn heal(&mut self) -> Result<()> {
        if self.process()?.has_ended()? {
            self.start().await?;
        }
        if let Some(disk) = &self.disk {
            disk.free()?;
        }
        if self.target == Target::Mem {
            self.command("heal").await?;
        }
        Ok(())
    }

    pub async fn stop(mut self) -> Result<()> {
        match self.target {
            Target::Mem => self.end(Signal::KILL).await,
            _ => self.end(Signal::TERM).await,
        }
    }

    pub fn starts(&self) -> u32 {
        self.starts
    }

    async fn end(&mut self, signal: Signal) -> Result<()> {
        self.process.take().context("the broker is not running")?.end(signal).await
    }

    fn process(&mut self) -> Result<&mut Process> {
        self.process.as_mut().context("the broker is not running")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("broker.log")
    }

    async fn start_ottla(&self, program: &Path, synced: bool) -> Result<Process> {
        let data = match &self.disk {
            Some(disk) => disk.path().join("data"),
            None => self.dir.join("data"),
        };
        let mut command = Command::new(program);
        command.arg("--log-dir").arg(data);
        command.args(["--listen", &format!("127.0.0.1:{}", self.port)]);
        for setting in self.settings(synced) {
            command.args(["--set", &setting]);
        }
        command.args(["--set", &format!("log.dir.reserve.bytes={RESERVE_BYTES}")]);
        let mut process = Process::spawn(command, &self.log())?;
        ready(&mut process).await?;
        Ok(process)
    }

    async fn start_mem(&self) -> Result<Process> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["node", "--listen", &format!("127.0.0.1:{}", self.port)]);
        for setting in self.settings(true) {
            command.args(["--set", &setting]);
        }
        let mut process = Process::spawn(command, &self.log())?;
        ready(&mut process).await?;
        Ok(process)
    }

    async fn start_kafka(&self, script: &Path) -> Result<Process> {
        let dir = self.dir.join("kafka");
        let mut command = Command::new(script);
        command.args(["--port", &self.port.to_string(), "--dir"]).arg(&dir);
        if self.starts > 0 {
            command.arg("--again");
        }
        command.args(self.settings(false));
        let out = command.output().await?;
        let said = String::from_utf8_lossy(&out.stdout);
        let pid = said.split_whitespace().find_map(|word| word.strip_prefix("pid="));
        let pid = pid.with_context(|| String::from_utf8_lossy(&out.stderr).into_owned())?;
        Process::adopt(pid.parse()?)
    }

    /// Small segments and few offset partitions, so that more happens in little time.
    fn settings(&self, synced: bool) -> Vec<String> {
        let mut settings = vec![
            format!("advertised.listeners=PLAINTEXT://{}", self.advertised),
            "group.initial.rebalance.delay.ms=0".into(),
            "offsets.topic.num.partitions=3".into(),
            "auto.create.topics.enable=false".into(),
            "log.segment.bytes=1048576".into(),
        ];
        if synced {
            settings.push("log.flush.interval.messages=1".into());
        }
        settings
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // One that this program did not start would stay.
        if let Some(process) = &self.process {
            let _ = process.signal(Signal::KILL);
        }
    }
}

async fn ready(process: &mut Process) -> Result<()> {
    let line = process.line(START).await?;
    if !line.starts_with("ottla ready ") {
        bail!("it says: {line}");
    }
    Ok(())
}

/// A port that is free, and from which no connection goes out: one that the system could give to a client's end would not
/// be free any more when the broker wants it back.
pub fn free_port(random: &mut crate::random::Random) -> Result<u16> {
    for _ in 0..100 {
        let port = random.between(20_000, 29_000) as u16;
        // Kafka's controller takes the one above.
        if TcpListener::bind(("127.0.0.1", port)).is_ok()
            && TcpListener::bind(("127.0.0.1", port + 1)).is_ok()
        {
            return Ok(port);
        }
    }
    bail!("no free port")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn ten_minutes_on_disk_have_fifty_kills_whatever_the_seed() {
        let target = Target::Disk { program: "ottla".into(), synced: false };
        for seed in 0..100 {
            let menu = target.menu(true);
            let plan = Plan::draw(seed, Duration::from_secs(600), &menu);
            let kill = |step: &&crate::plan::Step| matches!(step.fault, Fault::Kill { .. });
            let kills = plan.node.iter().filter(kill).count();
            assert!(kills >= 60, "seed {seed}: {kills} kills");
        }
    }
}
