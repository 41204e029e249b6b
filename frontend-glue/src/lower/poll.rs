//! Safepoint polls: every cycle of a function that writes references meets a safepoint of the runtime.
//!
//! A loop that allocates stops by itself when a slice of an epoch is due. One that only writes would grow the log
//! without ever letting an epoch begin, so it polls at its latch: one load and one branch. A call of another function
//! of this module that writes counts as a write, because it may be inlined, and may have no loop of its own; a call
//! of one that allocates on every path counts as an allocation. Writes of pairs ask for no poll: the values around them
//! mostly lie in variables of two words, of which it is seldom known that no reference hides there.
//!
//! Cycles are found without dominators: blocks that reach the runtime anyway are removed from the graph. While the
//! rest has a strongly connected part with a write in it, the edges back to that part's first block (in reverse
//! post-order) are polled and removed, too. That polls outer latches before inner ones, handles irreducible graphs,
//! and leaves inner loops without a write alone.

use super::exposure::safe_to_poll;
use super::fresh::fresh_writes;
use super::global_slots;
use super::roots::Root;
use super::runtime::{ContextAccess, declare, if_field_is_set};
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::smallest;
use crate::analysis::flow::{Edges, Flow, LazyFlow};
use crate::llvm::call::Call;
use crate::llvm::{Block, Builder, HandleSet, Value};
use tally_compiled::symbols::CallKind;
use tally_heap::context::POLL;

/// Puts calls of `tally_safepoint` at the latches that need one; returns their number, and the writes that need no
/// barrier.
///
/// Polls and fresh objects depend on each other: an elided write needs no poll, a poll ends freshness. Starting
/// from no polls, each round can only add some, so this ends.
pub(super) fn place_polls(
    builder: &Builder,
    callees: &Callees,
    function: Value,
    flow: &LazyFlow,
    roots: &[Root],
    habits: &Habits,
    poll: Value,
) -> (usize, HandleSet<Call>) {
    if !habits.may_write(function) {
        return (0, HandleSet::default());
    }
    let flow = flow.get();
    let mut safe: Option<HandleSet<Block>> = None;
    let mut polled: HandleSet<Block> = HandleSet::default();
    loop {
        let fresh = fresh_writes(callees, function, flow, &polled);
        let before = polled.len();
        let wanted = blocks_to_poll(callees, flow, habits, &fresh);
        if !wanted.is_empty() {
            let safe = safe.get_or_insert_with(|| safe_to_poll(callees, flow, function, roots, &habits.held));
            polled.extend(wanted.intersection(safe));
        }
        if polled.len() == before {
            for block in &polled {
                let latch = block.terminator().expect("a block ends in a terminator");
                builder.before(latch);
                builder.call(poll.value_type(), poll, &[]);
            }
            return (polled.len(), fresh);
        }
    }
}

/// Turns a call of `tally_safepoint` into its inline form: one load and one branch.
pub(super) fn expand(builder: &Builder, context: ContextAccess, call: Call, roots: &[Value]) {
    let module = builder.module();
    let place = call.value();
    let (stop, rest) = if_field_is_set(builder, context, place, POLL, module.integer(32));
    builder.at_end(stop, Some(place));
    let slow = declare(module, "tally_safepoint_slow");
    builder.call_with_roots(slow.value_type(), slow, &[], roots);
    builder.branch(rest);
    call.remove();
}

/// The known effects of calls of a module's functions.
pub(super) struct Habits {
    /// Functions with a write, fresh or not.
    with_writes: HandleSet<Value>,
    /// Functions with a barrier, which another function's loop may repeat.
    writers: HandleSet<Value>,
    /// Functions that give the runtime a chance to run an epoch on every path.
    stoppers: HandleSet<Value>,
    /// Parameters that a root of the caller holds as long as the call lasts: a poll exposes none of them.
    held: HandleSet<Value>,
}

impl Habits {
    pub(super) fn of(callees: &Callees, functions: &[Value], held: HandleSet<Value>) -> Habits {
        let managed: HandleSet<Value> = functions.iter().copied().collect();
        let callers = |is_wanted: fn(Callee) -> bool| -> HandleSet<Value> {
            let callers = callees.calls_of(is_wanted).map(|call| call.value().function());
            callers.filter(|caller| managed.contains(caller)).collect()
        };
        let with_writes = callers(Callee::is_write_or_pair);
        let writers = with_writes.iter().copied().filter(|&function| writes(callees, function)).collect();
        let stops = |stoppers: &HandleSet<Value>, function: Value| {
            !function.may_be_overridden() && always_stops(callees, stoppers, function)
        };
        let stoppers = smallest(callers(is_stop).into_iter(), &managed, stops);
        Habits { with_writes, writers, stoppers, held }
    }

