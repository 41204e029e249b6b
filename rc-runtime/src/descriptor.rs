//! Type descriptors: how a frontend tells where an object's references are.
//!
//! A descriptor is a constant global of the program, 128 bytes, documented field by field in `tally.h`. It is checked
//! here, once, at registration (`type_registry`), and never read again: the heap works on the `TypeInfo` built from it.
//! A descriptor also serves as the second argument of `llvm.gcroot`; then it describes the stack slot as if that were a
//! payload.
//!
//! [`RawDescriptor`] is the layout, and may say anything. A [`TypeDescriptor`] cannot lie about memory: its author is
//! the builder (`descriptor/builder.rs`), or promised what the builder keeps. `[DESCRIPTOR]`

mod builder;

use std::ffi::{CStr, c_char, c_void};

/// The version of the layout below.
pub const DESCRIPTOR_VERSION: u32 = 1;
/// Flag: no object of this type is ever part of a cycle.
pub const FLAG_ACYCLIC: u32 = 1;
/// Flag: objects of this type are ephemerons: while one has a key, its references count for a mark only if the key is alive.
pub const FLAG_EPHEMERON: u32 = 2;
/// Flag: of objects that are found dead together, those that registered last are finalized first.
pub const FLAG_FINALIZE_REVERSE: u32 = 4;
/// Flag: an object is finalized before those that it refers to.
pub const FLAG_FINALIZE_OWNER_FIRST: u32 = 8;
/// Flag: only objects that were registered for it are finalized.
pub const FLAG_FINALIZE_REGISTERED: u32 = 16;
const FINALIZE_FLAGS: u32 = FLAG_FINALIZE_REVERSE | FLAG_FINALIZE_OWNER_FIRST | FLAG_FINALIZE_REGISTERED;

/// Bit 0 of an offset in a type whose words or pairs have tags: the word there is a plain reference, or null.
pub const PLAIN_REFERENCE: u32 = 1;

/// In which order finalizers of objects run that are found dead together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinalizeOrder {
    /// Any.
    #[default]
    Any,
    /// The object registered last is first.
    Reverse,
    /// Owners before what they own.
    OwnerFirst,
}

/// How the words at the reference offsets are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotKind {
    /// The word is a reference or null.
    Pointer = 0,
    /// Low tag bits: a reference iff `word & tag_mask == tag_pattern` and `word & pointer_mask != 0`.
    Tagged = 1,
    /// NaN-boxed: the same test with a mask over the high bits.
    NanBoxed = 2,
    /// The descriptor's `trace` function finds the references.
    Trace = 3,
    /// The test of [`SlotKind::Tagged`], but on a tag in the word before that of the reference.
    TagBefore = 4,
    /// The same with the tag in the word behind.
    TagBehind = 5,
}

/// Called by a `trace` function for every reference it finds.
pub type TraceVisit = unsafe extern "C" fn(reference: *mut c_void, context: *mut c_void);
/// Interprets an image of `n` payload words; reports every reference among them once.
pub type TraceFunction = unsafe extern "C" fn(words: *const u64, n: u64, visit: TraceVisit, context: *mut c_void);

/// The layout that frontends emit (`tally_type` in `tally.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawDescriptor {
    /// [`DESCRIPTOR_VERSION`].
    pub version: u32,
    /// The `FLAG_` constants.
    pub flags: u32,
    /// Payload bytes of the fixed part.
    pub size: u64,
    /// Alignment of the payload: a power of two up to 4096; 0 means 8.
    pub align: u32,
    /// A [`SlotKind`].
    pub slot_kind: u32,
    /// See [`SlotKind::Tagged`].
    pub tag_mask: u64,
    /// See [`SlotKind::Tagged`].
    pub tag_pattern: u64,
    /// See [`SlotKind::Tagged`].
    pub pointer_mask: u64,
    /// Entries in `ref_offsets`.
    pub ref_count: u32,
    /// Entries in `element_ref_offsets`.
    pub element_ref_count: u32,
    /// Byte offsets of the references in the fixed part, ascending multiples of 8; with [`PLAIN_REFERENCE`] for those without tags
    /// beside others with tags.
    pub ref_offsets: *const u32,
    /// Byte offset of the u64 that holds the number of tail elements (only with a tail).
    pub length_offset: u64,
    /// Bytes of one tail element; 0 = no tail.
    pub stride: u64,
    /// The same of the references in one element.
    pub element_ref_offsets: *const u32,
    /// Name, a C string.
    pub name: *const c_char,
    /// Called when an object was found dead (`Finalizer`), or null.
    pub finalize: *const c_void,
    /// Only with [`SlotKind::Trace`].
    pub trace: Option<TraceFunction>,
    /// Static types of the fields at `ref_offsets`, or null; entries may be null.
    pub ref_types: *const *const TypeDescriptor,
    /// Static types of the fields at `element_ref_offsets`, or null; entries may be null.
    pub element_ref_types: *const *const TypeDescriptor,
}

