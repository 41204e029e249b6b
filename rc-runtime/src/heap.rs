//! One heap: its blocks, logs, queues and counters, and the context that compiled code allocates through.
//!
//! A heap belongs to one mutator thread at a time. The mutator's side of the work stands in `allocate` and `barrier`,
//! counting in `count`; what happens between two flips is decided by the [`EpochDriver`] that was installed when the
//! heap was made (`tally-collector`). The heap calls the driver, never the other way round without being handed the heap.

mod life;

use crate::context::Context;
use crate::epoch_driver::EpochDriver;
use crate::mark_phase::MarkPhase;
use crate::memory::large::LargeSpace;
use crate::memory::list::List;
use crate::memory::object_stack::ObjectStack;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::plan::deferred::block::BlockSpace;
use crate::plan::deferred::log::Log;
use crate::plan::prompt::Prompt;
use crate::report::statistics::Statistics;
use crate::report::utilisation::Utilisation;
use crate::services::external::External;
use crate::services::finalizer::Finalizers;
use crate::services::handle::Handles;
use crate::services::host_roots::HostRoots;
use crate::services::immortal::Immortals;
use crate::services::limits::Limits;
use crate::services::special::Specials;
use crate::zeal::Zeal;
use std::ops::{Deref, DerefMut};

/// Stamp of the first epoch; 0 means clean and 1 is never given, so that "the last epoch" is never 0.
pub const FIRST_EPOCH: u32 = 2;
/// Stamps beyond this make the next flip start over from [`FIRST_EPOCH`].
pub const LAST_EPOCH: u32 = u32::MAX - 1;

/// How a heap is set up.
#[derive(Debug, Clone)]
pub struct HeapOptions {
    /// When objects are counted and die.
    pub plan: Plan,
    /// Bytes of blocks that must not be exceeded.
    pub heap_limit: Option<u64>,
    /// Bytes allocated between two flips.
    pub epoch_bytes: u64,
    /// Logged objects before a flip is considered for the log's sake.
    pub log_entries: u64,
    /// Longest slice aimed at, nanoseconds.
    pub slice_ns: u64,
    /// Longest stop that the program asked for. Under the prompt plan only with one are deaths sliced.
    pub pause_goal_ns: Option<u64>,
    /// Run every epoch to its end inside the flip: the reference form of the passes. The default of a build with the
    /// feature `stop-the-world`.
    pub stop_the_world: bool,
    /// Whether candidates are tried at all.
    pub trials: bool,
    /// Start a backup mark at the end of every epoch instead of waiting for evidence: small heaps in tests see one, too.
    pub eager_marks: bool,
    /// Every slice does this many units of work, and the clock decides nothing: a replayed program runs exactly as before.
    pub slice_units: Option<u32>,
    /// Single log entries in a block before the whole block is logged.
    pub block_log_after: u16,
    /// Entries that the mark stack and the candidate buffer may hold: as if there were no memory for more.
    pub list_entries_max: Option<usize>,
    /// Count allocated objects by walking retired holes.
    pub count_objects: bool,
    /// The allocation that finds no room, counted from 1 (`limits`).
    pub fail_allocation: Option<u64>,
    /// An epoch at every safepoint, poison, quarantine, verification.
    pub zeal: bool,
    /// How many objects zeal may look at for each epoch, on average.
    pub zeal_looks: usize,
}

/// [`HeapOptions::zeal_looks`] of a program's heap: looks at 64 objects cost about what the rest of an epoch does.
pub const ZEAL_LOOKS: usize = 64;

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions {
            plan: Plan::Deferred,
            heap_limit: None,
            epoch_bytes: 8 << 20,
            log_entries: 256 << 10,
            slice_ns: 500_000,
            pause_goal_ns: None,
            stop_the_world: cfg!(feature = "stop-the-world"),
            trials: true,
            eager_marks: false,
            slice_units: None,
            block_log_after: 64,
            list_entries_max: None,
            count_objects: true,
            fail_allocation: None,
            zeal: false,
            zeal_looks: usize::MAX,
        }
    }
}

/// Numbers name heaps in block tables; 0 is no heap's.
static NEXT_NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);

