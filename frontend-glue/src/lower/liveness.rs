//! The roots that each safepoint must name: those that may hold something and whose content may still matter.
//!
//! Naming all roots at all calls is always right, but quadratic (600 roots and 1,200 calls: 546 ms against 23 ms, 8.8
//! MB of maps against 48 KB), and a slot that is never read again would keep garbage alive. So a root is named at a
//! call
//!
//! - only if a non-null store may reach the call (forward), and
//! - only if it may matter afterwards (backward): the slot is read again before it is overwritten whole, or a value
//!   that was read from it or stored into it, or anything derived from such a value, is used again.
//!
//! The second half of that sentence follows from rule 4 of the contract ("derived pointers are free as long as the
//! base is rooted"): `%p = load %root; call @f(); use %p + 8` never reads the slot again and yet relies on it. A
//! derived value is followed through SSA and through plain allocas ([`Influence`]); if it is stored to unknown
//! memory, its root is named at every call. So is a root whose address escapes. A slot no longer matters once it is
//! overwritten, a value still does: `%p = load %root; call @f(); store null, %root; use %p` relies on the root while
//! `@f` runs.
//!
//! If a reference went from one root to another by a load, and the first was overwritten since, the second protects
//! the value read from the first. Only then is it named for that value: as long as a root of its own definitely holds
//! a value (`carriers.rs`), roots that may hold the same do not matter. Otherwise a list's head in a dead local would
//! keep all of the list while a loop goes over it.
//!
//! Arguments count as used *during* the call, unless they are exactly the content of a root and the callee is a
//! function with roots of this module: by rule 3 the callee roots its parameters before its first safepoint.

use super::bit_set::BitSet;
use super::exposure::aliases_at_safepoints;
use super::influence::{Influence, Reach, SlotAccess};
use super::roots::Root;
use super::steps::{Step, Steps};
use super::substitutes::Substitutes;
use crate::analysis::callee::Callees;
use crate::analysis::flow::{Direction, Flow, LazyFlow};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Value};
use crate::lower::carriers::Carrier;
use crate::lower::inferred::passes_untyped;
use crate::lower::{LowerOptions, Mitigation};

/// The numbers of the roots that each safepoint call of a function names.
#[derive(Debug)]
pub(super) struct NamedRoots {
    of_calls: HandleMap<Call, BitSet>,
    /// The roots that a call names if it is not in the map.
    of_others: BitSet,
}

impl NamedRoots {
    /// Every call names these, too.
    pub(super) fn name_everywhere(&mut self, roots: impl Iterator<Item = usize>) {
        for root in roots {
            self.of_others.insert(root);
            self.of_calls.values_mut().for_each(|named| named.insert(root));
        }
    }

    /// In ascending order.
    pub(super) fn at(&self, call: Call) -> impl Iterator<Item = usize> {
        self.of_calls.get(&call).unwrap_or(&self.of_others).bits()
    }
}

/// The roots that safepoints name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// All of them.
    All,
    /// Those that may hold something: for counted roots, which hold their counts whether they matter or not.
    Filled,
    /// Those that may hold something and whose content may still matter.
    Live,
}

