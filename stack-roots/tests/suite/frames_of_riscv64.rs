//! Walks of RISC-V stacks, on any machine: the saved pair lies below the frame pointer, and frames lead to their callers by their size.

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

/// Calls of RISC-V code returning to 0x1008 (frame of 48 bytes, a root at sp+8), 0x1108 (128 bytes of which the upper 64 are
/// variadic arguments, roots at sp+16 and s0-24), 0x1208 (of a size that varies), 0x1308 (a root at s1+8).
fn table_of_riscv() -> FrameTable {
    let bytes = Section::new()
        .function(0x1000, 48)
        .call(8, &[(1, (2, 2, 8))])
        .function(0x1100, 128)
        .call(8, &[(2, (2, 2, 16)), (3, (2, 8, -24))])
        .function(0x1200, u64::MAX)
        .call(8, &[(4, (2, 8, -24))])
        .function(0x1300, u64::MAX)
        .call(8, &[(5, (2, 9, 8))])
        .bytes();
    let convention = Convention { machine: Machine::RiscV64, ..Convention::LOWERED };
    FrameTable::build_as(convention, &stack_map::read(&bytes).unwrap(), |function| Some(function.address)).unwrap()
}

fn walked_on_riscv(registers: Registers, stack: &[u64], limit: usize) -> (Vec<(u64, u64)>, Walk) {
    let mut roots = Vec::new();
    let read = |address: u64| stack.get(address.checked_sub(STACK)? as usize / 8).copied();
    let visit = |root: &FrameRoot| roots.push((root.id, root.slot_address));
    let walk = walk_on(Machine::RiscV64, registers, read, &table_of_riscv(), Entries::from(ENTRY), limit, visit);
    (roots, walk)
}

#[rustfmt::skip]
const TWO_FRAMES: [u64; 26] = [
    0, 0, 0, 0x19, 0x7070, 0x1108,      // 0x7000 the top frame: s0 is its end, the pair at 0x7020, s1 below it
    0, 0, 0, 0, 0, 0, 0x70c0, ENTRY,    // 0x7030 s0 is 0x7070, the pair at 0x7060
    1, 2, 3, 4, 5, 6, 7, 8,             // 0x7070 the variadic arguments of the second
    0, 0, 0, 0,
];

#[test]
fn frames_of_riscv_lead_to_their_callers_by_their_size_and_the_saved_pair_below_the_frame_pointer() {
    let (roots, walk) = walked_on_riscv(at(0x1008, 0x7000, 0x7030), &TWO_FRAMES, usize::MAX);
    assert_eq!(roots, [(1, 0x7008), (2, 0x7040), (3, 0x7058)]);
    assert_eq!(walk, Walk { frames: 2, end: WalkEnd::Bottom { registers: at(ENTRY, 0x70b0, 0x70c0) } });
}

#[test]
fn walk_of_riscv_frames_pauses_with_the_place_of_the_saved_pair() {
    let (roots, walk) = walked_on_riscv(at(0x1008, 0x7000, 0x7030), &TWO_FRAMES, 1);
    assert_eq!(roots, [(1, 0x7008)]);
    assert_eq!(walk.end, WalkEnd::Paused { registers: at(0x1108, 0x7030, 0x7070), pair: 0x7020 });
}

#[test]
fn frames_of_riscv_whose_size_varies_are_left_to_the_unwinder() {
    let stack = [0, 0, 0, 0x19, 0x7070, 0x1208];
    let (roots, walk) = walked_on_riscv(at(0x1008, 0x7000, 0x7030), &stack, usize::MAX);
    assert_eq!((roots.len(), walk.frames), (1, 1));
    assert_eq!(walk.end, WalkEnd::NeedsUnwinder { registers: at(0x1208, 0x7030, 0x7070) });
    let over_aligned = Registers { rbx: Some(0x7000), ..at(0x1308, 0x7000, 0x7030) };
    let (_, walk) = walked_on_riscv(over_aligned, &stack, usize::MAX);
    assert_eq!(walk.end, WalkEnd::NeedsUnwinder { registers: over_aligned });
}

#[test]
fn saved_pair_of_riscv_outside_its_frame_stops_the_walk() {
    for fp in [0, 8, 0x7008, 0x7038, 0x7024, u64::MAX - 7] {
        let (_, walk) = walked_on_riscv(at(0x1008, 0x7000, fp), &[0; 16], usize::MAX);
        let fault = StackFault::FramePointer { fp, sp: 0x7000 };
        assert_eq!(walk.end, WalkEnd::Malformed { registers: at(0x1008, 0x7000, fp), fault });
    }
}

#[test]
fn slots_of_riscv_frames_are_named_by_its_registers() {
    let table = table_of_riscv();
    let names: Vec<_> = table
        .frames()
        .flat_map(|frame| frame.roots.iter().map(|root| root.location.on(Machine::RiscV64)).collect::<Vec<_>>())
        .collect();
    assert!(
        ["[sp+8]", "[sp+16]", "[s0-24]", "[s1+8]"].iter().all(|name| names.iter().any(|it| it == name)),
        "{names:?}"
    );
}
