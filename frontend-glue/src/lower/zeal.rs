//! The zeal lowering: an epoch at every safepoint, a check at every access.
//!
//! A forgotten root shows only when an epoch happens to run at the wrong moment. Under zeal one runs after each
//! safepoint of a managed function, when all references that the contract names must be in a root; the call's result,
//! still in flight by rule 4, is passed on to be protected. Dead memory is poisoned. Each load and store first passes
//! its address to the runtime, which stops with function, line and object type at the first touch of a dead object.
//! Each write is checked against the contract: those through the barrier, and plain ones of a word, by `memcpy`, by
//! `memset`. Each call that may be a safepoint first reports its place: objects are made and die there.
//!
//! This module only inserts calls, before liveness is computed, so that they get their bundles like any others:
//! `tally_zeal_safepoint(result, size, site)` and leaves (`compiled-code/src/abi/zeal.rs`). `zeal/sites.rs` makes the
//! places, `zeal/fields.rs` the names of fields.

mod fields;
mod sites;

pub(super) use fields::{name_fields, names_of_fields};
pub(super) use sites::name_values;

use super::runtime::declare;
use super::words_in_flight;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::surgery::split_normal_edge;
use crate::llvm::{Builder, Opcode, Type, TypeKind, Value};
use crate::lower::inferred::SOME_WORDS;
use crate::lower::inferred::references::is_typed;
use sites::Sites;

/// The functions that are declared before the first function is lowered, so that calls of them are recognised.
pub(super) const ENTRY_POINTS: [&str; 12] = [
    "tally_zeal_safepoint",
    "tally_zeal_here",
    "tally_zeal_access",
    "tally_zeal_value",
    "tally_zeal_pair",
    "tally_zeal_words",
    "tally_zeal_word",
    "tally_zeal_write",
    "tally_zeal_store",
    "tally_zeal_store_part",
    "tally_zeal_copy",
    "tally_zeal_fill",
];

/// Functions of the runtime that take live objects, or addresses in them. Their arguments are checked before the
/// call: the runtime would find a dead one only at its next inspection of the heap, when its origin is no longer
/// known.
const TAKE_LIVE_OBJECTS: [&str; 24] = [
    "tally_ephemeron_get",
    "tally_ephemeron_key",
    "tally_ephemeron_key_write",
    "tally_ephemeron_new",
    "tally_external_bytes",
    "tally_finalize_forget",
    "tally_finalize_register",
    "tally_global_new",
    "tally_global_set",
    "tally_handle_new",
    "tally_handle_set",
    "tally_make_immortal",
    "tally_weak_get",
    "tally_weak_map_count",
    "tally_weak_map_find",
    "tally_weak_map_get",
    "tally_weak_map_key_at",
    "tally_weak_map_next",
    "tally_weak_map_remove",
    "tally_weak_map_set",
    "tally_weak_map_value_at",
    "tally_weak_new",
    "tally_weak_new_with",
    "tally_weak_write",
];

/// Functions of the runtime that write to the slot of an object which they are given.
const RESIZE: [&str; 3] = ["tally_rehash", "tally_resize", "tally_try_resize"];

/// Inserts an epoch after each safepoint of a managed function.
pub(super) fn stop_everywhere(builder: &Builder, callees: &Callees, function: Value, module_name: &str) {
    let mut sites = Sites::of(function, module_name);
    let module = builder.module();
    let zeal = declare(module, "tally_zeal_safepoint");
    let calls: Vec<Call> = function.instructions().into_iter().filter_map(Value::as_call).collect();
    for call in calls {
        if !callees.is_safepoint(call) || call.is_musttail() {
            continue;
        }
        let result = call.value();
        let after = if call.is_invoke() {
            split_normal_edge(builder, result).terminator().expect("the new block ends in a branch")
        } else {
            result.next_instruction().expect("a call is no terminator")
        };
        let (address, bytes) = if let Some((memory, of)) = call.result_in_memory() {
            // A struct that the callee wrote to the caller's memory is in flight like one in registers.
            (memory, module.size_of(of))
        } else if result.type_of().is_void() {
            (module.pointer().null(), 0)
        } else {
            builder.before_with_location_of(after, result);
            let parts = words_in_flight::parts(builder, result);
            let is_whole = parts[..] == [result];
            let (of, bytes) = match is_whole {
                true => (result.type_of(), module.store_size_of(result.type_of())),
                false => {
                    let bytes = words_in_flight::bytes(module, &parts);
                    (module.integer(64).array(bytes / 8), bytes)
                }
            };
            let buffer = builder.alloca_at_entry(function, of, "tally.in_flight");
            builder.before_with_location_of(after, result);
            match is_whole {
                true => _ = builder.store(result, buffer),
                false => words_in_flight::lay_down(builder, &parts, buffer),
            }
            (buffer, bytes)
        };
        builder.before_with_location_of(after, result);
        let site = sites.of_instruction(builder, result);
        builder.call(zeal.value_type(), zeal, &[address, builder.i64(bytes), site]);
    }
}

