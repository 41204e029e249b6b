//! The kinds of object that op programs allocate, as plain data.
//!
//! A [`Kind`] is a word in the Op language (`allocate pair r3`); its [`Shape`] has the places of references in the
//! payload and the encoding of a word. The model heap, the driver and the independent recount all read shapes from
//! here; the runtime reads the same facts from the descriptors that `descriptors.rs` builds. Two readers of one
//! table, so a descriptor that the runtime misreads shows up as a difference.
//!
//! The kinds are chosen to reach every path of the heap: no payload at all, a leaf, small objects, types the runtime
//! can prove acyclic, arrays from empty to many chunks, tagged and NaN-boxed words, `{tag, pointer}` pairs read by a
//! trace function or described, plain references beside these, over-aligned objects, and objects of several KiB and beyond the small-object limit.

/// A kind of object that a program can allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// No payload at all.
    Empty,
    /// Two words of data, no reference.
    Leaf,
    /// One reference and nothing else: the smallest cell.
    Link,
    /// Two references, then a word of data.
    Pair,
    /// A word of data, then three references.
    Triple,
    /// Bytes with a length; flagged acyclic.
    Text,
    /// One reference that its descriptor restricts to [`Kind::Text`]: acyclic by its field types.
    Label,
    /// A length, then references.
    Array,
    /// A reference and a length, then records of reference, data, reference.
    Records,
    /// Three words whose low three bits say whether they are references.
    Tagged,
    /// Three NaN-boxed words.
    Boxed,
    /// Two `{tag, pointer}` pairs read by a trace function.
    Traced,
    /// A length, then `{tag, pointer}` pairs read by a trace function.
    TracedArray,
    /// Some KiB with four references far apart.
    Medium,
    /// Aligned to 16 bytes.
    Aligned16,
    /// Aligned to 64 bytes.
    Aligned64,
    /// A fixed part of more than 16 KiB with references at both ends.
    Huge,
    /// The same with `{tag, pointer}` pairs read by a trace function.
    HugeTraced,
    /// A length, then records of a thousand bytes with references at both ends: larger than what is logged at a time.
    WideRecords,
    /// Aligned to a page.
    AlignedPage,
    /// A length, then references; aligned to 256 bytes at any size.
    AlignedArray,
    /// A reference and two weak slots, with data between.
    Watcher,
    /// An ephemeron of the program's own: two references, a key, a word of data.
    Keyed,
    /// Two references, a deed, a word of data; finalized in any order.
    File,
    /// The same, finalized in reverse order of registration.
    Newest,
    /// The same, finalized before the objects that it refers to.
    Owner,
    /// The same, finalized only when registered.
    Requested,
    /// A word of data, then two `{tag, pointer}` pairs that the descriptor describes, with data between.
    Valued,
    /// A length and a described pair, then records of pair, data, pair.
    ValueRecords,
    /// A plain reference, a described pair, data, a plain reference.
    Upvalue,
    /// A plain reference and a length, then records of pair, plain reference, data, pair.
    Nodes,
    /// A plain reference, a NaN-boxed word, a plain reference, data.
    BoxedCell,
    /// The runtime's weak reference.
    Weak,
    /// The runtime's weak reference with a callback.
    WeakCalled,
    /// The runtime's ephemeron.
    Ephemeron,
    /// The runtime's weak map; the runtime defines its table and entries.
    WeakMap,
    /// The runtime's weak set; the runtime defines its table.
    WeakSet,
    /// The runtime's coroutine; what its frames hold stands in `model_heap/stacks.rs`.
    Coroutine,
}

/// The order in which finalizers of a kind run, and whether they must be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalizes {
    /// Any order.
    Any,
    /// The last registered first.
    Reverse,
    /// Owners before the objects that they own.
    OwnerFirst,
    /// Any order, on request.
    Registered,
}

/// Offset of the deed (`op/deed.rs`) in an object with a finalizer.
pub const DEED: u64 = 16;