    /// Parameters that callers hold.
    pub(super) fn held(&self) -> &HandleSet<Value> {
        &self.held
    }

    /// Whether the function has a write, or a call of a writer: the loops of any other need no check.
    fn may_write(&self, function: Value) -> bool {
        let calls_a_writer = || function.calls().any(|call| self.writers.contains(&call.callee()));
        self.with_writes.contains(&function) || (!self.writers.is_empty() && calls_a_writer())
    }
}

/// Whether every way from the entry to an end of the function passes a stop.
fn always_stops(callees: &Callees, stoppers: &HandleSet<Value>, function: Value) -> bool {
    let flow = Flow::of(function);
    let (mut seen, mut queue) = (vec![false; flow.reachable], vec![0]);
    while let Some(block) = queue.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        if flow.blocks[block].calls().any(|call| stops(callees, stoppers, call)) {
            continue;
        }
        if flow.successors[block].is_empty() {
            return false;
        }
        queue.extend(flow.successors[block].iter().copied());
    }
    true
}

fn writes(callees: &Callees, function: Value) -> bool {
    let fresh = fresh_writes(callees, function, &Flow::of(function), &HandleSet::default());
    function.calls().any(|call| needs_barrier(callees, &fresh, call))
}

fn needs_barrier(callees: &Callees, fresh: &HandleSet<Call>, call: Call) -> bool {
    callees.is_write(call) && !fresh.contains(&call) && !global_slots::is_written_by(call)
}

/// The sources of the back edges to poll.
fn blocks_to_poll(callees: &Callees, flow: &Flow, habits: &Habits, fresh: &HandleSet<Call>) -> HandleSet<Block> {
    let calls = |block: usize| flow.blocks[block].calls();
    let writes: Vec<bool> = (0..flow.reachable)
        .map(|block| {
            calls(block).any(|call| needs_barrier(callees, fresh, call) || habits.writers.contains(&call.callee()))
        })
        .collect();
    let mut edges: Vec<Edges> = flow.successors[..flow.reachable].to_vec();
    for (block, targets) in edges.iter_mut().enumerate() {
        if calls(block).any(|call| stops(callees, &habits.stoppers, call)) {
            targets.clear();
        }
    }
    let mut polled = HandleSet::default();
    loop {
        let mut found = false;
        for part in strongly_connected(&edges) {
            let is_cycle = part.len() > 1 || edges[part[0]].contains(&part[0]);
            if !is_cycle || !part.iter().any(|&block| writes[block]) {
                continue;
            }
            found = true;
            let first = *part.iter().min().expect("not empty");
            for &block in &part {
                if edges[block].contains(&first) {
                    // A poll in the source block serves all of its edges.
                    edges[block].clear();
                    polled.insert(flow.blocks[block]);
                }
            }
        }
        if !found {
            return polled;
        }
    }
}

/// Whether the call certainly gives the runtime a chance to run an epoch.
fn stops(callees: &Callees, stoppers: &HandleSet<Value>, call: Call) -> bool {
    is_stop(callees.of_call(call)) || stoppers.contains(&call.callee())
}

fn is_stop(callee: Callee) -> bool {
    matches!(callee, Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint))
}

/// Tarjan's algorithm, with its recursion on a list.
pub(super) fn strongly_connected(edges: &[Edges]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut number = vec![UNSEEN; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut on_stack = vec![false; edges.len()];
    let (mut stack, mut parts, mut next) = (Vec::new(), Vec::new(), 0);
    for start in 0..edges.len() {
        if number[start] != UNSEEN {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some(&mut (here, ref mut edge)) = path.last_mut() {
            if *edge == 0 {
                (number[here], low[here], on_stack[here]) = (next, next, true);
                next += 1;
                stack.push(here);
            }
            if let Some(&target) = edges[here].get(*edge) {
                *edge += 1;
                if number[target] == UNSEEN {
                    path.push((target, 0));
                } else if on_stack[target] {
                    low[here] = low[here].min(number[target]);
                }
                // A revisit must not be taken for a first visit.
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[here]);
            }
            if low[here] == number[here] {
                let from = stack.iter().rposition(|&block| block == here).expect("on the stack");
                let part = stack.split_off(from);
                for &block in &part {
                    on_stack[block] = false;
                }
                parts.push(part);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Edges, strongly_connected};

    #[test]
    fn parts_of_a_nested_loop() {
        // 0 -> 1 <-> 2, 2 -> 3, 3 -> 1 and 4; 4 alone.
        let edges: Vec<Edges> = [&[1][..], &[2], &[1, 3], &[1, 4], &[]].into_iter().map(Edges::from).collect();
        let mut parts = strongly_connected(&edges);
        for part in &mut parts {
            part.sort_unstable();
        }
        parts.sort();
        assert_eq!(parts, [vec![0], vec![1, 2, 3], vec![4]]);
    }
}
