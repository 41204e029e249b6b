//! Writes and reads of references: `llvm.gcwrite`, `llvm.gcread`, `tally_gcwrite_i64`, `tally_write_pair` become inline code.
//!
//! The first write of an epoch to a mature object logs the object before it changes [LOG]; compiled code only needs
//! the slot's *unlogged* bit, in a table 1/128 of the heap's size that stays in the cache:
//!
//! ```text
//!   word = ((u32 *)UNLOGGED_BIAS)[slot >> 9]
//!   if word >> ((slot >> 4) & 31) & 1: tally_log_slow(object, slot)        rarely
//!   *slot = value
//! ```
//!
//! Cost when nothing is to be logged: 1 load, 1 bit test, 1 branch; 8 instructions with the store
//! (benches/compiled.rs). The slow path is called with `preserve_mostcc`, so it costs the fast path no registers; it
//! is a leaf. A fresh object needs no test, nor does one that a write just before logged. A slot in a global variable
//! is a root that every epoch scans: it needs none either, but the module record must name it.

use super::global_slots::global_behind;
use super::runtime::{PRESERVE_MOST, declare};
use crate::analysis::callee::{Callee, Callees};
use crate::emit::target::Target;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Builder, Opcode, Value};

/// Puts the barrier in front of `call_value`, which writes to `slot`. It serves both words of a pair: they are of one object, or of one
/// chunk of a large one.
pub(super) fn log_first(builder: &Builder, call_value: Value, object: Value, slot: Value) {
    let pointer_bits = builder.module().integer(64);

    let head = split_before(builder, call_value);
    let store_block = call_value.block();
    let slow = store_block.insert_before(builder.module());

    builder.at_end(head, Some(call_value));
    let address = builder.cast(Opcode::LLVMPtrToInt, slot, pointer_bits);
    let row = builder.binary(Opcode::LLVMLShr, address, builder.i64(9));
    let table = builder.cast(
        Opcode::LLVMIntToPtr,
        builder.i64(Target::of(builder.module()).layout().unlogged_bias()),
        builder.module().pointer(),
    );
    let integer = builder.module().integer(32);
    // An element of a table is scaled by the load itself; a row that is shifted back would be masked first.
    let word = builder.load(integer, builder.element_anywhere(table, integer, row));
    let granule = builder.binary(Opcode::LLVMLShr, address, builder.i64(4));
    let granule = builder.cast(Opcode::LLVMTrunc, granule, builder.module().integer(32));
    let granule = builder.binary(Opcode::LLVMAnd, granule, builder.i32(31));
    let word = builder.binary(Opcode::LLVMLShr, word, granule);
    let bit = builder.binary(Opcode::LLVMAnd, word, builder.i32(1));
    let logged = builder.is_zero(bit);
    builder.branch_usually(logged, store_block, slow);

    builder.at_end(slow, Some(call_value));
    let log = declare(builder.module(), "tally_log_slow");
    let log_call = builder.call(log.value_type(), log, &[object, slot]);
    log_call.as_call().expect("a call").set_convention(PRESERVE_MOST);
    builder.branch(store_block);
}

/// Whether a write of a pair is left to the runtime: the object is seen to be a global, or the call may unwind for LLVM.
pub(super) fn stays_a_call(pair: Call) -> bool {
    pair.is_invoke() || global_behind(pair.argument(0)).is_some()
}

/// Turns a write into a store, or two for a pair: the barrier stands in front, or none is needed.
pub(super) fn write_plainly(builder: &Builder, callees: &Callees, call: Call) {
    builder.before(call.value());
    if callees.of_call(call) == Callee::WritePair {
        builder.store(call.argument(2), call.argument(1));
        builder.store(call.argument(3), builder.offset(call.argument(1), 8));
    } else {
        builder.store(call.argument(0), call.argument(2));
    }
    call.remove();
}

/// Turns a read (object, slot) into a load.
pub(super) fn read(builder: &Builder, call: Call) -> Value {
    builder.before(call.value());
    let load = builder.load(call.value().type_of(), call.argument(1));
    let name = call.value().name();
    call.value().replace_all_uses(load);
    call.remove();
    load.set_name(&name);
    load
}
