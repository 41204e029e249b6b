//! References that outlive a safepoint in no root: rule 8 of the contract, the porter's commonest bug.
//!
//! ```text
//!   %a = call ptr @f()          ; a reference, valid until the next safepoint starts (rule 4)
//!   %b = call ptr @g()          ; a safepoint: %a sits in no root, its object may die
//!   call void @h(ptr %a, ptr %b)   ; too late
//! ```
//!
//! A forward dataflow follows each reference through SSA (phis and selects merge references, and pointers derived from
//! them) and through local variables whose address does not escape, and
//! knows which root slots may hold it. A safepoint makes a reference stale that no root may hold; a use of a stale one
//! is reported, once per reference and safepoint. Where paths meet, "may be in this root" is kept from either side, and a
//! root that holds one of several may hold each: this room would rather miss a bug than accuse a correct program. What counts as a reference: `references.rs`.
//!
//! The arguments of a call are used when it starts, and so are fine; comparing a stale reference is, too.

use super::references::References;
use crate::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::flow::{Direction, Flow};
use crate::llvm::{Block, Module, Opcode, Value};
use crate::lower::Plan;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One warning per reference and safepoint that breaks the rule.
pub(crate) fn warnings(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    let callees = Callees::of(module);
    let managed = super::source::managed_functions(module, gc_names);
    let returning = super::references::returning_references(&callees, &managed);
    let mut findings = Vec::new();
    for function in managed {
        let references = References::of(&callees, function, &returning);
        Watch::new(&callees, &references, function).findings(name, &mut findings);
    }
    findings
}

/// What carries a reference. Numbers are places in the function: arguments first, then instructions in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Carrier {
    Value(usize),
    /// What a phi will be when its block is entered.
    NextPhi(usize),
    /// What the local variable (or root) with this number holds.
    Slot(usize),
}

/// What is known about the reference that a carrier holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    /// Local variables and roots that may hold the same reference.
    slots: BTreeSet<usize>,
    /// Where it came from: several places if paths met.
    origins: BTreeSet<usize>,
    /// The safepoint that it was in no root at.
    stale: Option<usize>,
}

impl Facts {
    fn new(origin: usize) -> Facts {
        Facts { slots: BTreeSet::new(), origins: BTreeSet::from([origin]), stale: None }
    }

    /// Leaves what may be, and takes what may be on the other path.
    fn merge(&mut self, other: &Facts) {
        self.slots.extend(&other.slots);
        self.origins.extend(&other.origins);
        self.stale = match (self.stale, other.stale) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// The first of its origins, for the report.
    fn origin(&self) -> usize {
        *self.origins.first().expect("a reference came from somewhere")
    }

    fn may_be_the_same_as(&self, other: &Facts) -> bool {
        !self.slots.is_disjoint(&other.slots) || !self.origins.is_disjoint(&other.origins)
    }
}

/// Whether safepoints make references stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staleness {
    Ignored,
    Noted,
}

type State = BTreeMap<Carrier, Facts>;

struct Watch<'a> {
    callees: &'a Callees,
    references: &'a References,
    flow: Flow,
    places: Vec<Value>,
    numbers: HashMap<Value, usize>,
    /// Values that only their own block uses, also as the base of a derived pointer, by the place of their last use: nothing
    /// behind it needs them. Long blocks would otherwise carry, and every safepoint look at, all values that were ever there.
    last_uses: HashMap<usize, Vec<usize>>,
}

