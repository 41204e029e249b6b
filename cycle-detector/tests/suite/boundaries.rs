//! Heaps of a Rust host on several threads: they share the address range, its tables and the types, and nothing else.

use std::sync::Barrier;
use tally_collector::Mutator;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};
use tally_kit::nodes::new_mutator;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn types() -> (TypeId, TypeId) {
    (type_registry::register(&PAIR).expect("sound"), type_registry::register(&ARRAY).expect("sound"))
}

fn options() -> HeapOptions {
    HeapOptions { epoch_bytes: 32 << 10, log_entries: 64, ..HeapOptions::default() }
}

/// A chain of `length` pairs, each with a back reference to the one before, hanging on `root`; large arrays come and go.
fn churn(m: &mut Mutator, length: u64, rounds: u64) {
    let (pair, array) = types();
    let (root, brief) = (m.push_root(None), m.push_root(None));
    for round in 0..rounds {
        m.set_root(root, None);
        for number in 0..length {
            let new = m.allocate(pair).expect("memory");
            if let Some(last) = m.root(root) {
                m.write(new, new.slot(0), last.address());
                m.write(last, last.slot(8), new.address());
            }
            new.slot(16).store(round << 32 | number);
            m.set_root(root, Some(new));
        }
        let large = m.allocate_array(array, 9000).expect("memory");
        m.set_root(brief, Some(large));
        let last = m.root(root).map_or(0, ObjectRef::address);
        m.write(large, large.slot(8 + 8 * (round % 9000)), last);
    }
    let mut at = m.root(root);
    for number in (0..length).rev() {
        let object = at.expect("the chain is whole");
        assert_eq!(object.slot(16).read(), (rounds - 1) << 32 | number);
        let next = object.slot(0).read();
        // SAFETY: the slot holds null or the pair before.
        at = (next != 0).then(|| unsafe { ObjectRef::from_address(next) });
    }
    assert_eq!(at, None);
    m.truncate_roots(0);
}

#[test]
fn heaps_on_eight_threads_do_not_disturb_each_other() {
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for generation in 0..4 {
                    let mut m = new_mutator(options()).expect("address space");
                    churn(&mut m, 300 + 40 * number, 40);
                    m.verify().expect("a sound heap");
                    m.collect();
                    m.verify().expect("a sound heap");
                    assert_eq!(m.live_objects(), [], "thread {number}, heap {generation}");
                }
            });
        }
    });
}

#[test]
fn heap_that_was_filled_on_a_thread_is_gone_when_it_is_dropped() {
    let block_of_first = |keep: u64| {
        let mut m = new_mutator(options()).expect("address space");
        let pair = types().0;
        let first = m.allocate(pair).expect("memory");
        m.push_root(Some(first));
        for _ in 0..keep {
            let next = m.allocate(pair).expect("memory");
            m.push_root(Some(next));
        }
        m.collect();
        m.verify().expect("a sound heap");
        first.block()
    };
    let blocks: std::collections::HashSet<u32> =
        (0..50).map(|_| std::thread::spawn(move || block_of_first(20_000)).join().expect("no panic")).collect();
    assert!(blocks.len() < 40, "blocks are used again: {blocks:?}");
}
