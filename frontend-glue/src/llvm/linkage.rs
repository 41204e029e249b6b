//! Functions and variables as the linker sees them: what may name them, what may take their place, and what goes with them.

use super::{Module, Value};
use inkwell::llvm_sys::comdat::{LLVMComdatSelectionKind, LLVMGetComdat, LLVMGetComdatSelectionKind, LLVMSetComdat};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMComdatRef;
use inkwell::llvm_sys::{LLVMLinkage, LLVMVisibility};
use std::collections::HashMap;

/// The fixed number of LLVM's metadata kind `dbg`.
const DEBUG_INFORMATION: u32 = 0;

/// How many members of each group of linkable sections only this module can name.
pub(crate) struct PrivateMembers(HashMap<LLVMComdatRef, usize>);

impl PrivateMembers {
    /// Those of a module.
    pub(crate) fn of(module: Module) -> PrivateMembers {
        let mut members = HashMap::new();
        for value in module.functions().chain(module.globals()).filter(|value| value.is_internal()) {
            let group = raw!(LLVMGetComdat(value.0));
            if !group.is_null() {
                *members.entry(group).or_default() += 1;
            }
        }
        PrivateMembers(members)
    }

    /// Whether a function shares its group with such a member, other than itself: both come from the same module in the end.
    pub(crate) fn accompany(&self, function: Value) -> bool {
        let members = self.0.get(&raw!(LLVMGetComdat(function.0))).copied().unwrap_or(0);
        members > usize::from(function.is_internal())
    }
}

impl Value {
    /// Whether the global's comdat is of a kind that ELF does not have.
    pub(crate) fn comdat_is_foreign(self) -> bool {
        let comdat = raw!(LLVMGetComdat(self.0));
        let is_elfs = |kind| {
            matches!(kind, LLVMComdatSelectionKind::LLVMAnyComdatSelectionKind)
                || matches!(kind, LLVMComdatSelectionKind::LLVMNoDuplicatesComdatSelectionKind)
        };
        !comdat.is_null() && !is_elfs(raw!(LLVMGetComdatSelectionKind(comdat)))
    }

    /// Whether there may be no such variable in the program: its address is null then.
    pub(crate) fn may_be_missing(self) -> bool {
        matches!(raw!(LLVMGetLinkage(self.0)), LLVMLinkage::LLVMExternalWeakLinkage)
    }

    /// Whether the body is a copy, for inlining, of one that is elsewhere.
    pub(crate) fn is_available_externally(self) -> bool {
        matches!(raw!(LLVMGetLinkage(self.0)), LLVMLinkage::LLVMAvailableExternallyLinkage)
    }

    /// Whether the linker may put a definition of another meaning in the place of this one.
    pub(crate) fn may_be_overridden(self) -> bool {
        use LLVMLinkage::{LLVMCommonLinkage, LLVMExternalLinkage, LLVMExternalWeakLinkage};
        match raw!(LLVMGetLinkage(self.0)) {
            LLVMLinkage::LLVMWeakAnyLinkage | LLVMLinkage::LLVMLinkOnceAnyLinkage => true,
            LLVMCommonLinkage | LLVMExternalWeakLinkage => true,
            // Shared libraries whose functions others may interpose.
            LLVMExternalLinkage => {
                let is_seen = || matches!(raw!(LLVMGetVisibility(self.0)), LLVMVisibility::LLVMDefaultVisibility);
                self.module().has_flag("SemanticInterposition") && is_seen()
            }
            _ => false,
        }
    }

    /// Whether the linker may put another definition in the place of this one. One of the same meaning counts as another:
    /// what its body does not show, since a pass has seen that it never happens or comes to the same, the other's body may do.
    pub(crate) fn may_be_replaced(self) -> bool {
        use LLVMLinkage::{LLVMAvailableExternallyLinkage, LLVMLinkOnceODRLinkage, LLVMWeakODRLinkage};
        let is_of_several = matches!(
            raw!(LLVMGetLinkage(self.0)),
            LLVMLinkOnceODRLinkage | LLVMWeakODRLinkage | LLVMAvailableExternallyLinkage
        );
        is_of_several || self.may_be_overridden()
    }

    /// Lets other modules of the same program define the same, and nothing outside see it.
    pub(crate) fn share_in_program(self) {
        raw!(LLVMSetLinkage(self.0, LLVMLinkage::LLVMWeakODRLinkage));
        raw!(LLVMSetVisibility(self.0, LLVMVisibility::LLVMHiddenVisibility));
    }

    /// Whether only its own module can name it.
    pub(crate) fn is_internal(self) -> bool {
        matches!(raw!(LLVMGetLinkage(self.0)), LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage)
    }

    /// Gives a function the outside properties of another: linkage, visibility, section, convention, attributes, group,
    /// and what stands beside its code or is known of its address.
    pub(crate) fn copy_linkage_and_attributes(self, from: Value) {
        if raw!(LLVMHasPrefixData(from.0)) != 0 {
            raw!(LLVMSetPrefixData(self.0, LLVMGetPrefixData(from.0)));
        }
        if raw!(LLVMHasPrologueData(from.0)) != 0 {
            raw!(LLVMSetPrologueData(self.0, LLVMGetPrologueData(from.0)));
        }
        self.copy_metadata(from);
        raw!(LLVMSetLinkage(self.0, LLVMGetLinkage(from.0)));
        raw!(LLVMSetVisibility(self.0, LLVMGetVisibility(from.0)));
        raw!(LLVMSetUnnamedAddress(self.0, LLVMGetUnnamedAddress(from.0)));
        raw!(LLVMSetFunctionCallConv(self.0, LLVMGetFunctionCallConv(from.0)));
        raw!(LLVMSetComdat(self.0, LLVMGetComdat(from.0)));
        raw!(LLVMSetSection(self.0, LLVMGetSection(from.0)));
        raw!(LLVMSetGC(self.0, LLVMGetGC(from.0)));
        for index in -1..self.parameter_count() as i32 + 1 {
            let count = raw!(LLVMGetAttributeCountAtIndex(from.0, index as u32));
            let mut list = vec![std::ptr::null_mut(); count as usize];
            raw!(LLVMGetAttributesAtIndex(from.0, index as u32, list.as_mut_ptr()));
            for attribute in list {
                raw!(LLVMAddAttributeAtIndex(self.0, index as u32, attribute));
            }
        }
    }

    /// Metadata of the address, as the types by which calls through pointers are checked; the debug information stays with the code.
    fn copy_metadata(self, from: Value) {
        let mut count = 0;
        let entries = raw!(LLVMGlobalCopyAllMetadata(from.0, &mut count));
        for index in 0..count as u32 {
            let kind = raw!(LLVMValueMetadataEntriesGetKind(entries, index));
            if kind != DEBUG_INFORMATION {
                let node = raw!(LLVMValueMetadataEntriesGetMetadata(entries, index));
                raw!(LLVMGlobalSetMetadata(self.0, kind, node));
            }
        }
        raw!(LLVMDisposeValueMetadataEntries(entries));
    }

    /// Takes a function out of its group of linkable sections.
    pub(crate) fn forget_comdat(self) {
        raw!(LLVMSetComdat(self.0, std::ptr::null_mut()));
    }
}
