//! LLVM's messages in Tally's form: no report of LLVM may end the process by itself.
//!
//! LLVM reports in three ways. Functions that can fail return a message (the caller deals with it). A context reports
//! *diagnostics*; without a handler an error among them prints and calls `exit(1)`. A *fatal error*, after which LLVM
//! cannot continue, aborts. [`listen`] handles the second way: it gathers diagnostics per thread, and the caller of a
//! pass or of the code generator gets them from [`take`] afterwards. `catch_fatal_errors` handles the third: one
//! line and exit status 2, because LLVM must not be entered again after it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

use crate::guard::crash_net;

/// One diagnostic of LLVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether the module cannot be used after it.
    pub(crate) is_error: bool,
    /// LLVM's words.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error { "error" } else { "warning" };
        write!(f, "{severity}: {}", self.text)
    }
}

thread_local! {
    /// Diagnostics since the last [`take`] on this thread.
    static HEARD: RefCell<Vec<Message>> = const { RefCell::new(Vec::new()) };
}

/// From now on, diagnostics of `context` are gathered for [`take`] instead of printed.
pub fn listen(context: &Context) {
    // SAFETY: the context is alive, and the handler is a plain function without state of its own, so it cannot
    // outlive anything that it needs.
    unsafe {
        LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(hear), std::ptr::null_mut());
    }
}

/// The diagnostics heard on this thread since the last call.
pub fn take() -> Vec<Message> {
    HEARD.with_borrow_mut(std::mem::take)
}

/// The errors among [`take`]'s messages, joined by line ends; warnings are printed on the way.
pub(crate) fn take_errors() -> Option<String> {
    let (errors, others): (Vec<_>, Vec<_>) = take().into_iter().partition(|m| m.is_error);
    for warning in others {
        tally_heap::tell_line!("tally: LLVM: {warning}");
    }
    let texts: Vec<String> = errors.into_iter().map(|m| m.text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Turns LLVM's fatal errors into a message and exit status 2. Once per process is enough.
pub(crate) fn catch_fatal_errors() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the handler may be installed at any time while no other is; `Once` ensures that.
    ONCE.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(stop_at_fatal_error)) });
}

extern "C" fn hear(diagnostic: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic for the time of this call.
    let severity = unsafe { LLVMGetDiagInfoSeverity(diagnostic) };
    let is_error = match severity {
        LLVMDiagnosticSeverity::LLVMDSError => true,
        LLVMDiagnosticSeverity::LLVMDSWarning => false,
        // Optimisation remarks and notes were not requested here.
        LLVMDiagnosticSeverity::LLVMDSRemark | LLVMDiagnosticSeverity::LLVMDSNote => return,
    };
    // SAFETY: LLVM passes a live diagnostic for the time of this call.
    let raw = unsafe { LLVMGetDiagInfoDescription(diagnostic) };
    // SAFETY: a C string, which is ours.
    let text = unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned();
    // SAFETY: ours to dispose of, and copied.
    unsafe { LLVMDisposeMessage(raw) };
    HEARD.with_borrow_mut(|heard| heard.push(Message { is_error, text }));
}

extern "C" fn stop_at_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a C string that lives for the time of this call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let mut place = String::new();
    crash_net::with_file(|file| place = format!("{}: ", String::from_utf8_lossy(file)));
    tally_heap::tell_line!("tally: {place}LLVM gave up on this input: {reason}");
    // Not `exit`: LLVM's own static destructors must not run in the middle of LLVM.
    // SAFETY: ends the process, nothing of ours is used afterwards.
    unsafe { libc::_exit(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn a_diagnostic_is_heard_once() {
        let context = Context::create();
        listen(&context);
        // A module whose debug info is of an unknown version: LLVM drops it and says so.
        let text = "!llvm.module.flags = !{!0}\n!llvm.dbg.cu = !{!1}\n\
             !0 = !{i32 2, !\"Debug Info Version\", i32 1}\n\
             !1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2)\n\
             !2 = !DIFile(filename: \"a.c\", directory: \"\")\n";
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "old.ll");
        context.create_module_from_ir(buffer).unwrap();
        let heard = take();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(!heard[0].is_error);
        assert!(heard[0].text.contains("debug"), "{}", heard[0]);
        assert_eq!(take(), []);
    }
}
