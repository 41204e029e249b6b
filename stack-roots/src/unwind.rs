//! Crossing native frames with the system's unwinder.
//!
//! `thread_stack` uses it when the frame-pointer walk ends at a native frame (a C callback, the host) or at a frame
//! that needs rbx. The unwinder reads `.eh_frame`, which native code has and managed code gets by `uwtable`; it costs
//! 65–78 ns a frame against 3–6, and begins at the top of the calling thread's own stack.
//!
//! Behind an anchor it cannot begin at the top: it would meet the native code that has no table. There it begins in
//! the middle, at a frame whose registers are known ([`Origin::Registers`]). libgcc has no call for that. So a
//! function in assembly calls it, whose own unwind table says that its caller's pc, sp and fp are those in a struct.
//! This restores rbx where it is known, and no other callee-saved register; where it is not, a managed frame that needs
//! it is refused.
//!
//! `[ONCE]` Frames whose stack pointer is below `from_sp` have been visited by the walk and are stepped over; every
//! managed frame from there on is visited here, until the end or until the fast walk takes over again.
//!
//! Each new run must first step over all frames above, so stacks that alternate between managed and native code would
//! cost O(n²). A run therefore goes on until it is twice as deep as where it took over ([`Reach::TwiceAsDeep`]). Then
//! the steps of all runs together are at most three times the depth, and a deep managed recursion below one native
//! frame is still walked the fast way.
//!
//! The callback reads a frame by three functions: `_Unwind_GetIP` is the return address as recorded in the stack map;
//! `_Unwind_GetCFA` is the CFA of the *callee*, which is this frame's stack pointer at its call; `_Unwind_GetGR`
//! gives the callee-saved registers as restored for this frame. (libgcc's unwind.inc; the third is the only way to a
//! caller's rbx.)
//!
//! This file and the assembly of `arch` are the crate's only ones with unsafe code.

use crate::anchor::Entries;
use crate::arch::{BASE_POINTER, FRAME_POINTER, backtrace_from};
use crate::frame_table::Lookup;
use crate::stack_fault::StackFault;
use crate::walk::{FrameRoot, Registers, visit_frame};
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

/// Visits the roots of the calling thread's managed frames from `from` on.
///
/// `read_word` reads words of the thread's own stack only. A panic of `visit` leaves by this function, not through
/// the unwinder's frames.
pub fn unwind<F: Lookup + ?Sized>(
    from: impl Into<Origin>,
    reach: Reach,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: impl Into<Entries>,
    visit: impl FnMut(&FrameRoot),
) -> Unwound {
    let (from_sp, start) = match from.into() {
        Origin::Top { from_sp } => (from_sp, None),
        Origin::Registers(registers) => (registers.sp, Some(registers)),
        Origin::Stopped { top, from_sp } => (from_sp, Some(top)),
    };
    let knows_rbx = start.is_none_or(|registers| registers.rbx.is_some());
    let start = start.map(|Registers { pc, sp, fp, rbx }| Start { pc, sp, fp, rbx: rbx.unwrap_or(0) });
    let mut run = Run {
        from_sp,
        knows_rbx,
        reach,
        read_word,
        frames,
        entries: entries.into(),
        visit,
        passes_over_itself: start.is_some(),
        steps: 0,
        steps_above: 0,
        visited: 0,
        last_pc: 0,
        last_sp: None,
        expected_sp: None,
        end: None,
        panic: None,
    };
    let state = (&raw mut run).cast::<c_void>();
    match &start {
        // SAFETY: `step::<…>` gets back exactly this pointer, of the type it casts to, while `run` is alive and not
        // otherwise used. The unwinder itself reads this thread's stack by the unwind tables of the code on it.
        None => unsafe { _Unwind_Backtrace(step_of(&run), state) },
        // SAFETY: `step::<…>` gets back exactly this pointer, of the type it casts to, while `run` is alive and not
        // otherwise used. The unwinder itself reads this thread's stack by the unwind tables of the code on it.
        Some(start) => unsafe { backtrace_from(step_of(&run) as *const c_void, state, ptr::from_ref(start).cast()) },
    };
    if let Some(panic) = run.panic {
        resume_unwind(panic);
    }
    Unwound { frames: run.visited, steps: run.steps, end: run.end.unwrap_or(UnwindEnd::EndOfStack { pc: run.last_pc }) }
}

