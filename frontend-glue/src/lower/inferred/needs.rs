//! Which bases each safepoint needs: those of references that are used after it, or by a callee that does not root them.
//!
//! Liveness is that of bases: a use of a pointer is one of its base, whose definition comes before the pointer's. A base
//! also counts as *wanted* where a later safepoint needs it, or a phi that a later safepoint needs takes it: there its
//! slot must hold it.
//!
//! A call that returns twice, as `setjmp` does, may return again while any later call runs, and after a safepoint from which no edge
//! leads back to it. What is live behind it is *kept*: in a slot of its own, from its definition to the end of the function.

use super::bases::Bases;
use super::references::is_typed;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Block, HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use smallvec::SmallVec;

/// The needs of one function's safepoints.
#[derive(Debug)]
pub(super) struct Needs {
    /// The bases that each safepoint needs, if there are any.
    pub(super) of_safepoints: HandleMap<Value, BitSet>,
    /// The bases that are wanted where a block begins, behind its phis.
    pub(super) at_begin: Vec<BitSet>,
    /// The bases that are wanted where a block ends.
    pub(super) at_end: Vec<BitSet>,
    /// For each reachable block what matters in it.
    pub(super) steps: Vec<Vec<Step>>,
    /// The bases that are live behind a call that returns twice; `None` where no call does.
    pub(super) kept: Option<BitSet>,
}

/// An instruction behind the phis that defines or uses a base, or is a safepoint.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) instruction: Value,
    /// The base that it is.
    pub(super) defines: Option<usize>,
    /// The bases on which its operands rely.
    uses: SmallVec<[usize; 2]>,
    is_safepoint: bool,
    returns_twice: bool,
}

impl Needs {
    /// `end_of_leaf` marks a place where the objects die that a leaf has let go of, unless they are in flight there.
    pub(super) fn find(callees: &Callees, flow: &Flow, bases: &Bases, end_of_leaf: Option<Value>) -> Needs {
        let count = bases.all.len();
        if count == 0 {
            let (of_safepoints, nothing, steps) = (HandleMap::default(), Vec::new(), Vec::new());
            return Needs { of_safepoints, at_begin: nothing.clone(), at_end: nothing, steps, kept: None };
        }
        let code = Code { callees, flow, bases, end_of_leaf };
        let steps: Vec<Vec<Step>> = flow.blocks[..flow.reachable].iter().map(|&block| code.steps(block)).collect();
        let none = vec![BitSet::empty(count); flow.blocks.len()];
        let mut needs =
            Needs { of_safepoints: HandleMap::default(), at_begin: none.clone(), at_end: none, steps, kept: None };
        for (steps, mut live) in needs.steps.iter().zip(code.live_ends(&needs.steps)) {
            for step in steps.iter().rev() {
                if step.is_safepoint {
                    let needed = code.needed_by(step, &live);
                    if needed.bits().next().is_some() {
                        needs.of_safepoints.insert(step.instruction, needed);
                    }
                }
                if step.returns_twice {
                    needs.kept.get_or_insert_with(|| BitSet::empty(count)).union(&live);
                }
                step.before(&mut live);
            }
        }
        needs.find_wanted(flow, bases);
        needs
    }

    fn find_wanted(&mut self, flow: &Flow, bases: &Bases) {
        let count = bases.all.len();
        let phis = PhiOperands::of(flow, bases);
        let effects: Vec<Effect> = self.steps.iter().map(|steps| self.effect_on_wanted(steps, count)).collect();
        let mut wanted = BitSet::empty(count);
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..flow.reachable).rev() {
                for &successor in &flow.successors[block] {
                    wanted.clone_from(&self.at_begin[successor]);
                    phis.before(&mut wanted, block, successor);
                    changed |= self.at_end[block].union(&wanted);
                }
                wanted.clone_from(&self.at_end[block]);
                effects[block].apply(&mut wanted);
                changed |= self.at_begin[block].union(&wanted);
            }
        }
    }

    fn effect_on_wanted(&self, steps: &[Step], count: usize) -> Effect {
        let mut effect = Effect::none(count);
        for step in steps.iter().rev() {
            step.defines.into_iter().for_each(|number| effect.ends(number));
            self.needed_by(step).into_iter().for_each(|needed| _ = effect.begun.union(needed));
        }
        effect
    }

    fn needed_by(&self, step: &Step) -> Option<&BitSet> {
        if step.is_safepoint { self.of_safepoints.get(&step.instruction) } else { None }
    }

    /// Computes what is wanted before an instruction from what is wanted after it.
    pub(super) fn before(&self, step: &Step, wanted: &mut BitSet) {
        if let Some(number) = step.defines {
            wanted.remove(number);
        }
        if let Some(needed) = self.needed_by(step) {
            wanted.union(needed);
        }
    }
}

impl Step {
    /// Computes what is live before it from what is live after it.
    fn before(&self, live: &mut BitSet) {
        if let Some(number) = self.defines {
            live.remove(number);
        }
        self.uses.iter().for_each(|&base| live.insert(base));
    }
}

/// What a block makes of the set at its end: some are taken out, then some added.
struct Effect {
    ended: BitSet,
    begun: BitSet,
}

impl Effect {
    fn none(count: usize) -> Effect {
        Effect { ended: BitSet::empty(count), begun: BitSet::empty(count) }
    }

    /// Notes, from the block's end to its beginning, that it defines this one.
    fn ends(&mut self, number: usize) {
        self.ended.insert(number);
        self.begun.remove(number);
    }

    fn apply(&self, set: &mut BitSet) {
        set.subtract(&self.ended);
        set.union(&self.begun);
    }
}

/// For a block and a predecessor of it the phis that are bases, each with the base that it takes from there.
type Taken = HandleMap<(usize, usize), Vec<(usize, Option<usize>)>>;

