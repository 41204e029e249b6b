//! What a stopped stack ends in: the words that `switch::swap` has pushed, or that make a new stack look the same.
//!
//! ```text
//! higher │ return address of `swap`                sp + 64 is the stack pointer behind it
//!        │ rbp, rbx, r12, r13, r14, r15            the registers that a call preserves (System V ABI, 3.2.1)
//! lower  │ control words of SSE and x87     ◄── sp, in the record
//! ```

use stack_roots::Registers;
use std::ffi::c_void;

/// `void *entry(void *value)`.
pub(crate) type Entry = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The registers of the frame that has stopped, by what `swap` left at `sp`; `None` on a new stack.
///
/// # Safety
/// `swap` or [`prepare`] has left its words there.
pub(super) unsafe fn registers(sp: u64) -> Option<Registers> {
    // SAFETY: by the caller's promise.
    let [.., rbx, fp, pc] = unsafe { *(sp as *const [u64; WORDS]) };
    let is_new = pc == &raw const tally_stack_begin as u64;
    (!is_new).then_some(Registers { pc, sp: sp + (WORDS * 8) as u64, fp, rbx: Some(rbx) })
}

/// Words that `swap` leaves on a stack.
const WORDS: usize = 8;

/// Makes a new stack that ends at `high` look as if it had stopped before `entry`. Returns its stack pointer.
pub(super) fn prepare(high: u64, entry: Entry) -> u64 {
    let (mut sse, mut x87) = (0_u32, 0_u16);
    // SAFETY: stores the control words that a new stack takes over from its maker.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut sse, in(reg) &raw mut x87, options(nostack));
    }
    let control = u64::from(x87) << 32 | u64::from(sse);
    let first = (high & !15) - 16;
    let words: [u64; WORDS] = [control, 0, 0, 0, 0, entry as usize as u64, 0, &raw const tally_stack_begin as u64];
    let sp = first - (WORDS * 8) as u64;
    // SAFETY: the end of a new stack, which has pages of room.
    unsafe { *(sp as *mut [u64; WORDS]) = words };
    sp
}

unsafe extern "C" {
    static tally_stack_begin: u8;
}
