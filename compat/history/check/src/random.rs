//! Random numbers from a seed: splitmix64, so that a seed means the same on every machine and in every version.

/// A stream of random numbers. Two streams with equal seeds are equal.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Each purpose has a stream of its own: what one client draws does not move what another draws.
    pub fn new(seed: u64, purpose: &str) -> Random {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let mut random = Random(purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, hash));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In `from..to`, which must not be empty.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64) as usize]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.between(0, last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_are_equal_streams_and_purposes_have_their_own() {
        let draw = |mut random: Random| [random.next(), random.next(), random.next()];
        assert_eq!(draw(Random::new(7, "a")), draw(Random::new(7, "a")));
        assert_ne!(draw(Random::new(7, "a")), draw(Random::new(8, "a")));
        assert_ne!(draw(Random::new(7, "a")), draw(Random::new(7, "b")));
    }

    #[test]
    fn a_draw_stays_in_its_range_and_reaches_all_of_it() {
        let mut random = Random::new(1, "a");
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[random.between(3, 8) as usize - 3] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
