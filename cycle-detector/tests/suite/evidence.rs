//! Garbage that only the backup mark can find must lead to one without being asked for.

use tally_collector::Mutator;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn list(m: &mut Mutator, nodes: u64) -> ObjectRef {
    let root = m.push_root(None);
    for _ in 0..nodes {
        let node = m.allocate(type_of(&PAIR)).expect("memory");
        node.slot(0).store(m.root(root).map_or(0, ObjectRef::address));
        m.set_root(root, Some(node));
    }
    let first = m.root(root).expect("a node");
    m.truncate_roots(root.0);
    first
}

/// No cycle anywhere: an object that three hundred slots hold has a count that is stuck, and keeps all it refers to when
/// the slots are gone.
#[test]
fn what_hangs_on_stuck_counts_does_not_grow_without_bound() {
    // Slices by work, not by the clock: how much a mark gets done must not depend on the machine.
    let options = HeapOptions { epoch_bytes: 1 << 20, slice_units: Some(16_384), ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("address space");
    let window: Vec<_> = (0..64).map(|_| m.push_root(None)).collect();
    let mut live_max = 0;
    for round in 0..1500 {
        let shared = list(&mut m, 2000);
        let root = m.push_root(Some(shared));
        let holders = m.allocate_array(type_of(&ARRAY), 300).expect("memory");
        let shared = m.root(root).expect("the list");
        for index in 0..300 {
            m.write(holders, holders.slot(8 + index * 8), shared.address());
        }
        m.set_root(window[round % window.len()], Some(holders));
        m.truncate_roots(root.0);
        m.poll();
        live_max = live_max.max(m.statistics().live_objects);
    }
    assert!(live_max < 800_000, "{live_max} of 3,000,000 objects were alive at once; 130,000 are reachable");
    m.verify().expect("a sound heap");
}

/// A heap that grew while every candidate was decided has no garbage in it, however much it grew: the first suspect is
/// evidence for what it may hold, and not against all that was built before.
#[test]
fn a_heap_that_grew_without_evidence_is_not_marked_for_its_first_suspect() {
    const EPOCH: u64 = 64 << 10;
    let mut m = new_mutator(HeapOptions { epoch_bytes: EPOCH, slice_units: Some(16_384), ..HeapOptions::default() })
        .expect("address space");
    const NODES: u64 = 64 * EPOCH / 32;
    let array = m.allocate_array(type_of(&ARRAY), NODES).expect("memory");
    let root = m.push_root(Some(array));
    for index in 0..NODES {
        let node = m.allocate(type_of(&PAIR)).expect("memory");
        let array = m.root(root).expect("the array");
        m.write(array, array.slot(8 + index * 8), node.address());
    }
    let settle = |m: &mut Mutator| (0..4).for_each(|_| m.epoch());
    let drop_ring = |m: &mut Mutator| {
        let last = m.allocate(type_of(&PAIR)).expect("memory");
        let ring = m.push_root(Some(last));
        let first = m.push_root(Some(last));
        for _ in 0..5000 {
            let node = m.allocate(type_of(&PAIR)).expect("memory");
            node.slot(0).store(m.root(first).expect("a node").address());
            m.set_root(first, Some(node));
        }
        let (first, last) = (m.root(first).expect("a node"), m.root(ring).expect("a node"));
        m.write(last, last.slot(0), first.address());
        settle(m);
        m.truncate_roots(ring.0);
        settle(m);
    };
    settle(&mut m);
    drop_ring(&mut m);
    assert_eq!(m.statistics().marks, 0, "one suspect in a heap of 64 epochs: {:?}", m.statistics());
    // Garbage is bounded nevertheless: what is dropped from now on is growth since there was no evidence.
    let mut rings = 1;
    while m.statistics().marks == 0 {
        drop_ring(&mut m);
        rings += 1;
        assert!(rings < 300, "{:?}", m.statistics());
    }
    m.collect();
    assert_eq!(m.statistics().live_objects, NODES + 1);
    m.truncate_roots(root.0);
}
