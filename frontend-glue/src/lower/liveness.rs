//! Which roots each safepoint must name: those that may hold something and whose content may still matter.
//!
//! Naming all roots at all calls is always right, but quadratic (600 roots and 1,200 calls: 546 ms against 23 ms, 8.8 MB
//! of maps against 48 KB), and a slot that is never read again would keep garbage alive. So a root is named at a call
//!
//! - only if a non-null store may reach the call (forward), and
//! - only if it may matter afterwards (backward): the slot is read again before it is overwritten whole, or a value that
//!   was read from it or stored into it, or anything derived from such a value, is used again.
//!
//! The second half of that sentence is what rule 4 of the contract ("derived pointers are free as long as the base is
//! rooted") asks for: `%p = load %root; call @f(); use %p + 8` never reads the slot again and yet relies on it. What
//! happens to a derived value is followed through SSA and through plain allocas ([`Influence`]); where it leaves
//! sight (stored to unknown memory), its root is named at every call. So is a root whose address escapes. A slot stops
//! to matter where it is overwritten, a value does not: `%p = load %root; call @f(); store null, %root; use %p` relies on
//! the root while `@f` runs.
//!
//! Arguments count as used *during* the call, unless they are exactly what a root holds and the callee is a function
//! with roots of this module: by rule 3 that one roots its parameters before its first safepoint.

use super::bit_set::BitSet;
use super::influence::{Influence, SlotAccess};
use super::roots::{Root, slot_bytes};
use crate::callee::{Callee, Callees};
use crate::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{Block, Opcode, Value};
use std::collections::{HashMap, HashSet};

/// For each safepoint call of a function the numbers of the roots to name, ascending.
pub(super) type NamedRoots = HashMap<Call, Vec<usize>>;

/// Decides which roots each safepoint of `function` names. `managed` are the functions that root their parameters.
pub(super) fn named_roots(
    callees: &Callees,
    function: Value,
    roots: &[Root],
    managed: &HashSet<Value>,
    precise: bool,
) -> NamedRoots {
    let safepoints =
        || function.instructions().into_iter().filter_map(Value::as_call).filter(|&call| callees.is_safepoint(call));
    if !precise || roots.is_empty() || function.instructions().into_iter().filter_map(Value::as_call).any(returns_twice)
    {
        let all: Vec<usize> = (0..roots.len()).collect();
        return safepoints().map(|call| (call, all.clone())).collect();
    }
    let flow = Flow::of(function);
    let influence = Influence::of(callees, function, roots);
    let mut filled = filled_before(callees, &flow, roots.len(), &influence);
    let mut matters = matters_at(callees, &flow, roots.len(), &influence, managed);
    safepoints()
        .map(|call| {
            let mut named = matters.remove(&call).unwrap_or_else(|| BitSet::empty(roots.len()));
            named.intersect(&filled.remove(&call).unwrap_or_else(|| BitSet::empty(roots.len())));
            named.union(&influence.always);
            (call, named.bits().collect())
        })
        .collect()
}

fn returns_twice(call: Call) -> bool {
    call.has_attribute("returns_twice")
}

/// Roots that may hold something when the call starts.
fn filled_before(callees: &Callees, flow: &Flow, count: usize, influence: &Influence) -> HashMap<Call, BitSet> {
    let mut at_calls = HashMap::new();
    let mut through = |block: usize, mut filled: BitSet| {
        for instruction in flow.blocks[block].instructions() {
            if let Some(call) = instruction.as_call().filter(|&call| callees.is_safepoint(call)) {
                at_calls.insert(call, filled.clone());
            }
            for access in influence.accesses(instruction) {
                match *access {
                    SlotAccess::Empty { root } => filled.remove(root),
                    SlotAccess::Overwrite { root } | SlotAccess::Touch { root } => filled.insert(root),
                    SlotAccess::Read { .. } => {}
                }
            }
        }
        filled
    };
    flow.solve(Direction::Forward, &BitSet::empty(count), |into, from| _ = into.union(from), &mut through);
    at_calls
}

/// What matters at one place: slots that may be read before they are overwritten, and values that may still be used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mattering {
    slots: BitSet,
    /// By their numbers in [`Reliance`].
    values: BitSet,
}

/// The values that hang on roots and are used in other blocks than their own, numbered; and variables that hold such.
struct Reliance<'a> {
    influence: &'a Influence,
    numbers: HashMap<Value, usize>,
    numbered: Vec<Value>,
    /// What the phis of other blocks take at the end of each block.
    taken_at_end: Vec<Vec<Value>>,
}