/// The place where a run of the unwinder begins to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It begins at the top of the stack, and visits frames whose stack pointer is at least this.
    Top {
        /// Frames above have been visited.
        from_sp: u64,
    },
    /// It begins at a frame of the calling thread's stack with these registers.
    Registers(Registers),
    /// It begins at the top of a stack that has stopped.
    Stopped {
        /// The registers with which it stopped.
        top: Registers,
        /// Frames above have been visited.
        from_sp: u64,
    },
}

impl From<u64> for Origin {
    fn from(from_sp: u64) -> Origin {
        Origin::Top { from_sp }
    }
}

/// The extent of a run of the unwinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the entry of managed code.
    Bottom,
    /// To the first managed frame that lies at least twice as deep as the frame it began to visit at.
    TwiceAsDeep,
}

/// The result of a run of the unwinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// Managed frames whose roots were visited.
    pub frames: usize,
    /// All frames stepped over, the runtime's own and native ones too.
    pub steps: usize,
    /// Why it ended.
    pub end: UnwindEnd,
}

/// Why a run of the unwinder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwindEnd {
    /// At the frame that entered managed code: all is visited.
    Bottom {
        /// Of that frame.
        registers: Registers,
    },
    /// At a managed frame, not visited yet, from which the frame-pointer walk can go on.
    Managed {
        /// Of that frame, rbx included.
        registers: Registers,
    },
    /// At the trampoline by which native code called back: its anchor names the frame to go on at.
    Anchor {
        /// Of the trampoline's frame.
        registers: Registers,
    },
    /// There are no more frames, or none that the unwinder has a table for. Where managed code is entered through an
    /// entry whose return address is known, this means that frames below `pc` are hidden: their roots are not visited.
    EndOfStack {
        /// The last return address seen.
        pc: u64,
    },
    /// The stack is not as compiled code leaves it.
    Malformed {
        /// Of the frame where it shows.
        registers: Registers,
        /// The fault.
        fault: StackFault,
    },
}

