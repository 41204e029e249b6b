//! Out-parameters: roots whose address goes to functions of this module and no further.
//!
//! ```text
//!   split(tree, at, &left, &right):  … *left = node; …        stores to the caller's roots
//! ```
//!
//! Such a store counts nothing, and the stored object may be at zero when the callee's safepoint drains
//! (`address_taken`). But every function that gets the address is known, and only loads, stores, compares and passes
//! it on to others of that kind. Where these functions get no other address, each store counts like a write of a field
//! (`closed`). Elsewhere the slot may be no root, so the store is reported to the runtime (`tally_address_taken_store`), which
//! holds the reference for the slot. Either way no search is necessary, and the frame does not count as lending.
//! Without that each drain walked the stack: 32,000 frames deep, a program took 34 s.
//!
//! A root of another shape than one reference (a tagged word, a pair, a struct) is *wide*, and so is what its address goes to: parts of it
//! may be written, in words that are no pointers or as bytes. Such writes are never counted, but reported, word by word: a word
//! is held by what any type may take it for.
//!
//! A parameter *fits* if all its uses do; one that is passed on to a parameter that does not fit does not fit either.
//! Parameters of functions that may be replaced when programs are linked, and parameters passed by value, do not fit.
//! Functions without a gc strategy may be such callees: helpers in C that have no roots, as a rule. Stores in them are reported, never
//! counted. Of those that come to no safepoint nothing is reported, and no shape of root is asked for (`silent`).

mod closed;
mod silent;

use super::facts::Facts;
use super::slots::{is_address_taken, is_told_nobody};
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::{Call, Position};
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, TypeKind, Value};
use crate::lower::roots::Root;
use crate::lower::runtime::declare;
use closed::Closed;
use silent::Silence;
use tally_compiled::symbols::CallKind;

/// The roots of a module that only out-parameters lead to.
#[derive(Default)]
pub(in crate::lower) struct OutParameters {
    slots: HandleSet<Value>,
    /// Those of them that are counted at every store.
    counted: HandleSet<Value>,
    /// These stores.
    writes: HandleSet<Call>,
}

/// The uses of an address.
#[derive(Default)]
struct Uses {
    /// Stores of a reference to it, or copies of bytes.
    stores: Vec<Value>,
    /// Parameters that it is passed as.
    passed_as: Vec<Value>,
    /// There are no other uses than these, loads and comparisons.
    fit: bool,
    /// It is not that of one reference, which is loaded and stored as a whole.
    is_wide: bool,
}

/// The most bytes that one write may have.
const WRITE_MAX: u64 = 64;

impl OutParameters {
    /// Finds them, and makes the stores through the parameters count, or report to the runtime.
    pub(super) fn note(
        builder: &Builder,
        callees: &Callees,
        facts: &mut Facts,
        managed: &HandleSet<Value>,
        rooted: &[(Value, Vec<Root>)],
    ) -> OutParameters {
        let mut silence = Silence::of(callees, managed);
        let address_taken: Vec<&Root> =
            rooted.iter().flat_map(|(_, roots)| roots).filter(|root| is_address_taken(callees, root)).collect();
        let (silent, address_taken): (Vec<&Root>, Vec<&Root>) =
            address_taken.into_iter().partition(|root| silence.surrounds(root.slot));
        let address_taken: Vec<(Value, Uses)> =
            address_taken.into_iter().map(|root| (root.slot, Uses::of_root(callees, root))).collect();
        let parameters = uses_of_parameters(callees, address_taken.iter().flat_map(|(_, uses)| uses.passed_as.clone()));
        let fits = |uses: &Uses| uses.fit && uses.passed_as.iter().all(|parameter| parameters[parameter].fit);
        let address_taken: Vec<(Value, Uses)> = address_taken.into_iter().filter(|(_, uses)| fits(uses)).collect();
        let closed = Closed::among(callees, managed, &address_taken, &parameters);
        let (writes, functions) = closed.count_stores(builder, &address_taken, &parameters);
        facts.forget_quiet(functions);
        let (mut reached, mut named) = (HandleSet::default(), HandleSet::default());
        let open = address_taken.iter().filter(|(slot, _)| !closed.slots.contains(slot));
        let mut queue: Vec<Value> = open.flat_map(|(_, uses)| uses.passed_as.clone()).collect();
        while let Some(parameter) = queue.pop() {
            if reached.insert(parameter) {
                let uses = &parameters[&parameter];
                queue.extend(&uses.passed_as);
                uses.stores.iter().filter(|&&store| named.insert(store)).for_each(|&store| name(builder, store));
            }
        }
        // A report is work for the end of a managed function.
        facts.forget_quiet(named.into_iter().map(Value::function).filter(|function| managed.contains(function)));
        let slots =
            address_taken.into_iter().map(|(slot, _)| slot).chain(silent.into_iter().map(|root| root.slot)).collect();
        OutParameters { slots, counted: closed.slots, writes }
    }

