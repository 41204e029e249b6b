//! Allocation: `tally_new` of a type known here becomes a bump of the context's cursor.
//!
//! ```text
//!   end = cursor + CELL
//!   if end <= limit: cursor = end; header = stamp | meta << 32; reference words = null; payload = cell + 8
//!   else:            payload = tally_new_slow(handle)
//! ```
//!
//! A limit of zero sends every allocation to the slow path: the runtime requests a slice of an epoch this way. The
//! epoch runs *before* the cell is allocated, so it never meets an unfinished object (rule 5); the header and the
//! nulls are stored inline, and -O2 deletes the nulls that the program overwrites at once. The type id comes from the
//! module's type handle (`!invariant.load`: written once, at registration).
//!
//! Cost of two reference words: 3 loads, 4 stores, 1 branch, 10 instructions (benches/compiled.rs).
//!
//! A type with a finalizer is not allocated inline: the runtime keeps a list of such objects while they are young.
//!
//! Small arrays: `array_allocation`. A descriptor without a definition in this module is not known: its
//! allocations stay plain calls.

use super::array_allocation;
use super::descriptor::Descriptor;
use super::module_record::ModuleTables;
use super::runtime::{context_field, declare};
use super::{ContextAccess, Plan};
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Builder, Value};
use tally_heap::context::{CURSOR, LIMIT, STAMP};

/// Bytes of the header in front of a payload.
pub(super) const HEADER_BYTES: u64 = 8;
/// Smallest cell.
pub(super) const CELL_BYTES_MIN: u64 = 16;
/// Largest cell that is allocated inline.
pub(super) const CELL_BYTES_MAX: u64 = 8192;
/// The most reference words that are nulled one by one.
const SINGLE_NULLS_MAX: usize = 8;

/// The result of lowering an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocation {
    Inline,
    Called,
}

/// The inputs of an allocation's lowering beside the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) context: ContextAccess,
    /// Whether the fast path may be used; zeal wants every allocation to be a call.
    pub(super) inline: bool,
}

/// Lowers a call of `tally_new`; `roots` are the operands of its bundle.
pub(super) fn new_object(
    builder: &Builder,
    tables: &mut ModuleTables,
    setting: Setting,
    call: Call,
    roots: &[Value],
) -> Allocation {
    let Some(descriptor) = tables.descriptor(builder.module(), call.argument(0)) else {
        call.rebuild(builder, roots);
        return Allocation::Called;
    };
    if descriptor.has_tail() {
        call.rebuild(builder, roots);
        return Allocation::Called;
    }
    let handle = tables.type_handle(builder.module(), call.argument(0));
    let cell = cell_bytes(&descriptor);
    if setting.inline && descriptor.is_born_unnoted(Plan::Deferred) && descriptor.align <= 8 && cell <= CELL_BYTES_MAX {
        bump(builder, setting.context, call, handle, &descriptor, cell, roots);
        return Allocation::Inline;
    }
    call_instead(builder, call, "tally_new_slow", &[handle], roots)
}

/// Has a function of the runtime allocate.
pub(super) fn call_instead(
    builder: &Builder,
    call: Call,
    name: &str,
    arguments: &[Value],
    roots: &[Value],
) -> Allocation {
    let function = declare(builder.module(), name);
    let new = call.emit_instead(builder, function.value_type(), function, arguments, roots);
    call.replace_by(new);
    Allocation::Called
}

/// Bytes of the cell of an object without tail elements.
pub(super) fn cell_bytes(descriptor: &Descriptor) -> u64 {
    (HEADER_BYTES + descriptor.size.next_multiple_of(8)).max(CELL_BYTES_MIN)
}

/// Lowers a call of `tally_new_array`: inline, or with a descriptor of this module through its handle.
pub(super) fn new_array(
    builder: &Builder,
    tables: &mut ModuleTables,
    setting: Setting,
    call: Call,
    roots: &[Value],
) -> Allocation {
    let Some(descriptor) = tables.descriptor(builder.module(), call.argument(0)) else {
        call.rebuild(builder, roots);
        return Allocation::Called;
    };
    let handle = tables.type_handle(builder.module(), call.argument(0));
    if array_allocation::inline(builder, Plan::Deferred, setting, (call, handle), &descriptor, roots) {
        return Allocation::Inline;
    }
    call_instead(builder, call, "tally_new_array_slow", &[handle, call.argument(1)], roots)
}

