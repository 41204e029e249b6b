//! Real objects to damage: examples with named roots, debug information and relocations of many kinds.

use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection};
use std::ops::Range;
use std::path::Path;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::object_file::MapFormat;
use tally_llvm::pipeline::{self, CompileOptions};

/// The objects of some examples, at different levels.
pub fn real() -> Vec<Vec<u8>> {
    let programs = [
        ("interpreter.c", Level::O2),
        ("lru_cache.c", Level::O0),
        ("rings.c", Level::O2),
        ("nan_boxed.c", Level::O1),
        ("nested_calls.ll", Level::O0),
        ("intermediate_values.ll", Level::O2),
    ];
    let compact = programs.iter().map(|&(name, level)| compiled(name, level));
    compact.chain([compiled_as("lru_cache.c", Level::O2, MapFormat::Llvm)]).collect()
}

/// The object of one example.
pub fn compiled(name: &str, level: Level) -> Vec<u8> {
    compiled_as(name, level, MapFormat::Compact)
}

/// The same with stack maps in that format.
pub fn compiled_as(name: &str, level: Level, maps: MapFormat) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    let options = CompileOptions { level, maps, ..CompileOptions::default() };
    pipeline::compile(&[file], &options).unwrap().remove(0).bytes
}

/// Where in a sound object damage tells most: its headers, and each section that somebody reads.
pub fn places(object: &[u8]) -> Vec<Range<usize>> {
    let header = object::elf::FileHeader64::<LittleEndian>::parse(object).unwrap();
    let headers = header.e_shoff.get(LittleEndian) as usize;
    let file = ElfFile64::<LittleEndian>::parse(object).unwrap();
    let mut places = vec![0..64, headers..object.len()];
    for section in file.sections() {
        let name = section.name().unwrap();
        let is_read = [".llvm_stackmaps", "tally_stackmaps", ".symtab", ".strtab", ".data", ".rodata", ".debug_line"];
        let is_read = is_read.iter().any(|prefix| name.starts_with(prefix) || name == format!(".rela{prefix}"));
        let (from, size) = section.file_range().unwrap_or((0, 0));
        if is_read && size > 0 {
            places.push(from as usize..(from + size) as usize);
        }
        let header = headers + 64 * section.index().0;
        if is_read {
            places.push(header..header + 64);
        }
    }
    places
}

/// Where the section of that name is in the file.
pub fn section(object: &[u8], name: &str) -> Range<usize> {
    let file = ElfFile64::<LittleEndian>::parse(object).unwrap();
    let section = file.section_by_name(name).unwrap();
    let header = section.elf_section_header();
    let from = header.sh_offset(LittleEndian) as usize;
    from..from + header.sh_size(LittleEndian) as usize
}