impl<'a> Watch<'a> {
    fn new(callees: &'a Callees, references: &'a References, function: Value) -> Watch<'a> {
        let mut places: Vec<Value> = (0..function.parameter_count()).map(|index| function.parameter(index)).collect();
        places.extend(function.instructions());
        let numbers: HashMap<Value, usize> = places.iter().copied().zip(0..).collect();
        let last_uses = last_uses_at_home(&places, &numbers);
        Watch { callees, references, flow: Flow::of(function), places, numbers, last_uses }
    }

    fn findings(&self, name: &str, findings: &mut Vec<Diagnostic>) {
        let mut entry = State::new();
        for (number, &place) in self.places.iter().enumerate() {
            if place.is_argument() && self.references.is_reference(place) {
                entry.insert(Carrier::Value(number), Facts::new(number));
            }
        }
        let starts = self.states(&entry);
        let mut reported: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (block, start) in starts.into_iter().enumerate() {
            let Some(start) = start else { continue };
            self.through(block, start, Staleness::Noted, &mut |facts, user| {
                let Some(safepoint) = facts.stale else { return };
                let first = reported.entry((facts.origin(), safepoint)).or_insert(user);
                *first = user.min(*first);
            });
        }
        findings.extend(reported.into_iter().map(|((origin, safepoint), user)| {
            self.finding(name, self.places[origin], self.places[safepoint], self.places[user])
        }));
    }

    /// The state at the start of each block, in two parts: where references are, then which are stale.
    ///
    /// What is stale depends on the roots that may hold it, and not the other way round. Found in one go, a reference
    /// could be taken for stale before its root was known; two phis that change places in a loop then carried that round
    /// and round.
    fn states(&self, entry: &State) -> Vec<Option<State>> {
        let placed = self.flow.solve(Direction::Forward, entry, merge, |block, state| {
            self.through(block, state, Staleness::Ignored, &mut |_, _| {})
        });
        let here = |block: usize, state: &State| {
            let mut here = placed[block].clone().unwrap_or_default();
            for (carrier, facts) in &mut here {
                facts.stale = state.get(carrier).and_then(|facts| facts.stale);
            }
            here
        };
        let mut starts = self.flow.solve(Direction::Forward, entry, merge, |block, state| {
            self.through(block, here(block, &state), Staleness::Noted, &mut |_, _| {})
        });
        for (block, start) in starts.iter_mut().enumerate() {
            if let Some(state) = start {
                *state = here(block, state);
            }
        }
        starts
    }

    /// Carries the state through a block and tells `used` about each use of a reference.
    fn through(
        &self,
        block: usize,
        mut state: State,
        staleness: Staleness,
        used: &mut dyn FnMut(&Facts, usize),
    ) -> State {
        let block = self.flow.blocks[block];
        for instruction in block.instructions() {
            self.pass(&mut state, instruction, staleness, used);
            for &number in self.last_uses.get(&self.numbers[&instruction]).into_iter().flatten() {
                state.remove(&Carrier::Value(number));
            }
        }
        self.prepare_phis(&mut state, block);
        state
    }

    fn pass(&self, state: &mut State, instruction: Value, staleness: Staleness, used: &mut dyn FnMut(&Facts, usize)) {
        let number = self.numbers[&instruction];
        if is_use(instruction, self.references) {
            for operand in instruction.operands() {
                if let Some(facts) = self.carrier(operand.base()).and_then(|carrier| state.get(&carrier)) {
                    used(facts, number);
                }
            }
        }
        let is_safepoint = || instruction.as_call().is_some_and(|call| self.callees.is_safepoint(call));
        if staleness == Staleness::Noted && is_safepoint() {
            for facts in state.values_mut() {
                if !facts.slots.iter().any(|&slot| self.references.is_root(slot)) {
                    // The first that there is, not the first on this path: what is known must only grow.
                    facts.stale = Some(facts.stale.map_or(number, |before| before.min(number)));
                }
            }
        }
        match instruction.opcode() {
            Some(Opcode::LLVMStore) => self.store(state, instruction),
            Some(Opcode::LLVMPHI) => match state.remove(&Carrier::NextPhi(number)) {
                Some(facts) => _ = state.insert(Carrier::Value(number), facts),
                None => _ = state.remove(&Carrier::Value(number)),
            },
            _ => {
                let facts = self.facts_of_result(state, instruction, number);
                match facts {
                    Some(facts) => _ = state.insert(Carrier::Value(number), facts),
                    None => _ = state.remove(&Carrier::Value(number)),
                }
            }
        }
    }

    fn facts_of_result(&self, state: &mut State, instruction: Value, number: usize) -> Option<Facts> {
        let new = || Facts::new(number);
        if instruction.is(Opcode::LLVMSelect) {
            return self.facts_of_select(state, instruction);
        }
        if !instruction.is(Opcode::LLVMLoad) {
            return self.references.is_reference(instruction).then(new);
        }
        let Some(slot) = self.references.slot_of(instruction.operand(0).base()) else {
            return self.references.is_reference(instruction).then(new);
        };
        if self.references.is_root(slot) && self.references.is_reference(instruction) {
            let mut facts = state.get(&Carrier::Slot(slot)).cloned().unwrap_or_else(new);
            // What a root holds is live, whatever it was called before.
            facts.stale = None;
            facts.slots.insert(slot);
            // Also if the slot's content is known: what is known must only grow while it is being found.
            facts.origins.insert(number);
            state.entry(Carrier::Slot(slot)).or_insert_with(|| facts.clone());
            return Some(facts);
        }
        state.get(&Carrier::Slot(slot)).cloned()
    }

    fn facts_of_select(&self, state: &State, select: Value) -> Option<Facts> {
        let facts = |index: u32| state.get(&self.carrier(select.operand(index).base())?);
        let mut both = [facts(1), facts(2)].into_iter().flatten();
        let mut merged = both.next()?.clone();
        both.for_each(|other| merged.merge(other));
        Some(merged)
    }

    fn store(&self, state: &mut State, store: Value) {
        let (value, address) = (store.operand(0), store.operand(1));
        let Some(slot) = self.references.slot_of(address.base()) else { return };
        if address == self.references.slot(slot) {
            for facts in state.values_mut() {
                facts.slots.remove(&slot);
            }
            state.remove(&Carrier::Slot(slot));
        }
        let Some(carrier) = self.carrier(value).filter(|carrier| state.contains_key(carrier)) else { return };
        let mut stored = state[&carrier].clone();
        for (other, facts) in state.iter_mut() {
            if *other == carrier || facts.may_be_the_same_as(&stored) {
                facts.slots.insert(slot);
            }
        }
        stored.slots.insert(slot);
        state.insert(Carrier::Slot(slot), stored);
    }

    fn prepare_phis(&self, state: &mut State, block: Block) {
        for successor in block.successors() {
            for phi in successor.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
                let number = self.numbers[&phi];
                for (value, _) in phi.incoming().into_iter().filter(|(_, from)| *from == block) {
                    match self.carrier(value.base()).and_then(|carrier| state.get(&carrier).cloned()) {
                        Some(facts) => _ = state.insert(Carrier::NextPhi(number), facts),
                        None => _ = state.remove(&Carrier::NextPhi(number)),
                    }
                }
            }
        }
    }

    fn carrier(&self, value: Value) -> Option<Carrier> {
        self.numbers.get(&value).map(|&number| Carrier::Value(number))
    }

    fn finding(&self, name: &str, origin: Value, safepoint: Value, user: Value) -> Diagnostic {
        let line = |value: Value| value.debug_place().map(|place| format!(" (line {})", place.line));
        let origin_line = line(origin).unwrap_or_default();
        let safepoint_line = line(safepoint).unwrap_or_default();
        let what = self.references.describe(self.callees, origin);
        let message = format!(
            "{what}{origin_line} sits in no root at the safepoint `{}`{safepoint_line} and is used after it, by `{}`",
            short(self.callees, safepoint),
            short(self.callees, user),
        );
        let help = "its object may be freed there: store the reference to a root slot (llvm.gcroot) before the safepoint, \
                    and load it from there afterwards";
        Diagnostic::at(name, user, message).help(help)
    }
}

