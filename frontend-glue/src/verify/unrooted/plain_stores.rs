//! References that are stored past the barrier: plainly to objects, to globals and to memory that is no root.
//!
//! A store is reported only if every place that its address may come from is one of these; a pointer argument may
//! lead to a root of the caller. Globals and memory from malloc may also borrow a reference that another place holds:
//! there only new references are reported that the function stores nowhere else.

use super::memory::split;
use super::origins::{Origin, origins};
use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::llvm::{Module, Opcode, Value};
use crate::lower::descriptor::Descriptor;

/// An offset, where it is constant, and a length, where it is.
type Bytes = (Option<i64>, Option<i64>);

/// A reference that is stored to memory that is not local.
#[derive(Debug)]
pub(super) struct PlainStore {
    pub(super) at: Value,
    pub(super) address: Value,
    pub(super) to_object: bool,
    /// Another place may hold it.
    pub(super) is_borrowed: bool,
    /// A root of this function holds it at some time.
    pub(super) is_rooted: bool,
}

pub(super) fn of_store(callees: &Callees, module: Module, name: &str, store: &PlainStore) -> Option<Diagnostic> {
    let PlainStore { at, address, to_object, .. } = *store;
    if address.is_parameter_with("swifterror") {
        let help = "no root holds it on its way to the caller: return it, or keep it in a root or an object that the caller knows";
        let message = "a reference is stored to a swifterror parameter";
        return (!store.is_borrowed).then(|| Diagnostic::at(name, at, message).help(help));
    }
    let sources = origins(callees, module, address);
    let offset = split(module, address).1;
    let is_known = |origin: &Origin| matches!(origin, Origin::Object(_) | Origin::Global(_) | Origin::Allocated);
    if !to_object && (sources.is_empty() || !sources.iter().all(is_known)) {
        return None;
    }
    let is_object = to_object || sources.iter().any(|origin| matches!(origin, Origin::Object(_)));
    if !is_object && (store.is_borrowed || store.is_rooted && may_end_with_root(at, address)) {
        return None;
    }
    let (place, help) = match sources.first() {
        _ if is_object => {
            if !may_be_reference(module, &sources, (offset, Some(8))) {
                return None;
            }
            (
                "an object".to_owned(),
                "write references into objects with llvm.gcwrite (TALLY_WRITE), or their targets may die too early",
            )
        }
        Some(Origin::Global(global)) => (
            format!("the global variable @{}", global.name()),
            "a plain store makes no root of it: use llvm.gcwrite with the global as object (TALLY_WRITE_GLOBAL)",
        ),
        _ => (
            "memory from malloc".to_owned(),
            "it keeps nothing alive: keep references in objects, roots, or handles (tally_handle_new)",
        ),
    };
    Some(Diagnostic::at(name, at, format!("a reference is stored plainly to {place}")).help(help))
}

/// Whether the memory may lose the reference before the function's root does: by the end of the program, a later
/// store to the same place, or a call that frees it.
fn may_end_with_root(at: Value, address: Value) -> bool {
    let function = at.function();
    let is_base = |value: Value| value.base() == address.base();
    function.name() == "main"
        || function.instructions().into_iter().any(|other| match other.as_call() {
            Some(call) => call.callee().name() == "free",
            None => other.is(Opcode::LLVMStore) && other != at && is_base(other.operand(1)),
        })
}

/// Checks `call`, which writes to several words of an object: memcpy, memset, qsort.
pub(super) fn of_copy(
    callees: &Callees,
    module: Module,
    name: &str,
    call: Value,
    address: Value,
    is_aged: bool,
) -> Option<Diagnostic> {
    let made = call.as_call()?;
    let sources = origins(callees, module, address);
    let offset = split(module, address).1;
    let callee = callees.of_call(made);
    let bytes = match callee {
        Callee::Copy | Callee::Fill => made.argument(2).constant_integer().map(|bytes| bytes as i64),
        _ => None,
    };
    if !is_aged || !is_certain(module, &sources, (offset, bytes)) {
        return None;
    }
    let (what, help) = match callee {
        Callee::Copy => (
            "references are copied into an object without the barrier".to_owned(),
            "use tally_copy_refs (TALLY_COPY), or gcwrite for each",
        ),
        Callee::Fill => (
            "references of an object are overwritten without the barrier".to_owned(),
            "use tally_fill_refs, or gcwrite of null for each",
        ),
        _ => (
            format!("@{} moves references of an object without the barrier", made.callee().name()),
            "sort a copy of the order, or write a sort over gcwrite",
        ),
    };
    Some(Diagnostic::at(name, call, what).help(help))
}

/// Whether a reference may be in these bytes: not if all types are known and have none there.
fn may_be_reference(module: Module, sources: &[Origin], bytes: Bytes) -> bool {
    let is_none = |origin: &Origin| holds_references(module, *origin, bytes) == Some(false);
    sources.is_empty() || !sources.iter().all(is_none)
}

/// Whether a reference is in these bytes for every possible type.
fn is_certain(module: Module, sources: &[Origin], bytes: Bytes) -> bool {
    !sources.is_empty() && sources.iter().all(|origin| holds_references(module, *origin, bytes) == Some(true))
}

/// Whether a reference is in these bytes of an object; `None` if its type is not known.
fn holds_references(module: Module, origin: Origin, (start, bytes): Bytes) -> Option<bool> {
    let Origin::Object(Some(descriptor)) = origin else { return None };
    let descriptor = Descriptor::read(module, descriptor)?;
    let end = |start: i64| bytes.map_or(i64::MAX, |bytes| start.saturating_add(bytes));
    let is_among = |words: &[u32], start: i64| {
        words.iter().map(|&word| i64::from(word)).any(|word| word < end(start) && word + 8 > start)
    };
    let Some(fixed) = descriptor.references.as_ref() else {
        // Tags tell of the others.
        return start.is_some_and(|start| is_among(&descriptor.plain_beside_tags, start)).then_some(true);
    };
    let Some(start) = start else { return Some(descriptor.has_references_in_tail) };
    let (in_fixed_part, end) = (is_among(fixed, start), end(start));
    Some(in_fixed_part || descriptor.has_references_in_tail && end > descriptor.size as i64)
}
