//! A type descriptor as the module defines it, a constant or a part of one: read field by field, by byte offset.
//!
//! Frontends spell the struct in different ways (named or anonymous, nested arrays; an opaque byte prefix cannot be
//! read), so fields are found by their offsets, those of the runtime's own `repr(C)` declaration.

pub(crate) mod constants;
mod fault;
mod image;

use super::Plan;
use crate::llvm::{Module, Value};
use constants::{constant_at, scalar_at, word_at};
pub(crate) use fault::fault;
pub(crate) use image::nowhere;
use image::{Image, Pointee};
use std::mem::{offset_of, size_of};
use tally_heap::descriptor::{
    DESCRIPTOR_VERSION, FLAG_EPHEMERON, FLAG_FINALIZE_REGISTERED, FLAG_FINALIZE_REVERSE, RawDescriptor, SlotKind,
    TypeDescriptor, is_plain_entry, offset_of_entry,
};

/// The properties of a type that allocation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Payload bytes of the fixed part.
    pub(crate) size: u64,
    /// Alignment; 0 means 8.
    pub(crate) align: u64,
    /// Bytes of a tail element; 0 for none.
    pub(crate) stride: u64,
    /// Where the number of elements stands.
    pub(crate) length_offset: u64,
    /// Whether an object has a finalizer from birth.
    finalized: bool,
    /// Whether such objects have numbers.
    numbered: bool,
    /// Whether its references live only as long as a key does.
    pub(crate) is_ephemeron: bool,
    /// Offsets of the references in the fixed part; none when only `trace`, tags beside them or another module know.
    pub(crate) references: Option<Vec<u32>>,
    /// Those in the fixed part that are plain references beside others that have tags.
    pub(crate) plain_beside_tags: Vec<u32>,
    /// Its destructor.
    pub(crate) finalizer: Option<Value>,
    /// Whether tail elements hold references, as far as the descriptor lists them.
    pub(crate) has_references_in_tail: bool,
}

impl Descriptor {
    /// Reads the descriptor at `address`; `None` if it is not a constant of this module that cannot be replaced, or
    /// not of the known version (the runtime refuses it at registration, with a message).
    pub(crate) fn read(module: Module, address: Value) -> Option<Descriptor> {
        let constant = constant_at(module, address)?;
        let field = |offset: usize| word_at(module, constant, offset as u64);
        if field(offset_of!(RawDescriptor, version))? != u64::from(DESCRIPTOR_VERSION) {
            return None;
        }
        let count = field(offset_of!(RawDescriptor, ref_count))?;
        // Offsets name no words that are references by themselves.
        let by_trace = field(offset_of!(RawDescriptor, slot_kind))? >= SlotKind::Trace as u64;
        let entries = if count == 0 { Some(Vec::new()) } else { entries(module, constant, count) };
        let plain = entries.iter().flatten().copied().filter(|&entry| is_plain_entry(entry));
        let plain_beside_tags = plain.map(offset_of_entry).collect();
        let references = entries.filter(|_| !by_trace).map(|it| it.into_iter().map(offset_of_entry).collect());
        let flags = field(offset_of!(RawDescriptor, flags))?;
        let finalize = scalar_at(module, constant, offset_of!(RawDescriptor, finalize) as u64)?;
        let finalized = !finalize.is_null() && flags & u64::from(FLAG_FINALIZE_REGISTERED) == 0;
        Some(Descriptor {
            finalized,
            is_ephemeron: flags & u64::from(FLAG_EPHEMERON) != 0,
            numbered: finalized && flags & u64::from(FLAG_FINALIZE_REVERSE) != 0,
            size: field(offset_of!(RawDescriptor, size))?,
            align: field(offset_of!(RawDescriptor, align))?,
            stride: field(offset_of!(RawDescriptor, stride))?,
            length_offset: field(offset_of!(RawDescriptor, length_offset))?,
            references,
            plain_beside_tags,
            finalizer: (!finalize.is_null()).then_some(finalize),
            has_references_in_tail: field(offset_of!(RawDescriptor, element_ref_count))? != 0,
        })
    }

    pub(crate) fn has_tail(&self) -> bool {
        self.stride > 0
    }

    /// Whether the runtime has nothing to note when such an object is born: two plans list objects with finalizers, and
    /// all number those whose finalizers run in reverse order.
    pub(crate) fn is_born_unnoted(&self, plan: Plan) -> bool {
        match plan {
            Plan::Deferred | Plan::Trace => !(self.numbered || self.finalized),
            Plan::Prompt => !self.numbered,
        }
    }
}

/// How to read a word that may be a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OneWord {
    /// Bits that tell the kind of the word.
    pub(crate) mask: u64,
    /// Their value in a reference.
    pub(crate) pattern: u64,
    /// Bits of the address.
    pub(crate) pointer: u64,
}

impl OneWord {
    /// A word that is a reference or null.
    pub(crate) const PLAIN: OneWord = OneWord { mask: 0, pattern: 0, pointer: u64::MAX };

