//! Damaged sections of stack maps, and damaged stacks under what they say: an error, or an answer that fits the bytes.
//!
//! `[MAP]` `[ADVANCE]` Nothing panics, and nothing takes more memory or time than the input's size allows. Some of it
//! runs with the other tests; `TALLY_DAMAGE_SECONDS=600 cargo test --release -p stack-roots --test suite damaged_sections:: --
//! --nocapture` goes on for longer and says how many inputs there were.

use stack_roots::{
    FrameTable, FrameTables, Lookup, MapError, Registers, StackFault, TableError, WalkEnd, stack_map, walk,
};
use std::path::Path;
use std::sync::Arc;
use tally_kit::checks::{stack_map as fuzzed_section, walk as fuzzed_stack};
use tally_kit::damage::budget::{each_input, within};
use tally_kit::damage::mutation::Mutation;
use tally_kit::stack_map_section::{FIXTURE, Place, Section};

/// How many times its bytes a section may cost while it is made a table of: entries in hash tables that are half empty,
/// a list of roots for each call, and both the old and the new place of what grows.
const FACTOR: usize = 64;

/// Sections to damage: the real one, every kind of record, several objects' sections in a row.
fn sound_sections() -> Vec<Vec<u8>> {
    let mut kinds = Section::new().function(0x1000, 24).call(5, &[(1, (2, 7, 8)), (1 << 40, (3, 6, -8))]).call(9, &[]);
    kinds = kinds.function(0x2000, u64::MAX).call(7, &[(3, (2, 3, 16))]).function(0x3000, 8).record(0, 4, &[(1, 5, 0)]);
    kinds = kinds.function(0x4000, 8).call(4, &[(4, (4, 0, 0)), (5, (2, 6, i32::MIN))]);
    let mut many = Section::new().function(u64::MAX - 0x1000, 40);
    for call in 0..60 {
        many = many.call(call * 7, &[(u64::from(call % 3), (2, 7, 8 * (call as i32 % 5))), (9, (2, 6, -16))]);
    }
    let row = [FIXTURE, &kinds.bytes(), &[0; 24], &many.bytes()].concat();
    vec![FIXTURE.to_vec(), kinds.bytes(), many.bytes(), row]
}

/// What came of one section.
#[derive(Default)]
struct Seen {
    read: u64,
    tables: u64,
    walked: u64,
}

impl Seen {
    fn look_at(&mut self, bytes: &[u8], mutation: &mut Mutation) {
        let _ = stack_map::read_first(bytes).map(|map| assert!(map.bytes().len() <= bytes.len()));
        let map = match stack_map::read(bytes) {
            Ok(map) => map,
            Err(error) => return is_a_sentence(&error),
        };
        self.read += 1;
        let records = map.records().inspect(|record| assert_eq!(record.locations().count(), record.location_count()));
        let used: usize = records.map(|record| 16 + 12 * record.location_count()).sum();
        assert!(used + 24 * map.functions().count() <= bytes.len());
        let table = match FrameTable::build(&map, |function| Some(function.address)) {
            Ok(table) => table,
            Err(error) => return is_a_sentence(&error),
        };
        self.tables += 1;
        assert!(table.len() + table.foreign_records() <= map.records().count());
        assert!(table.frames().all(|frame| table.lookup(frame.pc) == Some(frame)));
        let pcs: Vec<u64> = table.frames().map(|frame| frame.pc).collect();
        let tables = FrameTables::new().with(1, Arc::new(table));
        self.walk_under(&tables, &pcs, mutation);
    }

    /// Walks a stack of anything, wherever it lies, whose words are often return addresses and frame pointers.
    fn walk_under(&mut self, tables: &FrameTables, pcs: &[u64], mutation: &mut Mutation) {
        if pcs.is_empty() {
            return;
        }
        let base = [0x7000, 0, u64::MAX - 255, 1 << 63][mutation.below(4)];
        let mut word = |place: u64| match mutation.below(10) {
            0 => mutation.number(),
            1 => base.wrapping_add(mutation.below(320) as u64),
            _ if place % 2 == 1 => pcs[mutation.below(pcs.len())],
            _ => base.wrapping_add(8 * (place + 2 + 2 * mutation.below(3) as u64)),
        };
        let stack: [u64; 32] = std::array::from_fn(|place| word(place as u64));
        let registers = Registers { pc: word(1), sp: base, fp: word(0), rbx: Some(word(0)) };
        let read = |address: u64| {
            let offset = address.checked_sub(base)?;
            stack.get(usize::try_from(offset / 8).ok()?).copied()
        };
        let walked = walk(registers, read, tables, 1, |_| ());
        assert!(walked.frames <= stack.len() / 2 + 1, "each frame but the top one takes two words");
        if let WalkEnd::Malformed { fault, .. } = walked.end {
            is_a_sentence(&fault);
        }
        self.walked += walked.frames as u64;
    }
}

/// What is refused says where and why, on one line.
fn is_a_sentence(error: &dyn std::fmt::Display) {
    let said = error.to_string();
    assert!(said.len() < 300 && said.contains(' ') && !said.contains('\n'), "{said}");
}

/// scenario 191.
#[test]
fn damaged_sections_are_read_tabulated_and_walked_under() {
    let sound = sound_sections();
    let mut seen = Seen::default();
    for section in &sound {
        seen.look_at(section, &mut Mutation::new(0));
    }
    assert_eq!((seen.read, seen.tables), (4, 4));
    let mut inputs = 0;
    each_input("sections of stack maps", 120_000, |input| {
        let mut mutation = Mutation::new(input);
        let mut bytes = sound[input as usize % sound.len()].clone();
        mutation.damage(&mut bytes);
        within(bytes.len(), FACTOR, || seen.look_at(&bytes, &mut mutation));
        inputs += 1;
    });
    println!("  {} were read, {} made tables, {} frames were walked", seen.read, seen.tables, seen.walked);
    // Or the damage is so crude that nothing behind the first check is tried.
    assert!(inputs < 100 || (seen.read > inputs / 20 && seen.tables > inputs / 50 && seen.walked > 0));
}

