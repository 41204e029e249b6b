//! A set of small numbers, such as a function's roots. Up to 128 take no memory of their own.

use smallvec::{SmallVec, smallvec};

/// A fixed universe of bits; all sets of one analysis have the same number of words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BitSet(SmallVec<[u64; 2]>);

/// Copies of small sets take a few instructions: analyses make them by the hundred thousand, and `SmallVec` takes a hundred for one.
impl Clone for BitSet {
    fn clone(&self) -> BitSet {
        BitSet(match self.0[..] {
            [one] => SmallVec::from_buf_and_len([one, 0], 1),
            [one, two] => SmallVec::from_buf([one, two]),
            _ => SmallVec::from_slice(&self.0),
        })
    }

    fn clone_from(&mut self, other: &BitSet) {
        if self.0.len() == other.0.len() {
            self.0.copy_from_slice(&other.0);
        } else {
            *self = other.clone();
        }
    }
}

impl BitSet {
    pub(super) fn empty(universe: usize) -> BitSet {
        BitSet(smallvec![0; universe.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    pub(super) fn contains(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// Adds the other set; returns whether anything was new.
    pub(super) fn union(&mut self, other: &BitSet) -> bool {
        let mut grew = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            grew |= *more & !*word != 0;
            *word |= more;
        }
        grew
    }

    /// Whether both have a member in common.
    pub(super) fn meets(&self, other: &BitSet) -> bool {
        self.0.iter().zip(&other.0).any(|(word, others)| word & others != 0)
    }

    pub(super) fn intersect(&mut self, other: &BitSet) {
        for (word, keep) in self.0.iter_mut().zip(&other.0) {
            *word &= keep;
        }
    }

    pub(super) fn subtract(&mut self, other: &BitSet) {
        for (word, gone) in self.0.iter_mut().zip(&other.0) {
            *word &= !gone;
        }
    }

    pub(super) fn bits(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + bit as usize)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn sets_remember_what_is_in_them() {
        let mut set = BitSet::empty(130);
        for bit in [0, 63, 64, 129] {
            set.insert(bit);
        }
        set.remove(63);
        assert_eq!(set.bits().collect::<Vec<_>>(), [0, 64, 129]);
        let mut other = BitSet::empty(130);
        other.insert(64);
        assert!(!set.union(&other) && set.meets(&other));
        set.intersect(&other);
        assert_eq!(set.bits().collect::<Vec<_>>(), [64]);
    }
}