    /// Whether every store to the root is counted where it is made.
    pub(super) fn counts(&self, root: &Root) -> bool {
        self.counted.contains(&root.slot)
    }

    /// Whether the write is one of those stores: what it replaces was held by a root.
    pub(super) fn is_counted_store(&self, write: Call) -> bool {
        self.writes.contains(&write)
    }

    /// Whether every store to the root by another function is counted or reported, or made where nothing dies.
    pub(super) fn lead_to(&self, root: &Root) -> bool {
        self.slots.contains(&root.slot)
    }
}

/// The uses of all parameters that an address may come to; a parameter that is passed on to one that does not fit
/// does not fit.
fn uses_of_parameters(callees: &Callees, first: impl Iterator<Item = Value>) -> HandleMap<Value, Uses> {
    let mut all: HandleMap<Value, Uses> = HandleMap::default();
    let mut passed_from: HandleMap<Value, Vec<Value>> = HandleMap::default();
    let mut queue: Vec<Value> = first.collect();
    while let Some(parameter) = queue.pop() {
        if all.contains_key(&parameter) {
            continue;
        }
        let uses = Uses::of(callees, parameter, false);
        for &next in &uses.passed_as {
            passed_from.entry(next).or_default().push(parameter);
            queue.push(next);
        }
        all.insert(parameter, uses);
    }
    let mut unfit: Vec<Value> = all.iter().filter(|(_, uses)| !uses.fit).map(|(&parameter, _)| parameter).collect();
    while let Some(parameter) = unfit.pop() {
        for &before in passed_from.get(&parameter).into_iter().flatten() {
            let uses = all.get_mut(&before).expect("it was looked at");
            if std::mem::replace(&mut uses.fit, false) {
                unfit.push(before);
            }
        }
    }
    all
}

impl Uses {
    fn of_root(callees: &Callees, root: &Root) -> Uses {
        let mut uses = Uses::of(callees, root.slot, true);
        uses.is_wide |= !is_one_reference(root);
        uses
    }

