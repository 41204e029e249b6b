//! References that are certain to be stored past the barrier: a plain store of an object that this function has just
//! allocated, to a word that the module itself describes as a reference; and a store of null to a word of a global
//! that gcwrite writes, whose object keeps its count.
//!
//! Such a word is one that the descriptor of an object allocated here lists, or one of a global variable that the
//! module writes with gcwrite elsewhere. Under the prompt plan nothing counts the reference, and its object dies too
//! early; under the deferred plan nothing logs it once an epoch has run in between. An uncertain case is a warning
//! (`verify/unrooted/plain_stores.rs`): a store behind a branch, a reference or an object from elsewhere. A word that
//! gcwrite gives the same reference may be stored to as well, since that changes nothing. Null may be stored where
//! the word is null already: at the very start of `main` or of a constructor, or right after a gcwrite of null.

use super::made::{self, Nulls, Source, is_marker};
use super::{certain, dead_code};
use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::emit::appending::is_constructor;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::descriptor::Descriptor;
use crate::lower::global_slots::{self, global_behind};

/// The kinds of wrong stores, and advice.
const NULL_HELP: &str = "write null with gcwrite, too (TALLY_WRITE_GLOBAL(variable, NULL)): otherwise the old object keeps its count under the prompt plan";

/// The global variables that the module writes with gcwrite.
pub(super) fn written_globals(callees: &Callees) -> HandleSet<Value> {
    let writes = callees.calls_of(|callee| callee == Callee::GcWrite);
    writes.filter_map(|write| global_behind(write.argument(1))).collect()
}

/// The stores of a function that are refused; `written` are the globals that gcwrite writes.
pub(super) fn errors(
    module: Module,
    name: &str,
    callees: &Callees,
    written: &HandleSet<Value>,
    function: Value,
) -> Vec<Diagnostic> {
    let search = Search { module, callees, written };
    let mut found = Vec::new();
    for instruction in function.instructions() {
        let Some(store) = Store::of(instruction) else { continue };
        let what = if store.value.is_null() { "null" } else { "a reference" };
        let how = if instruction.is(Opcode::LLVMStore) { "plainly" } else { "by an atomic exchange" };
        if let Some((place, help)) = search.fault(store) {
            found.push(Diagnostic::at(name, instruction, format!("{what} is stored {how} to {place}")).help(help));
        }
    }
    found
}

/// A store, or an exchange.
#[derive(Clone, Copy)]
struct Store {
    at: Value,
    value: Value,
    address: Value,
}

impl Store {
    fn of(at: Value) -> Option<Store> {
        let (value, address) = match at.opcode()? {
            Opcode::LLVMStore => (0, 1),
            Opcode::LLVMAtomicRMW => (1, 0),
            Opcode::LLVMAtomicCmpXchg => (2, 0),
            _ => return None,
        };
        Some(Store { at, value: at.operand(value), address: at.operand(address) })
    }
}

struct Search<'a> {
    module: Module,
    callees: &'a Callees,
    written: &'a HandleSet<Value>,
}

