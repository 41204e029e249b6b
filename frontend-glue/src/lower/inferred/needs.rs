//! Which bases each safepoint needs: those of references that are used after it, or by a callee that does not root them.
//!
//! Liveness is that of bases: a use of a pointer is one of its base, whose definition comes before the pointer's. A base
//! also counts as *wanted* where a later safepoint needs it, or a phi that a later safepoint needs takes it: there its
//! slot must hold it.

use super::bases::Bases;
use super::references::is_typed;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use std::collections::HashMap;

/// The needs of one function's safepoints.
#[derive(Debug)]
pub(super) struct Needs {
    /// The bases that each safepoint needs, if there are any.
    pub(super) of_safepoints: HandleMap<Value, BitSet>,
    /// The bases that are wanted where a block begins, behind its phis.
    pub(super) at_begin: Vec<BitSet>,
    /// The bases that are wanted where a block ends.
    pub(super) at_end: Vec<BitSet>,
}

impl Needs {
    /// `end_of_leaf` marks a place where the objects die that a leaf has let go of, unless they are in flight there.
    pub(super) fn find(callees: &Callees, flow: &Flow, bases: &Bases, end_of_leaf: Option<Value>) -> Needs {
        let count = bases.all.len();
        let none = vec![BitSet::empty(count); flow.blocks.len()];
        let mut needs = Needs { of_safepoints: HandleMap::default(), at_begin: none.clone(), at_end: none };
        if count == 0 {
            return needs;
        }
        let code = Code { callees, flow, bases, end_of_leaf };
        let live = code.live_ends();
        for block in 0..flow.reachable {
            let mut live = live[block].clone();
            for instruction in backwards(flow, block) {
                if let Some(call) = code.safepoint(instruction) {
                    let needed = code.needed_by(call, &live);
                    if needed.bits().next().is_some() {
                        needs.of_safepoints.insert(instruction, needed);
                    }
                }
                code.before(instruction, &mut live);
            }
        }
        needs.find_wanted(flow, bases);
        needs
    }

    fn find_wanted(&mut self, flow: &Flow, bases: &Bases) {
        let phis = PhiOperands::of(flow, bases);
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..flow.reachable).rev() {
                for &successor in &flow.successors[block] {
                    changed |= self.at_end[block].union(&phis.before(&self.at_begin[successor], block, successor));
                }
                let mut wanted = self.at_end[block].clone();
                for instruction in backwards(flow, block).take_while(|it| !it.is(Opcode::LLVMPHI)) {
                    self.before(bases, instruction, &mut wanted);
                }
                changed |= self.at_begin[block].union(&wanted);
            }
        }
    }

    /// Computes what is wanted before an instruction from what is wanted after it.
    pub(super) fn before(&self, bases: &Bases, instruction: Value, wanted: &mut BitSet) {
        if let Some(number) = bases.number_of(instruction) {
            wanted.remove(number);
        }
        if let Some(needed) = self.of_safepoints.get(&instruction) {
            wanted.union(needed);
        }
    }
}

/// The instructions of a block, the last one first.
pub(super) fn backwards(flow: &Flow, block: usize) -> impl Iterator<Item = Value> {
    std::iter::successors(flow.blocks[block].terminator(), |it| it.previous_instruction())
}

/// For a block and a predecessor of it the phis that are bases, each with the base that it takes from there.
type Taken = HashMap<(usize, usize), Vec<(usize, Option<usize>)>>;

/// The phis that are bases, and their operands that are.
struct PhiOperands {
    taken: Taken,
    count: usize,
}

impl PhiOperands {
    fn of(flow: &Flow, bases: &Bases) -> PhiOperands {
        let mut taken = Taken::new();
        for (number, base) in bases.all.iter().enumerate().filter(|(_, base)| base.is(Opcode::LLVMPHI)) {
            for (value, from) in base.incoming() {
                let edge = (flow.number(base.block()), flow.number(from));
                taken.entry(edge).or_default().push((number, bases.number_of(value)));
            }
        }
        PhiOperands { taken, count: bases.all.len() }
    }

