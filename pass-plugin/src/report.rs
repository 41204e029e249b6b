//! Findings on their way to LLVM's diagnostics.

use std::ffi::{CString, c_char};

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use tally_llvm::diagnostic::Diagnostic;

/// What `passes.cpp` calls `TallyFinding`.
#[repr(C)]
pub(crate) struct Finding {
    is_error: bool,
    /// 0: not known.
    line: u32,
    column: u32,
    /// Null: about the module.
    function: *const c_char,
    text: *const c_char,
}

/// Passes a finding about a module on to LLVM.
pub(crate) type Report = unsafe extern "C" fn(LLVMModuleRef, *const Finding);

/// The reports about one module.
pub(crate) struct Reports {
    report: Report,
    module: LLVMModuleRef,
}

impl Reports {
    pub(crate) fn new(report: Report, module: LLVMModuleRef) -> Reports {
        Reports { report, module }
    }

    pub(crate) fn error(&self, finding: &Diagnostic) {
        self.finding(finding, true);
    }

    pub(crate) fn warning(&self, finding: &Diagnostic) {
        self.finding(finding, false);
    }

    /// An error without a place.
    pub(crate) fn text(&self, text: &str) {
        let place = Finding { is_error: true, line: 0, column: 0, function: std::ptr::null(), text: std::ptr::null() };
        self.send(place, text);
    }

    fn finding(&self, finding: &Diagnostic, is_error: bool) {
        let function = finding.function.as_deref().map(c_text);
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        // The tool shows the place: only if there is none it is in the text.
        let text = match (&finding.function, finding.line) {
            (Some(function), _) => format!("in @{function}: {}{help}", finding.message),
            (None, _) => finding.to_string(),
        };
        let place = Finding {
            is_error,
            line: finding.line.unwrap_or(0),
            column: finding.place.as_ref().map_or(0, |place| place.column),
            function: function.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()),
            text: std::ptr::null(),
        };
        self.send(place, &text);
    }

    fn send(&self, finding: Finding, text: &str) {
        let text = c_text(text);
        let finding = Finding { text: text.as_ptr(), ..finding };
        // SAFETY: the module is alive, and the texts live to the end of the call.
        unsafe { (self.report)(self.module, &raw const finding) };
    }
}

/// A C string; what is behind a zero is left out.
fn c_text(text: &str) -> CString {
    let bytes = text.split('\0').next().unwrap_or_default();
    CString::new(bytes).unwrap_or_default()
}
