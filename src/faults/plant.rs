//! The bugs that can be planted, which of them are, and their dice.

use super::random::Random;
use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// A bug. None of them touches the batches of group coordinators, but for `ForgetCommit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plant {
    /// A batch is acknowledged, and its records are gone: an empty batch stands in their place. Odds per batch.
    DropAcknowledged,
    /// A batch is stored twice: at the offsets that were acknowledged, and again behind them. Its log refuses batches for a
    /// moment after it. Odds per batch.
    RepeatBatch,
    /// Two neighbouring batches change places. They must be on their way at the same time, so storage is at least 20 ms slow
    /// while this is planted. Odds per pair.
    SwapBatches,
    /// A batch moves one offset further on after it was acknowledged. Its log refuses batches for a moment. Odds per batch.
    WrongOffset,
    /// Reads see everything written, the records included that are not synced yet: with `flush.messages=1`, slow storage and
    /// a power cut, consumers have seen what never was. Odds per read.
    ServeBeyondHighWatermark,
    /// A read begins one batch too late. Odds per read.
    SkipBatch,
    /// From some batch on reads see nothing new in its log, until the broker is started anew. Odds per batch.
    StaleRead,
    /// A sync is acknowledged and not done: with `flush.messages=1`, a power cut loses acknowledged records. Odds per sync.
    TornAck,
    /// The newest commit of a group coordinator's log is gone after a start. Odds per log and start.
    ForgetCommit,
    /// Who produced what is not known after a start, so a batch sent again lands twice. Odds per log and start.
    LoseDedupe,
    /// The two newest batches of a log have changed places after a start. Odds per log and start.
    ReorderAtRestart,
    /// The newest batch of a log is gone after a start. Odds per log and start.
    CutAtRestart,
}

impl Plant {
    pub const ALL: [Plant; 12] = [
        Plant::DropAcknowledged,
        Plant::RepeatBatch,
        Plant::SwapBatches,
        Plant::WrongOffset,
        Plant::ServeBeyondHighWatermark,
        Plant::SkipBatch,
        Plant::StaleRead,
        Plant::TornAck,
        Plant::ForgetCommit,
        Plant::LoseDedupe,
        Plant::ReorderAtRestart,
        Plant::CutAtRestart,
    ];

    /// In lower case, with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Plant::DropAcknowledged => "drop-acknowledged",
            Plant::RepeatBatch => "repeat-batch",
            Plant::SwapBatches => "swap-batches",
            Plant::WrongOffset => "wrong-offset",
            Plant::ServeBeyondHighWatermark => "serve-beyond-high-watermark",
            Plant::SkipBatch => "skip-batch",
            Plant::StaleRead => "stale-read",
            Plant::TornAck => "torn-ack",
            Plant::ForgetCommit => "forget-commit",
            Plant::LoseDedupe => "lose-dedupe",
            Plant::ReorderAtRestart => "reorder-at-restart",
            Plant::CutAtRestart => "cut-at-restart",
        }
    }

    /// Odds, as one in so many, with which some ten batches a second show it within a minute.
    pub fn usual_odds(self) -> u32 {
        match self {
            Plant::DropAcknowledged | Plant::RepeatBatch | Plant::WrongOffset => 100,
            Plant::SkipBatch | Plant::StaleRead => 100,
            Plant::SwapBatches => 10,
            _ => 1,
        }
    }
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No plant has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: no such plant")]
pub struct UnknownPlant(String);

impl FromStr for Plant {
    type Err = UnknownPlant;

    fn from_str(name: &str) -> Result<Plant, UnknownPlant> {
        let found = Plant::ALL.into_iter().find(|plant| plant.name() == name);
        found.ok_or_else(|| UnknownPlant(name.to_owned()))
    }
}

struct Planted {
    one_in: u64,
    random: Random,
    acted: u64,
}

/// What is planted in a store.
#[derive(Default)]
pub(super) struct Plants(Mutex<BTreeMap<Plant, Planted>>);

impl Plants {
    pub fn plant(&self, plant: Plant, one_in: u32, seed: u64) {
        let planted =
            Planted { one_in: u64::from(one_in.max(1)), random: Random::new(seed), acted: 0 };
        self.0.lock().insert(plant, planted);
    }

    pub fn has(&self, plant: Plant) -> bool {
        self.0.lock().contains_key(&plant)
    }

    pub fn acted(&self, plant: Plant) -> u64 {
        self.0.lock().get(&plant).map_or(0, |planted| planted.acted)
    }

    /// Whether the plant is there and its time has come. The dice are thrown even where it then finds nothing to do.
    pub fn wants(&self, plant: Plant) -> bool {
        let mut plants = self.0.lock();
        plants.get_mut(&plant).is_some_and(|planted| planted.random.below(planted.one_in) == 0)
    }

    /// It has acted.
    pub fn count(&self, plant: Plant) {
        if let Some(planted) = self.0.lock().get_mut(&plant) {
            planted.acted += 1;
        }
    }
}
