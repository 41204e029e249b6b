//! The deferred plan's part of a heap: the log, counts that epochs reconcile.

mod barrier;
pub mod bulk;
pub mod count;
mod ephemeron;
mod finalizable;
mod immortal;
pub mod log;
pub mod marking;
pub mod mature;
pub mod tracing;
mod upgrade;
pub(crate) mod young_special;

use crate::heap::options::HeapOptions;
use crate::memory::list::List;
use crate::memory::object_stack::ObjectStack;
use crate::object::ObjectRef;
use log::Log;

/// The deferred plan's part of a heap.
pub struct Deferred {
    /// The running epoch's log.
    pub log: Log,
    /// Entries in `log` at which the poll flag is raised.
    pub log_poll_at: u64,
    /// True while the last flip's increments are running: pending objects may exist. `[PENDING]`
    pub counting: bool,
    /// True from a flip until its roots are counted: flags say what roots held at the flip before.
    pub(in crate::plan) roots_uncounted: bool,
    /// Young objects that were counted and await promotion.
    pub promotion_queue: List<ObjectRef>,
    /// Large objects being promoted, with the chunk to count next.
    pub large_promotion: List<(ObjectRef, u64)>,
    /// Objects whose count has reached zero.
    pub free_queue: List<ObjectRef>,
    /// Dead, but named by the running log.
    pub late_queue: List<ObjectRef>,
    /// Objects that died while the mark was running.
    pub dead_queue: ObjectStack,
    /// The mark has reached objects for which there was no room in its stack.
    pub mark_overflowed: bool,
    /// Memory of the passes for the words of one entry.
    pub scratch: List<u64>,
}

impl Deferred {
    pub(crate) fn new(options: &HeapOptions) -> Deferred {
        Deferred {
            log: Log::default(),
            log_poll_at: options.log_entries,
            counting: false,
            roots_uncounted: false,
            promotion_queue: List::new(),
            large_promotion: List::new(),
            free_queue: List::new(),
            late_queue: List::new(),
            dead_queue: ObjectStack::default(),
            mark_overflowed: false,
            scratch: List::new(),
        }
    }
}
