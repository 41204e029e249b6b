//! The watermark of a paused walk: the return into the newest frame that it has not visited leads here first.
//!
//! `stack` pauses a flip's walk of a deep stack and goes on in slices. Frames that are not active do not change: they
//! hold the references of the flip until the program comes back to one. It can come back only to the newest of them,
//! by a return or by unwinding, and either way by the return address of the frame above. That address is replaced
//! (*diverted*). The saved frame pointer beside it is replaced by the address of a [`Record`] that looks like the
//! original pair:
//!
//! ```text
//! higher │ unvisited frames
//!        │ the newest unvisited one
//!        │ return address         place + 8   = tally_diverted_return
//!        │ its frame pointer      place       = address of the record { fp, pc, … }
//! lower  │ visited frames …
//! ```
//!
//! Compiled code pays nothing for it, however it was inlined. When the diverted return arrives, the walk goes on by
//! some frames and then the original return is taken. A barrier in compiled code (a compare after each call, as ZGC
//! and Yuasa's Lisp have it) would cost two instructions and a stack map record a call.
//!
//! **Unwinders** pass: the frame pointer is the record's address, and the unwind table of `tally_diverted_return`
//! says that pc and fp lie there, in a frame of no size. Its personality routine lets the search for a handler pass,
//! and stops the unwinding itself: first the walk goes on, then the exception does. Walks by frame pointer know the
//! diversion by [`current`].
//!
//! **longjmp** passes unseen. When the walk goes on, it finds the record's place below the stack pointer, or other
//! words in it ([`Removal::Cut`]), or a stack that leads past it; `repair` then makes up for the roots that were not
//! noted. A function that calls `setjmp` reports each return of it ([`tally_landed`]).
//!
//! **The guard** is a second pair, diverted in the same way some frames below the top of a stack that has gone deep over the
//! frames that wait (`roots::guard`). A diverted return can be reached from the running frame only if it was never jumped
//! over: so whether the waiting frames are still there is seen by a walk to the guard, and not all the way to them.
//!
//! One walk of a thread pauses at a time, on the stack that runs: before another goes on (`coroutine`) it is finished. A guaranteed tail call may move the diverted pair (calling convention
//! `tailcc`): the pair is missing at its place, which is taken for a cut, and the record stays in use until the stack
//! is shorter than that.
//!
//! Sources: return barriers, Yuasa, "Return barrier", 2002; stack markers, Cheng, Harper and Lee, PLDI 1998.
//! Unwinding: libgcc's unwind.inc, DWARF 5, 6.4.

use crate::arch::{returns_are_checked, saves_results};
use crate::stack::bounds;
use stack_roots::{Diversion, DivertedPair, Position, Registers};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use tally_heap::Heap;

/// The diverted pair; the assembly knows the first two fields, which lie like any saved frame pointer and return
/// address.
#[repr(C)]
struct Record {
    fp: Cell<u64>,
    pc: Cell<u64>,
    /// The address of the pair; 0: nothing is diverted.
    place: Cell<u64>,
    /// The stack pointer of the frame that the return leads to.
    sp: Cell<u64>,
    /// The heap whose walk has paused; null when that heap is gone.
    owner: Cell<*mut Heap>,
    /// Frames that the walk counts on have vanished.
    cut: Cell<bool>,
    /// Of the guard: what moves it down.
    reached: Cell<fn(Registers)>,
}

impl Record {
    const fn new() -> Record {
        Record {
            fp: Cell::new(0),
            pc: Cell::new(0),
            place: Cell::new(0),
            sp: Cell::new(0),
            owner: Cell::new(ptr::null_mut()),
            cut: Cell::new(false),
            reached: Cell::new(|_| ()),
        }
    }

    /// Replaces the pair at `place`, which leads to the frame with these registers.
    fn divert(&self, frame: &Registers, place: u64) {
        debug_assert_eq!(self.place.get(), 0);
        self.fp.set(frame.fp);
        self.pc.set(frame.pc);
        self.place.set(place);
        self.sp.set(frame.sp);
        // SAFETY: the walk has found the pair there; its frame is active, and waits.
        unsafe { write_pair(place, [ptr::from_ref(self) as u64, diverted_return()]) };
    }

