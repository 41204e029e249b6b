//! Who holds which count, and where counts change: the one analysis behind the plan of counts.
//!
//! Counts are due at **safepoints**: only there can anything die, so only there must every root have a count for what it
//! holds. Between two safepoints a root may *borrow*. A forward dataflow carries, for each simple root, whether it is null,
//! borrows, or owns; which temporaries still hold the count that they came with; and whether anything may be waiting on the
//! pending list. Where the states of two paths differ, the edge makes up for it.
//!
//! What the literal reading of the plan would do (`Patterns::none`: a store increments the new value and decrements the old,
//! a fresh object is let go at once and waits on the pending list) and what is done with all patterns on are the same
//! analysis with other switches; each count that a pattern saves is a remark.
//!
//! - **moves**: the count that a temporary came with goes to the first root, field, phi or caller that wants one
//! - **lazy roots**: a root that is overwritten or left before the next safepoint never gets a count of its own
//! - **quiet calls**: a call in which nothing can be released is no safepoint to the counts
//! - **last use**: a value written into an object takes along the count of a root that is given up before the next safepoint
//! - **owned results**: a returned object brings its count
//!
//! Objects never die earlier than the literal reading says, as far as a program can tell: a root that holds something owns it
//! at every safepoint until it is overwritten or its function returns, whether it is read again or not. Swift (its ownership
//! SSA) ends lifetimes at the last use; programs of the languages this plan is for keep guards in variables.

use super::facts::Facts;
use super::operation::Operation;
use super::remark::{Remark, Saving};
use super::Patterns;
use crate::callee::{Callee, Callees};
use crate::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::roots::Root;
use smallvec::SmallVec;

/// Where an edit is made, and what.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// In front of this instruction.
    pub(super) before: Value,
    pub(super) what: What,
}

/// One edit of the IR.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// On the root's present content.
    OfRoot(Operation, usize),
    /// On this value, for this root.
    ForRoot(Operation, Value, usize),
    /// On this value.
    Of(Operation, Value),
    /// The value goes into a hidden root.
    Hide(Value, usize),
    /// A hidden root is let go and null again.
    Unhide(usize),
    /// A root of many words.
    Settle(usize),
    Unsettle(usize),
    Drain(Vec<Value>),
    Finish(Vec<Value>),
}

/// What is to be done at the edge between two blocks, by number.
#[derive(Debug, Clone)]
pub(super) struct EdgeEdits {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) what: Vec<What>,
}

/// Everything that the analysis decided about one function.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) edits: Vec<Edit>,
    pub(super) edges: Vec<EdgeEdits>,
    pub(super) remarks: Vec<Remark>,
}

/// One function as the analysis looks at it.
pub(super) struct Ownership<'a> {
    pub(super) callees: &'a Callees,
    pub(super) facts: &'a Facts,
    pub(super) patterns: Patterns,
    pub(super) function: Value,
    pub(super) flow: &'a Flow,
    /// The function's own roots, then the hidden ones, then shadows.
    pub(super) roots: &'a [Root],
    /// Which of them are simple.
    pub(super) simple: Vec<bool>,
    /// Those that are settled.
    pub(super) settled: Vec<usize>,
    /// The hidden roots, for temporaries that are arguments.
    pub(super) hidden: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    Null,
    Borrows,
    Owns,
}

#[derive(Debug, Clone, PartialEq)]
struct State {
    slots: SmallVec<[Holds; 8]>,
    contents: SmallVec<[Option<Value>; 8]>,
    /// Temporaries that still hold their count.
    temporaries: BitSet,
    /// Something may be waiting on the pending list.
    pending: bool,
}

