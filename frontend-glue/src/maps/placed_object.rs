//! An object file laid out as a linker would, far enough to read it for `tally maps`.
//!
//! In an object every address is still zero, with a relocation that names its value. This module gives each section
//! that would be loaded a place of its own and fills the addresses in; debug sections stay at zero, since references
//! into them are offsets. Then the stack maps, the module record and the line table can be read as in a linked file,
//! and an address leads back to a symbol. Symbols defined elsewhere get places too, outside of all sections, so that
//! they stay distinct.
//!
//! ```text
//! section n: n × 2³²       nowhere: 7 × 2⁶⁰ + 16 × symbol
//! ```
//!
//! Objects may be damaged. For any file, this costs memory and time in proportion to its bytes: names are borrowed,
//! since a thousand symbols may have one name of a megabyte; sections are found by number; and only sections with
//! relocations are copied ([`object_file::parse`] has checked that all sections together are no larger than the
//! file).

use std::borrow::Cow;
use std::collections::HashMap;

use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags, RelocationKind, RelocationTarget,
    SectionFlags, SectionIndex, SymbolIndex,
};

use stack_roots::compact_map;

use crate::emit::object_file::{self, ObjectError};
use crate::emit::target::Target;

/// Distance of neighbouring sections; none is larger, because no object is.
const SECTION_STEP: u64 = 1 << 32;

/// The places of symbols that the object only refers to.
const ELSEWHERE: u64 = 7 << 60;

/// Longer names are cut: a listing has a line for each call, and a name of a megabyte on each is of no use.
const NAME_BYTES_MAX: usize = 4096;

/// A distance on RISC-V, which `object` has no kind for.
const RISCV_DISTANCE: RelocationFlags = RelocationFlags::Elf { r_type: object::elf::R_RISCV_32_PCREL };

/// A placed object.
#[derive(Debug, Default)]
pub struct PlacedObject<'data> {
    /// By number.
    sections: Vec<Option<Section<'data>>>,
    /// Symbols with a name, by address; those at one address in the order of the object.
    symbols: Vec<(u64, &'data str)>,
    target: Target,
}

#[derive(Debug)]
struct Section<'data> {
    name: &'data str,
    base: u64,
    data: Cow<'data, [u8]>,
    /// What relocations refer to that count from their own place, by offset. Only of sections of stack maps.
    targets: HashMap<u64, u64>,
}

impl<'data> PlacedObject<'data> {
    /// The machine that its code is for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Places the sections of `object` and applies the relocations.
    pub fn read(object: &'data [u8]) -> Result<PlacedObject<'data>, ObjectError> {
        let malformed = |error: object::Error| ObjectError::Malformed(error.to_string());
        let file = object_file::parse(object)?;
        let mut placed = PlacedObject { target: object_file::target_of(&file), ..PlacedObject::default() };
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            let is_loaded = sh_flags & u64::from(object::elf::SHF_ALLOC) != 0;
            let index = section.index().0;
            let data = section.data().map_err(malformed)?;
            if data.len() as u64 >= SECTION_STEP {
                return Err(ObjectError::Malformed("a section is larger than 4 GiB".into()));
            }
            placed.sections.resize_with(placed.sections.len().max(index + 1), || None);
            placed.sections[index] = Some(Section {
                name: readable(section.name_bytes().map_err(malformed)?),
                base: if is_loaded { index as u64 * SECTION_STEP } else { 0 },
                data: Cow::Borrowed(data),
                targets: HashMap::new(),
            });
        }
        for symbol in file.symbols() {
            let name = readable(symbol.name_bytes().map_err(malformed)?);
            if let Some(address) = placed.symbol_address(&file, symbol.index())
                && !name.is_empty()
            {
                placed.symbols.push((address, name));
            }
        }
        placed.symbols.sort_by_key(|&(address, _)| address);
        for section in file.sections() {
            for (offset, relocation) in section.relocations() {
                placed.relocate(&file, section.index(), offset, &relocation);
            }
        }
        Ok(placed)
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().flatten().find(|section| section.name == name).map(|section| &*section.data)
    }

    /// The address that the relocation at an offset of a section refers to, if it counts from its own place.
    pub(crate) fn address_named_at(&self, name: &str, offset: usize) -> Option<u64> {
        let section = self.sections.iter().flatten().find(|section| section.name == name)?;
        section.targets.get(&(offset as u64)).copied()
    }

