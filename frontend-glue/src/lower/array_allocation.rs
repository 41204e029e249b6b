//! Inline allocation of small arrays: objects with tail elements, whose number is only known when the program runs.
//!
//! ```text
//!   if n > MOST: slow
//!   cell = (size of the fixed part + n * stride + header) rounded up to 8
//!   deferred: end = cursor + cell;  if end > limit: slow;     cursor = end;  header = stamp | meta << 32
//!   prompt:   free = list of that cell;  if it is null: slow; list = *free;  meta(free) = meta
//!   payload = 0 …;  payload.length = n
//! slow:
//!   payload = tally_new_array_slow(handle, n)
//! ```
//!
//! Where inlining shows the length, as in `new_vector(4)`, LLVM folds the first test and the size, and clears the payload by a few
//! stores. Otherwise `memset` clears it, as it does in the runtime.
//!
//! Classes of the prompt plan have steps of one word up to cells of 128 bytes: so the place of the list follows from the size without
//! a table. Larger arrays, those that the runtime notes at birth, and all in zeal take the slow way.
//!
//! Cost of an array of four references under the prompt plan: 3 loads, 7 stores, 1 branch; by the runtime it was 130 instructions.

use super::allocation::{CELL_BYTES_MAX, CELL_BYTES_MIN, HEADER_BYTES, Setting, Ways, load_meta, replace_by_object};
use super::descriptor::Descriptor;
use super::free_list;
use super::runtime::context_field;
use super::{ContextAccess, Plan};
use crate::llvm::call::Call;
use crate::llvm::{Builder, Opcode, Value};
use tally_heap::context::{CURSOR, FREE_LISTS, LIMIT, STAMP};
use tally_heap::memory::size_class::class_of;

/// Largest cell for which the place of the list is computed.
const LISTED_CELL_BYTES_MAX: u64 = 128;
const _: () = assert!(class_of(CELL_BYTES_MIN) == 0 && class_of(LISTED_CELL_BYTES_MAX) == 14);

/// Lowers a call of `tally_new_array`, if such an array may be allocated inline; `roots` are the operands of its bundle.
pub(super) fn inline(
    builder: &Builder,
    plan: Plan,
    setting: Setting,
    (call, handle): (Call, Value),
    descriptor: &Descriptor,
    roots: &[Value],
) -> bool {
    let largest = match plan {
        Plan::Prompt => LISTED_CELL_BYTES_MAX,
        Plan::Deferred | Plan::Trace => CELL_BYTES_MAX,
    };
    let most = largest.saturating_sub(HEADER_BYTES + descriptor.size).checked_div(descriptor.stride).unwrap_or(0);
    let is_known = setting.inline && descriptor.is_born_unnoted(plan) && descriptor.align <= 8;
    if !is_known || most == 0 || descriptor.size < 8 || call.is_invoke() {
        return false;
    }
    let (place, length) = (call.value(), call.argument(1));
    let ways = Ways::part(builder, call);
    let sized = ways.add(builder);
    let is_small = builder.less_or_equal(length, builder.i64(most));
    builder.branch_usually(is_small, sized, ways.slow);

    builder.at_end(sized, Some(place));
    let cell = cell(builder, descriptor, length);
    let payload = match plan {
        Plan::Prompt => take(builder, setting.context, &ways, place, cell),
        Plan::Deferred | Plan::Trace => bump(builder, setting.context, &ways, place, cell),
    };
    builder.store(load_meta(builder, handle), builder.offset_back(payload, 4));
    let bytes = builder.binary(Opcode::LLVMSub, cell, builder.i64(HEADER_BYTES));
    builder.clear_bytes(payload, bytes, 8);
    builder.store(length, builder.offset(payload, descriptor.length_offset));
    let object = ways.join(builder, call, payload, ("tally_new_array_slow", &[handle, length]), roots);
    replace_by_object(call, object);
    true
}

/// Bytes of the cell.
fn cell(builder: &Builder, descriptor: &Descriptor, length: Value) -> Value {
    let tail = builder.binary(Opcode::LLVMMul, length, builder.i64(descriptor.stride));
    let cell = builder.binary(Opcode::LLVMAdd, tail, builder.i64(descriptor.size + HEADER_BYTES + 7));
    builder.binary(Opcode::LLVMAnd, cell, builder.i64(!7))
}

/// Takes the first cell of the list of its size.
fn take(builder: &Builder, context: ContextAccess, ways: &Ways, place: Value, cell: Value) -> Value {
    let distance = builder.binary(Opcode::LLVMSub, cell, builder.i64(CELL_BYTES_MIN));
    let lists = context_field(builder, context, FREE_LISTS);
    let list = builder.element_anywhere(lists, builder.module().integer(8), distance);
    free_list::take_first(builder, ways, place, list)
}

/// Moves the cursor on by a cell.
fn bump(builder: &Builder, context: ContextAccess, ways: &Ways, place: Value, cell: Value) -> Value {
    let module = builder.module();
    let (cursor_field, limit_field) = (context_field(builder, context, CURSOR), context_field(builder, context, LIMIT));
    let cursor = builder.load(module.pointer(), cursor_field);
    let limit = builder.load(module.pointer(), limit_field);
    let end = builder.element_anywhere(cursor, module.integer(8), cell);
    let fits = builder.less_or_equal(end, limit);
    builder.branch_usually(fits, ways.fast, ways.slow);
    builder.at_end(ways.fast, Some(place));
    builder.store(end, cursor_field);
    let stamp = builder.load(module.integer(32), context_field(builder, context, STAMP));
    builder.store(stamp, cursor);
    builder.offset(cursor, HEADER_BYTES)
}
