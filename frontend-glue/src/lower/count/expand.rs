//! Operations become code: increments and decrements of the count byte, inline.
//!
//! ```text
//!   increment(v)   if v >> 40 == heap: byte(v) += 1;  if byte(v) & 0x7f == 0: tally_count_full(v)   rarely: 64 go to the header
//!   decrement(v)   if v >> 40 == heap: byte(v) −= 1;  if byte(v) <= 0x80: tally_count_low(v)        rarely: see there
//!   drop(v)        if v >> 40 == heap: byte(v) −= 1;  if byte(v) & 0x7f == 0: tally_count_low(v)    rarely: v is what a root held
//!   keep(v)        if v >> 40 == heap: if byte(v) < 0x80: tally_count_low(v)                        rarely: not settled
//!   settle(root)   of some references: `recount_root`, inline or called (`recount_calls`); else tally_root_settle(slot, shadow, handle, bytes)
//!   drain          if context.pending != 0: tally_drain(words)                                     rarely
//! ```
//!
//! The byte lies at `(v >> 4) + counts_bias` ([`Layout`]) (`tally_heap::plan::prompt::count`). Cost of an increment or decrement:
//! 1 load, 1 store, 2 branches; on x86-64 4 instructions to tell a reference into the heap (3 where LLVM keeps the
//! shift) and 7 to count. A drain check is 1 load and 1 branch, 2 instructions. A write costs 6 over null, 24 where
//! one object replaces another, 9 where its counts are postponed (`postponed`), and then some 40 when they are
//! applied. A mature object's first decrement by a write takes the call, which settles it; decrements by roots note
//! nothing. benches/compiled.rs counts these instructions and limits them. The calls preserve the registers of the
//! code around them.
//!
//! Bytes of counts and reference words are told apart by type-based alias tags, on the calls too: an increment in
//! between does not make LLVM forget the content of a field, so the first write to a field of a fresh object finds
//! null there at compile time.

use super::operation::Operation;
use super::out_parameters::OutParameters;
use super::postponed::Postponed;
use super::recount_calls::RecountCalls;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Builder, HandleSet, Opcode, Value};
use crate::lower::ContextAccess;
use crate::lower::count::address_taken;
use crate::lower::descriptor::{OneWord, PairReading, RootWord};
use crate::lower::module_record::ModuleTables;
use crate::lower::roots::Root;
use crate::lower::runtime::{PRESERVE_MOST, REFERENCES, context_field, declare, if_field_is_set};
use crate::lower::words_in_flight;
use std::collections::BTreeMap;
use tally_heap::context::{PENDING, POLL, POSTPONED_END, POSTPONED_TOP};
use tally_heap::memory::layout::Layout;
use tally_heap::plan::prompt::count::SETTLED;

/// Alias class of count bytes.
const COUNTS: &str = "tally count";
/// The count's part of its byte.
const LOW: u64 = 0x7f;

/// The inputs of the expansion of operations.
pub(super) struct Expansion<'a> {
    pub(super) builder: &'a Builder,
    /// The fixed addresses of the machine that the module is for.
    pub(super) layout: Layout,
    pub(super) context: ContextAccess,
    pub(super) roots: &'a [Root],
    /// Writes and operations whose decrements are postponed.
    pub(super) postponed: &'a Postponed,
    /// For each settled root the number of its shadow.
    pub(super) shadows: &'a [Option<usize>],
    /// How to read the roots that compiled code settles.
    pub(super) words: &'a [Option<Vec<RootWord>>],
    /// What is called to settle them, where inline code would be too much.
    pub(super) recounts: &'a BTreeMap<usize, RecountCalls>,
    /// Writes that keep what they replace.
    pub(super) kept: &'a HandleSet<Value>,
    /// Stores to roots that are counted like writes.
    pub(super) out_parameters: &'a OutParameters,
    /// How the module's types read tagged words.
    pub(super) words_of_fields: Option<OneWord>,
    /// How they read pairs.
    pub(super) pairs_of_fields: Option<PairReading>,
}

