//! THE pattern. A machine decides, a journal keeps, a runner connects the two to the world.
//!
//! Group coordinator, transaction coordinator and controller are three machines. A machine knows no time, no I/O and no
//! randomness: time and ids come in with its input, what should happen goes out in its `Outcome`, so that a test is a
//! transcript and a cluster can be simulated from a seed.
//!
//! A runner takes an input, calls `step`, applies each record of the outcome, appends the batch to the journal and parks
//! replies *and effects* until the journal has committed that position; an outcome without records waits for the last
//! position appended before it. Durable state changes in `apply` alone, live and at recovery, so replaying the journal
//! rebuilds it. Only lost leadership or a storage error ends a runner; there is no undo.
//!
//! `step` sees the state before its own records: a command that needs two dependent records computes both.

pub mod clock;
pub mod runner;
#[cfg(test)]
pub mod script;

use std::fmt::Debug;

/// Milliseconds on a clock that never goes back, from an arbitrary start. Sessions and timers use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mono(pub u64);

impl Mono {
    /// The moment `ms` later; negative values count as 0, the end of time is not passed.
    pub fn after_ms(self, ms: i64) -> Mono {
        Mono(self.0.saturating_add(ms.max(0) as u64))
    }
}

/// The time of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// For timers.
    pub mono: Mono,
    /// Milliseconds since the Unix epoch, for what is recorded and compared across restarts. May step either way.
    pub wall_ms: i64,
}

/// Who waits for a reply; unique within a runner's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caller(pub u64);

/// How a batch of records stands in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchKind {
    /// In effect as soon as it is committed.
    #[default]
    Plain,
    /// Part of a transaction: pending until its marker (KIP-98).
    Txn { producer_id: i64, producer_epoch: i16 },
    /// The end of a transaction: what it left pending takes effect or is dropped.
    Marker { producer_id: i64, producer_epoch: i16, commit: bool },
}

/// Records that are appended together, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<R> {
    pub records: Vec<R>,
    pub kind: BatchKind,
}

/// What can happen to a machine.
pub enum Input<M: Machine + ?Sized> {
    /// Once, when replay is complete and the machine starts to decide, with the leader epoch it decides in.
    Elected { epoch: i32 },
    /// A request; its reply goes to `Caller`.
    Command(Caller, M::Command),
    /// News: a change of the image, the result of an effect.
    Event(M::Event),
    /// `next_deadline` has come.
    Tick,
}

/// What a step asks for.
pub struct Outcome<M: Machine + ?Sized> {
    pub batch: Option<Batch<M::Record>>,
    /// A caller may be answered in a later step than its command's; every caller is answered once.
    pub replies: Vec<(Caller, M::Reply)>,
    pub effects: Vec<M::Effect>,
}

impl<M: Machine + ?Sized> Default for Outcome<M> {
    fn default() -> Self {
        Outcome { batch: None, replies: Vec::new(), effects: Vec::new() }
    }
}

impl<M: Machine + ?Sized> Outcome<M> {
    /// Adds a record to this step's (plain) batch.
    pub fn write(&mut self, record: M::Record) {
        self.batch
            .get_or_insert_with(|| Batch { records: Vec::new(), kind: BatchKind::Plain })
            .records
            .push(record);
    }

    /// Answers `caller` once everything written so far is committed.
    pub fn reply(&mut self, caller: Caller, reply: M::Reply) {
        self.replies.push((caller, reply));
    }
}

/// A deterministic state machine whose durable state is what its journal says.
pub trait Machine: Send + 'static {
    type Command: Send + Debug;
    type Reply: Send + Debug;
    type Record: Send + Sync + Debug;
    type Effect: Send + Debug;
    type Event: Send + Debug;

    /// Changes durable state; the only function that does, live and at recovery.
    fn apply(&mut self, record: &Self::Record, kind: BatchKind);

    /// Decides. Volatile state may change here; durable state only by the records asked for.
    fn step(&mut self, now: Now, input: Input<Self>, out: &mut Outcome<Self>);

    /// When `step(Tick)` must run next, if at all.
    fn next_deadline(&self) -> Option<Mono>;
}
