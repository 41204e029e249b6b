//! A type descriptor as the module defines it, a constant or a part of one: read field by field, by byte offset.
//!
//! Frontends spell the struct in different ways (named or anonymous, nested arrays; an opaque byte prefix cannot be
//! read), so fields are found by their offsets, those of the runtime's own `repr(C)` declaration.

pub(crate) mod constants;

use super::Plan;
use crate::llvm::{Module, Value};
use constants::{constant_at, scalar_at, word_at};
use std::ffi::{CString, c_void};
use std::mem::{offset_of, size_of};
use tally_heap::descriptor::{
    DESCRIPTOR_VERSION, DescriptorError, DescriptorFault, FLAG_EPHEMERON, FLAG_FINALIZE_REGISTERED,
    FLAG_FINALIZE_REVERSE, RawDescriptor, SlotKind, TraceFunction, TraceVisit, TypeDescriptor, is_plain_entry,
    offset_of_entry,
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
        let image = Image { module, constant: constant_at(module, address)? };
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
        let image = Image { module, constant: constant_at(module, address)? };
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

/// The runtime's objection to the descriptor at `address`, or a fault that the runtime could not detect. `None` if
/// the descriptor is in order, or spelled in a way that cannot be read here.
pub(crate) fn fault(module: Module, address: Value) -> Option<String> {
    let constant = constant_at(module, address)?;
    let bytes = module.size_of(constant.type_of());
    if bytes < size_of::<TypeDescriptor>() as u64 {
        return Some(format!("a type descriptor has {} bytes, this constant has {bytes}", size_of::<TypeDescriptor>()));
    }
    let image = Image { module, constant };
    image.fault().map(|fault| match fault {
        Fault::Runtime(error) => error.to_string(),
        Fault::Short { field, count, entries } => {
            format!("{field} has {entries} entries, its count is {count}; the runtime would read past its end")
        }
        Fault::NoDescriptor { field, what } if what.is_function() => {
            format!("{field} names @{}, which is a function and describes no type", what.name())
        }
        Fault::NoDescriptor { field, what } => format!("{field} names @{}, which is no type descriptor", what.name()),
        Fault::NoFunction { field, name } => format!("{field} names @{name}, which is a variable and no function"),
        Fault::Parameters { field, name, form } => format!("{field} names @{name}, which has not the form {form}"),
        Fault::Name => "name is not a C string; end it with a zero byte".to_owned(),
    })
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
    Image { module, constant }.u64_at(offset_of!(RawDescriptor, size))
}

enum Fault {
    Runtime(DescriptorError),
    Short { field: &'static str, count: u32, entries: u64 },
    NoDescriptor { field: &'static str, what: Value },
    NoFunction { field: &'static str, name: String },
    Parameters { field: &'static str, name: String, form: &'static str },
    Name,
}

/// The target of a pointer field.
enum Pointee {
    Null,
    Constant(Value),
    Elsewhere,
}

/// A descriptor's constant, read as the runtime reads memory. Every function returns `None` if the spelling of the
/// constant does not show the field.
struct Image {
    module: Module,
    constant: Value,
}

impl Image {
    /// Whether the runtime would read something else there, as far as the module shows it.
    fn is_no_descriptor(&self, address: Value) -> bool {
        if address.is_function() {
            return true;
        }
        let Some(constant) = address.is_global_variable().then(|| address.initializer()).flatten() else {
            return false;
        };
        let is_short = self.module.size_of(constant.type_of()) < size_of::<TypeDescriptor>() as u64;
        let image = Image { module: self.module, constant };
        is_short
            || constant.is_null()
            || image.u32_at(offset_of!(RawDescriptor, version)).is_some_and(|version| version != DESCRIPTOR_VERSION)
    }

    fn fault(&self) -> Option<Fault> {
        use std::mem::offset_of as at;
        type D = RawDescriptor;
        let name = match self.pointee(at!(D, name))? {
            Pointee::Constant(text) => match self.text(text) {
                Some(text) => text,
                None => return Some(Fault::Name),
            },
            Pointee::Null | Pointee::Elsewhere => c"(unnamed)".to_owned(),
        };
        let wrong = |fault| Some(Fault::Runtime(DescriptorError { name: name.to_string_lossy().into_owned(), fault }));
        let version = self.u32_at(at!(D, version))?;
        if version != DESCRIPTOR_VERSION {
            return wrong(DescriptorFault::Version(version));
        }
        let mut tables = Vec::new();
        for (field, part, count, bytes, offsets, types) in [
            ("ref_offsets", "the fixed part", at!(D, ref_count), at!(D, size), at!(D, ref_offsets), at!(D, ref_types)),
            (
                "element_ref_offsets",
                "an element",
                at!(D, element_ref_count),
                at!(D, stride),
                at!(D, element_ref_offsets),
                at!(D, element_ref_types),
            ),
        ] {
            let (count, bytes) = (self.u32_at(count)?, self.u64_at(bytes)?);
            if u64::from(count) > bytes / 8 {
                return wrong(DescriptorFault::TooManyReferences { part, count, bytes });
            }
            let table = match self.pointee(offsets)? {
                Pointee::Null => None,
                Pointee::Elsewhere => return None,
                Pointee::Constant(array) => match self.entries(array, 4) {
                    entries if entries < u64::from(count) => return Some(Fault::Short { field, count, entries }),
                    _ => Some(self.offsets(array, count)?),
                },
            };
            let types_field = if field == "ref_offsets" { "ref_types" } else { "element_ref_types" };
            if let Pointee::Constant(array) = self.pointee(types)? {
                let entries = self.entries(array, 8);
                if entries < u64::from(count) {
                    return Some(Fault::Short { field: types_field, count, entries });
                }
                let listed = (0..u64::from(count)).filter_map(|index| scalar_at(self.module, array, index * 8));
                if let Some(other) = listed.into_iter().find(|&listed| self.is_no_descriptor(listed)) {
                    return Some(Fault::NoDescriptor { field: types_field, what: other });
                }
            }
            tables.push((count, table));
        }
        for (field, offset, parameters, form) in
            [("finalize", at!(D, finalize), 1, "void (ptr)"), ("trace", at!(D, trace), 4, "void (ptr, i64, ptr, ptr)")]
        {
            let Some(function) = scalar_at(self.module, self.constant, offset as u64) else { continue };
            if function.is_global_variable() {
                return Some(Fault::NoFunction { field, name: function.name() });
            }
            let takes = |function: Value| function.value_type().parameters().len();
            if function.is_function() && !function.value_type().is_variadic() && takes(function) != parameters {
                return Some(Fault::Parameters { field, name: function.name(), form });
            }
        }
        let is_set = |offset| Some(!matches!(self.pointee(offset)?, Pointee::Null));
        let pointer = |table: &Option<Vec<u32>>| table.as_ref().map_or(std::ptr::null(), |table| table.as_ptr());
        let copy = RawDescriptor {
            version,
            flags: self.u32_at(at!(D, flags))?,
            size: self.u64_at(at!(D, size))?,
            align: self.u32_at(at!(D, align))?,
            slot_kind: self.u32_at(at!(D, slot_kind))?,
            tag_mask: self.u64_at(at!(D, tag_mask))?,
            tag_pattern: self.u64_at(at!(D, tag_pattern))?,
            pointer_mask: self.u64_at(at!(D, pointer_mask))?,
            ref_count: tables[0].0,
            element_ref_count: tables[1].0,
            ref_offsets: pointer(&tables[0].1),
            length_offset: self.u64_at(at!(D, length_offset))?,
            stride: self.u64_at(at!(D, stride))?,
            element_ref_offsets: pointer(&tables[1].1),
            name: name.as_ptr(),
            finalize: if is_set(at!(D, finalize))? { stand_in_trace as *const c_void } else { std::ptr::null() },
            trace: is_set(at!(D, trace))?.then_some(stand_in_trace as TraceFunction),
            ref_types: std::ptr::null(),
            element_ref_types: std::ptr::null(),
        };
        // SAFETY: [DESCRIPTOR] the tables above are as long as the counts say, and the functions stand in.
        let copy = unsafe { TypeDescriptor::from_raw(copy) };
        copy.check().err().map(Fault::Runtime)
    }

    fn u32_at(&self, offset: usize) -> Option<u32> {
        self.integer(offset, 4).map(|word| word as u32)
    }

    fn u64_at(&self, offset: usize) -> Option<u64> {
        self.integer(offset, 8)
    }

    /// An integer of exactly that width; null of any kind is zero.
    fn integer(&self, offset: usize, bytes: u64) -> Option<u64> {
        let scalar = scalar_at(self.module, self.constant, offset as u64)?;
        if self.module.store_size_of(scalar.type_of()) != bytes {
            return None;
        }
        if scalar.is_null() { Some(0) } else { scalar.constant_integer() }
    }

    fn pointee(&self, offset: usize) -> Option<Pointee> {
        let scalar = scalar_at(self.module, self.constant, offset as u64)?;
        if self.module.store_size_of(scalar.type_of()) != 8 {
            return None;
        }
        Some(match scalar.definitive_initializer() {
            _ if scalar.is_null() => Pointee::Null,
            Some(constant) => Pointee::Constant(constant),
            None => Pointee::Elsewhere,
        })
    }

    fn entries(&self, array: Value, bytes: u64) -> u64 {
        self.module.size_of(array.type_of()) / bytes
    }

    fn offsets(&self, array: Value, count: u32) -> Option<Vec<u32>> {
        let table = Image { module: self.module, constant: array };
        (0..count as usize).map(|index| table.u32_at(index * 4)).collect()
    }

    /// The bytes up to the zero; none if there is no zero.
    fn text(&self, constant: Value) -> Option<CString> {
        let table = Image { module: self.module, constant };
        let bytes = (0..self.entries(constant, 1) as usize).map_while(|index| table.integer(index, 1));
        let text: Vec<u8> = bytes.map(|byte| byte as u8).collect();
        let length = text.iter().position(|&byte| byte == 0)?;
        CString::new(&text[..length]).ok()
    }
}

/// A stand-in for functions that only exist when the program runs; never called.
unsafe extern "C" fn stand_in_trace(_: *const u64, _: u64, _: TraceVisit, _: *mut c_void) {}

fn entries(module: Module, constant: Value, count: u64) -> Option<Vec<u32>> {
    let array = scalar_at(module, constant, offset_of!(RawDescriptor, ref_offsets) as u64)?;
    let array = array.definitive_initializer()?;
    (0..count).map(|index| word_at(module, array, index * 4).and_then(|word| u32::try_from(word).ok())).collect()
}
