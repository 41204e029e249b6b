//! Objects made to be expensive or to overflow: each field plausible, the whole a lie.

use crate::readers::elf::{ALLOC, Elf, PROGBITS, Part, RELA, STRTAB, SYMTAB, relocation, symbol};
use tally_kit::damage::budget::within;
use tally_llvm::emit::object_file::{self, ObjectError};
use tally_llvm::maps::placed_object::PlacedObject;
use tally_llvm::maps::root_listing;

/// As for damaged objects.
const FACTOR: usize = 128;

fn part(name: &'static str, data: Vec<u8>) -> Part {
    Part { name, kind: PROGBITS, flags: ALLOC, data, ..Part::default() }
}

/// Symbols with the null symbol in front, and their names.
fn with_symbols(mut elf: Elf, symbols: &[[u8; 24]], names: Vec<u8>) -> (Elf, u32) {
    let link = elf.add(Part { name: ".strtab", kind: STRTAB, data: names, ..Part::default() });
    let data = [&[[0; 24]], symbols].concat().concat();
    let table = elf.add(Part { name: ".symtab", kind: SYMTAB, link, info: 1, data, ..Part::default() });
    (elf, table)
}

/// A section of stack maps: `calls` calls of one root in a function at `address`.
fn maps(address: u64, calls: u32, first_offset: u32, id: u32) -> Vec<u8> {
    let mut out = vec![3, 0, 0, 0];
    [1, 0, calls].iter().for_each(|count: &u32| out.extend(count.to_le_bytes()));
    [address, 8, u64::from(calls)].iter().for_each(|word| out.extend(word.to_le_bytes()));
    for call in 0..calls {
        out.extend(0xABCD_EF0Fu64.to_le_bytes());
        out.extend((first_offset + call).to_le_bytes());
        out.extend([0, 0, 5, 0]);
        for (kind, register, offset) in [(4, 0, 0), (4, 0, 0), (4, 0, 2), (4, 0, id), (2, 7, 8)] {
            out.extend([kind, 0, 8, 0, register, 0, 0, 0]);
            out.extend(u32::to_le_bytes(offset));
        }
        out.extend([0; 12]);
    }
    out
}

/// A module record whose table of roots has `rows` rows at `table`.
fn record(rows: u64, table: u64) -> Vec<u8> {
    use tally_compiled::module::record::ModuleRecord;
    let mut bytes = vec![0; size_of::<ModuleRecord>()];
    let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    put(std::mem::offset_of!(ModuleRecord, root_count), rows);
    put(std::mem::offset_of!(ModuleRecord, roots), table);
    bytes
}

/// Reads an object within its budget; how many calls were listed.
fn list(bytes: &[u8]) -> Result<usize, String> {
    within(bytes.len(), FACTOR, || {
        let placed = PlacedObject::read(bytes).map_err(|error| error.to_string())?;
        let calls = root_listing::list(&placed).map_err(|error| error.to_string())?;
        Ok(calls.len())
    })
}

#[test]
fn sections_that_share_their_bytes_are_refused() {
    let mut elf = Elf::default();
    for _ in 0..4000 {
        elf.add(Part { claims: Some((0, 256 << 10)), ..part(".data", vec![0; 8]) });
    }
    let refused = list(&elf.bytes()).unwrap_err();
    assert_eq!(refused, "the object is malformed: its sections together are larger than the file");
}

#[test]
fn symbols_with_one_long_name_cost_it_once() {
    let mut elf = Elf::default();
    elf.add(part(".text", vec![0x90; 64]));
    let symbols: Vec<_> = (0..10_000).map(|at| symbol(1 + at, 1, u64::from(at))).collect();
    let (elf, _) = with_symbols(elf, &symbols, [&[0][..], &[b'n'; 200_000], &[0]].concat());
    assert_eq!(list(&elf.bytes()), Ok(0));
}