/// One heap, of one mutator thread at a time.
pub struct Heap {
    number: u32,
    plan: Plan,
    /// How it was set up.
    pub options: HeapOptions,
    /// Where compiled code (or the host) allocates: the thread's context while attached, else `own_context`.
    pub context: *mut Context,
    own_context: Box<Context>,
    /// The running epoch.
    pub epoch: u32,
    /// Small objects.
    pub blocks: BlockSpace,
    /// Large objects.
    pub large: LargeSpace,
    pub(crate) hole: crate::plan::deferred::block::Hole,
    pub(crate) hole_start: u64,
    pub(crate) overflow: crate::plan::deferred::block::Hole,
    /// Bytes handed out for allocation since the last flip.
    pub given_bytes: u64,
    /// The running epoch's log.
    pub log: Log,
    /// Entries in `log` at which the poll flag is raised.
    pub log_poll_at: u64,
    /// True while the last flip's increments are running: pending objects may exist. `[PENDING]`
    pub counting: bool,
    /// True from a flip until its roots are counted: flags say what roots held at the flip before.
    pub roots_uncounted: bool,
    /// Young objects that were counted and await promotion.
    pub promotion_queue: List<ObjectRef>,
    /// Large objects being promoted, with the chunk to count next.
    pub large_promotion: List<(ObjectRef, u64)>,
    /// Objects whose count has reached zero.
    pub free_queue: List<ObjectRef>,
    /// Dead, but named by the running log.
    pub late_queue: List<ObjectRef>,
    /// Objects that may root a garbage cycle. `[CANDIDATE]`
    pub candidates: List<ObjectRef>,
    /// Candidates that found no room or no verdict, and references to stuck counts that went away: evidence for the backup
    /// mark.
    pub suspects: u64,
    /// What a running mark means to the program.
    mark_phase: MarkPhase,
    /// Objects the mark has reached but not visited.
    pub mark_stack: ObjectStack,
    /// The mark has reached others for which there was no room there.
    pub mark_overflowed: bool,
    /// Objects that died while the mark was running.
    pub dead_queue: ObjectStack,
    /// Records of special objects.
    pub specials: Specials,
    /// Roots that a host in Rust holds on its stack.
    pub host_roots: HostRoots,
    /// Roots that native code holds by handles.
    pub handles: Handles,
    /// Objects that never die.
    pub immortals: Immortals,
    /// Memory that objects own outside the heap.
    pub external: External,
    /// Memory of the passes for the words of one entry.
    pub scratch: List<u64>,
    /// Counters.
    pub statistics: Statistics,
    /// The last stops, for those of the counters that say what they left to the program.
    pub(crate) utilisation: Utilisation,
    /// `statistics.allocated_bytes` at the last flip.
    pub allocated_bytes_at_flip: u64,
    /// The paranoid bookkeeping, in zeal.
    pub zeal: Option<Box<Zeal>>,
    /// Finalizers that are to run.
    pub finalizers: Finalizers,
    /// The state of the prompt plan.
    pub prompt: Prompt,
    /// Whether drains of the pending list are sliced.
    pub(crate) sliced_drains: bool,
    /// True while an allocation may have to think of more than its cell; found anew when it was.
    pub(crate) due_at_allocation: bool,
    /// Limits, and the handlers for memory that runs out.
    pub(crate) limits: Limits,
    /// Nothing dies by itself (`control`).
    pub(crate) stopped: bool,
    driver: Box<dyn EpochDriver>,
}

/// The way to a heap that the program may come back to: finalizers, callbacks and hooks of the host use it while the
/// runtime is at work.
///
/// So no borrow of it may be kept while the program is called. An entry is copied, not borrowed: a function that calls the
/// program takes one, each use of it borrows the heap for an expression, and the compiler refuses a borrow that is alive
/// when the entry is handed on. `[HELD]`
#[derive(Debug, Clone, Copy)]
pub struct HeapEntry(*mut Heap);

impl HeapEntry {
    /// The way to that heap.
    ///
    /// # Safety
    /// The heap lives, on this thread, for as long as the entry and its copies are used. No other borrow of it is used
    /// meanwhile.
    #[inline(always)]
    pub const unsafe fn of(heap: *mut Heap) -> HeapEntry {
        HeapEntry(heap)
    }
}

impl Deref for HeapEntry {
    type Target = Heap;

    #[inline(always)]
    fn deref(&self) -> &Heap {
        // SAFETY: [HELD] by the promise of whoever made the entry; the borrow ends before the entry is handed on.
        unsafe { &*self.0 }
    }
}

impl DerefMut for HeapEntry {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Heap {
        // SAFETY: [HELD] as above.
        unsafe { &mut *self.0 }
    }
}
