//! An object file laid out as a linker would, far enough to read it: `tally maps` looks in here.
//!
//! In an object every address is still zero, with a relocation that says what belongs there. This
//! room gives each section that would be loaded a place of its own and fills the addresses in;
//! debug sections stay at zero, since what points into them are offsets. Then the stack maps, the
//! module record and the line table can be read like the real thing, and an address leads back to
//! a symbol. Symbols defined elsewhere get places too, where nothing is, so that they keep apart.
//!
//! ```text
//! .text 0x10000000 · .data 0x20000000 · …     nowhere: 0x700000000000 + 16 × symbol
//! ```

use std::collections::BTreeMap;

use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, Relocation, RelocationKind, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex,
};

use crate::object_file::ObjectError;

/// Distance of neighbouring sections; none is larger.
const SECTION_STEP: u64 = 0x1000_0000;

/// Where symbols stand that the object only refers to.
const ELSEWHERE: u64 = 0x7000_0000_0000;

/// A placed object.
#[derive(Debug, Default)]
pub struct PlacedObject {
    sections: Vec<Section>,
    /// Symbols by address. Of several at one address the first with a name.
    symbols: BTreeMap<u64, String>,
}

#[derive(Debug)]
struct Section {
    index: SectionIndex,
    name: String,
    base: u64,
    data: Vec<u8>,
}

impl PlacedObject {
    /// Places the sections of `object` and applies the relocations.
    pub fn read(object: &[u8]) -> Result<PlacedObject, ObjectError> {
        let malformed = |error: object::Error| ObjectError::Malformed(error.to_string());
        let file = ElfFile64::<LittleEndian>::parse(object).map_err(malformed)?;
        let mut placed = PlacedObject::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            let is_loaded = sh_flags & u64::from(object::elf::SHF_ALLOC) != 0;
            placed.sections.push(Section {
                index: section.index(),
                name: section.name().map_err(malformed)?.to_owned(),
                base: if is_loaded { section.index().0 as u64 * SECTION_STEP } else { 0 },
                data: section.data().map_err(malformed)?.to_vec(),
            });
        }
        for symbol in file.symbols() {
            let name = symbol.name().map_err(malformed)?;
            if let Some(address) = placed.symbol_address(&file, symbol.index())
                && !name.is_empty()
            {
                placed.symbols.entry(address).or_insert_with(|| name.to_owned());
            }
        }
        for section in file.sections() {
            for (offset, relocation) in section.relocations() {
                placed.relocate(&file, section.index(), offset, &relocation);
            }
        }
        Ok(placed)
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().find(|section| section.name == name).map(|section| &*section.data)
    }

    /// The address of a symbol.
    pub fn address_of(&self, symbol: &str) -> Option<u64> {
        self.symbols.iter().find(|(_, name)| *name == symbol).map(|(&address, _)| address)
    }

    /// The symbol that an address is, or lies behind in the same section, and how far.
    pub fn symbol_at(&self, address: u64) -> Option<(&str, u64)> {
        let (&start, name) = self.symbols.range(..=address).next_back()?;
        let offset = address - start;
        (offset == 0 || start / SECTION_STEP == address / SECTION_STEP).then_some((name.as_str(), offset))
    }

    /// The u64 at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes_from(address)?.get(..8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The C string at an address.
    pub fn text(&self, address: u64) -> Option<String> {
        let bytes = self.bytes_from(address)?;
        let length = bytes.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(bytes.get(..length)?).into_owned())
    }

    fn bytes_from(&self, address: u64) -> Option<&[u8]> {
        let holds = |section: &&Section| {
            section.base != 0 && (section.base..section.base + section.data.len() as u64).contains(&address)
        };
        let section = self.sections.iter().find(holds)?;
        section.data.get(usize::try_from(address - section.base).ok()?..)
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
        self.sections.iter().find(|section| section.index == index).map(|section| section.base)
    }

    /// Fills in an address or an offset; what is relative to its own place is code, which is not read here.
    fn relocate(
        &mut self,
        file: &ElfFile64<LittleEndian>,
        section: SectionIndex,
        offset: u64,
        relocation: &Relocation,
    ) {
        if relocation.kind() != RelocationKind::Absolute {
            return;
        }
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => self.symbol_address(file, index),
            RelocationTarget::Section(index) => self.base(index),
            _ => None,
        };
        let Some(target) = target else { return };
        let value = target.wrapping_add_signed(relocation.addend()).to_le_bytes();
        let bytes = usize::from(relocation.size() / 8).min(8);
        let place = self
            .sections
            .iter_mut()
            .find(|candidate| candidate.index == section)
            .and_then(|section| section.data.get_mut(usize::try_from(offset).ok()?..)?.get_mut(..bytes));
        if let Some(place) = place {
            place.copy_from_slice(&value[..bytes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::{emit, target};
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn pointers_between_sections_are_filled_in() {
        let text = "@name = internal constant [6 x i8] c\"hello\\00\"\n@there = external global i8\n\
            @table = global [3 x ptr] [ptr @name, ptr @f, ptr @there]\ndefine void @f() {\n  ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        let object = emit::object(&module, &target::machine(Level::O0).unwrap()).unwrap();
        let placed = PlacedObject::read(&object).unwrap();
        let table = placed.address_of("table").unwrap();
        let entry = |index: u64| placed.word(table + 8 * index).unwrap();
        assert_eq!(placed.text(entry(0)).as_deref(), Some("hello"));
        assert_eq!(placed.symbol_at(entry(1)), Some(("f", 0)));
        assert_eq!(placed.symbol_at(entry(2)), Some(("there", 0)));
        assert_eq!(placed.word(entry(2)), None);
    }
}
