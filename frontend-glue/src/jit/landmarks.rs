//! A global symbol in each section of code, by which the section is found when it is linked.
//!
//! Of linked code, LLVM's C interface tells the addresses of global symbols only. A section may have none: the cold code of a
//! module (`.text.unlikely.`), where `main` may be as well, since what calls a cold function is cold. There the object that is
//! linked differs from the compiler's: a local function has another name, is global and hidden.
//!
//! ```text
//!   before:  LOCAL  FUNC  DEFAULT  .text.unlikely.  fail
//!   here:    GLOBAL FUNC  HIDDEN   .text.unlikely.  tally.landmark.3.5
//! ```
//!
//! gdb and perf are told of the compiler's object, with its names.

use std::collections::HashSet;

use object::elf::{SHF_EXECINSTR, SHN_LORESERVE, STB_GLOBAL, STB_LOCAL, STT_FUNC, STV_HIDDEN, SectionHeader64, Sym64};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader, Sym};
use object::{LittleEndian, SectionIndex};

use crate::emit::object_file;

/// A local function that stands for its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Landmark {
    pub(super) section: SectionIndex,
    /// Where the function begins in its section.
    pub(super) offset: u64,
    /// Its place among the symbols.
    symbol: usize,
}

impl Landmark {
    /// The symbol in the object that is linked. `number` tells the object from others of the same linker.
    pub(super) fn name(self, number: usize) -> String {
        format!("tally.landmark.{number}.{}", self.section.0)
    }
}

/// The landmarks of an object: one for each section of code without a global symbol of its own.
pub(super) fn of(file: &ElfFile64<LittleEndian>) -> Vec<Landmark> {
    let (symbols, sections) = (file.elf_symbol_table(), file.elf_section_table());
    let is_code = |section: SectionIndex| {
        let header = sections.section(section);
        header.is_ok_and(|header| header.sh_flags(LittleEndian) & u64::from(SHF_EXECINSTR) != 0)
    };
    let section_of = |symbol: &Sym64<LittleEndian>| {
        let section = symbol.st_shndx(LittleEndian);
        (section != 0 && section < SHN_LORESERVE).then_some(SectionIndex(section.into()))
    };
    let strong = symbols.symbols().iter().filter(|symbol| symbol.st_bind() == STB_GLOBAL);
    let mut known: HashSet<SectionIndex> = strong.filter_map(section_of).collect();
    let local = symbols.symbols().iter().enumerate().filter_map(|(number, symbol)| {
        let is_local_function = symbol.st_bind() == STB_LOCAL && symbol.st_type() == STT_FUNC;
        let section = section_of(symbol).filter(|section| is_local_function && is_code(*section))?;
        Some(Landmark { section, offset: symbol.st_value(LittleEndian), symbol: number })
    });
    local.filter(|landmark| known.insert(landmark.section)).collect()
}

/// The object with its landmarks; none if it needs none, or is not understood, which the linker will say.
pub(super) fn add(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
    let file = object_file::parse(bytes).ok()?;
    let landmarks = of(&file);
    if landmarks.is_empty() {
        return None;
    }
    let (endian, sections, symbols) = (LittleEndian, file.elf_section_table(), file.elf_symbol_table());
    let symbols_at = usize::try_from(sections.section(symbols.section()).ok()?.sh_offset(endian)).ok()?;
    let mut names = sections.section(symbols.string_section()).ok()?.data(endian, bytes).ok()?.to_vec();
    let mut marked = bytes.to_vec();
    for landmark in landmarks {
        let at = symbols_at + landmark.symbol * size_of::<Sym64<LittleEndian>>();
        put(&mut marked, at, &u32::try_from(names.len()).ok()?.to_le_bytes())?;
        put(&mut marked, at + 4, &[STB_GLOBAL << 4 | STT_FUNC, STV_HIDDEN])?;
        names.extend_from_slice(landmark.name(number).as_bytes());
        names.push(0);
    }
    let headers = usize::try_from(file.elf_header().e_shoff(endian)).ok()?;
    let header = headers + symbols.string_section().0 * size_of::<SectionHeader64<LittleEndian>>();
    let offset = header + std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_offset);
    let size = header + std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_size);
    let end = marked.len() as u64;
    put(&mut marked, offset, &end.to_le_bytes())?;
    put(&mut marked, size, &(names.len() as u64).to_le_bytes())?;
    marked.extend_from_slice(&names);
    Some(marked)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(value.len())?)?.copy_from_slice(value);
    Some(())
}
