//! The changes of counts that are postponed, and the places where they are applied.
//!
//! A loop that writes and meets no safepoint but polls has cache misses with every write: for the counts of the new
//! object and of the old one. There a write only notes the two (`tally_heap::plan::prompt::postponed`), and `apply`
//! is in front of the next safepoint. Elsewhere that would cost more than it saves.
//!
//! 1. A write *comes again* if it lies in a cycle of blocks without a stop, and writes to another word each time. (In one word that
//!    is written again and again each reference is counted when it comes and when it goes: its second miss is a hit.) A **stop** is
//!    a safepoint, a call that may throw or write references itself, the end of a function; polls that the lowering has inserted are
//!    no stops, since the program does not know them.
//! 2. From there on, up to the next stop, all decrements are postponed, in the order of the program: drops and
//!    releases, too. An increment is postponed if its write is; the others come early, which does no harm.
//! 3. A stop that postponed counts may reach has `apply` in front of it, before roots are settled and before its
//!    drain.
//!
//! So no object dies later than at the next stop: objects at zero wait for one anyway. And no count is read, or falls
//! inline, while it is too low: any other code that reads or changes counts is a stop, or increments an object before
//! it decrements it.

use super::facts::{Effect, Facts};
use super::operation::{Operation, Operations};
use super::remark::{Remark, Saving};
use super::stops::poll_of;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, Value};
use crate::lower::poll::strongly_connected;

/// Writes and operations that are postponed; for a write, whether the written reference must be counted, too.
pub(super) type Postponed = HandleMap<Value, bool>;

/// The meaning of an instruction to postponed counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A count falls: by a write, or as an operation.
    Falls,
    /// All postponed counts are applied before it.
    Stop,
    Other,
}

/// A function with its operations in place.
pub(super) struct Postponing<'a> {
    pub(super) builder: &'a Builder,
    pub(super) callees: &'a Callees,
    pub(super) operations: &'a Operations,
    pub(super) facts: &'a Facts,
    pub(super) function: Value,
    /// Polls that are stops: those of the program itself.
    pub(super) asked: &'a HandleSet<Call>,
}

