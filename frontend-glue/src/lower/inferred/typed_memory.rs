//! Typed references that are written several at once: by a store of a struct or an array, by `memcpy`, `memmove` and `memset`.
//!
//! ```text
//!   store { ptr addrspace(1), i64 } %pair, ptr addrspace(1) %object      a store of each member
//!   *one = *other;                                                       tally_copy_refs(one, one, other, words)
//!   global = pair;                                                       a store of each reference, a copy of the rest
//! ```
//!
//! A single store becomes a write through the barrier afterwards (`typed_pointers.rs`). Memory that is neither an object's nor a
//! global's is left alone: it holds variables, which are roots. Bytes at a place that is not seen to be a word, or of a length
//! that is not seen to be in words, are left alone, too: by the contract no reference is among them.

use super::bases::Bases;
use super::references::{holds_typed, is_typed, typed_offsets};
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Module, Opcode, Value};
use crate::lower::global_slots::global_behind;
use crate::lower::runtime::declare;
use std::collections::HashSet;
use std::ops::Range;

/// The mark of a call that writes words of which some may be no references.
pub(in crate::lower) const SOME_WORDS: &str = "tally.some.words";

/// Bytes of a reference.
const WORD: u64 = 8;

/// Lets each typed reference that goes to an object or a global with others be stored by itself.
pub(super) fn separate(builder: &Builder, callees: &Callees, name: &str, function: Value) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for instruction in function.instructions() {
        if instruction.is(Opcode::LLVMStore) {
            separate_store(builder, instruction);
        } else if let Some(call) = instruction.as_call()
            && let callee @ (Callee::Copy | Callee::Fill) = callees.of_call(call)
            && let Some(global) = global_behind(call.argument(0))
            && holds_typed(global.value_type())
        {
            findings.extend(separate_call(builder, name, (call, callee), global));
        }
    }
    findings
}

fn separate_store(builder: &Builder, store: Value) {
    let (value, address) = (store.operand(0), store.operand(1));
    let is_seen = is_typed(address.type_of()) || global_behind(address).is_some();
    if value.type_of().has_members() && holds_typed(value.type_of()) && is_seen {
        builder.before(store);
        store_members(builder, value, address);
        store.erase();
    }
}

fn store_members(builder: &Builder, value: Value, address: Value) {
    let (module, of) = (builder.module(), value.type_of());
    if !holds_typed(of) || is_typed(of) {
        builder.store(value, address);
        return;
    }
    let members = of.members().into_iter().flat_map(|(member, count)| (0..count).map(move |_| member));
    for (number, member) in members.enumerate() {
        let begin = match of.is_structure() {
            true => module.member_offset(of, number as u32),
            false => number as u64 * module.size_of(member),
        };
        store_members(builder, builder.extract(value, number as u32), builder.offset(address, begin));
    }
}

/// The references among the bytes of a global that a call writes are stored by themselves, and the bytes between them by calls.
fn separate_call(builder: &Builder, name: &str, (call, callee): (Call, Callee), global: Value) -> Option<Diagnostic> {
    let module = builder.module();
    let offsets = typed_offsets(module, global.value_type());
    let refusal = |bytes: &str| {
        let message = format!("a copy or fill of {bytes} over references of the global @{}", global.name());
        Diagnostic::at(name, call.value(), message)
            .help("store its members one by one: the barrier must see each reference")
    };
    let Some(bytes) = constant_range(module, call) else {
        return Some(refusal("bytes that are not of a constant number and place"));
    };
    let written: Vec<u64> =
        offsets.into_iter().filter(|&offset| offset < bytes.end && offset + WORD > bytes.start).collect();
    let (first, last) = (*written.first()?, *written.last()?);
    let is_moved = call.callee().name().starts_with("llvm.memmove.");
    let is_zero = call.argument(1).constant_integer() == Some(0);
    if first < bytes.start || last + WORD > bytes.end || is_moved || callee == Callee::Fill && !is_zero {
        return Some(refusal("bytes that are no whole references, or may overlap"));
    }
    let (to, from) = (call.argument(0), call.argument(1));
    builder.before(call.value());
    let between = |gap: Range<u64>| {
        let (at, length) = (gap.start - bytes.start, gap.end.saturating_sub(gap.start));
        match callee {
            _ if length == 0 => {}
            Callee::Fill => _ = builder.clear(builder.offset(to, at), length, 1),
            _ => builder.copy((builder.offset(to, at), 1), (builder.offset(from, at), 1), length),
        }
    };
    let reference = module.pointer_in(1);
    let mut begin = bytes.start;
    for offset in written {
        between(begin..offset);
        let at = offset - bytes.start;
        let value = match callee {
            Callee::Fill => reference.null(),
            _ => builder.load(reference, builder.offset(from, at)),
        };
        builder.store(value, builder.offset(to, at));
        begin = offset + WORD;
    }
    between(begin..bytes.end);
    call.value().erase();
    None
}

/// The bytes of a global that a fill or a copy writes, if both ends are constant.
fn constant_range(module: Module, call: Call) -> Option<Range<u64>> {
    let start = u64::try_from(offset_from_base(module, call.argument(0))?).ok()?;
    Some(start..start.checked_add(call.argument(2).constant_integer()?)?)
}

