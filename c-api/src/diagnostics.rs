//! Findings as values that C can read, and the way in which every function ends.

use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tally_llvm::diagnostic::Diagnostic;
use tally_llvm::guard::loaded_llvm;
use tally_llvm::jit::SessionError;
use tally_llvm::pipeline::CompileError;

const ERROR: u32 = 1;
const WARNING: u32 = 2;

/// `tally_diagnostic` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct Finding {
    severity: u32,
    line: u32,
    column: u32,
    file: *const c_char,
    function: *const c_char,
    text: *const c_char,
    hint: *const c_char,
}

/// `tally_diagnostics` of the header: findings, and the texts that they lead to.
#[derive(Debug, Default)]
pub struct Findings {
    findings: Vec<Finding>,
    texts: Vec<CString>,
}

impl Findings {
    pub(crate) fn warnings(found: &[Diagnostic]) -> Findings {
        let mut all = Findings::default();
        found.iter().for_each(|finding| all.add(WARNING, finding));
        all
    }

    fn errors(found: &[Diagnostic]) -> Findings {
        let mut all = Findings::default();
        found.iter().for_each(|finding| all.add(ERROR, finding));
        all
    }

    /// An error about no module.
    pub(crate) fn error(text: impl Display) -> Findings {
        let mut all = Findings::default();
        let text = all.keep(Some(&text.to_string()));
        let nowhere = std::ptr::null();
        let finding =
            Finding { severity: ERROR, line: 0, column: 0, file: nowhere, function: nowhere, text, hint: nowhere };
        all.findings.push(finding);
        all
    }

    fn add(&mut self, severity: u32, of: &Diagnostic) {
        let finding = Finding {
            severity,
            line: of.line.unwrap_or(0),
            column: of.place.as_ref().map_or(0, |place| place.column),
            file: self.keep(of.file.as_deref()),
            function: self.keep(of.function.as_deref()),
            text: self.keep(Some(&of.message)),
            hint: self.keep(of.help.as_deref()),
        };
        self.findings.push(finding);
    }

    /// A C string that lives as long as the list; what is behind a zero is left out.
    fn keep(&mut self, text: Option<&str>) -> *const c_char {
        let Some(text) = text else { return std::ptr::null() };
        let bytes = text.split('\0').next().unwrap_or_default();
        let text = CString::new(bytes).unwrap_or_default();
        let address = text.as_ptr();
        // A C string does not move when its handle does.
        self.texts.push(text);
        address
    }
}

impl From<CompileError> for Findings {
    fn from(error: CompileError) -> Findings {
        match error.findings() {
            Some(findings) => Findings::errors(findings),
            None => Findings::error(error),
        }
    }
}

impl From<SessionError> for Findings {
    fn from(error: SessionError) -> Findings {
        match error {
            SessionError::Compile(error) => error.into(),
            other => Findings::error(other),
        }
    }
}

/// Does the work of a function of the interface. The result is LLVM's: 0 for success.
///
/// # Safety
/// `found` is null, or a place for a list.
pub(crate) unsafe fn ended(found: *mut *mut Findings, work: impl FnOnce() -> Result<Findings, Findings>) -> i32 {
    let guarded = || match loaded_llvm::is_another() {
        Some(message) => Err(Findings::error(message)),
        None => work(),
    };
    let (list, status) = match catch_unwind(AssertUnwindSafe(guarded)) {
        Ok(Ok(list)) => (list, 0),
        Ok(Err(list)) => (list, 1),
        Err(_) => (Findings::error("stopped by a defect of Tally, which is printed on standard error: report it"), 1),
    };
    if !found.is_null() {
        // SAFETY: the caller's duty.
        unsafe { found.write(Box::into_raw(Box::new(list))) };
    }
    status
}

/// # Safety
/// A list that was given out, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_diagnostics_count(found: *const Findings) -> usize {
    // SAFETY: the caller's duty.
    unsafe { found.as_ref() }.map_or(0, |found| found.findings.len())
}

/// # Safety
/// A list that was given out, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_diagnostics_get(found: *const Findings, index: usize) -> *const Finding {
    // SAFETY: the caller's duty.
    let found = unsafe { found.as_ref() };
    found.and_then(|found| found.findings.get(index)).map_or(std::ptr::null(), |finding| finding)
}

/// # Safety
/// A list that was given out and not disposed of, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_diagnostics_dispose(found: *mut Findings) {
    if !found.is_null() {
        // SAFETY: the caller's duty; `ended` has made the box.
        drop(unsafe { Box::from_raw(found) });
    }
}