#[test]
fn calls_of_a_function_with_a_long_name_cost_it_once() {
    let mut elf = Elf::default();
    elf.add(part(".text", vec![0x90; 64]));
    elf.add(part(".llvm_stackmaps", maps(0, 5000, 1, 7)));
    let names = [&[0][..], &[b'n'; 200_000], &[0]].concat();
    let (mut elf, link) = with_symbols(elf, &[symbol(1, 1, 0)], names);
    let data = relocation(16, 1, 0).to_vec();
    elf.add(Part { name: ".rela.llvm_stackmaps", kind: RELA, link, info: 2, data, ..Part::default() });
    assert_eq!(list(&elf.bytes()), Ok(5000));
}

#[test]
fn roots_with_one_long_name_cost_it_once() {
    const ROWS: u64 = 10_000;
    let mut elf = Elf::default();
    let data = elf.add(part(".data", record(ROWS, 0)));
    let rows = elf.add(part(".data.rows", vec![0; 32 * ROWS as usize]));
    elf.add(part(".data.names", [&[b'n'; 100_000][..], &[0]].concat()));
    elf.add(part(".llvm_stackmaps", maps(0, 5000, 1, 0)));
    let names = b"\0tally.module\0rows\0names\0".to_vec();
    let symbols = [symbol(1, data as u16, 0), symbol(14, rows as u16, 0), symbol(19, 3, 0)];
    let (mut elf, link) = with_symbols(elf, &symbols, names);
    let roots = std::mem::offset_of!(tally_compiled::module::record::ModuleRecord, roots) as u64;
    let data = relocation(roots, 2, 0).to_vec();
    elf.add(Part { name: ".rela.data", kind: RELA, link, info: 1, data, ..Part::default() });
    let data = (0..ROWS).flat_map(|row| [8, 16, 24].map(|at| relocation(32 * row + at, 3, row as i64))).flatten();
    elf.add(Part { name: ".rela.rows", kind: RELA, link, info: 2, data: data.collect(), ..Part::default() });
    assert_eq!(list(&elf.bytes()), Ok(5000));
}

#[test]
fn many_sections_with_many_relocations_take_time_in_proportion() {
    let mut elf = Elf::default();
    for _ in 0..30_000 {
        elf.add(part(".data", vec![0; 8]));
    }
    let (mut elf, link) = with_symbols(elf, &[symbol(1, 29_999, 0)], b"\0a\0".to_vec());
    let data = vec![relocation(0, 1, 0); 100_000].concat();
    elf.add(Part { name: ".rela", kind: RELA, link, info: 30_000, data, ..Part::default() });
    assert_eq!(list(&elf.bytes()), Ok(0));
}

#[test]
fn module_record_at_the_end_of_the_address_space() {
    // In a section that is loaded, and in one that is not and therefore stands at zero.
    let values = [u64::MAX, u64::MAX - 7, u64::MAX - 63, 1 << 63];
    for (value, flags) in values.iter().flat_map(|&value| [(value, ALLOC), (value, 0)]) {
        let mut elf = Elf::default();
        elf.add(Part { flags, ..part(".data", record(1, 0)) });
        elf.add(part(".llvm_stackmaps", maps(0, 1, 1, 7)));
        let (elf, _) = with_symbols(elf, &[symbol(1, 1, value)], b"\0tally.module\0".to_vec());
        let mut bytes = elf.bytes();
        assert_eq!(list(&bytes), Ok(1));
        assert_eq!(object_file::finish(&mut bytes), Err(ObjectError::RecordOutside));
    }
}

#[test]
fn table_of_roots_at_the_end_of_the_address_space() {
    for table in [u64::MAX, u64::MAX - 7, u64::MAX - 31] {
        let mut elf = Elf::default();
        elf.add(part(".data", record(u64::MAX, table)));
        elf.add(part(".llvm_stackmaps", maps(0, 1, 1, 7)));
        let (elf, _) = with_symbols(elf, &[symbol(1, 1, 0)], b"\0tally.module\0".to_vec());
        assert_eq!(list(&elf.bytes()), Ok(1));
    }
}

#[test]
fn call_that_returns_to_the_very_beginning_or_past_the_end_of_memory() {
    for (address, offset) in [(0, 0), (u64::MAX, 5), (u64::MAX, u32::MAX)] {
        let mut elf = Elf::default();
        elf.add(part(".llvm_stackmaps", maps(address, 1, offset, 7)));
        assert_eq!(list(&elf.bytes()), Ok(1));
    }
}