/// Decides which roots each safepoint of `function` names. `managed` are the functions that root their parameters.
pub(super) fn named_roots(
    callees: &Callees,
    function: Value,
    flow: &LazyFlow,
    roots: &[Root],
    managed: &HandleSet<Value>,
    naming: Naming,
    options: &LowerOptions,
) -> NamedRoots {
    let mut named = NamedRoots { of_calls: HandleMap::default(), of_others: BitSet::empty(roots.len()) };
    if roots.is_empty() {
        return named;
    }
    if naming == Naming::All || function.calls().any(|call| callees.returns_twice(call)) {
        (0..roots.len()).for_each(|root| named.of_others.insert(root));
        return named;
    }
    let flow = flow.get();
    let reach = if options.has(Mitigation::OriginsOfStored) { Reach::Values } else { Reach::WithoutOrigins };
    let influence = Influence::of(callees, function, roots, reach);
    let steps = Steps::of(callees, flow, &influence);
    let filled = filled_before(flow, &steps, roots.len());
    if naming == Naming::Filled {
        for (&call, mut roots) in steps.safepoints.iter().zip(filled) {
            roots.union(&influence.always);
            named.of_calls.insert(call, roots);
        }
        return named;
    }
    let any_inferred = roots.iter().any(|root| root.inferred);
    let is_rooted = |call: &Call| managed.contains(&call.callee()) && !(any_inferred && passes_untyped(*call));
    let callee_roots: Vec<bool> = steps.safepoints.iter().map(is_rooted).collect();
    let question = Question { flow, steps: &steps, count: roots.len(), influence: &influence, callee_roots };
    let mut always = influence.always.clone();
    // Roots in place of others are found through origins, too: a test that leaves these out must show the loss.
    let asks_for_others = options.has(Mitigation::RootsInPlaceOfOthers) && options.has(Mitigation::OriginsOfStored);
    let may_need_others = steps.values.iter().any(|&value| !influence.is_kept_by_inferred(value));
    let matters = if asks_for_others && may_need_others && influence.shares() {
        let wide = Influence::of(callees, function, roots, Reach::ThroughRoots);
        always.union(&wide.always);
        let mut substitutes = Substitutes::new(&steps, &influence, &wide);
        let matters = question.answer(Some(&mut substitutes));
        if substitutes.are_wanted() {
            let places: HandleMap<Call, usize> = steps.safepoints.iter().copied().zip(0..).collect();
            aliases_at_safepoints(callees, flow, function, roots, |call, held| {
                substitutes.decide(places[&call], |value: Value| {
                    let own = influence.of_value(value).into_iter().flat_map(BitSet::bits);
                    held.is_in_one_of(Carrier::Now(value.base()), own.map(|root| roots[root].slot))
                });
            });
            question.answer(Some(&mut substitutes))
        } else {
            matters
        }
    } else {
        question.answer(None)
    };
    for ((&call, mut roots), filled) in steps.safepoints.iter().zip(matters).zip(filled) {
        roots.intersect(&filled);
        roots.union(&always);
        named.of_calls.insert(call, roots);
    }
    named
}

/// For each safepoint the roots that may hold something when it starts.
fn filled_before(flow: &Flow, steps: &Steps, count: usize) -> Vec<BitSet> {
    let mut at_safepoints = vec![BitSet::empty(count); steps.safepoints.len()];
    let mut through = |block: usize, mut filled: BitSet| {
        for step in &steps.of_blocks[block] {
            if let Some(safepoint) = step.safepoint {
                at_safepoints[safepoint].clone_from(&filled);
            }
            for access in &step.accesses {
                match *access {
                    SlotAccess::Empty { root } => filled.remove(root),
                    SlotAccess::Overwrite { root } | SlotAccess::Touch { root } => filled.insert(root),
                    SlotAccess::Read { .. } => {}
                }
            }
        }
        filled
    };
    flow.solve(Direction::Forward, &BitSet::empty(count), |into, from| _ = into.union(from), &mut through);
    at_safepoints
}

/// The slots and values that matter at one place: slots that may be read before they are overwritten, and values that
/// may still be used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mattering {
    slots: BitSet,
    /// Those that can matter in several blocks, by their numbers in [`Steps`].
    values: BitSet,
}

/// The same during the walk through a block, with the values that matter only inside it.
struct MatteringHere<'a> {
    steps: &'a Steps,
    influence: &'a Influence,
    matters: Mattering,
    inside: &'a mut NumberList,
}

impl MatteringHere<'_> {
    fn uses(&mut self, value: usize) {
        if value < self.steps.crossing {
            self.matters.values.insert(value);
        } else {
            self.inside.insert(value - self.steps.crossing);
        }
    }

    /// Notes that a value is made, or a variable gets another content: the old one does not matter.
    fn begins(&mut self, value: usize) {
        if value < self.steps.crossing {
            self.matters.values.remove(value);
        } else {
            self.inside.remove(value - self.steps.crossing);
        }
    }

    /// The values that matter, by their numbers.
    fn values(&self) -> impl Iterator<Item = usize> {
        let inside = self.inside.members().iter().map(|number| number + self.steps.crossing);
        self.matters.values.bits().chain(inside)
    }

    /// The roots of all that matters.
    fn roots(&self) -> BitSet {
        let mut roots = self.matters.slots.clone();
        self.add_roots_of(self.values(), &mut roots);
        roots
    }

    fn add_roots_of(&self, values: impl Iterator<Item = usize>, roots: &mut BitSet) {
        for value in values {
            if let Some(more) = self.influence.of_value(self.steps.values[value]) {
                roots.union(more);
            }
        }
    }
}

/// The inputs of the analysis of one function: for each safepoint it finds the roots whose content matters during it
/// or after it.
struct Question<'a> {
    flow: &'a Flow,
    steps: &'a Steps,
    /// Of roots.
    count: usize,
    influence: &'a Influence,
    /// For each safepoint whether the callee roots its parameters.
    callee_roots: Vec<bool>,
}

