//! The writes that need no barrier because their object is fresh.
//!
//! A fresh object was allocated in this function and no safepoint has come since: no epoch has seen it, its unlogged
//! bit is clear, so the barrier's slow path could never be taken [LOG]. A forward dataflow keeps the set of places
//! (SSA values, and slots whose address does not escape) that hold a fresh object; a safepoint empties the set, an
//! allocation puts its result in, loads and stores carry membership between slots and values, and where paths meet
//! only the places that are fresh on all of them stay.

use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{Block, HandleSet, Opcode, Value};

/// The writes of `function` (of words and pairs) whose object is fresh. `polled` are blocks that will end in a poll.
pub(super) fn fresh_writes(
    callees: &Callees,
    function: Value,
    flow: &Flow,
    polled: &HandleSet<Block>,
) -> HandleSet<Call> {
    let slots = private_slots(function);
    let mut elided = HandleSet::default();
    flow.solve(
        Direction::Forward,
        &HandleSet::default(),
        |into: &mut HandleSet<Value>, from| into.retain(|value| from.contains(value)),
        |block, mut fresh| {
            for instruction in flow.blocks[block].instructions() {
                if let Some(call) = instruction.as_call()
                    && let Some(written) = callees.written(call)
                {
                    // Decided anew at each visit: the last one knows all paths.
                    if fresh.contains(&written.object) {
                        elided.insert(call)
                    } else {
                        elided.remove(&call)
                    };
                }
                pass(callees, &slots, &mut fresh, instruction);
            }
            if polled.contains(&flow.blocks[block]) {
                fresh.clear();
            }
            fresh
        },
    );
    elided
}

fn pass(callees: &Callees, slots: &HandleSet<Value>, fresh: &mut HandleSet<Value>, instruction: Value) {
    match instruction.opcode() {
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
            let call = instruction.as_call().expect("a call or invoke");
            if callees.is_safepoint(call) {
                fresh.clear();
            }
            if matches!(callees.of_call(call), Callee::New | Callee::NewArray) {
                fresh.insert(instruction);
            }
        }
        Some(Opcode::LLVMLoad) => {
            let address = instruction.operand(0);
            set(fresh, instruction, slots.contains(&address) && fresh.contains(&address));
        }
        Some(Opcode::LLVMStore) if slots.contains(&instruction.operand(1)) => {
            let stays = fresh.contains(&instruction.operand(0));
            set(fresh, instruction.operand(1), stays);
        }
        Some(Opcode::LLVMPHI) => {
            let all = instruction.incoming().iter().all(|(value, _)| fresh.contains(value));
            set(fresh, instruction, all);
        }
        Some(Opcode::LLVMBitCast | Opcode::LLVMFreeze) => {
            let stays = fresh.contains(&instruction.operand(0));
            set(fresh, instruction, stays);
        }
        _ => {}
    }
}

fn set(fresh: &mut HandleSet<Value>, value: Value, member: bool) {
    if member {
        fresh.insert(value);
    } else {
        fresh.remove(&value);
    }
}

/// Allocas of one pointer that are only loaded from and stored to: nothing else can change their content.
pub(super) fn private_slots(function: Value) -> HandleSet<Value> {
    let is_private = |alloca: &Value| {
        alloca.allocated_type().is_pointer()
            && alloca.users().all(|user| match user.opcode() {
                Some(Opcode::LLVMLoad) => user.type_of().is_pointer(),
                Some(Opcode::LLVMStore) => user.operand(0) != *alloca && user.operand(0).type_of().is_pointer(),
                Some(Opcode::LLVMCall) => {
                    user.as_call().is_some_and(|call| call.callee().name().starts_with("llvm.lifetime."))
                }
                _ => false,
            })
    };
    function.instructions().into_iter().filter(|value| value.is(Opcode::LLVMAlloca)).filter(is_private).collect()
}
