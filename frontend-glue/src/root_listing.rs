//! Every root of every call in an object, with the names that people gave them: what `tally maps`
//! prints.
//!
//! The stack maps say where each call's root slots are and give each an id; the module record says
//! what the ids mean (variable, descriptor); the symbol table and the line table say where the call
//! is. Everything is read from the finished object, as the runtime will read it, and nothing is
//! taken from the compiler's memory: the listing shows what is really in there.

use std::collections::HashMap;
use std::mem::offset_of;

use rc_runtime::descriptor::TypeDescriptor;
use rc_runtime::module_record::{ModuleRecord, RootInfo};
use stack_roots::{Location, MapError, OperandFault, root_records, stack_map};
use thiserror::Error;

use crate::line_table::LineTable;
use crate::object_file::{MODULE_RECORD, ObjectError, STACK_MAPS};
use crate::placed_object::PlacedObject;

/// Why an object's roots cannot be listed.
#[derive(Debug, Error)]
pub enum ListingError {
    /// The object itself cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The section of stack maps cannot be read.
    #[error("the stack maps are malformed: {0}")]
    Map(#[from] MapError),
    /// A call's record does not say where its roots are.
    #[error("the stack map of the call at {call} is malformed: {fault}")]
    Record {
        /// Function and offset.
        call: String,
        /// What is wrong.
        fault: OperandFault,
    },
}

/// One call that the collector may stop in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function that contains the call.
    pub function: String,
    /// From the function's start to the return address, bytes.
    pub offset: u64,
    /// `file:line`, where the object has debug information.
    pub line: Option<String>,
    /// In the order of the map.
    pub roots: Vec<Root>,
}

/// One root slot at a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The variable; empty where it has no name.
    pub name: String,
    /// The function whose variable it is: another than the call's where that was inlined.
    pub owner: Option<String>,
    /// Where the slot is while the call runs.
    pub slot: Location,
    /// The descriptor that says how the slot is read; `None` is one plain reference.
    pub descriptor: Option<String>,
}

/// Lists the calls of an object in the order of the map.
pub fn list(object: &[u8]) -> Result<Vec<CallSite>, ListingError> {
    let placed = PlacedObject::read(object)?;
    let lines = LineTable::read(&placed);
    let names = root_names(&placed);
    let mut calls = Vec::new();
    let Some(section) = placed.section(STACK_MAPS) else {
        return Ok(calls);
    };
    for blob in stack_map::read(section)?.blobs() {
        let mut records = blob.records();
        for function in blob.functions() {
            let name = match placed.symbol_at(function.address) {
                Some((name, 0)) => name.to_owned(),
                _ => format!("{:#x}", function.address),
            };
            for record in records.by_ref().take(usize::try_from(function.record_count).unwrap_or(usize::MAX)) {
                let offset = u64::from(record.instruction_offset);
                let decoded = root_records::decode(&record)
                    .map_err(|fault| ListingError::Record { call: format!("{name}+{offset:#x}"), fault })?;
                let Some(slots) = decoded else { continue };
                let roots = slots.iter().map(|slot| root(&names, slot.id, slot.location)).collect();
                // The byte before the return address belongs to the call.
                let line = lines.place(function.address + offset - 1);
                calls.push(CallSite { function: name.clone(), offset, line, roots });
            }
        }
    }
    Ok(calls)
}

fn root(names: &HashMap<u64, RootName>, id: u64, slot: Location) -> Root {
    match names.get(&id) {
        Some(known) => Root {
            name: known.variable.clone(),
            owner: known.function.clone(),
            slot,
            descriptor: known.descriptor.clone(),
        },
        None => Root { name: String::new(), owner: None, slot, descriptor: None },
    }
}

#[derive(Debug)]
struct RootName {
    variable: String,
    function: Option<String>,
    descriptor: Option<String>,
}

