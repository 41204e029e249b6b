//! Writes decisions into the IR as operations.
//!
//! The operations of an edge go to the end of the block it leaves if there is no other edge out, to the start of the
//! block it enters if there is no other edge in, and else into a new block on the edge.

use super::decisions::{Decisions, EdgeEdits, What};
use super::operation::{Operation, Operations};
use crate::analysis::flow::Flow;
use crate::llvm::surgery::split_edge;
use crate::llvm::{Block, Builder, Opcode, Value};
use crate::lower::roots::Root;

/// Writes the operations of a function into it. `reread`: the content of a root is read from memory whenever it is
/// released.
pub(super) fn place(
    builder: &Builder,
    operations: &Operations,
    flow: &Flow,
    roots: &[Root],
    mut decisions: Decisions,
    reread: bool,
) {
    let writer = Writer { builder, operations, roots, reread };
    for edit in &decisions.edits {
        writer.write(edit.before, &edit.what);
    }
    // A phi is made anew when its edge is split: uses in the IR follow it, and the decisions still to be written are
    // renamed.
    while let Some(edge) = decisions.edges.pop() {
        let (place, replaced) = edge_place(builder, flow, &edge);
        let rename = |value: &mut Value| {
            if let Some((_, new)) = replaced.iter().find(|(old, _)| old == value) {
                *value = *new;
            }
        };
        let mut what = edge.what;
        what.iter_mut().for_each(|what| what.for_each_value(rename));
        decisions.edges.iter_mut().flat_map(|edge| &mut edge.what).for_each(|what| what.for_each_value(rename));
        for what in &what {
            writer.write(place, what);
        }
    }
}

/// Whether all edges with operations can be given a place.
pub(super) fn is_possible(flow: &Flow, decisions: &Decisions) -> bool {
    decisions.edges.iter().all(|edge| {
        let end = flow.blocks[edge.from].terminator().expect("a block ends in a terminator");
        let enters_pad = flow.blocks[edge.to].is_landing_pad();
        flow.successors[edge.from].len() == 1
            || flow.predecessors[edge.to].len() == 1
            || (matches!(end.opcode(), Some(Opcode::LLVMBr | Opcode::LLVMSwitch)) && !enters_pad)
    })
}

fn edge_place(builder: &Builder, flow: &Flow, edge: &EdgeEdits) -> (Value, Vec<(Value, Value)>) {
    let (from, to) = (flow.blocks[edge.from], flow.blocks[edge.to]);
    let end = |block: Block| block.terminator().expect("a block ends in a terminator");
    if flow.successors[edge.from].len() == 1 {
        (end(from), vec![])
    } else if flow.predecessors[edge.to].len() == 1 {
        (to.first_insertion_point(), vec![])
    } else {
        let (between, replaced) = split_edge(builder, from, to);
        (end(between), replaced)
    }
}

struct Writer<'a> {
    builder: &'a Builder,
    operations: &'a Operations,
    roots: &'a [Root],
    reread: bool,
}

impl Writer<'_> {
    fn write(&self, place: Value, what: &What) {
        self.builder.before(place);
        match what {
            What::OfRoot(operation, root) => {
                let slot = self.roots[*root].slot;
                // LLVM may take the value of a variable before a call of setjmp for its value after it.
                let slot = if self.reread { self.builder.opaque_copy(slot) } else { slot };
                let value = self.builder.load(self.builder.module().pointer(), slot);
                self.of(*operation, value, Some(*root));
            }
            What::ForRoot(operation, value, root) => self.of(*operation, *value, Some(*root)),
            What::Of(operation, value) => self.of(*operation, *value, None),
            What::Hide(value, root) => {
                self.of(Operation::Spend, *value, None);
                self.builder.store(*value, self.roots[*root].slot);
                self.of(Operation::Take, *value, Some(*root));
            }
            What::Unhide(root) => {
                self.write(place, &What::OfRoot(Operation::Drop, *root));
                self.builder.store(self.builder.module().pointer().null(), self.roots[*root].slot);
            }
            What::Settle(root) => self.numbered(Operation::Settle, *root),
            What::Unsettle(root) => self.numbered(Operation::Unsettle, *root),
            What::Lend => _ = self.operations.emit(self.builder, Operation::Lend, &[]),
            What::Unlend => _ = self.operations.emit(self.builder, Operation::Unlend, &[]),
            What::Drain(words) => _ = self.operations.emit(self.builder, Operation::Drain, words),
            What::DrainBeside(words, memory) => {
                let word = self.builder.module().integer(64);
                let copies = memory.iter().map(|&(address, count)| self.builder.load(word.array(count), address));
                let in_flight: Vec<Value> = words.iter().copied().chain(copies).collect();
                self.operations.emit(self.builder, Operation::Drain, &in_flight);
            }
            What::Finish(words) => _ = self.operations.emit(self.builder, Operation::Finish, words),
        }
    }

    fn of(&self, operation: Operation, value: Value, root: Option<usize>) {
        let mut operands = vec![value];
        operands.extend(root.map(|root| self.builder.i32(root as u64)));
        self.operations.emit(self.builder, operation, &operands);
    }

    fn numbered(&self, operation: Operation, root: usize) {
        self.operations.emit(self.builder, operation, &[self.builder.i32(root as u64)]);
    }
}
