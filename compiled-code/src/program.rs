//! The life of a compiled program around its `main`: options, heap, entry, exit work.
//!
//! The lowering renames the program's `main` and emits another that calls [`tally_run_main`]. It makes the thread's
//! heap from the run's options (`TALLY_*`, or the flags of `tally run`). It enters compiled code through a trampoline
//! whose return address the walker knows as the bottom of the stack. Then it does the exit work: the leak check and
//! the statistics. For a program that calls `exit`, an exit handler does the same work; the program's frames never
//! return and count as gone (`stack::ended`). If one of the last finalizers calls `exit`, the work begins anew from
//! there, and goes on with the finalizers that have not run.
//!
//! The exit work is about the heap of the thread that ran `main`. Other threads' heaps are collected when their
//! threads end (`thread`); leaks found in them are reported then, and the process's exit status reflects them at its
//! end.

pub mod destination;
pub mod host_code;
pub mod options;
pub(crate) mod statistics_report;
pub(crate) mod why_alive;

use crate::abi::thread_heap;
use crate::arch::tally_call_managed;
use crate::module::driver;
use crate::module::record::ModuleRecord;
use crate::module::registry::{self, ModuleError};
use crate::program::options::RunOptions;
use crate::program::statistics_report::sites::Sites;
use crate::stack::coroutine::leave;
use crate::stack::{ended, roots};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use tally_collector::plan;
use tally_heap::fatal::{self, STATUS_LEAK, STATUS_USAGE};
use tally_heap::heap::HeapEntry;
use tally_heap::plan::Plan;
use tally_heap::services::finalizer;
use tally_heap::{Heap, context};

static OPTIONS: OnceLock<RunOptions> = OnceLock::new();
/// The heap whose exit work is being done; null before, [`DONE`] after.
static EXIT_WORK: AtomicPtr<Heap> = AtomicPtr::new(std::ptr::null_mut());
/// No heap's address.
const DONE: *mut Heap = std::ptr::dangling_mut();
/// The number of times that a last finalizer has called `exit`. Each of them stays on the stack.
static EXITS_OF_FINALIZERS: AtomicU32 = AtomicU32::new(0);
/// Calls of `exit` by last finalizers after which the others do not run.
const EXITS_MAX: u32 = 100;
/// The heap of the thread that ran `main`; null when a host of another kind runs compiled code.
static MAIN_HEAP: AtomicPtr<Heap> = AtomicPtr::new(std::ptr::null_mut());
/// The process ends while threads may still run compiled code: its modules stay registered.
pub(crate) static EXITING: AtomicBool = AtomicBool::new(false);
/// The exit status that the leak checks of ended threads require.
static ENDED_THREADS_STATUS: AtomicI32 = AtomicI32::new(0);

/// Sets the options of this process's program; only the first call counts; without a call the environment sets them.
pub fn configure(options: RunOptions) {
    let _ = OPTIONS.set(options);
}

/// The options of this process's heaps of compiled code.
pub(crate) fn options() -> &'static RunOptions {
    OPTIONS.get_or_init(|| match RunOptions::from_env() {
        Ok(options) => options,
        Err(error) => fatal::stop(STATUS_USAGE, &error),
    })
}

/// `void tally_init(void)`: reads the run's options now. Without it, the first heap reads them.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_init() {
    leaf!(tally_init);
    options();
}

/// Makes the calling thread's heap; the first one of the process also registers the exit work.
pub(crate) fn make_heap() -> Box<Heap> {
    static HANDLER: std::sync::Once = std::sync::Once::new();
    HANDLER.call_once(|| {
        // SAFETY: registers a handler that takes no arguments.
        unsafe { libc::atexit(at_exit) };
        tally_heap::memory::block_source::hold_while_forking();
    });
    crate::thread::make()
}

/// `void tally_register_module(const tally_module *)`: for code that registers modules of any plan.
///
/// # Safety
/// The record and what it points to stay valid until the module is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_module(module: *const ModuleRecord) {
    leaf!(tally_register_module);
    // SAFETY: by the caller's promise.
    register_module(module, |module| unsafe { registry::register(module) });
}

