//! How a heap is set up: the plan, and what may be set before the first object.

use std::time::Duration;
use tally_heap::plan::Plan;

/// How a heap is set up. Each function returns the options with one thing set.
///
/// ```
/// use std::time::Duration;
/// use tally::{Heap, HeapOptions, OutOfMemory, TypeBuilder};
///
/// let options = HeapOptions::new().heap_limit(1 << 20).pause_goal(Duration::from_millis(1));
/// let mut heap = Heap::new(options)?;
/// let bytes = TypeBuilder::new("Bytes", 8).elements(0, 1).register()?;
/// let refused = heap.scope().allocate_array(bytes, 2 << 20).map(drop);
/// assert!(matches!(refused, Err(OutOfMemory::Limit { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct HeapOptions {
    plan: Plan,
    heap_limit: Option<u64>,
    epoch_bytes: Option<u64>,
    pause_goal: Option<Duration>,
    alloc_sites: Option<u64>,
    fail_allocation: Option<u64>,
    zeal: bool,
}

impl HeapOptions {
    /// The deferred plan, no limit, no pause goal.
    pub fn new() -> HeapOptions {
        HeapOptions::default()
    }

    /// When objects are counted and die.
    pub fn plan(mut self, plan: Plan) -> HeapOptions {
        self.plan = plan;
        self
    }

    /// Bytes of blocks that must not be exceeded.
    pub fn heap_limit(mut self, bytes: u64) -> HeapOptions {
        self.heap_limit = Some(bytes);
        self
    }

    /// Bytes allocated between two epochs; fewer than 4096 mean 4096.
    pub fn epoch_bytes(mut self, bytes: u64) -> HeapOptions {
        self.epoch_bytes = Some(bytes);
        self
    }

    /// The longest stop to aim at.
    pub fn pause_goal(mut self, goal: Duration) -> HeapOptions {
        self.pause_goal = Some(goal);
        self
    }

    /// Records where objects are allocated: of one for so many bytes on average (131,072 is usual), or of every object with 0.
    /// [`Scope::alloc_site`](crate::Scope::alloc_site) and the leak report say it.
    pub fn alloc_sites(mut self, bytes: u64) -> HeapOptions {
        self.alloc_sites = Some(bytes);
        self
    }

    /// The allocation with that number, from 1 on, finds no room: to test what the program does then.
    pub fn fail_allocation(mut self, number: u64) -> HeapOptions {
        self.fail_allocation = Some(number);
        self
    }

    /// Looks for mistakes at every safepoint, at any price in time: to test a host.
    pub fn zeal(mut self, on: bool) -> HeapOptions {
        self.zeal = on;
        self
    }

    pub(crate) fn goal(&self) -> Option<Duration> {
        self.pause_goal
    }

    pub(crate) fn inner(&self) -> tally_heap::HeapOptions {
        let inner = tally_heap::HeapOptions::default();
        tally_heap::HeapOptions {
            plan: self.plan,
            heap_limit: self.heap_limit,
            epoch_bytes: self
                .epoch_bytes
                .map_or(inner.epoch_bytes, |bytes| bytes.max(tally_heap::services::control::EPOCH_BYTES_MIN)),
            epoch_grows: self.epoch_bytes.is_none(),
            mark_ns: tally_heap::heap::MARK_NS,
            traces: tally_heap::heap::Traces::WhereItPays,
            alloc_sites: self.alloc_sites,
            fail_allocation: self.fail_allocation,
            zeal: self.zeal,
            ..inner
        }
    }
}

/// Nanoseconds of a goal: as many as there are in a number of 64 bits, and one at least.
pub(crate) fn nanoseconds(goal: Duration) -> u64 {
    u64::try_from(goal.as_nanos()).unwrap_or(u64::MAX).max(1)
}
