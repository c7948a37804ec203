//! The wiring only; time is paused, so every sleep jumps.

use super::*;
use crate::machine::{BatchKind, Now, script::Script};
use expect_test::expect;
use tokio::sync::watch;

/// Adds numbers; an event asks for a tick so many milliseconds later, and the tick writes 100.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    total: i64,
    now: Mono,
    tick_at: Option<Mono>,
}

#[derive(Debug)]
enum Do {
    Add(i64),
    Read,
    Never,
}

impl Machine for Sum {
    type Command = Do;
    type Reply = i64;
    type Record = i64;
    type Effect = String;
    type Event = i64;

    fn apply(&mut self, record: &i64, _kind: BatchKind) {
        self.total += record;
    }

    fn step(&mut self, now: Now, input: Input<Self>, out: &mut Outcome<Self>) {
        self.now = now.mono;
        match input {
            Input::Elected { epoch } => out.effects.push(format!("elected {epoch}")),
            Input::Command(caller, Do::Add(n)) => {
                out.write(n);
                out.reply(caller, self.total + n);
                out.effects.push(format!("added {n}"));
            }
            Input::Command(caller, Do::Read) => out.reply(caller, self.total),
            Input::Command(_, Do::Never) => {}
            Input::Event(ms) => self.tick_at = Some(now.mono.after_ms(ms)),
            Input::Tick => {
                self.tick_at = None;
                out.write(100);
            }
        }
    }

    fn next_deadline(&self) -> Option<Mono> {
        self.tick_at
    }
}

/// Commits what the test says, and appends no further than one batch ahead of what the test has received.
struct ByHand {
    appended: mpsc::Sender<Vec<i64>>,
    committed: watch::Receiver<u64>,
    next: u64,
}

impl Journal<i64> for ByHand {
    async fn append(&mut self, batch: Batch<i64>) -> Result<Ticket, JournalError> {
        self.next += 1;
        self.appended.send(batch.records).await.map_err(|_| JournalError::Lost)?;
        Ok(Ticket(self.next))
    }

    async fn committed(&mut self) -> Result<Ticket, JournalError> {
        self.committed.changed().await.map_err(|_| JournalError::Lost)?;
        Ok(Ticket(*self.committed.borrow_and_update()))
    }
}

struct Bench {
    handle: Handle<Sum>,
    task: JoinHandle<Result<(), JournalError>>,
    commit: watch::Sender<u64>,
    appended: mpsc::Receiver<Vec<i64>>,
    effects: mpsc::UnboundedReceiver<String>,
}

fn bench() -> Bench {
    let (commit, committed) = watch::channel(0);
    let (appended_to, appended) = mpsc::channel(1);
    let (effects_to, effects) = mpsc::unbounded_channel();
    let journal = ByHand { appended: appended_to, committed, next: 0 };
    let limit = Duration::from_secs(5);
    let (handle, task) = spawn(Sum::default(), journal, 3, effects_to, Clock::start(), limit);
    Bench { handle, task, commit, appended, effects }
}

fn call(handle: &Handle<Sum>, command: Do) -> JoinHandle<Result<i64, CallError>> {
    let handle = handle.clone();
    tokio::spawn(async move { handle.call(command).await })
}

#[tokio::test(start_paused = true)]
async fn replies_reads_and_effects_wait_for_the_commit() {
    let mut b = bench();
    assert_eq!(b.effects.recv().await.as_deref(), Some("elected 3"));
    assert_eq!(b.handle.call(Do::Read).await, Ok(0), "nothing in flight: at once");

    let (add, read) = (call(&b.handle, Do::Add(1)), call(&b.handle, Do::Read));
    assert_eq!(b.appended.recv().await, Some(vec![1]));
    let later = call(&b.handle, Do::Add(2));
    assert_eq!(b.appended.recv().await, Some(vec![2]));
    assert!(b.effects.try_recv().is_err() && !add.is_finished() && !read.is_finished());

    b.commit.send_replace(1);
    assert_eq!((add.await.unwrap(), read.await.unwrap()), (Ok(1), Ok(1)));
    assert_eq!(b.effects.recv().await.as_deref(), Some("added 1"));
    assert!(b.effects.try_recv().is_err() && !later.is_finished());

    b.commit.send_replace(2);
    assert_eq!(later.await.unwrap(), Ok(3));
    assert_eq!(b.effects.recv().await.as_deref(), Some("added 2"));
}

