//! Slots for webs, and where references are stored to them.
//!
//! A base that shares its slot with none is stored once, at the last place that lies on every path to the safepoints that
//! need it and runs no more often than its definition does. In a larger web each member is stored where it is defined. A phi
//! is not, if all that it takes is in the web, or null where the slot holds null; nor is what only such phis take that are stored.
//!
//! Under the prompt plan a slot holds a count, so null is stored where nothing of its web is wanted any longer: the
//! object may die there, and not at the function's end. So a slot holds null wherever nothing of its web is wanted.
//! Where a call returns twice, each base is stored where it is defined, and no slot is emptied.

use super::bases::{Bases, place_behind};
use super::needs::Needs;
use super::webs::Webs;
use crate::analysis::dominators::Dominators;
use crate::analysis::flow::Flow;
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::INFERRED;
use tally_heap::plan::Plan;

/// Makes the slots of a function's webs.
pub(super) fn place(builder: &Builder, flow: &Flow, bases: &Bases, needs: &Needs, webs: &Webs, plan: Plan) {
    let needed = needed_webs(bases, needs, webs);
    if needed.is_empty() {
        return;
    }
    let dominators = Dominators::of(flow);
    let empties = match plan {
        Plan::Prompt => needs.kept.is_none(),
        Plan::Deferred | Plan::Trace => false,
    };
    let slots = HandleMap::default();
    let body = flow.blocks[0].behind_allocas();
    let gcroot = builder.module().intrinsic("llvm.gcroot", &[]);
    let needed_by = safepoints_of_bases(bases, needs);
    let mut placement =
        Placement { builder, flow, bases, needs, needed_by, webs, dominators, empties, gcroot, body, slots };
    let places: Vec<(usize, Value, Value)> = needed.iter().flat_map(|&web| placement.stores(web)).collect();
    needed.iter().for_each(|&web| placement.add_slot(web));
    if empties {
        placement.empty_slots(&places);
    }
    for (web, value, before) in places {
        builder.before(before);
        builder.store(value, placement.slots[&web]);
    }
}

/// The webs of which a safepoint needs a member.
fn needed_webs(bases: &Bases, needs: &Needs, webs: &Webs) -> Vec<usize> {
    let mut all = BitSet::empty(bases.all.len());
    needs.of_safepoints.values().chain(&needs.kept).for_each(|needed| _ = all.union(needed));
    let has_one = |web: &usize| webs.members[*web].iter().any(|&member| all.contains(member));
    (0..webs.members.len()).filter(has_one).collect()
}

/// For each base the safepoints that need it.
fn safepoints_of_bases(bases: &Bases, needs: &Needs) -> Vec<Vec<Value>> {
    let mut of_bases = vec![Vec::new(); bases.all.len()];
    for (&safepoint, needed) in &needs.of_safepoints {
        needed.bits().for_each(|base| of_bases[base].push(safepoint));
    }
    of_bases
}

struct Placement<'a> {
    builder: &'a Builder,
    flow: &'a Flow,
    bases: &'a Bases,
    needs: &'a Needs,
    /// For each base the safepoints that need it.
    needed_by: Vec<Vec<Value>>,
    webs: &'a Webs,
    dominators: Dominators,
    /// Whether a slot is emptied where nothing of its web is wanted any longer.
    empties: bool,
    gcroot: Value,
    /// The first instruction that is no alloca.
    body: Value,
    slots: HandleMap<usize, Value>,
}

