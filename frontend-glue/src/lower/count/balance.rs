//! The checker of counts: every path must be in balance, however the changes were decided.
//!
//! It does not know how decisions were made. It reads the operations in the IR (`operation`). On every path it tracks
//! the content of each root, the temporaries that still have their count, and the credits that wait for a consumer.
//! It refuses
//!
//! - a safepoint at which a root has no count for its object, or a temporary still has one that no later operation
//!   uses,
//! - a write that is to keep what it does not replace,
//! - an advance that is not repaid where something else may write or objects may die,
//! - a write, a root, a phi or a return that takes a missing credit, and a credit without a consumer,
//! - a safepoint without a drain since a count fell, or in an inferred leaf,
//! - a safepoint, an end, or a count that falls, while postponed counts wait; an `apply` without any,
//! - a root that is overwritten, or left, while it owns its object; a drop of an object that is not owned,
//! - paths that meet in different states.

mod edges;
mod ends;
mod state;

use super::Counted;
use super::facts::{Effect, Facts};
use super::operation::{Operation, Operations};
use super::ownership::{keeps_fields, may_replace};
use super::postponed::{Postponed, makes_up};
use super::settled_roots::SettledRoots;
use super::stops;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};
use crate::lower::roots::Root;
use state::{Holds, State};
use std::collections::BTreeSet;

/// Checks one function; returns a message about the first imbalance found.
pub(super) fn check(
    callees: &Callees,
    operations: &Operations,
    facts: &Facts,
    function: Value,
    counted: &Counted,
    asked: &HandleSet<Call>,
) -> Result<(), String> {
    let roots = &counted.roots;
    let simple = roots.iter().enumerate().filter(|(index, _)| counted.simple[*index]);
    let slots = simple.map(|(index, root)| (root.slot, index)).collect();
    let complex: BTreeSet<usize> = (0..roots.len()).filter(|&root| counted.shadows[root].is_some()).collect();
    let changes = SettledRoots::of(callees, function, roots, &counted.passed_down, complex.iter().copied());
    let numbers = HandleMap::default();
    let postponed = &counted.postponed;
    let mut checker = Checker {
        callees,
        operations,
        facts,
        function,
        roots,
        slots,
        complex,
        changes,
        postponed,
        asked,
        numbers,
        tested: false,
        fault: None,
    };
    let flow = Flow::of(function);
    let holds = |&exact: &bool| if exact { Holds::Owns } else { Holds::Null };
    let unchanged = checker.changes.at_entry();
    let settled = unchanged.settled.bits().collect();
    let start = State { slots: counted.exact.iter().map(holds).collect(), settled, unchanged, ..State::default() };
    let starts = flow.solve(
        Direction::Forward,
        &start,
        |into, from| into.merge(from),
        |block, state| checker.through(&flow, block, state),
    );
    checker.fault = None;
    for (block, start) in starts.into_iter().enumerate() {
        if let Some(start) = start {
            if let Some(what) = start.clash() {
                checker.blame(flow.blocks[block].first_insertion_point(), &what);
            }
            checker.through(&flow, block, start);
        }
    }
    checker.fault.map_or(Ok(()), Err)
}

struct Checker<'a> {
    callees: &'a Callees,
    operations: &'a Operations,
    facts: &'a Facts,
    function: Value,
    roots: &'a [Root],
    slots: HandleMap<Value, usize>,
    complex: BTreeSet<usize>,
    changes: SettledRoots<'a>,
    postponed: &'a Postponed,
    asked: &'a HandleSet<Call>,
    numbers: HandleMap<Value, usize>,
    /// Whether the block is entered by the test for a stop alone.
    tested: bool,
    fault: Option<String>,
}