/// The encoding of the reference words of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The word is the reference; zero is null.
    Pointer,
    /// A reference has low bits 001; anything else is an integer.
    LowBits,
    /// A reference has the upper sixteen bits [`BOX_PATTERN`].
    NanBox,
    /// The word before decides: [`TRACE_TAG`] means a reference.
    Pairs,
}

/// The upper bits of a NaN-boxed reference.
pub const BOX_PATTERN: u64 = 0xfffc_0000_0000_0000;
/// The bits of a NaN-boxed word that hold the pattern.
pub const BOX_MASK: u64 = 0xffff_0000_0000_0000;
/// The low bits of a tagged reference.
pub const LOW_PATTERN: u64 = 1;
/// The bits of a tagged word that hold the pattern.
pub const LOW_MASK: u64 = 7;
/// The tag of a `{tag, pointer}` pair that holds a reference.
pub const TRACE_TAG: u64 = 1;
/// The tag of a `{tag, pointer}` pair that holds a number.
pub const TRACE_NUMBER: u64 = 2;

/// The layout of one kind of object.
#[derive(Debug)]
pub struct Shape {
    /// The word that names it in programs and in reports of the runtime.
    pub name: &'static std::ffi::CStr,
    /// Bytes of the fixed part.
    pub size: u64,
    /// Alignment of the payload; 0 means 8.
    pub align: u32,
    /// Whether the descriptor carries the acyclic flag.
    pub acyclic: bool,
    /// The encoding of reference words.
    pub encoding: Encoding,
    /// Byte offsets of the reference words in the fixed part (of the pointer word for pairs).
    pub refs: &'static [u32],
    /// Byte offset of the length, for kinds with a tail.
    pub length_offset: u64,
    /// Bytes of a tail element, 0 without a tail.
    pub stride: u64,
    /// Byte offsets of the reference words in an element.
    pub element_refs: &'static [u32],
    /// Those of `refs` that are plain references, whatever the encoding of the others is.
    pub plain: &'static [u32],
    /// The same of `element_refs`.
    pub element_plain: &'static [u32],
    /// Byte offsets of weak slots; of the key, if it is an ephemeron.
    pub weak: &'static [u32],
    /// Whether its references live only as long as its key.
    pub ephemeron: bool,
    /// Whether, and how, it is finalized.
    pub finalizer: Option<Finalizes>,
    /// Byte offsets of words that belong to the runtime.
    pub hidden: &'static [u32],
}

impl Kind {
    /// The kinds that are the runtime's own: our descriptors do not describe them.
    pub const BUILTIN: [Kind; 6] =
        [Kind::Weak, Kind::WeakCalled, Kind::Ephemeron, Kind::WeakMap, Kind::WeakSet, Kind::Coroutine];

    /// All kinds that a program can describe, in the order of their descriptors.
    pub const ALL: [Kind; 32] = [
        Kind::Empty,
        Kind::Leaf,
        Kind::Link,
        Kind::Pair,
        Kind::Triple,
        Kind::Text,
        Kind::Label,
        Kind::Array,
        Kind::Records,
        Kind::Tagged,
        Kind::Boxed,
        Kind::Traced,
        Kind::TracedArray,
        Kind::Medium,
        Kind::Aligned16,
        Kind::Aligned64,
        Kind::Huge,
        Kind::HugeTraced,
        Kind::WideRecords,
        Kind::AlignedPage,
        Kind::AlignedArray,
        Kind::Watcher,
        Kind::Keyed,
        Kind::File,
        Kind::Newest,
        Kind::Owner,
        Kind::Requested,
        Kind::Valued,
        Kind::ValueRecords,
        Kind::Upvalue,
        Kind::Nodes,
        Kind::BoxedCell,
    ];

    /// All kinds whose objects are gone as soon as they are found dead.
    pub fn without_finalizer() -> impl Iterator<Item = Kind> + Clone {
        Kind::ALL.into_iter().filter(|kind| kind.shape().finalizer.is_none())
    }