/// Copies and fills of words of objects become the runtime's.
pub(super) fn copy_through_barrier(builder: &Builder, callees: &Callees, bases: &Bases, flow: &Flow) {
    let calls = flow.blocks[..flow.reachable].iter().flat_map(|block| block.instructions());
    let calls: Vec<Call> = calls.filter_map(Value::as_call).filter(|call| is_typed_access(callees, *call)).collect();
    for call in calls {
        let Some(object) = bases.of(call.argument(0)).map(|number| bases.all[number]) else { continue };
        builder.before(call.value());
        if is_at_word(builder.module(), call)
            && let Some(words) = words(builder, call.argument(2))
        {
            write_words(builder, callees, call, object, words);
        }
    }
}

fn is_typed_access(callees: &Callees, call: Call) -> bool {
    let is_access = match callees.of_call(call) {
        Callee::Copy => true,
        Callee::Fill => call.argument(1).constant_integer() == Some(0),
        _ => false,
    };
    is_access && is_typed(call.argument(0).type_of())
}

fn is_at_word(module: Module, call: Call) -> bool {
    call.alignment_of_argument(0).is_multiple_of(WORD) || is_word_of_an_object(module, call.argument(0))
}

/// Whether an address is seen to be that of a word: on each way to it a constant number of words lies between it and its object.
fn is_word_of_an_object(module: Module, address: Value) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![(address, 0)]);
    while let Some((address, behind)) = pending.pop() {
        if !seen.insert((address, behind)) {
            continue;
        }
        match address.opcode() {
            Some(Opcode::LLVMGetElementPtr) => match address.own_offset(module) {
                Some(offset) => {
                    pending.push((address.operand(0), (behind + offset.rem_euclid(WORD as i64)) % WORD as i64))
                }
                None => return false,
            },
            Some(Opcode::LLVMFreeze | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => {
                pending.push((address.operand(0), behind));
            }
            Some(Opcode::LLVMSelect) => pending.extend([1, 2].map(|choice| (address.operand(choice), behind))),
            Some(Opcode::LLVMPHI) => pending.extend(address.incoming().into_iter().map(|(from, _)| (from, behind))),
            _ if behind != 0 => return false,
            _ => {}
        }
    }
    true
}

fn offset_from_base(module: Module, address: Value) -> Option<i64> {
    match address.is(Opcode::LLVMGetElementPtr) {
        true => address.own_offset(module)?.checked_add(offset_from_base(module, address.operand(0))?),
        false => address.constant_offset(module),
    }
}

/// The number of words, if a number of bytes is seen to be whole words, or is constant and has one at least.
fn words(builder: &Builder, bytes: Value) -> Option<Value> {
    let word = builder.module().integer(64);
    if let Some(constant) = bytes.constant_integer() {
        return (constant >= WORD).then(|| builder.i64(constant / WORD));
    }
    let by = |wanted: fn(u64) -> bool| bytes.operand(1).constant_integer().is_some_and(wanted);
    let is_whole = match bytes.opcode()? {
        Opcode::LLVMShl => by(|bits| (3..32).contains(&bits)),
        Opcode::LLVMMul => by(|factor| factor.is_multiple_of(WORD)),
        _ => false,
    };
    if !is_whole {
        return None;
    }
    let bytes = match bytes.type_of().integer_bits() {
        Some(64) => bytes,
        _ => builder.cast(Opcode::LLVMZExt, bytes, word),
    };
    Some(builder.binary(Opcode::LLVMLShr, bytes, builder.i64(3)))
}

fn write_words(builder: &Builder, callees: &Callees, call: Call, object: Value, words: Value) {
    let module = builder.module();
    let plain = |value: Value| match value.type_of().is_plain_pointer() {
        true => value,
        false => builder.cast(Opcode::LLVMAddrSpaceCast, value, module.pointer()),
    };
    let to = call.argument(0);
    let rest = call.argument(2).constant_integer().map_or(0, |bytes| bytes % WORD);
    let whole = call.argument(2).constant_integer().map_or(0, |bytes| bytes - bytes % WORD);
    let rest_of = module.integer(rest as u32 * 8);
    let is_fill = callees.of_call(call) == Callee::Fill;
    // The rest of a copy is read before its words are written, which it may overlap.
    let rest = (rest != 0).then(|| match is_fill {
        true => rest_of.constant(0),
        false => {
            let rest = builder.load(rest_of, builder.offset(call.argument(1), whole));
            rest.set_alignment(1);
            rest
        }
    });
    let (name, from) = match is_fill {
        true => ("tally_fill_refs", builder.i64(0)),
        false => ("tally_copy_refs", plain(call.argument(1))),
    };
    let write = declare(module, name);
    let written = builder.call(write.value_type(), write, &[plain(object), plain(to), from, words]);
    builder.mark(written, SOME_WORDS);
    if let Some(rest) = rest {
        builder.store(rest, builder.offset(to, whole)).set_alignment(1);
    }
    call.value().erase();
}
