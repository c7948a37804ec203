//! Looking into batches where the broker must: what comes out of a few bytes may be large and take long. So it is done on a
//! thread that may block, and by `INSPECTIONS_MAX` at a time in a broker, whose memory is thereby bounded. Who waits does so
//! in order.
//!
//! Not here: what is looked for (`validate`, `lookup`) and how much one batch may become (`limits`).

use crate::limits::INSPECTIONS_MAX;
use std::{num::NonZero, sync::Arc, thread::available_parallelism};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Clones share its turns.
#[derive(Debug, Clone)]
pub struct Inspection(Arc<Semaphore>);

impl Default for Inspection {
    fn default() -> Inspection {
        Inspection::with_turns(available_parallelism().map_or(1, NonZero::get).min(INSPECTIONS_MAX))
    }
}

impl Inspection {
    fn with_turns(turns: usize) -> Inspection {
        Inspection(Arc::new(Semaphore::new(turns)))
    }

    /// Runs `work`, which decompresses one batch at most. None when it panicked. Work that has begun ends, whoever waits
    /// for it, and keeps the turn until then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turn = self.0.clone().acquire_owned().await.ok()?;
        let working = spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn one_at_a_time_though_the_first_is_no_longer_waited_for() {
        let inspection = Inspection::with_turns(1);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let mut first = Box::pin(inspection.run(move || {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
        }));
        assert!(futures_util::poll!(&mut first).is_pending());
        has_begun.recv().unwrap();
        drop(first);
        let mut second = Box::pin(inspection.run(|| 2));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!(inspection.0.available_permits(), 0);
        go_on.send(()).unwrap();
        assert_eq!(second.await, Some(2));
    }

    #[tokio::test]
    async fn a_panic_gives_the_turn_back() {
        let inspection = Inspection::with_turns(1);
        assert_eq!(inspection.run(|| -> u8 { panic!("of work") }).await, None);
        assert_eq!(inspection.run(|| 1).await, Some(1));
    }
}
