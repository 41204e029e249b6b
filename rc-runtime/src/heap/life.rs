//! A heap is made, attached to its thread, asked for work, and dropped.

use super::clock::Clock;
use super::{FIRST_EPOCH, Heap, HeapEntry, HeapOptions, NEXT_NUMBER};
use crate::at_work::{self, Places};
use crate::context::Context;
use crate::epoch_driver::{EpochDriver, NoDriver};
use crate::mark_phase::MarkPhase;
use crate::memory::large::LargeSpace;
use crate::memory::list::List;
use crate::memory::range::{self, RangeError};
use crate::object::{FlagTest, ObjectRef};
use crate::plan::Plan;
use crate::plan::bump::BumpSpace;
use crate::plan::deferred::Deferred;
use crate::plan::prompt::Prompt;
use crate::plan::trace::Trace;
use crate::report::statistics::Statistics;
use crate::report::utilisation::Utilisation;
use crate::services::Services;
use crate::services::limits::Limits;

impl Heap {
    /// A heap with nothing in it. The box stays where it is: compiled code holds its address.
    ///
    /// # Errors
    /// [`RangeError`] when the process's heap range cannot be reserved.
    ///
    /// # Safety
    /// The heap's owner uses references and slots as `[HELD]` says, and does not replace or drop it while it runs. The driver
    /// is of the plan of the options.
    pub unsafe fn new(options: HeapOptions, driver: Box<dyn EpochDriver>) -> Result<Box<Heap>, RangeError> {
        range::reserve()?;
        options.pause_goal_ns.into_iter().for_each(range::note_pause_goal);
        let number = NEXT_NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut heap = Box::new(Heap {
            number,
            plan: options.plan,
            regime: options.first_regime(),
            yields: FlagTest::NONE,
            context: std::ptr::null_mut(),
            own_context: Box::default(),
            clock: Clock::default(),
            large: LargeSpace::default(),
            candidates: List::new(),
            suspects: 0,
            mark_phase: MarkPhase::Off,
            mark_stack: options.plan.mark_stack(&options),
            bump: BumpSpace::new(number, options.zeal),
            deferred: Deferred::new(&options),
            prompt: Prompt::default(),
            trace: Trace::default(),
            services: Services::of(&options),
            limits: Limits::failing(options.fail_allocation),
            statistics: Statistics::at_first(),
            utilisation: Utilisation::default(),
            cycles: options.note_cycles.then(Box::default),
            zeal: options.zeal.then(Box::default),
            due_at_allocation: true,
            stopped: 0,
            on_coroutine_death: None,
            work_anchor: [0; 4],
            driver,
            options,
        });
        heap.large.owner = number;
        heap.prompt.begin(number, &heap.options);
        heap.plan.prepare_deaths();
        heap.note_pause_goal(heap.options.pause_goal_ns.is_some());
        heap.note_what_yields();
        heap.context = &raw mut *heap.own_context;
        heap.context_mut().stamp = FIRST_EPOCH;
        heap.context_mut().heap = &raw mut *heap;
        Ok(heap)
    }

    /// How it was set up.
    #[inline(always)]
    pub fn options(&self) -> &HeapOptions {
        &self.options
    }

    /// The same, to be changed while the heap runs.
    pub fn options_mut(&mut self) -> &mut HeapOptions {
        &mut self.options
    }

    /// Where compiled code (or the host) allocates: the thread's context while attached, else the heap's own.
    #[inline(always)]
    pub fn context(&self) -> *mut Context {
        self.context
    }

    /// When objects are counted and die.
    #[inline(always)]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The plan whose rules hold now: those of the trace plan while a heap of the deferred plan marks instead of
    /// counting (`plan::deferred::marking`), else those of its own.
    #[inline(always)]
    pub fn regime(&self) -> Plan {
        self.regime
    }

    pub(crate) fn set_regime(&mut self, regime: Plan) {
        self.regime = regime;
        self.note_what_yields();
    }

    /// What a running mark means to the program.
    #[inline(always)]
    pub fn mark_phase(&self) -> MarkPhase {
        self.mark_phase
    }

