//! Where the in-process linker has put the sections of an object.
//!
//! LLVM's C interface tells the addresses of symbols only. The linker keeps each section of an ELF object in one piece, so a
//! section begins at the address of a symbol in it less that symbol's offset. Local symbols cannot be looked up; where code has no
//! other, it has a landmark ([`landmarks`]). A weak symbol may be defined by another object, so it counts only if it is alone in its
//! section: then the other definition has the same code. Data without a global symbol has no known address.

use std::collections::HashMap;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, SectionIndex, SymbolKind};

use super::landmarks;
use crate::emit::object_file;

/// A linked object and the addresses of its sections.
pub(super) struct Placed<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) file: ElfFile64<'a, LittleEndian>,
    pub(super) addresses: HashMap<SectionIndex, u64>,
}

/// A function and the place of its code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) name: &'a str,
}

impl<'a> Placed<'a> {
    /// Finds the sections; none if this is no object. `address_of` looks a global symbol up; `number` is that of the landmarks.
    pub(super) fn find(bytes: &'a [u8], number: usize, address_of: impl Fn(&str) -> Option<u64>) -> Option<Placed<'a>> {
        let file = object_file::parse(bytes).ok()?;
        let mut residents: HashMap<SectionIndex, usize> = HashMap::new();
        let sections = defined(&file).filter_map(|symbol| symbol.section_index());
        sections.for_each(|section| *residents.entry(section).or_default() += 1);
        let mut addresses = HashMap::new();
        for symbol in defined(&file).filter(ObjectSymbol::is_global) {
            let Some(section) = symbol.section_index() else { continue };
            if addresses.contains_key(&section) || symbol.is_weak() && residents[&section] > 1 {
                continue;
            }
            if let Some(address) = symbol.name().ok().and_then(&address_of) {
                addresses.insert(section, address.wrapping_sub(symbol.address()));
            }
        }
        for landmark in landmarks::of(&file) {
            if let Some(address) = address_of(&landmark.name(number)) {
                addresses.insert(landmark.section, address.wrapping_sub(landmark.offset));
            }
        }
        Some(Placed { bytes, file, addresses })
    }

    /// The functions in sections whose address is known.
    pub(super) fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        defined(&self.file).filter(|symbol| symbol.kind() == SymbolKind::Text).filter_map(|symbol| {
            let section = self.addresses.get(&symbol.section_index()?)?;
            let (start, size) = (section.wrapping_add(symbol.address()), symbol.size());
            Some(Function { start, size, name: symbol.name().ok()? })
        })
    }
}

/// The functions and variables that an object defines.
fn defined<'f>(file: &'f ElfFile64<LittleEndian>) -> impl Iterator<Item = impl ObjectSymbol<'f>> {
    file.symbols().filter(|symbol| {
        let is_code_or_data = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
        is_code_or_data && symbol.section_index().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;

    fn compiled(text: &str) -> Vec<u8> {
        emit::object_of_text(text, Level::O1)
    }

    #[test]
    fn local_functions_are_found_by_a_global_one_in_their_section() {
        let object = compiled(
            "define internal void @local() noinline {\n  call void asm sideeffect \"\", \"\"()\n  ret void\n}\n\
             define weak void @weak() {\n  ret void\n}\n\
             define void @global() {\n  call void @local()\n  ret void\n}\n\
             $alone = comdat any\ndefine linkonce_odr void @alone() comdat {\n  ret void\n}\n\
             define void @uses() {\n  call void @alone()\n  ret void\n}\n\
             define internal void @hidden() cold noinline section \".text.cold\" {\n  call void asm sideeffect \"\", \"\"()\n  ret void\n}\n\
             define void @leads() {\n  call void @hidden()\n  ret void\n}\n",
        );
        // What the linker says of weak symbols beside others may be about another object.
        let address_of = |name: &str| match name {
            "global" => Some(0x1000),
            "alone" => Some(0x5000),
            "weak" => Some(0x9000),
            _ if name.starts_with("tally.landmark.7.") => Some(0x7000),
            _ => None,
        };
        let placed = Placed::find(&object, 7, address_of).unwrap();
        let mut names: Vec<&str> = placed.functions().map(|function| function.name).collect();
        names.sort();
        assert_eq!(names, ["alone", "global", "hidden", "leads", "local", "uses", "weak"]);
        let start = |name: &str| placed.functions().find(|function| function.name == name).unwrap().start;
        assert!(start("local") < 0x1000 && start("weak") < 0x1000 && start("uses") > 0x1000);
        assert_eq!((start("global"), start("alone"), start("hidden")), (0x1000, 0x5000, 0x7000));
        // In the object that is linked the landmark is a global symbol, and all else is as before.
        let marked = landmarks::add(&object, 7).unwrap();
        let file = object_file::parse(&marked).unwrap();
        let mut symbols: Vec<_> = file.symbols().filter(ObjectSymbol::is_global).map(|it| it.name().unwrap()).collect();
        symbols.retain(|name| !["alone", "global", "leads", "uses", "weak"].contains(name));
        assert!(symbols.len() == 1 && symbols[0].starts_with("tally.landmark.7."), "{symbols:?}");
        assert_eq!(landmarks::add(&marked, 8), None);
        assert!(placed.functions().all(|function| function.size > 0));
        assert!(Placed::find(b"no object", 7, address_of).is_none());
    }
}
