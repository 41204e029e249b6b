//! Types whose trace function went away with its module: a visit of an object that is left stops the program and says so.
//!
//! A module that goes must leave no object of such a type behind (docs/port/embedding.md), and a program that forgets that would
//! jump to where its code was. The function may still be there: while a library is being closed, when it was opened again at the
//! same place, or when something else keeps it open. The dynamic linker knows; it knows nothing of code compiled in memory,
//! which is gone at once.

use crate::descriptor::TraceFunction;
use crate::fatal::{self, STATUS_VIOLATION};
use crate::type_registry::{Reading, Tracer, TypeInfo};
use std::ffi::CStr;

/// Where the code of a type was.
#[derive(Debug)]
pub(super) struct LostCode {
    module: Box<str>,
    /// The file that the dynamic linker had loaded it from.
    library: Option<Box<CStr>>,
}

impl TypeInfo {
    /// Notes that the last module goes that has this type, with the trace function's code.
    pub fn note_lost_code(&self, module: &str) {
        if let Reading::Traced(Tracer::Function(trace)) = self.reading {
            _ = self.lost.set(LostCode { module: module.into(), library: library_of(trace) });
        }
    }

    /// Stops the program if the code of the trace function has gone.
    #[inline(always)]
    pub(crate) fn check_that_code_is_there(&self, trace: TraceFunction) {
        if let Some(lost) = self.lost.get() {
            self.look_for_lost_code(trace, lost);
        }
    }

    #[cold]
    fn look_for_lost_code(&self, trace: TraceFunction, lost: &LostCode) {
        let is_there = lost.library.is_some() && library_of(trace) == lost.library;
        if !is_there {
            let (name, module) = (&self.name, &lost.module);
            let message = format!(
                "an object of type `{name}` is left, and its trace function is gone: module `{module}` was unloaded; let go of \
                 such objects and call tally_collect() before"
            );
            fatal::stop(STATUS_VIOLATION, &message);
        }
    }
}

fn library_of(trace: TraceFunction) -> Option<Box<CStr>> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for.
    let is_known = unsafe { libc::dladdr(trace as *const libc::c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: zeroed, which is a valid value, or filled in.
    let name = unsafe { found.assume_init() }.dli_fname;
    // SAFETY: the linker's name of a file that is loaded.
    (is_known && !name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.into())
}
