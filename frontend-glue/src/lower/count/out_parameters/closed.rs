//! Out-parameters whose stores are counted where they are made.
//!
//! ```text
//!   *left = node      increment(node);  old = *left;  *left = node;  drop(old)
//! ```
//!
//! That is exact if the address can be nothing else than that of a root which is counted so: then nothing has to be noted, held or
//! looked up, and a safepoint knows such a root to own its object. The set of these roots and parameters is *closed*: every
//! value that may come to an address in it is one of them (or null), and an address leaves it by no call. So a parameter is in it only
//! if its function is known to this module alone and is only called, from managed functions, with such addresses.
//! It is the largest such set: what does not fit is taken out until all fits.
//!
//! The frame of the root counts its own stores in the same way, and releases what the root holds where it ends.

use super::{Uses, is_variable};
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::{Call, Position};
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, Value};

/// Roots and parameters whose stores are counted.
#[derive(Default)]
pub(super) struct Closed {
    pub(super) slots: HandleSet<Value>,
    parameters: HandleSet<Value>,
}

impl Closed {
    /// The largest set among these roots, and the parameters that their addresses come to.
    pub(super) fn among(
        callees: &Callees,
        managed: &HandleSet<Value>,
        address_taken: &[(Value, Uses)],
        parameters: &HandleMap<Value, Uses>,
    ) -> Closed {
        let may_be = |(slot, uses): &&(Value, Uses)| {
            !uses.is_wide && !comes_back_twice(callees, slot.function()) && !is_written_as_memory(callees, *slot)
        };
        let mut closed = Closed {
            slots: address_taken.iter().filter(may_be).map(|(slot, _)| *slot).collect(),
            parameters: parameters.keys().copied().filter(|&it| is_known_here(callees, managed, it)).collect(),
        };
        loop {
            let fits = |uses: &Uses| closed.fits(callees, uses);
            let open_slots: Vec<Value> =
                address_taken.iter().filter(|(_, uses)| !fits(uses)).map(|(slot, _)| *slot).collect();
            let is_open = |(parameter, uses): &(&Value, &Uses)| {
                !(uses.fit && fits(uses) && closed.gets_only_known_addresses(callees, **parameter))
            };
            let open_parameters: Vec<Value> = parameters.iter().filter(is_open).map(|(&it, _)| it).collect();
            let before = closed.slots.len() + closed.parameters.len();
            open_slots.iter().for_each(|slot| _ = closed.slots.remove(slot));
            open_parameters.iter().for_each(|parameter| _ = closed.parameters.remove(parameter));
            if closed.slots.len() + closed.parameters.len() == before {
                return closed;
            }
        }
    }

    /// Whether the address goes nowhere else, and is not mixed with others.
    fn fits(&self, callees: &Callees, uses: &Uses) -> bool {
        !uses.is_wide
            && uses.passed_as.iter().all(|parameter| self.parameters.contains(parameter))
            && uses.stores.iter().all(|store| !store.is_volatile() && self.is_known(callees, store.operand(1)))
    }

    fn gets_only_known_addresses(&self, callees: &Callees, parameter: Value) -> bool {
        let place = parameter.parameter_index().expect("a parameter") as usize;
        let mut calls = parameter.function_of_parameter().users().filter_map(Value::as_call);
        calls.all(|call| call.arguments().get(place).is_some_and(|&argument| self.is_known(callees, argument)))
    }