    /// Puts the pair back, if it is there; false if it is not.
    fn restore(&self) -> bool {
        let place = self.place.get();
        // SAFETY: where `divert` found a pair; the stack is still there, whatever its words hold now.
        if unsafe { read_pair(place) } != [ptr::from_ref(self) as u64, diverted_return()] {
            return false;
        }
        // SAFETY: the pair is there, so its frame is active, and waits.
        unsafe { write_pair(place, [self.fp.get(), self.pc.get()]) };
        self.place.set(0);
        true
    }

    /// Whether nothing is diverted by it. `here` is the address of something in a frame of the caller.
    fn is_free(&self, here: u64) -> bool {
        let place = self.place.get();
        if self.owner.get().is_null() && place < here && (bounds::low()..bounds::end()).contains(&place) {
            // The diverted pair is gone. (It may be on a stack that does not run.)
            self.place.set(0);
        }
        self.place.get() == 0
    }

    /// The stack pointer of the frame into which it diverts a return.
    fn waiting_sp(&self) -> Option<u64> {
        (self.place.get() != 0).then(|| self.sp.get())
    }

    fn pair(&self) -> DivertedPair {
        match self.place.get() {
            0 => DivertedPair::default(),
            _ => DivertedPair { record: ptr::from_ref(self) as u64, pc: self.pc.get(), fp: self.fp.get() },
        }
    }
}

thread_local! {
    /// The watermark.
    static RECORD: Record = const { Record::new() };
    /// The guard; it has no owner.
    static GUARD: Record = const { Record::new() };
}

/// Whether a walk of this thread may pause: no other walk has paused, and the machine can save the registers that
/// carry a result and allows diverted returns.
pub(crate) fn is_free(here: u64) -> bool {
    RECORD.with(|record| record.is_free(here)) && saves_results() && !returns_are_checked()
}

/// Whether a walk of the running stack has paused.
#[inline(always)]
pub(crate) fn waits() -> bool {
    RECORD.with(|record| !record.owner.get().is_null())
}

/// No frame of the stack with these bounds runs again.
pub(crate) fn stack_ends(bounds: Range<u64>) {
    let ends = |record: &Record| {
        if bounds.contains(&record.place.get()) {
            record.place.set(0);
        }
    };
    RECORD.with(ends);
    GUARD.with(ends);
}

/// Returns the diverted returns of this thread, for walks.
pub(crate) fn current() -> Option<Diversion> {
    let pairs = [RECORD.with(Record::pair), GUARD.with(Record::pair)];
    pairs.iter().any(|pair| pair.record != 0).then(|| Diversion { through: diverted_return(), pairs })
}

/// Diverts the return into the frame with these registers, where a walk by frame pointers has paused: the pair at `place` leads to
/// it.
pub(crate) fn divert(heap: &mut Heap, frame: &Registers, place: u64) {
    RECORD.with(|record| {
        record.owner.set(heap);
        record.divert(frame, place);
    });
}

/// Diverts the return into the frame at which a walk by frame pointers has paused, as a guard. `reached` is called when the program comes
/// back to that frame while a walk waits.
pub(crate) fn set_guard(at: &Position, reached: fn(Registers)) {
    let here = 0_u64;
    GUARD.with(|guard| {
        if guard.is_free(&raw const here as u64) {
            guard.reached.set(reached);
            guard.divert(&at.registers, at.pair);
        }
    });
}

/// The stack pointer of the frame into which the guard diverts the return.
pub(crate) fn guard_sp() -> Option<u64> {
    GUARD.with(Record::waiting_sp)
}

/// Undoes the guard, if its pair is there.
pub(crate) fn lift_guard() {
    let here = 0_u64;
    GUARD.with(|guard| guard.is_free(&raw const here as u64) || guard.restore());
}

/// The frame that has the guard's pair is gone.
pub(crate) fn forget_guard() {
    GUARD.with(|guard| guard.place.set(0));
}

