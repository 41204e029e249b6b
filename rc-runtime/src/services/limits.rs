//! The end of memory, and what comes before it: a soft limit, an emergency collection, the host's handler, a refusal.
//!
//! ```text
//!  blocks in use grow beyond the soft limit ──► its callback, once per crossing, at the next safepoint
//!  beyond the hard limit, or the range       ──► a full collection ──► the handler: "try again"? ──► [`OutOfMemory`]
//! ```
//!
//! Callback and handler are ordinary mutator code: they run before a cell is carved, may allocate, drop what they can
//! do without, collect, and set another in their place. Neither is called while it runs already. One that is left by an exception
//! or by `longjmp` is set as before, and called again at the next crossing or refusal. A handler that always says "try again" is
//! believed [`RETRIES_MAX`] times for one allocation. The caller decides what a refusal means: `tally_try_new` returns null, `tally_new`
//! ends the program.
//!
//! A failure can be asked for (`fail_allocation`): the n-th allocation finds no room, in a heap that has some. It is treated as a
//! real one, with the collection and the handler, so a program run once for each n has seen them all.

use crate::heap::{Heap, HeapEntry};
use crate::out_of_memory::{OutOfMemory, name_of};
use crate::type_registry::TypeInfo;

/// How often a handler is believed that it made room, for one allocation.
pub const RETRIES_MAX: u32 = 16;

/// Told how many bytes are in use, of blocks and outside.
pub type SoftLimitCallback = Box<dyn FnMut(&mut Heap, u64)>;
/// Takes the bytes asked for; returns whether to try again.
pub type OutOfMemoryHandler = Box<dyn FnMut(&mut Heap, u64) -> bool>;

/// The limits of a heap's memory, and the host's functions for them. The hard limit is an option of the heap.
#[derive(Default)]
pub struct Limits {
    /// Bytes of blocks beyond which the callback is called.
    soft: Option<u64>,
    /// More than that is in use, and has been reported.
    is_above: bool,
    /// The callback is to be called.
    pub(crate) soft_is_due: bool,
    on_soft_limit: HostFunction<SoftLimitCallback>,
    on_out_of_memory: HostFunction<OutOfMemoryHandler>,
    /// Allocations up to and including the one that is to fail; 0 = none is.
    pub(crate) until_failure: u64,
}

/// The host's function; none while it is being called.
struct HostFunction<F> {
    function: Option<F>,
    /// The function being called, the number of settings by then, and an address in the caller's frame: the call was left, by
    /// `longjmp` or by an exception, when the program is above that.
    running: Option<(F, u64, u64)>,
    /// How often a function, or none, was set.
    times: u64,
    /// Functions that were replaced while they ran: what they own is dropped when nothing of the heap is in use.
    replaced: Vec<F>,
}

impl<F> Default for HostFunction<F> {
    fn default() -> Self {
        HostFunction { function: None, running: None, times: 0, replaced: Vec::new() }
    }
}

impl<F> HostFunction<F> {
    /// Returns the one that was set before.
    fn set(&mut self, function: Option<F>) -> Option<F> {
        self.times += 1;
        std::mem::replace(&mut self.function, function)
    }

    /// Returns the function to call now, from this frame; the heap keeps it meanwhile.
    fn take(&mut self, frame: u64) -> Option<*mut F> {
        let function = self.function.take()?;
        Some(&raw mut self.running.insert((function, self.times, frame)).0)
    }

    /// The call has returned, or was left: the function is set again, unless another, or none, was set meanwhile.
    fn put_back(&mut self) {
        match self.running.take() {
            Some((function, times, _)) if times == self.times => self.function = Some(function),
            Some((function, ..)) => self.replaced.push(function),
            None => {}
        }
    }

    /// The program has come to a frame at `here`; whether the call was left.
    fn note_landing(&mut self, here: u64) -> bool {
        let is_left = self.running.as_ref().is_some_and(|&(.., frame)| frame <= here);
        if is_left {
            self.put_back();
        }
        is_left
    }
}

impl Limits {
    /// Whether callback or handler is being called.
    #[inline(always)]
    pub(crate) fn calls_host(&self) -> bool {
        self.on_soft_limit.running.is_some() || self.on_out_of_memory.running.is_some()
    }

    /// A frame at `here` runs: callback and handler are gone if they were called from below, by `longjmp`. True when one was, and
    /// none runs now.
    fn note_landing(&mut self, here: u64) -> bool {
        let any = self.on_soft_limit.note_landing(here) | self.on_out_of_memory.note_landing(here);
        any && self.on_soft_limit.running.is_none() && self.on_out_of_memory.running.is_none()
    }

    /// Those of a new heap, whose `number`-th allocation finds no room.
    pub(crate) fn failing(number: Option<u64>) -> Limits {
        Limits { until_failure: number.unwrap_or(0), ..Limits::default() }
    }
}

impl Heap {
    /// The program runs in a frame at `here`: callback and handler that were called from below, and left by `longjmp`, may be
    /// called again. Objects protected at their safepoint are not any more, nor held by functions of the runtime.
    pub(crate) fn note_landing_of_host(&mut self, here: u64) {
        self.end_left_holds(here);
        if self.limits.note_landing(here) {
            self.end_protection_of_left_calls();
        }
    }

    /// Bytes of blocks beyond which the host's callback is called, and those that must not be exceeded; `None` for no limit.
    pub fn set_limits(&mut self, soft: Option<u64>, hard: Option<u64>) {
        self.options.heap_limit = hard;
        self.limits.soft = soft;
        self.limits.is_above = false;
        self.note_growth();
    }

