//! Finishing touches on an emitted ELF object, as a function over its bytes.
//!
//! LLVM marks `.llvm_stackmaps` read-only although it holds absolute addresses; a position
//! independent executable then needs relocations in a read-only segment, which lld refuses and GNU
//! ld warns about. [`finish`] replaces the section by Tally's own, which has no address
//! (`compact_maps`). Where that cannot be, or is not wanted, it gives the section its write flag (the
//! dynamic linker fills the addresses in, like in any other data). It writes the section's size into the module record,
//! which no IR constant can name: with it the runtime's reader knows where the map ends.
//!
//! ```text
//!   .llvm_stackmaps   is replaced by tally_stackmaps, or   sh_flags  ALLOC  ->  ALLOC | WRITE
//!   tally.module      +24 u64   0                          ->  size of the section
//! ```
//!
//! Nothing here trusts the bytes: a truncated or foreign file is an error, not a panic. All readers of objects use
//! [`parse`]. It accepts only relocatable objects for this machine whose parts are no larger than the whole, so that
//! a copy of all sections is no larger than the file.

use std::ops::Range;

use object::elf::{FileHeader64, SHF_WRITE, SectionHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectKind, ObjectSection, ObjectSymbol};
use stack_roots::compact_map;
use thiserror::Error;

use super::compact_maps;
use crate::emit::target::Target;

/// The section that LLVM writes stack maps to.
pub const STACK_MAPS: &str = ".llvm_stackmaps";

/// The symbol of a module's registration record.
pub(crate) const MODULE_RECORD: &str = "tally.module";

/// Whether a symbol is a module's record. Bitcode that was linked has a record for each of its modules: LLVM's
/// linker renames what is internal and meets another of its name (`tally.module.4`).
pub(crate) fn is_module_record(name: &str) -> bool {
    let rest = name.strip_prefix(MODULE_RECORD);
    rest.is_some_and(|rest| rest.trim_start_matches('.').bytes().all(|byte| byte.is_ascii_digit()))
}

/// Offset in the record of the size of the stack maps.
const STACK_MAPS_SIZE_OFFSET: u64 = 24;

/// Offset in a section header of its flags.
const SH_FLAGS_OFFSET: usize = std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_flags);

/// Why an object cannot be finished.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ObjectError {
    /// The bytes are no ELF object for this machine.
    #[error("the object is malformed: {0}")]
    Malformed(String),
    /// The object is linked: its addresses are final, and mean something else.
    #[error("the file is linked already; name the .o file that was compiled")]
    Linked,
    /// Code of another processor.
    #[error("the object is for another machine; x86-64, AArch64 and RISC-V 64 are known")]
    OtherMachine,
    /// The record does not lie inside initialised data.
    #[error("the module record `{MODULE_RECORD}` does not lie in the object's data")]
    RecordOutside,
}

/// The format of the stack maps of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MapFormat {
    /// Tally's own: small, read-only, read where it lies
    #[default]
    Compact,
    /// LLVM's: for tools that read it
    Llvm,
}

/// Makes the stack maps linkable, compact where they can be, and writes their length into the module record.
///
/// An object without stack maps is left as it is.
pub fn finish(object: &mut [u8]) -> Result<(), ObjectError> {
    finish_as(object, MapFormat::Compact)
}

/// The same with stack maps in that format, if they can be.
pub fn finish_as(object: &mut [u8], format: MapFormat) -> Result<(), ObjectError> {
    if format == MapFormat::Compact {
        compact_maps::replace(object);
    }
    let Some(places) = find(object)? else {
        return Ok(());
    };
    if let Some(flags) = &places.flags {
        let writable = read_u64(object, flags)? | u64::from(SHF_WRITE);
        write_u64(object, flags, writable)?;
    }
    // An object that was made of several has a record for each, whose sizes are known.
    if let Some(record) = &places.record_size
        && read_u64(object, record).map_err(|_| ObjectError::RecordOutside)? == 0
    {
        write_u64(object, record, places.stack_maps_size)?;
    }
    Ok(())
}

/// Opens an object; an error if it is none that we can read.
pub fn parse(bytes: &[u8]) -> Result<ElfFile64<'_, LittleEndian>, ObjectError> {
    let malformed = |error: object::Error| ObjectError::Malformed(error.to_string());
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    let is_known = header.is_little_endian() && target_of_number(header.e_machine.get(LittleEndian)).is_some();
    if !is_known {
        return Err(ObjectError::OtherMachine);
    }
    let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    match file.kind() {
        ObjectKind::Relocatable => {}
        ObjectKind::Executable | ObjectKind::Dynamic => return Err(ObjectError::Linked),
        _ => return Err(ObjectError::Malformed("it is neither relocatable nor linked".into())),
    }
    // Sections may claim the same bytes over and over; a compiler's never do.
    let sizes = file.sections().filter_map(|section| section.file_range());
    let total = sizes.fold(0u64, |total, (_, size)| total.saturating_add(size));
    if total > bytes.len() as u64 {
        return Err(ObjectError::Malformed("its sections together are larger than the file".into()));
    }
    Ok(file)
}

/// The target of an object that [`parse`] has opened.
pub fn target_of(file: &ElfFile64<'_, LittleEndian>) -> Target {
    target_of_number(file.elf_header().e_machine.get(LittleEndian)).unwrap_or_default()
}

fn target_of_number(machine: u16) -> Option<Target> {
    match machine {
        object::elf::EM_X86_64 => Some(Target::X86_64),
        object::elf::EM_AARCH64 => Some(Target::AArch64),
        // Of 64 bits, or it would not be read by this.
        object::elf::EM_RISCV => Some(Target::RiscV64),
        _ => None,
    }
}

