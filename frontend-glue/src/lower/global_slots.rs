//! The words of a global variable that a write may go to: they are roots, and the module registers them when it is
//! loaded.
//!
//! A constant slot is one word. A computed one (`table[i].node`) may be any of several. The constant parts of its
//! address give the first, the sizes of the indexed elements give the distances, and the variable's type tells which
//! of these words are pointers. All of them are registered, so that no write needs to record its slot.
//!
//! `verify::source` refuses a program that writes to another place of a global. The lowering checks again: mem2reg
//! may have found the global behind a local variable, and code that never runs may contain any write. Such a write is
//! lowered as one to an object.

use crate::llvm::call::Call;
use crate::llvm::offset::greatest_common_divisor;
use crate::llvm::{Module, Opcode, Type, Value};
use crate::lower::inferred::references::is_typed;
use crate::verify::source::writes;

/// The most words of one variable that a computed slot may mean.
pub(crate) const WORDS_MAX: usize = 1 << 16;

/// The global that an address lies in, at a constant or a computed offset.
pub(crate) fn global_behind(address: Value) -> Option<Value> {
    base_global(address.base())
}

/// The global that a constant address lies in.
pub(crate) fn base_global(mut address: Value) -> Option<Value> {
    while address.constant_opcode().is_some() {
        address = address.operand(0);
    }
    address.is_global_variable().then_some(address)
}

/// Whether a write goes to roots in a global.
pub(super) fn is_written_by(write: Call) -> bool {
    let module = write.value().function().module();
    global_behind(write.argument(1))
        .is_some_and(|global| writes::of_global(module, "gcwrite", global, write.argument(2)).is_none())
}

/// The slots in `global` that the address `slot`, which lies in it, may mean, by their offsets; at most one too many.
pub(crate) fn words(module: Module, global: Value, slot: Value) -> Vec<u64> {
    let (offset, step) = offset_and_step(module, slot);
    if step == 0 {
        return u64::try_from(offset).into_iter().collect();
    }
    let mut found = Vec::new();
    let is_meant = |word: u64| (i128::from(word) - i128::from(offset)).rem_euclid(i128::from(step)) == 0;
    pointers(module, global.value_type(), 0, &mut |word| {
        if is_meant(word) {
            found.push(word);
        }
        found.len() <= WORDS_MAX
    });
    found
}

/// The distance of a slot from its global: this offset, plus a multiple of the step.
fn offset_and_step(module: Module, mut slot: Value) -> (i64, u64) {
    let (mut offset, mut step) = (0_i64, 0);
    while slot.base() != slot {
        if slot.is(Opcode::LLVMGetElementPtr) {
            let (here, more) = slot.offset_and_step(module).unwrap_or((0, 1));
            offset = offset.wrapping_add(here);
            step = greatest_common_divisor(step, more);
        }
        slot = slot.operand(0);
    }
    match slot.constant_offset(module) {
        Some(more) => (offset.wrapping_add(more), step),
        None => (offset, 1),
    }
}

/// Calls `found` with the offset of each aligned pointer in a type, until it returns false.
fn pointers(module: Module, of: Type, at: u64, found: &mut dyn FnMut(u64) -> bool) -> bool {
    if of.is_plain_pointer() || is_typed(of) {
        return !at.is_multiple_of(8) || found(at);
    }
    let mut member_at = 0;
    for (number, (member, count)) in of.members().into_iter().enumerate() {
        if of.is_structure() {
            member_at = module.member_offset(of, number as u32);
        }
        // An array whose elements hold no pointers is skipped.
        if !super::hiding_place::holds_pointers(member) {
            continue;
        }
        let each = module.size_of(member);
        if !(0..count).all(|index| pointers(module, member, at + member_at + index * each, found)) {
            return false;
        }
    }
    true
}