/// `void tally_register_deferred(const tally_module *)`: called by the constructor of a module of the deferred plan.
///
/// # Safety
/// As for [`tally_register_module`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_deferred(module: *const ModuleRecord) {
    leaf!(tally_register_deferred);
    driver::provide(Plan::Deferred, plan::deferred::make_driver);
    // SAFETY: by the caller's promise.
    unsafe { register_of(Plan::Deferred, module) };
}

/// `void tally_register_prompt(const tally_module *)`: called by the constructor of a module of the prompt plan.
///
/// # Safety
/// As for [`tally_register_module`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_prompt(module: *const ModuleRecord) {
    leaf!(tally_register_prompt);
    driver::provide(Plan::Prompt, plan::prompt::make_driver);
    // SAFETY: by the caller's promise.
    unsafe { register_of(Plan::Prompt, module) };
}

/// `void tally_register_trace(const tally_module *)`: called by the constructor of a module of the trace plan.
///
/// # Safety
/// As for [`tally_register_module`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_trace(module: *const ModuleRecord) {
    leaf!(tally_register_trace);
    driver::provide(Plan::Trace, plan::trace::make_driver);
    // SAFETY: by the caller's promise.
    unsafe { register_of(Plan::Trace, module) };
}

/// What the constructors of modules of a plan call. Its driver is provided.
///
/// # Safety
/// As for [`tally_register_module`].
unsafe fn register_of(plan: Plan, module: *const ModuleRecord) {
    // SAFETY: by the caller's promise.
    register_module(module, |module| unsafe { registry::register_of(plan, module) });
}

/// Has a module registered, and stops if it is refused, unless a host asks for the answer ([`registered_by`]). What registers modules of all plans
/// names all collectors, so the callers say what does it.
fn register_module(module: *const ModuleRecord, register: impl FnOnce(*const ModuleRecord) -> Result<(), ModuleError>) {
    if let Err(error) = tally_heap::memory::range::reserve() {
        fatal::stop(fatal::STATUS_MEMORY, &error);
    }
    let answer = register(module).map(|()| module as u64).map_err(|error| error.to_string());
    if let Some(Err(refused)) = ANSWER.with_borrow_mut(|asked| match asked {
        Some(place) => {
            *place = Some(answer);
            None
        }
        None => Some(answer),
    }) {
        fatal::stop(STATUS_USAGE, &refused);
    }
}

thread_local! {
    /// The result of a module's registration, for a host that can do without the module.
    static ANSWER: RefCell<Option<Option<Result<u64, String>>>> = const { RefCell::new(None) };
}

/// Runs a constructor of a module for a host that can do without the module: a refused record is an error here and
/// does not end the process. Returns the key of the module if the constructor registered one.
///
/// # Errors
/// The fault in the record, or in its types.
pub fn registered_by(constructor: impl FnOnce()) -> Result<Option<u64>, String> {
    /// A constructor may unwind.
    struct Asking;
    impl Drop for Asking {
        fn drop(&mut self) {
            ANSWER.set(None);
        }
    }
    ANSWER.set(Some(None));
    let asking = Asking;
    constructor();
    let answer = ANSWER.take().flatten().transpose();
    drop(asking);
    answer
}

/// `void tally_unregister_module(const tally_module *)`: before the module's memory goes away. While the process
/// exits it does nothing: destructors run then while other threads do, and the memory stays.
///
/// # Safety
/// No frame of the module is on any stack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_unregister_module(module: *const ModuleRecord) {
    leaf!(tally_unregister_module);
    if !EXITING.load(Ordering::Acquire) {
        // SAFETY: the module goes away now, with its code.
        unsafe { registry::unregister(module) };
    }
}