impl Postponing<'_> {
    /// Puts `apply` where it is due.
    pub(super) fn place(&self, remarks: &mut Vec<Remark>) -> Postponed {
        let (mut fallen, mut stops) = (vec![], vec![]);
        self.for_each_while_something_waits(|instruction, step| match step {
            Step::Falls => fallen.push(instruction),
            Step::Stop => stops.push(instruction),
            Step::Other => {}
        });
        let mut postponed = Postponed::default();
        for instruction in fallen {
            let increment = self.increment_for(instruction);
            postponed.insert(instruction, increment.is_some());
            postponed.extend(increment.map(|increment| (increment, false)));
            if self.is_write_here(instruction) {
                remarks.push(Remark::at(instruction, Saving::Postponed));
            }
        }
        for stop in stops {
            self.builder.before(stop);
            self.operations.emit(self.builder, Operation::Apply, &[]);
        }
        postponed
    }

    /// Polls at which postponed counts may wait, and go on waiting: their drains are not the last. Computed before
    /// operations are in place. Of those a root that is settled where its life ends is a new stop: a function with such a root has all its
    /// polls asked, and none is passed.
    pub(super) fn polls_passed(&self) -> HandleSet<Call> {
        let mut passed = HandleSet::default();
        self.for_each_while_something_waits(|instruction, step| {
            let call = instruction.as_call().filter(|_| step != Step::Stop);
            passed.extend(call.filter(|&call| self.callees.of_call(call) == Callee::Poll));
        });
        passed
    }

    /// Calls `found` with every instruction in front of which postponed counts may wait, and with the instruction
    /// that postpones them.
    fn for_each_while_something_waits(&self, mut found: impl FnMut(Value, Step)) {
        if !self.function.calls().any(|call| self.is_write(call)) {
            return;
        }
        let flow = Flow::of(self.function);
        let cycles = self.cycles_without_stops(&flow);
        if cycles.iter().all(Option::is_none) {
            return;
        }
        let comes_again = |block: usize, instruction: Value| {
            let is_elsewhere = |cycle| !is_one_word(&flow, &cycles, cycle, instruction.operand(2));
            self.is_write_here(instruction) && cycles[block].is_some_and(is_elsewhere)
        };
        let through = |block: usize, mut waits: bool, found: &mut dyn FnMut(Value, Step)| {
            for instruction in flow.blocks[block].instructions() {
                let step = self.step(instruction);
                waits |= step == Step::Falls && comes_again(block, instruction);
                if waits {
                    found(instruction, step);
                }
                waits &= step != Step::Stop;
            }
            waits
        };
        let join = |into: &mut bool, from: &bool| *into |= from;
        let starts = flow.solve(Direction::Forward, &false, join, |block, waits| through(block, waits, &mut |_, _| {}));
        for (block, waits) in starts.into_iter().enumerate() {
            if let Some(waits) = waits {
                through(block, waits, &mut found);
            }
        }
    }

    fn step(&self, instruction: Value) -> Step {
        if matches!(instruction.opcode(), Some(Opcode::LLVMRet | Opcode::LLVMResume)) {
            return Step::Stop;
        }
        let Some(call) = instruction.as_call() else { return Step::Other };
        match self.operations.of_call(call) {
            Some(Operation::Drop | Operation::Release) => Step::Falls,
            Some(Operation::Settle | Operation::Unsettle | Operation::Finish | Operation::ReleaseInResult) => {
                Step::Stop
            }
            Some(Operation::Drain) if !self.is_for_own_poll(instruction) => Step::Stop,
            // Behind a leaf, or its body: what it has let go of dies there.
            Some(Operation::Due) if poll_of(self.callees, call).is_none() => Step::Stop,
            Some(_) => Step::Other,
            None if self.is_write(call) => Step::Falls,
            None if makes_up(self.callees, self.facts, self.asked, call) => Step::Stop,
            None => Step::Other,
        }
    }

    fn is_write(&self, call: Call) -> bool {
        self.callees.of_call(call) == Callee::GcWrite
    }

    fn is_write_here(&self, instruction: Value) -> bool {
        instruction.as_call().is_some_and(|call| self.is_write(call))
    }

    /// The increment that gives a write its credit, right before the write.
    fn increment_for(&self, instruction: Value) -> Option<Value> {
        let before = instruction.previous_instruction().filter(|_| self.is_write_here(instruction))?;
        (self.operations.of_call(before.as_call()?) == Some(Operation::Increment)).then_some(before)
    }

    /// Whether a drain is in front of a poll of the lowering's own.
    fn is_for_own_poll(&self, drain: Value) -> bool {
        let behind = std::iter::successors(drain.next_instruction(), |instruction| instruction.next_instruction());
        let mut calls = behind.filter_map(Value::as_call).filter(|&call| self.operations.of_call(call).is_none());
        calls.next().is_some_and(|call| self.callees.of_call(call) == Callee::Poll && !self.asked.contains(&call))
    }

    /// By block: the cycle by which it can come again without a stop.
    fn cycles_without_stops(&self, flow: &Flow) -> Vec<Option<usize>> {
        let mut edges = flow.successors[..flow.reachable].to_vec();
        for (block, targets) in edges.iter_mut().enumerate() {
            if flow.blocks[block].instructions().any(|instruction| self.step(instruction) == Step::Stop) {
                targets.clear();
            }
        }
        let mut cycles = vec![None; flow.blocks.len()];
        for (number, part) in strongly_connected(&edges).into_iter().enumerate() {
            if part.len() > 1 || edges[part[0]].contains(&part[0]) {
                part.into_iter().for_each(|block| cycles[block] = Some(number));
            }
        }
        cycles
    }
}

/// Whether an address is the same each time that the cycle comes there: it was known before, or lies at a fixed place in what a
/// variable holds all the while.
fn is_one_word(flow: &Flow, cycles: &[Option<usize>], cycle: usize, address: Value) -> bool {
    let is_inside = |value: Value| cycles[flow.number(value.block())] == Some(cycle);
    if !address.is_instruction() || !is_inside(address) {
        return true;
    }
    let holds_still = |variable: Value| {
        let is_read = |user: Value| match user.opcode() {
            Some(Opcode::LLVMLoad) => true,
            Some(Opcode::LLVMStore) => user.operand(1) == variable && !is_inside(user),
            _ => user.as_call().is_some_and(|call| call.callee().name() == "llvm.gcroot"),
        };
        variable.is(Opcode::LLVMAlloca) && variable.users().all(is_read)
    };
    match address.opcode() {
        Some(Opcode::LLVMGetElementPtr) => address.operands().all(|part| is_one_word(flow, cycles, cycle, part)),
        Some(Opcode::LLVMLoad) => holds_still(address.operand(0)),
        _ => false,
    }
}

/// Whether all postponed counts must be applied before the call: it is a safepoint, may throw, or may change counts
/// itself. `asked` are the polls that are safepoints for the program.
pub(super) fn makes_up(callees: &Callees, facts: &Facts, asked: &HandleSet<Call>, call: Call) -> bool {
    match callees.of_call(call) {
        Callee::Poll => asked.contains(&call),
        Callee::WriteWord | Callee::WritePair | Callee::Runtime(_) => true,
        // An unknown leaf may write references.
        Callee::Ordinary => call.is_musttail() || !facts.is_quiet(call),
        _ => facts.effect(callees, call) != Effect::None,
    }
}
