//! The life of a compiled program around its `main`: options, heap, entry, exit work.
//!
//! The lowering renames the program's `main` and emits another that calls [`tally_run_main`]. That makes the thread's
//! heap from the run's options (`TALLY_*`, or what `tally run` was told), enters compiled code through a trampoline
//! whose return address the walker knows as the bottom of the stack, and does the exit work: the leak check, the statistics.
//! A program that calls `exit` gets the same work from an exit handler; its frames never return and count as gone.

use crate::stack::StackMapListener;
use rc_runtime::fatal::{self, STATUS_LEAK, STATUS_USAGE};
use rc_runtime::heap::HeapOptions;
use rc_runtime::module_record::ModuleRecord;
use rc_runtime::options::{RunOptions, StatsTarget};
use rc_runtime::statistics::Statistics;
use rc_runtime::{Heap, abi, context};
use std::arch::naked_asm;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static OPTIONS: OnceLock<RunOptions> = OnceLock::new();
static EXIT_WORK_DONE: AtomicBool = AtomicBool::new(false);

/// Sets the options of this process's program; only the first call counts, and without one the environment does.
pub fn configure(options: RunOptions) {
    let _ = OPTIONS.set(options);
}

fn options() -> &'static RunOptions {
    OPTIONS.get_or_init(|| match RunOptions::from_env() {
        Ok(options) => options,
        Err(error) => fatal::stop(STATUS_USAGE, &error.to_string()),
    })
}

/// Installs what `rc-runtime` needs from here. Idempotent; every way in calls it.
pub fn install() {
    rc_runtime::module_registry::listen(&StackMapListener);
    abi::set_heap_maker(make_heap);
}

fn make_heap() -> Box<Heap> {
    static HANDLER: std::sync::Once = std::sync::Once::new();
    HANDLER.call_once(|| {
        // SAFETY: registers a handler that takes no arguments.
        unsafe { libc::atexit(at_exit) };
    });
    match crate::mutator::new_heap(HeapOptions::from_run(options())) {
        Ok(heap) => heap,
        Err(error) => fatal::stop(fatal::STATUS_MEMORY, &error.to_string()),
    }
}

/// `void tally_register_module(const tally_module *)`: called by the module's constructor.
///
/// # Safety
/// The record and what it points to stay valid until the module is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_module(module: *const ModuleRecord) {
    install();
    if let Err(error) = rc_runtime::range::reserve() {
        fatal::stop(fatal::STATUS_MEMORY, &error.to_string());
    }
    // SAFETY: by the caller's promise.
    if let Err(error) = unsafe { rc_runtime::module_registry::register(module) } {
        fatal::stop(STATUS_USAGE, &error.to_string());
    }
}

/// `void tally_unregister_module(const tally_module *)`: before the module's memory goes away.
///
/// # Safety
/// No frame of the module is on any stack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_unregister_module(module: *const ModuleRecord) {
    rc_runtime::module_registry::unregister(module);
}

/// `int tally_run_main(int (*main)(int, char **, char **), int argc, char **argv)`: runs a program and answers its exit
/// status.
///
/// # Safety
/// `main` is compiled code with that signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_run_main(main: *const u8, argc: c_int, argv: *const *const c_char) -> c_int {
    install();
    abi::thread_heap();
    // SAFETY: this thread's context; the trampoline calls `main` with the C convention.
    let status = unsafe {
        let context = context::current();
        let outer = (*context).entry;
        (*context).entry = 1;
        let status = enter(main, argc, argv, environ);
        (*context).entry = outer;
        status
    };
    // SAFETY: flushes C's streams, so that reports come after the program's own output.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    match exit_work() {
        0 => status,
        work_status => work_status,
    }
}

unsafe extern "C" {
    static environ: *const *const c_char;
    /// The return address inside `enter`.
    static tally_entry_return: u8;
}

/// The return address that marks the bottom of compiled code's stack.
pub fn entry_return() -> u64 {
    &raw const tally_entry_return as u64
}

/// Calls `main` from a known address, with a frame record that the walker can stop at.
#[unsafe(naked)]
unsafe extern "C" fn enter(
    main: *const u8,
    argc: c_int,
    argv: *const *const c_char,
    env: *const *const c_char,
) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov edi, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        ".globl tally_entry_return",
        ".hidden tally_entry_return",
        "tally_entry_return:",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

