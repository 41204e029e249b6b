//! One heap: its blocks, logs, queues and counters, and the context that compiled code allocates through.
//!
//! A heap belongs to one mutator thread at a time. The mutator's side of the work stands in `allocate` and `barrier`,
//! counting in `count`; what happens between two flips is decided by the [`EpochDriver`] that was installed when the
//! heap was made (`tally-collector`). The heap calls the driver, never the other way round without being handed the heap.

use crate::context::Context;
use crate::epoch_driver::{EpochDriver, NoDriver};
use crate::memory::large::LargeSpace;
use crate::memory::list::List;
use crate::memory::object_stack::ObjectStack;
use crate::memory::range::{self, RangeError};
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

/// Numbers name heaps in block tables; 0 is nobody's.
static NEXT_NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);

/// See the file's first lines.
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
    /// True while a backup mark is running: the dead keep their memory.
    pub marking: bool,
    /// True while the backup mark still discovers: references that vanish are shown to it.
    pub mark_discovers: bool,
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
    /// What objects own outside the heap.
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
    /// What only the prompt plan has.
    pub prompt: Prompt,
    /// Whether drains of the pending list are sliced.
    pub(crate) sliced_drains: bool,
    /// True while an allocation may have to think of more than its cell; found anew when it was.
    pub(crate) due_at_allocation: bool,
    /// What happens when memory runs out.
    pub(crate) limits: Limits,
    /// Nothing dies by itself (`control`).
    pub(crate) stopped: bool,
    driver: Box<dyn EpochDriver>,
}

impl Heap {
    /// A heap with nothing in it. The box stays where it is: compiled code holds its address.
    ///
    /// # Errors
    /// [`RangeError`] when the process's heap range cannot be reserved.
    pub fn new(options: HeapOptions, driver: Box<dyn EpochDriver>) -> Result<Box<Heap>, RangeError> {
        range::reserve()?;
        let nowhere = crate::plan::deferred::block::Hole { start: 0, end: 0 };
        let mut heap = Box::new(Heap {
            number: 0,
            plan: options.plan,
            context: std::ptr::null_mut(),
            own_context: Box::default(),
            epoch: FIRST_EPOCH,
            blocks: BlockSpace::default(),
            large: LargeSpace::default(),
            hole: nowhere,
            hole_start: 0,
            overflow: nowhere,
            given_bytes: 0,
            log: Log::default(),
            log_poll_at: options.log_entries,
            counting: false,
            roots_uncounted: false,
            promotion_queue: List::new(),
            large_promotion: List::new(),
            free_queue: List::new(),
            late_queue: List::new(),
            candidates: List::new(),
            suspects: 0,
            marking: false,
            mark_discovers: false,
            mark_stack: options.plan.mark_stack(&options),
            mark_overflowed: false,
            dead_queue: ObjectStack::default(),
            specials: Specials::default(),
            host_roots: HostRoots::default(),
            handles: Handles::default(),
            immortals: Immortals::default(),
            external: External::default(),
            scratch: List::new(),
            statistics: Statistics::at_first(),
            utilisation: Utilisation::default(),
            allocated_bytes_at_flip: 0,
            zeal: options.zeal.then(Box::default),
            finalizers: Finalizers::default(),
            prompt: Prompt::default(),
            sliced_drains: options.pause_goal_ns.is_some(),
            due_at_allocation: true,
            limits: Limits::failing(options.fail_allocation),
            stopped: false,
            driver,
            options,
        });
        heap.blocks.quarantine = heap.options.zeal;
        heap.number = NEXT_NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (heap.blocks.owner, heap.large.owner, heap.prompt.cells.owner) = (heap.number, heap.number, heap.number);
        heap.prompt.round_at = crate::plan::prompt::FIRST_ROUND;
        heap.prompt.cells.youth.off = !heap.options.trials;
        heap.context = &raw mut *heap.own_context;
        heap.context_mut().stamp = FIRST_EPOCH;
        heap.context_mut().heap = &raw mut *heap;
        Ok(heap)
    }

    /// When objects are counted and die.
    #[inline(always)]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The context through which this heap allocates.
    #[inline(always)]
    pub fn context_mut(&mut self) -> &mut Context {
        // SAFETY: points to this heap's own context, or to the context of the thread it is attached to.
        unsafe { &mut *self.context }
    }