/// A descriptor whose pointers lead where they say. `[DESCRIPTOR]`
#[repr(transparent)]
#[derive(Debug)]
pub struct TypeDescriptor(RawDescriptor);

// SAFETY: [DESCRIPTOR] the pointers lead to constants and functions.
unsafe impl Sync for TypeDescriptor {}
// SAFETY: [DESCRIPTOR] the pointers lead to constants and functions.
unsafe impl Send for TypeDescriptor {}

impl std::ops::Deref for TypeDescriptor {
    type Target = RawDescriptor;

    fn deref(&self) -> &RawDescriptor {
        &self.0
    }
}

const _: () = {
    use std::mem::offset_of;
    assert!(std::mem::size_of::<TypeDescriptor>() == 128);
    assert!(std::mem::size_of::<RawDescriptor>() == 128);
    assert!(offset_of!(RawDescriptor, size) == 8);
    assert!(offset_of!(RawDescriptor, align) == 16);
    assert!(offset_of!(RawDescriptor, slot_kind) == 20);
    assert!(offset_of!(RawDescriptor, tag_mask) == 24);
    assert!(offset_of!(RawDescriptor, pointer_mask) == 40);
    assert!(offset_of!(RawDescriptor, ref_count) == 48);
    assert!(offset_of!(RawDescriptor, ref_offsets) == 56);
    assert!(offset_of!(RawDescriptor, length_offset) == 64);
    assert!(offset_of!(RawDescriptor, stride) == 72);
    assert!(offset_of!(RawDescriptor, element_ref_offsets) == 80);
    assert!(offset_of!(RawDescriptor, name) == 88);
    assert!(offset_of!(RawDescriptor, finalize) == 96);
    assert!(offset_of!(RawDescriptor, trace) == 104);
    assert!(offset_of!(RawDescriptor, ref_types) == 112);
    assert!(offset_of!(RawDescriptor, element_ref_types) == 120);
};

/// A fault of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("type descriptor `{name}`: {fault}")]
pub struct DescriptorError {
    /// Name of the type, as far as it could be read.
    pub name: String,
    /// The fault and its remedy.
    pub fault: DescriptorFault,
}