impl Question<'_> {
    /// Runs the analysis, and gives `substitutes` the values that matter at each place.
    fn answer(&self, mut substitutes: Option<&mut Substitutes<'_>>) -> Vec<BitSet> {
        let Question { flow, steps, count, influence, .. } = *self;
        let mut at_safepoints = vec![BitSet::empty(count); steps.safepoints.len()];
        let mut inside = NumberList::of(steps.values.len() - steps.crossing);
        let through = |block: usize, matters: Mattering| {
            let mut here = MatteringHere { steps, influence, matters, inside: &mut inside };
            for &value in &steps.taken_at_end[block] {
                here.uses(value);
            }
            for step in steps.of_blocks[block].iter().rev() {
                if let Some(value) = step.begins {
                    here.begins(value);
                }
                if let Some(safepoint) = step.safepoint {
                    let named = self.at_safepoint(&here, step, safepoint, substitutes.as_deref_mut());
                    // Naming reads the slot: its content must have been named at the calls before, back to the store.
                    here.matters.slots.union(&named);
                    at_safepoints[safepoint] = named;
                }
                step_back(&mut here, step);
            }
            // Made in this block, all of them; but in an unreachable block a value may be used before it is made.
            here.inside.clear();
            here.matters
        };
        let nothing = Mattering { slots: BitSet::empty(count), values: BitSet::empty(steps.crossing) };
        let merge = |into: &mut Mattering, from: &Mattering| {
            into.slots.union(&from.slots);
            into.values.union(&from.values);
        };
        flow.solve(Direction::Backward, &nothing, merge, through);
        at_safepoints
    }

    fn at_safepoint(
        &self,
        here: &MatteringHere<'_>,
        step: &Step,
        safepoint: usize,
        substitutes: Option<&mut Substitutes<'_>>,
    ) -> BitSet {
        // The callee roots the arguments that are exactly the content of a root.
        let is_left =
            |&value: &usize| !(self.callee_roots[safepoint] && self.influence.is_exact(self.steps.values[value]));
        let arguments = || step.uses.iter().copied().filter(is_left);
        let mut named = here.roots();
        here.add_roots_of(arguments(), &mut named);
        if let Some(substitutes) = substitutes {
            substitutes.note(safepoint, here.values().chain(arguments()));
            if let Some(more) = substitutes.at(safepoint) {
                named.union(more);
            }
        }
        named
    }
}

/// Computes the state before an instruction from the state after it.
fn step_back(here: &mut MatteringHere<'_>, step: &Step) {
    for access in &step.accesses {
        if let SlotAccess::Empty { root } | SlotAccess::Overwrite { root } = *access {
            here.matters.slots.remove(root);
        }
    }
    for access in &step.accesses {
        if let SlotAccess::Read { root } = *access {
            here.matters.slots.insert(root);
        }
    }
    if let Some(variable) = step.refills {
        here.begins(variable);
    }
    for &value in &step.uses {
        here.uses(value);
    }
}

/// A set of numbers, mostly empty, whose members can be listed without visiting the others.
struct NumberList {
    members: Vec<usize>,
    /// The place of each number in `members`.
    places: Vec<Option<usize>>,
}

impl NumberList {
    fn of(universe: usize) -> NumberList {
        NumberList { members: Vec::new(), places: vec![None; universe] }
    }

    fn members(&self) -> &[usize] {
        &self.members
    }

    fn insert(&mut self, number: usize) {
        if self.places[number].is_none() {
            self.places[number] = Some(self.members.len());
            self.members.push(number);
        }
    }

    fn remove(&mut self, number: usize) {
        let Some(place) = self.places[number].take() else { return };
        self.members.swap_remove(place);
        if let Some(&moved) = self.members.get(place) {
            self.places[moved] = Some(place);
        }
    }

    fn clear(&mut self) {
        for number in self.members.drain(..) {
            self.places[number] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NumberList;

    #[test]
    fn numbers_are_found_where_removals_put_them() {
        let mut list = NumberList::of(5);
        for number in [0, 3, 4, 3] {
            list.insert(number);
        }
        list.remove(0);
        list.remove(1);
        assert_eq!(list.members(), [4, 3]);
        list.remove(4);
        assert_eq!(list.members(), [3]);
        list.clear();
        list.insert(4);
        assert_eq!(list.members(), [4]);
    }
}
