//! Inline allocation under the prompt plan: a cell is taken from the free list of its size.
//!
//! ```text
//!   cell = context.free[class]
//!   if cell: context.free[class] = *cell; meta(cell) = meta
//!   else:    cell = tally_new_slow(handle)
//!   reference words = null
//! ```
//!
//! The list runs through the first payload words of free cells; the rest of a free cell's header is 0 and its count
//! byte is one already, as a fresh object needs it: the creator holds that count. The null stores follow both paths:
//! LLVM then knows the content of the fields on either path, and the first write to each need not read the old word.
//!
//! Cost of two reference words: 2 loads, 3 stores, 1 branch, 7 instructions. Memory that was never used costs 17 more
//! for each object, by which the slow path threads the list through it (benches/compiled.rs).

use super::allocation::{
    Allocation, CELL_BYTES_MAX, Setting, Ways, call_instead, cell_bytes, load_meta, null_references, replace_by_object,
};
use super::array_allocation;
use super::descriptor::Descriptor;
use super::module_record::ModuleTables;
use super::runtime::{REFERENCES, context_field};
use super::{ContextAccess, Plan};
use crate::analysis::callee::Callee;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Value};
use tally_heap::context::FREE_LISTS;
use tally_heap::memory::size_class::class_of;

/// Lowers an allocation; `roots` are the operands of its bundle.
pub(super) fn allocate(
    builder: &Builder,
    tables: &mut ModuleTables,
    setting: Setting,
    (call, kind): (Call, Callee),
    roots: &[Value],
) -> Allocation {
    let descriptor = tables.descriptor(builder.module(), call.argument(0));
    let (name, arguments) = match (kind, &descriptor) {
        (Callee::NewArray, Some(descriptor)) => {
            let handle = tables.type_handle(builder.module(), call.argument(0));
            if array_allocation::inline(builder, Plan::Prompt, setting, (call, handle), descriptor, roots) {
                return Allocation::Inline;
            }
            ("tally_new_array_slow", vec![handle, call.argument(1)])
        }
        (Callee::NewArray, None) => ("tally_new_array_owned", call.arguments()),
        (_, Some(descriptor)) if !descriptor.has_tail() => {
            let handle = tables.type_handle(builder.module(), call.argument(0));
            let cell = cell_bytes(descriptor);
            if setting.inline
                && descriptor.is_born_unnoted(Plan::Prompt)
                && descriptor.align <= 8
                && cell <= CELL_BYTES_MAX
            {
                take(builder, setting.context, call, handle, descriptor, cell, roots);
                return Allocation::Inline;
            }
            ("tally_new_slow", vec![handle])
        }
        _ => ("tally_new_owned", call.arguments()),
    };
    call_instead(builder, call, name, &arguments, roots)
}

fn take(
    builder: &Builder,
    context: ContextAccess,
    call: Call,
    handle: Value,
    descriptor: &Descriptor,
    cell: u64,
    roots: &[Value],
) {
    let place = call.value();
    let ways = Ways::part(builder, call);
    let list = context_field(builder, context, FREE_LISTS + 8 * class_of(cell));
    let first = take_first(builder, &ways, place, list);
    builder.store(load_meta(builder, handle), builder.offset_back(first, 4));
    let object = ways.join(builder, call, first, ("tally_new_slow", &[handle]), roots);
    builder.before(place);
    null_references(builder, descriptor, object, Some(REFERENCES));
    replace_by_object(call, object);
}

/// Takes the first cell of a list; goes the slow way if there is none.
pub(super) fn take_first(builder: &Builder, ways: &Ways, place: Value, list: Value) -> Value {
    let pointer = builder.module().pointer();
    let first = builder.load(pointer, list);
    let none = builder.is_zero(first);
    builder.branch_rarely(none, ways.slow, ways.fast);
    builder.at_end(ways.fast, Some(place));
    let next = builder.load(pointer, first);
    builder.store(next, list);
    first
}
