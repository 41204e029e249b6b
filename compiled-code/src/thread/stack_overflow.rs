//! Reports a stack overflow: a line on standard error, then the end by SIGSEGV that the fault would have caused
//! anyway.
//!
//! When a stack is full, the next push touches the guard below it and the kernel sends SIGSEGV; the handler cannot
//! run on the stack that is full and gets one of its own, per thread (`prepare_thread`, when the thread's heap is
//! made). It prints the message (`overflow_message`), restores the former handler and returns. The instruction faults
//! again, and the process ends as it would have without us: with the same signal, the same core file, or in the
//! handler of the host.
//!
//! A fault is taken for an overflow if the stack pointer is at the stack's end and the address lies just below
//! (`Stack::is_exhausted`). Any other fault goes on to the former handler, untouched: a null pointer dumps core as
//! ever.
//!
//! A process has one handler of SIGSEGV. If one is installed already, it stays and ours is not installed, unless the
//! host wants it (`report_overflows`). A handler that is installed later replaces ours.
//!
//! The handler allocates nothing and waits for nothing: `write`, `sigaction`, `getrlimit` and memory are all it uses.

use crate::stack::coroutine;
use crate::thread::overflow_message::{self, Fault};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// `void tally_report_overflows(int32_t on)`: 1 installs the handler, in front of an existing one; 0 removes it, and
/// heaps of threads no longer install it.
#[unsafe(no_mangle)]
pub extern "C" fn tally_report_overflows(on: i32) {
    leaf!(tally_report_overflows);
    report_overflows(on != 0);
}

/// Installs the handler, even in front of one that the host has (which then gets the faults after us, overflows
/// included). With `false`, removes it, and heaps of threads no longer install it.
pub(crate) fn report_overflows(on: bool) {
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    WANTED.store(on, Ordering::Release);
    match (on, is_installed()) {
        (true, false) => install(),
        (false, true) => restore(),
        _ => {}
    }
}

/// Whether heaps of threads install the handler by themselves.
static WANTED: AtomicBool = AtomicBool::new(true);
static INSTALLING: Mutex<()> = Mutex::new(());
/// The former handler. Leaked: the handler may be reading it.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Prepares the calling thread for the report of its overflow, when its heap is made.
pub(crate) fn prepare_thread() {
    Stack::of_this_thread();
    if ALTERNATE.get().is_null() {
        give_alternate_stack();
    }
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if WANTED.load(Ordering::Acquire) && action().sa_sigaction == libc::SIG_DFL {
        install();
    }
}

/// Takes the alternate stack from a thread that ends.
pub(crate) fn leave_thread() {
    let ours = ALTERNATE.replace(std::ptr::null_mut());
    if ours.is_null() {
        return;
    }
    let mut current = alternate_stack();
    if current.ss_sp == ours {
        current.ss_flags = libc::SS_DISABLE;
        // SAFETY: switches it off.
        unsafe { libc::sigaltstack(&current, std::ptr::null_mut()) };
    }
    // SAFETY: nothing uses it any more.
    unsafe { libc::munmap(ours, ALTERNATE_BYTES) };
}

/// The thread's alternate stack.
fn alternate_stack() -> libc::stack_t {
    let mut current = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: fills the struct.
    unsafe { libc::sigaltstack(std::ptr::null(), &mut current) };
    current
}

thread_local! {
    static STACK: Cell<Stack> = const { Cell::new(Stack { low: 0, high: 0, kind: Kind::Threads }) };
    /// The alternate stack that this thread got from us.
    static ALTERNATE: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) };
}

/// Room for the kernel's copy of all registers (up to 11 KiB where there are tiles), and for the handler in a build
/// without optimisation.
const ALTERNATE_BYTES: usize = 64 << 10;

fn give_alternate_stack() {
    let current = alternate_stack();
    // The host's alternate stack is kept if it is large enough for the message. Rust's threads have one of 8 KiB.
    if current.ss_flags & libc::SS_DISABLE == 0 && current.ss_size >= ALTERNATE_BYTES / 2 {
        return;
    }
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: fresh memory.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), ALTERNATE_BYTES, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        return;
    }
    let ours = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_BYTES };
    // SAFETY: the memory above, which `leave_thread` takes away again.
    if unsafe { libc::sigaltstack(&ours, std::ptr::null_mut()) } == 0 {
        ALTERNATE.set(memory);
    } else {
        // SAFETY: nothing uses it.
        unsafe { libc::munmap(memory, ALTERNATE_BYTES) };
    }
}

/// The stack that runs: a coroutine's, or the thread's own.
fn running_stack() -> Stack {
    match coroutine::current().filter(|record| !record.is_the_threads()) {
        Some(record) => Stack { low: record.bounds().start, high: record.bounds().end, kind: Kind::Coroutines },
        None => STACK.get(),
    }
}

/// The owner of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The kernel's stack for the process's first thread, which grows until the limit of the moment.
    Mains,
    /// Another thread.
    Threads,
    /// A coroutine (`tally_stack_new`).
    Coroutines,
}

/// The place of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    /// Its lowest address; the guard lies below.
    pub(crate) low: u64,
    /// One past its highest.
    pub(crate) high: u64,
    /// Its owner.
    pub(crate) kind: Kind,
}