fn bump(
    builder: &Builder,
    context: ContextAccess,
    call: Call,
    handle: Value,
    descriptor: &Descriptor,
    cell: u64,
    roots: &[Value],
) {
    let module = builder.module();
    let (pointer, i32_type) = (module.pointer(), module.integer(32));
    let place = call.value();
    let ways = Ways::part(builder, call);
    let cursor_field = context_field(builder, context, CURSOR);
    let limit_field = context_field(builder, context, LIMIT);
    let cursor = builder.load(pointer, cursor_field);
    let limit = builder.load(pointer, limit_field);
    let end = builder.offset_anywhere(cursor, cell);
    let fits = builder.less_or_equal(end, limit);
    builder.branch_usually(fits, ways.fast, ways.slow);

    builder.at_end(ways.fast, Some(place));
    builder.store(end, cursor_field);
    let stamp_field = context_field(builder, context, STAMP);
    let stamp = builder.load(i32_type, stamp_field);
    builder.store(stamp, cursor);
    builder.store(load_meta(builder, handle), builder.offset(cursor, 4));
    let payload = builder.offset(cursor, HEADER_BYTES);
    null_references(builder, descriptor, payload, None);
    let object = ways.join(builder, call, payload, ("tally_new_slow", &[handle]), roots);
    replace_by_object(call, object);
}

/// The two paths of an inline allocation, and the block where they meet.
pub(super) struct Ways {
    pub(super) fast: Block,
    pub(super) slow: Block,
    rest: Block,
}

impl Ways {
    /// Splits in front of the call; the builder is then where the path is chosen.
    pub(super) fn part(builder: &Builder, call: Call) -> Ways {
        let place = call.value();
        let head = split_before(builder, place);
        let rest = place.block();
        let ways =
            Ways { fast: rest.insert_before(builder.module()), slow: rest.insert_before(builder.module()), rest };
        builder.at_end(head, Some(place));
        ways
    }

    /// Makes another block in front of the fast path.
    pub(super) fn add(&self, builder: &Builder) -> Block {
        self.fast.insert_before(builder.module())
    }

    /// Ends the fast path at the builder's position, with `payload`, and makes the slow one, a call of the runtime. Returns the
    /// result of either.
    pub(super) fn join(
        self,
        builder: &Builder,
        call: Call,
        payload: Value,
        (name, arguments): (&str, &[Value]),
        roots: &[Value],
    ) -> Value {
        let place = call.value();
        builder.branch(self.rest);
        builder.at_end(self.slow, Some(place));
        let function = declare(builder.module(), name);
        let slow_payload = builder.call_with_roots(function.value_type(), function, arguments, roots);
        builder.branch(self.rest);
        builder.phi_before(place, builder.module().pointer(), &[(payload, self.fast), (slow_payload, self.slow)])
    }
}

/// The header's meta word of a type, from its handle.
pub(super) fn load_meta(builder: &Builder, handle: Value) -> Value {
    let field = builder.offset(handle, std::mem::offset_of!(tally_compiled::module::record::TypeHandle, meta) as u64);
    let meta = builder.load(builder.module().integer(32), field);
    builder.mark_invariant(meta);
    meta
}

/// Replaces the call by the allocated object, and removes it.
pub(super) fn replace_by_object(call: Call, object: Value) {
    let name = call.value().name();
    call.value().replace_all_uses(object);
    call.remove();
    object.set_name(&name);
}

/// Stores null into every reference word; `class` is the alias class of these stores.
pub(super) fn null_references(builder: &Builder, descriptor: &Descriptor, payload: Value, class: Option<&str>) {
    match &descriptor.references {
        Some(offsets) if offsets.len() <= SINGLE_NULLS_MAX => {
            for &offset in offsets {
                let store = builder.store(builder.i64(0), builder.offset(payload, u64::from(offset)));
                class.into_iter().for_each(|class| builder.tag(store, class));
            }
        }
        _ if descriptor.size > 0 => {
            builder.clear(payload, descriptor.size, 8);
        }
        _ => {}
    }
}
