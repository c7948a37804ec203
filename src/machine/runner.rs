//! Runs a machine over a journal: one task that owns both.
//!
//! Input, `step`, `apply`, append; then replies and effects are parked under the last ticket appended and leave when the
//! journal has committed it. Reads wait too: what they saw may be part of an append that is still in flight.
//!
//! The task ends when every handle is gone or the journal is lost; whoever waits then gets `CallError::Gone`. Not here:
//! replay (the owner applies what the journal holds before it spawns) and undo (there is none).

use super::{Batch, Caller, Input, Machine, Mono, Outcome, clock::Clock};
use crate::limits::MAILBOX_MAX;
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinHandle,
};

/// A place in a journal. Says nothing but order: a later append has a greater ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Why a journal takes no more. Either ends the runner; the machine is rebuilt by replay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Another node leads now, or this one no longer does.
    #[error("leadership of the journal is lost")]
    Lost,
    /// Storage or the quorum failed.
    #[error("the journal failed: {0}")]
    Failed(String),
}

/// Keeps a machine's batches in order.
pub trait Journal<R>: Send + 'static {
    /// Queues `batch` behind everything appended before. Its ticket is greater than any before; committed later.
    fn append(
        &mut self,
        batch: Batch<R>,
    ) -> impl Future<Output = Result<Ticket, JournalError>> + Send;

    /// Resolves when more is committed than it last said: with the greatest ticket up to which everything is. Dropping the
    /// future loses nothing.
    fn committed(&mut self) -> impl Future<Output = Result<Ticket, JournalError>> + Send;

    /// Ends what the journal has running. Called last, when nobody waits any more.
    fn close(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        async {}
    }
}

/// Why a call has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The runner has ended. Whether the command took effect is unknown.
    #[error("the machine is gone")]
    Gone,
    /// The machine has decided, but its journal did not commit in time. The decision stands and may still commit.
    #[error("the journal did not commit in time")]
    TimedOut,
}

/// How others reach a running machine.
pub struct Handle<M: Machine> {
    mailbox: mpsc::UnboundedSender<Message<M>>,
    /// What bounds the mailbox: one permit for each command in it. Events take none, so sending one never waits.
    room: Arc<Semaphore>,
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Handle { mailbox: self.mailbox.clone(), room: self.room.clone() }
    }
}

impl<M: Machine> Handle<M> {
    /// Asks and waits for the reply. Commands of one caller are seen in the order of their calls.
    pub async fn call(&self, command: M::Command) -> Result<M::Reply, CallError> {
        let room = self.room.clone().acquire_owned().await.map_err(|_| CallError::Gone)?;
        let (reply_to, reply) = oneshot::channel();
        self.mailbox
            .send(Message::Command { command, reply_to, _room: room })
            .map_err(|_| CallError::Gone)?;
        reply.await.unwrap_or(Err(CallError::Gone))
    }

    /// Tells; without effect when the runner has ended. Whoever sends bounds how much.
    pub fn send(&self, event: M::Event) {
        let _ = self.mailbox.send(Message::Event(event));
    }
}

/// Starts `machine`, which has applied everything in `journal`, in leader epoch `epoch`. A reply parked longer than
/// `reply_timeout` is answered `TimedOut`. The task's result says why it ended; `Ok`: every handle was dropped.
pub fn spawn<M: Machine, J: Journal<M::Record>>(
    machine: M,
    journal: J,
    epoch: i32,
    effects: mpsc::UnboundedSender<M::Effect>,
    clock: Clock,
    reply_timeout: Duration,
) -> (Handle<M>, JoinHandle<Result<(), JournalError>>) {
    let (mailbox, inbox) = mpsc::unbounded_channel();
    let handle = Handle { mailbox, room: Arc::new(Semaphore::new(MAILBOX_MAX)) };
    let mut runner = Runner {
        machine,
        journal,
        effects,
        clock,
        reply_timeout_ms: i64::try_from(reply_timeout.as_millis()).unwrap_or(i64::MAX),
        inbox,
        callers: HashMap::new(),
        next_caller: 1,
        appended: None,
        committed: None,
        parked_replies: VecDeque::new(),
        parked_effects: VecDeque::new(),
    };
    let task = tokio::spawn(async move {
        let ended = runner.run(epoch).await;
        let Runner { journal, .. } = runner;
        journal.close().await;
        ended
    });
    (handle, task)
}

type ReplyTo<M> = oneshot::Sender<Result<<M as Machine>::Reply, CallError>>;

