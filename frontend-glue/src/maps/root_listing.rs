//! Every root of every call in an object, with the names in the source: the listing of `tally maps`.
//!
//! The stack maps have the slots of each call's roots, each with an id; the module record has the meaning of the ids
//! (variable, descriptor); the symbol table and the line table have the place of the call. Everything is read from
//! the finished object, as the runtime will read it, and nothing is taken from the compiler's memory: the listing
//! shows the object's real content.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::offset_of;
use std::rc::Rc;

use stack_roots::{CompactError, Location, MapError, OperandFault, RootSlot, compact_map, root_records, stack_map};
use tally_compiled::module::record::{ModuleRecord, RootInfo};
use tally_heap::descriptor::RawDescriptor;
use thiserror::Error;

use crate::emit::object_file::{STACK_MAPS, is_module_record};
use crate::maps::line_table::{LineTable, SourceLine};
use crate::maps::placed_object::PlacedObject;

/// Why an object's roots cannot be listed.
#[derive(Debug, Error)]
pub enum ListingError {
    /// The section of stack maps cannot be read.
    #[error("the stack maps are malformed: {0}")]
    Map(#[from] MapError),
    /// The section of compact stack maps cannot be read.
    #[error("the stack maps are malformed: {0}")]
    Compact(#[from] CompactError),
    /// A call's record does not tell where its roots are.
    #[error("the stack map of the call at {call} is malformed: {fault}")]
    Record {
        /// Function and offset.
        call: String,
        /// The fault.
        fault: OperandFault,
    },
}

/// One call that the collector may stop in. Names are borrowed: an object may have very many calls in a function with a
/// very long name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite<'a> {
    /// The function that contains the call.
    pub function: Cow<'a, str>,
    /// From the function's start to the return address, bytes.
    pub offset: u64,
    /// Its place in the source, if the object has debug information.
    pub line: Option<SourceLine<'a>>,
    /// In the order of the map. Calls with the same list in a compact map share it.
    pub roots: Rc<[Root<'a>]>,
}

/// One root slot at a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root<'a> {
    /// The variable; empty where it has no name.
    pub name: &'a str,
    /// The function whose variable it is: another than the call's where that was inlined.
    pub owner: Option<&'a str>,
    /// The place of the slot while the call runs.
    pub slot: Location,
    /// The descriptor that says how the slot is read; `None` is one plain reference.
    pub descriptor: Option<Cow<'a, str>>,
}

/// Lists the calls of an object in the order of the map.
pub fn list<'a>(placed: &'a PlacedObject<'_>) -> Result<Vec<CallSite<'a>>, ListingError> {
    let listing = Listing { placed, lines: LineTable::read(placed), names: root_names(placed) };
    let mut calls = Vec::new();
    if let Some(section) = placed.section(STACK_MAPS) {
        listing.add_llvms(section, &mut calls)?;
    }
    if let Some(section) = placed.section(compact_map::SECTION) {
        listing.add_compact(section, &mut calls)?;
    }
    Ok(calls)
}

/// What the listing of a call needs.
struct Listing<'a, 'data> {
    placed: &'a PlacedObject<'data>,
    lines: LineTable<'a>,
    names: HashMap<u64, RootName<'a>>,
}

impl<'a> Listing<'a, '_> {
    /// The calls of a section in LLVM's format.
    fn add_llvms(&self, section: &[u8], calls: &mut Vec<CallSite<'a>>) -> Result<(), ListingError> {
        for blob in stack_map::read(section)?.blobs() {
            let mut records = blob.records();
            for function in blob.functions() {
                let name = self.name(function.address);
                for record in records.by_ref().take(usize::try_from(function.record_count).unwrap_or(usize::MAX)) {
                    let offset = u64::from(record.instruction_offset);
                    let decoded = root_records::decode(&record, self.placed.target().frames())
                        .map_err(|fault| ListingError::Record { call: format!("{name:.200}+{offset:#x}"), fault })?;
                    let Some(slots) = decoded else { continue };
                    let roots = self.roots(slots.into_iter());
                    calls.push(self.call(name.clone(), function.address, offset, roots));
                }
            }
        }
        Ok(())
    }

    /// The calls of a section in Tally's format. An object that was made of several has their maps one after the other.
    fn add_compact(&self, section: &[u8], calls: &mut Vec<CallSite<'a>>) -> Result<(), ListingError> {
        let mut start = 0;
        while let Some(rest) = section.get(start..).filter(|rest| !rest.is_empty()) {
            let map = compact_map::read(rest)?;
            let mut lists = HashMap::new();
            for group in map.groups() {
                let code =
                    self.placed.address_named_at(compact_map::SECTION, start + group.place_at).unwrap_or_default();
                for call in map.calls(&group) {
                    let distance = u64::from(call.return_offset.wrapping_sub(call.function_offset));
                    let function = code.wrapping_add(u64::from(call.return_offset)).wrapping_sub(distance);
                    let roots = lists.entry(call.list).or_insert_with(|| self.roots(call.roots.iter())).clone();
                    calls.push(self.call(self.name(function), function, distance, roots));
                }
            }
            start += map.bytes().len();
        }
        Ok(())
    }