    /// The layout.
    pub fn shape(self) -> &'static Shape {
        &SHAPES[self as usize]
    }

    /// The word used for it in the Op language.
    pub fn word(self) -> &'static str {
        self.shape().name.to_str().expect("shape names are ASCII")
    }

    /// The kind of that name.
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The kind whose type has this name in the runtime, the runtime's own kinds among them.
    pub fn from_type_name(name: &str) -> Option<Kind> {
        Kind::from_word(name).or_else(|| Kind::BUILTIN.into_iter().find(|kind| kind.word() == name))
    }

    /// Whether a word belongs to the runtime.
    pub fn is_hidden(self, offset: u64) -> bool {
        self.shape().hidden.iter().any(|hidden| u64::from(*hidden) == offset)
    }

    /// Whether the first word is data: no reference, and no tag of one.
    pub fn has_data_first(self) -> bool {
        let shape = self.shape();
        let has_tag_first = shape.refs.contains(&8) && self.encoding_at(8) == Encoding::Pairs;
        !has_tag_first && !shape.refs.contains(&0) && !shape.weak.contains(&0) && !self.is_hidden(0)
    }

    /// Byte offset of a weak slot, with the number taken modulo the number of weak slots.
    pub fn weak_offset(self, slot: u32) -> Option<u64> {
        let weak = self.shape().weak;
        (!weak.is_empty()).then(|| u64::from(weak[slot as usize % weak.len()]))
    }

    /// Whether the descriptor describes its pairs, and no trace function reads them.
    pub fn has_described_pairs(self) -> bool {
        matches!(self, Kind::Valued | Kind::ValueRecords | Kind::Upvalue | Kind::Nodes)
    }

    /// The encoding of the reference word at an offset.
    pub fn encoding_at(self, offset: u64) -> Encoding {
        let shape = self.shape();
        let (plain, at) = match offset.checked_sub(shape.size) {
            Some(at) if self.has_tail() => (shape.element_plain, at % shape.stride),
            _ => (shape.plain, offset),
        };
        if plain.iter().any(|plain| u64::from(*plain) == at) { Encoding::Pointer } else { shape.encoding }
    }

    /// Whether objects of this kind have a tail of a length chosen at allocation.
    pub fn has_tail(self) -> bool {
        self.shape().stride != 0
    }

    /// Payload bytes of an object with `length` tail elements, rounded up to whole words.
    pub fn payload_bytes(self, length: u64) -> u64 {
        let shape = self.shape();
        (shape.size + shape.stride * length).next_multiple_of(8)
    }

    /// Words that belong to the payload as a whole: bytes behind the last of them may be another object's guard.
    pub fn whole_words(self, length: u64) -> u64 {
        let shape = self.shape();
        (shape.size + shape.stride * length) / 8
    }

    /// Number of places that can hold a reference.
    pub fn slot_count(self, length: u64) -> u64 {
        let shape = self.shape();
        shape.refs.len() as u64 + shape.element_refs.len() as u64 * length
    }

    /// Byte offset of the `index`-th place that can hold a reference; the fixed part comes first.
    pub fn slot_offset(self, index: u64) -> u64 {
        let shape = self.shape();
        let fixed = shape.refs.len() as u64;
        if index < fixed {
            return u64::from(shape.refs[index as usize]);
        }
        let per_element = shape.element_refs.len() as u64;
        let (element, within) = ((index - fixed) / per_element, (index - fixed) % per_element);
        shape.size + element * shape.stride + u64::from(shape.element_refs[within as usize])
    }

    /// The number of slots of one encoding from `index` on that lie side by side, `index` included; pairs never do.
    pub fn contiguous_slots(self, index: u64, length: u64) -> u64 {
        let start = self.slot_offset(index);
        let encoding = self.encoding_at(start);
        if encoding == Encoding::Pairs {
            return 1;
        }
        let count = self.slot_count(length);
        let is_next = |offset: u64, run: u64| offset == start + 8 * run && self.encoding_at(offset) == encoding;
        let mut run = 1;
        while index + run < count && is_next(self.slot_offset(index + run), run) {
            run += 1;
        }
        run
    }
}

