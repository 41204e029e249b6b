//! Maps that are written and read again, and maps that are damaged in between.

use super::writer::{GroupCalls, WrittenCall, renew_seal, without_seal, write};
use super::*;
use crate::frame_table::{FrameTable, Lookup};
use crate::root_records::{BaseRegister, Location, RootSlot};
use crate::stack_map;
use tally_kit::stack_map_section::{FIXTURE, Section};

const MAP: u64 = 0x50_0000;

/// The compact map of a table, as one group whose code is at `code`.
fn written(table: &FrameTable, code: u64) -> Vec<u8> {
    let calls = table.frames().map(|frame| WrittenCall::of_frame(&frame, code).unwrap()).collect();
    write(&[GroupCalls { is_through_pointer: false, calls }], false).unwrap().placed(MAP, &[code])
}

fn table(bytes: &[u8]) -> CompactTable<'_> {
    CompactTable::new(read(bytes).unwrap(), |group| Some(group.address(MAP))).unwrap()
}

/// Both tables know the same return addresses, and the same of each.
fn assert_same(stock: &FrameTable, compact: &CompactTable<'_>) {
    assert_eq!((stock.len(), stock.range()), (compact.len(), compact.range()));
    for _ in 0..2 {
        // The second time many are noted.
        for frame in stock.frames() {
            let found = compact.lookup(frame.pc).unwrap_or_else(|| panic!("{:#x} is not found", frame.pc));
            assert_eq!((found.pc, found.roots, found.needs_rbx), (frame.pc, frame.roots, frame.needs_rbx));
            assert_eq!(found.function().address, frame.function().address);
            assert!(!found.needs_unwinder && !found.counts_from_prologue);
        }
    }
    let listed: Vec<u64> = compact.frames().map(|frame| frame.pc).collect();
    assert_eq!(listed, stock.frames().map(|frame| frame.pc).collect::<Vec<_>>());
}

fn stock(section: &Section) -> FrameTable {
    FrameTable::build(&stack_map::read(&section.bytes()).unwrap(), |function| Some(function.address)).unwrap()
}

#[test]
fn section_of_llc_says_the_same_in_both_formats() {
    let text = [0x0, 0x30, 0x70, 0xb0, 0x100];
    let map = stack_map::read(FIXTURE).unwrap();
    let place = |function: &stack_map::Function| Some(0x40_0000 + text[(function.address_at - 16) / 24]);
    let stock = FrameTable::build(&map, place).unwrap();
    let bytes = written(&stock, 0x40_0000);
    assert_same(&stock, &table(&bytes));
    assert!(bytes.len() * 3 < FIXTURE.len(), "{} bytes of {}", bytes.len(), FIXTURE.len());
}

/// Many functions and calls, narrow and wide roots, lists that are used again, at one end of the address space.
fn many(seed: u64, functions: u64) -> Section {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x2545_F491_4F6C_DD1D);
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut section = Section::new();
    for function in 0..functions {
        section = section.function(0x1_0000 + function * 0x1_0000, 8 * random(20));
        let mut at = 0;
        for _ in 0..1 + random(40) {
            let most = if random(9) == 0 { 1000 } else { 60 };
            at += 1 + random(most);
            let roots: Vec<_> = (0..random(5))
                .map(|root| {
                    let id = [0, function * 8 + root, random(1 << 40)][random(3) as usize];
                    let offset = [8 * root as i32, -8, random(1 << 20) as i32, i32::MIN][random(4) as usize];
                    (id, (2 + (random(5) == 0) as u8, [7, 6, 3][random(3) as usize], offset))
                })
                .collect();
            section = section.call(at as u32, &roots);
        }
    }
    section
}

#[test]
fn random_sections_say_the_same_in_both_formats() {
    for seed in 0..if cfg!(miri) { 2 } else { 60 } {
        let stock = stock(&many(seed, 1 + seed % 30));
        let code = [0, 0x1_0000, 0x1_0001, 0x1_8000][seed as usize % 4].min(stock.range().unwrap().0);
        let code = if code > 0x1_0000 { 0x1_0000 } else { code };
        assert_same(&stock, &table(&written(&stock, code)));
    }
}

#[test]
fn addresses_beside_a_call_are_unknown() {
    let stock = stock(&many(7, 3));
    let bytes = written(&stock, 0x1_0000);
    let table = table(&bytes);
    let known: Vec<u64> = stock.frames().map(|frame| frame.pc).collect();
    let (first, last) = table.range().unwrap();
    for pc in (first - 10..first + 0x3000).chain(last - 0x100..last + 10) {
        assert_eq!(table.lookup(pc).is_some(), known.binary_search(&pc).is_ok(), "{pc:#x}");
    }
    // An address whose low half is that of a call that was just found.
    assert!(table.lookup(first).is_some());
    assert!(table.lookup(first + (1 << 32)).is_none());
}