impl Stack {
    /// The stack of the calling thread; empty if the C library does not know it. Asked once for a thread: for a process's
    /// first, the C library reads the list of all mappings.
    pub(crate) fn of_this_thread() -> Stack {
        if STACK.get().high == 0 {
            STACK.set(Stack::as_the_c_library_says());
        }
        STACK.get()
    }

    fn as_the_c_library_says() -> Stack {
        // SAFETY: plain data of the C library's.
        let mut attributes = unsafe { std::mem::zeroed() };
        // SAFETY: takes no argument.
        let this = unsafe { libc::pthread_self() };
        // SAFETY: fills the attributes of the calling thread.
        if unsafe { libc::pthread_getattr_np(this, &mut attributes) } != 0 {
            return Stack { low: 0, high: 0, kind: Kind::Threads };
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: filled above.
        unsafe { libc::pthread_attr_getstack(&attributes, &mut start, &mut size) };
        // SAFETY: filled above, and not used again.
        unsafe { libc::pthread_attr_destroy(&mut attributes) };
        // SAFETY: a system call without arguments.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        let kind = if thread == i64::from(std::process::id()) { Kind::Mains } else { Kind::Threads };
        Stack { low: start as u64, high: start as u64 + size as u64, kind }
    }

    /// Whether a fault at `address`, with this stack pointer, comes from a push onto a full stack: the stack pointer
    /// is within 8 KiB of the end, or beyond, and the address between it and the end, or a little below.
    fn is_exhausted(self, address: u64, sp: u64) -> bool {
        let near = 64 << 10;
        sp < self.low + (8 << 10) && address < self.low && address >= sp.min(self.low).saturating_sub(near)
    }

    /// The same by the limit that holds now, which may have been changed since the thread was prepared.
    fn by_limit_of_now(self) -> Stack {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a system call that fills the struct.
        unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
        let low = self.high.checked_sub(limit.rlim_cur).filter(|&low| self.kind == Kind::Mains && low < self.high);
        Stack { low: low.map_or(self.low, |low| low.next_multiple_of(tally_heap::arch::page_bytes())), ..self }
    }
}

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn action() -> libc::sigaction {
    let mut action = no_action();
    // SAFETY: fills the struct.
    unsafe { libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut action) };
    action
}

fn no_action() -> libc::sigaction {
    // SAFETY: plain data of the C library's, in which zero says nothing.
    unsafe { std::mem::zeroed() }
}

fn is_installed() -> bool {
    action().sa_sigaction == on_fault as Handler as usize
}

fn install() {
    let mut ours = no_action();
    ours.sa_sigaction = on_fault as Handler as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: empties the set.
    unsafe { libc::sigemptyset(&mut ours.sa_mask) };
    BEFORE.store(Box::into_raw(Box::new(action())), Ordering::Release);
    // SAFETY: the handler does only what a signal handler may do; it runs on the alternate stack of threads that have
    // one.
    unsafe { libc::sigaction(libc::SIGSEGV, &ours, std::ptr::null_mut()) };
}

/// Restores the handler that `install` found.
fn restore() {
    let before = BEFORE.load(Ordering::Acquire);
    // SAFETY: stored by `install` before the handler could run, and never freed.
    unsafe { libc::sigaction(libc::SIGSEGV, before, std::ptr::null_mut()) };
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's description of the signal, and of the registers at the fault.
    let [pc, sp, fp] = crate::arch::registers_at(unsafe { &*context.cast::<libc::ucontext_t>() });
    let fault = Fault { pc, sp, fp };
    // SAFETY: the kernel's description of the signal, and of the registers at the fault.
    let said = unsafe { &*info };
    let raised_by_a_fault = said.si_code > 0;
    // SAFETY: the kernel's description of the signal, and of the registers at the fault; the signal is one of a fault,
    // or the address is not used.
    let address = unsafe { said.si_addr() } as u64;
    let stack = running_stack();
    let exhausted = |stack: Stack| stack.is_exhausted(address, fault.sp).then_some(stack);
    if let Some(stack) = exhausted(stack).or_else(|| exhausted(stack.by_limit_of_now())).filter(|_| raised_by_a_fault) {
        overflow_message::print(fault, stack);
    }
    restore();
    if !raised_by_a_fault {
        // The signal was sent, so it would not come again after a return. This one is delivered when the handler has
        // returned.
        // SAFETY: raises a signal.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_just_below_a_full_stack_are_overflows() {
        let stack = Stack { low: 0x10_0000, high: 0x20_0000, kind: Kind::Threads };
        for (address, sp, expected) in [
            (0xf_fff8, 0x10_0000, true),  // a push or a call
            (0xf_fff8, 0xf_f000, true),   // a probe
            (0xf_0100, 0xf_0000, true),   // a frame that was not probed
            (0xf_fff8, 0x10_3000, false), // room is left: a wild pointer
            (0x10_0008, 0x10_0000, false),
            (0, 0x10_0000, false), // a null pointer at the very end of the stack
            (0, 0x18_0000, false),
        ] {
            assert_eq!(stack.is_exhausted(address, sp), expected, "{address:#x} {sp:#x}");
        }
    }
}
