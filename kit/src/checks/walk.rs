//! Any words as a stack, under the table of a real section: the walk ends, and visits no slot outside the memory that
//! it may read.
//!
//! The first 32 bytes are the registers, the rest is the stack.

use stack_roots::{FrameTable, Registers, stack_map, walk};

const SECTION: &[u8] = include_bytes!("../../../stack-roots/fixtures/deopt_bundles.stackmaps");
const STACK: u64 = 0x7000_0000_0000;

/// Returns the number of frames walked.
pub fn check(bytes: &[u8]) -> usize {
    let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let [pc, sp, fp, rbx, stack @ ..] = &words[..] else { return 0 };
    let map = stack_map::read(SECTION).expect("the fixture is sound");
    let table = FrameTable::build(&map, |function| Some(function.address_at as u64)).expect("the fixture is sound");
    let registers =
        Registers { pc: *pc, sp: STACK + sp % 4096 / 8 * 8, fp: STACK + fp % 4096 / 8 * 8, rbx: Some(*rbx) };
    let read = |address: u64| stack.get(address.checked_sub(STACK)? as usize / 8).copied();
    let walked = walk::walk(registers, read, &table, 1, |_| {});
    assert!(walked.frames <= stack.len(), "each frame takes at least a word");
    walked.frames
}
