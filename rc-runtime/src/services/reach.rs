//! Why an object is alive: the objects that roots reach, each with the reference by which it was reached first.
//!
//! ```text
//!   for each root r:              reached by r:  push r
//!   while the queue has a next o: for each reference o → t:  t not reached?  reached by o:  push t
//! ```
//!
//! The search is breadth-first, so the references that lead back to a root are a shortest path. It changes nothing: no
//! header, no bit, no count, so it may run at any safepoint, beside an epoch or a sliced mark that has not ended. Its
//! memory is the queue and a table of what was reached: about 30 bytes for each object. A reference of an ephemeron is
//! followed when its keys have been reached.
//!
//! The heap knows its own roots; the caller passes the roots of frames ([`StackWalk`]).

mod holder;

use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::visit::Part;
pub use holder::{Holder, Link, Root, text};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// A visit of the roots in frames: each object, with the description of its root. Called once.
pub type StackWalk<'w> = dyn FnMut(&mut dyn FnMut(ObjectRef, &dyn Fn() -> Root)) + 'w;

/// What a search has reached so far.
#[derive(Debug, Default)]
pub struct Reach {
    /// In the order in which they were reached.
    queue: Vec<ObjectRef>,
    /// By what: the address of an object, or the number of a root.
    by: FxHashMap<ObjectRef, u64>,
    /// Roots that have reached an object first.
    roots: Vec<Root>,
}

impl Reach {
    fn note_root(&mut self, object: ObjectRef, root: &dyn Fn() -> Root) {
        let number = self.roots.len() as u64;
        if self.note(object, number) {
            self.roots.push(root());
        }
    }

    /// Whether it had not been reached before.
    fn note(&mut self, object: ObjectRef, by: u64) -> bool {
        let before = self.by.len();
        self.by.entry(object).or_insert(by);
        let is_new = self.by.len() != before;
        if is_new {
            self.queue.push(object);
        }
        is_new
    }

    /// The object by which it was reached first; `None` for a root, and if it was not reached.
    pub fn holder_of(&self, object: ObjectRef) -> Option<ObjectRef> {
        // SAFETY: [HEADER] numbers of roots lie below the heap range; the others are addresses of objects reached.
        unsafe { ObjectRef::of_word(*self.by.get(&object)?) }
    }

    /// How the object was reached, from the root on; empty if it was not.
    pub fn path_to(&self, object: ObjectRef) -> Vec<Link> {
        let (mut path, mut held) = (vec![], object);
        while let Some(&by) = self.by.get(&held) {
            // SAFETY: [HEADER] numbers of roots lie below the heap range; the others are addresses of objects reached.
            match unsafe { ObjectRef::of_word(by) } {
                Some(holder) => {
                    path.push(Link { holder: Holder::of_object(holder, held), held });
                    held = holder;
                }
                None => {
                    path.push(Link { holder: Holder::Root(self.roots[by as usize].clone()), held });
                    break;
                }
            }
        }
        path.reverse();
        path
    }

    fn follow(&mut self, heap: &Heap, object: ObjectRef) {
        if !heap.keys_of(object).all(|key| self.by.contains_key(&key)) {
            return;
        }
        object.type_info().for_each_reference(object, Part::Whole, |target| _ = self.note(target, object.address()));
    }
}

impl Heap {
    /// Searches from all roots. `visit` is called with each object that they reach, nearest first, and may end the
    /// search.
    pub fn reach(
        &self,
        stack: &mut StackWalk<'_>,
        mut visit: impl FnMut(&Reach, ObjectRef) -> ControlFlow<()>,
    ) -> Reach {
        let mut reach = Reach::default();
        self.for_each_root(stack, &mut |object, root| reach.note_root(object, root));
        let mut at = 0;
        while let Some(&object) = reach.queue.get(at) {
            at += 1;
            if visit(&reach, object).is_break() {
                break;
            }
            reach.follow(self, object);
            // Those that were passed over before, since this was a key that had not been reached.
            for ephemeron in self.ephemerons_of(object) {
                if reach.by.contains_key(&ephemeron) {
                    reach.follow(self, ephemeron);
                }
            }
        }
        reach
    }

    /// A shortest path from a root to `object`; empty if no root reaches it.
    pub fn why_alive(&self, stack: &mut StackWalk<'_>, object: ObjectRef) -> Vec<Link> {
        let reach = self.reach(stack, |_, reached| match reached == object {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        reach.path_to(object)
    }

    /// Calls `visit` with each root that holds `object`, and then with each object that roots reach and that refers to
    /// it, once, nearest first.
    pub fn referrers_of(&self, stack: &mut StackWalk<'_>, object: ObjectRef, mut visit: impl FnMut(Holder)) {
        self.for_each_root(stack, &mut |held, root| {
            if held == object {
                visit(Holder::Root(root()));
            }
        });
        self.reach(stack, |_, reached| {
            let mut refers = false;
            reached.type_info().for_each_reference(reached, Part::Whole, |target| refers |= target == object);
            if refers {
                visit(Holder::of_object(reached, object));
            }
            ControlFlow::Continue(())
        });
    }

    /// Calls `visit` with every root that holds an object of this heap. Those with the best description come first.
    fn for_each_root(&self, stack: &mut StackWalk<'_>, visit: &mut dyn FnMut(ObjectRef, &dyn Fn() -> Root)) {
        stack(&mut |object, root| {
            if self.owns(object) {
                visit(object, root);
            }
        });
        self.for_each_global_reference(|object, global| visit(object, &|| Root::Global(global.name.clone())));
        self.for_each_handle_by_kind(|object, is_global| {
            visit(object, if is_global { &|| Root::GlobalHandle } else { &|| Root::Handle });
        });
        let services = &self.services;
        services.host_roots.iter().for_each(|object| visit(object, &|| Root::Host));
        let immortals = services.immortals.objects().chain(services.immortals.new.iter().copied());
        immortals.for_each(|object| visit(object, &|| Root::Immortal));
        services.coroutines.chain().iter().for_each(|&object| visit(object, &|| Root::Stack));
        services.finalizers.held().for_each(|object| visit(object, &|| Root::Finalizer));
    }
}