    /// The addresses of the symbols whose names `wanted` accepts. An object that was made of several has several, all
    /// local.
    pub(crate) fn addresses_of(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = u64> {
        self.symbols.iter().filter(move |&&(_, name)| wanted(name)).map(|&(address, _)| address)
    }

    /// The symbol at an address, or before it in the same section, and the distance. Of several at one address the
    /// first.
    pub(crate) fn symbol_at(&self, address: u64) -> Option<(&'data str, u64)> {
        let behind = self.symbols.partition_point(|&(start, _)| start <= address);
        let &(start, _) = self.symbols.get(behind.checked_sub(1)?)?;
        let first = self.symbols.partition_point(|&(other, _)| other < start);
        let &(_, name) = self.symbols.get(first)?;
        let offset = address - start;
        (offset == 0 || start / SECTION_STEP == address / SECTION_STEP).then_some((name, offset))
    }

    /// The u64 at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes_from(address)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The C string at an address, as far as it can be read.
    pub fn text(&self, address: u64) -> Option<&str> {
        let bytes = self.bytes_from(address)?;
        let bytes = bytes.get(..NAME_BYTES_MAX).unwrap_or(bytes);
        let end = bytes.iter().position(|&byte| byte == 0);
        // Without an end it is a name that is cut, or no string.
        let length = end.or((bytes.len() == NAME_BYTES_MAX).then_some(bytes.len()))?;
        bytes.get(..length).map(readable)
    }

    /// The number of bytes in all sections.
    pub fn size(&self) -> usize {
        self.sections.iter().flatten().map(|section| section.data.len()).sum()
    }

    fn bytes_from(&self, address: u64) -> Option<&[u8]> {
        let section = self.sections.get(usize::try_from(address / SECTION_STEP).ok()?)?.as_ref()?;
        let is_loaded = section.base != 0;
        section.data.get(usize::try_from(address % SECTION_STEP).ok()?..).filter(|rest| is_loaded && !rest.is_empty())
    }

    fn symbol_address(&self, file: &ElfFile64<LittleEndian>, index: SymbolIndex) -> Option<u64> {
        let symbol = file.symbol_by_index(index).ok()?;
        match symbol.section_index() {
            Some(section) => Some(self.base(section)?.wrapping_add(symbol.address())),
            None if symbol.is_undefined() => Some(ELSEWHERE + 16 * index.0 as u64),
            None => None,
        }
    }

    fn base(&self, index: SectionIndex) -> Option<u64> {
        self.sections.get(index.0)?.as_ref().map(|section| section.base)
    }

    /// Fills in an address or an offset. Sections are too far apart for distances between them: the compact stack maps'
    /// are kept beside the section, and others are in code, which is not read here.
    fn relocate(
        &mut self,
        file: &ElfFile64<LittleEndian>,
        section: SectionIndex,
        offset: u64,
        relocation: &Relocation,
    ) {
        let is_distance = matches!(relocation.kind(), RelocationKind::Relative | RelocationKind::GotRelative)
            || self.target == Target::RiscV64 && relocation.flags() == RISCV_DISTANCE;
        let has_targets = |section: &Section| section.name == compact_map::SECTION;
        let is_kept = is_distance && self.sections.get(section.0).and_then(Option::as_ref).is_some_and(has_targets);
        if relocation.kind() != RelocationKind::Absolute && !is_kept {
            return;
        }
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => self.symbol_address(file, index),
            RelocationTarget::Section(index) => self.base(index),
            _ => None,
        };
        let Some(target) = target else { return };
        let value = target.wrapping_add_signed(relocation.addend());
        if is_kept {
            if let Some(section) = self.sections.get_mut(section.0).and_then(Option::as_mut) {
                section.targets.insert(offset, value);
            }
            return;
        }
        let value = value.to_le_bytes();
        let bytes = usize::from(relocation.size() / 8).min(8);
        let Some(section) = self.sections.get_mut(section.0).and_then(Option::as_mut) else { return };
        let Ok(offset) = usize::try_from(offset) else { return };
        if offset.checked_add(bytes).is_some_and(|end| end <= section.data.len()) {
            section.data.to_mut()[offset..offset + bytes].copy_from_slice(&value[..bytes]);
        }
    }
}

/// A name as far as it is UTF-8, up to a readable length.
fn readable(name: &[u8]) -> &str {
    let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    match std::str::from_utf8(name) {
        Ok(name) => name,
        Err(error) => name.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;

    #[test]
    fn pointers_between_sections_are_filled_in() {
        let text = "@name = internal constant [6 x i8] c\"hello\\00\"\n@there = external global i8\n\
            @table = global [3 x ptr] [ptr @name, ptr @f, ptr @there]\ndefine void @f() {\n  ret void\n}\n";
        let object = emit::object_of_text(text, Level::O0);
        let placed = PlacedObject::read(&object).unwrap();
        let table = placed.addresses_of(|name| name == "table").next().unwrap();
        let entry = |index: u64| placed.word(table + 8 * index).unwrap();
        assert_eq!(placed.text(entry(0)), Some("hello"));
        assert_eq!(placed.symbol_at(entry(1)), Some(("f", 0)));
        assert_eq!(placed.symbol_at(entry(2)), Some(("there", 0)));
        assert_eq!(placed.word(entry(2)), None);
    }

    #[test]
    fn names_are_read_as_far_as_they_are_names() {
        assert_eq!(readable("grün".as_bytes()), "grün");
        assert_eq!(readable(b"gr\xfcn"), "gr");
        assert_eq!(readable(&[b'n'; 10_000]).len(), NAME_BYTES_MAX);
        assert_eq!(readable("é".repeat(NAME_BYTES_MAX).as_bytes()).len(), NAME_BYTES_MAX);
        assert_eq!(readable(&["x", &"é".repeat(NAME_BYTES_MAX)].concat().into_bytes()).len(), NAME_BYTES_MAX - 1);
    }
}