/// See [`Watch::last_uses`].
fn last_uses_at_home(places: &[Value], numbers: &HashMap<Value, usize>) -> HashMap<usize, Vec<usize>> {
    // The last use of each value, none if another block uses it, too.
    let mut last: Vec<Option<usize>> = (0..places.len()).map(Some).collect();
    for (number, user) in places.iter().enumerate().filter(|(_, place)| place.is_instruction()) {
        for base in user.operands().map(Value::base) {
            let Some(&used) = numbers.get(&base) else { continue };
            let at_home = base.is_instruction() && base.block() == user.block() && !user.is(Opcode::LLVMPHI);
            last[used] = if at_home { last[used].map(|_| number) } else { None };
        }
    }
    let mut by_place: HashMap<usize, Vec<usize>> = HashMap::new();
    for (number, place) in last.into_iter().enumerate().filter(|(number, _)| places[*number].is_instruction()) {
        if let Some(place) = place {
            by_place.entry(place).or_default().push(number);
        }
    }
    by_place
}

fn merge(into: &mut State, from: &State) {
    for (carrier, facts) in from {
        match into.get_mut(carrier) {
            None => _ = into.insert(*carrier, facts.clone()),
            Some(known) => known.merge(facts),
        }
    }
}

/// Whether the instruction does something with the object behind its operands.
fn is_use(instruction: Value, references: &References) -> bool {
    match instruction.opcode() {
        Some(Opcode::LLVMICmp | Opcode::LLVMPHI | Opcode::LLVMSelect) => false,
        Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze) => false,
        // Kept in a variable it is not used yet; what comes out of the variable is followed.
        Some(Opcode::LLVMStore) => {
            references.slot_of(instruction.operand(1).base()).is_none_or(|slot| references.is_root(slot))
        }
        _ => true,
    }
}

/// An instruction in a few words.
fn short(callees: &Callees, instruction: Value) -> String {
    match instruction.as_call() {
        Some(call) if callees.of_call(call) == Callee::GcWrite => "gcwrite".to_owned(),
        Some(call) if callees.of_call(call) == Callee::GcRead => "gcread".to_owned(),
        Some(call) if call.callee().is_function() => format!("call @{}", call.callee().name()),
        Some(_) => "call".to_owned(),
        None => {
            let text = instruction.print();
            text.trim()
                .split(", !dbg")
                .next()
                .unwrap_or_default()
                .split(", align")
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    }
}