    /// Makes this the calling thread's heap: compiled code on this thread allocates here from now on.
    ///
    /// # Panics
    /// If another heap is attached to this thread.
    pub fn attach(&mut self) {
        let thread = crate::context::current();
        // SAFETY: this thread's context.
        let attached = unsafe { (*thread).heap };
        assert!(attached.is_null(), "a heap is already attached to this thread; detach it first");
        // Frames that lend roots may have been entered before the thread had a heap.
        // SAFETY: this thread's context.
        let &Context { lent, lent_high, .. } = unsafe { &*thread };
        let context = self.context_mut();
        (context.lent, context.lent_high) = (lent, lent_high);
        self.move_context(thread);
    }

    /// Whether this thread's compiled code runs on this heap.
    pub fn is_attached(&self) -> bool {
        std::ptr::eq(self.context, crate::context::current())
    }

    /// Undoes [`attach`](Self::attach).
    pub fn detach(&mut self) {
        let own = &raw mut *self.own_context;
        let thread = self.context;
        self.move_context(own);
        if !std::ptr::eq(thread, own) {
            // Frames may be there that lend roots.
            let &mut Context { lent, lent_high, .. } = self.context_mut();
            // SAFETY: the context we just moved out of.
            unsafe { *thread = Context { lent, lent_high, ..Context::default() } };
        }
    }

    fn move_context(&mut self, to: *mut Context) {
        if std::ptr::eq(self.context, to) {
            return;
        }
        // SAFETY: both are contexts, and they are different.
        unsafe { std::ptr::copy_nonoverlapping(self.context, to, 1) };
        self.context = to;
    }

    /// Whether a poll at a safepoint should call the slow path.
    pub fn set_poll(&mut self, due: bool) {
        self.context_mut().poll = due as u32;
    }

    /// Whether the object lies in a block of this heap.
    #[inline(always)]
    pub fn owns(&self, object: ObjectRef) -> bool {
        self.owns_address(object.address())
    }

    /// The same for what may have been an object of this heap once: its block may be another's by now, on another thread.
    pub fn still_owns(&self, object: ObjectRef) -> bool {
        range::owner_of(range::block_of(object.address())) == self.number
    }

    /// Whether an address of the heap range lies in a block of this heap.
    #[inline(always)]
    pub fn owns_address(&self, address: u64) -> bool {
        // SAFETY: the entry of an address in the heap range.
        unsafe { (*range::block_info(range::block_of(address))).owner == self.number }
    }

    /// Whether any address at all lies in memory of this heap's objects: in one of its blocks of small ones, or in a large one.
    pub fn contains(&self, address: u64) -> bool {
        if !range::in_heap(address) || !range::is_reserved(address) {
            return false;
        }
        // SAFETY: the entry of an address in the reserved range.
        let state = unsafe { (*range::block_info(range::block_of(address))).state };
        // Of a large object only the first block has an entry, which stays behind.
        self.large.object_at(address).is_some()
            || state != crate::plan::deferred::block::state::LARGE && self.owns_address(address)
    }

    /// Bytes of blocks in use, with those of dead large objects whose memory is on its way back to the system.
    pub fn used_bytes(&self) -> u64 {
        self.blocks.used_bytes() + self.large.used_bytes() + self.prompt.cells.used_bytes()
    }

    /// The same without those.
    pub fn kept_bytes(&self) -> u64 {
        self.used_bytes() - self.large.leaving.blocks() * crate::memory::range::BLOCK_BYTES
    }

    /// Nothing of the program runs any more: what is at zero dies; then all finalizers run that have not, if the
    /// program wants that.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub unsafe fn end_of_program(heap: *mut Heap) {
        // SAFETY: by the caller's promise.
        unsafe {
            Heap::drain_at_end(heap);
            if crate::services::finalizer::are_run_at_exit() {
                Heap::finalize_all(heap);
            }
        }
    }

    /// Calls the epoch driver with the heap.
    pub fn with_driver<T>(&mut self, call: impl FnOnce(&mut dyn EpochDriver, &mut Heap) -> T) -> T {
        let mut driver: Box<dyn EpochDriver> = std::mem::replace(&mut self.driver, Box::new(NoDriver));
        let answer = call(&mut *driver, self);
        self.driver = driver;
        answer
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.detach();
    }
}

impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Heap(epoch {}, {} live objects)", self.epoch, self.statistics.live_objects)
    }
}