#[test]
fn sections_of_code_are_found_in_any_order_and_some_are_left_out() {
    let call = |return_offset, id| WrittenCall {
        return_offset,
        function_offset: 0,
        frame_size: Some(24),
        roots: vec![RootSlot { id, location: Location::Direct { base: BaseRegister::Rsp, offset: 8 } }],
    };
    let groups: Vec<GroupCalls> = (0..3)
        .map(|group| GroupCalls {
            is_through_pointer: group == 1,
            calls: vec![call(5 + group, 10 + u64::from(group)), call(50, 20)],
        })
        .collect();
    let bytes = write(&groups, false).unwrap().placed(MAP, &[0x9000, 0x7000, 0x8000]);
    let map = read(&bytes).unwrap();
    let pointers: Vec<_> = map.groups().map(|group| (group.is_through_pointer, group.address(MAP))).collect();
    assert_eq!(pointers, [(false, 0x9000), (true, 0x7000), (false, 0x8000)]);
    let code = |group: &Group| match group.is_through_pointer {
        true => Some(0x1_0000_0000_0000),
        false => Some(group.address(MAP)),
    };
    let table = CompactTable::new(map, code).unwrap();
    assert_eq!(table.range(), Some((0x8007, 0x1_0000_0000_0032)));
    let id = |table: &CompactTable<'_>, pc| table.lookup(pc).and_then(|frame| frame.roots.last()).map(|root| root.id);
    for _ in 0..2 {
        let found = [0x9005, 0x1_0000_0000_0006, 0x8007, 0x8032, 0x9032].map(|pc| id(&table, pc));
        assert_eq!(found, [Some(10), Some(11), Some(12), Some(20), Some(20)]);
    }
    let some = CompactTable::new(map, |group| (!group.is_through_pointer).then(|| group.address(MAP))).unwrap();
    assert_eq!((id(&some, 0x8007), some.range()), (Some(12), Some((0x8007, 0x9032))));
    let none = CompactTable::new(map, |_| None).unwrap();
    assert_eq!((none.range(), id(&none, 0x8007)), (None, None));
    assert_eq!(none.frames().count(), 0);
}

#[test]
fn frame_sizes_are_recorded_where_the_walk_needs_them() {
    let location = Location::Direct { base: BaseRegister::Rsp, offset: 0 };
    let call = |at: u32, frame_size, roots| WrittenCall { return_offset: at, function_offset: 0, frame_size, roots };
    let root = vec![RootSlot { id: 1, location }];
    let calls = vec![
        call(5, Some(24), vec![]),
        call(9, Some(24), root.clone()),
        call(12, None, root),
        call(20, Some(8), vec![]),
    ];
    let bytes = write(&[GroupCalls { is_through_pointer: false, calls }], true).unwrap().placed(MAP, &[0x1000]);
    let table = table(&bytes);
    let sizes: Vec<_> = table.frames().map(|frame| (frame.stack_size(), frame.roots.len())).collect();
    assert_eq!(sizes, [(Some(24), 0), (Some(24), 1), (None, 1), (Some(8), 0)]);
}

#[test]
fn code_without_calls_makes_an_empty_map() {
    let bytes = write(&[GroupCalls::default()], false).unwrap().bytes;
    assert_eq!(bytes.len(), HEADER_BYTES + SEAL_BYTES);
    let map = read(&bytes).unwrap();
    assert_eq!((map.groups().len(), table(&bytes).range()), (0, None));
    assert!(table(&bytes).lookup(1).is_none());
}

#[test]
fn bytes_behind_a_map_are_not_read() {
    let stock = stock(&many(3, 2));
    let bytes = written(&stock, 0x1_0000);
    let longer = [&bytes[..], &[0xff; 50]].concat();
    assert_eq!(read(&longer).unwrap().bytes(), bytes);
}

