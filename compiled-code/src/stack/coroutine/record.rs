//! The record of a coroutine: where its stack is and where it stopped, beside its object.

use super::memory::Memory;
use super::{Entry, refuse, switch};
use crate::stack::{roots, shadow_stack};
use stack_roots::Registers;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr;
use tally_heap::fatal::{self, STATUS_MEMORY};
use tally_heap::memory::range;
use tally_heap::services::builtin;
use tally_heap::services::coroutine::RECORD;
use tally_heap::{Heap, ObjectRef};

/// What a coroutine does; `tally.h` has the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is new, or has switched to another stack, and none waits for one that waits for it.
    Suspended = 0,
    Running = 1,
    /// It goes on when the stack that it has switched to ends.
    Waiting = 2,
    Finished = 3,
}

/// One coroutine. Its address is in the object, which owns it.
pub(crate) struct Record {
    /// Where `switch::swap` left its stack.
    pub(super) sp: Cell<u64>,
    pub(super) state: Cell<State>,
    /// Its frames are laid down.
    pub(super) is_laid_down: Cell<bool>,
    /// It is on the thread's list of those that have run since they were laid down.
    pub(super) has_run: Cell<bool>,
    /// Prompt plan: it stopped while other frames had the address of a root.
    pub(super) lends: Cell<bool>,
    /// The collector has run on its stack, and may have touched many pages.
    pub(super) is_deep: Cell<bool>,
    lent: Cell<u64>,
    lent_high: Cell<u64>,
    /// Where scoped handles ended when it was last entered; when it waits, where they ended when it was left.
    handle_top: Cell<u64>,
    pub(super) shadow: Cell<u64>,
    low: u64,
    high: u64,
    /// `None`: the thread's own stack, or it has finished.
    pub(super) memory: Cell<Option<Memory>>,
    pub(super) object: Cell<u64>,
    heap: *const Heap,
    before: Cell<*const Record>,
    after: Cell<*const Record>,
}

/// What a thread knows of its stacks.
pub(super) struct Thread {
    /// The one that runs; null: the thread's own, which is no coroutine yet.
    current: Cell<*const Record>,
    /// Those that have run since they were laid down.
    ran: Cell<*const Record>,
    /// The memory of a stack that has finished, and was left a moment ago.
    pub(super) finished: Cell<Option<ManuallyDrop<Memory>>>,
}

thread_local! {
    pub(super) static THREAD: Thread = const {
        Thread { current: Cell::new(ptr::null()), ran: Cell::new(ptr::null()), finished: Cell::new(None) }
    };
}

/// The record of the stack that runs; `None` while the thread has no coroutines.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Record> {
    // SAFETY: a record lives as long as its stack may run.
    THREAD.with(|thread| unsafe { thread.current.get().as_ref() })
}

pub(super) fn set_current(record: Option<&Record>) {
    THREAD.with(|thread| thread.current.set(record.map_or(ptr::null(), ptr::from_ref)));
}

/// Whether there is a coroutine at that address.
#[inline(always)]
pub(super) fn is_coroutine(address: u64) -> bool {
    // SAFETY: [HEADER] the program names objects, or addresses outside the heap.
    range::in_heap(address) && address & 7 == 0 && builtin::is_coroutine(unsafe { ObjectRef::from_address(address) })
}

/// The record of a coroutine.
#[inline(always)]
pub(super) fn record_of(coroutine: ObjectRef) -> &'static Record {
    let record = coroutine.slot(RECORD).read();
    // SAFETY: written when the coroutine was made, which owns it.
    unsafe { &*(record as *const Record) }
}

/// The thread's own stack becomes a coroutine.
#[cold]
pub(super) fn begin_main(heap: &mut Heap) -> &'static Record {
    roots::note_bottom();
    let (low, high) = roots::bounds_of_thread();
    let record = Box::new(Record::new(heap, low..high, State::Running));
    let address = &raw const *record as u64;
    let object = match heap.new_coroutine(record, address) {
        Ok(object) => object,
        Err(error) => fatal::stop(STATUS_MEMORY, &error),
    };
    heap.on_coroutine_death(super::on_death);
    heap.enter_coroutine(object);
    let record = record_of(object);
    record.object.set(object.address());
    record.handle_top.set(heap.context_mut().handle_top);
    set_current(Some(record));
    record
}

impl Record {
    fn new(heap: &Heap, bounds: Range<u64>, state: State) -> Record {
        Record {
            sp: Cell::new(0),
            state: Cell::new(state),
            is_laid_down: Cell::new(false),
            has_run: Cell::new(false),
            lends: Cell::new(false),
            is_deep: Cell::new(false),
            lent: Cell::new(0),
            lent_high: Cell::new(0),
            handle_top: Cell::new(0),
            shadow: Cell::new(0),
            low: bounds.start,
            high: bounds.end,
            memory: Cell::new(None),
            object: Cell::new(0),
            heap,
            before: Cell::new(ptr::null()),
            after: Cell::new(ptr::null()),
        }
    }