    fn name(&self, function: u64) -> Cow<'a, str> {
        match self.placed.symbol_at(function) {
            Some((name, 0)) => Cow::Borrowed(name),
            _ => Cow::Owned(format!("{function:#x}")),
        }
    }

    fn roots(&self, slots: impl Iterator<Item = RootSlot>) -> Rc<[Root<'a>]> {
        slots.map(|slot| root(&self.names, slot.id, slot.location)).collect()
    }

    fn call(&self, name: Cow<'a, str>, function: u64, offset: u64, roots: Rc<[Root<'a>]>) -> CallSite<'a> {
        // The byte before the return address belongs to the call.
        let line = self.lines.place(function.wrapping_add(offset).wrapping_sub(1));
        CallSite { function: name, offset, line, roots }
    }
}

fn root<'a>(names: &HashMap<u64, RootName<'a>>, id: u64, slot: Location) -> Root<'a> {
    match names.get(&id) {
        Some(known) => Root { name: known.variable, owner: known.function, slot, descriptor: known.descriptor.clone() },
        None => Root { name: "", owner: None, slot, descriptor: None },
    }
}

#[derive(Debug)]
struct RootName<'a> {
    variable: &'a str,
    function: Option<&'a str>,
    descriptor: Option<Cow<'a, str>>,
}

/// The named roots of all module records, by id.
fn root_names<'a>(placed: &'a PlacedObject<'_>) -> HashMap<u64, RootName<'a>> {
    let rows = placed.addresses_of(is_module_record).flat_map(|record| rows_of(placed, record));
    // However many records a damaged object has, there are no more rows than fit in it.
    rows.take(placed.size() / size_of::<RootInfo>()).collect()
}

/// The rows of one module record's table.
fn rows_of<'a>(placed: &'a PlacedObject<'_>, record: u64) -> impl Iterator<Item = (u64, RootName<'a>)> {
    let field = |offset: usize| placed.word(record.checked_add(offset as u64)?);
    let count = field(offset_of!(ModuleRecord, root_count)).unwrap_or(0);
    let table = field(offset_of!(ModuleRecord, roots)).unwrap_or(0);
    (0..count).map_while(move |index| {
        let row = table.checked_add(index.checked_mul(size_of::<RootInfo>() as u64)?)?;
        let word = |field: usize| placed.word(row.checked_add(field as u64)?);
        let text = |field: usize| placed.text(word(field)?);
        let name = RootName {
            variable: text(offset_of!(RootInfo, name)).unwrap_or_default(),
            function: text(offset_of!(RootInfo, function)),
            descriptor: descriptor(placed, word(offset_of!(RootInfo, how))?),
        };
        Some((word(offset_of!(RootInfo, id))?, name))
    })
}

/// A descriptor's own name, else its symbol's.
fn descriptor<'a>(placed: &'a PlacedObject<'_>, address: u64) -> Option<Cow<'a, str>> {
    if address == 0 {
        return None;
    }
    let name = || placed.text(placed.word(address.checked_add(offset_of!(RawDescriptor, name) as u64)?)?);
    Some(match (name(), placed.symbol_at(address)) {
        (Some(name), _) => Cow::Borrowed(name),
        (None, Some((symbol, 0))) => Cow::Borrowed(symbol),
        (None, _) => Cow::Owned(format!("{address:#x}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;
    use crate::emit::target;
    use inkwell::context::Context;
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
        let object = emit::object_of_text(LOWERED, Level::O0);
        let placed = PlacedObject::read(&object).unwrap();
        let calls = list(&placed).unwrap();
        assert_eq!(calls.len(), 2, "{calls:?}");
        let place = |call: &CallSite| (call.function.to_string(), call.line.unwrap().to_string());
        assert_eq!(place(&calls[0]), ("f".into(), "list.c:12".into()));
        assert_eq!(place(&calls[1]), ("f".into(), "list.c:13".into()));
        assert!(calls[0].offset < calls[1].offset);
        let [named, unnamed] = &calls[0].roots[..] else { panic!("{calls:?}") };
        assert_eq!((named.name, named.owner), ("list", Some("f")));
        assert_eq!(named.descriptor.as_deref(), Some("Word"));
        assert_eq!((unnamed.name, unnamed.descriptor.as_deref()), ("", None));
        assert_ne!(named.slot, unnamed.slot);
        assert_eq!(named.slot.base(), BaseRegister::Rsp);
        assert_eq!(calls[1].roots[..], []);
    }

    #[test]
    fn an_object_without_maps_has_no_calls() {
        let context = Context::create();
        let object = emit::object(&context.create_module("empty"), &target::machine(Level::O0).unwrap()).unwrap();
        assert_eq!(list(&PlacedObject::read(&object).unwrap()).unwrap(), []);
    }
}
