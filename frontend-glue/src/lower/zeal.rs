//! The paranoid lowering: an epoch at every safepoint, a check at every access.
//!
//! A forgotten root shows itself only when an epoch happens to run at the wrong moment. Under zeal one runs after each
//! safepoint of a managed function, when everything the contract asks for must sit in a root; the call's result, still
//! in flight by rule 4, is handed over to be protected. Dead memory is poisoned, and each load and store first asks the
//! runtime about its address, which stops with function, line and object type at the first touch of a dead object.
//!
//! This room only inserts calls, before liveness is computed, so that they get their bundles like any others:
//! `tally_zeal_safepoint(result, size)` and, a leaf, `tally_zeal_access(address, site)`.

use super::runtime::declare;
use crate::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::surgery::split_normal_edge;
use crate::llvm::{Builder, Opcode, Value};
use std::collections::HashMap;

/// Inserts an epoch after each safepoint of a managed function.
pub(super) fn stop_everywhere(builder: &Builder, callees: &Callees, function: Value) {
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
            // A struct that the callee wrote to where it was told is in flight like one in registers.
            (memory, module.size_of(of))
        } else if result.type_of().is_void() {
            (module.pointer().null(), 0)
        } else {
            let of = result.type_of();
            (builder.alloca_at_entry(function, of, "tally.in_flight"), module.store_size_of(of))
        };
        builder.before_with_location_of(after, result);
        if !result.type_of().is_void() {
            builder.store(result, address);
        }
        builder.call(zeal.value_type(), zeal, &[address, builder.i64(bytes)]);
    }
}

/// Inserts a check before each access to memory that may be an object's.
pub(super) fn check_accesses(builder: &Builder, callees: &Callees, function: Value, module_name: &str) {
    let mut sites: HashMap<(String, u32, u32), Value> = HashMap::new();
    let check = declare(builder.module(), "tally_zeal_access");
    for instruction in function.instructions() {
        for address in accessed(callees, instruction) {
            if is_elsewhere(address) {
                continue;
            }
            let place = instruction.debug_place();
            let (file, line, column) =
                place.map_or_else(|| (module_name.to_owned(), 0, 0), |place| (place.file, place.line, place.column));
            let site = *sites
                .entry((file.clone(), line, column))
                .or_insert_with(|| site(builder, &function.name(), &file, line, column));
            builder.before(instruction);
            builder.call(check.value_type(), check, &[address, site]);
        }
    }
}

/// The addresses that an instruction reads or writes.
fn accessed(callees: &Callees, instruction: Value) -> Vec<Value> {
    match instruction.opcode() {
        Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => vec![instruction.operand(0)],
        Some(Opcode::LLVMStore) => vec![instruction.operand(1)],
        Some(Opcode::LLVMCall) => accessed_by_call(callees, instruction.as_call().expect("a call")),
        _ => Vec::new(),
    }
}

fn accessed_by_call(callees: &Callees, call: Call) -> Vec<Value> {
    match callees.of_call(call) {
        // The barrier reads the object's bit, the store goes to the slot: both belong to the object.
        Callee::GcWrite | Callee::WriteWord => vec![call.argument(2)],
        Callee::GcRead => vec![call.argument(1)],
        Callee::Fill => vec![call.argument(0)],
        Callee::Copy => vec![call.argument(0), call.argument(1)],
        _ => Vec::new(),
    }
}

/// Whether an address is seen to lie in a local variable, a global, or another address space.
fn is_elsewhere(address: Value) -> bool {
    let is_seen = |value: Value| value.is_constant() || !value.type_of().is_plain_pointer();
    let is_derived = |value: Value| matches!(value.opcode(), Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast));
    let end = address.follow(|value| (!is_seen(value) && is_derived(value)).then(|| value.operand(0)));
    // The variable of a `swifterror` parameter is a register, and may not be passed to others.
    end.is_some_and(|end| is_seen(end) || end.is(Opcode::LLVMAlloca) || end.is_parameter_with("swifterror"))
}

/// `{ ptr function, ptr file, i32 line, i32 column }`.
fn site(builder: &Builder, function: &str, file: &str, line: u32, column: u32) -> Value {
    let module = builder.module();
    let value = module.structure_constant(&[
        module.text_global(function),
        module.text_global(file),
        builder.i32(u64::from(line)),
        builder.i32(u64::from(column)),
    ]);
    let global = module.add_global(".tally.site", value.type_of());
    global.set_initializer(value);
    global.set_global_constant();
    global.make_private();
    global
}
