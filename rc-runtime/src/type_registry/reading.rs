//! How the words of a type are read: which of them are references, and what tells.
//!
//! Plain and tagged words say so by themselves. Of others an *image* is read, the fixed part or an element: by the program's
//! trace function, or by the tag that the descriptor says stands beside each reference. Logs keep images of such objects, so that a
//! reference is read with the tag that it had.

use crate::descriptor::TraceFunction;
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

impl Reading {
    /// The number by which compiled code compares readings.
    pub(super) fn number(self) -> u64 {
        match self {
            Reading::Masked { mask, pattern, pointer } => word_reading::number(mask, pattern, pointer),
            Reading::Traced(Tracer::Pairs(Pairs { mask, pattern, pointer, is_behind })) => {
                word_reading::number_of_pairs(mask, pattern, pointer, is_behind)
            }
            Reading::Plain | Reading::Traced(Tracer::Function(_)) => word_reading::NO_NUMBER,
        }
    }
}
