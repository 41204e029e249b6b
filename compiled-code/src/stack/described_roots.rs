//! The objects that roots of frames hold, each with a description of its root: for the search that says why an object
//! is alive.
//!
//! Variables of the program come first, and then the roots that the lowering added: an object that both hold is said to
//! be held by the variable.

use crate::module::names::RootPlaces;
use crate::module::record::OWN_ROOT;
use crate::stack::bounds;
use crate::stack::roots::{StackRoots, anchor, walk};
use crate::stack::shadow_stack::{self, ChainEnd};
use stack_roots::Position;
use std::sync::Arc;
use tally_heap::ObjectRef;
use tally_heap::context::Context;
use tally_heap::services::reach::Root;

/// The name of a variable as its program has it: clang calls the memory of a parameter `list` `list.addr`.
fn written(name: &str) -> Arc<str> {
    name.strip_suffix(".addr").unwrap_or(name).into()
}

impl StackRoots {
    /// Calls `visit` with each object that a root of the calling thread's compiled frames holds, or one in the slots of
    /// `stopped` stacks, each with its id.
    pub(crate) fn visit_described(
        &mut self,
        context: &Context,
        places: &RootPlaces,
        stopped: &[(u64, u64)],
        visit: &mut dyn FnMut(ObjectRef, &dyn Fn() -> Root),
    ) {
        let Some(registers) = anchor(context) else { return };
        self.refresh();
        for of_lowering in [false, true] {
            let mut visit_slot = |slot: u64, id: u64| {
                let named = self.snapshot.roots.get(id);
                let is_own = named.is_some_and(|named| named.name.starts_with(OWN_ROOT));
                if is_own != of_lowering {
                    return;
                }
                let describe = || Root::Variable {
                    name: named.filter(|_| !is_own).map(|named| written(&named.name.get())),
                    function: named.map(|named| named.function.shared()),
                    place: places.get(&id).cloned(),
                };
                self.snapshot.visit_slot(slot, id, |object| visit(object, &describe));
            };
            stopped.iter().for_each(|&(slot, id)| visit_slot(slot, id));
            walk(Position::from(registers), &self.snapshot, usize::MAX, |root| visit_slot(root.slot_address, root.id));
        }
        let types = &mut self.shadow_types;
        let visit = |slot: u64, meta| {
            let describe = || Root::Variable { name: None, function: None, place: None };
            types.visit_root(slot, meta, |object| visit(object, &describe))
        };
        // SAFETY: the stack of this thread.
        let end = unsafe { shadow_stack::visit(bounds::low(), registers.sp..bounds::end(), visit) };
        if end == ChainEnd::Gone {
            shadow_stack::stop_at_lost_frames();
        }
    }
}
