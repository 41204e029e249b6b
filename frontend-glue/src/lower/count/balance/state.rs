//! The state that the checker of counts tracks on each path, and whether paths that meet agree.

use crate::llvm::Value;
use crate::lower::count::settled_roots::{SettledRoots, Unchanged};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Null,
    Borrows,
    Owns,
    /// Two paths disagree.
    Clash,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    pub(super) slots: Vec<Holds>,
    /// Numbered in the order in which the checker met them; those on only one of two paths are marked as clashing by
    /// `usize::MAX`.
    pub(super) temporaries: BTreeSet<usize>,
    pub(super) credits: Vec<Value>,
    /// Credits that a later write repays, by their values' numbers.
    pub(super) advanced: BTreeSet<usize>,
    /// What the next write takes out of its field.
    pub(super) kept: Option<Value>,
    /// The result's credit went to the caller.
    pub(super) handed: bool,
    /// A count fell since the last drain.
    pub(super) fallen: bool,
    /// Roots of many words that count their objects; any store or call may change that, if others may have their address.
    pub(super) settled: BTreeSet<usize>,
    pub(super) unchanged: Unchanged,
    /// Roots whose life has ended, and that were not settled since.
    pub(super) ended: BTreeSet<usize>,
    /// Roots of many words that may count any objects.
    pub(super) counting: BTreeSet<usize>,
    pub(super) address_taken: bool,
    /// Postponed counts wait for `apply`.
    pub(super) waiting: bool,
}

const CLASH: usize = usize::MAX;

impl State {
    pub(super) fn merge(&mut self, other: &State) {
        for (mine, &theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine = match (*mine, theirs) {
                (mine, theirs) if mine == theirs => mine,
                (Holds::Null, other) | (other, Holds::Null) => other,
                _ => Holds::Clash,
            };
        }
        self.fallen |= other.fallen;
        self.waiting |= other.waiting;
        self.settled.retain(|root| other.settled.contains(root));
        self.unchanged.merge(&other.unchanged);
        self.ended.extend(&other.ended);
        self.counting.extend(&other.counting);
        if self.address_taken != other.address_taken || self.handed != other.handed {
            self.temporaries.insert(CLASH);
        }
        if self.temporaries != other.temporaries || self.credits != other.credits || self.advanced != other.advanced {
            self.temporaries.insert(CLASH);
        }
    }

    /// Any store or call may write to a root whose address others have; to the rest those that name them.
    pub(super) fn may_change_roots(&mut self, changes: &SettledRoots, at: Value) {
        self.ended.extend(self.unchanged.step(changes, at));
        self.settled.retain(|&root| self.unchanged.settled.contains(root));
    }

    pub(super) fn clash(&self) -> Option<String> {
        if self.temporaries.contains(&CLASH) {
            return Some("a temporary has a count on one path to this place and none on another".into());
        }
        let slot = self.slots.iter().position(|&holds| holds == Holds::Clash)?;
        Some(format!("root {slot} owns its object on one path to this place and borrows it on another"))
    }
}
