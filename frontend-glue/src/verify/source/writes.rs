//! What is wrong with where a write goes, as far as the module shows it.
//!
//! A write to a global variable makes its word a root, which is registered when the module is loaded: so the variable must be
//! seen, and the words that the slot may be (`lower/global_slots.rs`). An address that was loaded, or chosen between several,
//! does not show it; as the object of a write it would be taken for an object of the heap.
//!
//! Where the module shows the allocation that an object comes from, by way of casts and of variables that hold one value, the
//! object must be one of the heap, and the slot an aligned word of it that its descriptor calls a reference.

use crate::callee::{Callee, Callees};
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::descriptor::Descriptor;
use crate::lower::global_slots::{self, WORDS_MAX, global_behind};

type Fault = Option<(String, &'static str)>;

/// What is wrong with a write to `slot` in `object`, and what to do; `what` is what it is called.
pub(super) fn fault(
    module: Module,
    callees: &Callees,
    (what, place): (&str, Value),
    object: Value,
    slot: Value,
) -> Fault {
    match thread_local_behind(object).or_else(|| global_behind(object)) {
        Some(global) => of_global(module, what, global, slot),
        None => of_hidden_global(what, object).or_else(|| of_object(module, callees, (what, place), object, slot)),
    }
}

/// Functions whose results are memory outside the heap.
const FOREIGN_MEMORY: [&str; 7] = ["malloc", "calloc", "realloc", "aligned_alloc", "strdup", "_Znwm", "_Znam"];

fn of_object(module: Module, callees: &Callees, (what, place): (&str, Value), object: Value, slot: Value) -> Fault {
    let (origin, derived) = origin(module, object);
    if origin.is(Opcode::LLVMAlloca) {
        let help = "write to objects of the heap; what is on the stack is rooted, and stored to plainly";
        return Some((format!("{what} whose object is on the stack"), help));
    }
    // In another block it may be a way that is never gone: inlined code asks for the type of what it was given.
    let call = origin.as_call().filter(|call| call.value().block() == place.block())?;
    let name = call.callee().name();
    if FOREIGN_MEMORY.contains(&name.as_str()) {
        let help = "make the object with tally_new, or store plainly and keep the reference in a root, too";
        return Some((format!("{what} whose object is memory of @{name}"), help));
    }
    if !matches!(callees.of_call(call), Callee::New | Callee::NewArray) {
        return None;
    }
    if derived.is_some_and(|offset| offset != 0) {
        let help = "pass the object itself, as it was allocated, and the address of the field as slot";
        return Some((format!("{what} whose object is a pointer into one from @{name}"), help));
    }
    let (of_slot, offset) = self::origin(module, slot);
    let offset = offset.filter(|_| of_slot == origin)?;
    let descriptor = Descriptor::read(module, call.argument(0))?;
    let type_name = call.argument(0).name();
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
    let references = descriptor.references.filter(|_| is_fixed)?;
    (!references.iter().any(|&reference| i64::from(reference) == offset)).then(|| {
        let message =
            format!("{what} at offset {offset} of an object of @{type_name}, whose descriptor has no reference there");
        (message, "add the offset to the descriptor's ref_offsets; a field that is no reference is stored plainly")
    })
}

/// What an address was computed from, through variables that hold one value, and how far it lies behind that.
fn origin(module: Module, mut address: Value) -> (Value, Option<i64>) {
    let mut offset = Some(0_i64);
    // A variable in a loop may hold what was computed from itself.
    let mut seen = HandleSet::default();
    while seen.insert(address) {
        address = match address.opcode() {
            Some(Opcode::LLVMGetElementPtr) => {
                offset = offset.zip(address.own_offset(module)).and_then(|(sum, more)| sum.checked_add(more));
                address.operand(0)
            }
            Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze) => address.operand(0),
            Some(Opcode::LLVMLoad) => match only_content(address.operand(0)) {
                Some(content) => content,
                None => break,
            },
            _ => break,
        };
    }
    (address, offset)
}

/// The one value that is ever stored to a local variable, but for null; none if others may fill it.
fn only_content(variable: Value) -> Option<Value> {
    if !variable.is(Opcode::LLVMAlloca) {
        return None;
    }
    let mut content = None;
    for user in variable.users() {
        match user.opcode() {
            Some(Opcode::LLVMLoad) => {}
            Some(Opcode::LLVMStore) if user.operand(1) == variable && user.operand(0) != variable => {
                let stored = user.operand(0);
                if !stored.is_null() && content.replace(stored).is_some_and(|other| other != stored) {
                    return None;
                }
            }
            Some(Opcode::LLVMCall) if is_marker(user) => {}
            _ => return None,
        }
    }
    content
}

fn is_marker(user: Value) -> bool {
    let name = user.as_call().map(|call| call.callee().name()).unwrap_or_default();
    name == "llvm.gcroot" || name.starts_with("llvm.lifetime.") || name.starts_with("llvm.dbg.")
}

/// The same of a write to a global variable.
pub(crate) fn of_global(module: Module, what: &str, global: Value, slot: Value) -> Fault {
    let name = global.name();
    if global.is_thread_local() {
        let help = "keep the reference in a root, or in an object that one global names";
        return Some((format!("{what} to the thread-local variable @{name}"), help));
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

/// The thread-local variable whose address of this thread's copy is asked for here.
fn thread_local_behind(object: Value) -> Option<Value> {
    let call = object.base().as_call()?;
    call.callee().name().starts_with("llvm.threadlocal.address").then(|| call.argument(0))
}