impl Placement<'_> {
    fn add_slot(&mut self, web: usize) {
        let members = self.webs.members[web].iter().map(|&member| self.bases.all[member]);
        let named = members.clone().map(Value::name).find(|name| !name.is_empty());
        let of = members.clone().next().expect("a web has members").type_of();
        let function = self.flow.blocks[0].function();
        let slot = self.builder.alloca_at_entry(function, of, &named.unwrap_or_default());
        self.builder.mark(slot, INFERRED);
        self.builder.before_unlocated(self.body);
        let null = self.builder.module().pointer().null();
        self.body = self.builder.call(self.gcroot.value_type(), self.gcroot, &[slot, null]);
        self.slots.insert(web, slot);
    }

    /// The stores of a web: itself, the value, and the instruction in front of which it is stored.
    fn stores(&self, web: usize) -> Vec<(usize, Value, Value)> {
        let members = &self.webs.members[web];
        if let [only] = members[..] {
            let base = self.bases.all[only];
            let is_kept = self.needs.kept.is_some();
            let place = if is_kept { place_behind(self.flow, base) } else { self.last_place(only) };
            return vec![(web, base, place)];
        }
        let stored = members.iter().copied().filter(|&member| self.is_stored(member, web));
        let stored = stored.map(|member| self.bases.all[member]);
        stored.map(|base| (web, base, place_behind(self.flow, base))).collect()
    }

    /// Whether a member of a larger web is stored where it is defined. Where slots are not emptied, one that flows into a stored
    /// phi before any safepoint needs it is not.
    fn is_stored(&self, member: usize, web: usize) -> bool {
        let base = self.bases.all[member];
        let is_held_phi = |user: Value| user.is(Opcode::LLVMPHI) && self.is_in(user, web) && self.is_there(user, web);
        let is_needed = || !self.needed_by[member].is_empty() || base.users().any(is_held_phi);
        !self.is_there(base, web) && (self.empties || is_needed())
    }

    fn is_in(&self, value: Value, web: usize) -> bool {
        self.bases.number_of(value).is_some_and(|it| self.webs.of[it] == Some(web))
    }

    /// Whether the slot holds the value of a phi where that is defined.
    fn is_there(&self, base: Value, web: usize) -> bool {
        let is_empty = |from: usize| !self.webs.members[web].iter().any(|&it| self.needs.at_end[from].contains(it));
        base.is(Opcode::LLVMPHI)
            && base.incoming().into_iter().all(|(value, from)| {
                let from = self.flow.number(from);
                self.is_in(value, web)
                    || from >= self.flow.reachable
                    || self.empties && value.is_null() && is_empty(from)
            })
    }

    /// The last place on every path to the safepoints that need a base, in no loop that its definition is not in.
    fn last_place(&self, number: usize) -> Value {
        let definition = place_behind(self.flow, self.bases.all[number]);
        let home = self.flow.number(definition.block());
        let users = &self.needed_by[number];
        let blocks = users.iter().map(|safepoint| self.flow.number(safepoint.block()));
        let last = blocks.reduce(|first, second| self.dominators.common(first, second)).expect("a safepoint needs it");
        let block = self.dominators.outside_loops(last, home);
        debug_assert!(self.dominators.dominates(home, block), "a definition dominates its uses");
        let begin = if block == home { definition } else { self.flow.blocks[block].first_insertion_point() };
        let here: HandleSet<Value> = users.iter().copied().filter(|it| it.block() == begin.block()).collect();
        if here.is_empty() {
            return begin.block().terminator().expect("a block ends in a terminator");
        }
        let mut places = std::iter::successors(Some(begin), |place| place.next_instruction());
        places.find(|place| here.contains(place)).expect("a definition comes before its uses")
    }

    /// Stores null where nothing of a slot's web is wanted any longer, and the function goes on.
    fn empty_slots(&self, stores: &[(usize, Value, Value)]) {
        let filled: HandleSet<(usize, Value)> = stores.iter().map(|&(web, _, before)| (web, before)).collect();
        // A slot that is filled at one place holds null before it.
        let alone = |web: usize| self.webs.members[web].len() == 1;
        let sunk: HandleMap<usize, usize> = stores
            .iter()
            .filter(|&&(web, ..)| alone(web))
            .map(|&(web, _, before)| (web, self.flow.number(before.block())))
            .collect();
        for block in 0..self.flow.reachable {
            let mut entering = BitSet::empty(self.webs.members.len());
            for &before in &self.flow.predecessors[block] {
                if before < self.flow.reachable {
                    let wanted = self.webs_of(&self.needs.at_end[before]);
                    let is_filled = |web: &usize| sunk.get(web).is_none_or(|&at| self.dominators.dominates(at, before));
                    wanted.bits().filter(is_filled).for_each(|web| entering.insert(web));
                }
            }
            let begin = self.flow.blocks[block].first_insertion_point();
            self.empty_those(&entering, &self.webs_of(&self.needs.at_begin[block]), begin, &filled);
            let mut wanted = self.needs.at_end[block].clone();
            for step in self.needs.steps[block].iter().rev() {
                let is_safepoint = self.needs.of_safepoints.contains_key(&step.instruction);
                let after = if is_safepoint { self.webs_of(&wanted) } else { BitSet::default() };
                self.needs.before(step, &mut wanted);
                if let Some(next) = step.instruction.next_instruction().filter(|_| is_safepoint) {
                    self.empty_those(&self.webs_of(&wanted), &after, next, &filled);
                }
            }
        }
    }

    fn webs_of(&self, bases: &BitSet) -> BitSet {
        let mut webs = BitSet::empty(self.webs.members.len());
        bases.bits().filter_map(|base| self.webs.of[base]).for_each(|web| webs.insert(web));
        webs
    }

    /// Empties the slots of the webs that were wanted before a place and are not any longer.
    fn empty_those(&self, before: &BitSet, after: &BitSet, place: Value, filled: &HandleSet<(usize, Value)>) {
        if leaves_soon(place) {
            return;
        }
        for web in before.bits().filter(|&web| !after.contains(web) && !filled.contains(&(web, place))) {
            if let Some(&slot) = self.slots.get(&web) {
                self.builder.before(place);
                self.builder.store(slot.allocated_type().null(), slot);
            }
        }
    }
}

/// Whether the function ends behind this place without another call, and so lets go of its roots anyway.
fn leaves_soon(place: Value) -> bool {
    let mut rest = std::iter::successors(Some(place), |it| it.next_instruction());
    let first = rest.find(|it| it.as_call().is_some() || it.is_terminator());
    first.is_some_and(|it| matches!(it.opcode(), Some(Opcode::LLVMRet | Opcode::LLVMResume | Opcode::LLVMUnreachable)))
}