/// The phis that are bases, and their operands that are.
struct PhiOperands {
    taken: Taken,
    count: usize,
}

impl PhiOperands {
    fn of(flow: &Flow, bases: &Bases) -> PhiOperands {
        let mut taken = Taken::default();
        for (number, base) in bases.all.iter().enumerate().filter(|(_, base)| base.is(Opcode::LLVMPHI)) {
            for (value, from) in base.incoming() {
                let edge = (flow.number(base.block()), flow.number(from));
                taken.entry(edge).or_default().push((number, bases.number_of(value)));
            }
        }
        PhiOperands { taken, count: bases.all.len() }
    }

    /// What is wanted at the end of `origin` for the sake of what is wanted where `block` begins.
    fn before(&self, wanted: &mut BitSet, origin: usize, block: usize) {
        let Some(taken) = self.taken.get(&(block, origin)) else { return };
        let mut operands = BitSet::empty(self.count);
        for &(phi, operand) in taken {
            if wanted.contains(phi) {
                operand.into_iter().for_each(|operand| operands.insert(operand));
            }
            wanted.remove(phi);
        }
        wanted.union(&operands);
    }
}

struct Code<'a> {
    callees: &'a Callees,
    flow: &'a Flow,
    bases: &'a Bases,
    end_of_leaf: Option<Value>,
}

impl Code<'_> {
    fn steps(&self, block: Block) -> Vec<Step> {
        let mut steps = Vec::new();
        for instruction in block.instructions() {
            if instruction.is_phi() {
                continue;
            }
            let defines = self.bases.number_of(instruction);
            let uses = self.bases.used_by_instruction(instruction);
            let call = Call::among_instructions(instruction);
            let is_safepoint = call.is_some_and(|call| self.is_safepoint(call));
            let returns_twice = call.is_some_and(|call| self.callees.returns_twice(call));
            if defines.is_some() || !uses.is_empty() || is_safepoint || returns_twice {
                steps.push(Step { instruction, defines, uses, is_safepoint, returns_twice });
            }
        }
        steps
    }

    fn is_safepoint(&self, call: Call) -> bool {
        self.callees.is_safepoint(call) && !call.is_musttail() || self.ends_leaf(call)
    }

    fn ends_leaf(&self, call: Call) -> bool {
        self.end_of_leaf == Some(call.callee())
    }

    /// For each block the bases that are live where it ends.
    fn live_ends(&self, steps: &[Vec<Step>]) -> Vec<BitSet> {
        let nothing = BitSet::empty(self.bases.all.len());
        let mut of_edges = vec![nothing.clone(); self.flow.blocks.len()];
        let mut effects: Vec<Effect> = steps.iter().map(|steps| self.effect_on_live(steps)).collect();
        for (effect, block) in effects.iter_mut().zip(&self.flow.blocks) {
            for phi in block.instructions().take_while(|it| it.is_phi()) {
                for (value, from) in phi.incoming() {
                    self.bases
                        .used_by(value)
                        .into_iter()
                        .for_each(|base| of_edges[self.flow.number(from)].insert(base));
                }
                self.bases.number_of(phi).into_iter().for_each(|number| effect.ends(number));
            }
        }
        let through = |block: usize, mut live: BitSet| {
            live.union(&of_edges[block]);
            if let Some(effect) = effects.get(block) {
                effect.apply(&mut live);
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

    fn effect_on_live(&self, steps: &[Step]) -> Effect {
        let mut effect = Effect::none(self.bases.all.len());
        for step in steps.iter().rev() {
            step.defines.into_iter().for_each(|number| effect.ends(number));
            step.uses.iter().for_each(|&base| effect.begun.insert(base));
        }
        effect
    }

    /// The bases that must be in roots while a call runs.
    fn needed_by(&self, step: &Step, live_after: &BitSet) -> BitSet {
        let call = step.instruction.as_call().expect("a safepoint is a call");
        let mut needed = live_after.clone();
        if let Some(result) = step.defines {
            needed.remove(result);
        }
        if self.ends_leaf(call) {
            let in_flight = call.arguments().into_iter().filter_map(|it| self.bases.number_of(it));
            in_flight.for_each(|base| needed.remove(base));
            return needed;
        }
        let arguments = call.arguments().into_iter().enumerate();
        let arguments = arguments.filter(|&(place, _)| !callee_protects(self.callees, call, place)).map(|(_, it)| it);
        // Who reads deoptimisation state does so while the callee runs.
        let used = arguments.chain(call.bundle(DEOPT).unwrap_or_default());
        used.flat_map(|it| self.bases.used_by(it)).for_each(|base| needed.insert(base));
        needed
    }
}

/// Whether a callee protects the object that its argument at a place is, or leads into: then that is no use while the call runs.
fn callee_protects(callees: &Callees, call: Call, place: usize) -> bool {
    let callee = call.callee();
    match callees.of_call(call) {
        Callee::Ordinary => is_typed_parameter(callee, place) && callee.has_body() && callee.gc().is_some(),
        _ => true,
    }
}

/// Whether what a function is given at a place is a typed reference to it: not among variable arguments, nor where it takes a plain
/// pointer.
fn is_typed_parameter(callee: Value, place: usize) -> bool {
    callee.is_function() && callee.value_type().parameters().get(place).is_some_and(|&of| is_typed(of))
}

/// Whether a call passes a typed reference that the callee does not take as one, and makes no root for.
pub(in crate::lower) fn passes_untyped(call: Call) -> bool {
    let mut arguments = call.arguments().into_iter().enumerate();
    arguments.any(|(place, it)| is_typed(it.type_of()) && !is_typed_parameter(call.callee(), place))
}