#[tokio::test(start_paused = true)]
async fn a_late_commit_times_out_and_keeps_the_decision() {
    let mut b = bench();
    let started = Clock::start();
    assert_eq!(b.handle.call(Do::Add(7)).await, Err(CallError::TimedOut));
    assert_eq!(started.now().mono, Mono(5_000));
    assert_eq!(b.effects.recv().await.as_deref(), Some("elected 3"));
    assert!(b.effects.try_recv().is_err(), "effects do not time out");
    b.commit.send_replace(1);
    assert_eq!(b.effects.recv().await.as_deref(), Some("added 7"));
    assert_eq!(b.handle.call(Do::Read).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_lost_journal_ends_the_runner_and_tells_all_who_wait() {
    let mut b = bench();
    let (unanswered, parked) = (call(&b.handle, Do::Never), call(&b.handle, Do::Add(1)));
    b.appended.recv().await.unwrap();
    drop(b.commit);
    assert_eq!(unanswered.await.unwrap(), Err(CallError::Gone));
    assert_eq!(parked.await.unwrap(), Err(CallError::Gone));
    assert_eq!(b.task.await.unwrap(), Err(JournalError::Lost));
    assert_eq!(b.handle.call(Do::Read).await, Err(CallError::Gone));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ticks() {
    let mut b = bench();
    let started = Clock::start();
    b.handle.send(250);
    assert_eq!(b.appended.recv().await, Some(vec![100]));
    assert_eq!(started.now().mono, Mono(250));
}

#[tokio::test(start_paused = true)]
async fn what_came_before_the_deadline_is_seen_before_it() {
    let mut b = bench();
    let started = Clock::start();
    b.handle.send(100);
    let _busy = [call(&b.handle, Do::Add(1)), call(&b.handle, Do::Add(2))];
    // The second append keeps the runner from its work beyond the deadline; meanwhile the event puts that off.
    tokio::time::sleep(Duration::from_millis(150)).await;
    b.handle.send(500);
    assert_eq!(b.appended.recv().await, Some(vec![1]));
    assert_eq!(b.appended.recv().await, Some(vec![2]));
    assert_eq!(b.appended.recv().await, Some(vec![100]));
    assert_eq!(started.now().mono, Mono(650));
}

#[tokio::test(start_paused = true)]
async fn ends_when_every_handle_is_gone() {
    let b = bench();
    drop(b.handle);
    assert_eq!(b.task.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_mailbox_is_bounded() {
    let (mailbox, inbox) = mpsc::unbounded_channel();
    let handle = Handle { mailbox, room: Arc::new(Semaphore::new(MAILBOX_MAX)) };
    for _ in 0..MAILBOX_MAX + 1 {
        call(&handle, Do::Read);
    }
    // Paused time passes when nobody can run any more.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((handle.room.available_permits(), inbox.len()), (0, MAILBOX_MAX));
}

#[test]
fn a_script_tells_the_story() {
    let mut script = Script::new(Sum::default());
    script.elected(3).send(Do::Add(5)).event(40).sleep_to(100).send(Do::Read).check(expect![[r#"
            @0 elected 3
                effect "elected 3"
            @0 #1 Add(5)
                write 5
                reply #1 5
                effect "added 5"
            @0 event 40
            @40 tick
                write 100
            @100 #2 Read
                reply #2 105
        "#]]);
    assert_eq!(script.replayed(Sum::default()).total, script.machine().total);
}