enum Message<M: Machine> {
    Command { command: M::Command, reply_to: ReplyTo<M>, _room: OwnedSemaphorePermit },
    Event(M::Event),
}

struct ParkedReply<M: Machine> {
    until: Option<Ticket>,
    /// When the caller is told `TimedOut`. Ascending along the queue.
    expires: Mono,
    reply_to: ReplyTo<M>,
    reply: M::Reply,
}

struct Runner<M: Machine, J> {
    machine: M,
    journal: J,
    effects: mpsc::UnboundedSender<M::Effect>,
    clock: Clock,
    reply_timeout_ms: i64,
    inbox: mpsc::UnboundedReceiver<Message<M>>,
    /// Whom the machine has not answered yet.
    callers: HashMap<Caller, ReplyTo<M>>,
    next_caller: u64,
    /// None: nothing was appended since the start, so nothing is waited for.
    appended: Option<Ticket>,
    committed: Option<Ticket>,
    parked_replies: VecDeque<ParkedReply<M>>,
    parked_effects: VecDeque<(Option<Ticket>, M::Effect)>,
}

impl<M: Machine, J: Journal<M::Record>> Runner<M, J> {
    async fn run(&mut self, epoch: i32) -> Result<(), JournalError> {
        self.step(Input::Elected { epoch }).await?;
        loop {
            let deadline = self.machine.next_deadline();
            let expiry = self.parked_replies.front().map(|parked| parked.expires);
            tokio::select! {
                biased;
                committed = self.journal.committed() => {
                    self.committed = Some(committed?);
                    self.release();
                }
                () = self.clock.sleep_until(expiry) => self.expire(),
                () = self.clock.sleep_until(deadline) => {
                    // Commands that came before the deadline are seen before it, however busy the task was.
                    for _ in 0..self.inbox.len() {
                        if let Ok(message) = self.inbox.try_recv() {
                            self.receive(message).await?;
                        }
                    }
                    if self.machine.next_deadline().is_some_and(|at| at <= self.clock.now().mono) {
                        self.step(Input::Tick).await?;
                    }
                }
                message = self.inbox.recv() => match message {
                    Some(message) => self.receive(message).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    async fn receive(&mut self, message: Message<M>) -> Result<(), JournalError> {
        let input = match message {
            Message::Event(event) => Input::Event(event),
            Message::Command { command, reply_to, .. } => {
                let caller = Caller(self.next_caller);
                self.next_caller += 1;
                self.callers.insert(caller, reply_to);
                Input::Command(caller, command)
            }
        };
        self.step(input).await
    }

    async fn step(&mut self, input: Input<M>) -> Result<(), JournalError> {
        let now = self.clock.now();
        let mut outcome = Outcome::default();
        self.machine.step(now, input, &mut outcome);
        if let Some(batch) = outcome.batch {
            for record in &batch.records {
                self.machine.apply(record, batch.kind);
            }
            let ticket = self.journal.append(batch).await?;
            assert!(Some(ticket) > self.appended, "tickets grow");
            self.appended = Some(ticket);
        }
        let (until, expires) = (self.appended, now.mono.after_ms(self.reply_timeout_ms));
        for (caller, reply) in outcome.replies {
            let reply_to = self.callers.remove(&caller).expect("a caller is answered once");
            self.parked_replies.push_back(ParkedReply { until, expires, reply_to, reply });
        }
        self.parked_effects.extend(outcome.effects.into_iter().map(|effect| (until, effect)));
        self.release();
        Ok(())
    }

    /// Lets go what waits for no more than is committed. Whoever has stopped waiting is passed over.
    fn release(&mut self) {
        while self.parked_replies.front().is_some_and(|it| it.until <= self.committed)
            && let Some(parked) = self.parked_replies.pop_front()
        {
            let _ = parked.reply_to.send(Ok(parked.reply));
        }
        while self.parked_effects.front().is_some_and(|it| it.0 <= self.committed)
            && let Some((_, effect)) = self.parked_effects.pop_front()
        {
            let _ = self.effects.send(effect);
        }
    }

    fn expire(&mut self) {
        let now = self.clock.now().mono;
        while self.parked_replies.front().is_some_and(|it| it.expires <= now)
            && let Some(parked) = self.parked_replies.pop_front()
        {
            let _ = parked.reply_to.send(Err(CallError::TimedOut));
        }
    }
}

#[cfg(test)]
mod tests;