    /// The uses of the address of a root of the function itself (`own`), or of a parameter.
    fn of(callees: &Callees, address: Value, own: bool) -> Uses {
        let mut uses = Uses { fit: true, ..Uses::default() };
        let (mut seen, mut queue) = (HandleSet::default(), vec![address]);
        while let Some(current) = queue.pop() {
            for user in current.users() {
                match user.opcode() {
                    Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => {}
                    Some(Opcode::LLVMStore) if is_store_to(user, current) => uses.write(user, own),
                    // Without optimisation a parameter goes through a variable of its own.
                    Some(Opcode::LLVMStore) if user.operand(0) == current && is_variable(callees, user.operand(1)) => {
                        if seen.insert(user.operand(1)) {
                            queue.extend(user.operand(1).users().filter(|user| user.is(Opcode::LLVMLoad)));
                        }
                    }
                    Some(Opcode::LLVMPHI | Opcode::LLVMSelect | Opcode::LLVMFreeze | Opcode::LLVMGetElementPtr) => {
                        uses.is_wide |= user.is(Opcode::LLVMGetElementPtr);
                        if seen.insert(user) {
                            queue.push(user);
                        }
                    }
                    Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                        let call = user.as_call().expect("a call or invoke");
                        let callee = callees.of_call(call);
                        uses.fit &= match callee {
                            _ if own && is_told_nobody(callee) || is_check(callee, call) => true,
                            Callee::Fill => {
                                uses.is_wide = true;
                                call.argument(1).is_null()
                            }
                            Callee::Copy => {
                                if call.argument(0) == current {
                                    uses.write(user, own);
                                }
                                true
                            }
                            _ => uses.pass(call, current),
                        };
                    }
                    _ => uses.fit = false,
                }
            }
        }
        uses
    }

    /// Notes that the address is written to, by the function whose root it is (`own`) or by another.
    fn write(&mut self, write: Value, own: bool) {
        let is_reference = write.is(Opcode::LLVMStore) && write.operand(0).type_of().is_plain_pointer();
        self.is_wide |= !is_reference;
        match written(write) {
            Some((_, bytes)) if own || bytes <= WRITE_MAX => self.stores.push(write),
            _ => self.fit = false,
        }
    }

    /// Notes that the address is an argument of a call; returns whether all parameters that get it are known.
    fn pass(&mut self, call: Call, address: Value) -> bool {
        let callee = call.callee();
        if !callee.is_function() || !callee.has_body() || callee.may_be_replaced() {
            return false;
        }
        if call.arguments_by_value().iter().any(|&(value, _)| value == address) {
            return false;
        }
        let places: Vec<usize> =
            call.arguments().iter().enumerate().filter(|(_, value)| **value == address).map(|(at, _)| at).collect();
        let known = places.iter().all(|&place| place < callee.parameter_count() as usize);
        if known {
            self.passed_as.extend(places.iter().map(|&place| callee.parameter(place as u32)));
        }
        known && !places.is_empty()
    }
}

fn is_one_reference(root: &Root) -> bool {
    root.how.is_none() && root.bytes == 8 && root.slot.allocated_type().is_plain_pointer()
}

/// Whether the address belongs to a local variable that is only loaded and stored as a whole.
fn is_variable(callees: &Callees, address: Value) -> bool {
    let is_access = |user: Value| match user.opcode() {
        Some(Opcode::LLVMLoad) => user.type_of().is_plain_pointer(),
        Some(Opcode::LLVMStore) => user.operand(0) != address && user.operand(0).type_of().is_plain_pointer(),
        Some(Opcode::LLVMCall) => user
            .as_call()
            .is_some_and(|call| matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd)),
        _ => false,
    };
    address.is(Opcode::LLVMAlloca) && address.allocated_type().is_plain_pointer() && address.users().all(is_access)
}

fn is_store_to(store: Value, address: Value) -> bool {
    store.operand(0) != address && store.operand(1) == address && !store.is_atomic()
}

/// The address that a store or a copy writes to, and how many bytes.
fn written(write: Value) -> Option<(Value, u64)> {
    match write.as_call() {
        Some(copy) => Some((copy.argument(0), copy.argument(2).constant_integer()?)),
        None => {
            let of = write.operand(0).type_of();
            let is_known = of.kind() != TypeKind::LLVMScalableVectorTypeKind;
            is_known.then(|| (write.operand(1), write.function().module().size_of(of)))
        }
    }
}

/// Whether the call is one of zeal's checks of an address that is loaded or stored to. It only looks, and what is counted where must
/// not depend on it.
fn is_check(callee: Callee, call: Call) -> bool {
    matches!(callee, Callee::Runtime(CallKind::Leaf)) && call.callee().name().starts_with("tally_zeal_")
}

/// Reports a write behind it, each of its words.
fn name(builder: &Builder, write: Value) {
    write.function().remove_attribute(Position::Function, "memory");
    let calls = write.function().users().filter_map(Value::as_call);
    calls.for_each(|call| call.remove_attribute(Position::Function, "memory"));
    let behind = write.next_instruction().expect("a write is no terminator");
    let address_taken_store = declare(builder.module(), "tally_address_taken_store");
    let (address, bytes) = written(write).expect("its size was looked at");
    builder.before_with_location_of(behind, write);
    for offset in (0..bytes).step_by(8) {
        let word = builder.offset(address, offset);
        builder.call(address_taken_store.value_type(), address_taken_store, &[word]);
    }
}
