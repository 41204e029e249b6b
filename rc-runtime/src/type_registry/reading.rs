//! How the words of a type are read: which of them are references, and what tells.
//!
//! Plain and tagged words say so by themselves. Of others an *image* is read, the fixed part or an element: by the program's
//! trace function, or by the tag that the descriptor says stands beside each reference. Logs keep images of such objects, so that a
//! reference is read with the tag that it had.
//!
//! A type is *mixed* that has plain references beside words or pairs with tags. Its objects are read by images, too, entry by entry of
//! the descriptor's lists: bit 0 of an entry says that the word is a plain reference.

use crate::descriptor::{SlotKind, TraceFunction, TypeDescriptor, is_plain_entry};
use crate::object::ObjectRef;
use crate::word_reading;

/// How the words at the reference offsets are read.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// A reference or null.
    Plain,
    /// A reference iff `word & mask == pattern` and `word & pointer != 0`.
    Masked {
        /// Bits that tell what the word is.
        mask: u64,
        /// Their value in a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
    /// Not by a word alone: images of the object are read.
    Traced(Tracer),
}

/// How references are found in an image of an object's words.
#[derive(Debug, Clone, Copy)]
pub enum Tracer {
    /// By the program's function.
    Function(TraceFunction),
    /// By the tag beside each reference.
    Pairs(Pairs),
    /// By a tag, but for the plain references that the type's own lists name.
    Mixed(Tagging),
}

/// Where the tags are of a mixed type.
#[derive(Debug, Clone, Copy)]
pub enum Tagging {
    /// In the words, which are read as [`Reading::Masked`].
    Words {
        /// Bits that tell what the word is.
        mask: u64,
        /// Their value in a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
    /// Beside the words.
    Pairs(Pairs),
}

/// The lists of a mixed type as its descriptor has them: offsets, with bit 0 for plain references.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) fixed: Box<[u32]>,
    pub(crate) element: Box<[u32]>,
}

impl Entries {
    /// Those of a descriptor, if it describes a mixed type.
    pub(super) fn of(descriptor: &TypeDescriptor) -> Option<Box<Entries>> {
        let [fixed, element] = [descriptor.fixed_entries(), descriptor.element_entries()];
        let is_mixed = fixed.iter().chain(element).any(|&entry| is_plain_entry(entry));
        is_mixed.then(|| Box::new(Entries { fixed: fixed.into(), element: element.into() }))
    }
}

/// Pairs of a tag and a word: a reference iff `tag & mask == pattern` and `word & pointer != 0`.
#[derive(Debug, Clone, Copy)]
pub struct Pairs {
    /// Bits that tell what the word is.
    pub mask: u64,
    /// Their value beside a reference.
    pub pattern: u64,
    /// Bits of the address.
    pub pointer: u64,
    /// Whether the tag stands behind the word, or before it.
    pub is_behind: bool,
}

impl Pairs {
    /// What the pair refers to whose first word stands at `pair`.
    ///
    /// # Safety
    /// Both words may be read, and are as an object of the type may hold them. `[HEADER]`
    pub(crate) unsafe fn target_in(self, pair: u64) -> Option<ObjectRef> {
        // SAFETY: by the caller's promise.
        let address = unsafe { self.reference_in(pair) };
        // SAFETY: by the caller's promise.
        unsafe { ObjectRef::of_word(address) }
    }

    /// The address in that pair, whether there is an object or not; 0 if it is no reference.
    ///
    /// # Safety
    /// Both words may be read.
    pub(crate) unsafe fn reference_in(self, pair: u64) -> u64 {
        let at = if self.is_behind { pair } else { pair + 8 };
        // SAFETY: by the caller's promise.
        unsafe { self.address_at(at) }
    }

    /// Where the tag is of the pair whose first word stands at `pair`.
    pub(crate) fn tag_in(self, pair: u64) -> u64 {
        if self.is_behind { pair + 8 } else { pair }
    }

    /// Where the tag of the word at `offset` is.
    pub(crate) fn tag_of(self, offset: u32) -> u32 {
        if self.is_behind { offset + 8 } else { offset - 8 }
    }

