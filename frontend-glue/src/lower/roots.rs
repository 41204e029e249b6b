//! Cleans roots: the calls of `llvm.gcroot` become a list, and the slots become ordinary, initialised allocas.
//!
//! LLVM reads `gcroot` as "this alloca is special"; the lowering names the alloca in bundles instead, and then LLVM may
//! treat it as any memory. For that to be sound each slot must exist once, for the whole of its function, and hold
//! null or a live reference at every safepoint [ROOT]:
//!
//! - slots move to the top of the entry block (clang declares roots in nested blocks), so they dominate every call;
//! - `lifetime.start` of a root is dropped and `lifetime.end` stores null: with the markers kept, LLVM gave two roots
//!   one stack slot, and a root array overlapped a plain buffer;
//! - every slot is null from the entry on; -O2 deletes the store where the program overwrites it first.
//!
//! `verify::source` has refused a gcroot that cannot be cleaned (it names no variable of a fixed size).

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::surgery::move_before;
use crate::llvm::value::Place;
use crate::llvm::{Builder, HandleMap, HandleSet, Module, Opcode, Type, TypeKind, Value};
use crate::lower::count::lifetimes::ENDS;
use crate::lower::named_root::root_id;
use crate::lower::{LowerOptions, Mitigation};

/// One root of a function.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    /// The alloca.
    pub(crate) slot: Value,
    /// The descriptor that says how the slot is read; none for a plain reference.
    pub(crate) how: Option<Value>,
    /// The slot's bytes.
    pub(crate) bytes: u64,
    /// The id in stack maps.
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Where the program made it a root, in a module that keeps names.
    pub(crate) place: Option<Place>,
    /// Whether no one wrote it: it holds the base of what is derived from it, and no call returns another.
    pub(crate) inferred: bool,
}

/// The mark of slots that were made for references without a root.
pub(super) const INFERRED: &str = "tally.inferred";

/// The calls of gcroot of each function that has one, in the order of its instructions.
pub(super) fn gcroots(callees: &Callees) -> HandleMap<Value, Vec<Call>> {
    let mut gcroots: HandleMap<Value, Vec<Call>> = HandleMap::default();
    let is_gcroot = |callee| callee == Callee::GcRoot;
    for call in callees.calls_of(is_gcroot) {
        gcroots.entry(call.value().function()).or_default().push(call);
    }
    for (function, calls) in gcroots.iter_mut().filter(|(_, calls)| calls.len() > 1) {
        // LLVM lists uses in any order; roots are numbered, and their ids made, in the order of the program.
        let count = calls.len();
        calls.clear();
        calls.extend(function.calls().filter(|&call| is_gcroot(callees.of_call(call))).take(count));
    }
    gcroots
}

/// Makes the roots that `gcroots` name clean; the calls are erased.
pub(super) fn clean(
    builder: &Builder,
    callees: &Callees,
    function: Value,
    gcroots: Vec<Call>,
    options: &LowerOptions,
) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    let mut known = HandleMap::default();
    for call in gcroots {
        let slot = rooted_variable(call.argument(0)).expect("verified: a gcroot names an alloca");
        let how = Some(call.argument(1)).filter(|how| !how.is_null());
        define_stores(slot);
        let place = if options.names { call.value().debug_place() } else { None };
        call.value().erase();
        known.entry(slot).or_insert_with(|| {
            let number = roots.len();
            let name = Some(slot.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("root{number}"));
            let id = root_id(options.identity(), &function.name(), &name, number);
            let bytes = slot_bytes(builder.module(), slot).expect("verified: a root has a constant size");
            roots.push(Root { slot, how, bytes, id, name, place, inferred: slot.has_mark(INFERRED) });
        });
    }
    if options.has(Mitigation::HoistedRoots) {
        hoist(builder, function, &roots);
    }
    if options.has(Mitigation::EmptyRoots) {
        empty(builder, function, &roots);
    }
    if options.has(Mitigation::LifetimeMarkers) {
        end_lifetimes(builder, callees, &roots);
    }
    roots
}

/// The alloca behind the first argument of a gcroot, or the parameter behind it whose memory the caller made for the
/// call (`byval`, `sret`), which gets an alloca before anything is lowered (`own_copy.rs`).
pub(crate) fn rooted_variable(address: Value) -> Option<Value> {
    let is_the_same = |value: Value| {
        matches!(value.opcode(), Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast)) || is_zero_offset(value)
    };
    let end = address.follow(|value| is_the_same(value).then(|| value.operand(0)))?;
    (end.is(Opcode::LLVMAlloca) || type_in_memory(end).is_some()).then_some(end)
}

