//! Sets of few numbers. Nearly all have one or two, and take no memory of their own then: a state copies thousands of them for
//! each block.

use smallvec::SmallVec;
use std::cmp::Ordering;

/// Numbers, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FewNumbers(SmallVec<[usize; 2]>);

impl FewNumbers {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    pub(super) fn insert(&mut self, number: usize) {
        if let Err(place) = self.0.binary_search(&number) {
            self.0.insert(place, number);
        }
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Ok(place) = self.0.binary_search(&number) {
            self.0.remove(place);
        }
    }

    pub(super) fn extend(&mut self, other: &FewNumbers) {
        if self.0 == other.0 {
            return;
        }
        self.0.extend_from_slice(&other.0);
        self.0.sort_unstable();
        self.0.dedup();
    }

    pub(super) fn is_disjoint(&self, other: &FewNumbers) -> bool {
        let (mut one, mut two) = (&self.0[..], &other.0[..]);
        while let ([first, rest @ ..], [second, others @ ..]) = (one, two) {
            match first.cmp(second) {
                Ordering::Less => one = rest,
                Ordering::Greater => two = others,
                Ordering::Equal => return false,
            }
        }
        true
    }
}

impl FromIterator<usize> for FewNumbers {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> FewNumbers {
        let mut all = FewNumbers(numbers.into_iter().collect());
        all.0.sort_unstable();
        all.0.dedup();
        all
    }
}

impl From<usize> for FewNumbers {
    fn from(number: usize) -> FewNumbers {
        FewNumbers(SmallVec::from_slice(&[number]))
    }
}

#[cfg(test)]
mod tests {
    use super::FewNumbers;
    use std::collections::BTreeSet;

    /// All sets of numbers below this are tried.
    const BELOW: usize = 6;

    fn set_of(bits: usize) -> BTreeSet<usize> {
        (0..BELOW).filter(|number| bits >> number & 1 != 0).collect()
    }

    fn same(few: &FewNumbers, set: &BTreeSet<usize>) -> bool {
        few.len() == set.len() && few.iter().eq(set.iter().copied())
    }

    #[test]
    fn every_set_is_what_one_of_the_standard_library_is() {
        for one in (0..1 << BELOW).map(set_of) {
            let few: FewNumbers = one.iter().rev().chain(&one).copied().collect();
            assert!(same(&few, &one), "{few:?}, {one:?}");
            for number in 0..BELOW {
                let (mut with, mut without) = (few.clone(), few.clone());
                with.insert(number);
                without.remove(number);
                assert!(same(&with, &one.iter().copied().chain([number]).collect()), "{few:?} and {number}");
                assert!(
                    same(&without, &one.iter().copied().filter(|&it| it != number).collect()),
                    "{few:?} without {number}"
                );
            }
            for other in (0..1 << BELOW).map(set_of) {
                let more: FewNumbers = other.iter().copied().collect();
                assert_eq!(few.is_disjoint(&more), one.is_disjoint(&other), "{few:?}, {more:?}");
                let mut all = few.clone();
                all.extend(&more);
                assert!(same(&all, &one.union(&other).copied().collect()), "{few:?} and {more:?}");
            }
        }
    }
}