/// What the fuzz targets have come to so far: each of it is there for a place that none of the others reaches.
#[test]
fn corpora_of_the_fuzz_targets_are_read_and_walked() {
    let tables = corpus("stack_map").iter().filter(|bytes| fuzzed_section::check(bytes)).count();
    assert!(tables >= 2, "{tables} make tables");
    let frames: usize = corpus("walk").iter().map(|bytes| fuzzed_stack::check(bytes)).sum();
    assert!(frames >= 3, "{frames} frames are walked");
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    std::fs::read_dir(&folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn counts_whose_sum_wraps_around_are_refused() {
    let mut bytes = Section::new().function(0x1000, 8).call(5, &[]).function(0x2000, 8).call(5, &[]).bytes();
    bytes[16 + 16..16 + 24].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes[40 + 16..40 + 24].copy_from_slice(&3u64.to_le_bytes());
    let refused = MapError::RecordCount { offset: 0, header: 2, of_functions: u64::MAX };
    assert_eq!(stack_map::read(&bytes).err(), Some(refused));
}

#[test]
fn functions_without_records_leave_their_neighbours_theirs() {
    let section = Section::new().function(1, 8).function(0x1000, 8).call(5, &[]).function(2, 8).function(3, 8);
    let bytes = section.function(0x2000, 8).call(6, &[]).call(7, &[]).function(4, 8).bytes();
    let map = stack_map::read(&bytes).unwrap();
    let placed: Vec<_> = map.records().map(|record| (record.function.address, record.instruction_offset)).collect();
    assert_eq!(placed, [(0x1000, 5), (0x2000, 6), (0x2000, 7)]);
}

#[test]
fn garbage_between_sections_and_sections_out_of_step_are_refused() {
    let blob = Section::new().function(0x1000, 8).call(5, &[]).bytes();
    for garbage in [&[0, 0, 0, 0, 3, 0, 0, 0][..], b"garbage!", &[0, 3]] {
        let bytes = [&blob, garbage, &blob].concat();
        let error = stack_map::read(&bytes).unwrap_err();
        let refused = matches!(error, MapError::Version { offset, .. } if offset == blob.len());
        assert!(refused, "{garbage:?}: {error}");
    }
}

#[test]
fn section_that_begins_at_an_odd_address_of_memory_is_read() {
    for shift in 0..8 {
        let shifted = [&[0xff; 8][..shift], FIXTURE].concat();
        assert_eq!(stack_map::read(&shifted[shift..]).unwrap().records().count(), 11);
    }
}

#[test]
fn one_return_address_twice_is_one_call_or_a_conflict() {
    let table = |second: &[(u64, Place)]| {
        let section = Section::new().function(0x1000, 8).call(5, &[(1, (2, 7, 0))]).call(5, second);
        let bytes = section.bytes();
        FrameTable::build(&stack_map::read(&bytes).unwrap(), |function| Some(function.address)).map(|table| table.len())
    };
    assert_eq!(table(&[(2, (2, 7, 0))]), Ok(1));
    for other in [&[][..], &[(1, (2, 7, 8))], &[(1, (3, 7, 0))], &[(1, (2, 7, 0)), (1, (2, 7, 0))]] {
        assert_eq!(table(other), Err(TableError::Conflict { pc: 0x1005 }));
    }
}

#[test]
fn slots_and_frames_at_the_ends_of_memory() {
    let calls = [(1, (2, 7, i32::MIN)), (2, (2, 7, i32::MAX)), (3, (2, 6, -8)), (4, (2, 3, 8))];
    let bytes = Section::new().function(0x1000, u64::MAX).call(5, &calls).bytes();
    let table = FrameTable::build(&stack_map::read(&bytes).unwrap(), |function| Some(function.address)).unwrap();
    let mut slots = Vec::new();
    let at = |sp, fp| Registers { pc: 0x1005, sp, fp, rbx: Some(u64::MAX) };
    let walked = walk(at(0, 0), Some, &table, 1, |root| slots.push(root.slot_address));
    assert_eq!(slots, [(-0x8000_0000i64) as u64, 0x7fff_ffff, (-8i64) as u64, 7]);
    assert_eq!(walked.end, WalkEnd::Unknown { registers: Registers { pc: 8, sp: 16, fp: 0, rbx: None } });
    for fp in [u64::MAX - 15, u64::MAX - 7] {
        let walked = walk(at(fp, fp), Some, &table, 1, |_| ());
        let expected = WalkEnd::Malformed { registers: at(fp, fp), fault: StackFault::FramePointer { fp, sp: fp } };
        assert_eq!(walked.end, expected);
    }
}

#[test]
fn memory_that_leads_every_frame_to_another_ends_with_the_addresses() {
    let bytes = Section::new().function(0x1000, 8).call(5, &[]).bytes();
    let table = FrameTable::build(&stack_map::read(&bytes).unwrap(), |function| Some(function.address)).unwrap();
    // Every frame pointer is the highest there can be: the next step has nowhere to go.
    let read = |address: u64| Some(if address.is_multiple_of(16) { 0x1005 } else { u64::MAX - 23 });
    let walked = walk(Registers { pc: 0x1005, sp: 0, fp: 8, rbx: None }, read, &table, 1, |_| ());
    assert!(walked.frames <= 2, "{walked:?}");
    assert!(matches!(walked.end, WalkEnd::Malformed { fault: StackFault::FramePointer { .. }, .. }), "{walked:?}");
}