    /// The mark has come to another phase. For the plan's driver.
    pub fn set_mark_phase(&mut self, phase: MarkPhase) {
        self.mark_phase = phase;
        self.note_mark_phase();
    }

    /// The context through which this heap allocates.
    #[inline(always)]
    pub fn context_mut(&mut self) -> &mut Context {
        // SAFETY: [CONTEXT] points to this heap's own context, or to the context of the thread it is attached to.
        unsafe { &mut *self.context }
    }

    /// Makes this the calling thread's heap: compiled code on this thread allocates here from now on.
    ///
    /// # Panics
    /// If another heap is attached to this thread.
    pub fn attach(&mut self) {
        let thread = crate::context::current();
        // SAFETY: [CONTEXT] this thread's context.
        let attached = unsafe { (*thread).heap };
        assert!(attached.is_null(), "a heap is already attached to this thread; detach it first");
        // Frames that lend roots may have been entered before the thread had a heap.
        // SAFETY: [CONTEXT] this thread's context.
        let &Context { address_taken, address_taken_high, .. } = unsafe { &*thread };
        let context = self.context_mut();
        (context.address_taken, context.address_taken_high) = (address_taken, address_taken_high);
        self.move_context(thread);
        // SAFETY: [CONTEXT] this thread's context; the anchor's four words lie one after the other.
        let anchor = unsafe { (&raw mut (*thread).exit_pc).cast() };
        at_work::attached(Places { stopped: &raw mut self.stopped, kept: &raw mut self.work_anchor, anchor });
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
            at_work::attached(Places::NONE);
            // Frames may be there that lend roots.
            let &mut Context { address_taken, address_taken_high, .. } = self.context_mut();
            // SAFETY: the context we just moved out of.
            unsafe { *thread = Context { address_taken, address_taken_high, ..Context::default() } };
        }
    }

    pub(in crate::heap) fn move_context(&mut self, to: *mut Context) {
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
        // SAFETY: [MAPPED] an address in the reserved range.
        unsafe { self.owns_address(object.address()) }
    }

    /// The same for what may have been an object of this heap once: its block may be another's by now, on another thread.
    #[inline(always)]
    pub fn still_owns(&self, object: ObjectRef) -> bool {
        // SAFETY: [MAPPED] an address in the reserved range.
        let owner = unsafe { range::owner_of(range::block_of(object.address())) };
        owner == self.number
    }

    /// Whether an address of the heap range lies in a block of this heap.
    ///
    /// # Safety
    /// The address lies in the reserved range.
    #[inline(always)]
    pub unsafe fn owns_address(&self, address: u64) -> bool {
        // SAFETY: the entry of an address in the heap range.
        unsafe { range::owner_of(range::block_of(address)) == self.number }
    }

    /// Whether any address at all lies in memory of this heap's objects: in one of its blocks of small ones, or in a large one.
    pub fn contains(&self, address: u64) -> bool {
        if !range::in_heap(address) || !range::is_reserved(address) {
            return false;
        }
        // SAFETY: [MAPPED] the entry of an address in the reserved range.
        let state = unsafe { (*range::block_info(range::block_of(address))).state.get() };
        // Of a large object only the first block has an entry, which stays behind.
        // SAFETY: [MAPPED] an address in the reserved range.
        self.large.object_at(address).is_some()
            || state != crate::memory::block_state::state::LARGE && unsafe { self.owns_address(address) }
    }

    /// The same without those.
    pub fn kept_bytes(&self) -> u64 {
        self.used_bytes() - self.large.leaving.blocks() * crate::memory::range::BLOCK_BYTES
    }

    /// Nothing of the program runs any more: objects at zero die; then all finalizers run that have not, if the
    /// program wants that.
    pub fn end_of_program(heap: HeapEntry) {
        Heap::drain_at_end(heap);
        if crate::services::finalizer::exit::are_run_at_exit() {
            Heap::finalize_all(heap);
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
        write!(f, "Heap(epoch {}, {} live objects)", self.clock.epoch, self.statistics.live_objects)
    }
}