/// One run, as the callback sees it.
struct Run<'f, F: ?Sized, R, V> {
    from_sp: u64,
    knows_rbx: bool,
    reach: Reach,
    read_word: R,
    frames: &'f F,
    entries: Entries,
    visit: V,
    /// The first step is the frame of `backtrace_from`, perhaps on another stack.
    passes_over_itself: bool,
    steps: usize,
    steps_above: usize,
    visited: usize,
    last_pc: u64,
    last_sp: Option<u64>,
    /// The stack pointer of the next frame, by the table of the last.
    expected_sp: Option<u64>,
    end: Option<UnwindEnd>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F: Lookup + ?Sized, R: FnMut(u64) -> Option<u64>, V: FnMut(&FrameRoot)> Run<'_, F, R, V> {
    /// Takes one frame; an end stops the unwinder.
    fn frame(&mut self, pc: u64, sp: u64, saved: impl FnOnce() -> (u64, u64)) -> Option<UnwindEnd> {
        self.steps += 1;
        if std::mem::take(&mut self.passes_over_itself) || sp < self.from_sp {
            self.steps_above += 1;
            return None;
        }
        if self.entries.diversion.is_some_and(|diversion| diversion.through == pc) {
            // A frame of no size: the unwinder goes on to the caller by itself.
            return None;
        }
        if pc == 0 {
            // The end. It is no frame, and on AArch64 the first function of a stack pushes nothing that would raise sp.
            self.last_pc = 0;
            return None;
        }
        let knows_rbx = self.knows_rbx;
        let registers = || {
            let (fp, rbx) = saved();
            Registers { pc, sp, fp, rbx: knows_rbx.then_some(rbx) }
        };
        if let Some(callee_sp) = self.last_sp.replace(sp).filter(|&callee_sp| sp <= callee_sp) {
            let fault = StackFault::NotAbove { sp, callee_sp };
            return Some(UnwindEnd::Malformed { registers: registers(), fault });
        }
        if let Some(expected) = self.expected_sp.take().filter(|&expected| expected != sp) {
            let fault = StackFault::FrameSize { sp, expected };
            return Some(UnwindEnd::Malformed { registers: registers(), fault });
        }
        self.last_pc = pc;
        if pc == self.entries.bottom {
            return Some(UnwindEnd::Bottom { registers: registers() });
        }
        if pc == self.entries.reentry {
            return Some(UnwindEnd::Anchor { registers: registers() });
        }
        let frame = self.frames.lookup(pc)?;
        let registers = registers();
        if frame.needs_rbx && !knows_rbx {
            return Some(UnwindEnd::Malformed { registers, fault: StackFault::RbxHidden });
        }
        if self.reach == Reach::TwiceAsDeep && !frame.needs_unwinder && self.steps > 2 * self.steps_above {
            return Some(UnwindEnd::Managed { registers });
        }
        if let Err(fault) = visit_frame(&frame, &registers, &mut self.read_word, &mut self.visit) {
            return Some(UnwindEnd::Malformed { registers, fault });
        }
        self.visited += 1;
        self.expected_sp = frame.caller_sp(sp);
        None
    }
}

const URC_NO_REASON: c_int = 0;
const URC_NORMAL_STOP: c_int = 4;

/// The unwinder's picture of one frame.
#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

type Step = unsafe extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(step: Step, state: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetGR(context: *mut UnwindContext, register: c_int) -> usize;
}

/// The frame that a run begins at, as the assembly knows it.
#[repr(C)]
struct Start {
    pc: u64,
    sp: u64,
    fp: u64,
    rbx: u64,
}

/// The callback for a run of this type.
fn step_of<F, R, V>(_: &Run<'_, F, R, V>) -> Step
where
    F: Lookup + ?Sized,
    R: FnMut(u64) -> Option<u64>,
    V: FnMut(&FrameRoot),
{
    step::<F, R, V>
}

/// # Safety
/// `context` is the unwinder's, `state` points to a live `Run<F, R, V>` that nothing else uses meanwhile.
unsafe extern "C" fn step<F, R, V>(context: *mut UnwindContext, state: *mut c_void) -> c_int
where
    F: Lookup + ?Sized,
    R: FnMut(u64) -> Option<u64>,
    V: FnMut(&FrameRoot),
{
    // SAFETY: the caller's duty above; `unwind` passes such a pointer.
    let run = unsafe { &mut *state.cast::<Run<'_, F, R, V>>() };
    // SAFETY: the context is valid during the callback.
    let pc = unsafe { _Unwind_GetIP(context) } as u64;
    // SAFETY: the context is valid during the callback.
    let sp = unsafe { _Unwind_GetCFA(context) } as u64;
    // SAFETY: the context is valid during the callback; both registers are callee-saved, so every context
    // has them.
    let register = |number| unsafe { _Unwind_GetGR(context, number) } as u64;
    let saved = || (register(FRAME_POINTER), register(BASE_POINTER));
    // The unwinder's own frames may be compiled without landing pads: a panic stops here and goes on in `unwind`.
    match catch_unwind(AssertUnwindSafe(|| run.frame(pc, sp, saved))) {
        Ok(None) => return URC_NO_REASON,
        Ok(end) => run.end = end,
        Err(panic) => run.panic = Some(panic),
    }
    URC_NORMAL_STOP
}
