//! The operand bundles of a call. LLVM's C API hands out copies, which are to be disposed of.

use super::Value;
use super::call::{Call, DEOPT};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMOperandBundleRef;
use std::borrow::Cow;

impl Call {
    pub(crate) fn has_bundles(self) -> bool {
        raw!(LLVMGetNumOperandBundles(self.value().0)) != 0
    }

    /// The tags of its bundles.
    pub(crate) fn bundle_tags(self) -> Vec<String> {
        let tag = |index| {
            let bundle = raw!(LLVMGetOperandBundleAtIndex(self.value().0, index));
            let mut length = 0;
            let text = super::value::owned_text(raw!(LLVMGetOperandBundleTag(bundle, &mut length)), length);
            raw!(LLVMDisposeOperandBundle(bundle));
            text
        };
        (0..raw!(LLVMGetNumOperandBundles(self.value().0))).map(tag).collect()
    }

    /// The operands of the bundle with this tag.
    pub(crate) fn bundle(self, tag: &str) -> Option<Vec<Value>> {
        (0..raw!(LLVMGetNumOperandBundles(self.value().0))).find_map(|index| {
            let bundle = raw!(LLVMGetOperandBundleAtIndex(self.value().0, index));
            let mut length = 0;
            let text = raw!(LLVMGetOperandBundleTag(bundle, &mut length));
            // SAFETY: LLVM says that there are `length` bytes, and they stay as long as the bundle.
            let here = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
            let found = (here == tag.as_bytes()).then(|| {
                (0..raw!(LLVMGetNumOperandBundleArgs(bundle)))
                    .map(|operand| Value(raw!(LLVMGetOperandBundleArgAtIndex(bundle, operand))))
                    .collect()
            });
            raw!(LLVMDisposeOperandBundle(bundle));
            found
        })
    }

    /// `roots`, and the operands of its own `deopt` bundle.
    pub(super) fn with_state(self, roots: &[Value]) -> Cow<'_, [Value]> {
        match self.bundle(DEOPT) {
            None => Cow::Borrowed(roots),
            Some(state) => Cow::Owned([roots, &state].concat()),
        }
    }

    /// Its bundles of other tags.
    pub(super) fn bundles_but(self, tag: &str) -> Vec<LLVMOperandBundleRef> {
        if !self.has_bundles() {
            return Vec::new();
        }
        let tags = self.bundle_tags().into_iter();
        let (kept, dropped): (Vec<_>, Vec<_>) = self.own_bundles().into_iter().zip(tags).partition(|(_, it)| it != tag);
        for (bundle, _) in dropped {
            raw!(LLVMDisposeOperandBundle(bundle));
        }
        kept.into_iter().map(|(bundle, _)| bundle).collect()
    }

    pub(super) fn own_bundles(self) -> Vec<LLVMOperandBundleRef> {
        let count = raw!(LLVMGetNumOperandBundles(self.value().0));
        (0..count).map(|index| raw!(LLVMGetOperandBundleAtIndex(self.value().0, index))).collect()
    }
}