    /// What is wanted at the end of `origin` for the sake of what is wanted where `block` begins.
    fn before(&self, wanted: &BitSet, origin: usize, block: usize) -> BitSet {
        let mut before = wanted.clone();
        let Some(taken) = self.taken.get(&(block, origin)) else { return before };
        let mut operands = BitSet::empty(self.count);
        for &(phi, operand) in taken {
            if wanted.contains(phi) {
                operand.into_iter().for_each(|operand| operands.insert(operand));
            }
            before.remove(phi);
        }
        before.union(&operands);
        before
    }
}

struct Code<'a> {
    callees: &'a Callees,
    flow: &'a Flow,
    bases: &'a Bases,
    end_of_leaf: Option<Value>,
}

impl Code<'_> {
    fn safepoint(&self, instruction: Value) -> Option<Call> {
        let call = instruction.as_call()?;
        let is_safepoint = self.callees.is_safepoint(call) && !call.is_musttail() || self.ends_leaf(call);
        is_safepoint.then_some(call)
    }

    fn ends_leaf(&self, call: Call) -> bool {
        self.end_of_leaf == Some(call.callee())
    }

    /// For each block the bases that are live where it ends.
    fn live_ends(&self) -> Vec<BitSet> {
        let nothing = BitSet::empty(self.bases.all.len());
        let mut of_edges = vec![nothing.clone(); self.flow.blocks.len()];
        for block in 0..self.flow.reachable {
            for phi in self.flow.blocks[block].instructions().take_while(|it| it.is(Opcode::LLVMPHI)) {
                for (value, from) in phi.incoming() {
                    self.bases.used_by(value).for_each(|base| of_edges[self.flow.number(from)].insert(base));
                }
            }
        }
        let through = |block: usize, mut live: BitSet| {
            live.union(&of_edges[block]);
            for instruction in backwards(self.flow, block) {
                self.before(instruction, &mut live);
            }
            live
        };
        let merge = |into: &mut BitSet, from: &BitSet| _ = into.union(from);
        let ends = self.flow.solve(Direction::Backward, &nothing, merge, through);
        let live = ends.into_iter().zip(of_edges).map(|(end, edges)| {
            let mut live = end.unwrap_or_else(|| nothing.clone());
            live.union(&edges);
            live
        });
        live.collect()
    }

    /// Computes what is live before an instruction from what is live after it.
    fn before(&self, instruction: Value, live: &mut BitSet) {
        if let Some(number) = self.bases.number_of(instruction) {
            live.remove(number);
        }
        if !instruction.is(Opcode::LLVMPHI) {
            self.bases.used_by_instruction(instruction).for_each(|base| live.insert(base));
        }
    }

    /// The bases that must be in roots while a call runs.
    fn needed_by(&self, call: Call, live_after: &BitSet) -> BitSet {
        let mut needed = live_after.clone();
        if let Some(result) = self.bases.number_of(call.value()) {
            needed.remove(result);
        }
        if self.ends_leaf(call) {
            let in_flight = call.arguments().into_iter().filter_map(|it| self.bases.number_of(it));
            in_flight.for_each(|base| needed.remove(base));
            return needed;
        }
        let arguments = call.arguments().into_iter().filter(|&it| !callee_protects(self.callees, call, it));
        // Who reads deoptimisation state does so while the callee runs.
        let used = arguments.chain(call.bundle(DEOPT).unwrap_or_default());
        used.flat_map(|it| self.bases.used_by(it).collect::<Vec<_>>()).for_each(|base| needed.insert(base));
        needed
    }
}

/// Whether a callee protects the object that an argument is, or leads into: then that is no use while the call runs.
fn callee_protects(callees: &Callees, call: Call, argument: Value) -> bool {
    let callee = call.callee();
    match callees.of_call(call) {
        Callee::Ordinary => callee.has_body() && callee.gc().is_some() && is_typed(argument.type_of()),
        _ => true,
    }
}