/// `int tally_run_main(int (*main)(int, char **, char **), int argc, char **argv)`: runs a program and returns its
/// exit status. When it is called again from inside the program (C's `main` may be called like any function), it only
/// calls `main`. Exceptions that `main` throws pass through.
///
/// # Safety
/// `main` is compiled code with that signature.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn tally_run_main(main: *const u8, argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = &raw mut *unsafe { thread_heap() };
    // SAFETY: [CONTEXT] this thread's context; the trampoline calls `main` with the C convention.
    let entry = unsafe { &raw mut (*context::current()).entry };
    // SAFETY: [CONTEXT] this thread's context; the trampoline calls `main` with the C convention.
    if unsafe { *entry } != 0 {
        // Not through the trampoline: the walk would take it for the bottom of the stack.
        // SAFETY: the program's `main`.
        let main: Main = unsafe { std::mem::transmute(main) };
        // SAFETY: the program's `main`, with its arguments.
        return unsafe { main(argc, argv, environ) };
    }
    // SAFETY: the program's `main`, with its arguments.
    unsafe { *entry = 1 };
    MAIN_HEAP.store(heap, Ordering::Release);
    // SAFETY: the trampoline calls `main` with the C convention.
    let status = unsafe { crate::arch::enter(main, argc, argv, environ) };
    // SAFETY: the trampoline calls `main` with the C convention.
    unsafe { *entry = 0 };
    // SAFETY: flushes C's streams, so that reports come after the program's own output.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    match exit_work(Frames::Gone) {
        0 => status,
        work_status => work_status,
    }
}

/// C's `main`, with all of its possible parameters.
type Main = unsafe extern "C-unwind" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;

unsafe extern "C" {
    static environ: *const *const c_char;
    /// The return address inside `enter`.
    static tally_entry_return: u8;
}

/// The return address that marks the bottom of compiled code's stack.
pub fn entry_return() -> u64 {
    &raw const tally_entry_return as u64
}

extern "C" fn at_exit() {
    EXITING.store(true, Ordering::Release);
    let status = exit_work(Frames::OnTheStack);
    if status != 0 {
        // SAFETY: C's streams are flushed, then the process ends with the status of the check.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        // SAFETY: ends the process.
        unsafe { libc::_exit(status) };
    }
}

/// Whether the thread of heap `attached` must do the exit work now: once, and again when a finalizer leaves it by
/// `exit`.
fn begins_exit_work(attached: *mut Heap) -> bool {
    let begun = if attached.is_null() { DONE } else { attached };
    match EXIT_WORK.compare_exchange(std::ptr::null_mut(), begun, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => return true,
        Err(other) if other == DONE || other != attached => return false,
        Err(_) => {}
    }
    let before = EXITS_OF_FINALIZERS.fetch_add(1, Ordering::Relaxed);
    if before == EXITS_MAX {
        tally_heap::tell_line!(
            "tally: {EXITS_MAX} finalizers have called `exit` at the end of the program; the rest is not finalized"
        );
        finalizer::exit::run_at_exit(false);
    }
    before <= EXITS_MAX
}

/// The program's frames when its exit work begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// `main` has returned.
    Gone,
    /// `exit` was called in one: they never return.
    OnTheStack,
}

