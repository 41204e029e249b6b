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
//! sight (stored to unknown memory), its root is named at every call. So is a root whose address escapes.
//!
//! Arguments count as used *during* the call, unless they are exactly what a root holds and the callee is a function
//! with roots of this module: by rule 3 that one roots its parameters before its first safepoint.

use super::bit_set::BitSet;
use super::influence::{Influence, SlotAccess};
use super::roots::Root;
use crate::callee::Callees;
use crate::flow::{Direction, Flow};
use crate::llvm::Value;
use crate::llvm::call::Call;
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

/// Roots whose content matters during the call or after it.
fn matters_at(
    callees: &Callees,
    flow: &Flow,
    count: usize,
    influence: &Influence,
    managed: &HashSet<Value>,
) -> HashMap<Call, BitSet> {
    let mut at_calls = HashMap::new();
    let mut through = |block: usize, mut matters: BitSet| {
        let instructions: Vec<Value> = flow.blocks[block].instructions().collect();
        for instruction in instructions.into_iter().rev() {
            if let Some(call) = instruction.as_call().filter(|&call| callees.is_safepoint(call)) {
                let mut here = matters.clone();
                for argument in call.arguments() {
                    let callee_roots_it = managed.contains(&call.callee()) && influence.is_exact(argument);
                    if !callee_roots_it && let Some(roots) = influence.of_value(argument) {
                        here.union(roots);
                    }
                }
                at_calls.insert(call, here);
            }
            for access in influence.accesses(instruction) {
                if let SlotAccess::Empty { root } | SlotAccess::Overwrite { root } = *access {
                    matters.remove(root);
                }
            }
            for access in influence.accesses(instruction) {
                if let SlotAccess::Read { root } = *access {
                    matters.insert(root);
                }
            }
            for operand in instruction.operands() {
                if let Some(roots) = influence.of_value(operand) {
                    matters.union(roots);
                }
            }
        }
        matters
    };
    flow.solve(Direction::Backward, &BitSet::empty(count), |into, from| _ = into.union(from), &mut through);
    at_calls
}