impl Expansion<'_> {
    /// Replaces one operation by its code; `named` are the operands of a drain's bundle.
    pub(super) fn operation(&self, operation: Operation, call: Call, named: &[Value], tables: &mut ModuleTables) {
        match operation {
            // It is postponed, too, along with its write.
            Operation::Increment if self.postponed.contains_key(&call.value()) => {}
            Operation::Own | Operation::Increment => self.increment(call.value(), call.argument(0)),
            Operation::Drop | Operation::Release if self.postponed.contains_key(&call.value()) => {
                let null = self.builder.module().pointer().null();
                self.postpone(call.value(), null, call.argument(0));
            }
            Operation::Drop | Operation::Release | Operation::ReleaseInResult => {
                self.drop(call.value(), call.argument(0));
            }
            Operation::Apply => self.apply(call.value()),
            Operation::Keep => self.keep(call.value(), call.argument(0)),
            Operation::Settle => self.settle(call, false, tables),
            Operation::Unsettle => self.settle(call, true, tables),
            Operation::Drain | Operation::Stop => self.drain(call, named),
            Operation::Due => self.due(call),
            Operation::Lend | Operation::Unlend => {
                address_taken::change(self.builder, self.context, call.value(), operation == Operation::Lend);
            }
            // Roots hold nothing any more, but their slots still have the old words.
            Operation::Finish => self.drain(call, &[]),
            Operation::Take
            | Operation::Give
            | Operation::Hold
            | Operation::Spend
            | Operation::Pass
            | Operation::Join
            | Operation::Result
            | Operation::Advance
            | Operation::Repay
            | Operation::Left => {}
        }
        call.remove();
    }

    /// A write: the value was counted before, and the object that it replaces loses a reference.
    pub(super) fn write(&self, call: Call) {
        let place = call.value();
        self.builder.before(place);
        let old = self.builder.load(self.builder.module().pointer(), call.argument(2));
        let store = self.builder.store(call.argument(0), call.argument(2));
        self.builder.tag(old, REFERENCES);
        self.builder.tag(store, REFERENCES);
        let null = self.builder.module().pointer().null();
        let is_kept = self.kept.contains(&place);
        match self.postponed.get(&place) {
            Some(false) if is_kept => {}
            Some(&counts) => {
                let new = if counts { call.argument(0) } else { null };
                self.postpone(place, new, if is_kept { null } else { old });
            }
            None if is_kept => {}
            None if self.out_parameters.is_counted_store(call) => self.drop(place, old),
            None => self.decrement(place, old),
        }
        call.remove();
    }

    /// Notes in front of `place` that `new` has one reference more, and `old` one less.
    fn postpone(&self, place: Value, new: Value, old: Value) {
        let (builder, module) = (self.builder, self.builder.module());
        let head = split_before(builder, place);
        let rest = place.block();
        let (room, full) = (rest.insert_before(module), rest.insert_before(module));
        builder.at_end(head, Some(place));
        let (top, end) = (self.counts_field(POSTPONED_TOP), self.counts_field(POSTPONED_END));
        builder.branch_rarely(builder.equal(top, end), full, room);
        builder.at_end(room, Some(place));
        let pair = builder.cast(Opcode::LLVMIntToPtr, top, module.pointer());
        builder.tag(builder.store(new, pair), COUNTS);
        builder.tag(builder.store(old, builder.offset(pair, 8)), COUNTS);
        let field = context_field(builder, self.context, POSTPONED_TOP);
        builder.tag(builder.store(builder.binary(Opcode::LLVMAdd, top, builder.i64(16)), field), COUNTS);
        builder.branch(rest);
        builder.at_end(full, Some(place));
        let words = [new, old].map(|value| builder.cast(Opcode::LLVMPtrToInt, value, module.integer(64)));
        self.call_saving("tally_postpone", &words);
        builder.branch(rest);
    }

    /// Applies postponed counts, if there are any.
    fn apply(&self, place: Value) {
        let builder = self.builder;
        builder.before(place);
        let function = declare(builder.module(), "tally_apply_postponed");
        builder.tag(builder.call(function.value_type(), function, &[]), COUNTS);
    }

    /// A field of the context that only counting changes.
    fn counts_field(&self, field: u32) -> Value {
        let builder = self.builder;
        let content = builder.load(builder.module().integer(64), context_field(builder, self.context, field));
        builder.tag(content, COUNTS);
        content
    }

    fn call_saving(&self, name: &str, arguments: &[Value]) {
        let builder = self.builder;
        let function = declare(builder.module(), name);
        let call = builder.call(function.value_type(), function, arguments);
        call.as_call().expect("a call").set_convention(PRESERVE_MOST);
        builder.tag(call, COUNTS);
    }

    /// Adds one to the count of the object that `value` refers to, in front of `place`.
    fn increment(&self, place: Value, value: Value) {
        let rest = self.if_in_heap(place, value);
        self.increment_object(place, value, rest);
    }

    /// The same where the value is known to be an object; ends the block, which goes on to `rest`.
    pub(super) fn increment_object(&self, place: Value, value: Value, rest: Block) {
        let builder = self.builder;
        let byte = self.change_byte(value, 1);
        let low = builder.binary(Opcode::LLVMAnd, byte, byte.type_of().constant(LOW));
        let full = builder.is_zero(low);
        self.rarely_call(place, full, "tally_count_full", value, rest);
    }

    /// Takes one from the count of an object that a root, or only this function, held. It need not be noted as a
    /// candidate here: a visit of roots does that.
    fn drop(&self, place: Value, value: Value) {
        let rest = self.if_in_heap(place, value);
        self.drop_object(place, value, rest);
    }

    /// The same where the value is known to be an object; ends the block, which goes on to `rest`.
    pub(super) fn drop_object(&self, place: Value, value: Value, rest: Block) {
        let builder = self.builder;
        let byte = self.change_byte(value, u64::MAX);
        let low = builder.binary(Opcode::LLVMAnd, byte, byte.type_of().constant(LOW));
        let none = builder.is_zero(low);
        self.rarely_call(place, none, "tally_count_low", value, rest);
    }

    /// The object loses the reference of a field without losing a count: it is noted as a candidate unless it is settled.
    fn keep(&self, place: Value, value: Value) {
        let builder = self.builder;
        let rest = self.if_in_heap(place, value);
        let byte = builder.load(builder.module().integer(8), self.byte_of(value));
        builder.tag(byte, COUNTS);
        let unsettled = builder.less_or_equal(byte, byte.type_of().constant(LOW));
        self.rarely_call(place, unsettled, "tally_count_low", value, rest);
    }

    /// Takes one from the count of the object that a word of an object or a global referred to, in front of `place`.
    fn decrement(&self, place: Value, value: Value) {
        let rest = self.if_in_heap(place, value);
        self.decrement_object(place, value, rest);
    }

    /// The same where the value is known to be an object; ends the block, which goes on to `rest`.
    pub(super) fn decrement_object(&self, place: Value, value: Value, rest: Block) {
        let builder = self.builder;
        let byte = self.change_byte(value, u64::MAX);
        let low = builder.less_or_equal(byte, byte.type_of().constant(u64::from(SETTLED)));
        self.rarely_call(place, low, "tally_count_low", value, rest);
    }

    /// Adds to the count byte; its new value.
    fn change_byte(&self, value: Value, change: u64) -> Value {
        let (builder, module) = (self.builder, self.builder.module());
        let byte_type = module.integer(8);
        let address = self.byte_of(value);
        let before = builder.load(byte_type, address);
        let after = builder.binary(Opcode::LLVMAdd, before, byte_type.constant(change));
        let store = builder.store(after, address);
        builder.tag(before, COUNTS);
        builder.tag(store, COUNTS);
        after
    }

    /// Address of the object's count byte.
    fn byte_of(&self, value: Value) -> Value {
        let (builder, module) = (self.builder, self.builder.module());
        let word = builder.cast(Opcode::LLVMPtrToInt, value, module.integer(64));
        let granule = builder.binary(Opcode::LLVMLShr, word, builder.i64(4));
        let address = builder.binary(Opcode::LLVMAdd, granule, builder.i64(self.layout.counts_bias()));
        builder.cast(Opcode::LLVMIntToPtr, address, module.pointer())
    }

    /// Ends the block: a call if `condition` holds, and on to `rest`.
    fn rarely_call(&self, place: Value, condition: Value, name: &str, value: Value, rest: Block) {
        let builder = self.builder;
        let cold = rest.insert_before(builder.module());
        builder.branch_rarely(condition, cold, rest);
        builder.at_end(cold, Some(place));
        self.call_saving(name, &[value]);
        builder.branch(rest);
    }

    /// Splits in front of `place`: a block for references into the heap, where the builder then is, and the rest,
    /// which is returned.
    fn if_in_heap(&self, place: Value, value: Value) -> Block {
        let builder = self.builder;
        let module = builder.module();
        let head = split_before(builder, place);
        let rest = place.block();
        let inside = rest.insert_before(module);
        builder.at_end(head, Some(place));
        if value.as_call().is_some_and(|call| call.callee().name().starts_with("tally_new")) {
            builder.branch(inside);
        } else {
            let word = builder.cast(Opcode::LLVMPtrToInt, value, module.integer(64));
            let region = builder.binary(Opcode::LLVMLShr, word, builder.i64(u64::from(self.layout.span_shift())));
            let is_heap = builder.equal(region, builder.i64(self.layout.heap_region()));
            builder.branch_if(is_heap, inside, rest);
        }
        builder.at_end(inside, Some(place));
        rest
    }

    fn drain(&self, call: Call, named: &[Value]) {
        let builder = self.builder;
        let module = builder.module();
        let place = call.value();
        let words = call.arguments();
        let (stop, rest) = if_field_is_set(builder, self.context, place, PENDING, module.integer(64));
        builder.at_end(stop, Some(place));
        let words: Vec<Value> = words.into_iter().flat_map(|word| words_in_flight::parts(builder, word)).collect();
        let buffer = self.buffer(place, &words);
        builder.at_end(stop, Some(place));
        words_in_flight::lay_down(builder, &words, buffer);
        let count = builder.i64(words_in_flight::bytes(module, &words) / 8);
        let function = declare(module, "tally_drain");
        builder.call_with_roots(function.value_type(), function, &[buffer, count], named);
        builder.branch(rest);
    }

    /// Whether a stop is due: something is pending, or, of a poll, an epoch is due.
    fn due(&self, call: Call) {
        let (builder, module) = (self.builder, self.builder.module());
        builder.before(call.value());
        let is_set = |field: u32, bits: u32| {
            let of = module.integer(bits);
            let content = builder.load(of, context_field(builder, self.context, field));
            builder.binary(Opcode::LLVMXor, builder.is_zero(content), module.integer(1).constant(1))
        };
        let mut due = is_set(PENDING, 64);
        if call.argument(0).constant_integer() == Some(1) {
            due = builder.binary(Opcode::LLVMOr, due, is_set(POLL, 32));
        }
        call.value().replace_all_uses(due);
    }

    /// Memory for the words in flight, in the frame.
    fn buffer(&self, place: Value, words: &[Value]) -> Value {
        let (builder, module) = (self.builder, self.builder.module());
        let bytes = words_in_flight::bytes(module, words);
        if bytes == 0 {
            return module.pointer().null();
        }
        builder.alloca_at_entry(place.function(), module.integer(64).array(bytes / 8), "tally.words")
    }
}