impl State {
    fn merge(&mut self, other: &State) {
        for slot in 0..self.slots.len() {
            let known = match (self.slots[slot], other.slots[slot]) {
                (Holds::Null, Holds::Null) => None,
                (Holds::Null, _) | (_, Holds::Null) => None,
                _ => self.contents[slot].filter(|_| self.contents[slot] == other.contents[slot]),
            };
            self.contents[slot] = known;
            self.slots[slot] = self.slots[slot].max(other.slots[slot]);
        }
        // A temporary that one way lacks is let go on the other's edge.
        self.pending |= other.pending || self.temporaries != other.temporaries;
        self.temporaries.intersect(&other.temporaries);
    }
}

/// Runs of the analysis after which a function is read literally.
const ROUNDS_MAX: usize = 32;

impl Ownership<'_> {
    /// Decides; `None` when the analysis did not come to rest.
    pub(super) fn decide(&self) -> Option<Decisions> {
        let slot_of: HandleMap<Value, usize> =
            self.roots.iter().enumerate().filter(|(index, _)| self.simple[*index]).map(|(index, root)| (root.slot, index)).collect();
        let owned_phis = self.owned_phis(&slot_of);
        let mut numbers = HandleMap::default();
        let mut temporaries = Vec::new();
        for block in &self.flow.blocks[..self.flow.reachable] {
            for instruction in block.instructions() {
                let call = instruction.as_call();
                if owned_phis.contains(&instruction) || call.is_some_and(|call| self.facts.hands_over(self.callees, call)) {
                    numbers.insert(instruction, temporaries.len());
                    temporaries.push(instruction);
                }
            }
        }
        let mut walk = Walk {
            it: self,
            slot_of,
            owned_phis,
            numbers,
            temporaries,
            same: HandleMap::default(),
            soon_gone: self.soon_gone(),
            arrivals: self.arrivals(),
            output: None,
        };
        let entry = State {
            slots: self.roots.iter().map(|_| Holds::Null).collect(),
            contents: self.roots.iter().map(|_| None).collect(),
            temporaries: BitSet::empty(walk.temporaries.len()),
            pending: false,
        };
        let mut starts = Vec::new();
        for round in 0..=ROUNDS_MAX {
            if round == ROUNDS_MAX {
                return None;
            }
            let before = walk.same.clone();
            starts = self.flow.solve(Direction::Forward, &entry, State::merge, |block, state| walk.through(block, state));
            if walk.same == before {
                break;
            }
        }
        Some(walk.write_down(&starts))
    }

    /// Phis that are temporaries: references flow into them, some of which come with a count.
    fn owned_phis(&self, slot_of: &HandleMap<Value, usize>) -> HandleSet<Value> {
        if !self.patterns.moves {
            return HandleSet::default();
        }
        let reachable = || self.flow.blocks[..self.flow.reachable].iter();
        let in_pad = |phi: &Value| phi.block().instructions().any(|value| value.is(Opcode::LLVMLandingPad));
        let mut phis: HandleSet<Value> = reachable()
            .flat_map(|block| block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)))
            .filter(|phi| phi.type_of().is_plain_pointer() && !in_pad(phi))
            .collect();
        let hands_over = |value: Value| value.as_call().is_some_and(|call| self.facts.hands_over(self.callees, call));
        loop {
            let is_reference = |value: Value| {
                value.is_null()
                    || phis.contains(&value)
                    || hands_over(value)
                    || (value.is(Opcode::LLVMLoad) && slot_of.contains_key(&value.operand(0)))
            };
            let fitting: HandleSet<Value> = phis
                .iter()
                .copied()
                .filter(|phi| phi.incoming().into_iter().all(|(value, _)| is_reference(value)))
                .collect();
            let done = fitting.len() == phis.len();
            phis = fitting;
            if done {
                break;
            }
        }
        let mut owned: HandleSet<Value> = HandleSet::default();
        loop {
            let brings = |value: Value| owned.contains(&value) || hands_over(value);
            let more: Vec<Value> = phis
                .iter()
                .copied()
                .filter(|phi| !owned.contains(phi) && phi.incoming().into_iter().any(|(value, _)| brings(value)))
                .collect();
            if more.is_empty() {
                return owned;
            }
            owned.extend(more);
        }
    }

    /// For each write the roots that are overwritten or left before the next safepoint, whichever way the program goes.
    fn soon_gone(&self) -> HandleMap<Value, BitSet> {
        let mut at_writes = HandleMap::default();
        if !self.patterns.last_use {
            return at_writes;
        }
        let slots: HandleMap<Value, usize> = self.roots.iter().map(|root| root.slot).zip(0..).collect();
        let all = || {
            let mut set = BitSet::empty(self.roots.len());
            (0..self.roots.len()).for_each(|root| set.insert(root));
            set
        };
        let through = |block: usize, mut gone: BitSet| {
            let instructions: Vec<Value> = self.flow.blocks[block].instructions().collect();
            for instruction in instructions.into_iter().rev() {
                if let Some(call) = instruction.as_call() {
                    if self.facts.settles(self.callees, call) {
                        gone = BitSet::empty(self.roots.len());
                    } else if self.callees.is_write(call) {
                        at_writes.insert(instruction, gone.clone());
                    }
                } else if instruction.is(Opcode::LLVMStore)
                    && let Some(&slot) = slots.get(&instruction.operand(1))
                {
                    gone.insert(slot);
                }
            }
            gone
        };
        self.flow.solve(Direction::Backward, &all(), |into, from| into.intersect(from), through);
        at_writes
    }

    /// Blocks that an invoke alone arrives at, with the invoke.
    fn arrivals(&self) -> HandleMap<usize, Call> {
        let mut arrivals = HandleMap::default();
        for (number, block) in self.flow.blocks[..self.flow.reachable].iter().enumerate() {
            let Some(invoke) = block.terminator().and_then(Value::as_call) else { continue };
            let normal = invoke.normal_destination();
            for &successor in &self.flow.successors[number] {
                if self.flow.blocks[successor] == normal {
                    arrivals.insert(successor, invoke);
                }
            }
        }
        arrivals
    }
}

