//! Roots that stand in for others: a reference went from one root to another, and the first holds something else now.
//!
//! ```text
//!   store ptr %a, ptr %first
//!   %x = load ptr, ptr %first
//!   store ptr %x, ptr %second        ; both hold the object of %a,
//!   store ptr null, ptr %first       ; now the second alone does
//!   call void @f()
//!   use of %a                        ; and %a was never stored to it
//! ```
//!
//! The roots that may hold the same reference are computed without regard for control flow, and there are many: in a
//! loop over a list, the cursor's root and the one with the list's head. So they are used only for a value that
//! matters at a safepoint while none of its own roots definitely holds it. A reference for which roots are inferred has one of
//! its own wherever that matters.

use super::bit_set::BitSet;
use super::influence::Influence;
use super::steps::Steps;
use crate::llvm::{HandleMap, Value};

/// The substitutes of one function's roots.
#[derive(Debug)]
pub(super) struct Substitutes<'a> {
    steps: &'a Steps,
    /// The dependence of values on roots if roots are variables like others.
    wide: &'a Influence,
    /// Whether a value has more roots there than its own, by its number in [`Steps`].
    has_more: Vec<bool>,
    /// For each safepoint such values that matter there.
    mattering: Vec<Vec<usize>>,
    /// For safepoints, by their numbers: the roots named for values that none of their own roots holds.
    named: HandleMap<usize, BitSet>,
}

impl<'a> Substitutes<'a> {
    pub(super) fn new(steps: &'a Steps, own: &Influence, wide: &'a Influence) -> Substitutes<'a> {
        let has_more = |value| own.of_value(value) != wide.of_value(value) && !own.is_kept_by_inferred(value);
        let has_more = steps.values.iter().map(|&value| has_more(value)).collect();
        let mattering = vec![Vec::new(); steps.safepoints.len()];
        Substitutes { steps, wide, has_more, mattering, named: HandleMap::default() }
    }

    /// Notes the values that matter at the safepoint, in place of those noted before.
    pub(super) fn note(&mut self, safepoint: usize, values: impl Iterator<Item = usize>) {
        self.mattering[safepoint].clear();
        self.mattering[safepoint].extend(values.filter(|&value| self.has_more[value]));
    }

    /// Whether any value that may need another root than its own matters anywhere.
    pub(super) fn are_wanted(&self) -> bool {
        self.mattering.iter().any(|values| !values.is_empty())
    }

    /// Decides the roots to name at a safepoint, from the values that a root of their own definitely holds.
    pub(super) fn decide(&mut self, safepoint: usize, is_held: impl Fn(Value) -> bool) {
        let mattering = self.mattering[safepoint].iter().map(|&number| self.steps.values[number]);
        for roots in mattering.filter(|&value| !is_held(value)).filter_map(|value| self.wide.of_value(value)) {
            match self.named.get_mut(&safepoint) {
                Some(named) => _ = named.union(roots),
                None => _ = self.named.insert(safepoint, roots.clone()),
            }
        }
    }

    /// The decision.
    pub(super) fn at(&self, safepoint: usize) -> Option<&BitSet> {
        self.named.get(&safepoint)
    }
}
