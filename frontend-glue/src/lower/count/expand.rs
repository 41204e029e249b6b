//! Operations become code: increments and decrements of the count in the header, inline.
//!
//! ```text
//!   increment(v)   if v >> 40 == heap: count(v) = uadd.sat(count(v), 1)
//!   decrement(v)   if v >> 40 == heap: header = header(v) − 1; count(v) = header as i32
//!                      if header as i32 <= 0: tally_count_zero(v)     rarely: nothing refers to it, or the count is stuck
//!                      elif header >= 0:      tally_candidate(v)      rarely: may root a garbage cycle
//!   drain          if context.pending != 0: tally_drain(words)        rarely
//! ```
//!
//! The header is one little-endian word: the count in the lower half, type and flags in the upper; its sign is the flag
//! `SETTLED`, "a decrement has nothing more to note". Cost of an increment: 1 shift, 1 compare, 1 branch, 1 load, 2 adds, 1
//! store; of a decrement two branches more. The three calls preserve the registers of the code around them.

use super::operation::Operation;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Builder, Opcode, Value};
use crate::lower::ContextAccess;
use crate::lower::roots::Root;
use crate::lower::runtime::{context_field, declare};
use rc_runtime::context::PENDING;
use rc_runtime::object::HEADER_BYTES;
use rc_runtime::range::{HEAP_BASE, HEAP_SPAN};

/// Shifted right by this, every address of the heap range is the same number.
const SPAN_SHIFT: u32 = HEAP_SPAN.trailing_zeros();
const _: () = assert!(HEAP_SPAN.is_power_of_two() && HEAP_BASE.is_multiple_of(HEAP_SPAN));

/// What operations are expanded with.
pub(super) struct Expansion<'a> {
    pub(super) builder: &'a Builder,
    pub(super) context: ContextAccess,
    pub(super) roots: &'a [Root],
    /// For each settled root the number of its shadow.
    pub(super) shadows: &'a [Option<usize>],
}

