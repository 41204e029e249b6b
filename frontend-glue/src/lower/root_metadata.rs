//! Metadata of roots that is no type descriptor, but the frontend's own: a callback of `tally_trace_with` understands it.
//!
//! Under the trace plan that is what a module shows to be no descriptor: an integer, a function, a place in something else where no
//! descriptor begins, a variable that is too small for one. What another module defines is a descriptor, unless the flag of the module
//! says that all is the frontend's:
//!
//! ```text
//! !llvm.module.flags = !{!0}
//! !0 = !{i32 1, !"tally.trace_with", i32 1}
//! ```
//!
//! Such a root is one reference. The record of the module says of which kind each is, by a bit of the root's id.

use super::Plan;
use super::descriptor::Descriptor;
use super::roots::{Root, slot_bytes};
use crate::llvm::{Module, Value};
use tally_compiled::module::record::METADATA_ROOT;
use tally_heap::descriptor::RawDescriptor;

/// The module flag.
const FLAG: &str = "tally.trace_with";

/// Whether the second argument of a gcroot belongs to a callback.
pub(crate) fn is_of_callback(module: Module, plan: Plan, how: Value) -> bool {
    match plan {
        Plan::Deferred | Plan::Prompt => false,
        Plan::Trace => !how.is_null() && (module.flag(FLAG).is_some() || is_no_descriptor(module, how)),
    }
}

fn is_no_descriptor(module: Module, how: Value) -> bool {
    let bytes = || module.size_of(how.value_type());
    if how.is_global_variable() {
        return how.initializer().is_some() && bytes() < size_of::<RawDescriptor>() as u64;
    }
    Descriptor::read(module, how).is_none()
}

/// The fault of a root whose metadata belongs to a callback.
pub(crate) fn fault(module: Module, slot: Value) -> Option<String> {
    let bytes = slot_bytes(module, slot).filter(|&bytes| bytes != 8)?;
    Some(format!(
        "gcroot of {bytes} bytes with metadata that is no tally_type: the callback of tally_trace_with is given one reference; root \
         each on its own"
    ))
}

/// Marks the roots whose metadata belongs to a callback.
pub(super) fn note(module: Module, plan: Plan, roots: &mut [Root]) {
    for root in roots {
        if root.how.is_some_and(|how| is_of_callback(module, plan, how)) {
            root.id |= METADATA_ROOT;
        }
    }
}
