//! Builds descriptors in constants, as a host in Rust declares its types.
//!
//! Everything here takes slices, references and names, so what comes out of it leads where it says. Only functions are
//! promised by their author: who sets a destructor or a trace function says `unsafe` once, at the type. Whether offsets lie
//! inside the payload is a question of `check`, which registration asks. `[DESCRIPTOR]`

use super::{
    DESCRIPTOR_VERSION, FLAG_ACYCLIC, FLAG_EPHEMERON, FLAG_FINALIZE_OWNER_FIRST, FLAG_FINALIZE_REGISTERED,
    FLAG_FINALIZE_REVERSE, FinalizeOrder, RawDescriptor, SlotKind, TraceFunction, TypeDescriptor,
};
use crate::services::finalizer::Finalizer;
use std::ffi::{CStr, c_void};

impl TypeDescriptor {
    /// A descriptor of `size` payload bytes with plain references at `offsets`; the other fields can be set after.
    pub const fn plain(name: &'static CStr, size: u64, offsets: &'static [u32]) -> TypeDescriptor {
        TypeDescriptor(RawDescriptor {
            version: DESCRIPTOR_VERSION,
            flags: 0,
            size,
            align: 0,
            slot_kind: SlotKind::Pointer as u32,
            tag_mask: 0,
            tag_pattern: 0,
            pointer_mask: 0,
            ref_count: entries(offsets),
            element_ref_count: 0,
            ref_offsets: offsets.as_ptr(),
            length_offset: 0,
            stride: 0,
            element_ref_offsets: std::ptr::null(),
            name: name.as_ptr(),
            finalize: std::ptr::null(),
            trace: None,
            ref_types: std::ptr::null(),
            element_ref_types: std::ptr::null(),
        })
    }

    /// A descriptor that code outside of Rust, or a reader of a module, put together.
    ///
    /// # Safety
    /// Its pointers lead where `tally.h` says, or are null: as many offsets and types as the counts say, a C string, and
    /// functions of those types that keep what the header asks of them. They do for as long as the result is used.
    pub const unsafe fn from_raw(raw: RawDescriptor) -> TypeDescriptor {
        TypeDescriptor(raw)
    }

    /// The same with a tail of elements of `stride` bytes whose references stand at `offsets`; the runtime keeps the
    /// number of elements in the u64 at `length_offset`.
    pub const fn with_tail(mut self, length_offset: u64, stride: u64, offsets: &'static [u32]) -> TypeDescriptor {
        self.0.length_offset = length_offset;
        self.0.stride = stride;
        self.0.element_ref_count = entries(offsets);
        self.0.element_ref_offsets = offsets.as_ptr();
        self.0.element_ref_types = std::ptr::null();
        self
    }

    /// The same with declared types of the references of the fixed part, one for each; `None` may hold anything.
    ///
    /// # Panics
    /// When there are not as many as references.
    pub const fn with_field_types(mut self, types: &'static [Option<&'static TypeDescriptor>]) -> TypeDescriptor {
        assert!(types.len() == self.0.ref_count as usize, "one type for each reference");
        self.0.ref_types = types.as_ptr().cast();
        self
    }

    /// The same with words read as `kind` through the three masks.
    pub const fn tagged(mut self, kind: SlotKind, mask: u64, pattern: u64, pointer: u64) -> TypeDescriptor {
        self.0.slot_kind = kind as u32;
        self.0.tag_mask = mask;
        self.0.tag_pattern = pattern;
        self.0.pointer_mask = pointer;
        self
    }

    /// The same with references found by `trace`.
    ///
    /// # Safety
    /// `trace` reads only the words that it is given, keeps nothing of them, and reports references alone.
    pub const unsafe fn traced(mut self, trace: TraceFunction) -> TypeDescriptor {
        self.0.slot_kind = SlotKind::Trace as u32;
        self.0.trace = Some(trace);
        self
    }

    /// The same with payloads aligned to `align` bytes.
    pub const fn aligned(mut self, align: u32) -> TypeDescriptor {
        self.0.align = align;
        self
    }

    /// The same, promised never to be part of a cycle. If an object is, it is never freed.
    pub const fn acyclic(mut self) -> TypeDescriptor {
        self.0.flags |= FLAG_ACYCLIC;
        self
    }

    /// The same with a destructor.
    ///
    /// # Safety
    /// `finalize` may be called with every object of this type, on the thread of its heap.
    pub const unsafe fn finalized(mut self, finalize: Finalizer) -> TypeDescriptor {
        self.0.finalize = finalize as *const c_void;
        self
    }

    /// The same with finalizers in that order.
    pub const fn finalized_in(mut self, order: FinalizeOrder) -> TypeDescriptor {
        self.0.flags |= match order {
            FinalizeOrder::Any => 0,
            FinalizeOrder::Reverse => FLAG_FINALIZE_REVERSE,
            FinalizeOrder::OwnerFirst => FLAG_FINALIZE_OWNER_FIRST,
        };
        self
    }

    /// The same; only registered objects are finalized.
    pub const fn finalized_on_request(mut self) -> TypeDescriptor {
        self.0.flags |= FLAG_FINALIZE_REGISTERED;
        self
    }

    /// The same for ephemerons.
    pub const fn ephemeron(mut self) -> TypeDescriptor {
        self.0.flags |= FLAG_EPHEMERON;
        self
    }
}

/// No payload has room for as many as would not fit; `check` says so.
const fn entries(offsets: &'static [u32]) -> u32 {
    if offsets.len() > u32::MAX as usize { u32::MAX } else { offsets.len() as u32 }
}
