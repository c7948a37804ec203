//! What a broker's process costs, as the kernel counts it: CPU time of all its threads and of its children, and memory.
//! And its end. Linux alone: it is read from /proc.

use crate::clock;
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

#[derive(Debug, Clone, Copy)]
pub struct Server {
    pid: i32,
}

/// Figures of one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// Seconds, to 10 ms: utime and stime, and those of the children it has waited for.
    pub cpu_s: f64,
    /// Resident memory in units of 10^6 bytes.
    pub rss_mb: f64,
}

impl Server {
    pub fn new(pid: i32) -> Server {
        Server { pid }
    }

    pub fn own() -> Server {
        Server { pid: std::process::id() as i32 }
    }

    /// Of the process and of all that descend from it and live.
    pub fn read(self) -> Result<Reading> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .with_context(|| format!("process {} is gone", self.pid))?;
        let mut sum = parse(&stat).with_context(|| format!("not understood: {stat}"))?;
        for child in self.children() {
            // One that has just ended is in the figures of its parent.
            let reading = Server::new(child).read().unwrap_or_default();
            sum.cpu_s += reading.cpu_s;
            sum.rss_mb += reading.rss_mb;
        }
        Ok(sum)
    }

    fn children(self) -> Vec<i32> {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return vec![] };
        let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children"));
        let lists = threads.flatten().filter_map(|thread| of_thread(thread).ok());
        let pids = |list: String| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>();
        lists.flat_map(pids).collect()
    }

    /// Whether it runs; one that has ended and that nobody waited for does not.
    pub fn lives(self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        fields(&stat).is_some_and(|fields| !matches!(fields.first(), Some(&"Z" | &"X")))
    }

    /// Asks it to end and waits until it has.
    pub fn stop(self, patience: Duration) -> Result<()> {
        let until = clock::now() + patience;
        let pid = Pid::from_raw(self.pid).context("0 is no process id")?;
        kill_process(pid, Signal::TERM)?;
        self.wait(until)
    }

    fn wait(self, until: Instant) -> Result<()> {
        while self.lives() {
            ensure!(clock::now() < until, "process {} does not end", self.pid);
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// What stands behind the name of the program, which may hold anything: state, parent, ... (proc_pid_stat(5), from the
/// third field on).
fn fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect())
}

fn parse(stat: &str) -> Option<Reading> {
    let fields = fields(stat)?;
    let number = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let ticks = number(14)? + number(15)? + number(16)? + number(17)?;
    let pages = number(24)?;
    Some(Reading {
        cpu_s: ticks / rustix::param::clock_ticks_per_second() as f64,
        rss_mb: pages * rustix::param::page_size() as f64 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_manual() {
        let stat = "7 (a) (b) S 1 7 7 0 -1 4194560 900 0 0 0 150 50 20 10 20 0 4 0 999 1 1000 2 3";
        let reading = parse(stat).unwrap();
        let page = rustix::param::page_size() as f64;
        assert_eq!((reading.cpu_s, reading.rss_mb), (2.3, 1000.0 * page / 1e6));
        assert!(parse("7 (a) S 1").is_none());
    }

    #[test]
    fn children_count_and_the_dead_do_not_live() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let server = Server::new(child.id() as i32);
        assert!(server.lives() && Server::own().children().contains(&server.pid));
        server.stop(Duration::from_secs(10)).unwrap();
        assert!(!server.lives(), "a zombie");
        child.wait().unwrap();
        assert!(!server.lives() && server.read().is_err());
    }
}