impl Reliance<'_> {
    fn of<'a>(flow: &Flow, influence: &'a Influence) -> Reliance<'a> {
        let numbered: Vec<Value> = influence.hanging().filter(|&value| is_used_elsewhere(value)).collect();
        let blocks: HashMap<Block, usize> = flow.blocks.iter().copied().zip(0..).collect();
        let mut taken_at_end = vec![Vec::new(); flow.blocks.len()];
        for phi in
            flow.blocks.iter().flat_map(|block| block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)))
        {
            for (value, from) in phi.incoming() {
                taken_at_end[blocks[&from]].push(value);
            }
        }
        Reliance { influence, numbers: numbered.iter().copied().zip(0..).collect(), numbered, taken_at_end }
    }

    /// A value is used; `here` are those without a number.
    fn uses(&self, value: Value, matters: &mut Mattering, here: &mut HashSet<Value>) {
        if let Some(&number) = self.numbers.get(&value) {
            matters.values.insert(number);
        } else if self.influence.of_value(value).is_some() {
            here.insert(value);
        }
    }

    /// A value is made, or a variable gets another content: what it was before does not matter.
    fn begins(&self, value: Value, matters: &mut Mattering, here: &mut HashSet<Value>) {
        if let Some(&number) = self.numbers.get(&value) {
            matters.values.remove(number);
        } else {
            here.remove(&value);
        }
    }

    /// The roots of all that matters.
    fn roots(&self, matters: &Mattering, here: &HashSet<Value>) -> BitSet {
        let mut roots = matters.slots.clone();
        let numbered = matters.values.bits().map(|number| &self.numbered[number]);
        for of_value in numbered.chain(here).filter_map(|&value| self.influence.of_value(value)) {
            roots.union(of_value);
        }
        roots
    }
}

fn is_used_elsewhere(value: Value) -> bool {
    value.is_argument()
        || value.is(Opcode::LLVMAlloca)
        || value.users().any(|user| user.is(Opcode::LLVMPHI) || user.block() != value.block())
}

/// Roots whose content matters during the call or after it.
fn matters_at(
    callees: &Callees,
    flow: &Flow,
    count: usize,
    influence: &Influence,
    managed: &HashSet<Value>,
) -> HashMap<Call, BitSet> {
    let reliance = Reliance::of(flow, influence);
    let nothing = Mattering { slots: BitSet::empty(count), values: BitSet::empty(reliance.numbered.len()) };
    let mut at_calls = HashMap::new();
    let mut through = |block: usize, mut matters: Mattering| {
        let mut here = HashSet::new();
        for &value in &reliance.taken_at_end[block] {
            reliance.uses(value, &mut matters, &mut here);
        }
        let instructions: Vec<Value> = flow.blocks[block].instructions().collect();
        for instruction in instructions.into_iter().rev() {
            reliance.begins(instruction, &mut matters, &mut here);
            if let Some(call) = instruction.as_call().filter(|&call| callees.is_safepoint(call)) {
                let mut named = reliance.roots(&matters, &here);
                for argument in call.arguments() {
                    let callee_roots_it = managed.contains(&call.callee()) && influence.is_exact(argument);
                    if !callee_roots_it && let Some(roots) = influence.of_value(argument) {
                        named.union(roots);
                    }
                }
                // Naming reads the slot: what is in it must have been named at the calls before, back to where it came in.
                matters.slots.union(&named);
                at_calls.insert(call, named);
            }
            for access in influence.accesses(instruction) {
                if let SlotAccess::Empty { root } | SlotAccess::Overwrite { root } = *access {
                    matters.slots.remove(root);
                }
            }
            for access in influence.accesses(instruction) {
                if let SlotAccess::Read { root } = *access {
                    matters.slots.insert(root);
                }
            }
            if let Some(variable) = refilled_variable(callees, instruction) {
                reliance.begins(variable, &mut matters, &mut here);
            }
            for operand in operands_that_count(callees, instruction) {
                reliance.uses(operand, &mut matters, &mut here);
            }
        }
        matters
    };
    let merge = |into: &mut Mattering, from: &Mattering| {
        into.slots.union(&from.slots);
        into.values.union(&from.values);
    };
    flow.solve(Direction::Backward, &nothing, merge, &mut through);
    at_calls
}

/// The variable whose whole content an instruction replaces.
fn refilled_variable(callees: &Callees, instruction: Value) -> Option<Value> {
    let (variable, whole) = match instruction.opcode()? {
        Opcode::LLVMStore => {
            let (module, variable) = (instruction.function().module(), instruction.operand(1));
            let of = instruction.operand(0).type_of();
            let is_variable = variable.is(Opcode::LLVMAlloca);
            (
                variable,
                is_variable && slot_bytes(module, variable).is_some_and(|bytes| module.store_size_of(of) >= bytes),
            )
        }
        Opcode::LLVMCall => {
            let call = instruction.as_call()?;
            let starts = callees.of_call(call) == Callee::LifetimeStart;
            (call.arguments().last().copied()?, starts)
        }
        _ => return None,
    };
    (whole && variable.is(Opcode::LLVMAlloca)).then_some(variable)
}

/// What an instruction uses there and then: a phi has taken its values before; lifetime markers, and the variable that is
/// refilled, do not look at what is there.
fn operands_that_count(callees: &Callees, instruction: Value) -> Vec<Value> {
    if instruction.is(Opcode::LLVMPHI) {
        return Vec::new();
    }
    let is_marker = |call: Call| matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd);
    if instruction.as_call().is_some_and(is_marker) {
        return Vec::new();
    }
    let refilled = refilled_variable(callees, instruction);
    instruction.operands().filter(|operand| Some(*operand) != refilled).collect()
}
