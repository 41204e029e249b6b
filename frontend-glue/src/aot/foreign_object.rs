//! Objects that other tools compiled, and the tables in which LLVM describes their roots.
//!
//! `tally build MAIN.ll FOREIGN.o` links what stock `llc` or `clang` made of a module with one of LLVM's own strategies.
//! [`ForeignObject::read`] finds the tables, and `registrar` writes a module whose constructor hands them to the
//! runtime (`tally_compiled::module::foreign_frames`):
//!
//! | in the object | strategy | in the executable |
//! |---|---|---|
//! | section `.llvm_stackmaps` | `statepoint-example`, `coreclr` | section `llvm_stackmaps`, writable and kept; the linker marks its ends |
//! | symbol `caml<Module>__frametable` | `ocaml` | the symbol |
//! | section `.note.gc` | `erlang` | in the file only |
//! | symbol `llvm_gc_root_chain` | `shadow-stack` | the runtime's own definition |
//!
//! LLVM's section of stack maps has a name that no linker makes symbols for, and is read-only although it holds
//! addresses. Without its dot the name is a C identifier, for which linkers define `__start_…` and `__stop_…`. In the table of
//! names that is the next byte.
//!
//! An object of a lowered module registers itself; its stack maps only become writable.

use std::path::{Path, PathBuf};

use object::elf::{SHF_GNU_RETAIN, SHF_WRITE};
use object::{LittleEndian, Object as _, ObjectSection, ObjectSymbol};
use tally_compiled::module::foreign_frames::{
    FRAMES_ERLANG, FRAMES_OCAML, FRAMES_SHADOW_STACK, FRAMES_STATEPOINTS, FRAMES_VERSION,
};

use crate::emit::object_file::{self, MODULE_RECORD, ObjectError, STACK_MAPS};
use crate::emit::target::Target;

/// A table of roots in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    StackMaps,
    /// The symbol of the table.
    OCaml(String),
    Erlang,
    ShadowStack,
}

/// An object that another tool compiled.
#[derive(Debug)]
pub struct ForeignObject {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The machine that its code is for.
    pub(crate) target: Target,
    /// Its bytes, ready for the linker.
    pub(crate) bytes: Vec<u8>,
    pub(crate) tables: Vec<Table>,
    pub(crate) defines_main: bool,
}

impl ForeignObject {
    /// Reads an object and prepares it for the linker.
    ///
    /// # Errors
    /// The bytes are no ELF object for this machine.
    pub fn read(file: &Path, bytes: Vec<u8>) -> Result<ForeignObject, ObjectError> {
        let target = object_file::target_of(&object_file::parse(&bytes)?);
        let mut read = ForeignObject { file: file.to_owned(), target, bytes, tables: Vec::new(), defines_main: false };
        let elf = object_file::parse(&read.bytes)?;
        let symbol = |name: &str| elf.symbols().find(|symbol| symbol.name() == Ok(name));
        read.defines_main = symbol("main").is_some_and(|main| main.is_global() && !main.is_undefined());
        if symbol(MODULE_RECORD).is_some() {
            object_file::finish(&mut read.bytes)?;
            return Ok(read);
        }
        let is_there = |name| elf.section_by_name(name).is_some_and(|section| section.size() > 0);
        if is_there(ERLANG) {
            read.tables.push(Table::Erlang);
        }
        if symbol(ROOT_CHAIN).is_some() {
            read.tables.push(Table::ShadowStack);
        }
        let defined = elf.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
        let names = defined.filter_map(|symbol| symbol.name().ok());
        read.tables.extend(names.filter(|name| is_frame_table(name)).map(|name| Table::OCaml(name.to_owned())));
        if is_there(STACK_MAPS) {
            read.tables.push(Table::StackMaps);
            let header = section_header(&elf)?;
            let (name, flags) = (header, header + SH_FLAGS_OFFSET);
            add(&mut read.bytes, name, 1)?;
            set(&mut read.bytes, flags, SHF_WRITE | SHF_GNU_RETAIN)?;
        }
        Ok(read)
    }
}

/// The section that LLVM's strategy `erlang` writes.
const ERLANG: &str = ".note.gc";

/// The variable that LLVM's strategy `shadow-stack` links frames to.
const ROOT_CHAIN: &str = "llvm_gc_root_chain";

/// The symbols that LLVM's strategy `ocaml` names tables by.
fn is_frame_table(symbol: &str) -> bool {
    symbol.starts_with("caml") && symbol.ends_with("__frametable")
}