/// The bytes to change, as ranges of the file.
#[derive(Debug)]
struct Places {
    /// Of LLVM's section.
    flags: Option<Range<usize>>,
    record_size: Option<Range<usize>>,
    stack_maps_size: u64,
}

fn find(bytes: &[u8]) -> Result<Option<Places>, ObjectError> {
    let file = parse(bytes)?;
    let header = file.elf_header();
    let llvms = file.section_by_name(STACK_MAPS);
    let is_llvms = llvms.is_some();
    let Some(section) = llvms.or_else(|| file.section_by_name(compact_map::SECTION)) else {
        return Ok(None);
    };
    let headers = usize::try_from(header.e_shoff.get(LittleEndian))
        .map_err(|_| ObjectError::Malformed("section headers out of range".into()))?;
    let flags = headers
        .saturating_add(section.index().0.saturating_mul(size_of::<SectionHeader64<LittleEndian>>()))
        .saturating_add(SH_FLAGS_OFFSET);
    let record_size = match file.symbol_by_name(MODULE_RECORD) {
        Some(symbol) => Some(record_field(&file, &symbol, STACK_MAPS_SIZE_OFFSET)?),
        None => None,
    };
    let flags = is_llvms.then_some(flags..flags.saturating_add(8));
    Ok(Some(Places { flags, record_size, stack_maps_size: section.size() }))
}

/// The file range of a u64 field of the record that `symbol` names.
fn record_field<'data>(
    file: &ElfFile64<'data, LittleEndian>,
    symbol: &impl ObjectSymbol<'data>,
    field: u64,
) -> Result<Range<usize>, ObjectError> {
    let section =
        symbol.section_index().and_then(|index| file.section_by_index(index).ok()).ok_or(ObjectError::RecordOutside)?;
    let (start, length) = section.file_range().ok_or(ObjectError::RecordOutside)?;
    // In a relocatable object a symbol's address is its offset in the section.
    let place = || {
        let offset = symbol.address().checked_add(field)?;
        let from = start.checked_add(offset)?;
        let to = from.checked_add(8).filter(|_| offset.checked_add(8).is_some_and(|end| end <= length))?;
        Some(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    };
    place().ok_or(ObjectError::RecordOutside)
}

fn read_u64(bytes: &[u8], place: &Range<usize>) -> Result<u64, ObjectError> {
    let field = bytes
        .get(place.clone())
        .and_then(|field| <[u8; 8]>::try_from(field).ok())
        .ok_or_else(|| ObjectError::Malformed("a section header lies outside the file".into()))?;
    Ok(u64::from_le_bytes(field))
}

fn write_u64(bytes: &mut [u8], place: &Range<usize>, value: u64) -> Result<(), ObjectError> {
    bytes.get_mut(place.clone()).ok_or(ObjectError::RecordOutside)?.copy_from_slice(&value.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;
    use crate::emit::target;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    /// An object with one stack map record and a module record of six words.
    fn object() -> Vec<u8> {
        object_as(MapFormat::Compact)
    }

    fn object_as(format: MapFormat) -> Vec<u8> {
        let text = "@tally.module = internal global [6 x i64] [i64 1, i64 2, i64 3, i64 0, i64 5, i64 6]\n\
            @keep = global ptr @tally.module\n\
            declare void @llvm.experimental.stackmap(i64, i32, ...)\n\
            define void @f() {\n  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 7, i32 0)\n  ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        let machine = target::machine(Level::O0).unwrap();
        emit::object_as(&module, &machine, format).unwrap()
    }

    #[test]
    fn maps_become_writable_and_their_size_is_recorded() {
        let bytes = object_as(MapFormat::Llvm);
        let file = ElfFile64::<LittleEndian>::parse(&*bytes).unwrap();
        let maps = file.section_by_name(STACK_MAPS).unwrap();
        let object::SectionFlags::Elf { sh_flags } = maps.flags() else { panic!("not ELF") };
        assert_ne!(sh_flags & u64::from(SHF_WRITE), 0);
        let record = file.symbol_by_name(MODULE_RECORD).unwrap();
        let data = file.section_by_index(record.section_index().unwrap()).unwrap();
        let words: Vec<u64> = data.data().unwrap()[record.address() as usize..][..48]
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(words, [1, 2, 3, maps.size(), 5, 6]);
    }

    #[test]
    fn an_object_without_maps_is_left_alone() {
        let context = Context::create();
        let module = context.create_module("empty");
        let machine = target::machine(Level::O0).unwrap();
        let before = emit::object(&module, &machine).unwrap();
        let mut after = before.clone();
        finish(&mut after).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn damaged_objects_are_errors_or_harmless_never_panics() {
        let whole = object();
        for length in 0..whole.len() {
            let _ = finish(&mut whole[..length].to_vec());
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0xFF;
            let _ = finish(&mut damaged);
        }
        assert!(finish(&mut b"\x7fELF".to_vec()).is_err());
    }

    /// Every byte of a small object changed in some way, and every shorter prefix: a result or an error, no panic.
    #[test]
    fn damaged_objects_are_placed_and_listed_or_refused() {
        let whole = object();
        let mut damaged = whole.clone();
        for place in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                damaged[place] ^= change;
                let _ = finish(&mut damaged.clone());
                if let Ok(placed) = crate::maps::placed_object::PlacedObject::read(&damaged) {
                    let _ = crate::maps::root_listing::list(&placed);
                }
                damaged[place] = whole[place];
            }
            let _ = finish(&mut whole[..place].to_vec());
            if let Ok(placed) = crate::maps::placed_object::PlacedObject::read(&whole[..place]) {
                let _ = crate::maps::root_listing::list(&placed);
            }
        }
    }
}
