//! Writes the history while it happens: every operation twice, in one order for all processes.
//!
//! The time of an event is taken under the lock of the file, so that the lines are in the order of their times. It also
//! hands out what must be unique: numbers of processes, operations and values.

use judge::{
    history::{Action, Event, Phase, Role},
    lines::Writer,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::BufWriter,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub struct Recorder {
    start: Instant,
    writer: Mutex<Writer<BufWriter<File>>>,
    processes: AtomicU32,
    ops: AtomicU64,
    values: AtomicU64,
    notes: Mutex<Notes>,
}

/// What was seen beside the history, for the report.
#[derive(Debug, Default, Clone)]
pub struct Notes {
    /// What must not happen, seen by a client or by who watches the broker. Each is as bad as an anomaly.
    pub complaints: Vec<String>,
    /// Errors that clients were told, and how often. Under faults they are normal.
    pub errors: BTreeMap<String, u64>,
}

/// Complaints that are kept; the first ones tell the story.
const COMPLAINTS_MAX: usize = 100;

/// One life of one client.
#[derive(Clone)]
pub struct Process {
    recorder: Arc<Recorder>,
    id: u32,
}

impl Recorder {
    /// A new history in `path`, and its process 0.
    pub fn create(path: &Path, role: Role) -> std::io::Result<(Arc<Recorder>, Process)> {
        let writer = Writer::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
        let recorder = Arc::new(Recorder {
            start: now(),
            writer: Mutex::new(writer),
            processes: AtomicU32::new(0),
            ops: AtomicU64::new(0),
            values: AtomicU64::new(1),
            notes: Mutex::default(),
        });
        let checker = recorder.process(role);
        Ok((recorder, checker))
    }

    /// A new process.
    pub fn process(self: &Arc<Recorder>, role: Role) -> Process {
        let id = self.processes.fetch_add(1, Ordering::Relaxed);
        let process = Process { recorder: self.clone(), id };
        process.happened(Action::Start(role));
        process
    }

    /// Since the run began.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// A value nobody has sent. Larger than all before it.
    pub fn next_value(&self) -> u64 {
        self.values.fetch_add(1, Ordering::Relaxed)
    }

    /// Values handed out so far.
    pub fn values(&self) -> u64 {
        self.values.load(Ordering::Relaxed) - 1
    }

    pub fn complain(&self, what: impl Into<String>) {
        let at = self.elapsed().as_secs_f64();
        let mut notes = lock(&self.notes);
        if notes.complaints.len() < COMPLAINTS_MAX {
            notes.complaints.push(format!("{at:.3} s: {}", what.into()));
        }
    }

    /// An error that a client was told.
    pub fn error(&self, what: impl Into<String>) {
        *lock(&self.notes).errors.entry(what.into()).or_default() += 1;
    }

    pub fn notes(&self) -> Notes {
        lock(&self.notes).clone()
    }

    pub fn flush(&self) -> Result<(), judge::lines::HistoryError> {
        lock(&self.writer).flush()
    }

    fn write(&self, process: u32, op: u64, phase: Phase, action: Action) {
        let mut writer = lock(&self.writer);
        let time = self.elapsed().as_nanos() as u64;
        if let Err(error) = writer.write(&Event { time, process, op, phase, action }) {
            drop(writer);
            self.complain(format!("the history cannot be written: {error}"));
        }
    }

    fn op(&self) -> u64 {
        self.ops.fetch_add(1, Ordering::Relaxed)
    }
}

impl Process {
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Records what is one event.
    pub fn happened(&self, action: Action) {
        self.recorder.write(self.id, self.recorder.op(), Phase::Ok, action);
    }

    /// Records that an operation begins; gives its number.
    pub fn invoke(&self, action: Action) -> u64 {
        let op = self.recorder.op();
        self.recorder.write(self.id, op, Phase::Invoke, action);
        op
    }

    pub fn complete(&self, op: u64, phase: Phase, action: Action) {
        self.recorder.write(self.id, op, phase, action);
    }
}

/// A client that panicked leaves the recorder usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The one clock of this program.
#[expect(clippy::disallowed_methods, reason = "a history needs times")]
pub fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::lines::Reader;
    use std::io::BufReader;

    #[test]
    fn many_threads_write_one_history_that_reads_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        let role = Role::Checker { seed: 1, target: "test".into() };
        let (recorder, checker) = Recorder::create(&path, role).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let process = recorder.process(Role::Final);
                    for _ in 0..100 {
                        let op = process.invoke(Action::Poll { records: vec![] });
                        process.complete(op, Phase::Ok, Action::Poll { records: vec![] });
                    }
                });
            }
        });
        checker.happened(Action::Crash);
        recorder.flush().unwrap();
        let reader = Reader::new(BufReader::new(File::open(&path).unwrap()));
        let events: Vec<Event> = reader.map(Result::unwrap).collect();
        assert_eq!(events.len(), 1 + 4 * 201 + 1);
        let first: Vec<u64> = events
            .iter()
            .filter(|e| e.phase != Phase::Ok || !e.action.is_operation())
            .map(|e| e.op)
            .collect();
        let unique: std::collections::BTreeSet<u64> = first.iter().copied().collect();
        assert_eq!(unique.len(), first.len(), "an op number begins once");
    }
}
