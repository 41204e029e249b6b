//! The integers that may be tagged words: references in another form, which only their use shows.
//!
//! A word may be one if it can become a pointer, be written with `tally_gcwrite_i64` or in a pair, go into a root, or leave the
//! function; unless it is a number by birth, that is, computed by adding and multiplying constants and narrower
//! integers (loop counters). Two words in one i128, and a NaN box in a double, are followed like words. A module that
//! never writes tagged words has none, except those that a function turns into a pointer itself.

use crate::analysis::callee::{Callee, Callees, WRITE_PAIR, WRITE_WORD};
use crate::llvm::{HandleSet, Opcode, Type, TypeKind, Value};

/// The integers and doubles of a function, and its variables of such types (by alloca), that may be tagged words.
pub(super) fn possible(
    callees: &Callees,
    instructions: &[Value],
    is_root: &impl Fn(&Value) -> bool,
) -> HandleSet<Value> {
    let uses_words = are_used(instructions, is_root);
    let mut pending: Vec<Value> = Vec::new();
    for &instruction in instructions {
        match instruction.opcode() {
            Some(Opcode::LLVMIntToPtr) => pending.push(instruction.operand(0)),
            Some(Opcode::LLVMRet) if uses_words => pending.extend(instruction.operands()),
            Some(Opcode::LLVMStore) if is_root(&instruction.operand(1).base()) => pending.push(instruction.operand(0)),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) if uses_words => {
                let call = instruction.as_call().expect("a call or invoke");
                if matches!(callees.of_call(call), Callee::Ordinary | Callee::WriteWord | Callee::WritePair) {
                    pending.extend(call.arguments());
                }
            }
            _ => {}
        }
    }
    let reached = sources(pending);
    let words = not_numbers(&reached);
    reached.into_iter().filter(|value| words.contains(value)).collect()
}

/// Whether the module writes tagged words or pairs, or the function has a root that is no plain pointer.
pub(super) fn are_used(instructions: &[Value], is_root: &impl Fn(&Value) -> bool) -> bool {
    let module = instructions.first().map(|instruction| instruction.function().module());
    module.is_some_and(|module| [WRITE_WORD, WRITE_PAIR].iter().any(|name| module.function(name).is_some()))
        || instructions.iter().any(|value| is_root(value) && !value.allocated_type().is_pointer())
}

/// Whether a scalar has the bits for a word: a wide integer, or a double, the type of a NaN box for its owner.
pub(super) fn can_be_a_word(of: Type) -> bool {
    of.integer_bits() >= Some(64) || of.kind() == TypeKind::LLVMDoubleTypeKind
}

/// All values that the given ones may be copies of, or computed from.
fn sources(mut pending: Vec<Value>) -> HandleSet<Value> {
    let mut reached = HandleSet::default();
    while let Some(value) = pending.pop() {
        let is_wide = value.is(Opcode::LLVMAlloca) || can_be_a_word(value.type_of());
        if value.is_local() && is_wide && reached.insert(value) {
            pending.extend(made_from(value));
        }
    }
    reached
}

/// The values (and variables) that a value is a copy of, or computed from.
fn made_from(value: Value) -> Vec<Value> {
    match value.opcode() {
        Some(Opcode::LLVMPHI) => value.incoming().into_iter().map(|(incoming, _)| incoming).collect(),
        Some(Opcode::LLVMSelect) => vec![value.operand(1), value.operand(2)],
        Some(Opcode::LLVMLoad) if value.operand(0).is(Opcode::LLVMAlloca) => vec![value.operand(0)],
        Some(Opcode::LLVMAlloca) => {
            value.users().filter(|user| user.is(Opcode::LLVMStore)).map(|store| store.operand(0)).collect()
        }
        Some(
            Opcode::LLVMAdd
            | Opcode::LLVMSub
            | Opcode::LLVMMul
            | Opcode::LLVMAnd
            | Opcode::LLVMOr
            | Opcode::LLVMXor
            | Opcode::LLVMShl
            | Opcode::LLVMLShr
            | Opcode::LLVMAShr
            | Opcode::LLVMFreeze
            | Opcode::LLVMBitCast
            | Opcode::LLVMTrunc
            | Opcode::LLVMZExt
            | Opcode::LLVMSExt,
        ) => value.operands().collect(),
        _ => Vec::new(),
    }
}

/// Those of `reached` that are no numbers by birth.
fn not_numbers(reached: &HandleSet<Value>) -> HandleSet<Value> {
    let mut words: HandleSet<Value> = reached.iter().copied().filter(|&value| begins_a_word(value)).collect();
    loop {
        let before = words.len();
        let more: Vec<Value> = reached
            .iter()
            .copied()
            .filter(|value| !words.contains(value) && made_from(*value).iter().any(|source| words.contains(source)))
            .collect();
        words.extend(more);
        if words.len() == before {
            return words;
        }
    }
}

/// Whether the value may be a word: it comes from outside, or was made with bit operations.
fn begins_a_word(value: Value) -> bool {
    match value.opcode() {
        Some(Opcode::LLVMLoad) => !value.operand(0).is(Opcode::LLVMAlloca),
        Some(
            Opcode::LLVMPHI
            | Opcode::LLVMSelect
            | Opcode::LLVMAlloca
            | Opcode::LLVMAdd
            | Opcode::LLVMSub
            | Opcode::LLVMMul
            | Opcode::LLVMFreeze
            | Opcode::LLVMBitCast
            | Opcode::LLVMTrunc
            | Opcode::LLVMZExt
            | Opcode::LLVMSExt
            | Opcode::LLVMFAdd
            | Opcode::LLVMFSub
            | Opcode::LLVMFMul
            | Opcode::LLVMFDiv
            | Opcode::LLVMFNeg
            | Opcode::LLVMSIToFP
            | Opcode::LLVMUIToFP,
        ) => false,
        _ => true,
    }
}
