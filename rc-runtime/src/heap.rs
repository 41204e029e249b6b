//! One heap: its blocks, logs, queues and counters, and the context that compiled code allocates through.
//!
//! A heap belongs to one mutator thread at a time. The mutator's side of the work stands in `allocate` and `barrier`,
//! counting in `count`; what happens between two flips is decided by the [`EpochDriver`] that was installed when the
//! heap was made (`tally-collector`). The heap calls the driver, never the other way round without being handed the heap.

pub mod clock;
mod life;

use crate::context::Context;
use crate::epoch_driver::EpochDriver;
use crate::mark_phase::MarkPhase;
use crate::memory::large::LargeSpace;
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::plan::deferred::Deferred;
use crate::plan::prompt::Prompt;
use crate::report::statistics::Statistics;
use crate::report::utilisation::Utilisation;
use crate::services::Services;
use crate::zeal::Zeal;
use clock::Clock;
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
    pub(crate) options: HeapOptions,
    pub(crate) context: *mut Context,
    own_context: Box<Context>,
    /// What has been allocated since when.
    pub clock: Clock,
    /// Large objects.
    pub large: LargeSpace,
    /// Objects that may root a garbage cycle. `[CANDIDATE]`
    pub candidates: List<ObjectRef>,
    /// Candidates that found no room or no verdict, and references to stuck counts that went away: evidence for the backup
    /// mark.
    pub suspects: u64,
    mark_phase: MarkPhase,
    /// The deferred plan's part.
    pub deferred: Deferred,
    /// The prompt plan's part.
    pub prompt: Prompt,
    /// What languages have beside objects.
    pub services: Services,
    /// Counters.
    pub statistics: Statistics,
    /// The last stops, for those of the counters that say what they left to the program.
    pub(crate) utilisation: Utilisation,
    /// The paranoid bookkeeping, in zeal.
    pub zeal: Option<Box<Zeal>>,
    /// True while an allocation may have to think of more than its cell; found anew when it was.
    pub(crate) due_at_allocation: bool,
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