impl Encoding {
    /// The word that stands for a reference to `address`.
    pub fn encode(self, address: u64) -> u64 {
        match self {
            Encoding::Pointer | Encoding::Pairs => address,
            Encoding::LowBits => address | LOW_PATTERN,
            Encoding::NanBox => address | BOX_PATTERN,
        }
    }

    /// The address that `word` refers to, if it is a reference. `tag` is the word before it.
    pub fn decode(self, tag: u64, word: u64) -> Option<u64> {
        let (is_reference, address) = match self {
            Encoding::Pointer => (true, word),
            Encoding::LowBits => (word & LOW_MASK == LOW_PATTERN, word & !LOW_MASK),
            Encoding::NanBox => (word & BOX_MASK == BOX_PATTERN, word & !BOX_MASK),
            Encoding::Pairs => (tag == TRACE_TAG, word),
        };
        (is_reference && address != 0).then_some(address)
    }
}

const PLAIN: Shape = Shape {
    name: c"",
    size: 0,
    align: 0,
    acyclic: false,
    encoding: Encoding::Pointer,
    refs: &[],
    length_offset: 0,
    stride: 0,
    element_refs: &[],
    plain: &[],
    element_plain: &[],
    weak: &[],
    ephemeron: false,
    finalizer: None,
    hidden: &[],
};

/// An object with a finalizer: two references, its deed, data.
const FINALIZED: Shape = Shape { size: 32, refs: &[0, 8], ..PLAIN };

