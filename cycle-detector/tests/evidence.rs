//! Garbage that only the backup mark can find must lead to one without being asked for.

use cycle_detector::Mutator;
use rc_runtime::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn registered(descriptor: &'static TypeDescriptor) -> TypeId {
    type_registry::register(descriptor).expect("a sound descriptor")
}

fn list(m: &mut Mutator, nodes: u64) -> ObjectRef {
    let root = m.push_root(None);
    for _ in 0..nodes {
        let node = m.allocate(registered(&PAIR)).expect("memory");
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
    let mut m = Mutator::new(HeapOptions { epoch_bytes: 1 << 20, ..HeapOptions::default() }).expect("address space");
    let window: Vec<_> = (0..64).map(|_| m.push_root(None)).collect();
    let mut live_max = 0;
    for round in 0..1500 {
        let shared = list(&mut m, 2000);
        let root = m.push_root(Some(shared));
        let holders = m.allocate_array(registered(&ARRAY), 300).expect("memory");
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
