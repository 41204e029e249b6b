//! The state of the analysis at one point of a function: the carriers of references, and the places that may hold
//! these.

use super::few_numbers::FewNumbers;
use std::collections::BTreeMap;

/// A carrier of a reference. Numbers of values are places in the function: arguments first, then instructions in
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carrier {
    /// The word at this offset of a value: 0 of a pointer or integer, others of an aggregate.
    Value(usize, i64),
    /// The value of a phi when its block is entered next.
    NextPhi(usize),
    /// The content of the word of local memory (or the root) with this number.
    Word(usize),
    /// The content of some element of the array with this number, by the origin of the reference.
    Element(usize, usize),
}

/// The facts about the reference in a carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// Words of local memory and roots that may hold the same reference.
    pub(super) words: FewNumbers,
    /// Its origin; of several the first.
    pub(super) origin: usize,
    /// All origins, if paths or selects have met.
    pub(super) origins: FewNumbers,
    /// The safepoint at which it was in no root.
    pub(super) stale: Option<usize>,
    /// It is a pointer into the object: a root that holds it protects nothing.
    pub(super) derived: bool,
    /// It went through an integer, which may be no reference on other paths.
    pub(super) integer: bool,
    /// On some path to this point the carrier holds something else.
    pub(super) partial: bool,
    /// A safepoint may have passed since the origin.
    pub(super) aged: bool,
    /// A call made it: as far as is known nothing else holds it.
    pub(super) born: bool,
    /// The runtime holds it as long as the function runs: it is a destructor's argument, or was made immortal.
    pub(super) sheltered: bool,
}

pub(super) type State = BTreeMap<Carrier, Facts>;

impl Facts {
    pub(super) fn from(origin: usize) -> Facts {
        Facts {
            words: FewNumbers::default(),
            origin,
            origins: origin.into(),
            stale: None,
            derived: false,
            integer: false,
            partial: false,
            aged: false,
            born: false,
            sheltered: false,
        }
    }

    /// So much memory do they take, in places that they name.
    pub(super) fn weight(&self) -> usize {
        1 + self.words.len() + self.origins.len()
    }

    /// Whether a function that takes or returns this takes or returns a reference.
    pub(super) fn is_whole_reference(&self) -> bool {
        !(self.derived || self.integer && self.partial)
    }

    fn join(&mut self, other: &Facts) {
        self.words.extend(&other.words);
        self.origin = self.origin.min(other.origin);
        self.origins.extend(&other.origins);
        self.stale = match (self.stale, other.stale) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.derived |= other.derived;
        self.integer |= other.integer;
        self.partial |= other.partial;
        self.aged |= other.aged;
        self.born &= other.born;
        self.sheltered |= other.sheltered;
    }
}

/// Merges the state of another path to the same point; "may be in this root" is kept from either.
pub(super) fn merge(into: &mut State, from: &State) {
    for (carrier, facts) in into.iter_mut().filter(|(carrier, _)| !from.contains_key(carrier)) {
        facts.partial |= !matches!(carrier, Carrier::Element(..));
    }
    for (carrier, facts) in from {
        match into.get_mut(carrier) {
            None => {
                let mut facts = facts.clone();
                facts.partial |= !matches!(carrier, Carrier::Element(..));
                into.insert(*carrier, facts);
            }
            Some(known) => known.join(facts),
        }
    }
}

/// Either of two references.
pub(super) fn either(one: Option<Facts>, other: Option<Facts>) -> Option<Facts> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.join(&other);
            Some(one)
        }
        (one, other) => one.or(other).map(|facts| Facts { partial: true, ..facts }),
    }
}
