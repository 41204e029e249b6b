//! The last finalizers: at the end of the program, and when a module goes whose code they are.
//!
//! Every object whose finalizer has not run is finalized, reachable or not; so are the objects that those finalizers make, round
//! by round, and a chain that never ends is cut off with a message. An object that has been stored somewhere lives on and is not
//! finalized again. An error does not stop the others ([`super::on_error`]).
//!
//! Order: owners before what they own, where the type says so (by depth-first search, whose order of leaving is the
//! reverse; all that they reach is walked); then by number, the newest first, where the type says reverse; then the
//! others, roughly the newest first.

use super::ROUNDS_MAX;
use super::call_program::RUNNING;
use crate::descriptor::FinalizeOrder;
use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::type_registry::{self, TypeInfo};
use crate::visit::Part;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether finalizers run at the end of the program.
static AT_EXIT: AtomicBool = AtomicBool::new(true);

/// Sets whether finalizers that have not run when the program ends run then.
pub fn run_at_exit(on: bool) {
    AT_EXIT.store(on, Ordering::Release);
}

/// Whether [`run_at_exit`] has left it switched on.
pub(crate) fn are_run_at_exit() -> bool {
    AT_EXIT.load(Ordering::Acquire)
}

impl Heap {
    /// Runs all finalizers that have not run. A finalizer that has called this, through `exit`, never returns.
    pub fn finalize_all(mut heap: HeapEntry) {
        heap.abandon_running_finalizers();
        if Heap::finalize_remaining(heap, &|_| true) {
            return;
        }
        crate::tell_line!(
            "tally: finalizers go on making objects with finalizers at the end of the program; after {ROUNDS_MAX} rounds the rest is \
             not finalized"
        );
    }

    /// The same at a safepoint of a program that goes on: objects at zero die first. Inside a finalizer nothing is done, since that one
    /// has yet to return.
    pub fn finalize_all_at_safepoint(heap: HeapEntry) {
        if heap.services.finalizers.depth() == 0 {
            Heap::poll(heap);
            Heap::finalize_all(heap);
        }
    }

    /// Runs the pending finalizers of the types that `is_meant` selects. Returns false when there are ever more.
    pub fn finalize_remaining(mut heap: HeapEntry, is_meant: &dyn Fn(&TypeInfo) -> bool) -> bool {
        for _ in 0..ROUNDS_MAX {
            let remaining = heap.queue_remaining(is_meant);
            if remaining == 0 {
                return true;
            }
            for _ in 0..remaining {
                if heap.judges_the_queue() {
                    // Begun by a finalizer; it goes through the queue by places.
                    heap.with_driver(|driver, heap| _ = driver.collect(heap));
                }
                let Some(object) = heap.take_waiting() else { break };
                Heap::finalize_one(heap, object);
            }
            Heap::settle_after_finalizers(heap);
        }
        !heap.has_remaining(is_meant)
    }

    /// Puts everything that is to be finalized in front of the queue, in order. Returns how much that is.
    fn queue_remaining(&mut self, is_meant: &dyn Fn(&TypeInfo) -> bool) -> usize {
        if !type_registry::has_finalizers() {
            return 0;
        }
        self.queue_finalizable(&|object| object.needs_finalizer() && is_meant(object.type_info()))
    }

    /// Takes the queue: those of which `is_due`, which a count holds, and the others.
    pub(crate) fn take_queue(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> (List<ObjectRef>, List<ObjectRef>) {
        let waiting = std::mem::take(&mut self.services.finalizers.queue);
        waiting.into_iter().partition(|&object| is_due(object))
    }

    /// Returns how many were found.
    pub(crate) fn put_first_in_the_queue(&mut self, found: List<ObjectRef>, others: List<ObjectRef>) -> usize {
        let count = found.len();
        self.services.finalizers.queue = self.in_last_order(found).into_iter().chain(others).collect();
        if self.services.finalizers.complete > 0 {
            // A collection has completed all sets.
            self.services.finalizers.complete = self.services.finalizers.queue.len();
        }
        self.services.finalizers.ordered = count;
        count
    }

    fn has_remaining(&mut self, is_meant: &dyn Fn(&TypeInfo) -> bool) -> bool {
        self.has_finalizable(&|object| object.needs_finalizer() && is_meant(object.type_info()))
    }

    fn in_last_order(&mut self, mut objects: List<ObjectRef>) -> List<ObjectRef> {
        objects.reverse();
        let of = |order| move |object: &ObjectRef| object.type_info().finalize_order == order;
        let (owners, others): (List<ObjectRef>, List<ObjectRef>) =
            objects.into_iter().partition(of(FinalizeOrder::OwnerFirst));
        let (mut numbered, others): (List<ObjectRef>, List<ObjectRef>) =
            others.into_iter().partition(of(FinalizeOrder::Reverse));
        self.sort_latest_first(&mut numbered);
        // Without memory to find the owners they keep their order.
        let mut ordered = owners_first(&owners, |_| true).unwrap_or(owners);
        ordered.append(&mut numbered);
        ordered.extend(others);
        ordered
    }

    /// Their frames are gone: they never return, and what they were called for is as dead as if they had.
    fn abandon_running_finalizers(&mut self) {
        RUNNING.set(std::ptr::null_mut());
        self.abandon_calls(u64::MAX);
        self.settle_after_abandoned_calls();
    }
}

/// The objects, each before those of them that it reaches through others of which `leads`, as far as they are in no ring; `None` when
/// there is no memory to find out.
pub(in crate::services::finalizer) fn owners_first(
    objects: &[ObjectRef],
    leads: impl Fn(ObjectRef) -> bool,
) -> Option<List<ObjectRef>> {
    let (mut meant, mut seen) = (FxHashSet::default(), FxHashSet::default());
    meant.try_reserve(objects.len()).ok()?;
    meant.extend(objects);
    let mut left = List::new();
    let references = |object: ObjectRef| {
        let mut targets = List::new();
        object.type_info().for_each_reference(object, Part::Whole, |target| {
            if meant.contains(&target) || leads(target) {
                targets.push(target);
            }
        });
        targets
    };
    for &start in objects {
        seen.try_reserve(1).ok()?;
        if !seen.insert(start) {
            continue;
        }
        let mut path = List::new();
        path.push((start, references(start)));
        while let Some((object, targets)) = path.last_mut() {
            seen.try_reserve(1).ok()?;
            match targets.pop() {
                Some(target) if seen.insert(target) => path.push((target, references(target))),
                Some(_) => {}
                None => {
                    left.extend(meant.get(object));
                    path.pop();
                }
            }
        }
    }
    left.reverse();
    Some(left)
}