#[test]
fn errors_say_what_is_wrong() {
    let good = without_seal(written(&stock(&Section::new().function(0x1000, 8).call(5, &[(1, (2, 7, 8))])), 0x1000));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        read(&bytes).err()
    };
    // header 0..32, group 32..40, chunk 40..48, id 48..56, list 56..64, sites 64..67
    assert_eq!(with(0, 3), Some(CompactError::Magic));
    assert_eq!(with(8, 4), Some(CompactError::Flags { found: 4 }));
    assert_eq!(with(8, 2), Some(CompactError::Size { announced: 72, found: 88 }));
    assert_eq!(with(4, 64), Some(CompactError::Truncated { at: 64, wanted: 3, section: 64 }));
    assert_eq!(with(28, 9), Some(CompactError::Truncated { at: 64, wanted: 9, section: 72 }));
    assert_eq!(with(24, 0), Some(CompactError::Size { announced: 72, found: 59 }));
    assert_eq!(with(36, 1), Some(CompactError::Group { at: 32 }));
    assert_eq!(with(66, 10), Some(CompactError::Chunk { chunk: 0 }));
    assert_eq!(with(66, 1), Some(CompactError::Chunk { chunk: 0 }));
    assert_eq!(with(57, 0x10), Some(CompactError::List { word: 0 }));
    assert_eq!(with(62, 0x0b), Some(CompactError::List { word: 0 }));
    // A list in the middle of another.
    assert_eq!(with(65, 0x04), None);
    let named_by_number = [&good[..64], &[0, 5, 7, 1, 0, 0, 0, 0]].concat();
    let with_four = |mut bytes: Vec<u8>| {
        bytes[28] = 4;
        bytes
    };
    assert_eq!(read(&with_four(named_by_number)).err(), Some(CompactError::List { word: 1 }));
    assert!(matches!(read(&good[..71]), Err(CompactError::Truncated { .. })));
}

/// `[MAP]` Every byte changed and every length tried: an error, or a map whose frames are found.
#[test]
fn mutated_and_truncated_maps_never_panic() {
    let stride = if cfg!(miri) { 37 } else { 1 };
    let valid = without_seal(written(&stock(&many(11, 6)), 0x1_0000));
    for length in (0..valid.len()).step_by(stride) {
        assert!(read(&valid[..length]).is_err());
    }
    let mut read_again = 0;
    for at in (0..valid.len()).step_by(stride) {
        for step in [1, 0x10, 0x7f, 0x80, 0xff] {
            let mut bytes = valid.clone();
            bytes[at] = bytes[at].wrapping_add(step);
            let Ok(map) = read(&bytes) else { continue };
            read_again += 1;
            let Ok(table) = CompactTable::new(map, |group| Some(group.address(MAP))) else { continue };
            let frames: Vec<_> = table.frames().collect();
            assert_eq!(frames.len(), table.len());
            assert!(frames.iter().all(|frame| table.lookup(frame.pc) == Some(*frame)));
        }
    }
    assert!(read_again > 100 || cfg!(miri));
}

/// But for what a linker fills in.
#[test]
fn sealed_map_of_which_a_byte_was_changed_is_refused() {
    let stride = if cfg!(miri) { 37 } else { 1 };
    let valid = written(&stock(&many(11, 6)), 0x1_0000);
    let places = HEADER_BYTES..HEADER_BYTES + 4;
    for at in (0..valid.len()).step_by(stride) {
        for step in [1, 0x10, 0x80, 0xff] {
            let mut bytes = valid.clone();
            bytes[at] = bytes[at].wrapping_add(step);
            assert_eq!(read(&bytes).is_ok(), places.contains(&at), "byte {at} + {step}");
        }
    }
    let mut exchanged = valid.clone();
    exchanged[HEADER_BYTES + 8..HEADER_BYTES + 24].rotate_left(8);
    assert_eq!(read(&exchanged).err(), Some(CompactError::Seal));
}

/// `[MAP]` What reads a map relies on no check of it.
#[test]
fn damaged_map_with_a_seal_of_its_own_is_read_inside_its_bytes() {
    let stride = if cfg!(miri) { 37 } else { 1 };
    let valid = written(&stock(&many(11, 6)), 0x1_0000);
    let pcs: Vec<u64> = table(&valid).frames().map(|frame| frame.pc).collect();
    let mut read_again = 0;
    for at in (HEADER_BYTES..valid.len() - 8).step_by(stride) {
        for step in [1, 0x10, 0x7f, 0x80, 0xff] {
            let mut bytes = valid.clone();
            bytes[at] = bytes[at].wrapping_add(step);
            renew_seal(&mut bytes, 1);
            let Ok(map) = read(&bytes) else { continue };
            read_again += 1;
            let Ok(table) = CompactTable::new(map, |group| Some(group.address(MAP))) else { continue };
            let roots = |pc: &u64| table.lookup(*pc).map_or(0, |frame| frame.roots.iter().count());
            assert!(pcs.iter().map(roots).sum::<usize>() <= pcs.len() * bytes.len());
            assert!(table.frames().count() <= bytes.len() * bytes.len());
        }
    }
    assert!(read_again > 4 * (valid.len() - HEADER_BYTES - 8) / stride);
}

#[test]
fn map_of_calls_out_of_order_gets_no_seal() {
    let call = |return_offset| WrittenCall { return_offset, function_offset: 0, frame_size: None, roots: vec![] };
    let calls = [5, 9, 7].map(call).to_vec();
    if let Ok(written) = write(&[GroupCalls { is_through_pointer: false, calls }], false) {
        assert_eq!(read(&written.bytes).err(), Some(CompactError::Chunk { chunk: 0 }));
    }
}