    /// How the fields are read of objects of the type at `address`, but for plain references beside them. `None` also if only `trace` or
    /// another module knows.
    pub(crate) fn of_fields(module: Module, address: Value) -> Option<OneWord> {
        let image = Image::of(module, constant_at(module, address)?);
        match image.u32_at(offset_of!(RawDescriptor, slot_kind))? {
            kind if kind == SlotKind::Pointer as u32 => Some(OneWord::PLAIN),
            kind if kind == SlotKind::Tagged as u32 || kind == SlotKind::NanBoxed as u32 => Some(OneWord {
                mask: image.u64_at(offset_of!(RawDescriptor, tag_mask))?,
                pattern: image.u64_at(offset_of!(RawDescriptor, tag_pattern))?,
                pointer: image.u64_at(offset_of!(RawDescriptor, pointer_mask))?,
            }),
            _ => None,
        }
    }
}

/// How to read the pairs of a type: a tag, and the word beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PairReading {
    /// Bits of the tag that tell what the word is.
    pub(crate) mask: u64,
    /// Their value beside a reference.
    pub(crate) pattern: u64,
    /// Bits of the address in the word.
    pub(crate) pointer: u64,
    /// Whether the tag stands behind the word, or before it.
    pub(crate) is_behind: bool,
}

impl PairReading {
    /// How the pairs are read of objects of the type at `address`. `None` also if only another module knows.
    pub(crate) fn of_fields(module: Module, address: Value) -> Option<PairReading> {
        let image = Image::of(module, constant_at(module, address)?);
        let kind = image.u32_at(offset_of!(RawDescriptor, slot_kind))?;
        let is_behind = kind == SlotKind::TagBehind as u32;
        if !is_behind && kind != SlotKind::TagBefore as u32 {
            return None;
        }
        Some(PairReading {
            mask: image.u64_at(offset_of!(RawDescriptor, tag_mask))?,
            pattern: image.u64_at(offset_of!(RawDescriptor, tag_pattern))?,
            pointer: image.u64_at(offset_of!(RawDescriptor, pointer_mask))?,
            is_behind,
        })
    }
}

/// How a reference of a root is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// By its word alone.
    Word(OneWord),
    /// By a tag beside it, at `tag` of the root.
    Pair { reading: PairReading, tag: u64 },
}

/// A reference of a root: where its word stands, and how it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RootWord {
    pub(crate) offset: u64,
    pub(crate) reading: Reading,
}

impl RootWord {
    /// A root of one plain reference.
    pub(crate) const PLAIN: RootWord = RootWord { offset: 0, reading: Reading::Word(OneWord::PLAIN) };

    /// Where the words stand that tell the reference: its own first, then the tag beside it.
    pub(crate) fn offsets(self) -> impl Iterator<Item = u64> {
        let tag = match self.reading {
            Reading::Word(_) => None,
            Reading::Pair { tag, .. } => Some(tag),
        };
        std::iter::once(self.offset).chain(tag)
    }

    /// The references of a root of so many bytes that the type at `address` describes, if those are its fixed part. `None`
    /// also if only `trace` or another module knows.
    pub(crate) fn all_of_type(module: Module, address: Value, bytes: u64) -> Option<Vec<RootWord>> {
        let descriptor = Descriptor::read(module, address)?;
        if descriptor.size != bytes || descriptor.has_tail() {
            return None;
        }
        let constant = constant_at(module, address)?;
        let count = word_at(module, constant, offset_of!(RawDescriptor, ref_count) as u64)?;
        let (word, pair) = (OneWord::of_fields(module, address), PairReading::of_fields(module, address));
        if word.is_none() && pair.is_none() {
            return None;
        }
        let entries = if count == 0 { Vec::new() } else { entries(module, constant, count)? };
        let of_pair = |reading: PairReading, offset: u64| {
            let tag = if reading.is_behind { offset.checked_add(8) } else { offset.checked_sub(8) };
            Some(Reading::Pair { reading, tag: tag.filter(|tag| tag + 8 <= bytes)? })
        };
        let read = |entry: u32| {
            let offset = u64::from(offset_of_entry(entry));
            let reading = match is_plain_entry(entry) {
                true => Reading::Word(OneWord::PLAIN),
                false => word.map(Reading::Word).or_else(|| of_pair(pair?, offset))?,
            };
            (offset + 8 <= bytes).then_some(RootWord { offset, reading })
        };
        entries.into_iter().map(read).collect()
    }
}

/// The function that the descriptor at `address` names as its `trace`.
pub(crate) fn trace(module: Module, address: Value) -> Option<Value> {
    let trace = scalar_at(module, constant_at(module, address)?, offset_of!(RawDescriptor, trace) as u64)?;
    trace.is_function().then_some(trace)
}

/// The function that finds the references of objects of the type that `global` describes, if it is such a descriptor.
pub(crate) fn trace_of(module: Module, global: Value) -> Option<Value> {
    let is_descriptor = module.size_of(global.value_type()) == size_of::<TypeDescriptor>() as u64;
    let by_trace = is_descriptor && Descriptor::read(module, global)?.references.is_none();
    if by_trace { trace(module, global) } else { None }
}

/// The size of the fixed part that the descriptor at `address` describes.
pub(crate) fn size(module: Module, address: Value) -> Option<u64> {
    let constant = constant_at(module, address)?;
    Image::of(module, constant).u64_at(offset_of!(RawDescriptor, size))
}

fn entries(module: Module, constant: Value, count: u64) -> Option<Vec<u32>> {
    match Image::of(module, constant).pointee(offset_of!(RawDescriptor, ref_offsets))? {
        Pointee::Constant(table) => table.words(u32::try_from(count).ok()?),
        Pointee::Null | Pointee::Elsewhere | Pointee::Nowhere(_) => None,
    }
}
