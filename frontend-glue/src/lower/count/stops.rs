//! Stops: places where objects may die although no root counts for it, unless something has to be done.
//!
//! ```text
//!   %due = tally.count.due(poll)     is anything pending? (of a poll: or is an epoch due?)
//!   br %due, stop, rest              rarely
//! stop:
//!   own …                            roots that borrow get a count
//!   tally.count.stop(words…)         objects without a reference die, as at a drain
//!   tally_safepoint()                of a poll
//!   drop …                           and give it back
//! rest:
//! ```
//!
//! Two places are such stops: behind a call of an inferred leaf, or its body (`inlined_leaves`), which leaves its dead to its caller,
//! and the polls of the lowering. A
//! root that is overwritten in each round of a loop, or lives across calls of leaves only, costs no count on the usual way.
//!
//! That is sound because a root may borrow wherever nothing dies: on the usual way nothing is pending, and no code runs but the
//! test. In the stop each root owns its object, as at any safepoint. Behind it the root borrows again; if it was the object's
//! last holder, the object is pending, and dies at the next safepoint or stop unless a root holds it then.
//!
//! The blocks are made before the analysis (`ownership`), which fills in the operations. Of the references in registers only the
//! result of the leaf is valid there (rule 4 of the IR contract), so that is the only word in flight.

use super::facts::Facts;
use super::operation::{Operation, Operations};
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Builder, HandleSet, Opcode, Value};

/// Puts a stop behind each call of an inferred leaf, unless the function is one itself, and around each poll that is not `asked`.
pub(super) fn make(
    builder: &Builder,
    operations: &Operations,
    callees: &Callees,
    facts: &Facts,
    function: Value,
    asked: &HandleSet<Call>,
) {
    if facts.is_inferred_leaf(function) {
        // It may be one only since a wrapper of its name is all that calls it: its callers look for its dead.
        let is_mark = |call: &Call| operations.of_call(*call) == Some(Operation::Left);
        return function.calls().filter(is_mark).collect::<Vec<_>>().into_iter().for_each(Call::remove);
    }
    for call in function.calls().collect::<Vec<_>>() {
        if callees.of_call(call) == Callee::Poll && !asked.contains(&call) {
            let next = call.value().next_instruction().expect("a call is no terminator");
            around(builder, operations, call.value(), next, &[]);
        } else if facts.calls_inferred_leaf(call) {
            let next = call.value().next_instruction().expect("a call is no terminator");
            // Its count may be released before the stop, where temporaries do not keep theirs.
            around(builder, operations, next, next, in_flight(builder, call).as_slice());
        } else if operations.of_call(call) == Some(Operation::Left) {
            around(builder, operations, call.value(), call.value(), &call.arguments());
            call.remove();
        }
    }
}

/// Makes a stop of the instructions from `first` up to `next`.
fn around(builder: &Builder, operations: &Operations, first: Value, next: Value, words: &[Value]) {
    let is_poll = first != next;
    let head = split_before(builder, next);
    let rest = next.block();
    let (head, stop) = if is_poll {
        // The lower half has the poll alone.
        let upper = split_before_in(builder, head, first, rest);
        (upper, first.block())
    } else {
        let stop = rest.insert_before(builder.module());
        builder.at_end(stop, Some(next));
        builder.branch(rest);
        (head, stop)
    };
    builder.at_end(head, Some(next));
    let due = operations.emit(builder, Operation::Due, &[builder.i32(u64::from(is_poll))]);
    builder.branch_rarely(due, stop, rest);
    builder.before(stop.first_insertion_point());
    operations.emit(builder, Operation::Stop, words);
}

/// Ends the block with a branch to `rest`, and splits it.
fn split_before_in(builder: &Builder, block: Block, place: Value, rest: Block) -> Block {
    builder.at_end(block, Some(place));
    builder.branch(rest);
    split_before(builder, place)
}

/// The result of a call, if it may be a reference, or have one in it.
pub(super) fn in_flight(builder: &Builder, call: Call) -> Option<Value> {
    let of = call.value().type_of();
    (!of.is_void() && builder.module().store_size_of(of) >= 8).then_some(call.value())
}

/// The words that are in flight at the stop which a test leads to.
pub(super) fn words_at_stop(operations: &Operations, due: Call) -> Vec<Value> {
    let stop =
        stop_block(due).and_then(|block| block.calls().find(|&call| operations.of_call(call) == Some(Operation::Stop)));
    stop.map_or_else(Vec::new, Call::arguments)
}

/// The block behind a stop, of the test that ends a block.
pub(super) fn behind_stop(operations: &Operations, end: Value) -> Option<Block> {
    let block = end.block();
    let &[stop, rest] = &block.successors()[..] else { return None };
    tests_for(operations, block, stop).then_some(rest)
}

/// The poll of a stop, if its test is that of one.
pub(super) fn poll_of(callees: &Callees, due: Call) -> Option<Call> {
    stop_block(due)?.calls().find(|&call| callees.of_call(call) == Callee::Poll)
}

/// The block that a test leads to.
fn stop_block(due: Call) -> Option<Block> {
    let block = due.value().block();
    let end = block.terminator()?;
    let decides = block.successors().len() == 2 && end.operand(0) == due.value();
    decides.then(|| block.successors()[0])
}

/// Whether a block ends in the test for the stop in another.
pub(super) fn tests_for(operations: &Operations, block: Block, stop: Block) -> bool {
    // The only operand of an unconditional branch is a block.
    let end = block.terminator().filter(|_| block.successors().len() == 2);
    let by = end.map(|end| end.operand(0)).filter(|by| by.is(Opcode::LLVMCall)).and_then(Value::as_call);
    by.is_some_and(|due| operations.of_call(due) == Some(Operation::Due) && stop_block(due) == Some(stop))
}

/// Whether a test leads to a stop: the checker relies on it.
pub(super) fn leads_to_stop(operations: &Operations, due: Call) -> bool {
    let is_stop = |call: Call| operations.of_call(call) == Some(Operation::Stop);
    stop_block(due).is_some_and(|stop| stop.calls().any(is_stop))
}
