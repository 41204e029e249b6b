//! Replaces LLVM's stack maps in an emitted object by Tally's own section, in place.
//!
//! LLVM's section is as large as the code, holds an absolute address for each function, and is made a table of at each
//! start. [`stack_roots::compact_map`] is small, refers to the code by distances that the linker fills in for good,
//! and is searched where it lies. The object keeps its layout: the new section and its relocations take the place of
//! the old ones, which are larger.
//!
//! ```text
//!   .llvm_stackmaps        ->  tally_stackmaps        both names have 15 letters, and the table of names has it once
//!   .rela.llvm_stackmaps   ->  .relatally_stackmaps   a relocation for each section of code, not for each function
//! ```
//!
//! A section of code is named by its section symbol, so nothing can take the place of its functions. A section of a
//! COMDAT group may be dropped by the linker, and then it is an error to name it: the map finds such code through the
//! global offset table, by a symbol that all copies of the group define, as LLVM's map does.
//!
//! On AArch64 and RISC-V the map has the size of each frame, by which a walk finds the frame above. An object with code in a COMDAT
//! group stays as it is there: linkers of today's distributions do not know the relocation that would find it.
//!
//! An object stays as it is, too, if its maps cannot be read, or if they say more than where roots are: places of calls
//! (`lower::call_sites`), which the runtime finds in LLVM's section; and state for an interpreter that goes on
//! (`lower::deopt_state`), and stack maps and patch points of the frontend's own, which are for another reader. The runtime reads both formats.

use std::collections::{BTreeMap, HashMap};

use object::elf::{self, SectionHeader64};
use object::read::elf::{ElfFile64, Rela as _, SectionHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SectionIndex, SymbolIndex};
use stack_roots::compact_map::writer::{self, GroupCalls, WrittenCall};
use stack_roots::root_records::DEOPT_RECORD_ID;
use stack_roots::stack_map::{self, MapLocation, Record};
use stack_roots::{Convention, FrameTable, RootsIn, SITE_ID, STATE_ID, compact_map};
use tally_compiled::module::record::MODULE_FLAG_STATEPOINTS;

use super::object_file::{self, STACK_MAPS, is_module_record};
use crate::emit::target::Target;

type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Distance of sections while their functions have no address.
const SECTION_STEP: u64 = 1 << 32;

/// Bytes of a relocation and of a section header.
const RELA_BYTES: usize = 24;
const HEADER_BYTES: usize = size_of::<SectionHeader64<LittleEndian>>();

/// Replaces the stack maps of an object; returns whether it did.
pub(crate) fn replace(object: &mut [u8]) -> bool {
    let Some(changes) = object_file::parse(object).ok().and_then(|file| changes(&file)) else { return false };
    for (at, bytes) in &changes {
        let Some(place) = at.checked_add(bytes.len()).and_then(|end| object.get_mut(*at..end)) else { return false };
        place.copy_from_slice(bytes);
    }
    true
}

/// Bytes of the file to write, each with its place.
type Changes = Vec<(usize, Vec<u8>)>;

fn changes(file: &Elf<'_>) -> Option<Changes> {
    let target = object_file::target_of(file);
    let kinds = Kinds::of(target);
    let maps = file.section_by_name(STACK_MAPS)?;
    let (relocations, rela) = relocations_of(file, maps.index(), kinds)?;
    let table = frames(file, maps.data().ok()?, &relocations, target)?;
    let sections = by_section(&table)?;
    let referents = sections.iter().map(|(&section, _)| referent(file, section)).collect::<Option<Vec<_>>>()?;
    let mut groups = Vec::new();
    for ((&section, frames), referent) in sections.iter().zip(&referents) {
        let code = section as u64 * SECTION_STEP + referent.offset;
        let calls = frames.iter().map(|frame| WrittenCall::of_frame(frame, code)).collect::<Result<_, _>>().ok()?;
        groups.push(GroupCalls { is_through_pointer: referent.is_through_pointer, calls });
    }
    let written = writer::write(&groups, target.frames().needs_frame_size()).ok()?;
    let relocations = written.places.iter().zip(&referents).map(|(&at, referent)| referent.relocation(at, kinds));
    let relocations = relocations.collect::<Option<Vec<_>>>()?.concat();

    let mut changes = vec![];
    let size_at =
        |section: SectionIndex| header_at(file, section, std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_size));
    for (section, bytes) in [(maps.index(), &written.bytes), (rela, &relocations)] {
        let (start, length) = file.section_by_index(section).ok()?.file_range()?;
        if bytes.len() as u64 > length {
            return None;
        }
        // What is left of the old section does no harm, but looks like one.
        let mut content = bytes.clone();
        content.resize(length as usize, 0);
        changes.push((start as usize, content));
        changes.push((size_at(section)?, (bytes.len() as u64).to_le_bytes().to_vec()));
    }
    let flags = header_at(file, maps.index(), std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_flags))?;
    changes.push((flags, u64::from(elf::SHF_ALLOC).to_le_bytes().to_vec()));
    changes.push((name_at(file, &maps)?, compact_map::SECTION.as_bytes().to_vec()));
    Some(changes)
}