/// The state in which the diversion was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The pair was restored: the program has not returned there, or is returning now and the walk goes on because of
    /// it.
    Undone,
    /// The frame is gone, without a return through here.
    Cut,
}

/// The stack pointer of the frame into which a return is diverted.
pub(crate) fn waiting_sp() -> Option<u64> {
    RECORD.with(Record::waiting_sp)
}

/// Gives up the diversion, as the frames that wait are known to be gone. The diverted words are left alone: they may
/// lie in another frame by now.
pub(crate) fn give_up() {
    RECORD.with(|record| {
        record.owner.set(ptr::null_mut());
        record.cut.set(false);
    });
}

/// Undoes the diversion. `here` is the address of something in a frame of the caller.
pub(crate) fn undo(here: u64) -> Removal {
    RECORD.with(|record| {
        record.owner.set(ptr::null_mut());
        let place = record.place.get();
        if place < here {
            record.place.set(0);
        }
        if record.cut.replace(false) || place != 0 && place < here {
            return Removal::Cut;
        }
        if place == 0 {
            return Removal::Undone;
        }
        if record.restore() { Removal::Undone } else { Removal::Cut }
    })
}

/// `void tally_landed(void)`: called after `setjmp` has returned, perhaps for the second time. Frames that a paused
/// walk relies on, or running finalizers, may have vanished; later, when the stack has grown again, this could not be
/// seen.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tally_landed() {
    leaf!(tally_landed);
    let here = 0_u64;
    let here = &raw const here as u64;
    // SAFETY: the frame that runs lies above them.
    unsafe { tally_heap::services::finalizer::jump::note_landing(here) };
    RECORD.with(|record| {
        if !record.owner.get().is_null() && record.place.get() < here {
            record.cut.set(true);
        }
    });
}

/// # Safety
/// Two words of this thread's stack, above the caller's frame.
unsafe fn read_pair(place: u64) -> [u64; 2] {
    // SAFETY: by the caller's promise.
    unsafe { *(place as *const [u64; 2]) }
}

/// # Safety
/// As for [`read_pair`]. The frame that they belong to is active, and reads them only when it returns.
unsafe fn write_pair(place: u64, pair: [u64; 2]) {
    // SAFETY: by the caller's promise.
    unsafe { *(place as *mut [u64; 2]) = pair };
}

/// Goes on with the walk when the program is about to come back to the frame at which it paused, or moves the guard down.
#[unsafe(no_mangle)]
unsafe extern "C" fn tally_diversion_arrived(record: &Record) {
    if GUARD.with(|guard| ptr::eq(guard, record)) {
        record.place.set(0);
        if waits() {
            record.reached.get()(Registers {
                pc: record.pc.get(),
                sp: record.sp.get(),
                fp: record.fp.get(),
                rbx: None,
            });
        }
        return;
    }
    let owner = record.owner.replace(ptr::null_mut());
    record.place.set(0);
    // It was above.
    forget_guard();
    // SAFETY: the heap takes its pointer away when it goes; only this thread uses it, and compiled code holds no
    // reference to it.
    if let Some(heap) = unsafe { owner.as_mut() } {
        heap.with_driver(|driver, heap| driver.frame_is_reached(heap));
    }
}

const SEARCH_PHASE: c_int = 1;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE_UNWIND: c_int = 8;

unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, pc: usize);
    static tally_diverted_return: u8;
    static tally_diverted_unwinding: u8;
}

/// The personality routine of the frame of no size.
#[unsafe(no_mangle)]
unsafe extern "C" fn tally_diversion_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if actions & SEARCH_PHASE != 0 {
        return CONTINUE_UNWIND;
    }
    // SAFETY: the unwinder's context, during its call.
    unsafe { _Unwind_SetGR(context, tally_heap::arch::RESULT_REGISTER, exception as usize) };
    // SAFETY: the unwinder's context, during its call.
    unsafe { _Unwind_SetIP(context, &raw const tally_diverted_unwinding as usize) };
    INSTALL_CONTEXT
}

/// The address that replaces a diverted return address.
fn diverted_return() -> u64 {
    &raw const tally_diverted_return as u64
}