    /// Whether every address that the value may be is in the set, or null.
    fn is_known(&self, callees: &Callees, address: Value) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![address]);
        while let Some(value) = queue.pop() {
            let is_end =
                self.slots.contains(&value) || self.parameters.contains(&value) || value.is_null() || value.is_undef();
            if is_end || !seen.insert(value) {
                continue;
            }
            match value.opcode() {
                Some(Opcode::LLVMPHI) => queue.extend(value.incoming().into_iter().map(|(value, _)| value)),
                Some(Opcode::LLVMSelect) => queue.extend([value.operand(1), value.operand(2)]),
                Some(Opcode::LLVMFreeze) => queue.push(value.operand(0)),
                Some(Opcode::LLVMLoad) if is_variable(callees, value.operand(0)) => {
                    let stores = value.operand(0).users().filter(|user| user.is(Opcode::LLVMStore));
                    queue.extend(stores.map(|store| store.operand(0)));
                }
                _ => return false,
            }
        }
        true
    }

    /// Turns the stores into writes. Returns those, and the functions that have become able to release something.
    pub(super) fn count_stores(
        &self,
        builder: &Builder,
        address_taken: &[(Value, Uses)],
        parameters: &HandleMap<Value, Uses>,
    ) -> (HandleSet<Call>, HandleSet<Value>) {
        let slots = address_taken.iter().filter(|(slot, _)| self.slots.contains(slot));
        let of_slots = slots.clone().flat_map(|(_, uses)| &uses.stores);
        let parameters = parameters.iter().filter(|(parameter, _)| self.parameters.contains(parameter));
        let stores: HandleSet<Value> =
            of_slots.chain(parameters.clone().flat_map(|(_, uses)| &uses.stores)).copied().collect();
        let begins: HandleSet<Value> = slots.map(|(slot, _)| first_null(builder, *slot)).collect();
        let write = builder.module().intrinsic("llvm.gcwrite", &[]);
        let (mut writes, mut functions) = (HandleSet::default(), HandleSet::default());
        for store in stores.into_iter().filter(|store| !begins.contains(store)) {
            let (value, address) = (store.operand(0), store.operand(1));
            functions.insert(store.function());
            builder.before_with_location_of(store, store);
            let call = builder.call(write.value_type(), write, &[value, address, address]);
            writes.insert(call.as_call().expect("a call"));
            store.erase();
        }
        parameters.for_each(|(&parameter, _)| forget_promises(parameter));
        (writes, functions)
    }
}

/// The store of null with which a root begins, before anything else is done with it: it replaces no reference. It is made if there is
/// none in the entry block, since recursion that became a loop has taken it along.
fn first_null(builder: &Builder, slot: Value) -> Value {
    let entry = slot.function().entry();
    let uses_slot = |value: &Value| value.operands().any(|operand| operand == slot);
    let first = entry.instructions().find(uses_slot);
    let begins = |store: &Value| store.is(Opcode::LLVMStore) && store.operand(1) == slot && store.operand(0).is_null();
    first.filter(begins).unwrap_or_else(|| {
        builder.before_unlocated(entry.behind_allocas());
        builder.store(builder.module().pointer().null(), slot)
    })
}

/// Whether the parameter's function is managed, and all its callers are known and managed.
fn is_known_here(callees: &Callees, managed: &HandleSet<Value>, parameter: Value) -> bool {
    let function = parameter.function_of_parameter();
    let is_direct_call = |user: Value| {
        user.as_call().is_some_and(|call| {
            call.callee() == function
                && managed.contains(&user.function())
                && call.arguments().iter().all(|&argument| argument != function)
        })
    };
    managed.contains(&function)
        && function.is_internal()
        && !comes_back_twice(callees, function)
        && function.users().all(is_direct_call)
}

fn comes_back_twice(callees: &Callees, function: Value) -> bool {
    function.calls().any(|call| callees.returns_twice(call))
}

/// Whether the root is filled or copied as bytes.
fn is_written_as_memory(callees: &Callees, slot: Value) -> bool {
    let is_bytes = |call: Call| matches!(callees.of_call(call), Callee::Fill | Callee::Copy);
    slot.users().any(|user| user.as_call().is_some_and(is_bytes))
}

/// A counted store also reads what it replaces, and counts lie elsewhere.
fn forget_promises(parameter: Value) {
    let function = parameter.function_of_parameter();
    let place = Position::Parameter(parameter.parameter_index().expect("a parameter"));
    let calls = function.users().filter_map(Value::as_call);
    for call in calls {
        call.remove_attribute(Position::Function, "memory");
        PROMISES.into_iter().for_each(|promise| call.remove_attribute(place, promise));
    }
    function.remove_attribute(Position::Function, "memory");
    PROMISES.into_iter().for_each(|promise| function.remove_attribute(place, promise));
}

const PROMISES: [&str; 4] = ["readonly", "readnone", "writeonly", "initializes"];
