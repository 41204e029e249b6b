//! A name among a module's constants, which is read when a report needs it.
//!
//! A program has as many names of roots as it has roots, and mostly prints none: copies of all would take most of the
//! time of its start.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::Arc;

/// A C string of a module that is registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameText {
    constant: *const c_char,
}

// SAFETY: a constant that is only read.
unsafe impl Send for NameText {}
// SAFETY: a constant that is only read.
unsafe impl Sync for NameText {}

impl NameText {
    /// The string there, or `otherwise` for null.
    ///
    /// # Safety
    /// A constant that is there whenever the name is read.
    pub(crate) unsafe fn of(constant: *const c_char, otherwise: &'static CStr) -> NameText {
        NameText { constant: if constant.is_null() { otherwise.as_ptr() } else { constant } }
    }

    pub(crate) fn get(self) -> Cow<'static, str> {
        // SAFETY: by the promise to `of`.
        unsafe { CStr::from_ptr(self.constant) }.to_string_lossy()
    }

    /// What follows `prefix`.
    pub(crate) fn behind(self, prefix: &str) -> Option<Cow<'static, str>> {
        // SAFETY: by the promise to `of`.
        let behind = unsafe { CStr::from_ptr(self.constant) }.to_bytes().strip_prefix(prefix.as_bytes())?;
        Some(String::from_utf8_lossy(behind))
    }

    pub(crate) fn starts_with(self, prefix: &str) -> bool {
        // SAFETY: by the promise to `of`.
        unsafe { CStr::from_ptr(self.constant) }.to_bytes().starts_with(prefix.as_bytes())
    }

    pub(crate) fn shared(self) -> Arc<str> {
        self.get().into()
    }

    #[cfg(test)]
    pub(crate) fn leaked(name: &str) -> NameText {
        NameText { constant: std::ffi::CString::new(name).unwrap().into_raw() }
    }
}

impl fmt::Display for NameText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without an allocation: a signal handler prints names.
        // SAFETY: by the promise to `of`.
        let name = unsafe { CStr::from_ptr(self.constant) };
        for chunk in name.to_bytes().utf8_chunks() {
            out.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                out.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_when_they_are_wanted() {
        let name = NameText::leaked("tally.counted.list");
        assert_eq!(name.behind("tally.counted."), Some("list".into()));
        assert_eq!((name.behind("tally.counter."), name.behind("tally.counted.list.")), (None, None));
        assert_eq!((name.to_string(), &*name.shared()), ("tally.counted.list".to_owned(), "tally.counted.list"));
        assert!(name.starts_with("") && !NameText::leaked("").starts_with("t"));
        // SAFETY: null is no constant.
        let unnamed = unsafe { NameText::of(std::ptr::null(), c"(unnamed)") };
        assert_eq!(unnamed.to_string(), "(unnamed)");
        let broken = NameText { constant: c"gr\xfcn".as_ptr() };
        assert_eq!(broken.to_string(), "gr\u{fffd}n");
    }
}