/// Runs the last finalizers, the leak check and the statistics, once. Returns the exit status that these and the
/// ended threads require, or 0.
fn exit_work(frames: Frames) -> c_int {
    let ended_threads = ENDED_THREADS_STATUS.swap(0, Ordering::AcqRel);
    // SAFETY: [CONTEXT] this thread's context.
    let attached = unsafe { (*context::current()).heap };
    let main = MAIN_HEAP.load(Ordering::Acquire);
    if main.is_null() && attached.is_null() || !begins_exit_work(attached) {
        return ended_threads;
    }
    if !main.is_null() && attached != main {
        return ended_threads.max(exit_work_on_another_thread(main));
    }
    // A handler is called only once: a finalizer that calls `exit` from here on needs another one.
    // SAFETY: registers a handler that takes no arguments.
    unsafe { libc::atexit(at_exit) };
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    heap.context_mut().exit_pc = 0;
    if frames == Frames::OnTheStack {
        ended::note(roots::newest_with_roots());
        heap.note_landed();
    }
    leave::leave(heap);
    // Finds overwritten bytes since zeal's last inspection.
    heap.inspect_all();
    heap.close_handles(0);
    // Immortal objects were to live as long as the program, which has ended.
    heap.unfreeze();
    let mut status = ended_threads;
    // SAFETY: no managed frame is looked for below here; the heap is this thread's.
    unsafe { tally_call_managed(std::ptr::null(), end_of_program, (&raw mut *heap).cast()) };
    if options().leak_check {
        // SAFETY: the program's frames are gone; nothing here holds a reference to the heap.
        Heap::collect(unsafe { HeapEntry::of(heap) });
    }
    EXIT_WORK.store(DONE, Ordering::Release);
    if options().leak_check {
        status = status.max(leak_check(heap, "at exit"));
    }
    if let Some(type_name) = &options().why {
        why_alive::report(heap, type_name, "at exit");
    }
    if options().log_cycles {
        registry::take_names();
        tally_heap::tell!("{}", heap.cycle_report());
    }
    heap.retire_allocation();
    let sites = Sites::of(heap);
    status.max(statistics_report::report(&heap.statistics_with_young(), &sites, options().stats.as_ref()))
}

/// Ends the program of a heap. The program's frames are gone, also if `exit` was called in one and they are still on the stack: a walk
/// out of a last finalizer ends at the trampoline that has called this. What the roots of such frames refer to has died. `[ROOT]`
unsafe extern "C-unwind" fn end_of_program(heap: *mut c_void) -> *mut c_void {
    // SAFETY: the heap of this thread; nothing here holds a reference to it.
    Heap::end_of_program(unsafe { HeapEntry::of(heap.cast()) });
    std::ptr::null_mut()
}

/// A thread other than main's called `exit`: main's frames may be running, so nothing is collected.
fn exit_work_on_another_thread(main: *const Heap) -> c_int {
    EXIT_WORK.store(DONE, Ordering::Release);
    if options().leak_check {
        tally_heap::tell_line!("tally: no leak check: `exit` was called on another thread while main's was running");
    }
    if options().why.is_some() {
        tally_heap::tell_line!(
            "tally: not known why objects are alive: `exit` was called on another thread while main's was running"
        );
    }
    // SAFETY: the heap lives as long as its thread, which has not ended (its exit work would be done); the counters are
    // words that may be out of date.
    let statistics = unsafe { &raw const (*main).statistics };
    // SAFETY: the heap lives as long as its thread, which has not ended (its exit work would be done); the counters are
    // words that may be out of date.
    let statistics = unsafe { std::ptr::read_volatile(statistics) };
    statistics_report::report(&statistics, &Sites::default(), options().stats.as_ref())
}

/// Prepares for a thread's end: if it is the main thread (`pthread_exit` in `main`), this is the program's exit.
pub(crate) fn before_thread_end(heap: &mut Heap) {
    if std::ptr::eq(heap, MAIN_HEAP.load(Ordering::Acquire)) {
        ENDED_THREADS_STATUS.fetch_max(exit_work(Frames::OnTheStack), Ordering::AcqRel);
    }
}

/// Checks a thread's heap for leaks after its last collection.
pub(crate) fn after_thread_end(heap: &mut Heap) {
    if std::ptr::eq(heap, MAIN_HEAP.load(Ordering::Acquire)) {
        // Its exit work is done, and the address may become another heap's.
        MAIN_HEAP.store(std::ptr::dangling_mut(), Ordering::Release);
    } else if options().leak_check {
        ENDED_THREADS_STATUS.fetch_max(leak_check(heap, "at the end of a thread"), Ordering::AcqRel);
    }
}

/// Reports the objects that are left in a heap that was just collected. Returns the exit status for them.
fn leak_check(heap: &mut Heap, when: &str) -> c_int {
    match heap.what_is_left() {
        Some(report) => {
            tally_heap::tell!("{}", report.text(when));
            STATUS_LEAK
        }
        None => 0,
    }
}
