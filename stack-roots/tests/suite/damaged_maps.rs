//! Damaged compact maps: an error, or frames that fit the bytes.
//!
//! `[MAP]` As `damaged_sections` does for LLVM's format. `TALLY_DAMAGE_SECONDS=600 cargo test --release -p stack-roots --test suite
//! damaged_maps:: -- --nocapture` goes on for longer.

use stack_roots::compact_map::writer::{GroupCalls, WrittenCall, without_seal, write};
use stack_roots::{CompactTable, FrameTable, Lookup, Registers, compact_map, stack_map, walk};
use tally_kit::checks::compact_map as fuzzed_map;
use tally_kit::damage::budget::{each_input, within};
use tally_kit::damage::mutation::Mutation;
use tally_kit::stack_map_section::Section;

const MAP: u64 = 0x50_0000;

/// How many times its bytes a map may cost: a place noted for each call, and its groups.
const FACTOR: usize = 64;

/// The compact map of a section, in one group for each of its functions, every second of which is behind a pointer.
fn compact(section: &Section, has_sizes: bool) -> Vec<u8> {
    let table =
        FrameTable::build(&stack_map::read(&section.bytes()).unwrap(), |function| Some(function.address)).unwrap();
    let mut groups: Vec<(u64, GroupCalls)> = vec![];
    for frame in table.frames() {
        let function = frame.function().address;
        if groups.last().is_none_or(|(last, _)| *last != function) {
            groups.push((function, GroupCalls { is_through_pointer: groups.len() % 2 == 1, calls: vec![] }));
        }
        groups.last_mut().unwrap().1.calls.push(WrittenCall::of_frame(&frame, function).unwrap());
    }
    let (codes, groups): (Vec<u64>, Vec<GroupCalls>) = groups.into_iter().unzip();
    write(&groups, has_sizes).unwrap().placed(MAP, &codes)
}

fn sound_maps() -> Vec<Vec<u8>> {
    let mut kinds = Section::new().function(0x1000, 24).call(5, &[(1, (2, 7, 8)), (1 << 40, (3, 6, -8))]).call(9, &[]);
    kinds = kinds.function(0x2000, u64::MAX).call(7, &[(3, (2, 3, 16))]);
    kinds = kinds.function(0x4000, 8).call(4, &[(5, (2, 6, i32::MIN)), (6, (2, 7, 4))]);
    let mut many = Section::new().function(0x1_0000, 40);
    for call in 0..100 {
        many = many.call(1 + call * 7, &[(u64::from(call % 3), (2, 7, 8 * (call as i32 % 5))), (9, (2, 6, -16))]);
    }
    // What a seal refuses shows nothing of the check.
    [compact(&kinds, false), compact(&many, false), compact(&kinds, true), compact(&many, true)]
        .map(without_seal)
        .into()
}

#[test]
fn damaged_maps_are_refused_or_looked_up_in() {
    let sound = sound_maps();
    assert!(sound.iter().all(|map| fuzzed_map::check(map)));
    let (mut inputs, mut read) = (0u64, 0u64);
    each_input("compact maps", 120_000, |input| {
        let mut mutation = Mutation::new(input);
        let mut bytes = sound[input as usize % sound.len()].clone();
        mutation.damage(&mut bytes);
        within(bytes.len(), FACTOR, || match compact_map::read(&bytes) {
            Ok(_) => {
                read += 1;
                fuzzed_map::check(&bytes);
                walk_under(&bytes, &mut mutation);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.len() < 200 && said.contains(' ') && !said.contains('\n'), "{said}");
            }
        });
        inputs += 1;
    });
    println!("  {read} were read");
    assert!(inputs < 100 || read > inputs / 20);
}

/// Walks a stack of anything, whose words are often return addresses.
fn walk_under(bytes: &[u8], mutation: &mut Mutation) {
    let Ok(map) = compact_map::read(bytes) else { return };
    let Ok(table) = CompactTable::new(map, |group| Some(group.address(MAP))) else { return };
    let pcs: Vec<u64> = table.frames().map(|frame| frame.pc).take(64).collect();
    if pcs.is_empty() {
        return;
    }
    let base = 0x7000;
    let stack: [u64; 16] = std::array::from_fn(|place| match place % 2 {
        0 => base + 8 * (place as u64 + 2),
        _ => pcs[mutation.below(pcs.len())],
    });
    let registers = Registers { pc: stack[1], sp: base, fp: base, rbx: Some(base) };
    let read = |address: u64| stack.get(usize::try_from(address.checked_sub(base)? / 8).ok()?).copied();
    let walked = walk(registers, read, &table, 1, |_| ());
    assert!(walked.frames <= stack.len() / 2 + 1);
    assert!(table.lookup(pcs[0]).is_some());
}
