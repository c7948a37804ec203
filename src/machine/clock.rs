//! The clock of runners and actors; with the partition actor the only reader of time. Machines get `Now` as an input.
//!
//! It stands on tokio's time, so that a test with paused time jumps from deadline to deadline.

use super::{Mono, Now};
#[cfg(any(test, feature = "faults"))]
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// One broker's clock. Moments of two clocks cannot be compared.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    /// Added to the wall clock, in milliseconds.
    #[cfg(any(test, feature = "faults"))]
    offset: Option<&'static AtomicI64>,
}

impl Clock {
    /// A clock whose `Mono` is 0 now.
    #[expect(clippy::disallowed_methods, reason = "the one monotonic clock")]
    pub fn start() -> Clock {
        Clock {
            start: Instant::now(),
            #[cfg(any(test, feature = "faults"))]
            offset: None,
        }
    }

    /// The same clock with a wall that jumps. A clock is copied freely and has no end, so `offset` gets none either: a few
    /// bytes for each broker that is ever started.
    #[cfg(any(test, feature = "faults"))]
    pub fn with_offset(self, offset: Arc<AtomicI64>) -> Clock {
        Clock { offset: Some(Box::leak(Box::new(offset))), ..self }
    }

    pub fn now(&self) -> Now {
        Now { mono: Mono(self.start.elapsed().as_millis() as u64), wall_ms: self.wall_ms() }
    }

    fn wall_ms(&self) -> i64 {
        #[cfg(any(test, feature = "faults"))]
        if let Some(offset) = self.offset {
            return wall_ms().saturating_add(offset.load(Ordering::Relaxed)).max(0);
        }
        wall_ms()
    }

    /// Returns at `moment` or later; never, when there is none.
    pub async fn sleep_until(&self, moment: Option<Mono>) {
        let at = moment.and_then(|Mono(ms)| self.start.checked_add(Duration::from_millis(ms)));
        match at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Milliseconds since the epoch; 0 before it.
#[expect(clippy::disallowed_methods, reason = "the one wall clock")]
fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wall_that_jumps_moves_no_timer() {
        let offset = Arc::new(AtomicI64::new(0));
        let clock = Clock::start().with_offset(offset.clone());
        let before = clock.now();
        for jump in [86_400_000, -86_400_000, i64::MIN, i64::MAX] {
            offset.store(jump, Ordering::Relaxed);
            let now = clock.now();
            assert_eq!(now.mono, before.mono);
            let expected = before.wall_ms.saturating_add(jump).max(0);
            assert!(now.wall_ms - expected < 60_000 && now.wall_ms >= expected, "{jump}");
        }
        clock.sleep_until(Some(Mono(5))).await;
        assert_eq!(clock.now().mono, Mono(5));
    }
}
