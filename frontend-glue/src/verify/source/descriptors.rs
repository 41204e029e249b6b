//! Type descriptors that are wrong, found where they are used, as far as the module shows them.
//!
//! The runtime checks every descriptor when a module is registered. But a descriptor that is a constant of the module
//! can be read now, and then the message has a file, a line and a function. The check is the runtime's own
//! (`lower/descriptor.rs` passes it the constant's words), so the two cannot disagree. Added here are faults that
//! only the compiler can detect: arrays shorter than their count, and a root's slot smaller than its descriptor says.

use crate::llvm::{Module, Value};
use crate::lower::descriptor::constants::label;
use crate::lower::descriptor::{self, Descriptor};
use crate::lower::roots::slot_bytes;
use crate::verify::source::inside_collections;
use std::collections::HashSet;

/// The descriptors checked; each is reported once.
#[derive(Debug)]
pub(super) struct Faults {
    pub(super) seen: HashSet<Value>,
}

impl Faults {
    /// The fault in the descriptor `how` of the root `slot`.
    pub(super) fn of_root(&mut self, module: Module, slot: Value, how: Value) -> Option<String> {
        if how.is_null() {
            return None;
        }
        if let Some(fault) = self.of(module, how) {
            return Some(fault);
        }
        let (described, bytes) = (descriptor::size(module, how)?, slot_bytes(module, slot)?);
        (described > bytes).then(|| {
            format!(
                "the descriptor @{} of this root describes {described} bytes, the alloca has {bytes}; it must describe \
                 the alloca as if that were an object",
                label(module, how)
            )
        })
    }

    /// The fault in `address` as the descriptor of an allocation.
    pub(super) fn of_allocation(&mut self, module: Module, address: Value, what: &str) -> Option<String> {
        if address.is_null() || address.is_undef() {
            return Some(format!("{what} without a type descriptor; pass the address of one"));
        }
        if address.is_function() {
            return Some(format!("{what} of the function @{}; pass the address of a type descriptor", address.name()));
        }
        let has_tail = || Descriptor::read(module, address).is_none_or(|descriptor| descriptor.has_tail());
        if what == "tally_new_array" && !has_tail() {
            let name = label(module, address);
            return Some(format!(
                "tally_new_array of @{name}, whose descriptor has no tail elements; give it a stride"
            ));
        }
        self.of(module, address)
    }

    fn of(&mut self, module: Module, address: Value) -> Option<String> {
        if !self.seen.insert(address) {
            return None;
        }
        if let Some(what) = descriptor::nowhere(address) {
            return Some(format!("{what} in place of a type descriptor"));
        }
        let fault = descriptor::fault(module, address).or_else(|| {
            let trace = descriptor::trace(module, address).filter(|&trace| inside_collections::has_roots(trace))?;
            Some(format!(
                "the trace function @{} has roots, and is called in the middle of a collection; let it read the words that it \
                 is given, and root nothing",
                trace.name()
            ))
        })?;
        Some(format!("@{}: {fault}", label(module, address)))
    }
}