/// Offset in a section header of its flags; its name comes first.
const SH_FLAGS_OFFSET: usize = 8;
const SECTION_HEADER_BYTES: usize = 64;

/// The offset in the file of the header of the stack maps' section.
fn section_header(elf: &object::read::elf::ElfFile64<'_, LittleEndian>) -> Result<usize, ObjectError> {
    let outside = || ObjectError::Malformed("section headers out of range".into());
    let section = elf.section_by_name(STACK_MAPS).ok_or_else(outside)?;
    let headers = usize::try_from(elf.elf_header().e_shoff.get(LittleEndian)).map_err(|_| outside())?;
    section.index().0.checked_mul(SECTION_HEADER_BYTES).and_then(|at| at.checked_add(headers)).ok_or_else(outside)
}

fn word(bytes: &mut [u8], at: usize) -> Result<&mut [u8; 4], ObjectError> {
    let place = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
    place.ok_or_else(|| ObjectError::Malformed("a section header lies outside the file".into()))
}

fn add(bytes: &mut [u8], at: usize, more: u32) -> Result<(), ObjectError> {
    let word = word(bytes, at)?;
    *word = u32::from_le_bytes(*word).wrapping_add(more).to_le_bytes();
    Ok(())
}

fn set(bytes: &mut [u8], at: usize, bits: u32) -> Result<(), ObjectError> {
    let word = word(bytes, at)?;
    *word = (u32::from_le_bytes(*word) | bits).to_le_bytes();
    Ok(())
}

/// The IR of a module that registers the tables of all objects; `None` if they have none.
pub(crate) fn registrar(objects: &[ForeignObject]) -> Option<String> {
    let mut records: Vec<Record> = Vec::new();
    for object in objects {
        for table in &object.tables {
            let (kind, begin, end) = match table {
                Table::StackMaps => (FRAMES_STATEPOINTS, START.to_owned(), STOP.to_owned()),
                Table::OCaml(symbol) => (FRAMES_OCAML, symbol.clone(), String::new()),
                Table::Erlang => (FRAMES_ERLANG, String::new(), String::new()),
                Table::ShadowStack => (FRAMES_SHADOW_STACK, String::new(), String::new()),
            };
            // The sections of all objects become one.
            if kind == FRAMES_OCAML || records.iter().all(|record| record.kind != kind) {
                records.push(Record { kind, begin, end, file: object.file.display().to_string() });
            }
        }
    }
    (!records.is_empty()).then(|| module_of(&records))
}

struct Record {
    kind: u32,
    /// Symbols of the table's ends, or nothing.
    begin: String,
    end: String,
    file: String,
}

const START: &str = "__start_llvm_stackmaps";
const STOP: &str = "__stop_llvm_stackmaps";

fn module_of(records: &[Record]) -> String {
    let mut text =
        String::from("%frames = type { i32, i32, ptr, ptr, ptr }\ndeclare void @tally_register_frames(ptr)\n");
    let mut calls = String::new();
    for (number, record) in records.iter().enumerate() {
        let symbols = [&record.begin, &record.end];
        for symbol in symbols.into_iter().filter(|symbol| !symbol.is_empty()) {
            let hidden = if symbol.starts_with("__st") { "hidden " } else { "" };
            text += &format!("@{} = external {hidden}global i8\n", quoted(symbol));
        }
        let [begin, end] = symbols.map(|symbol| match symbol.is_empty() {
            true => "null".to_owned(),
            false => format!("@{}", quoted(symbol)),
        });
        let name = record.file.as_bytes();
        let kind = record.kind;
        text += &format!(
            "@name.{number} = private constant [{} x i8] c{}\n\
             @frames.{number} = internal constant %frames {{ i32 {FRAMES_VERSION}, i32 {kind}, ptr @name.{number}, ptr {begin}, ptr {end} }}\n",
            name.len() + 1,
            quoted(&format!("{}\0", record.file)),
        );
        calls += &format!("  call void @tally_register_frames(ptr @frames.{number})\n");
    }
    text += &format!(
        "define internal void @tally.register_frames() {{\n{calls}  ret void\n}}\n\
         @llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] \
         [{{ i32, ptr, ptr }} {{ i32 0, ptr @tally.register_frames, ptr null }}]\n"
    );
    text
}

/// A name or text as IR writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => quoted.push(char::from(byte)),
            _ => quoted += &format!("\\{byte:02X}"),
        }
    }
    quoted.push('"');
    quoted
}