fn is_zero_offset(address: Value) -> bool {
    address.is(Opcode::LLVMGetElementPtr) && address.operands().skip(1).all(Value::is_null)
}

/// The bytes of a variable of constant size.
pub(crate) fn slot_bytes(module: Module, slot: Value) -> Option<u64> {
    let of = variable_type(slot);
    if !has_constant_size(of) {
        return None;
    }
    variable_count(slot)?.checked_mul(module.size_of(of))
}

/// The type of an alloca's elements, or of the content of a parameter's memory.
pub(crate) fn variable_type(variable: Value) -> Type {
    type_in_memory(variable).unwrap_or_else(|| variable.allocated_type())
}

/// The number of elements in a variable, if that is constant.
pub(crate) fn variable_count(variable: Value) -> Option<u64> {
    if variable.is_argument() { Some(1) } else { variable.operand(0).constant_integer() }
}

fn type_in_memory(value: Value) -> Option<Type> {
    value.type_in_memory("byval").or_else(|| value.type_in_memory("sret"))
}

fn has_constant_size(of: Type) -> bool {
    let is_scalable = matches!(of.kind(), TypeKind::LLVMScalableVectorTypeKind | TypeKind::LLVMTargetExtTypeKind);
    !is_scalable && of.members().into_iter().all(|(member, _)| has_constant_size(member))
}

/// Stores of undefined values to a slot, or a part of it, are stores of null. A volatile store is a plain one: what was stored last
/// is in the slot at each safepoint, and only its own thread reads it.
fn define_stores(slot: Value) {
    let mut pending = vec![slot];
    while let Some(address) = pending.pop() {
        for user in address.users().collect::<Vec<_>>() {
            match user.opcode() {
                Some(Opcode::LLVMStore) if user.operand(1) == address => {
                    user.make_plain();
                    if user.operand(0).is_undef() {
                        user.set_operand(0, user.operand(0).type_of().null());
                    }
                }
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast) => pending.push(user),
                _ => {}
            }
        }
    }
}

/// Moves the slots to the top of the entry block.
fn hoist(builder: &Builder, function: Value, roots: &[Root]) {
    let entry = function.entry();
    let leading: HandleSet<Value> = leading_allocas(function).into_iter().collect();
    let body = entry.instructions().nth(leading.len()).expect("a block ends in a terminator");
    for root in roots.iter().filter(|root| !leading.contains(&root.slot)) {
        if root.slot.block() != entry {
            // At the place of the alloca the program got a new, empty slot, and must still do so.
            let after = root.slot.next_instruction().expect("an alloca is no terminator");
            builder.before_unlocated(after);
            make_null(builder, root);
        }
        debug_assert_ne!(root.slot, body);
        move_before(builder, root.slot, body);
    }
}

/// Makes all slots null before the program's first instruction.
fn empty(builder: &Builder, function: Value, roots: &[Root]) {
    let body = function.entry().instructions().nth(leading_allocas(function).len());
    let body = body.expect("a block ends in a terminator");
    for root in roots.iter().filter(|root| root.slot.block() == function.entry()) {
        builder.before_unlocated(body);
        make_null(builder, root);
    }
}

fn leading_allocas(function: Value) -> Vec<Value> {
    function.entry().instructions().take_while(|value| value.is(Opcode::LLVMAlloca)).collect()
}

/// Stores null into the slot.
fn make_null(builder: &Builder, root: &Root) -> Value {
    let of = root.slot.allocated_type();
    let scalar = of.is_pointer() || of.integer_bits().is_some_and(|bits| bits <= 64);
    if scalar && builder.module().store_size_of(of) == root.bytes {
        builder.store(of.null(), root.slot)
    } else {
        builder.clear(root.slot, root.bytes, root.slot.alignment())
    }
}

fn end_lifetimes(builder: &Builder, callees: &Callees, roots: &[Root]) {
    for root in roots {
        for call in root.slot.users().collect::<Vec<_>>().into_iter().filter_map(Value::as_call) {
            match callees.of_call(call) {
                Callee::LifetimeStart => call.value().erase(),
                Callee::LifetimeEnd => {
                    builder.before(call.value());
                    let store = make_null(builder, root);
                    if call.value().has_mark(ENDS) {
                        builder.mark(store, ENDS);
                    }
                    call.value().erase();
                }
                _ => {}
            }
        }
    }
}