    /// A new coroutine's.
    pub(super) fn of_coroutine(heap: &Heap, memory: Memory, entry: Entry) -> Box<Record> {
        let record = Box::new(Record::new(heap, memory.bounds(), State::Suspended));
        record.sp.set(switch::prepare(record.high, entry));
        record.memory.set(Some(memory));
        record
    }

    /// The address of its object.
    pub(crate) fn address(&self) -> u64 {
        self.object.get()
    }

    /// The addresses of its stack.
    pub(crate) fn bounds(&self) -> Range<u64> {
        self.low..self.high
    }

    /// Whether it is the thread's own stack.
    pub(crate) fn is_the_threads(&self) -> bool {
        // SAFETY: a word that no other code uses meanwhile.
        unsafe { (*self.memory.as_ptr()).is_none() }
    }

    #[inline(always)]
    pub(super) fn is_of(&self, heap: &Heap) -> bool {
        ptr::eq(self.heap, heap)
    }

    #[inline(always)]
    pub(super) fn its_object(&self) -> ObjectRef {
        // SAFETY: [HEADER] the coroutine that owns the record.
        unsafe { ObjectRef::from_address(self.object.get()) }
    }

    /// The registers with which it stopped; `None`: it is new, or is not stopped.
    pub(super) fn registers(&self) -> Option<Registers> {
        let is_stopped = matches!(self.state.get(), State::Suspended | State::Waiting);
        // SAFETY: `switch::swap` has left them there, or `switch::prepare`.
        is_stopped.then(|| unsafe { switch::registers(self.sp.get()) }).flatten()
    }

    /// It stops in a call of the runtime.
    #[inline(always)]
    pub(super) fn stops(&self, heap: &mut Heap) {
        let context = heap.context_mut();
        self.lent.set(context.lent);
        self.lent_high.set(context.lent_high);
        if !self.has_run.get() {
            self.note_ran();
        }
    }

    /// It has stopped, and its state says whether it waits.
    #[inline(always)]
    pub(super) fn is_left(&self, heap: &mut Heap) {
        self.shadow.set(shadow_stack::leave_stack(self.bounds()));
        if self.lent.get() != 0 || heap.has_lent_stores() {
            super::frames::lay_down_lent(heap, self);
        }
    }

    /// It waits: scoped handles may be open on it until it goes on.
    #[inline(always)]
    pub(super) fn note_handles(&self, heap: &mut Heap) {
        self.handle_top.set(heap.context_mut().handle_top);
    }

    /// Scoped handles are closed in the order of their scopes, and a stack that is suspended would keep its own open.
    #[inline(always)]
    pub(super) fn check_handles(&self, heap: &mut Heap) {
        if heap.context_mut().handle_top != self.handle_top.get() {
            refuse(
                "a stack is left while a scope of handles is open that was opened on it; close it first, or use global \
                 handles",
            );
        }
    }

    /// It goes on.
    #[inline(always)]
    pub(super) fn goes_on(&self, heap: &mut Heap) {
        let waited = self.state.replace(State::Running) == State::Waiting;
        let context = heap.context_mut();
        if waited && context.handle_top != self.handle_top.get() {
            refuse("a stack goes on while a scope of handles is open that was opened on another; close it first");
        }
        self.handle_top.set(context.handle_top);
        context.lent = self.lent.get();
        context.lent_high = self.lent_high.get();
        set_current(Some(self));
        if self.shadow.get() != 0 {
            shadow_stack::enter_stack(self.shadow.take());
        }
        if self.is_laid_down.get() {
            super::frames::take_up(heap, self);
        }
    }

    #[cold]
    fn note_ran(&self) {
        self.has_run.set(true);
        THREAD.with(|thread| {
            let first = thread.ran.replace(self);
            self.after.set(first);
            self.before.set(ptr::null());
            // SAFETY: a record on the list, which it leaves before it goes.
            if let Some(first) = unsafe { first.as_ref() } {
                first.before.set(self);
            }
        });
    }

    /// The collector runs on its stack.
    pub(crate) fn note_collector(&self) {
        self.is_deep.set(true);
    }

    /// It leaves the list of those that have run.
    pub(super) fn forget_ran(&self) {
        if !self.has_run.replace(false) {
            return;
        }
        let (before, after) = (self.before.get(), self.after.get());
        // SAFETY: a record on the list, which it leaves before it goes.
        match unsafe { before.as_ref() } {
            Some(before) => before.after.set(after),
            None => THREAD.with(|thread| thread.ran.set(after)),
        }
        // SAFETY: as above.
        if let Some(after) = unsafe { after.as_ref() } {
            after.before.set(before);
        }
    }

    /// Calls `visit` with each stack that has run since it was laid down; it may leave the list.
    pub(super) fn for_each_that_ran(mut visit: impl FnMut(&Record)) {
        let mut at = THREAD.with(|thread| thread.ran.get());
        // SAFETY: a record on the list, which it leaves before it goes.
        while let Some(record) = unsafe { at.as_ref() } {
            at = record.after.get();
            visit(record);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.forget_ran();
        if self.memory.get_mut().is_some() {
            crate::stack::diversion::stack_ends(self.bounds());
        }
    }
}