    /// The address in the pair whose word stands at `at`; 0 if it is no reference.
    ///
    /// # Safety
    /// Both words may be read.
    #[inline(always)]
    pub(crate) unsafe fn address_at(self, at: u64) -> u64 {
        let tag = if self.is_behind { at + 8 } else { at - 8 };
        // SAFETY: by the caller's promise.
        let tag = unsafe { *(tag as *const u64) };
        // SAFETY: by the caller's promise.
        let word = unsafe { *(at as *const u64) };
        if tag & self.mask == self.pattern { word & self.pointer } else { 0 }
    }
}

impl Tracer {
    /// Where the tags are, or the function that tells.
    #[inline(always)]
    pub(crate) fn tagging(self) -> Result<Tagging, TraceFunction> {
        match self {
            Tracer::Function(trace) => Err(trace),
            Tracer::Pairs(pairs) => Ok(Tagging::Pairs(pairs)),
            Tracer::Mixed(tagging) => Ok(tagging),
        }
    }
}

impl Tagging {
    /// How a field that has a tag is read.
    pub(crate) fn of_field(self) -> Reading {
        match self {
            Tagging::Words { mask, pattern, pointer } => Reading::Masked { mask, pattern, pointer },
            Tagging::Pairs(pairs) => Reading::Traced(Tracer::Pairs(pairs)),
        }
    }
}

impl Reading {
    /// How the fields are read of objects of a type whose descriptor was checked.
    pub(super) fn of(descriptor: &TypeDescriptor, is_mixed: bool) -> Reading {
        let (mask, pattern) = (descriptor.tag_mask, descriptor.tag_pattern);
        let pointer = descriptor.pointer_mask;
        match (descriptor.slot_kind, descriptor.tag_is_behind()) {
            (kind, _) if kind == SlotKind::Pointer as u32 => Reading::Plain,
            (kind, _) if kind == SlotKind::Trace as u32 => {
                Reading::Traced(Tracer::Function(descriptor.trace.expect("checked: trace is set")))
            }
            (_, Some(is_behind)) => {
                let pairs = Pairs { mask, pattern, pointer, is_behind };
                Reading::Traced(if is_mixed { Tracer::Mixed(Tagging::Pairs(pairs)) } else { Tracer::Pairs(pairs) })
            }
            (_, None) if is_mixed => Reading::Traced(Tracer::Mixed(Tagging::Words { mask, pattern, pointer })),
            (_, None) => Reading::Masked { mask, pattern, pointer },
        }
    }

    /// The bits of the address in a word or pair with a tag.
    pub(super) fn pointer_mask(self) -> Option<u64> {
        match self {
            Reading::Plain | Reading::Traced(Tracer::Function(_)) => None,
            Reading::Masked { pointer, .. }
            | Reading::Traced(
                Tracer::Pairs(Pairs { pointer, .. })
                | Tracer::Mixed(Tagging::Words { pointer, .. } | Tagging::Pairs(Pairs { pointer, .. })),
            ) => Some(pointer),
        }
    }

    /// The address in `word`; 0 if that is no reference, or does not tell.
    #[inline(always)]
    pub(crate) fn address_in(self, word: u64) -> u64 {
        match self {
            Reading::Plain => word,
            Reading::Masked { mask, pattern, pointer } if word & mask == pattern => word & pointer,
            Reading::Masked { .. } | Reading::Traced(_) => 0,
        }
    }

    /// The number by which compiled code compares readings.
    pub(super) fn number(self) -> u64 {
        match self {
            // A mixed type has the number of its fields with tags: writes of plain references do not ask for it.
            Reading::Masked { mask, pattern, pointer }
            | Reading::Traced(Tracer::Mixed(Tagging::Words { mask, pattern, pointer })) => {
                word_reading::number(mask, pattern, pointer)
            }
            Reading::Traced(Tracer::Pairs(pairs) | Tracer::Mixed(Tagging::Pairs(pairs))) => {
                let Pairs { mask, pattern, pointer, is_behind } = pairs;
                word_reading::number_of_pairs(mask, pattern, pointer, is_behind)
            }
            Reading::Plain | Reading::Traced(Tracer::Function(_)) => word_reading::NO_NUMBER,
        }
    }
}
