//! What is wrong with a type descriptor, as far as the module shows it.

use super::constants::constant_at;
use super::image::{Image, Pointee, nowhere};
use crate::llvm::{Module, Value};
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::mem::{offset_of as at, size_of};
use tally_heap::descriptor::{
    DESCRIPTOR_VERSION, DescriptorError, DescriptorFault, RawDescriptor, TraceFunction, TraceVisit, TypeDescriptor,
};

type D = RawDescriptor;

enum Fault {
    Runtime(DescriptorError),
    Short { field: &'static str, count: u32, entries: u64 },
    Nowhere { field: &'static str, what: String },
    NoDescriptor { field: &'static str, what: String },
    NoFunction { field: &'static str, name: String },
    Parameters { field: &'static str, name: String, form: &'static str },
    Name,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Runtime(error) => write!(f, "{error}"),
            Fault::Short { field, count, entries } => {
                write!(f, "{field} has {entries} entries, its count is {count}; the runtime would read past its end")
            }
            Fault::Nowhere { field, what } => {
                write!(f, "{field} is {what}, where nothing can be read; name a constant, or pass null")
            }
            Fault::NoDescriptor { field, what } => write!(f, "{field} names {what}"),
            Fault::NoFunction { field, name } => {
                write!(f, "{field} names @{name}, which is a variable and no function")
            }
            Fault::Parameters { field, name, form } => {
                write!(f, "{field} names @{name}, which has not the form {form}")
            }
            Fault::Name => write!(f, "name is not a C string; end it with a zero byte"),
        }
    }
}

/// Where the references of a part of an object are listed.
struct Part {
    /// Its words in the runtime's messages.
    name: &'static str,
    bytes: usize,
    count: usize,
    offsets: (&'static str, usize),
    types: (&'static str, usize),
}

const PARTS: [Part; 2] = [
    Part {
        name: "the fixed part",
        bytes: at!(D, size),
        count: at!(D, ref_count),
        offsets: ("ref_offsets", at!(D, ref_offsets)),
        types: ("ref_types", at!(D, ref_types)),
    },
    Part {
        name: "an element",
        bytes: at!(D, stride),
        count: at!(D, element_ref_count),
        offsets: ("element_ref_offsets", at!(D, element_ref_offsets)),
        types: ("element_ref_types", at!(D, element_ref_types)),
    },
];

/// The runtime's objection to the descriptor at `address`, or a fault that the runtime could not detect. `None` if
/// the descriptor is in order, or spelled in a way that cannot be read here.
pub(crate) fn fault(module: Module, address: Value) -> Option<String> {
    if address.is_global_variable() && address.may_be_missing() {
        return Some(
            "it may be missing in the program, since it is declared extern_weak; declare it external".to_owned(),
        );
    }
    if address.is_global_variable() && address.is_thread_local() {
        return Some("it is thread_local, but a type has one descriptor for all threads; define it without".to_owned());
    }
    let constant = constant_at(module, address)?;
    let bytes = module.size_of(constant.type_of());
    if bytes < size_of::<TypeDescriptor>() as u64 {
        return Some(format!("a type descriptor has {} bytes, this constant has {bytes}", size_of::<TypeDescriptor>()));
    }
    fault_in(Image::of(module, constant)).map(|fault| fault.to_string())
}

fn fault_in(image: Image) -> Option<Fault> {
    let name = match name_of(image)? {
        Ok(name) => name,
        Err(fault) => return Some(fault),
    };
    let wrong = |fault| Some(Fault::Runtime(DescriptorError { name: name.to_string_lossy().into_owned(), fault }));
    let version = image.u32_at(at!(D, version))?;
    if version != DESCRIPTOR_VERSION {
        return wrong(DescriptorFault::Version(version));
    }
    let mut tables = Vec::new();
    for part in &PARTS {
        let (count, bytes) = (image.u32_at(part.count)?, image.u64_at(part.bytes)?);
        if u64::from(count) > bytes / 8 {
            return wrong(DescriptorFault::TooManyReferences { part: part.name, count, bytes });
        }
        match offsets_of(image, part, count)? {
            Ok(table) => tables.push((count, table)),
            Err(fault) => return Some(fault),
        }
        if let Some(fault) = fault_of_types(image, part, count)? {
            return Some(fault);
        }
    }
    fault_of_functions(image).or_else(|| runtime_fault(image, &name, &tables))
}

/// `None` if it cannot be read.
fn name_of(image: Image) -> Option<Result<CString, Fault>> {
    Some(match image.pointee(at!(D, name))? {
        Pointee::Constant(text) => text.text().ok_or(Fault::Name),
        Pointee::Null | Pointee::Elsewhere => Ok(c"(unnamed)".to_owned()),
        Pointee::Nowhere(what) => Err(Fault::Nowhere { field: "name", what }),
    })
}

/// The offsets of a part's references, if there is a table. `None` if it cannot be read.
fn offsets_of(image: Image, part: &Part, count: u32) -> Option<Result<Option<Vec<u32>>, Fault>> {
    let (field, offset) = part.offsets;
    Some(match image.pointee(offset)? {
        Pointee::Null => Ok(None),
        Pointee::Elsewhere => return None,
        Pointee::Nowhere(what) => Err(Fault::Nowhere { field, what }),
        Pointee::Constant(table) => match table.entries(4) {
            entries if entries < u64::from(count) => Err(Fault::Short { field, count, entries }),
            _ => Ok(Some(table.words(count)?)),
        },
    })
}

/// The fault in the types of a part's references. `None` if they cannot be read.
fn fault_of_types(image: Image, part: &Part, count: u32) -> Option<Option<Fault>> {
    let (field, offset) = part.types;
    Some(match image.pointee(offset)? {
        Pointee::Null | Pointee::Elsewhere => None,
        Pointee::Nowhere(what) => Some(Fault::Nowhere { field, what }),
        Pointee::Constant(table) if table.entries(8) < u64::from(count) => {
            Some(Fault::Short { field, count, entries: table.entries(8) })
        }
        Pointee::Constant(table) => {
            let listed = (0..count as usize).filter_map(|index| table.scalar(index * 8));
            listed
                .into_iter()
                .find_map(|listed| no_descriptor(image.module, listed))
                .map(|what| Fault::NoDescriptor { field, what })
        }
    })
}

/// What stands there in place of a descriptor, as far as the module shows it.
fn no_descriptor(module: Module, address: Value) -> Option<String> {
    let name = || address.name();
    if address.is_null() {
        return None;
    }
    if address.is_function() {
        return Some(format!("@{}, which is a function and describes no type", name()));
    }
    if let Some(what) = nowhere(address) {
        return Some(format!("{what} in place of a type descriptor"));
    }
    let constant = address.is_global_variable().then(|| address.initializer()).flatten()?;
    let is_short = module.size_of(constant.type_of()) < size_of::<TypeDescriptor>() as u64;
    let version = || Image::of(module, constant).u32_at(at!(D, version));
    let is_other = is_short || constant.is_null() || version().is_some_and(|version| version != DESCRIPTOR_VERSION);
    is_other.then(|| format!("@{}, which is no type descriptor", name()))
}

/// The fault in the functions that a descriptor names.
fn fault_of_functions(image: Image) -> Option<Fault> {
    [("finalize", at!(D, finalize), 1, "void (ptr)"), ("trace", at!(D, trace), 4, "void (ptr, i64, ptr, ptr)")]
        .into_iter()
        .find_map(|(field, offset, parameters, form)| {
            let function = image.scalar(offset)?;
            if function.is_global_variable() {
                return Some(Fault::NoFunction { field, name: function.name() });
            }
            if let Some(what) = nowhere(function) {
                return Some(Fault::Nowhere { field, what });
            }
            let takes = |function: Value| function.value_type().parameters().len();
            let is_other =
                function.is_function() && !function.value_type().is_variadic() && takes(function) != parameters;
            is_other.then(|| Fault::Parameters { field, name: function.name(), form })
        })
}

/// What the runtime says of a descriptor with these tables.
fn runtime_fault(image: Image, name: &CStr, tables: &[(u32, Option<Vec<u32>>)]) -> Option<Fault> {
    let is_set = |offset| image.scalar(offset).map(|function| !function.is_null());
    let pointer = |table: &Option<Vec<u32>>| table.as_ref().map_or(std::ptr::null(), |table| table.as_ptr());
    let copy = RawDescriptor {
        version: image.u32_at(at!(D, version))?,
        flags: image.u32_at(at!(D, flags))?,
        size: image.u64_at(at!(D, size))?,
        align: image.u32_at(at!(D, align))?,
        slot_kind: image.u32_at(at!(D, slot_kind))?,
        tag_mask: image.u64_at(at!(D, tag_mask))?,
        tag_pattern: image.u64_at(at!(D, tag_pattern))?,
        pointer_mask: image.u64_at(at!(D, pointer_mask))?,
        ref_count: tables[0].0,
        element_ref_count: tables[1].0,
        ref_offsets: pointer(&tables[0].1),
        length_offset: image.u64_at(at!(D, length_offset))?,
        stride: image.u64_at(at!(D, stride))?,
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

/// A stand-in for functions that only exist when the program runs; never called.
unsafe extern "C" fn stand_in_trace(_: *const u64, _: u64, _: TraceVisit, _: *mut c_void) {}
