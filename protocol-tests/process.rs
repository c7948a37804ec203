//! The `ottla` binary as a child: started with arguments, watched, ended by a signal. It is killed when its owner is gone.
//!
//! Nothing here knows the protocol, and nothing waits longer than `PATIENCE` for a child that says nothing.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than a start or an end may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Process {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// None: by a signal.
    pub code: Option<i32>,
    /// Lines that were not taken before.
    pub stdout: Vec<String>,
    pub stderr: String,
}

impl Process {
    /// Starts the binary with these arguments and variables, and none of our own that would be settings.
    pub fn spawn(arguments: &[&str], environment: &[(&str, &str)]) -> Process {
        Process::run(Command::new(env!("CARGO_BIN_EXE_ottla")), arguments, environment)
    }

    /// Starts the binary; it may have so many files open.
    pub fn with_files(files: usize, arguments: &[&str]) -> Process {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_ottla")]);
        Process::run(shell, arguments, &[])
    }

    /// Starts the command, which is the binary or runs it.
    pub fn run(mut command: Command, arguments: &[&str], environment: &[(&str, &str)]) -> Process {
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("OTTLA_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is there");
        let stdout = lines(child.stdout.take().expect("piped"));
        let stderr = lines(child.stderr.take().expect("piped"));
        Process { child, stdout, stderr }
    }

    /// A broker in memory on a free port of 127.0.0.1, and its address.
    pub fn dev(arguments: &[&str]) -> (Process, String) {
        let all = [&["--dev", "--listen", "127.0.0.1:0"], arguments].concat();
        let process = Process::spawn(&all, &[]);
        let address = process.ready();
        (process, address)
    }

    /// The address in the ready line, which must be the next thing on standard output.
    #[track_caller]
    pub fn ready(&self) -> String {
        let line = match self.stdout.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(why) => {
                panic!("no ready line ({why}): {}", self.stderr.try_iter().collect::<String>())
            }
        };
        let address = line.strip_prefix("ottla ready ").map(str::to_owned);
        address.unwrap_or_else(|| panic!("not the ready line: {line}"))
    }

    pub fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).expect("the child is there until it is waited for");
    }

    /// Bytes of memory, by the kernel's name for them: `VmRSS`, `VmHWM` (the highest `VmRSS` so far). None when it has ended.
    pub fn memory(&self, field: &str) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let stdout = rest(&self.stdout);
        let stderr = rest(&self.stderr).into_iter().map(|line| line + "\n").collect();
        let status = self.child.wait().expect("a child can be waited for");
        Ended { code: status.code(), stdout, stderr }
    }

    /// Asks it to end, and waits.
    #[track_caller]
    pub fn terminate(self) -> Ended {
        self.signal(Signal::TERM);
        self.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a pipe, until the other side closes it.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[track_caller]
fn rest(lines: &Receiver<String>) -> Vec<String> {
    let mut rest = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => rest.push(line),
            Err(RecvTimeoutError::Disconnected) => return rest,
            Err(RecvTimeoutError::Timeout) => panic!("it does not end: {rest:?}"),
        }
    }
}
