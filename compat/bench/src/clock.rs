//! Time: the only file that asks for it.

use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A sleep may end this much late; the rest of a wait is spent yielding.
const SLEEP_SLACK: Duration = Duration::from_micros(200);

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub fn now() -> Instant {
    Instant::now()
}

/// Since 1970.
#[expect(clippy::disallowed_methods, reason = "records have times")]
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Waits for a moment, to within some microseconds, and lets other threads of this core go first.
pub fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(now());
    if left > SLEEP_SLACK {
        thread::sleep(left - SLEEP_SLACK);
    }
    while now() < due {
        thread::yield_now();
    }
}

/// Whole nanoseconds, for histograms.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