/// The module record's table of named roots, by id.
fn root_names(placed: &PlacedObject) -> HashMap<u64, RootName> {
    let read = || {
        let record = placed.address_of(MODULE_RECORD)?;
        let count = placed.word(record + offset_of!(ModuleRecord, root_count) as u64)?;
        let table = placed.word(record + offset_of!(ModuleRecord, roots) as u64)?;
        let rows = (0..count).map_while(|index| {
            let row = table.checked_add(index.checked_mul(size_of::<RootInfo>() as u64)?)?;
            let text = |field: usize| placed.text(placed.word(row + field as u64)?);
            let name = RootName {
                variable: text(offset_of!(RootInfo, name)).unwrap_or_default(),
                function: text(offset_of!(RootInfo, function)),
                descriptor: descriptor(placed, placed.word(row + offset_of!(RootInfo, how) as u64)?),
            };
            Some((placed.word(row)?, name))
        });
        Some(rows.collect())
    };
    read().unwrap_or_default()
}

/// A descriptor's own name, else its symbol's.
fn descriptor(placed: &PlacedObject, address: u64) -> Option<String> {
    if address == 0 {
        return None;
    }
    let name =
        placed.word(address.checked_add(offset_of!(TypeDescriptor, name) as u64)?).and_then(|name| placed.text(name));
    Some(name.unwrap_or_else(|| match placed.symbol_at(address) {
        Some((symbol, 0)) => symbol.to_owned(),
        _ => format!("{address:#x}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::{emit, target};
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use stack_roots::BaseRegister;

    /// Two calls, as the lowering leaves them: one with a named root and an unnamed one, one with none.
    const LOWERED: &str = r#"
@variable = private constant [5 x i8] c"list\00"
@function = private constant [2 x i8] c"f\00"
@word = private constant [5 x i8] c"Word\00"
@descriptor = internal constant [16 x ptr] [ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr @word, ptr null, ptr null, ptr null, ptr null]
@roots = internal constant [1 x { i64, ptr, ptr, ptr }] [{ i64, ptr, ptr, ptr } { i64 77, ptr @descriptor, ptr @variable, ptr @function }]
@tally.module = internal global { i64, ptr, ptr, i64, i64, ptr, i64, ptr, i64, ptr } { i64 1, ptr null, ptr null, i64 0, i64 0, ptr null, i64 0, ptr null, i64 1, ptr @roots }
@keep = global ptr @tally.module
declare void @g()
define void @f() "frame-pointer"="all" !dbg !3 {
  %list = alloca i64
  %other = alloca ptr
  store i64 0, ptr %list
  store ptr null, ptr %other
  call void @g() [ "deopt"(i64 77, ptr %list, i64 0, ptr %other) ], !dbg !5
  call void @g() [ "deopt"() ], !dbg !6
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "list.c", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", file: !1, line: 10, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 12, column: 3, scope: !3)
!6 = !DILocation(line: 13, column: 3, scope: !3)
"#;

    #[test]
    fn calls_are_listed_with_lines_names_slots_and_descriptors() {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(LOWERED.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        let object = emit::object(&module, &target::machine(Level::O0).unwrap()).unwrap();
        let calls = list(&object).unwrap();
        assert_eq!(calls.len(), 2, "{calls:?}");
        let place = |call: &CallSite| (call.function.clone(), call.line.clone().unwrap());
        assert_eq!(place(&calls[0]), ("f".into(), "list.c:12".into()));
        assert_eq!(place(&calls[1]), ("f".into(), "list.c:13".into()));
        assert!(calls[0].offset < calls[1].offset);
        let [named, unnamed] = &calls[0].roots[..] else { panic!("{calls:?}") };
        assert_eq!((named.name.as_str(), named.owner.as_deref()), ("list", Some("f")));
        assert_eq!(named.descriptor.as_deref(), Some("Word"));
        assert_eq!((unnamed.name.as_str(), unnamed.descriptor.as_deref()), ("", None));
        assert_ne!(named.slot, unnamed.slot);
        assert_eq!(named.slot.base(), BaseRegister::Rsp);
        assert_eq!(calls[1].roots, []);
    }

    #[test]
    fn an_object_without_maps_has_no_calls() {
        let context = Context::create();
        let object = emit::object(&context.create_module("empty"), &target::machine(Level::O0).unwrap()).unwrap();
        assert_eq!(list(&object).unwrap(), []);
    }
}