/// Inserts a check before each access to memory that may be an object's, and a note of the place before each
/// safepoint.
pub(super) fn check_accesses(builder: &Builder, callees: &Callees, function: Value, module_name: &str) {
    let mut checks = Checks { builder, callees, sites: Sites::of(function, module_name) };
    for instruction in function.instructions() {
        match instruction.opcode() {
            Some(Opcode::LLVMLoad) => checks.access(instruction, instruction.operand(0)),
            Some(Opcode::LLVMStore) => checks.store(instruction, instruction.operand(1), instruction.operand(0)),
            Some(Opcode::LLVMAtomicRMW) => checks.store(instruction, instruction.operand(0), instruction.operand(1)),
            Some(Opcode::LLVMAtomicCmpXchg) => {
                checks.store(instruction, instruction.operand(0), instruction.operand(2))
            }
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                checks.call(instruction.as_call().expect("a call or invoke"))
            }
            _ => {}
        }
    }
}

struct Checks<'a> {
    builder: &'a Builder,
    callees: &'a Callees,
    sites: Sites,
}

impl Checks<'_> {
    fn insert(&mut self, before: Value, check: &str, arguments: &[Value]) {
        let site = self.sites.of_instruction(self.builder, before);
        let check = declare(self.builder.module(), check);
        self.builder.before(before);
        let plain = |value: &Value| match is_typed(value.type_of()) {
            true => self.builder.cast(Opcode::LLVMAddrSpaceCast, *value, self.builder.module().pointer()),
            false => *value,
        };
        let arguments: Vec<Value> = arguments.iter().map(plain).chain([site]).collect();
        self.builder.call(check.value_type(), check, &arguments);
    }

    fn access(&mut self, instruction: Value, address: Value) {
        if !is_elsewhere(address) {
            self.insert(instruction, "tally_zeal_access", &[address]);
        }
    }

    fn store(&mut self, instruction: Value, address: Value, value: Value) {
        if is_elsewhere(address) {
            return;
        }
        self.builder.before(instruction);
        match (self.word(value), value.type_of().integer_bits()) {
            (Some(word), _) => self.insert(instruction, "tally_zeal_store", &[address, word]),
            // A tag, perhaps, by which the word beside it becomes a reference, or is none any more.
            (None, Some(bits @ (8 | 16 | 32))) => {
                let bytes = self.builder.i64(u64::from(bits / 8));
                let word = self.length(value);
                self.insert(instruction, "tally_zeal_store_part", &[address, word, bytes]);
            }
            _ => self.access(instruction, address),
        }
    }

    /// The value as a word, if it is as large as a reference.
    fn word(&self, value: Value) -> Option<Value> {
        let of = value.type_of();
        let word = self.builder.module().integer(64);
        match of.kind() {
            _ if may_be_object(of) => Some(self.builder.cast(Opcode::LLVMPtrToInt, value, word)),
            TypeKind::LLVMDoubleTypeKind => Some(self.builder.cast(Opcode::LLVMBitCast, value, word)),
            _ => (of.integer_bits() == Some(64)).then_some(value),
        }
    }

    fn length(&self, value: Value) -> Value {
        match value.type_of().integer_bits() {
            Some(64) => value,
            _ => self.builder.cast(Opcode::LLVMZExt, value, self.builder.module().integer(64)),
        }
    }

    fn call(&mut self, call: Call) {
        let instruction = call.value();
        match self.callees.of_call(call) {
            Callee::GcWrite => {
                if !is_elsewhere(call.argument(0)) {
                    self.insert(instruction, "tally_zeal_value", &[call.argument(0)]);
                }
                self.barrier(instruction, call.argument(1), call.argument(2), None);
            }
            Callee::WriteWord => {
                self.barrier(instruction, call.argument(1), call.argument(2), None);
                self.written_word(instruction, [call.argument(1), call.argument(2)], call.argument(0));
            }
            Callee::GcRead => self.access(instruction, call.argument(1)),
            Callee::Fill if !is_elsewhere(call.argument(0)) => {
                self.builder.before(instruction);
                let word = self.builder.module().integer(64);
                let byte = self.builder.cast(Opcode::LLVMZExt, call.argument(1), word);
                let length = self.length(call.argument(2));
                self.insert(instruction, "tally_zeal_fill", &[call.argument(0), byte, length]);
            }
            Callee::Copy if is_elsewhere(call.argument(0)) => self.access(instruction, call.argument(1)),
            Callee::Copy => {
                self.builder.before(instruction);
                let length = self.length(call.argument(2));
                let arguments = [call.argument(0), call.argument(1), length];
                self.insert(instruction, "tally_zeal_copy", &arguments);
            }
            Callee::Runtime(_) if instruction.has_mark(SOME_WORDS) => {
                for address in
                    [1, 2].map(|index| call.argument(index)).into_iter().filter(|it| it.type_of().is_pointer())
                {
                    self.access(instruction, address);
                }
            }
            Callee::Runtime(_) if matches!(call.callee().name().as_str(), "tally_copy_refs" | "tally_fill_refs") => {
                self.barrier(instruction, call.argument(0), call.argument(1), Some(call.argument(3)));
                if call.callee().name() == "tally_fill_refs" {
                    self.written_word(instruction, [call.argument(0), call.argument(1)], call.argument(2));
                } else {
                    self.insert(instruction, "tally_zeal_words", &call.arguments());
                }
            }
            Callee::WritePair => {
                let two = self.builder.i64(2);
                self.barrier(instruction, call.argument(0), call.argument(1), Some(two));
                self.insert(instruction, "tally_zeal_pair", &call.arguments());
            }
            Callee::Runtime(_)
                if matches!(call.callee().name().as_str(), "tally_write_open" | "tally_write_open_i64") =>
            {
                self.barrier(instruction, call.argument(1), call.argument(2), None);
                match call.argument(0) {
                    word if !word.type_of().is_pointer() => {
                        self.written_word(instruction, [call.argument(1), call.argument(2)], word);
                    }
                    value if !is_elsewhere(value) => self.insert(instruction, "tally_zeal_value", &[value]),
                    _ => {}
                }
            }
            Callee::Runtime(_) if RESIZE.contains(&call.callee().name().as_str()) => {
                self.barrier(instruction, call.argument(0), call.argument(1), None);
            }
            Callee::Runtime(_) if TAKE_LIVE_OBJECTS.contains(&call.callee().name().as_str()) => {
                for argument in call.arguments().into_iter().filter(|&argument| !is_elsewhere(argument)) {
                    self.insert(instruction, "tally_zeal_value", &[argument]);
                }
                if self.callees.is_safepoint(call) {
                    self.insert(instruction, "tally_zeal_here", &[]);
                }
            }
            _ if self.callees.is_safepoint(call) => self.insert(instruction, "tally_zeal_here", &[]),
            _ => {}
        }
    }

    /// A word, tagged or not, that the barrier is about to write to a slot of an object. A constant is no object.
    fn written_word(&mut self, instruction: Value, [object, slot]: [Value; 2], word: Value) {
        if !word.is_constant() {
            self.insert(instruction, "tally_zeal_word", &[object, slot, word]);
        }
    }

    /// A write through the barrier, of one word or more. A global is no object.
    fn barrier(&mut self, instruction: Value, object: Value, slot: Value, words: Option<Value>) {
        if super::global_slots::global_behind(object).is_none() {
            let words = words.unwrap_or_else(|| self.builder.i64(1));
            self.insert(instruction, "tally_zeal_write", &[object, slot, words]);
        }
    }
}

/// Whether pointers of this type may lead to objects.
fn may_be_object(of: Type) -> bool {
    of.is_plain_pointer() || is_typed(of)
}

/// Whether an address is known to lie in a local variable, a global, or another address space.
fn is_elsewhere(address: Value) -> bool {
    let is_seen = |value: Value| value.is_constant() || !may_be_object(value.type_of());
    let is_derived = |value: Value| matches!(value.opcode(), Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast));
    let end = address.follow(|value| (!is_seen(value) && is_derived(value)).then(|| value.operand(0)));
    // A place behind null is a number made into an address. The variable of a `swifterror` parameter is a register, and may not be passed
    // to others.
    let is_number = |end: Value| end.is_null() && !address.is_constant();
    end.is_some_and(|end| {
        is_seen(end) && !is_number(end) || end.is(Opcode::LLVMAlloca) || end.is_parameter_with("swifterror")
    })
}