impl Checker<'_> {
    fn blame(&mut self, at: Value, what: &str) {
        self.fault.get_or_insert_with(|| format!("in @{}, at `{}`: {what}", self.function.name(), at.print().trim()));
    }

    fn number(&mut self, value: Value) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(value).or_insert(next)
    }

    fn root(&self, slot: usize) -> String {
        self.roots.get(slot).map_or_else(|| slot.to_string(), |root| format!("`{}`", root.name))
    }

    fn through(&mut self, flow: &Flow, number: usize, mut state: State) -> State {
        let block = flow.blocks[number];
        let instructions: Vec<Value> = block.instructions().collect();
        let joins = instructions
            .iter()
            .filter_map(|value| value.as_call())
            .filter(|&call| self.operations.of_call(call) == Some(Operation::Join));
        let phis: HandleSet<Value> = joins.map(|call| call.argument(0)).collect();
        for &predecessor in &flow.predecessors[number] {
            self.edge_into_phis(flow, predecessor, number, &phis);
        }
        if let &[only] = &flow.predecessors[number][..]
            && let Some(invoke) = flow.blocks[only].terminator().and_then(Value::as_call)
            && invoke.normal_destination() == block
        {
            self.result_of(&mut state, invoke);
        }
        self.tested = match flow.predecessors[number][..] {
            [only] => stops::tests_for(self.operations, flow.blocks[only], block),
            _ => false,
        };
        // The frames that an exception went through have released their roots.
        state.fallen |= block.is_landing_pad();
        for instruction in instructions {
            self.step(&mut state, instruction);
        }
        if state.kept.take().is_some() {
            let end = block.terminator().expect("a block ends in a terminator");
            self.blame(end, "no write keeps what it replaces");
        }
        if !state.credits.is_empty() {
            let end = block.terminator().expect("a block ends in a terminator");
            self.blame(end, "a count is left over that no write, root or result takes");
            state.credits.clear();
        }
        state
    }

    fn step(&mut self, state: &mut State, instruction: Value) {
        if let Some(call) = instruction.as_call() {
            match self.operations.of_call(call) {
                Some(operation) => self.operation(state, operation, call),
                None => self.call(state, call),
            }
            return;
        }
        match instruction.opcode() {
            Some(Opcode::LLVMStore) => {
                let Some(&slot) = self.slots.get(&instruction.operand(1)) else {
                    return state.may_change_roots(&self.changes, instruction);
                };
                if state.slots[slot] == Holds::Owns {
                    self.blame(
                        instruction,
                        &format!("root {} is overwritten while it owns its object", self.root(slot)),
                    );
                }
                state.slots[slot] = if instruction.operand(0).is_null() { Holds::Null } else { Holds::Borrows };
            }
            Some(Opcode::LLVMRet | Opcode::LLVMResume) => self.end(state, instruction),
            _ => _ = state.unchanged.step(&self.changes, instruction),
        }
    }

    fn operation(&mut self, state: &mut State, operation: Operation, call: Call) {
        let at = call.value();
        let value = || call.argument(0);
        let slot = || call.argument(1).constant_integer().map_or(0, |slot| slot as usize);
        match operation {
            Operation::Own => self.change(state, at, slot(), &[Holds::Borrows, Holds::Null], Holds::Owns),
            Operation::Drop => {
                self.falls(state, at);
                self.change(state, at, slot(), &[Holds::Owns], Holds::Borrows);
            }
            Operation::Give => {
                self.change(state, at, slot(), &[Holds::Owns], Holds::Borrows);
                state.credits.push(value());
            }
            Operation::Hold => {
                self.consume(state, at, value());
                let number = self.number(value());
                if !state.temporaries.insert(number) {
                    self.blame(at, "the value has a count of its own already");
                }
            }
            Operation::Take => {
                self.consume(state, at, value());
                self.change(state, at, slot(), &[Holds::Borrows], Holds::Owns);
            }
            Operation::Keep => {
                if state.kept.replace(value()).is_some() {
                    self.blame(at, "a write keeps one reference");
                }
            }
            Operation::Increment => state.credits.push(value()),
            Operation::Spend | Operation::Release | Operation::ReleaseInResult => {
                let number = self.number(value());
                if !state.temporaries.remove(&number) {
                    self.blame(at, "the value has no count of its own here");
                }
                match operation {
                    Operation::Spend => state.credits.push(value()),
                    Operation::Release => self.falls(state, at),
                    // It is in flight until the caller's next safepoint, as all of the result is.
                    _ => self.nothing_is_put_off(state, at),
                }
            }
            Operation::Pass => {
                self.consume(state, at, value());
            }
            Operation::Join => {
                let number = self.number(value());
                if !state.temporaries.insert(number) {
                    self.blame(at, "the phi has its count already");
                }
            }
            Operation::Result => {
                self.consume(state, at, value());
                state.handed = true;
            }
            Operation::Settle | Operation::Unsettle => {
                let root = call.argument(0).constant_integer().map_or(usize::MAX, |root| root as usize);
                match state.counting.contains(&root) {
                    true => self.falls(state, at),
                    false => self.nothing_is_put_off(state, at),
                }
                if !self.complex.contains(&root) {
                    self.blame(at, "there is no such root of many words");
                } else if operation == Operation::Settle {
                    state.settled.insert(root);
                    state.ended.remove(&root);
                    state.unchanged.settle(&self.changes, root);
                    state.counting.insert(root);
                } else {
                    state.settled.remove(&root);
                    state.unchanged.settled.remove(root);
                    state.counting.remove(&root);
                }
            }
            Operation::Lend | Operation::Unlend => {
                if state.address_taken == (operation == Operation::Lend) {
                    self.blame(
                        at,
                        "the frame is announced twice as one whose roots others may write to, or not at all",
                    );
                }
                state.address_taken = operation == Operation::Lend;
            }
            Operation::Drain | Operation::Stop | Operation::Finish if self.facts.is_quiet_function(self.function) => {
                self.blame(at, "a function in which nothing dies, for which callers count no roots, drains");
            }
            Operation::Drain => {
                state.fallen = false;
                self.safepoint(state, at);
            }
            Operation::Apply => {
                state.fallen = true;
                if !std::mem::replace(&mut state.waiting, false) {
                    self.blame(at, "nothing was put off that could be made up for");
                }
            }
            Operation::Advance => {
                let number = self.number(value());
                if !state.advanced.insert(number) {
                    self.blame(at, "the count of a field is advanced once");
                }
                state.credits.push(value());
            }
            Operation::Repay => {
                let number = self.number(value());
                if !state.temporaries.remove(&number) {
                    self.blame(at, "the value has no count of its own here");
                }
                if !state.advanced.remove(&number) {
                    self.blame(at, "nothing was advanced that could be repaid");
                }
            }
            Operation::Left => self.blame(at, "the end of a leaf has become no stop"),
            Operation::Due => {
                self.nothing_is_advanced(state, at);
                if stops::poll_of(self.callees, call).is_none() {
                    self.nothing_is_put_off(state, at);
                }
                // Nothing is pending on the usual way; the other leads to a stop.
                state.fallen = false;
                if !stops::leads_to_stop(self.operations, call) {
                    self.blame(at, "no stop follows the test whether one is due");
                }
            }
            Operation::Stop => {
                self.nothing_is_advanced(state, at);
                // What is in flight without a count of its own stays on the pending list.
                let has_count = |word: &Value| self.numbers.get(word).is_some_and(|it| state.temporaries.contains(it));
                state.fallen = !call.arguments().iter().all(has_count);
                if !self.tested {
                    self.blame(at, "nothing tests whether the stop is due");
                }
                self.roots_own(state, at);
                self.all_settled(state, at);
            }
            Operation::Finish => {
                state.fallen = false;
                self.frame_is_empty(state, at, true);
            }
        }
    }

    /// Notes that a count falls: now, unless an earlier decrement still waits.
    fn falls(&mut self, state: &mut State, at: Value) {
        state.fallen = true;
        if self.postponed.contains_key(&at) {
            state.waiting = true;
        } else {
            self.nothing_is_put_off(state, at);
        }
    }

    fn nothing_is_advanced(&mut self, state: &State, at: Value) {
        if !state.advanced.is_empty() {
            self.blame(at, "the count of a field was advanced, and no write has taken it yet");
        }
    }

    fn nothing_is_put_off(&mut self, state: &State, at: Value) {
        if state.waiting {
            self.blame(at, "counts that were put off are overtaken here");
        }
    }

    fn change(&mut self, state: &mut State, at: Value, slot: usize, from: &[Holds], to: Holds) {
        let Some(holds) = state.slots.get_mut(slot) else { return self.blame(at, "there is no such root") };
        let before = std::mem::replace(holds, to);
        if !from.contains(&before) {
            let held = match before {
                Holds::Null => "holds null here",
                Holds::Borrows => "borrows its object here",
                Holds::Owns => "owns its object here already",
                Holds::Clash => "is in two states here, by which path was taken",
            };
            self.blame(at, &format!("root {} {held}", self.root(slot)));
        }
    }

    fn consume(&mut self, state: &mut State, at: Value, value: Value) {
        match state.credits.iter().position(|&credit| credit == value) {
            Some(place) => _ = state.credits.remove(place),
            None => self.blame(at, "there is no credit for this value"),
        }
    }

    fn call(&mut self, state: &mut State, call: Call) {
        let at = call.value();
        let effect = self.facts.effect(self.callees, call);
        if makes_up(self.callees, self.facts, self.asked, call) {
            self.nothing_is_put_off(state, at);
        }
        if !keeps_fields(self.callees.of_call(call)) {
            self.nothing_is_advanced(state, at);
        }
        if call.is_musttail() {
            self.frame_is_empty(state, at, false);
            self.nothing_waits(state, at);
        } else if effect == Effect::Safepoint {
            state.fallen &= !self.facts.drains(call);
            self.safepoint(state, at);
        } else if effect == Effect::Unwinds {
            self.counted(state, at);
        } else if self.callees.of_call(call) == Callee::GcWrite {
            if !call.argument(0).is_null() && state.credits.pop().is_none() {
                self.blame(at, "the reference written here has not been counted");
            }
            self.falls(state, at);
            if let Some(kept) = state.kept.take() {
                self.keep(state, call, kept);
            }
        }
        state.fallen |= match self.callees.of_call(call) {
            Callee::Ordinary if effect == Effect::None => !self.facts.is_quiet(call),
            Callee::Runtime(_) if self.facts.checks(call) => false,
            Callee::Ordinary | Callee::Runtime(_) => self.changes.leaves_pending(self.facts, call),
            Callee::WriteWord | Callee::WritePair => true,
            _ => false,
        };
        state.may_change_roots(&self.changes, at);
        if !call.is_invoke() {
            self.result_of(state, call);
        }
    }

    fn keep(&mut self, state: &mut State, write: Call, kept: Value) {
        if !may_replace(self.callees, write, kept) {
            self.blame(write.value(), "what the write keeps was not loaded from where it writes");
        }
        let number = self.number(kept);
        if !state.temporaries.insert(number) {
            self.blame(write.value(), "what the write keeps has a count of its own already");
        }
    }

    fn result_of(&mut self, state: &mut State, call: Call) {
        if self.facts.hands_over(self.callees, call) && !call.is_musttail() {
            let number = self.number(call.value());
            state.temporaries.insert(number);
        }
    }

    fn safepoint(&mut self, state: &State, at: Value) {
        self.nothing_is_advanced(state, at);
        self.counted(state, at);
        self.all_settled(state, at);
        self.nothing_waits(state, at);
    }

    fn all_settled(&mut self, state: &State, at: Value) {
        let mut unsettled =
            self.complex.difference(&state.settled).filter(|&&root| !state.unchanged.settled.contains(root));
        if let Some(&root) = unsettled.next() {
            self.blame(at, &format!("root {} is not settled at this safepoint", self.root(root)));
        }
    }

    /// Checks the state of roots and temporaries that a safepoint, and the pad of an exception, expects.
    fn counted(&mut self, state: &State, at: Value) {
        self.roots_own(state, at);
        if !state.temporaries.is_empty() {
            self.blame(at, "a temporary's count is forgotten at this safepoint");
        }
        if !state.credits.is_empty() {
            self.blame(at, "a count is left over that no write, root or result takes");
        }
    }

    /// Checks that what every root holds is counted where objects may die.
    fn roots_own(&mut self, state: &State, at: Value) {
        for (slot, holds) in state.slots.iter().enumerate() {
            if matches!(holds, Holds::Borrows | Holds::Clash) {
                self.blame(at, &format!("root {} has no count for its object at this safepoint", self.root(slot)));
            }
        }
        if self.facts.is_inferred_leaf(self.function) {
            self.blame(at, "a leaf, whose callers do not count their roots, reaches a safepoint");
        }
    }

    fn nothing_waits(&mut self, state: &State, at: Value) {
        if state.fallen {
            self.blame(at, "a count fell since the last drain: dead objects wait beyond this safepoint");
        }
    }
}
