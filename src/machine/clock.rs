//! The clock of runners and actors; with the partition actor the only reader of time. Machines get `Now` as an input.
//!
//! It stands on tokio's time, so that a test with paused time jumps from deadline to deadline.

use super::{Mono, Now};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// One broker's clock. Moments of two clocks cannot be compared.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose `Mono` is 0 now.
    #[expect(clippy::disallowed_methods, reason = "the one monotonic clock")]
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    pub fn now(&self) -> Now {
        Now { mono: Mono(self.start.elapsed().as_millis() as u64), wall_ms: wall_ms() }
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