/// Relocations by their place in a section: the symbol, and what is added to its address.
type Relocations = HashMap<usize, (SymbolIndex, i64)>;

/// The relocations of a target that maps are made with.
#[derive(Clone, Copy)]
struct Kinds {
    /// An address: LLVM's map has no other.
    address: u32,
    /// A distance of 32 bits.
    distance: u32,
    /// The same to an entry of the global offset table, if all linkers know it.
    distance_of_pointer: Option<u32>,
}

impl Kinds {
    fn of(target: Target) -> Kinds {
        let (address, distance) = match target {
            Target::X86_64 => (elf::R_X86_64_64, elf::R_X86_64_PC32),
            Target::AArch64 => (elf::R_AARCH64_ABS64, elf::R_AARCH64_PREL32),
            Target::RiscV64 => (elf::R_RISCV_64, elf::R_RISCV_32_PCREL),
        };
        Kinds { address, distance, distance_of_pointer: (target == Target::X86_64).then_some(elf::R_X86_64_GOTPCREL) }
    }
}

/// The relocations of the stack maps, and the section that they are in.
fn relocations_of(file: &Elf<'_>, maps: SectionIndex, kinds: Kinds) -> Option<(Relocations, SectionIndex)> {
    let mut sections = file.elf_section_table().enumerate().filter(|(_, section)| {
        section.sh_type(LittleEndian) == elf::SHT_RELA && section.sh_info(LittleEndian) as usize == maps.0
    });
    let (index, section) = sections.next()?;
    let (relas, _) = section.rela(LittleEndian, file.data()).ok()??;
    let relocations = relas.iter().map(|rela| {
        let is_address = rela.r_type(LittleEndian, false) == kinds.address;
        let symbol = rela.symbol(LittleEndian, false).filter(|_| is_address)?;
        Some((usize::try_from(rela.r_offset(LittleEndian)).ok()?, (symbol, rela.r_addend(LittleEndian))))
    });
    Some((relocations.collect::<Option<_>>()?, index))
}

/// The calls of the stack maps, as if section n were at n × 2³².
fn frames(file: &Elf<'_>, maps: &[u8], relocations: &Relocations, target: Target) -> Option<FrameTable> {
    let map = stack_map::read(maps).ok()?;
    let roots = if has_statepoints(file)? { RootsIn::Statepoints } else { RootsIn::Bundles };
    let mut all_are_placed = true;
    let convention = Convention { roots, machine: target.frames(), ..Convention::LOWERED };
    let table = FrameTable::build_as(convention, &map, |function| {
        let address = || {
            let (symbol, addend) = *relocations.get(&function.address_at)?;
            let symbol = file.symbol_by_index(symbol).ok()?;
            let offset = symbol.address().checked_add_signed(addend).filter(|&offset| offset < SECTION_STEP)?;
            Some(symbol.section_index()?.0 as u64 * SECTION_STEP + offset)
        };
        let address = address();
        all_are_placed &= address.is_some();
        address
    });
    let table = table.ok().filter(|_| all_are_placed)?;
    let labels = map.records().filter(|record| record.id == 0 && record.location_count() == 0).count();
    let says_more = table.foreign_records() != labels || map.records().any(|record| has_state(&record, roots));
    (!says_more).then_some(table)
}

/// Whether a call's record has operands that are no roots.
fn has_state(record: &Record<'_>, roots: RootsIn) -> bool {
    let mut operands = record.locations().skip(2);
    let count = operands.next();
    match roots == RootsIn::Statepoints && record.id != DEOPT_RECORD_ID {
        true => count.is_some_and(|count| count != MapLocation::Constant { value: 0 }),
        false => operands.step_by(2).any(|id| matches!(id, MapLocation::Constant { value: STATE_ID | SITE_ID })),
    }
}

