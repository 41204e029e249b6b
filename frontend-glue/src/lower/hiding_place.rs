//! Local variables in which a reference may be hidden: structs, arrays, unions, and variables whose address is taken.
//!
//! `exposure.rs` follows single pointers and words through variables that are only loaded and stored whole. Of any
//! other variable it must know whether a reference may be read from it again. A type with a pointer in it shows that.
//! A type without one does not exclude it: a union of a number and a pointer is an integer in IR, and tagged words
//! are integers by nature. Then the reads decide: one that yields a pointer or a possible tagged word, or one that
//! cannot be followed (the address is passed on) from a variable with room for one.

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::{HandleSet, Opcode, Type, TypeKind, Value};

/// Whether a reference may be taken out of the variable; `words` are the integers that may be tagged words.
pub(super) fn may_hide_references(callees: &Callees, words: &HandleSet<Value>, alloca: Value) -> bool {
    let of = alloca.allocated_type();
    if holds_pointers(of) {
        return true;
    }
    let has_room = holds_wide_integers(of);
    let mut seen = HandleSet::default();
    let mut pending = vec![alloca];
    while let Some(address) = pending.pop() {
        for user in address.users() {
            let hides = match user.opcode() {
                Some(Opcode::LLVMLoad) => yields_reference(words, user),
                Some(Opcode::LLVMStore) if user.operand(0) != address => false,
                Some(Opcode::LLVMICmp) => false,
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => {
                    if seen.insert(user) {
                        pending.push(user);
                    }
                    false
                }
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => has_room && is_read_by(callees, user, address),
                _ => has_room,
            };
            if hides {
                return true;
            }
        }
    }
    false
}

fn yields_reference(words: &HandleSet<Value>, load: Value) -> bool {
    let of = load.type_of();
    match of.kind() {
        TypeKind::LLVMIntegerTypeKind | TypeKind::LLVMDoubleTypeKind => words.contains(&load),
        _ => holds_pointers(of) || holds_wide_integers(of),
    }
}

/// Whether a call that gets the address may read there.
fn is_read_by(callees: &Callees, user: Value, address: Value) -> bool {
    let call = user.as_call().expect("a call or invoke");
    match callees.of_call(call) {
        Callee::LifetimeStart | Callee::LifetimeEnd | Callee::Fill => false,
        Callee::Copy => call.argument(1) == address,
        _ => true,
    }
}

/// Whether a type has a pointer in it.
pub(super) fn holds_pointers(of: Type) -> bool {
    of.is_pointer() || of.members().into_iter().any(|(member, _)| holds_pointers(member))
}

/// Whether a type has an integer in it that is as wide as a tagged word.
pub(super) fn holds_wide_integers(of: Type) -> bool {
    of.integer_bits() >= Some(64) || of.members().into_iter().any(|(member, _)| holds_wide_integers(member))
}
