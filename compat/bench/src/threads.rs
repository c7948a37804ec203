//! Work that measures, in threads.

use crate::outcome::{Latencies, latencies};
use anyhow::{Result, anyhow};
use std::thread;

/// Runs each in a thread of its own and adds up what they measured. The first that fails fails the whole, when all have
/// ended.
pub fn in_threads<F: FnOnce() -> Result<Latencies> + Send>(work: Vec<F>) -> Result<Latencies> {
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|work| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut all = latencies();
    for result in results {
        all += result.map_err(|_| anyhow!("a thread panicked"))??;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_fails_fails_all() {
        let work = |good: bool| move || if good { Ok(latencies()) } else { Err(anyhow!("no")) };
        assert!(in_threads(vec![work(true), work(true)]).is_ok());
        assert_eq!(in_threads(vec![work(true), work(false)]).unwrap_err().to_string(), "no");
    }
}
