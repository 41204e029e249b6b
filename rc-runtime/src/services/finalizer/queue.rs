//! The objects that wait for a finalizer, and the order in which they run.
//!
//! ```text
//!   registered ──► found dead ──► queue ──► running ──► done ──► judged again
//!   (birth, or     by counting,   one count holds the object    its count goes at the next flip
//!   on request)    trial, mark,   from here ───────► to here    (prompt plan: at once)
//!                  or young
//! ```
//!
//! The queue runs at the end of a safepoint, as mutator code, never inside the driver. Under the deferred plan it waits
//! for the end of the epoch, and of the deaths that go on after it, so that all that one epoch found dead is one set:
//! the first of the queue, behind which the next gathers. And finalizers do not nest: what a safepoint inside one finds
//! waits for the next safepoint outside.
//!
//! | a type's order | within a set |
//! |---|---|
//! | any | any |
//! | reverse | the object registered last is first; those objects carry a number in their record (`special`) |
//! | owner first | an object that only the queue holds; the others wait until it has released them; of rings all |
//!
//! Where nothing is counted an owner of another order has its turn first, too, but once: one that registers itself anew
//! does not keep what it owns waiting for ever. A collection inside a finalizer queues nothing that those reach that wait.
//!
//! **Dead young objects** are never touched under the deferred plan, so those with finalizers stand on a list. When the
//! increments of a flip are done, an object on it that is not mature is dead. They are all found first and held then: what
//! one of them reaches and is promoted for its sake is as dead as before, and a set does not depend on where a slice
//! ended.
//!
//! Cost: types without finalizers pay nothing. With one, allocation takes the slow path under the deferred plan (a push
//! and a pop), and a mark looks at the header of everything once more.

mod order;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// Rounds of a collection in which finalizers register objects anew: what they go on making waits for the next safepoint.
pub(crate) const ROUNDS_MAX: u32 = 10;

/// How far the young objects of the last flip are judged.
#[derive(Debug, Default)]
pub(crate) struct Young {
    /// Have finalizers, and were allocated in the running epoch.
    pub(crate) current: List<ObjectRef>,
    /// The same, of the epoch before.
    pending: List<ObjectRef>,
    /// Of those: dead.
    found: List<ObjectRef>,
}

impl Young {
    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_empty() && self.are_not_judged()
    }

    pub(crate) fn are_not_judged(&self) -> bool {
        self.pending.is_empty() && self.found.is_empty()
    }
}