#[test]
fn module_record_in_a_section_that_lies_past_every_file() {
    for offset in [u64::MAX, u64::MAX - 31, u64::MAX - 64] {
        let mut elf = Elf::default();
        elf.add(Part { claims: Some((offset, 64)), ..part(".data", record(0, 0)) });
        elf.add(part(".llvm_stackmaps", maps(0, 1, 1, 7)));
        let (elf, _) = with_symbols(elf, &[symbol(1, 1, 0)], b"\0tally.module\0".to_vec());
        let mut bytes = elf.bytes();
        assert_eq!(object_file::finish(&mut bytes), Err(ObjectError::RecordOutside));
        assert!(list(&bytes).is_err());
    }
}

#[test]
fn what_is_linked_or_for_another_machine_is_no_object() {
    let mut elf = Elf::default();
    elf.add(part(".llvm_stackmaps", maps(0, 1, 1, 7)));
    let whole = elf.bytes();
    for (at, byte, what) in [(16, 2, "is linked"), (16, 3, "is linked"), (18, 22, "another machine")] {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        let refused = list(&bytes).unwrap_err();
        assert!(refused.contains(what), "{refused}");
    }
}

/// A line program of version 4: the unit's length, version, header's length; one byte a step, line base 1, range 14, opcodes from
/// 13; no folders, one file. Every byte of `steps` is a line.
fn line_program(address: u64, steps: usize) -> Vec<u8> {
    let rest = [&[1, 1, 1, 1, 14, 13][..], &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1], b"\0a.c\0\0\0\0\0"].concat();
    let program = [&[0, 9, 2][..], &address.to_le_bytes(), &vec![28; steps], &[2, 1, 0, 1, 1]].concat();
    let header = [&4u16.to_le_bytes()[..], &(rest.len() as u32).to_le_bytes(), &rest].concat();
    [&((header.len() + program.len()) as u32).to_le_bytes()[..], &header, &program].concat()
}

/// The lines of an object's calls.
fn lines(bytes: &[u8]) -> Vec<String> {
    let placed = PlacedObject::read(bytes).unwrap();
    let calls = root_listing::list(&placed).unwrap();
    calls.iter().filter_map(|call| Some(call.line?.to_string())).collect()
}

#[test]
fn line_programs_that_make_a_line_of_every_byte() {
    let mut elf = Elf::default();
    elf.add(part(".llvm_stackmaps", maps(1 << 32, 3, 2, 7)));
    elf.add(Part { flags: 0, ..part(".debug_line", line_program(1 << 32, 20_000).repeat(50)) });
    let bytes = elf.bytes();
    assert_eq!(list(&bytes), Ok(3));
    assert_eq!(lines(&bytes), ["a.c:3", "a.c:5", "a.c:7"]);
}

/// Who goes by units, as debuggers do, would run the program a thousand times, and keep what it said each time.
#[test]
fn a_thousand_units_with_one_line_program_cost_it_once() {
    const UNIT: u8 = 1;
    let abbreviations = [UNIT, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0, 0];
    // Version 4: length, version, abbreviations, bytes of an address; the line program; from where, and how far.
    let unit = [&28u32.to_le_bytes()[..], &4u16.to_le_bytes(), &[0; 4], &[8, UNIT], &[0; 4]].concat();
    let unit = [unit, (1u64 << 32).to_le_bytes().to_vec(), 1000u64.to_le_bytes().to_vec()].concat();
    let mut elf = Elf::default();
    elf.add(part(".llvm_stackmaps", maps(1 << 32, 3, 2, 7)));
    // The program is about other addresses than the units.
    elf.add(Part { flags: 0, ..part(".debug_line", line_program(2 << 32, 20_000)) });
    elf.add(Part { flags: 0, ..part(".debug_abbrev", abbreviations.to_vec()) });
    elf.add(Part { flags: 0, ..part(".debug_info", unit.repeat(1000)) });
    let bytes = elf.bytes();
    assert_eq!(list(&bytes), Ok(3));
    assert_eq!(lines(&bytes), [""; 0]);
}
