//! The queue of the writing thread, which sleeps while it is empty.
//!
//! Waking a thread costs more than appending a small batch, and a thread that is woken for the first of many appends commits
//! that one alone. So there are two ways to send: `send` wakes at once, `send_soon` when the tasks that can run now have run,
//! which are likely to append too. The latter is a task that lets others go first.

use std::{
    future::poll_fn,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering, fence},
        mpsc::{self, TryRecvError},
    },
    task::Poll,
    thread::{self, Thread},
    time::Duration,
};
use tokio::runtime::Handle;

/// A queue without bound: who sends is bounded by what it may have in progress. The receiver does not notice that the senders
/// have gone: what ends it must be sent.
pub fn queue<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel();
    let bell = Arc::new(Bell::default());
    (Sender { queue: sender, bell: bell.clone() }, Receiver { queue: receiver, bell })
}

pub struct Sender<T> {
    queue: mpsc::Sender<T>,
    bell: Arc<Bell>,
}

/// Stays in one thread.
pub struct Receiver<T> {
    queue: mpsc::Receiver<T>,
    bell: Arc<Bell>,
}

impl<T> Sender<T> {
    /// What is sent after the receiver has gone is dropped.
    pub fn send(&self, value: T) {
        let _ = self.queue.send(value);
        self.bell.ring();
    }

    /// The same for what can wait until its thread has run what it can run.
    pub fn send_soon(&self, value: T) {
        let _ = self.queue.send(value);
        self.bell.ring_soon();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { queue: self.queue.clone(), bell: self.bell.clone() }
    }
}

impl<T> Receiver<T> {
    /// What has been sent; an error when there is nothing.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.queue.try_recv()
    }

    /// The same, after a sleep if there is nothing: until something is sent, or `patience` is over (None: never), or for no
    /// reason.
    pub fn recv(&self, patience: Option<Duration>) -> Result<T, TryRecvError> {
        match self.queue.try_recv() {
            Err(TryRecvError::Empty) => {}
            received => return received,
        }
        self.bell.listen();
        let received = self.queue.try_recv();
        if matches!(received, Err(TryRecvError::Empty)) {
            match patience {
                Some(patience) => thread::park_timeout(patience),
                None => thread::park(),
            }
        }
        self.bell.asleep.store(false, Ordering::SeqCst);
        match received {
            Err(TryRecvError::Empty) => self.queue.try_recv(),
            received => received,
        }
    }
}

#[derive(Default)]
struct Bell {
    sleeper: OnceLock<Thread>,
    /// The thread sleeps, or is about to if the queue stays empty.
    asleep: AtomicBool,
    /// A task is going to ring.
    ringing: AtomicBool,
}

impl Bell {
    /// Whatever is queued from here on rings; what was before is there to be seen.
    fn listen(&self) {
        self.sleeper.get_or_init(thread::current);
        self.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }

    fn ring_soon(self: &Arc<Bell>) {
        fence(Ordering::SeqCst);
        if !self.asleep.load(Ordering::SeqCst) || self.ringing.swap(true, Ordering::SeqCst) {
            return;
        }
        let ring = Ring(self.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                step_back().await;
                drop(ring);
            });
        }
    }
}

/// Lets the tasks before it in its worker's queue run. Unlike with `yield_now` the task stays where other workers can steal
/// it, so that it waits for none that is busy for long.
async fn step_back() {
    let mut back = false;
    poll_fn(|context| {
        if back {
            return Poll::Ready(());
        }
        back = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Rings when it goes, even if its task is never run.
struct Ring(Arc<Bell>);

impl Drop for Ring {
    fn drop(&mut self) {
        self.0.ringing.store(false, Ordering::SeqCst);
        self.0.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{sync::oneshot, task::yield_now};

    /// A thread that counts what it receives, until it shall say so.
    fn counting(receiver: Receiver<Option<oneshot::Sender<usize>>>) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            let mut received = 0;
            loop {
                let mut next = receiver.recv(None);
                while let Ok(value) = next {
                    received += 1;
                    if let Some(reply) = value {
                        let _ = reply.send(received);
                        return;
                    }
                    next = receiver.try_recv();
                }
            }
        })
    }

    #[tokio::test]
    async fn it_rings_once_the_tasks_that_can_run_have_run() {
        let (sender, receiver) = queue();
        receiver.bell.listen();
        let send = |n| {
            let sender = sender.clone();
            async move {
                sender.send_soon(n);
                sender.bell.asleep.load(Ordering::SeqCst)
            }
        };
        let tasks: Vec<_> = (0..50).map(|n| tokio::spawn(send(n))).collect();
        for task in tasks {
            assert!(task.await.unwrap(), "others have not run yet");
        }
        while receiver.bell.asleep.load(Ordering::SeqCst) {
            yield_now().await;
        }
        let received: Vec<i32> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        assert_eq!(received, (0..50).collect::<Vec<i32>>());
    }

    #[test]
    fn nothing_that_is_sent_stays_in_the_queue() {
        let (sender, receiver) = queue();
        let counting = counting(receiver);
        for n in 0..10_000 {
            match n % 3 {
                0 => sender.send(None),
                _ => sender.send_soon(None),
            }
        }
        let (reply, all) = oneshot::channel();
        sender.send(Some(reply));
        assert_eq!(all.blocking_recv(), Ok(10_001));
        counting.join().unwrap();
    }

    #[test]
    fn a_runtime_that_stops_rings() {
        let (sender, receiver) = queue();
        let counting = counting(receiver);
        while !sender.bell.asleep.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (reply, received) = oneshot::channel();
        let sending = sender.clone();
        runtime.block_on(async move { sending.send_soon(Some(reply)) });
        drop(runtime);
        assert_eq!(received.blocking_recv(), Ok(1));
        counting.join().unwrap();
    }
}