extern "C" fn at_exit() {
    let status = exit_work();
    if status != 0 {
        // SAFETY: C's streams are flushed, then the process ends with the status of the check.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }
}

/// Leak check and statistics, once; the exit status they ask for, or 0.
fn exit_work() -> c_int {
    // SAFETY: this thread's context.
    let attached = unsafe { (*context::current()).heap };
    if attached.is_null() || EXIT_WORK_DONE.swap(true, Ordering::Relaxed) {
        return 0;
    }
    let heap = abi::thread_heap();
    heap.context_mut().exit_pc = 0;
    let options = options();
    let mut status = 0;
    if options.leak_check {
        heap.with_driver(|driver, heap| driver.collect(heap));
        if let Some(report) = leak_report(heap) {
            eprint!("{report}");
            status = STATUS_LEAK;
        }
    }
    heap.retire_allocation();
    match &options.stats {
        None => {}
        Some(StatsTarget::Stderr) => eprint!("{}", statistics_table(&heap.statistics)),
        Some(StatsTarget::File(path)) => {
            if let Err(error) = write_atomically(path, &statistics_json(&heap.statistics)) {
                eprintln!("tally: cannot write statistics to {}: {error}", path.display());
                status = status.max(STATUS_USAGE);
            }
        }
    }
    status
}

/// What is left in the heap, by type; `None` when nothing is.
fn leak_report(heap: &mut Heap) -> Option<String> {
    let mut by_type: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    heap.for_each_mature(|_, object| {
        let info = object.type_info();
        let entry = by_type.entry(&info.name).or_default();
        entry.0 += 1;
        entry.1 += info.cell_bytes_of(object);
    });
    if by_type.is_empty() {
        return None;
    }
    let objects: u64 = by_type.values().map(|entry| entry.0).sum();
    let bytes: u64 = by_type.values().map(|entry| entry.1).sum();
    let mut report = format!("tally: {objects} objects ({bytes} bytes) are still reachable at exit:\n");
    for (name, (objects, bytes)) in by_type {
        report += &format!("  {objects:>10} {name} ({bytes} bytes)\n");
    }
    let roots = held_by_globals(heap);
    if !roots.is_empty() {
        report += &format!("  held by global roots: {}\n", roots.join(", "));
    }
    Some(report)
}

fn held_by_globals(heap: &Heap) -> Vec<String> {
    let mut names = vec![];
    rc_runtime::module_registry::for_each_global_reference(|object, global| {
        if heap.owns(object) && names.len() < 20 {
            names.push(global.name.to_string());
        }
    });
    names.sort();
    names.dedup();
    names
}

/// The statistics with their keys, in the order of `docs/running.md`.
pub fn statistics_entries(statistics: &Statistics) -> Vec<(&'static str, u64)> {
    vec![
        ("epochs", statistics.epochs),
        ("slices", statistics.slices),
        ("pause_ns_max", statistics.pause_ns_max),
        ("pause_ns_total", statistics.pause_ns_total),
        ("allocated_objects", statistics.allocated_objects),
        ("allocated_bytes", statistics.allocated_bytes),
        ("promoted_objects", statistics.promoted_objects),
        ("freed_objects", statistics.freed_objects()),
        ("freed_mature_objects", statistics.freed_mature_objects),
        ("died_young_objects", statistics.died_young_objects),
        ("live_objects", statistics.live_objects),
        ("live_bytes", statistics.live_bytes),
        ("candidates", statistics.candidates),
        ("trial_runs", statistics.trial_runs),
        ("trial_edges", statistics.trial_edges),
        ("cyclic_garbage_objects", statistics.cyclic_garbage_objects),
        ("marks", statistics.marks),
        ("marks_aborted", statistics.marks_aborted),
        ("frames_walked", statistics.frames_walked),
        ("roots_walked", statistics.roots_walked),
        ("log_entries", statistics.log_entries),
        ("blocks_logged", statistics.blocks_logged),
    ]
}

fn statistics_json(statistics: &Statistics) -> String {
    let lines: Vec<String> =
        statistics_entries(statistics).into_iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn statistics_table(statistics: &Statistics) -> String {
    statistics_entries(statistics).into_iter().map(|(key, value)| format!("tally: {key:<24} {value:>16}\n")).collect()
}

/// Writes beside the target and renames: a reader never sees half a file.
fn write_atomically(path: &Path, content: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    std::fs::write(&beside, content)
        .and_then(|()| std::fs::rename(&beside, path))
        .inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
