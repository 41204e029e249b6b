//! The roots of all frames as a list, for collectors of hosts and for LLVM's own interface.
//!
//! `tally_walk_roots`, `llvm_cg_walk_gcroots` and, in Rust, `tally::llvm::walk_roots` return it. The walk is that of a
//! collection (`roots`), and is over before the first root is looked at.

use crate::module::record::OWN_ROOT;
use crate::stack::anchor::beginning_here;
use crate::stack::bounds;
use crate::stack::roots::{StackRoots, anchor, walk};
use crate::stack::shadow_stack::{self, ChainEnd};
use stack_roots::Position;
use std::sync::Arc;
use tally_heap::context::Context;
use tally_heap::descriptor::TypeDescriptor;

/// One root of a frame of compiled code.
#[derive(Debug, Clone)]
pub struct StackRoot {
    /// The word in the frame that is the root, or the first of those that `meta` describes.
    pub slot: *mut u64,
    /// The second argument of its `llvm.gcroot`, or null.
    pub meta: *const TypeDescriptor,
    /// The return address of the call that its frame is stopped in; 0 for roots of LLVM's shadow stack, which knows no frames.
    pub return_address: u64,
    /// The stack pointer of the frame at that call; with the return address it tells one activation from another.
    pub stack_pointer: u64,
    /// The variable's name, in code that Tally compiled.
    pub name: Option<Arc<str>>,
    /// The function's name, in code that Tally compiled.
    pub function: Option<Arc<str>>,
}

/// Returns the roots of all frames of compiled code on the calling thread's stack, innermost first: for a host's own
/// collector. A root that does not matter at its frame's call, since it is not read again, is left out.
///
/// The slots are there until their frames go on. Called by native code that compiled code has called, to any depth.
#[inline(never)]
pub fn walk_roots() -> Vec<StackRoot> {
    beginning_here(|| {
        let mut roots = vec![];
        // SAFETY: [CONTEXT] this thread's context; nothing else uses it in this statement.
        let context = unsafe { &*tally_heap::context::current() };
        StackRoots::default().visit_roots(context, |root| roots.push(root));
        roots
    })
}

impl StackRoots {
    /// Calls `visit` with every root of the calling thread's compiled frames, innermost first. Roots that the lowering
    /// added are left out: a root and its shadow are one variable.
    pub(crate) fn visit_roots(&mut self, context: &Context, mut visit: impl FnMut(StackRoot)) {
        let Some(registers) = anchor(context) else { return };
        self.refresh();
        walk(Position::from(registers), &self.snapshot, usize::MAX, |root| {
            let named = self.snapshot.roots.get(root.id);
            if named.is_none_or(|named| !named.name.starts_with(OWN_ROOT)) {
                visit(StackRoot {
                    slot: root.slot_address as *mut u64,
                    meta: named.map_or(0, |named| named.descriptor) as *const TypeDescriptor,
                    return_address: root.pc,
                    stack_pointer: root.sp,
                    name: named.map(|named| named.name.shared()),
                    function: named.map(|named| named.function.shared()),
                });
            }
        });
        let types = &mut self.shadow_types;
        let visit = |slot, meta| {
            let slot = slot as *mut u64;
            visit(StackRoot { slot, meta, return_address: 0, stack_pointer: 0, name: None, function: None });
            types.bytes(meta)
        };
        // SAFETY: the stack of this thread.
        let end = unsafe { shadow_stack::visit(bounds::low(), registers.sp..bounds::end(), visit) };
        if end == ChainEnd::Gone {
            shadow_stack::stop_at_lost_frames();
        }
    }
}
