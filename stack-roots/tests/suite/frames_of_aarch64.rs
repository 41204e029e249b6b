//! Walks of AArch64 stacks, on any machine: frames lead to their callers by their size.

use stack_roots::walk::walk_on;
use stack_roots::{
    Convention, Entries, FrameRoot, FrameTable, Machine, Registers, StackFault, Walk, WalkEnd, stack_map,
};
use tally_kit::stack_map_section::Section;

const STACK: u64 = 0x7000;
const ENTRY: u64 = 0xe00;

fn at(pc: u64, sp: u64, fp: u64) -> Registers {
    Registers { pc, sp, fp, rbx: None }
}

/// Calls of AArch64 code returning to 0x1008 (frame of 48 bytes, a root at sp+8), 0x1108 (64 bytes, roots at sp+16 and
/// x29-8), 0x1208 (of a size that varies).
fn table_of_aarch64() -> FrameTable {
    let bytes = Section::new()
        .function(0x1000, 48)
        .call(8, &[(1, (2, 31, 8))])
        .function(0x1100, 64)
        .call(8, &[(2, (2, 31, 16)), (3, (2, 29, -8))])
        .function(0x1200, u64::MAX)
        .call(8, &[(4, (2, 29, -8))])
        .bytes();
    let convention = Convention { machine: Machine::AArch64, ..Convention::LOWERED };
    FrameTable::build_as(convention, &stack_map::read(&bytes).unwrap(), |function| Some(function.address)).unwrap()
}

fn walked_on_aarch64(registers: Registers, stack: &[u64]) -> (Vec<(u64, u64)>, Walk) {
    let mut roots = Vec::new();
    let read = |address: u64| stack.get(address.checked_sub(STACK)? as usize / 8).copied();
    let visit = |root: &FrameRoot| roots.push((root.id, root.slot_address));
    let entries = Entries::from(ENTRY);
    let walk = walk_on(Machine::AArch64, registers, read, &table_of_aarch64(), entries, usize::MAX, visit);
    (roots, walk)
}

#[test]
fn frames_of_aarch64_lead_to_their_callers_by_their_size_and_the_saved_pair_at_the_frame_pointer() {
    #[rustfmt::skip]
    let stack = [
        0, 0, 0x7050, 0x1108, 0x19, 0x20,       // 0x7000 the top frame: pair at 0x7010, x19 and x20 above it
        0, 0, 0, 0, 0x7080, ENTRY, 0x19, 0x20,  // 0x7030 pair at 0x7050
        0, 0,
    ];
    let (roots, walk) = walked_on_aarch64(at(0x1008, 0x7000, 0x7010), &stack);
    assert_eq!(roots, [(1, 0x7008), (2, 0x7040), (3, 0x7048)]);
    assert_eq!(walk, Walk { frames: 2, end: WalkEnd::Bottom { registers: at(ENTRY, 0x7070, 0x7080) } });
}

#[test]
fn frame_of_aarch64_whose_size_varies_is_left_to_the_unwinder() {
    let stack = [0, 0, 0x7050, 0x1208, 0, 0, 0, 0];
    let (roots, walk) = walked_on_aarch64(at(0x1008, 0x7000, 0x7010), &stack);
    assert_eq!((roots.len(), walk.frames), (1, 1));
    assert_eq!(walk.end, WalkEnd::NeedsUnwinder { registers: at(0x1208, 0x7030, 0x7050) });
}

#[test]
fn saved_pair_of_aarch64_outside_its_frame_stops_the_walk() {
    for fp in [0x6ff8, 0x7028, 0x7014] {
        let (_, walk) = walked_on_aarch64(at(0x1008, 0x7000, fp), &[0; 16]);
        let fault = StackFault::FramePointer { fp, sp: 0x7000 };
        assert_eq!(walk.end, WalkEnd::Malformed { registers: at(0x1008, 0x7000, fp), fault });
    }
}
