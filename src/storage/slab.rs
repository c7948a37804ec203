//! Memory that is written once and read by reference: batches are copied into slabs, slices of slabs are handed out, and a
//! slab nobody refers to any more is written again. Fresh memory is the dearest thing there is (first touch of a page).
//!
//! A `Tape` belongs to one log; the `Pool` is the store's. Not here: what the bytes mean.

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Bytes of a log's first slab; each next one is four times as large, up to the pool's.
const FIRST_SLAB_BYTES: usize = 16 << 10;
/// Full slabs kept for reuse, those included that a reader still refers to.
const SPARE_SLABS_MAX: usize = 16;

/// Full slabs their logs have let go.
pub struct Pool {
    /// Bytes of a full slab.
    slab_bytes: usize,
    spare: Mutex<VecDeque<BytesMut>>,
}

impl Pool {
    /// Pages that are never written cost nothing, so the rest a large batch leaves of a large slab is free.
    pub fn new(slab_bytes: usize) -> Pool {
        Pool { slab_bytes, spare: Mutex::default() }
    }

    /// Room for at least `bytes`: a slab that is free again, or fresh memory.
    fn take(&self, bytes: usize) -> BytesMut {
        if bytes <= self.slab_bytes {
            let mut spare = self.spare.lock();
            for index in 0..spare.len() {
                if spare[index].try_reclaim(self.slab_bytes) {
                    return spare.swap_remove_back(index).expect("the index is in range");
                }
            }
        }
        BytesMut::with_capacity(bytes)
    }

    /// Takes back what is left of a full slab; it is reused once the last slice of it is dropped.
    fn give(&self, rest: BytesMut) {
        let mut spare = self.spare.lock();
        if spare.len() == SPARE_SLABS_MAX {
            spare.pop_front();
        }
        spare.push_back(rest);
    }
}

/// Where bytes lie on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    chunk: u64,
    at: u32,
}

impl Spot {
    /// Whether `next` begins where `len` bytes at `self` end, so that both can be read as one slice.
    pub fn is_followed_by(self, len: u32, next: Spot) -> bool {
        self.chunk == next.chunk && self.at + len == next.at
    }
}

/// Written bytes, frozen when first read: what was written between two reads is one chunk.
struct Chunk {
    bytes: Bytes,
    /// What is left of a full slab, at the last chunk of it.
    rest: Option<BytesMut>,
}

/// The bytes of one log, in the order they were written. The oldest can be let go.
pub struct Tape {
    pool: Arc<Pool>,
    chunks: VecDeque<Chunk>,
    /// The number of `chunks[0]`.
    first: u64,
    /// The chunk being written; its number follows the last of `chunks`.
    tail: BytesMut,
    /// Bytes of the slab that `tail` lies in.
    slab_bytes: usize,
}

impl Tape {
    pub fn new(pool: Arc<Pool>) -> Tape {
        Tape { pool, chunks: VecDeque::new(), first: 0, tail: BytesMut::new(), slab_bytes: 0 }
    }

    /// Copies `head` and `body` to the end, as one.
    pub fn push(&mut self, head: &[u8], body: &[u8]) -> Spot {
        let len = head.len() + body.len();
        if self.tail.capacity() - self.tail.len() < len {
            self.next_slab(len);
        }
        let spot = Spot {
            chunk: self.first + self.chunks.len() as u64,
            at: u32::try_from(self.tail.len()).expect("slabs are smaller than 4 GiB"),
        };
        self.tail.extend_from_slice(head);
        self.tail.extend_from_slice(body);
        spot
    }

    /// The bytes at `spot`, which has not been let go.
    pub fn get(&mut self, spot: Spot, len: usize) -> Bytes {
        if spot.chunk == self.first + self.chunks.len() as u64 {
            self.freeze();
        }
        let chunk = &self.chunks[(spot.chunk - self.first) as usize];
        chunk.bytes.slice(spot.at as usize..spot.at as usize + len)
    }

    /// Lets go of everything before `spot`, or of everything.
    pub fn trim(&mut self, spot: Option<Spot>) {
        let keep = match spot {
            Some(spot) => spot.chunk,
            None => {
                self.freeze();
                self.first + self.chunks.len() as u64
            }
        };
        while self.first < keep
            && let Some(chunk) = self.chunks.pop_front()
        {
            self.first += 1;
            drop(chunk.bytes);
            if let Some(rest) = chunk.rest {
                self.pool.give(rest);
            }
        }
    }

    fn freeze(&mut self) {
        if !self.tail.is_empty() {
            let bytes = self.tail.split().freeze();
            self.chunks.push_back(Chunk { bytes, rest: None });
        }
    }

    fn next_slab(&mut self, len: usize) {
        self.freeze();
        let next_bytes = (self.slab_bytes * 4).clamp(FIRST_SLAB_BYTES, self.pool.slab_bytes);
        let slab = self.pool.take(next_bytes.max(len));
        let rest = std::mem::replace(&mut self.tail, slab);
        if self.slab_bytes == self.pool.slab_bytes {
            match self.chunks.back_mut() {
                Some(last) => last.rest = Some(rest),
                None => self.pool.give(rest),
            }
        }
        self.slab_bytes = next_bytes;
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.trim(None);
        if self.slab_bytes == self.pool.slab_bytes {
            self.pool.give(std::mem::take(&mut self.tail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_read_and_neighbours_touch() {
        let mut tape = Tape::new(Arc::new(Pool::new(4 << 20)));
        let spots: Vec<Spot> =
            (0..100u8).map(|n| tape.push(&[n; 10], &vec![n; 40 * n as usize])).collect();
        for (n, spot) in (0..100u8).zip(&spots) {
            let len = 10 + 40 * n as usize;
            assert_eq!(tape.get(*spot, len), vec![n; len]);
        }
        let touching =
            (0..99).filter(|n| spots[*n].is_followed_by(10 + 40 * *n as u32, spots[n + 1]));
        assert!(
            touching.count() > 90,
            "only the ends of slabs separate what was never read between"
        );
    }

    #[test]
    fn a_slab_is_written_again_once_nobody_refers_to_it() {
        let pool = Arc::new(Pool::new(4 << 20));
        let mut tape = Tape::new(pool.clone());
        let fill = |tape: &mut Tape| {
            let spots: Vec<Spot> = (0..30).map(|_| tape.push(&[], &[7; 1 << 20])).collect();
            spots.iter().map(|spot| tape.get(*spot, 1 << 20)).collect::<Vec<Bytes>>()
        };
        let held = fill(&mut tape);
        let known: Vec<*const u8> = held.iter().map(|bytes| bytes.as_ptr()).collect();
        tape.trim(None);
        assert!(fill(&mut tape).iter().all(|bytes| !known.contains(&bytes.as_ptr())), "in use");
        assert_eq!(held[0], vec![7; 1 << 20]);
        drop(held);
        tape.trim(None);
        assert!(fill(&mut tape).iter().any(|bytes| known.contains(&bytes.as_ptr())), "recycled");
    }
}