impl Expansion<'_> {
    /// Replaces one operation by its code; `named` are the operands of a drain's bundle.
    pub(super) fn operation(&self, operation: Operation, call: Call, named: &[Value]) {
        match operation {
            Operation::Own | Operation::Increment => self.increment(call.value(), call.argument(0)),
            Operation::Drop | Operation::Release => self.decrement(call.value(), call.argument(0)),
            Operation::Settle => self.settle(call, false),
            Operation::Unsettle => self.settle(call, true),
            Operation::Drain => self.drain(call, named),
            // Roots hold nothing any more, but their slots still say what they held.
            Operation::Finish => self.drain(call, &[]),
            Operation::Take | Operation::Give | Operation::Spend | Operation::Pass | Operation::Join | Operation::Result => {}
        }
        call.remove();
    }

    /// A write: the value was counted before, what it replaces loses a reference.
    pub(super) fn write(&self, call: Call) {
        let place = call.value();
        self.builder.before(place);
        let old = self.builder.load(self.builder.module().pointer(), call.argument(2));
        self.builder.store(call.argument(0), call.argument(2));
        self.decrement(place, old);
        call.remove();
    }

    /// Adds one to the count of what `value` refers to, in front of `place`.
    fn increment(&self, place: Value, value: Value) {
        let builder = self.builder;
        let (bump, rest) = self.if_in_heap(place, value);
        let i32_type = builder.module().integer(32);
        let address = builder.offset_back(value, HEADER_BYTES);
        let count = builder.load(i32_type, address);
        let saturating = builder.module().intrinsic("llvm.uadd.sat", &[i32_type]);
        let more = builder.call(saturating.value_type(), saturating, &[count, builder.i32(1)]);
        builder.store(more, address);
        builder.branch(rest);
        debug_assert_eq!(bump.terminator().map(|end| end.is(Opcode::LLVMBr)), Some(true));
    }

    /// Takes one from the count of what `value` refers to, in front of `place`.
    fn decrement(&self, place: Value, value: Value) {
        let builder = self.builder;
        let module = builder.module();
        let (_, rest) = self.if_in_heap(place, value);
        let (zero, counted, candidate) =
            (rest.insert_before(module), rest.insert_before(module), rest.insert_before(module));
        let address = builder.offset_back(value, HEADER_BYTES);
        let header = builder.load(module.integer(64), address);
        let less = builder.binary(Opcode::LLVMAdd, header, builder.i64(u64::MAX));
        let count = builder.cast(Opcode::LLVMTrunc, less, module.integer(32));
        builder.store(count, address);
        let some_left = builder.is_positive(count);
        builder.branch_usually(some_left, counted, zero);

        builder.at_end(counted, Some(place));
        let settled = builder.is_negative(less);
        builder.branch_usually(settled, rest, candidate);

        for (block, name) in [(zero, "tally_count_zero"), (candidate, "tally_candidate")] {
            builder.at_end(block, Some(place));
            let function = declare(module, name);
            let call = builder.call(function.value_type(), function, &[value]);
            call.as_call().expect("a call").set_convention(crate::lower::runtime::PRESERVE_MOST);
            builder.branch(rest);
        }
    }

    /// Splits in front of `place`: a block for references into the heap, where the builder then stands, and the rest.
    fn if_in_heap(&self, place: Value, value: Value) -> (Block, Block) {
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
            let region = builder.binary(Opcode::LLVMLShr, word, builder.i64(u64::from(SPAN_SHIFT)));
            let is_heap = builder.equal(region, builder.i64(HEAP_BASE >> SPAN_SHIFT));
            builder.branch_if(is_heap, inside, rest);
        }
        builder.at_end(inside, Some(place));
        (inside, rest)
    }

    fn settle(&self, call: Call, leave: bool) {
        let builder = self.builder;
        builder.before(call.value());
        let pointer = builder.module().pointer();
        let number = call.argument(0).constant_integer().expect("a root's number") as usize;
        let root = &self.roots[number];
        let shadow = &self.roots[self.shadows[number].expect("a settled root has a shadow")];
        let slot = if leave { pointer.null() } else { root.slot };
        let how = root.how.unwrap_or(pointer.null());
        let function = declare(builder.module(), "tally_root_settle");
        builder.call(function.value_type(), function, &[slot, shadow.slot, how, builder.i64(root.bytes)]);
    }

    fn drain(&self, call: Call, named: &[Value]) {
        let builder = self.builder;
        let module = builder.module();
        let place = call.value();
        let words = call.arguments();
        let head = split_before(builder, place);
        let rest = place.block();
        let stop = rest.insert_before(module);
        builder.at_end(head, Some(place));
        let field = context_field(builder, self.context, PENDING);
        let pending = builder.load(module.integer(64), field);
        let nothing = builder.is_zero(pending);
        builder.branch_usually(nothing, rest, stop);

        let buffer = self.buffer(place, &words);
        builder.at_end(stop, Some(place));
        let mut offset = 0;
        for &word in &words {
            builder.store(word, builder.offset(buffer, offset));
            offset += module.store_size_of(word.type_of()).next_multiple_of(8);
        }
        let function = declare(module, "tally_drain");
        builder.call_with_roots(function.value_type(), function, &[buffer, builder.i64(offset / 8)], named);
        builder.branch(rest);
    }

    /// Memory for the words in flight, in the frame.
    fn buffer(&self, place: Value, words: &[Value]) -> Value {
        let (builder, module) = (self.builder, self.builder.module());
        let bytes: u64 = words.iter().map(|word| module.store_size_of(word.type_of()).next_multiple_of(8)).sum();
        if bytes == 0 {
            return module.pointer().null();
        }
        let entry = place.function().entry().instructions().next().expect("a block ends in a terminator");
        builder.before_unlocated(entry);
        builder.alloca(module.integer(64).array(bytes / 8), "tally.words")
    }
}
