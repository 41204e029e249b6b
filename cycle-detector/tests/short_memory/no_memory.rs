//! Neither the allocator nor the heap range has memory: what can be given up is given up, and what cannot has room from
//! before. With memory everything that is garbage goes. `[MEMORY]` A process of its own, because the range is the
//! process's.

use crate::allocator::{Refuse, refusing};
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::memory::block_source;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{NODE, new_mutator, type_of};
use tally_kit::own_process::own_process;

static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// A ring of `length` nodes, or with `closed` false a list; each node refers to the one before it, and so to lower addresses.
fn chain(m: &mut Mutator, length: u64, closed: bool) -> ObjectRef {
    let last = m.allocate(type_of(&NODE)).expect("room");
    let root = m.push_root(Some(last));
    let mut first = last;
    for _ in 1..length {
        let kept = m.push_root(Some(first));
        let before = m.allocate(type_of(&NODE)).expect("room");
        m.write(before, before.slot(0), first.address());
        m.truncate_roots(kept.0);
        first = before;
    }
    if closed {
        m.write(last, last.slot(8), first.address());
    }
    m.truncate_roots(root.0);
    first
}

/// What lives: a wide array of short lists, and a long one.
fn build_what_lives(m: &mut Mutator) {
    let array = m.allocate_array(type_of(&ARRAY), 5000).expect("room");
    m.push_root(Some(array));
    for place in 0..5000 {
        let list = chain(m, 3, false);
        m.write(array, array.slot(8 + place * 8), list.address());
    }
    let list = chain(m, 20_000, false);
    m.push_root(Some(list));
}

/// Garbage, once its roots go.
fn build_garbage(m: &mut Mutator) {
    for length in [2, 3, 5, 8, 300, 20_000] {
        let ring = chain(m, length, true);
        m.push_root(Some(ring));
    }
}

/// All blocks that are left.
fn take_all_blocks() -> Vec<u32> {
    let mut blocks = Vec::with_capacity(4096);
    while let Some(block) = block_source::take_for_lists(1) {
        blocks.push(block);
    }
    blocks
}

fn collect_without_memory(options: HeapOptions) {
    let what = format!("{options:?}");
    let mut m = new_mutator(options).expect("address space");
    build_what_lives(&mut m);
    // What cannot be given up has room from a collection with memory.
    build_garbage(&mut m);
    m.truncate_roots(2);
    m.collect();
    m.collect();
    let kept = m.live_objects().len();
    build_garbage(&mut m);
    let blocks = take_all_blocks();
    refusing(Refuse::From(0), || {
        m.truncate_roots(2);
        m.poll();
        m.collect();
        m.poll();
    });
    // SAFETY: [OWNED] the block is this heap's, and holds nothing.
    blocks.iter().for_each(|&block| unsafe { block_source::give_back(block, 1) });
    m.verify().unwrap_or_else(|violation| panic!("{what}: {violation}"));
    assert_eq!(m.live_objects().len(), kept, "{what}: a collection finds what there is");
    build_garbage(&mut m);
    m.truncate_roots(2);
    m.collect();
    m.collect();
    assert_eq!(m.live_objects().len(), kept, "{what}, with memory");
    assert_eq!(m.root(RootIndex(0)).expect("set").slot(0).read(), 5000);
}

#[test]
fn a_collection_without_a_byte_finds_what_there_is() {
    own_process("no_memory::a_collection_without_a_byte_finds_what_there_is", &[("TALLY_RESERVE", "64MiB")], || {
        for plan in Plan::ALL {
            for trials in [true, false] {
                collect_without_memory(HeapOptions { plan, trials, ..HeapOptions::default() });
            }
        }
    });
}