impl Search<'_> {
    /// The target of the reference, and advice.
    fn fault(&self, store: Store) -> Option<(String, &'static str)> {
        let Store { at, value, address } = store;
        let of = value.type_of();
        if !(of.is_plain_pointer() || of.integer_bits() == Some(64)) || value.is_constant() && !value.is_null() {
            return None;
        }
        if let Some(global) = global_behind(address) {
            let fault = if value.is_null() { Self::fault_of_null } else { Self::fault_in_global };
            return self.written.contains(&global).then(|| fault(self, store, global))?;
        }
        if value.is_null() {
            return None;
        }
        let words = made::sources(self.module, address, Nulls::Ignored);
        let mut types = words.iter().map(|word| self.described(word));
        let (offset, type_name) = types.next()??;
        if !types.all(|described| described.is_some()) {
            return None;
        }
        let references = self.references(value);
        let is_certain = || words.iter().any(|word| certain::follows(word.value, at));
        let is_there = |call: Call| {
            made::sources(self.module, call.argument(2), Nulls::Ignored).iter().any(|source| words.contains(source))
        };
        if references.is_empty()
            || !is_certain()
            || dead_code::holds(at)
            || self.is_written(at.function(), &references, is_there)
        {
            return None;
        }
        let help = "write references into objects with llvm.gcwrite (TALLY_WRITE), or their targets may die too early";
        Some((format!("an object, at offset {offset} of @{type_name}, which is a reference"), help))
    }

    fn fault_in_global(&self, store: Store, global: Value) -> Option<(String, &'static str)> {
        let references = self.references(store.value);
        if references.is_empty() || !self.is_root(global, store.address) || dead_code::holds(store.at) {
            return None;
        }
        let is_global = |call: Call| global_behind(call.argument(1)) == Some(global);
        if self.is_written(store.at.function(), &references, is_global) {
            return None;
        }
        let help = "write to it with gcwrite each time (TALLY_WRITE_GLOBAL): otherwise nothing counts it under the prompt plan";
        Some((format!("the global @{}, which gcwrite writes elsewhere", global.name()), help))
    }

    fn fault_of_null(&self, store: Store, global: Value) -> Option<(String, &'static str)> {
        let is_refused =
            self.is_root(global, store.address) && !self.is_null_already(store) && !dead_code::holds(store.at);
        is_refused.then(|| (format!("the global @{}, which gcwrite writes elsewhere", global.name()), NULL_HELP))
    }

    /// Whether the global that `store` makes null is null already: no call comes before the store in `main` or a
    /// constructor, or the last one has written null there.
    fn is_null_already(&self, store: Store) -> bool {
        let before = std::iter::successors(store.at.previous_instruction(), |it| it.previous_instruction());
        let last = before.filter_map(Value::as_call).find(|call| !is_marker(call.value()));
        match last {
            Some(call) => {
                self.callees.of_call(call) == Callee::GcWrite
                    && call.argument(0).is_null()
                    && call.argument(2) == store.address
            }
            None => is_start_of_program(self.module, store.at),
        }
    }

    /// The allocations of which a value is certainly the result.
    fn references(&self, value: Value) -> Vec<Source> {
        let sources = made::sources(self.module, value, Nulls::Told);
        let is_made = |it: &Source| it.offset == Some(0) && made::allocation(self.callees, it.value).is_some();
        if sources.iter().all(is_made) { sources } else { Vec::new() }
    }

    /// The offset of an address in the object that it points into, if its descriptor has a reference there.
    fn described(&self, word: &Source) -> Option<(i64, String)> {
        let (_, address) = made::allocation(self.callees, word.value)?;
        let (descriptor, offset) = (Descriptor::read(self.module, address?)?, word.offset?);
        let references = descriptor.references.unwrap_or(descriptor.plain_beside_tags);
        let is_reference = references.iter().any(|&reference| i64::from(reference) == offset);
        is_reference.then(|| (offset, address.expect("read above").name()))
    }

    /// Whether the word of a global variable is a root: something in this module writes to it with gcwrite.
    fn is_root(&self, global: Value, address: Value) -> bool {
        place_in_global(self.module, address).is_some_and(|(found, offset)| {
            found == global && written_words(self.module, self.callees, global).any(|word| word == offset)
        })
    }

    /// Whether the function also writes one of these references to the same place with gcwrite.
    fn is_written(&self, function: Value, references: &[Source], is_there: impl Fn(Call) -> bool) -> bool {
        let is_one = |value: Value| {
            made::sources(self.module, value, Nulls::Ignored).iter().any(|source| references.contains(source))
        };
        function.calls().any(|call| match self.callees.of_call(call) {
            Callee::GcWrite | Callee::WriteWord => is_one(call.argument(0)) && is_there(call),
            Callee::Runtime(_) => call.callee().name() == "tally_copy_refs",
            _ => false,
        })
    }
}

/// The global that an address certainly lies in, and the offset there.
pub(super) fn place_in_global(module: Module, address: Value) -> Option<(Value, u64)> {
    let sources = made::sources(module, address, Nulls::Ignored);
    let [Source { value, offset: Some(more) }] = sources[..] else { return None };
    let offset = value.constant_offset(module)?.checked_add(more)?;
    Some((global_behind(value)?, u64::try_from(offset).ok()?))
}

/// The words of a global that gcwrites of the module write, by their offsets.
pub(super) fn written_words(module: Module, callees: &Callees, global: Value) -> impl Iterator<Item = u64> {
    let writes = callees.calls_of(|callee| callee == Callee::GcWrite);
    let places = writes.map(|write| [write.argument(1), write.argument(2)]);
    let in_global = places.filter(move |place| place.map(global_behind) == [Some(global); 2]);
    in_global.flat_map(move |[_, slot]| global_slots::words(module, global, slot))
}

/// Whether no call comes before the instruction in `main` or a constructor.
pub(super) fn is_before_all_calls(module: Module, instruction: Value) -> bool {
    let mut before = std::iter::successors(instruction.previous_instruction(), |it| it.previous_instruction());
    !before.any(|it| it.as_call().is_some_and(|call| !is_marker(call.value())))
        && is_start_of_program(module, instruction)
}

fn is_start_of_program(module: Module, instruction: Value) -> bool {
    let function = instruction.function();
    instruction.block() == function.entry() && (function.name() == "main" || is_constructor(module, function))
}
