//! Checks the target of a write, as far as the module shows it.
//!
//! A write to a global variable makes its word a root, which is registered when the module is loaded: so the variable
//! must be known, and the words that the slot may be (`lower/global_slots.rs`). An address that was loaded, or chosen
//! between several, does not show it; as the object of a write it would be taken for an object of the heap.
//!
//! Where the module shows the allocation that an object comes from, by way of casts and of variables that hold one
//! value, the object must be one of the heap, and the slot an aligned word of it that its descriptor calls a
//! reference.

use super::certain;
use super::made::{self, Nulls, Source};
use crate::analysis::callee::Callees;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::descriptor::Descriptor;
use crate::lower::descriptor::constants::label;
use crate::lower::global_slots::{self, WORDS_MAX, global_behind};

type Fault = Option<(String, &'static str)>;

/// The fault of a write to `slot` in `object`, and advice; `what` is the write's name in messages.
pub(super) fn fault(
    module: Module,
    callees: &Callees,
    (what, place): (&str, Value),
    object: Value,
    slot: Value,
) -> Fault {
    if let Some(fault) = of_alias(what, object).or_else(|| of_alias(what, slot)) {
        return Some(fault);
    }
    match thread_local_behind(object).or_else(|| global_behind(object)) {
        Some(global) => of_global(module, what, global, slot),
        None => of_hidden_global(what, object).or_else(|| of_object(module, callees, (what, place), object, slot)),
    }
}

/// The fault of an alias: each distinction between the words of a variable would have to look through it.
fn of_alias(what: &str, address: Value) -> Fault {
    let mut base = address.base();
    while base.constant_opcode().is_some() {
        base = base.operand(0);
    }
    base.aliasee()?;
    let help = "name the variable that it stands for";
    Some((format!("{what} to the alias @{}", base.name()), help))
}

/// Functions whose results are memory outside the heap.
const FOREIGN_MEMORY: [&str; 7] = ["malloc", "calloc", "realloc", "aligned_alloc", "strdup", "_Znwm", "_Znam"];

/// The fault that a write has with each object that the operand may be, if every path from one of them leads through
/// the write.
fn of_object(module: Module, callees: &Callees, (what, place): (&str, Value), object: Value, slot: Value) -> Fault {
    let objects = made::sources(module, object, Nulls::Ignored);
    let slots = made::sources(module, slot, Nulls::Ignored);
    let mut faults = objects.iter().map(|&object| of_source(module, callees, what, object, &slots));
    let first = faults.next()??;
    if !faults.all(|fault| fault.is_some()) {
        return None;
    }
    let is_certain = |object: &Source| object.value.is(Opcode::LLVMAlloca) || certain::follows(object.value, place);
    objects.iter().any(is_certain).then_some(first)
}

fn of_source(module: Module, callees: &Callees, what: &str, object: Source, slots: &[Source]) -> Fault {
    if object.value.is(Opcode::LLVMAlloca) {
        let help = "write to objects of the heap; root the variable on the stack, and store to it plainly";
        return Some((format!("{what} whose object is on the stack"), help));
    }
    let name = object.value.as_call()?.callee().name();
    if FOREIGN_MEMORY.contains(&name.as_str()) {
        let help = "make the object with tally_new, or store plainly and keep the reference in a root, too";
        return Some((format!("{what} whose object is memory of @{name}"), help));
    }
    let (_, descriptor) = made::allocation(callees, object.value)?;
    if object.offset.is_some_and(|offset| offset != 0) {
        let help = "pass the object itself, as it was allocated, and the address of the field as slot";
        return Some((format!("{what} whose object is a pointer into one from @{name}"), help));
    }
    let offset = slots.iter().find(|slot| slot.value == object.value)?.offset?;
    let (type_name, descriptor) = (label(module, descriptor?), Descriptor::read(module, descriptor?)?);
    let is_outside = offset < 0 || (!descriptor.has_tail() && offset.saturating_add(8) > descriptor.size as i64);
    if is_outside {
        let message =
            format!("{what} at offset {offset} of an object of @{type_name}, which has {} bytes", descriptor.size);
        return Some((message, "write to a field of the object that is named"));
    }
    if offset % 8 != 0 {
        let help = "references lie at multiples of 8 bytes";
        return Some((format!("{what} at offset {offset} of an object of @{type_name}, which is not aligned"), help));
    }
    let is_fixed = offset.saturating_add(8) <= descriptor.size as i64;
    let is_plain = descriptor.plain_beside_tags.iter().any(|&reference| i64::from(reference) == offset);
    if is_plain && what == "tally_gcwrite_i64" {
        let message = format!(
            "{what} at offset {offset} of an object of @{type_name}, which is a plain reference beside others with tags"
        );
        return Some((message, "write it with llvm.gcwrite (TALLY_WRITE)"));
    }
    let references = descriptor.references.filter(|_| is_fixed)?;
    (!references.iter().any(|&reference| i64::from(reference) == offset)).then(|| {
        let message =
            format!("{what} at offset {offset} of an object of @{type_name}, whose descriptor has no reference there");
        (message, "add the offset to the descriptor's ref_offsets; a field that is no reference is stored plainly")
    })
}

/// The same of a write to a global variable.
pub(crate) fn of_global(module: Module, what: &str, global: Value, slot: Value) -> Fault {
    let name = global.name();
    if global.is_thread_local() {
        let help = "keep the reference in a root, or in an object that one global names";
        return Some((format!("{what} to the thread-local variable @{name}"), help));
    }
    if global.may_be_missing() {
        let help = "define the variable in the program, without extern_weak: its words are registered as roots when the module loads";
        return Some((format!("{what} to the variable @{name}, which may be missing from the program"), help));
    }
    if global_behind(slot) != Some(global) {
        let help = "compute the slot from the variable's own address, by getelementptr: its words are registered as roots when \
                    the module loads";
        return Some((format!("{what} to the global @{name} at a slot that is not seen to lie in it"), help));
    }
    if global.is_constant_variable() {
        return Some((format!("{what} to the constant @{name}"), "make the variable a `global` to write to it"));
    }
    if what == "tally_gcwrite_i64" {
        let help = "keep the tagged word in an object that a plain global root names";
        return Some(("a tagged word cannot be a global root: nothing says how to read it".to_owned(), help));
    }
    if slot.is_constant() {
        let offset = misplaced(module, global, slot)?;
        return Some((format!("{what} to @{name} at offset {offset}"), "write to an aligned word inside the variable"));
    }
    match global_slots::words(module, global, slot).len() {
        0 => {
            let help = "declare the variable as an array of pointers, or of structs with pointers, and with its size";
            Some((format!("{what} to a computed slot of @{name}, whose type has no pointer there"), help))
        }
        words if words > WORDS_MAX => {
            let help = "put the table into an object on the heap that one global names";
            Some((format!("{what} to a computed slot of @{name}, which may be more than {WORDS_MAX} words"), help))
        }
        _ => None,
    }
}

/// An object that may be a global variable, but also something else.
fn of_hidden_global(what: &str, object: Value) -> Fault {
    let global = hidden_global(object)?;
    let help = "name the variable in the write itself, as in table[i], not a pointer to it: only then are its words registered \
                as roots";
    Some((format!("{what} through a pointer that may be the address of the global @{}", global.name()), help))
}

/// Whether an address may be that of a global variable, by its own name or an alias, or as the copy of a thread.
pub(crate) fn may_be_global(address: Value) -> bool {
    let is_alias = of_alias("", address).is_some();
    is_alias || thread_local_behind(address).is_some() || hidden_global(address).is_some()
}

/// The global whose address this may be, by way of phis, selects and local variables.
fn hidden_global(address: Value) -> Option<Value> {
    let (mut seen, mut pending) = (HandleSet::default(), vec![address]);
    while let Some(address) = pending.pop() {
        if let Some(global) = global_behind(address) {
            return Some(global);
        }
        let origin = address.base();
        if !seen.insert(origin) {
            continue;
        }
        match origin.opcode() {
            Some(Opcode::LLVMPHI) => pending.extend(origin.incoming().into_iter().map(|(value, _)| value)),
            Some(Opcode::LLVMSelect) => pending.extend([origin.operand(1), origin.operand(2)]),
            Some(Opcode::LLVMLoad) if origin.operand(0).is(Opcode::LLVMAlloca) => {
                let variable = origin.operand(0);
                let stores = variable.users().filter(|user| user.is(Opcode::LLVMStore) && user.operand(1) == variable);
                pending.extend(stores.map(|store| store.operand(0)));
            }
            _ => {}
        }
    }
    None
}

/// The offset of a constant slot in its variable, if no aligned word of that variable is there.
fn misplaced(module: Module, global: Value, slot: Value) -> Option<i64> {
    let offset = slot.constant_offset(module)?;
    let bytes = global.initializer().map(|_| module.size_of(global.value_type()) as i64);
    (offset % 8 != 0 || offset < 0 || bytes.is_some_and(|bytes| offset + 8 > bytes)).then_some(offset)
}

/// The thread-local variable of which this is the address of this thread's copy.
fn thread_local_behind(object: Value) -> Option<Value> {
    let call = object.base().as_call()?;
    call.callee().name().starts_with("llvm.threadlocal.address").then(|| call.argument(0))
}