/// The ways in which a descriptor can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum DescriptorFault {
    #[error("version is {0}, this runtime reads version 1; compile the program with the tally.h of this runtime")]
    Version(u32),
    #[error(
        "flags {0:#x} are not known; TALLY_ACYCLIC (1), TALLY_EPHEMERON (2) and the TALLY_FINALIZE_ flags (4, 8, 16) are"
    )]
    Flags(u32),
    #[error(
        "slot_kind {0} is not known; use 0 (pointer), 1 (tagged), 2 (NaN-boxed), 3 (trace), 4 or 5 (tag before or behind)"
    )]
    SlotKind(u32),
    #[error("size {0} is out of bounds; an object has at most 2^40 bytes")]
    Size(u64),
    #[error("align {0} is not a power of two up to 4096")]
    Align(u32),
    #[error("{count} references cannot fit into {bytes} bytes of {part}")]
    TooManyReferences { part: &'static str, count: u32, bytes: u64 },
    #[error("{field} is null although its count is {count}")]
    MissingOffsets { field: &'static str, count: u32 },
    #[error("offset {offset} (number {index}) of {field} is not a multiple of 8; references are aligned words")]
    Unaligned { field: &'static str, index: u32, offset: u32 },
    #[error(
        "offset {offset} (number {index}) of {field} has TALLY_PLAIN_REF (1), and slot_kind is {kind}: only types with tags have plain references beside others"
    )]
    NothingBeside { field: &'static str, index: u32, offset: u32, kind: u32 },
    #[error("offset {offset} (number {index}) of {field} lies outside the {bytes} bytes it describes")]
    Outside { field: &'static str, index: u32, offset: u32, bytes: u64 },
    #[error("offset {offset} (number {index}) of {field} repeats or goes back; offsets ascend")]
    NotAscending { field: &'static str, index: u32, offset: u32 },
    #[error("stride {0} with references is not a multiple of 8")]
    Stride(u64),
    #[error("the tail begins at size {0}, which is not a multiple of 8")]
    TailStart(u64),
    #[error("length_offset {0} does not name an aligned u64 inside the fixed part")]
    LengthOffset(u64),
    #[error("length_offset {0} is also a reference")]
    LengthIsReference(u64),
    #[error("pointer_mask is 0: no word could ever hold a reference")]
    PointerMask,
    #[error("slot_kind 3 asks for a trace function, and trace is null")]
    MissingTrace,
    #[error("trace is set, but slot_kind is not 3: it would never be called")]
    UnusedTrace,
    #[error("flags {0:#x} say how its objects are finalized, and finalize is null")]
    UnusedFinalizeFlags(u32),
    #[error("TALLY_FINALIZE_REVERSE (4) and TALLY_FINALIZE_OWNER_FIRST (8) are two orders; choose one")]
    TwoOrders,
    #[error(
        "an ephemeron has a fixed size of at most 8192 bytes, and references that can be nulled: no tail, no trace function"
    )]
    Ephemeron,
    #[error("the tag beside the reference at offset {offset} of {field} lies outside, or is a reference or the length")]
    Tag { field: &'static str, offset: u32 },
    #[error("all 2^23 type ids are in use")]
    TooManyTypes,
    #[error("{0}")]
    Range(crate::memory::range::RangeError),
}

impl TypeDescriptor {
    /// The name as text.
    pub fn display_name(&self) -> String {
        if self.name.is_null() {
            return "(unnamed)".to_owned();
        }
        // SAFETY: [DESCRIPTOR] a name that is not null is a C string.
        unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned()
    }

    /// In which order its objects are finalized.
    pub const fn finalize_order(&self) -> FinalizeOrder {
        match self.0.flags & (FLAG_FINALIZE_REVERSE | FLAG_FINALIZE_OWNER_FIRST) {
            0 => FinalizeOrder::Any,
            FLAG_FINALIZE_REVERSE => FinalizeOrder::Reverse,
            _ => FinalizeOrder::OwnerFirst,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`DescriptorError`] naming the first wrong field.
    pub fn check(&self) -> Result<(), DescriptorError> {
        self.fault().map_or(Ok(()), |fault| Err(DescriptorError { name: self.display_name(), fault }))
    }

    fn fault(&self) -> Option<DescriptorFault> {
        use DescriptorFault as F;
        if self.version != DESCRIPTOR_VERSION {
            return Some(F::Version(self.version));
        }
        if self.flags & !(FLAG_ACYCLIC | FLAG_EPHEMERON | FINALIZE_FLAGS) != 0 {
            return Some(F::Flags(self.flags));
        }
        if self.flags & FINALIZE_FLAGS != 0 && self.finalize.is_null() {
            return Some(F::UnusedFinalizeFlags(self.flags & FINALIZE_FLAGS));
        }
        let orders = FLAG_FINALIZE_REVERSE | FLAG_FINALIZE_OWNER_FIRST;
        if self.flags & orders == orders {
            return Some(F::TwoOrders);
        }
        let unfit = self.stride != 0 || self.size > 8192 || self.slot_kind == SlotKind::Trace as u32;
        if self.flags & FLAG_EPHEMERON != 0 && unfit {
            return Some(F::Ephemeron);
        }
        if self.slot_kind > SlotKind::TagBehind as u32 {
            return Some(F::SlotKind(self.slot_kind));
        }
        if self.size > 1 << 40 || self.stride > 1 << 40 {
            return Some(F::Size(self.size.max(self.stride)));
        }
        if self.align != 0 && (!self.align.is_power_of_two() || self.align > 4096) {
            return Some(F::Align(self.align));
        }
        match (self.slot_kind == SlotKind::Trace as u32, self.trace.is_some()) {
            (true, false) => return Some(F::MissingTrace),
            (false, true) => return Some(F::UnusedTrace),
            _ => {}
        }
        if self.has_tags() && self.pointer_mask == 0 {
            return Some(F::PointerMask);
        }
        self.offsets_fault("ref_offsets", ("the fixed part", self.size), self.ref_offsets, self.ref_count)
            .or_else(|| self.tail_fault())
            .or_else(|| self.tag_fault("ref_offsets", self.fixed_entries(), self.size, self.stride != 0))
            .or_else(|| self.tag_fault("element_ref_offsets", self.element_entries(), self.stride, false))
    }

    /// Each reference that has a tag beside it has that in the same part, in a word that is nothing else.
    fn tag_fault(&self, field: &'static str, entries: &[u32], bytes: u64, has_length: bool) -> Option<DescriptorFault> {
        let is_behind = self.tag_is_behind()?;
        let tag_of = |offset: u32| if is_behind { offset.checked_add(8) } else { offset.checked_sub(8) };
        let is_length = |tag| has_length && u64::from(tag) == self.length_offset;
        let is_reference = |word: u32| entries.iter().any(|&entry| offset_of_entry(entry) == word);
        let is_sound = |tag: u32| u64::from(tag) + 8 <= bytes && !is_reference(tag) && !is_length(tag);
        let mut tagged = entries.iter().copied().filter(|&entry| !is_plain_entry(entry));
        let wrong = tagged.find(|&offset| !tag_of(offset).is_some_and(is_sound));
        wrong.map(|offset| DescriptorFault::Tag { field, offset })
    }

    /// Whether tags lie behind the words of references, or before them; `None` if there are no such tags.
    pub(crate) fn tag_is_behind(&self) -> Option<bool> {
        match self.slot_kind {
            kind if kind == SlotKind::TagBefore as u32 => Some(false),
            kind if kind == SlotKind::TagBehind as u32 => Some(true),
            _ => None,
        }
    }

    fn tail_fault(&self) -> Option<DescriptorFault> {
        use DescriptorFault as F;
        let field = "element_ref_offsets";
        let part = ("an element", self.stride);
        let fault = self.offsets_fault(field, part, self.element_ref_offsets, self.element_ref_count);
        if fault.is_some() {
            return fault;
        }
        if self.stride == 0 {
            return None;
        }
        if !self.size.is_multiple_of(8) {
            return Some(F::TailStart(self.size));
        }
        if (self.element_ref_count > 0 || self.slot_kind == SlotKind::Trace as u32) && !self.stride.is_multiple_of(8) {
            return Some(F::Stride(self.stride));
        }
        let end = self.length_offset.checked_add(8);
        if !self.length_offset.is_multiple_of(8) || end.is_none_or(|end| end > self.size) {
            return Some(F::LengthOffset(self.length_offset));
        }
        self.fixed_entries()
            .iter()
            .any(|&entry| u64::from(offset_of_entry(entry)) == self.length_offset)
            .then_some(F::LengthIsReference(self.length_offset))
    }

    /// The entries of `ref_offsets`. Only for a descriptor that passed [`check`](Self::check).
    pub(crate) fn fixed_entries(&self) -> &[u32] {
        entries(self.ref_offsets, self.ref_count)
    }

    /// The entries of `element_ref_offsets`. Only for a descriptor that passed [`check`](Self::check).
    pub(crate) fn element_entries(&self) -> &[u32] {
        entries(self.element_ref_offsets, self.element_ref_count)
    }

    /// Whether a tag tells which of its words are references: in the word, or beside it.
    pub fn has_tags(&self) -> bool {
        self.slot_kind != SlotKind::Pointer as u32 && self.slot_kind != SlotKind::Trace as u32
    }

    fn offsets_fault(
        &self,
        field: &'static str,
        (part, bytes): (&'static str, u64),
        pointer: *const u32,
        count: u32,
    ) -> Option<DescriptorFault> {
        use DescriptorFault as F;
        if count as u64 > bytes / 8 {
            return Some(F::TooManyReferences { part, count, bytes });
        }
        if count > 0 && pointer.is_null() {
            return Some(F::MissingOffsets { field, count });
        }
        let mut previous = None;
        for (index, &entry) in entries(pointer, count).iter().enumerate() {
            let (index, offset) = (index as u32, offset_of_entry(entry));
            if offset % 8 != 0 {
                return Some(F::Unaligned { field, index, offset: entry });
            }
            if is_plain_entry(entry) && !self.has_tags() {
                return Some(F::NothingBeside { field, index, offset, kind: self.slot_kind });
            }
            if offset as u64 + 8 > bytes {
                return Some(F::Outside { field, index, offset, bytes });
            }
            if previous.is_some_and(|previous| offset <= previous) {
                return Some(F::NotAscending { field, index, offset });
            }
            previous = Some(offset);
        }
        None
    }
}

/// The offset that an entry of a list of references names.
pub const fn offset_of_entry(entry: u32) -> u32 {
    entry & !PLAIN_REFERENCE
}

/// Whether an entry of such a list names a plain reference beside others that have tags.
pub const fn is_plain_entry(entry: u32) -> bool {
    entry & PLAIN_REFERENCE != 0
}

fn entries<'a>(pointer: *const u32, count: u32) -> &'a [u32] {
    if count == 0 || pointer.is_null() {
        return &[];
    }
    // SAFETY: a checked descriptor names `count` constants at `pointer`.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

#[cfg(test)]
mod tests;