struct Walk<'a> {
    it: &'a Ownership<'a>,
    slot_of: HandleMap<Value, usize>,
    owned_phis: HandleSet<Value>,
    /// Temporaries are numbered in the order of the program.
    numbers: HandleMap<Value, usize>,
    temporaries: Vec<Value>,
    /// Loads of a root whose content is known, and that content.
    same: HandleMap<Value, Value>,
    soon_gone: HandleMap<Value, BitSet>,
    arrivals: HandleMap<usize, Call>,
    /// In the last walk: what was decided.
    output: Option<Decisions>,
}

impl Walk<'_> {
    fn edit(&mut self, before: Value, what: What) {
        if let Some(output) = &mut self.output {
            output.edits.push(Edit { before, what });
        }
    }

    fn remark(&mut self, at: Value, saving: Saving) {
        if let Some(output) = &mut self.output {
            output.remarks.push(Remark::at(at, saving));
        }
    }

    fn root_name(&self, root: usize) -> String {
        self.it.roots[root].name.clone()
    }

    /// The value behind a load of a root.
    fn canonical(&self, value: Value) -> Value {
        self.same.get(&value).copied().unwrap_or(value)
    }

    /// The number of the temporary that the value is, if it still holds its count.
    fn counted_temporary(&self, state: &State, value: Value) -> Option<usize> {
        let number = *self.numbers.get(&value)?;
        state.temporaries.contains(number).then_some(number)
    }

    fn through(&mut self, number: usize, mut state: State) -> State {
        let block = self.it.flow.blocks[number];
        let first = block.first_insertion_point();
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if !self.owned_phis.contains(&phi) {
                continue;
            }
            for (value, _) in phi.incoming() {
                if let Some(number) = self.counted_temporary(&state, self.canonical(value)) {
                    state.temporaries.remove(number);
                    state.pending = true;
                }
            }
        }
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if self.owned_phis.contains(&phi) {
                self.edit(first, What::Of(Operation::Join, phi));
                state.temporaries.insert(self.numbers[&phi]);
            }
        }
        if let Some(&invoke) = self.arrivals.get(&number) {
            self.after_call(&mut state, invoke, first);
        }
        for instruction in block.instructions().collect::<Vec<_>>() {
            self.step(&mut state, instruction);
        }
        state
    }

    fn step(&mut self, state: &mut State, instruction: Value) {
        match instruction.opcode() {
            Some(Opcode::LLVMLoad) => self.load(state, instruction),
            Some(Opcode::LLVMStore) => self.store(state, instruction),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                let call = instruction.as_call().expect("a call or invoke");
                if call.is_musttail() {
                    self.leave(state, instruction);
                } else if self.it.facts.settles(self.it.callees, call) {
                    self.before_call(state, call);
                    if !call.is_invoke() {
                        let next = instruction.next_instruction().expect("a call is no terminator");
                        self.after_call(state, call, next);
                    }
                } else {
                    self.quiet_call(state, call);
                }
            }
            Some(Opcode::LLVMRet) => self.end(state, instruction),
            Some(Opcode::LLVMResume) => self.leave(state, instruction),
            _ => {}
        }
    }

    fn load(&mut self, state: &mut State, load: Value) {
        let Some(&slot) = self.slot_of.get(&load.operand(0)) else { return };
        match state.contents[slot] {
            Some(content) => {
                self.same.insert(load, content);
            }
            None => {
                self.same.remove(&load);
                if state.slots[slot] != Holds::Null {
                    state.contents[slot] = Some(load);
                }
            }
        }
    }

    fn store(&mut self, state: &mut State, store: Value) {
        let Some(&slot) = self.slot_of.get(&store.operand(1)) else { return };
        let value = self.canonical(store.operand(0));
        if state.slots[slot] == Holds::Owns {
            self.edit(store, What::OfRoot(Operation::Drop, slot));
            state.pending = true;
        } else if state.slots[slot] == Holds::Borrows {
            self.remark(store, Saving::Unseen { root: self.root_name(slot) });
        }
        let next = store.next_instruction().expect("a store is no terminator");
        if value.is_null() {
            (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
            return;
        }
        state.contents[slot] = Some(value);
        if let Some(number) = self.counted_temporary(state, value) {
            self.edit(store, What::Of(Operation::Spend, value));
            self.edit(next, What::ForRoot(Operation::Take, value, slot));
            self.remark(store, Saving::MovedToRoot { root: self.root_name(slot) });
            state.temporaries.remove(number);
            state.slots[slot] = Holds::Owns;
        } else if self.it.patterns.lazy_roots {
            state.slots[slot] = Holds::Borrows;
        } else {
            self.edit(next, What::OfRoot(Operation::Own, slot));
            state.slots[slot] = Holds::Owns;
        }
    }

    /// Everything that a safepoint expects: roots own what they hold, temporaries are let go or hidden, what is dead dies.
    fn before_call(&mut self, state: &mut State, call: Call) {
        let place = call.value();
        for slot in 0..state.slots.len() {
            if state.slots[slot] == Holds::Borrows {
                self.edit(place, What::OfRoot(Operation::Own, slot));
                state.slots[slot] = Holds::Owns;
            }
        }
        for &root in &self.it.settled {
            self.edit(place, What::Settle(root));
            state.pending = true;
        }
        let arguments = call.arguments();
        let mut hidden = self.it.hidden.iter();
        for number in state.temporaries.bits().collect::<Vec<_>>() {
            let value = self.temporaries[number];
            state.temporaries.remove(number);
            let is_argument = arguments.iter().any(|&argument| self.canonical(argument) == value);
            match if is_argument { hidden.next() } else { None } {
                Some(&slot) => {
                    self.edit(place, What::Hide(value, slot));
                    state.slots[slot] = Holds::Owns;
                    state.contents[slot] = Some(value);
                }
                None => {
                    self.edit(place, What::Of(Operation::Release, value));
                    state.pending = true;
                }
            }
        }
        if std::mem::replace(&mut state.pending, false) {
            let protected = arguments.into_iter().filter(|&argument| self.needs_protection(state, argument)).collect();
            self.edit(place, What::Drain(protected));
        }
    }

    /// Whether a word in flight may be the only thing that means an object.
    fn needs_protection(&self, state: &State, word: Value) -> bool {
        let value = self.canonical(word);
        let counted = || {
            (0..state.slots.len()).any(|slot| state.slots[slot] == Holds::Owns && state.contents[slot] == Some(value))
        };
        may_hold_reference(self.it.function.module(), word) && !value.base().is(Opcode::LLVMAlloca) && !counted()
    }

    fn after_call(&mut self, state: &mut State, call: Call, next: Value) {
        state.pending |= self.it.facts.leaves_pending(self.it.callees, call);
        for &slot in &self.it.hidden {
            if state.slots[slot] == Holds::Owns {
                self.edit(next, What::Unhide(slot));
                (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
                state.pending = true;
            }
        }
        self.take_result(state, call, next);
    }

    fn take_result(&mut self, state: &mut State, call: Call, next: Value) {
        if let Some(&number) = self.numbers.get(&call.value()) {
            if self.it.patterns.moves {
                state.temporaries.insert(number);
            } else {
                self.edit(next, What::Of(Operation::Release, call.value()));
                state.pending = true;
            }
        }
    }

    fn quiet_call(&mut self, state: &mut State, call: Call) {
        match self.it.callees.of_call(call) {
            Callee::GcWrite => self.write(state, call),
            Callee::Runtime(_) | Callee::WriteWord => state.pending = true,
            Callee::Ordinary if self.it.facts.is_quiet(call) => {
                let borrowing = (0..state.slots.len()).filter(|&slot| state.slots[slot] == Holds::Borrows);
                let names: Vec<String> = borrowing.map(|slot| self.root_name(slot)).collect();
                for root in names {
                    self.remark(call.value(), Saving::Borrowed { root });
                }
                let next = call.value().next_instruction().expect("a call is no terminator");
                self.take_result(state, call, next);
            }
            _ => {}
        }
    }

    /// A reference goes into an object or a global: it needs a credit.
    fn write(&mut self, state: &mut State, call: Call) {
        let value = self.canonical(call.argument(0));
        let place = call.value();
        if !value.is_null() {
            self.credit(state, value, place, true);
        }
        state.pending = true;
    }

    /// Provides the credit for a consumer of `value`.
    fn credit(&mut self, state: &mut State, value: Value, place: Value, only_if_gone: bool) {
        if let Some(number) = self.counted_temporary(state, value) {
            state.temporaries.remove(number);
            self.edit(place, What::Of(Operation::Spend, value));
            self.remark(place, Saving::Moved);
            return;
        }
        let gone = |slot: usize| !only_if_gone || self.soon_gone.get(&place).is_some_and(|gone| gone.contains(slot));
        let giver = (0..state.slots.len()).find(|&slot| {
            state.slots[slot] == Holds::Owns && state.contents[slot] == Some(value) && gone(slot)
        });
        match giver.filter(|_| self.it.patterns.last_use) {
            Some(slot) => {
                state.slots[slot] = Holds::Borrows;
                self.edit(place, What::ForRoot(Operation::Give, value, slot));
                self.remark(place, Saving::LastUse { root: self.root_name(slot) });
            }
            None => self.edit(place, What::Of(Operation::Increment, value)),
        }
    }

    /// A return: the result's count goes along, the rest is let go, in the order that the documentation promises.
    fn end(&mut self, state: &mut State, end: Value) {
        let result = end.operands().next();
        let mut protected = result;
        if self.it.facts.has_owned_result(self.it.function)
            && let Some(value) = result
        {
            protected = None;
            let value = self.canonical(value);
            if !value.is_null() {
                self.credit(state, value, end, false);
                self.edit(end, What::Of(Operation::Result, value));
            }
        }
        self.leave(state, end);
        if std::mem::replace(&mut state.pending, false) {
            let protected = protected.into_iter().filter(|&word| self.needs_protection(state, word)).collect();
            self.edit(end, What::Finish(protected));
        }
    }

    /// The frame goes away: locals are let go in reverse order of declaration.
    fn leave(&mut self, state: &mut State, place: Value) {
        for number in state.temporaries.bits().collect::<Vec<_>>() {
            self.edit(place, What::Of(Operation::Release, self.temporaries[number]));
            state.temporaries.remove(number);
            state.pending = true;
        }
        for slot in (0..state.slots.len()).rev() {
            if self.it.settled.contains(&slot) {
                self.edit(place, What::Unsettle(slot));
                state.pending = true;
            } else if state.slots[slot] == Holds::Owns {
                self.edit(place, What::OfRoot(Operation::Drop, slot));
                state.pending = true;
            } else if state.slots[slot] == Holds::Borrows {
                self.remark(place, Saving::Unseen { root: self.root_name(slot) });
            }
            (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
        }
    }

    /// The last walk: the states are known, and everything is written down.
    fn write_down(mut self, starts: &[Option<State>]) -> Decisions {
        self.output = Some(Decisions::default());
        let mut ends: Vec<Option<State>> = Vec::new();
        for (number, start) in starts.iter().enumerate() {
            ends.push(start.clone().map(|start| self.through(number, start)));
        }
        let mut output = self.output.take().expect("written into above");
        for from in 0..starts.len() {
            for &to in &self.it.flow.successors[from] {
                if let (Some(end), Some(start)) = (&ends[from], &starts[to]) {
                    let what = self.at_edge(from, to, end, start);
                    if !what.is_empty() {
                        output.edges.push(EdgeEdits { from, to, what });
                    }
                }
            }
        }
        output
    }

    fn at_edge(&self, from: usize, to: usize, end: &State, start: &State) -> Vec<What> {
        let mut what = Vec::new();
        for slot in 0..end.slots.len() {
            if (end.slots[slot], start.slots[slot]) == (Holds::Borrows, Holds::Owns) {
                what.push(What::OfRoot(Operation::Own, slot));
            }
        }
        let (origin, block) = (self.it.flow.blocks[from], self.it.flow.blocks[to]);
        let mut left = end.temporaries.clone();
        let mut into_phis = BitSet::empty(self.temporaries.len());
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if !self.owned_phis.contains(&phi) {
                continue;
            }
            let incoming = phi.incoming().into_iter().find(|(_, block)| *block == origin);
            let value = self.canonical(incoming.expect("a phi knows its edges").0);
            if value.is_null() {
                continue;
            }
            match self.numbers.get(&value).filter(|&&number| left.contains(number)) {
                Some(&number) => {
                    left.remove(number);
                    into_phis.insert(number);
                    what.push(What::Of(Operation::Spend, value));
                }
                None => what.push(What::Of(Operation::Increment, value)),
            }
            what.push(What::Of(Operation::Pass, value));
        }
        let consumed_by_phis = self.incoming_of_owned_phis(to);
        for number in left.bits() {
            if !start.temporaries.contains(number) || consumed_by_phis.contains(number) {
                what.push(What::Of(Operation::Release, self.temporaries[number]));
            }
        }
        what
    }

    fn incoming_of_owned_phis(&self, block: usize) -> BitSet {
        let mut all = BitSet::empty(self.temporaries.len());
        for phi in self.it.flow.blocks[block].instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if self.owned_phis.contains(&phi) {
                for (value, _) in phi.incoming() {
                    if let Some(&number) = self.numbers.get(&self.canonical(value)) {
                        all.insert(number);
                    }
                }
            }
        }
        all
    }
}

/// Whether a word of this kind may mean an object.
fn may_hold_reference(module: Module, word: Value) -> bool {
    let of = word.type_of();
    word.is_local() && !of.is_void() && module.store_size_of(of) >= 8
}
