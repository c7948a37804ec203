//! A table indexed by numbers that are mostly dense: pages of a thousand entries, only those that are used.

use std::collections::BTreeMap;

const PAGE: u64 = 1024;

/// An entry that was never written reads as the default.
pub(crate) struct Dense<T>(BTreeMap<u64, Box<[T]>>);

impl<T: Clone + Default> Dense<T> {
    pub(crate) fn new() -> Dense<T> {
        Dense(BTreeMap::new())
    }

    /// None: nothing near it was ever written.
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        self.0.get(&(index / PAGE)).map(|page| &page[(index % PAGE) as usize])
    }

    pub(crate) fn at(&mut self, index: u64) -> &mut T {
        let fresh = || vec![T::default(); PAGE as usize].into_boxed_slice();
        &mut self.0.entry(index / PAGE).or_insert_with(fresh)[(index % PAGE) as usize]
    }

    /// The entries of all pages in use within `from..to`, in order, never written ones among them.
    pub(crate) fn range(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &T)> {
        let pages = self.0.range(from / PAGE..to.div_ceil(PAGE).max(from / PAGE));
        pages
            .flat_map(|(number, page)| (number * PAGE..).zip(page.iter()))
            .skip_while(move |(index, _)| *index < from)
            .take_while(move |(index, _)| *index < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_exact_and_jumps_over_unused_pages() {
        let mut table = Dense::new();
        for index in [0, 3, 1023, 1024, 1 << 40] {
            *table.at(index) = index + 1;
        }
        let written = |from, to| {
            let all = table.range(from, to);
            all.filter(|(_, entry)| **entry != 0).map(|(index, _)| index).collect::<Vec<_>>()
        };
        assert_eq!(written(0, u64::MAX), [0, 3, 1023, 1024, 1 << 40]);
        assert_eq!(written(3, 1024), [3, 1023]);
        assert_eq!(written(4, 1023), [] as [u64; 0]);
        assert_eq!(written(1024, 1024), [] as [u64; 0]);
        assert_eq!(written(9, 4), [] as [u64; 0]);
        assert_eq!(table.get(3), Some(&4));
        assert_eq!(table.get(4), Some(&0));
        assert_eq!(table.get(4096), None);
    }
}
