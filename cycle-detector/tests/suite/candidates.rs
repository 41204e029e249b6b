//! The candidate buffer: an entry may outlive its object, and what it names then may belong to another heap. A room of its
//! own, because blocks that one heap gives back must come to the other.

use tally_heap::{HeapOptions, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

/// Large, and held by two slots: when the first is gone it is a candidate, when the second is gone it is dead.
static LARGE: TypeDescriptor = TypeDescriptor::plain(c"Large", 30_000, &[0]);
/// Its first object in a block has the address that a large object had there.
static ALIGNED: TypeDescriptor = TypeDescriptor::plain(c"Aligned", 16, &[0]).aligned(16);
static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);

#[test]
fn an_entry_that_outlived_its_large_object_says_nothing_about_another_heaps() {
    const LARGE_OBJECTS: u64 = 16;
    let mut m = new_mutator(HeapOptions::default()).expect("address space");
    // Many roots, released after the others, put off the trials.
    let filler = m.allocate(type_of(&PAIR)).expect("memory");
    for _ in 0..5000 {
        m.push_root(Some(filler));
    }
    let mut places = vec![];
    for _ in 0..LARGE_OBJECTS {
        let holder = m.allocate(type_of(&PAIR)).expect("memory");
        let root = m.push_root(Some(holder));
        let large = m.allocate(type_of(&LARGE)).expect("memory");
        let holder = m.root(root).expect("a pair");
        m.write(holder, holder.slot(0), large.address());
        m.write(holder, holder.slot(8), large.address());
        places.push(large.address());
    }
    m.collect();
    m.truncate_roots(0);
    m.flip();
    // The pairs die, and with them the large objects; their entries in the buffer stay until they are tried.
    while m.heap().large.used_bytes() > 0 {
        assert!(m.step(1), "the large objects die before they are tried");
    }
    assert!(!m.heap().candidates.is_empty(), "their entries are there");
    m.heap().give_all_back();

    let mut other = new_mutator(HeapOptions::default()).expect("address space");
    let keep = other.allocate(type_of(&ALIGNED)).expect("memory");
    other.push_root(Some(keep));
    let roots: Vec<_> = (0..LARGE_OBJECTS * 2048)
        .map(|_| {
            let object = other.allocate(type_of(&ALIGNED)).expect("memory");
            object.slot(0).store(object.address());
            other.push_root(Some(object))
        })
        .collect();
    other.epoch();
    let reused = other.live_objects().iter().filter(|object| places.contains(&object.address())).count();
    assert!(reused > 0, "the other heap has objects where the large ones were");
    other.truncate_roots(roots[0].0);
    other.flip();
    while other.heap().candidates.len() < roots.len() {
        assert!(other.step(1), "each ring of one becomes a candidate");
    }
    // Now the first heap tries what is in its buffer.
    let live = other.live_objects().len();
    while m.step(1000) {}
    assert_eq!(m.statistics().trial_runs, 0, "nothing of this heap is left to be tried");
    assert_eq!(m.statistics().live_objects, 1);
    assert_eq!(other.live_objects().len(), live, "no heap frees another's objects");
    while other.step(1000) {}
    other.verify().expect("a sound heap");
    assert_eq!(other.live_objects(), [keep]);
    drop(m);
}
