//! Coroutines: stacks of their own, which the program makes, switches between and closes.
//!
//! `tally_stack_new` makes an object (`tally_heap::services::coroutine`) that owns a [`Record`] and its [`Memory`].
//! `tally_stack_switch` stops the running stack and lets another go on, in a few instructions of assembly (`switch`).
//! The stacks that wait form the *chain*: each has switched to the next, and the running one is the last. A stack ends
//! when its entry function returns; the one before it in the chain goes on.
//!
//! | state | in the chain | its frames |
//! |---|---|---|
//! | running | the last | are walked as ever (`stack::roots`) |
//! | waiting | yes | are laid down at the next look at roots, unless one lends a root (`frames`) |
//! | suspended | no | the same; if nothing refers to the coroutine it dies, and no frame of it ever runs again |
//! | finished | no | none |
//!
//! **One stack a thread** was assumed by the rest of the runtime. What follows the running stack is exchanged in a
//! switch: the bounds of the stack (`roots`, the message about an overflow), the lists of frames that lend roots in the
//! context, the head of LLVM's shadow stack. What cannot be exchanged prevents a switch, or is finished before: a walk
//! that has paused on the stack that is left (`diversion`), a call of the program by the runtime (a finalizer), scoped
//! handles that would not be closed in the order of their scopes. `[WATERMARK]`

mod close;
mod deep;
mod exchange;
pub(crate) mod frames;
pub(crate) mod leave;
pub(crate) mod memory;
mod stopped;
pub(crate) mod switch;
pub(crate) mod switching;

use memory::Memory;
use stack_roots::Registers;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr;
pub(crate) use stopped::Entry;
use tally_heap::fatal::{self, STATUS_USAGE};
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
    sp: Cell<u64>,
    state: Cell<State>,
    /// Its frames are laid down.
    is_laid_down: Cell<bool>,
    /// It is on the thread's list of those that have run since they were laid down.
    has_run: Cell<bool>,
    /// Prompt plan: it stopped while other frames had the address of a root.
    lends: Cell<bool>,
    /// The collector has run on its stack, and may have touched many pages.
    is_deep: Cell<bool>,
    /// What AddressSanitizer keeps for it while it is stopped.
    fake_frames: Cell<*mut c_void>,
    address_taken: Cell<u64>,
    address_taken_high: Cell<u64>,
    /// Where scoped handles ended when it was last entered; when it waits, where they ended when it was left.
    handle_top: Cell<u64>,
    shadow: Cell<u64>,
    low: u64,
    high: u64,
    /// `None`: the thread's own stack, or it has finished.
    memory: Cell<Option<Memory>>,
    object: Cell<u64>,
    heap: *const Heap,
    before: Cell<*const Record>,
    after: Cell<*const Record>,
}

/// What a thread knows of its stacks.
struct Thread {
    /// The one that runs; null: the thread's own, which is no coroutine yet.
    current: Cell<*const Record>,
    /// Those that have run since they were laid down.
    ran: Cell<*const Record>,
    /// The memory of a stack that has finished, and was left a moment ago.
    finished: Cell<Option<ManuallyDrop<Memory>>>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread { current: Cell::new(ptr::null()), ran: Cell::new(ptr::null()), finished: Cell::new(None) }
    };
}

/// The record of the stack that runs; `None` while the thread has no coroutines.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Record> {
    // SAFETY: a record lives as long as its stack may run.
    THREAD.with(|thread| unsafe { thread.current.get().as_ref() })
}

fn set_current(record: Option<&Record>) {
    THREAD.with(|thread| thread.current.set(record.map_or(ptr::null(), ptr::from_ref)));
}

/// Whether there is a coroutine at that address.
#[inline(always)]
fn is_coroutine(address: u64) -> bool {
    // SAFETY: [HEADER] the program names objects, or addresses outside the heap.
    range::in_heap(address) && address & 7 == 0 && builtin::is_coroutine(unsafe { ObjectRef::from_address(address) })
}

/// The record of a coroutine.
#[inline(always)]
fn record_of(coroutine: ObjectRef) -> &'static Record {
    let record = coroutine.slot(RECORD).read();
    // SAFETY: written when the coroutine was made, which owns it.
    unsafe { &*(record as *const Record) }
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
            fake_frames: Cell::new(ptr::null_mut()),
            address_taken: Cell::new(0),
            address_taken_high: Cell::new(0),
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
    fn of_coroutine(heap: &Heap, memory: Memory, entry: Entry) -> Box<Record> {
        let record = Box::new(Record::new(heap, memory.bounds(), State::Suspended));
        record.sp.set(stopped::prepare(record.high, entry as usize as u64));
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
    fn is_of(&self, heap: &Heap) -> bool {
        ptr::eq(self.heap, heap)
    }

    #[inline(always)]
    fn its_object(&self) -> ObjectRef {
        // SAFETY: [HEADER] the coroutine that owns the record.
        unsafe { ObjectRef::from_address(self.object.get()) }
    }

    /// The registers with which it stopped; `None`: it is new, or is not stopped.
    fn registers(&self) -> Option<Registers> {
        let is_stopped = matches!(self.state.get(), State::Suspended | State::Waiting);
        // SAFETY: `switch::swap` has left them there, or `switch::prepare`.
        is_stopped.then(|| unsafe { stopped::registers(self.sp.get()) }).flatten()
    }

    /// Whether its entry was not called yet.
    fn has_not_begun(&self) -> bool {
        self.state.get() == State::Suspended && self.registers().is_none()
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
    fn forget_ran(&self) {
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
    fn for_each_that_ran(mut visit: impl FnMut(&Record)) {
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
        deep::forget(self);
    }
}

/// Ends the process: the program does what must not be done with a stack.
#[cold]
fn refuse(why: &str) -> ! {
    fatal::stop(STATUS_USAGE, why)
}