static SHAPES: [Shape; 38] = [
    Shape { name: c"empty", ..PLAIN },
    Shape { name: c"leaf", size: 16, ..PLAIN },
    Shape { name: c"link", size: 8, refs: &[0], ..PLAIN },
    Shape { name: c"pair", size: 24, refs: &[0, 8], ..PLAIN },
    Shape { name: c"triple", size: 32, refs: &[8, 16, 24], ..PLAIN },
    Shape { name: c"text", size: 8, acyclic: true, stride: 1, ..PLAIN },
    Shape { name: c"label", size: 16, refs: &[8], ..PLAIN },
    Shape { name: c"array", size: 8, stride: 8, element_refs: &[0], ..PLAIN },
    Shape { name: c"records", size: 16, refs: &[0], length_offset: 8, stride: 24, element_refs: &[0, 16], ..PLAIN },
    Shape { name: c"tagged", size: 24, encoding: Encoding::LowBits, refs: &[0, 8, 16], ..PLAIN },
    Shape { name: c"boxed", size: 32, encoding: Encoding::NanBox, refs: &[8, 16, 24], ..PLAIN },
    Shape { name: c"traced", size: 40, encoding: Encoding::Pairs, refs: &[8, 24], ..PLAIN },
    Shape { name: c"traced-array", size: 8, encoding: Encoding::Pairs, stride: 16, element_refs: &[8], ..PLAIN },
    Shape { name: c"medium", size: 4104, refs: &[0, 1000, 2048, 4096], ..PLAIN },
    Shape { name: c"aligned-16", size: 32, align: 16, refs: &[16], ..PLAIN },
    Shape { name: c"aligned-64", size: 72, align: 64, refs: &[0, 64], ..PLAIN },
    Shape { name: c"huge", size: 20_008, refs: &[0, 10_000, 20_000], ..PLAIN },
    Shape { name: c"huge-traced", size: 20_008, encoding: Encoding::Pairs, refs: &[8, 19_992], ..PLAIN },
    Shape { name: c"wide-records", size: 8, stride: 1000, element_refs: &[0, 992], ..PLAIN },
    Shape { name: c"aligned-page", size: 24, align: 4096, refs: &[8], ..PLAIN },
    Shape { name: c"aligned-array", size: 64, align: 256, stride: 8, element_refs: &[0], ..PLAIN },
    Shape { name: c"watcher", size: 32, refs: &[0], weak: &[8, 24], ..PLAIN },
    Shape { name: c"keyed", size: 32, refs: &[0, 8], weak: &[16], ephemeron: true, ..PLAIN },
    Shape { name: c"file", finalizer: Some(Finalizes::Any), ..FINALIZED },
    Shape { name: c"newest", finalizer: Some(Finalizes::Reverse), ..FINALIZED },
    Shape { name: c"owner", finalizer: Some(Finalizes::OwnerFirst), ..FINALIZED },
    Shape { name: c"requested", finalizer: Some(Finalizes::Registered), ..FINALIZED },
    Shape { name: c"valued", size: 48, encoding: Encoding::Pairs, refs: &[16, 40], ..PLAIN },
    Shape {
        name: c"value-records",
        size: 24,
        encoding: Encoding::Pairs,
        refs: &[16],
        stride: 40,
        element_refs: &[8, 32],
        ..PLAIN
    },
    Shape { name: c"upvalue", size: 40, encoding: Encoding::Pairs, refs: &[0, 16, 32], plain: &[0, 32], ..PLAIN },
    Shape {
        name: c"nodes",
        size: 16,
        encoding: Encoding::Pairs,
        refs: &[0],
        plain: &[0],
        length_offset: 8,
        stride: 48,
        element_refs: &[8, 16, 40],
        element_plain: &[16],
        ..PLAIN
    },
    Shape { name: c"boxed-cell", size: 32, encoding: Encoding::NanBox, refs: &[0, 8, 16], plain: &[0, 16], ..PLAIN },
    Shape { name: c"weak reference", size: 24, weak: &[0], hidden: &[8, 16], ..PLAIN },
    Shape { name: c"weak reference with callback", size: 32, weak: &[0], hidden: &[8, 16, 24], ..PLAIN },
    Shape { name: c"ephemeron", size: 16, refs: &[0], weak: &[8], ephemeron: true, ..PLAIN },
    Shape { name: c"weak map", size: 64, hidden: &[0, 8, 16, 24, 32, 40, 48, 56], ..PLAIN },
    Shape { name: c"weak set", size: 48, hidden: &[0, 8, 16, 24, 32, 40], ..PLAIN },
    Shape { name: c"coroutine", size: 24, hidden: &[0, 8, 16], ..PLAIN },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_word() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_word(kind.word()), Some(kind));
        }
    }

    #[test]
    fn slots_lie_inside_the_payload_and_ascend() {
        for kind in Kind::ALL {
            let length = if kind.has_tail() { 5 } else { 0 };
            let offsets: Vec<u64> = (0..kind.slot_count(length)).map(|slot| kind.slot_offset(slot)).collect();
            assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{kind:?}");
            assert!(offsets.iter().all(|offset| offset + 8 <= kind.payload_bytes(length)), "{kind:?}");
        }
    }

    #[test]
    fn an_encoded_reference_decodes_to_itself_and_a_bare_address_does_not() {
        let address = 0x2000_0000_1230;
        for kind in Kind::ALL {
            let encoding = kind.shape().encoding;
            assert_eq!(encoding.decode(TRACE_TAG, encoding.encode(address)), Some(address), "{kind:?}");
            assert_eq!(encoding.decode(TRACE_TAG, encoding.encode(0)), None, "{kind:?}");
            if encoding != Encoding::Pointer {
                assert_eq!(encoding.decode(TRACE_NUMBER, address), None, "{kind:?}");
            }
        }
    }

    #[test]
    fn contiguous_runs_stop_at_data_and_at_the_end() {
        assert_eq!(Kind::Triple.contiguous_slots(1, 0), 2);
        assert_eq!(Kind::Medium.contiguous_slots(0, 0), 1);
        assert_eq!(Kind::Array.contiguous_slots(3, 10), 7);
        assert_eq!(Kind::TracedArray.contiguous_slots(0, 10), 1);
        assert_eq!(Kind::BoxedCell.contiguous_slots(0, 0), 1, "the next has another encoding");
    }
}
