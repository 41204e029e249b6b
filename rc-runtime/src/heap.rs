//! One heap: its blocks, logs, queues and counters, and the context that compiled code allocates through.
//!
//! A heap belongs to one mutator thread at a time. The mutator's side of the work stands in `allocate` and `plan::deferred::barrier`,
//! counting in `count`; what happens between two flips is decided by the [`EpochDriver`] that was installed when the
//! heap was made (`tally-collector`). The heap calls the driver, never the other way round without being handed the heap.

pub mod clock;
mod life;
pub mod options;

use crate::context::Context;
use crate::epoch_driver::EpochDriver;
use crate::mark_phase::MarkPhase;
use crate::memory::large::LargeSpace;
use crate::memory::list::List;
use crate::memory::object_stack::ObjectStack;
use crate::object::{FlagTest, ObjectRef};
use crate::plan::Plan;
use crate::plan::bump::BumpSpace;
use crate::plan::deferred::Deferred;
use crate::plan::prompt::Prompt;
use crate::plan::trace::Trace;
use crate::report::cycles::Cycles;
use crate::report::statistics::Statistics;
use crate::report::utilisation::Utilisation;
use crate::services::Services;
use crate::services::limits::Limits;
use crate::zeal::Zeal;
use clock::Clock;
pub use clock::{FIRST_EPOCH, LAST_EPOCH};
pub use options::{HeapOptions, MARK_NS, MARK_NS_PER_UNIT, Traces, ZEAL_LOOKS};
use std::ops::{Deref, DerefMut};

/// Numbers name heaps in block tables; 0 is no heap's.
static NEXT_NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);

/// One heap, of one mutator thread at a time.
pub struct Heap {
    number: u32,
    plan: Plan,
    regime: Plan,
    /// What flags say that a weak slot yields an object at once.
    pub(crate) yields: FlagTest,
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
    /// Objects that the mark has reached but not visited, if the plan has one stack for all its marks.
    pub mark_stack: ObjectStack,
    /// Small objects of the plans that bump a cursor.
    pub bump: BumpSpace,
    /// The deferred plan's part.
    pub deferred: Deferred,
    /// The prompt plan's part.
    pub prompt: Prompt,
    /// The trace plan's part.
    pub trace: Trace,
    /// What languages have beside objects.
    pub services: Services,
    /// Limits, and the handlers for memory that runs out.
    pub(crate) limits: Limits,
    /// Counters.
    pub statistics: Statistics,
    /// The last stops, for those of the counters that say what they left to the program.
    pub(crate) utilisation: Utilisation,
    /// The cycles that were collected, while they are noted.
    pub(crate) cycles: Option<Box<Cycles>>,
    /// The paranoid bookkeeping, in zeal.
    pub zeal: Option<Box<Zeal>>,
    /// True while an allocation may have to think of more than its cell; found anew when it was.
    pub(crate) due_at_allocation: bool,
    /// Why safepoints pass over the collector (`control`); 0: they do not.
    pub(crate) stopped: u8,
    /// The exit anchor of the safepoint whose work is being done.
    pub(crate) work_anchor: [u64; 4],
    /// Lets go of the frames of a coroutine that is being taken apart. `[EXACT]`
    pub(crate) on_coroutine_death: Option<fn(&mut Heap, ObjectRef)>,
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
        // SAFETY: [HELD] by the promise of the entry's maker; the borrow ends before the entry is handed on.
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
