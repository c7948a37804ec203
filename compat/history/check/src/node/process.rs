//! One process of the node: its signals, its one line of standard output at a time, its end.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs::OpenOptions, path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

/// How long a process may take to die of SIGKILL, or to answer a command.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub struct Process {
    pid: Pid,
    /// None when someone else started it.
    child: Option<Running>,
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Standard error is appended to `log`. It dies with this program.
    pub fn spawn(mut command: Command, log: &Path) -> Result<Process> {
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32)).context("no pid")?;
        let stdin = child.stdin.take().context("no standard input")?;
        let stdout = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        Ok(Process { pid, child: Some(Running { child, stdin, stdout }) })
    }

    /// One that runs already.
    pub fn adopt(pid: i32) -> Result<Process> {
        Ok(Process { pid: Pid::from_raw(pid).context("not a pid")?, child: None })
    }

    /// The next line of standard output; an error when there is none in time.
    pub async fn line(&mut self, within: Duration) -> Result<String> {
        let Some(running) = &mut self.child else { bail!("not our child") };
        match timeout(within, running.stdout.next_line()).await {
            Err(_) => bail!("says nothing for {} s", within.as_secs()),
            Ok(line) => line?.with_context(|| "it ended".to_owned()),
        }
    }

    /// Writes a line to its standard input, and waits for the answer: `ok ...`, of which the rest is returned.
    pub async fn command(&mut self, command: &str) -> Result<String> {
        let Some(running) = &mut self.child else { bail!("not our child") };
        running.stdin.write_all(format!("{command}\n").as_bytes()).await?;
        running.stdin.flush().await?;
        let answer = self.line(PATIENCE).await.with_context(|| format!("`{command}`"))?;
        match answer.strip_prefix("ok") {
            Some(rest) => Ok(rest.trim_start().to_owned()),
            None => bail!("`{command}`: {answer}"),
        }
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Ends it with this signal; an error when it does not end.
    pub async fn end(mut self, signal: Signal) -> Result<()> {
        self.signal(signal)?;
        let mut waited = Duration::ZERO;
        while !self.has_ended()? {
            if waited >= PATIENCE {
                self.signal(Signal::KILL)?;
                bail!("still there {} s after {signal:?}", PATIENCE.as_secs());
            }
            sleep(LOOK_EVERY).await;
            waited += LOOK_EVERY;
        }
        Ok(())
    }

    pub fn has_ended(&mut self) -> Result<bool> {
        if let Some(running) = &mut self.child {
            return Ok(running.child.try_wait()?.is_some());
        }
        // Whoever inherits it may leave it a zombie.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero()));
        Ok(stat.map_or(true, |stat| {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
        }))
    }
}