/// Whether the module says that its roots are those of statepoints; `None` of an object without a module's record.
fn has_statepoints(file: &Elf<'_>) -> Option<bool> {
    let records = file.symbols().filter(|symbol| symbol.name().is_ok_and(is_module_record));
    let flags = records.map(|record| {
        let section = file.section_by_index(record.section_index()?).ok()?;
        let at = usize::try_from(record.address()).ok()?.checked_add(FLAGS_OFFSET)?;
        Some(u32::from_le_bytes(*section.data().ok()?.get(at..)?.first_chunk()?))
    });
    let flags: Vec<u32> = flags.collect::<Option<_>>()?;
    (!flags.is_empty()).then(|| flags.iter().any(|flags| flags & MODULE_FLAG_STATEPOINTS != 0))
}

/// Offset in a module's record of its flags.
const FLAGS_OFFSET: usize = std::mem::offset_of!(tally_compiled::module::record::ModuleRecord, flags);

/// The frames by the section that their code is in.
fn by_section(table: &FrameTable) -> Option<BTreeMap<usize, Vec<stack_roots::Frame<'_>>>> {
    let mut sections = BTreeMap::<usize, Vec<_>>::new();
    for frame in table.frames() {
        let section = usize::try_from(frame.function().address / SECTION_STEP).ok()?;
        sections.entry(section).or_default().push(frame);
    }
    Some(sections)
}

/// What a group's relocation refers to.
struct Referent {
    symbol: SymbolIndex,
    /// The symbol's distance from the section's start.
    offset: u64,
    is_through_pointer: bool,
}

impl Referent {
    /// An entry of `.rela`: offset, symbol and type, addend 0. `None` where the target has none.
    fn relocation(&self, at: usize, kinds: Kinds) -> Option<[u8; RELA_BYTES]> {
        let kind = if self.is_through_pointer { kinds.distance_of_pointer? } else { kinds.distance };
        let info = (self.symbol.0 as u64) << 32 | u64::from(kind);
        let mut bytes = [0; RELA_BYTES];
        bytes[..8].copy_from_slice(&(at as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&info.to_le_bytes());
        Some(bytes)
    }
}

fn referent(file: &Elf<'_>, section: usize) -> Option<Referent> {
    let header = file.elf_section_table().section(SectionIndex(section)).ok()?;
    let may_be_dropped = header.sh_flags(LittleEndian) & u64::from(elf::SHF_GROUP) != 0;
    let symbols = file.symbols().filter(|symbol| symbol.section_index() == Some(SectionIndex(section)));
    let chosen = match may_be_dropped {
        true => symbols.filter(|symbol| symbol.is_global()).min_by_key(|symbol| symbol.address()),
        // RISC-V has no symbols of sections, but labels of functions for the table of unwinding.
        false => symbols
            .filter(|symbol| symbol.is_local())
            .min_by_key(|symbol| (symbol.elf_symbol().st_type() != elf::STT_SECTION, symbol.address())),
    }?;
    Some(Referent { symbol: chosen.index(), offset: chosen.address(), is_through_pointer: may_be_dropped })
}

/// The place in the file of a field of a section's header.
fn header_at(file: &Elf<'_>, section: SectionIndex, field: usize) -> Option<usize> {
    let headers = usize::try_from(file.elf_header().e_shoff.get(LittleEndian)).ok()?;
    headers.checked_add(section.0.checked_mul(HEADER_BYTES)?)?.checked_add(field)
}

/// The place in the file of the section's name, unless the name of something else ends with it.
fn name_at<'data>(file: &Elf<'data>, maps: &object::read::elf::ElfSection64<'data, '_, LittleEndian>) -> Option<usize> {
    const { assert!(STACK_MAPS.len() == compact_map::SECTION.len()) };
    let ends = |name: &[u8]| name.ends_with(STACK_MAPS.as_bytes());
    let names = file.sections().filter(|section| section.name_bytes().is_ok_and(ends)).count();
    if names != 2 || file.symbols().any(|symbol| symbol.name_bytes().map_or(true, ends)) {
        return None;
    }
    let index = usize::from(file.elf_header().e_shstrndx.get(LittleEndian));
    let (start, length) = file.section_by_index(SectionIndex(index)).ok()?.file_range()?;
    let name = u64::from(maps.elf_section_header().sh_name.get(LittleEndian));
    (name.checked_add(STACK_MAPS.len() as u64)? <= length).then(|| usize::try_from(start.checked_add(name)?).ok())?
}
