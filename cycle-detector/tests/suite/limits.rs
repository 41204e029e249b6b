//! A heap at its limit: what is left of its own blocks is used before anybody is told that memory has run out.

use tally_heap::{HeapOptions, OutOfMemory, TypeDescriptor, TypeId, type_registry};
use tally_kit::nodes::new_mutator;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);

fn pair() -> TypeId {
    type_registry::register(&PAIR).expect("a sound descriptor")
}

#[test]
fn a_full_heap_goes_on_in_the_holes_of_its_blocks() {
    let limit = 1 << 20;
    let mut m = new_mutator(HeapOptions { heap_limit: Some(limit), ..HeapOptions::default() }).expect("address space");
    loop {
        match m.allocate(pair()) {
            Ok(object) => m.push_root(Some(object)),
            Err(OutOfMemory::Limit { .. }) => break,
            Err(other) => panic!("{other}"),
        };
    }
    // One object in sixteen stays: no block is empty, all have holes.
    let filled = m.root_count();
    let kept: Vec<_> =
        (0..filled).filter(|index| index % 16 == 0).map(tally_heap::services::host_roots::RootIndex).collect();
    let kept: Vec<_> = kept.into_iter().map(|root| m.root(root)).collect();
    m.truncate_roots(0);
    for object in kept {
        m.push_root(object);
    }
    m.collect();
    assert!(m.heap().used_bytes() > limit - (64 << 10), "no block is empty");
    for _ in 0..filled / 2 {
        let object = m.allocate(pair()).expect("most of the heap is holes");
        m.push_root(Some(object));
    }
    assert!(m.heap().used_bytes() <= limit);
    m.verify().expect("a sound heap");
    let died = loop {
        match m.allocate(pair()) {
            Ok(object) => m.push_root(Some(object)),
            Err(error) => break error,
        };
    };
    assert!(matches!(died, OutOfMemory::Limit { .. }), "{died}");
    assert!(m.root_count() > filled * 3 / 4, "the holes were used up first: {} of {filled}", m.root_count());
}

#[test]
fn a_full_heap_is_not_collected_for_every_block_while_it_has_holes() {
    let limit = 1 << 20;
    let mut m = new_mutator(HeapOptions { heap_limit: Some(limit), ..HeapOptions::default() }).expect("address space");
    while let Ok(object) = m.allocate(pair()) {
        m.push_root(Some(object));
    }
    let filled = m.root_count();
    let kept: Vec<_> =
        (0..filled).step_by(16).map(|index| m.root(tally_heap::services::host_roots::RootIndex(index))).collect();
    m.truncate_roots(0);
    for object in kept {
        m.push_root(object);
    }
    m.collect();
    let epochs = m.statistics().epochs;
    for _ in 0..filled / 2 {
        m.allocate(pair()).expect("room");
    }
    assert!(m.statistics().epochs - epochs <= 4, "{} epochs", m.statistics().epochs - epochs);
}

#[test]
fn a_cell_that_fits_no_small_hole_finds_a_large_one_in_a_full_heap() {
    static PAGE: TypeDescriptor = TypeDescriptor::plain(c"Page", 4000, &[0]);
    let page = type_registry::register(&PAGE).expect("a sound descriptor");
    let limit = 1 << 20;
    let mut m = new_mutator(HeapOptions { heap_limit: Some(limit), ..HeapOptions::default() }).expect("address space");
    while let Ok(object) = m.allocate(page) {
        m.push_root(Some(object));
    }
    let filled = m.root_count();
    let kept: Vec<_> =
        (0..filled).step_by(8).map(|index| m.root(tally_heap::services::host_roots::RootIndex(index))).collect();
    m.truncate_roots(0);
    for object in kept {
        m.push_root(object);
    }
    for _ in 0..filled / 2 {
        let object = m.allocate(page).expect("most of the heap is holes");
        m.push_root(Some(object));
    }
    for _ in 0..10 * filled {
        m.allocate(page).expect("garbage makes room for garbage");
    }
    assert!(m.heap().used_bytes() <= limit);
    m.verify().expect("a sound heap");
}

/// Blocks of which a fourth is free, in holes that take what they held before and nothing longer.
#[test]
fn a_full_heap_whose_holes_are_too_small_is_told_so() {
    static TRIPLE: TypeDescriptor = TypeDescriptor::plain(c"Triple", 32, &[0]);
    static FIVE: TypeDescriptor = TypeDescriptor::plain(c"Five", 48, &[0]);
    let [triple, five] = [&TRIPLE, &FIVE].map(|type_| type_registry::register(type_).expect("a sound descriptor"));
    let mut m =
        new_mutator(HeapOptions { heap_limit: Some(1 << 20), ..HeapOptions::default() }).expect("address space");
    while let Ok(object) = m.allocate(triple) {
        m.push_root(Some(object));
    }
    let filled = m.root_count();
    let index = tally_heap::services::host_roots::RootIndex;
    let kept: Vec<_> = (0..filled).filter(|at| at % 4 != 0).map(|at| m.root(index(at))).collect();
    m.truncate_roots(0);
    for object in kept {
        m.push_root(object);
    }
    assert!(
        matches!(m.allocate(five), Err(OutOfMemory::Limit { .. })),
        "every hole is 40 bytes, or 48 at the end of a block"
    );
    for _ in 0..filled / 5 {
        let object = m.allocate(triple).expect("a hole takes it");
        m.push_root(Some(object));
    }
    m.verify().expect("a sound heap");
}
