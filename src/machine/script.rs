//! Drives a machine from a test, with time and commits of its own, and writes the transcript of what it did.
//!
//! Everything is committed at once: what a machine writes is applied and kept, so that `replayed` can check that a fresh
//! machine with the same records is the same machine.

use super::{Batch, BatchKind, Caller, Input, Machine, Mono, Now, Outcome};
use expect_test::Expect;
use std::fmt::Write;

/// Wall time, in milliseconds since the epoch, at mono 0 (2023-11-14).
pub const WALL_START_MS: i64 = 1_700_000_000_000;

/// One test's machine and its story.
pub struct Script<M: Machine> {
    machine: M,
    now_ms: u64,
    callers: u64,
    written: Vec<Batch<M::Record>>,
    transcript: String,
}

impl<M: Machine> Script<M> {
    /// Starts at 0 ms. The machine is not elected yet.
    pub fn new(machine: M) -> Script<M> {
        Script { machine, now_ms: 0, callers: 0, written: Vec::new(), transcript: String::new() }
    }

    pub fn elected(&mut self, epoch: i32) -> &mut Script<M> {
        self.step(&format!("elected {epoch}"), Input::Elected { epoch })
    }

    /// Sends a command from the next caller: #1, #2, ...
    pub fn send(&mut self, command: M::Command) -> &mut Script<M> {
        self.callers += 1;
        let caller = Caller(self.callers);
        let line = format!("#{} {command:?}", caller.0);
        self.step(&line, Input::Command(caller, command))
    }

    pub fn event(&mut self, event: M::Event) -> &mut Script<M> {
        let line = format!("event {event:?}");
        self.step(&line, Input::Event(event))
    }

    /// Lets time pass until `ms`, with a tick at every deadline on the way.
    pub fn sleep_to(&mut self, ms: u64) -> &mut Script<M> {
        assert!(ms >= self.now_ms, "time does not go back");
        let mut ticks = 0;
        while let Some(Mono(at)) = self.machine.next_deadline().filter(|at| at.0 <= ms) {
            self.now_ms = self.now_ms.max(at);
            self.step("tick", Input::Tick);
            ticks += 1;
            assert!(ticks < 100_000, "a tick does not move the deadline {at}");
        }
        self.now_ms = ms;
        self
    }

    /// Compares what happened since the last check.
    pub fn check(&mut self, expected: Expect) -> &mut Script<M> {
        expected.assert_eq(&self.transcript);
        self.transcript.clear();
        self
    }

    /// What happened since the last check.
    pub fn transcript(&self) -> &str {
        &self.transcript
    }

    /// Forgets what happened since the last check.
    pub fn unchecked(&mut self) -> &mut Script<M> {
        self.transcript.clear();
        self
    }

    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Every batch written so far.
    pub fn written(&self) -> &[Batch<M::Record>] {
        &self.written
    }

    /// `fresh` after replay of everything written; compare it with `machine()`.
    pub fn replayed(&self, mut fresh: M) -> M {
        for batch in &self.written {
            for record in &batch.records {
                fresh.apply(record, batch.kind);
            }
        }
        fresh
    }

    fn step(&mut self, line: &str, input: Input<M>) -> &mut Script<M> {
        let at = self.now_ms;
        self.say(format_args!("@{at} {line}"));
        let wall_ms = WALL_START_MS.saturating_add_unsigned(self.now_ms);
        let mut outcome = Outcome::default();
        self.machine.step(Now { mono: Mono(self.now_ms), wall_ms }, input, &mut outcome);
        if let Some(batch) = outcome.batch {
            if batch.kind != BatchKind::Plain {
                self.say(format_args!("    batch {:?}", batch.kind));
            }
            for record in &batch.records {
                self.say(format_args!("    write {record:?}"));
                self.machine.apply(record, batch.kind);
            }
            self.written.push(batch);
        }
        for (caller, reply) in outcome.replies {
            self.say(format_args!("    reply #{} {reply:?}", caller.0));
        }
        for effect in outcome.effects {
            self.say(format_args!("    effect {effect:?}"));
        }
        self
    }

    fn say(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.transcript, "{line}").expect("a string takes everything");
    }
}
