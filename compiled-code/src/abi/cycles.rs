//! The C symbols about cycles that were collected: the switch, and what was noted since.
//!
//! None is a safepoint. A line is there until the visitor returns.

use crate::abi::thread_heap;
use crate::module::registry;
use std::ffi::{CString, c_char, c_void};

/// Gets a line of the report.
pub(crate) type VisitLine = unsafe extern "C-unwind" fn(line: *const c_char, context: *mut c_void);

/// `void tally_log_cycles(int32_t on)`: notes which fields close the cycles that are collected, or no more.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_log_cycles(on: i32) {
    leaf!(tally_log_cycles);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.log_cycles(on != 0);
}

/// `uint64_t tally_cycle_report(void (*visit)(const char *, void *), void *context)`: calls `visit` with each line of what was noted, or prints
/// them; returns their number.
///
/// # Safety
/// `visit` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn tally_cycle_report(visit: Option<VisitLine>, context: *mut c_void) -> u64 {
    leaf!(tally_cycle_report);
    registry::take_names();
    // SAFETY: [ALONE] borrowed for this statement alone.
    let report = unsafe { thread_heap() }.cycle_report();
    // No name has a zero byte: they came from C's texts.
    let lines: Vec<CString> = report.lines().filter_map(|line| CString::new(line).ok()).collect();
    match visit {
        // SAFETY: a function of that type, by the caller's promise.
        Some(visit) => lines.iter().for_each(|line| unsafe { visit(line.as_ptr(), context) }),
        None => tally_heap::tell!("{report}"),
    }
    lines.len() as u64
}