    /// Calls `callback` at the first safepoint after each crossing of the soft limit. Returns the one before: what it owns may use
    /// the heap where it is dropped.
    #[must_use = "it is dropped where nothing borrows the heap"]
    pub fn on_soft_limit(&mut self, callback: Option<SoftLimitCallback>) -> Option<SoftLimitCallback> {
        self.limits.on_soft_limit.set(callback)
    }

    /// Calls `handler` when a collection has not made enough room. Returns the one before, as [`on_soft_limit`](Self::on_soft_limit).
    #[must_use = "it is dropped where nothing borrows the heap"]
    pub fn on_out_of_memory(&mut self, handler: Option<OutOfMemoryHandler>) -> Option<OutOfMemoryHandler> {
        self.limits.on_out_of_memory.set(handler)
    }

    /// The `number`-th allocation from now on finds no room; 0 = none. Inline allocations of compiled code are counted if
    /// [`HeapOptions::fail_allocation`](crate::HeapOptions) asked for it before they began.
    pub fn fail_allocation(&mut self, number: u64) {
        self.limits.until_failure = number;
        self.due_at_allocation = true;
    }

    /// Whether compiled code must find no cell, so that each of its allocations comes to the runtime.
    #[inline(always)]
    pub(crate) fn every_allocation_calls(&self) -> bool {
        self.zeal.is_some() || self.limits.until_failure != 0 || self.records_all_sites()
    }

    /// More or fewer blocks are in use than before.
    #[inline(always)]
    pub(crate) fn note_growth(&mut self) {
        if let Some(soft) = self.limits.soft {
            let above = self.pressure_bytes() > soft;
            self.limits.soft_is_due |= above && !self.limits.is_above;
            self.limits.is_above = above;
            if self.limits.soft_is_due {
                self.due_at_allocation = true;
                self.request_safepoint();
            }
        }
    }

    /// Calls the functions that are due, at a safepoint.
    #[cold]
    pub(crate) fn run_soft_limit_callback(mut heap: HeapEntry) {
        heap.limits.soft_is_due = false;
        let used = heap.pressure_bytes();
        let frame = &raw const used as u64;
        heap.note_landing_of_host(frame);
        let Some(callback) = heap.limits.on_soft_limit.take(frame) else { return };
        // SAFETY: the callback stays where it is while it runs, and no other code calls it.
        Heap::call_host(heap, frame, |heap| unsafe { &mut *callback }(heap, used));
        heap.limits.on_soft_limit.put_back();
        Heap::drop_replaced(heap, frame, std::mem::take(&mut heap.limits.on_soft_limit.replaced));
    }

    /// Asks the host whether to try again after this refusal, for the `retries`-th time.
    #[cold]
    pub(crate) fn host_made_room(mut heap: HeapEntry, error: &OutOfMemory, retries: u32) -> bool {
        let requested = match error {
            OutOfMemory::Absurd { .. } => return false,
            OutOfMemory::Limit { requested, .. }
            | OutOfMemory::Range { requested, .. }
            | OutOfMemory::AskedFor { requested, .. } => *requested,
        };
        if retries >= RETRIES_MAX {
            return false;
        }
        let frame = &raw const requested as u64;
        heap.note_landing_of_host(frame);
        let Some(handler) = heap.limits.on_out_of_memory.take(frame) else { return false };
        // SAFETY: the handler stays where it is while it runs, and no other code calls it.
        let again = Heap::call_host(heap, frame, |heap| unsafe { &mut *handler }(heap, requested));
        heap.limits.on_out_of_memory.put_back();
        Heap::drop_replaced(heap, frame, std::mem::take(&mut heap.limits.on_out_of_memory.replaced));
        again
    }

    /// Drops functions of the host: what they own may use the heap, as they themselves might.
    fn drop_replaced<F>(heap: HeapEntry, frame: u64, replaced: Vec<F>) {
        if !replaced.is_empty() {
            Heap::call_host(heap, frame, |_| drop(replaced));
        }
    }

    /// Runs mutator code in the middle of a safepoint, from a frame at `frame`: afterwards the stack is walked from where the
    /// safepoint began.
    fn call_host<T>(mut heap: HeapEntry, frame: u64, call: impl FnOnce(&mut Heap) -> T) -> T {
        let anchor = heap.context_mut().exit_anchor();
        let running = HostCall { heap, frame };
        let answer = call(&mut heap);
        std::mem::forget(running);
        heap.context_mut().set_exit_anchor(anchor);
        answer
    }

    /// Whether this allocation is the one that is to fail. The heap is collected then, as if it were full.
    #[inline(always)]
    pub(crate) fn fails_as_asked(&mut self, info: &TypeInfo, bytes: u64) -> Result<(), OutOfMemory> {
        if self.limits.until_failure == 0 {
            return Ok(());
        }
        self.limits.until_failure -= 1;
        if self.limits.until_failure != 0 {
            return Ok(());
        }
        // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
        // pointer.
        Heap::collect(unsafe { HeapEntry::of(self) });
        Err(OutOfMemory::AskedFor { requested: bytes, type_name: name_of(info) })
    }
}

/// A call of a host's function that has not returned. It is dropped if an exception leaves it; one that `longjmp` leaves is noticed
/// when the program is above `frame`, or never: a callback that panicked was not called again as long as safepoints came from
/// deeper on the stack.
struct HostCall {
    heap: HeapEntry,
    frame: u64,
}

impl Drop for HostCall {
    fn drop(&mut self) {
        self.heap.note_landing_of_host(self.frame);
    }
}

impl std::fmt::Debug for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Limits(soft {:?}, {} allocations to a failure)", self.soft, self.until_failure)
    }
}
