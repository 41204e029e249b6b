//! The heap through its Rust door: situations that name what could go wrong, each ending in a recount.

use tally_collector::Mutator;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};
use tally_kit::nodes::new_mutator;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn pair() -> TypeId {
    type_registry::register(&PAIR).expect("a sound descriptor")
}

fn array() -> TypeId {
    type_registry::register(&ARRAY).expect("a sound descriptor")
}

fn heap(options: HeapOptions) -> Mutator {
    new_mutator(options).expect("address space")
}

fn tiny() -> HeapOptions {
    HeapOptions { epoch_bytes: 64 << 10, log_entries: 64, ..HeapOptions::default() }
}

fn new_pair(m: &mut Mutator) -> ObjectRef {
    m.allocate(pair()).expect("memory")
}

fn link(m: &mut Mutator, from: ObjectRef, field: u64, to: Option<ObjectRef>) {
    m.write(from, from.slot(field * 8), to.map_or(0, ObjectRef::address));
}

fn assert_empty(m: &mut Mutator) {
    m.truncate_roots(0);
    m.collect();
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects(), []);
    let statistics = m.statistics();
    assert_eq!(statistics.live_objects, 0);
    assert_eq!(statistics.freed_objects(), statistics.allocated_objects);
}

#[test]
fn a_rooted_object_survives_and_an_unrooted_one_dies_young() {
    let mut m = heap(HeapOptions::default());
    let kept = new_pair(&mut m);
    m.push_root(Some(kept));
    new_pair(&mut m);
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects(), [kept]);
    assert_eq!(m.count_of(kept), 1);
    assert_eq!(m.statistics().died_young_objects, 1);
    assert_empty(&mut m);
}

#[test]
fn a_long_list_is_promoted_and_dropped_without_recursion() {
    let mut m = heap(tiny());
    let root = m.push_root(None);
    for _ in 0..300_000 {
        let node = new_pair(&mut m);
        let rest = m.root(root);
        link(&mut m, node, 0, rest);
        m.set_root(root, Some(node));
    }
    m.verify().expect("a sound heap");
    assert_eq!(m.statistics().live_objects, 300_000);
    assert_empty(&mut m);
}

#[test]
fn rings_that_die_young_and_old_are_all_reclaimed() {
    let mut m = heap(tiny());
    let slots: Vec<_> = (0..64).map(|_| m.push_root(None)).collect();
    for round in 0..20_000usize {
        let first = new_pair(&mut m);
        let root = m.push_root(Some(first));
        let mut last = first;
        for _ in 0..round % 9 {
            let node = new_pair(&mut m);
            link(&mut m, node, 1, Some(last));
            link(&mut m, last, 0, Some(node));
            last = node;
        }
        link(&mut m, last, 0, Some(first));
        m.set_root(slots[round % 64], Some(first));
        m.truncate_roots(root.0);
        m.poll();
    }
    m.verify().expect("a sound heap");
    assert!(m.statistics().cyclic_garbage_objects > 0, "{:?}", m.statistics());
    assert_empty(&mut m);
}

#[test]
fn a_large_array_under_random_writes_keeps_its_counts() {
    let mut m = heap(tiny());
    let objects = m.allocate_array(array(), 20_000).expect("memory");
    m.push_root(Some(objects));
    let mut random = 12345u32;
    for step in 0..200_000u64 {
        random = random.wrapping_mul(1664525).wrapping_add(1013904223);
        let place = 8 + (random >> 8) as u64 % 20_000 * 8;
        if random >> 31 == 0 {
            let node = new_pair(&mut m);
            m.write(objects, objects.slot(place), node.address());
        } else {
            let other = objects.slot(8 + step % 20_000 * 8).read();
            m.write(objects, objects.slot(place), other);
        }
        m.poll();
    }
    m.verify().expect("a sound heap");
    assert_empty(&mut m);
}

#[test]
fn stamps_that_run_out_start_over() {
    let mut m = heap(tiny());
    m.heap().clock.epoch = tally_heap::heap::LAST_EPOCH - 2;
    m.heap().context_mut().stamp = tally_heap::heap::LAST_EPOCH - 2;
    let kept = new_pair(&mut m);
    m.push_root(Some(kept));
    for _ in 0..6 {
        let child = new_pair(&mut m);
        link(&mut m, kept, 0, Some(child));
        m.verify().expect("a sound heap");
    }
    assert!(m.heap().clock.epoch < 20);
    assert_eq!(m.statistics().live_objects, 2);
    assert_empty(&mut m);
}

#[test]
fn zeal_finds_and_poisons_small_rings_and_large_ones() {
    let mut m = heap(HeapOptions { zeal: true, ..HeapOptions::default() });
    for size in [3, 200] {
        let first = new_pair(&mut m);
        let root = m.push_root(Some(first));
        let mut last = first;
        for _ in 1..size {
            let node = new_pair(&mut m);
            link(&mut m, last, 0, Some(node));
            last = node;
        }
        link(&mut m, last, 0, Some(first));
        m.epoch();
        m.truncate_roots(root.0);
        for _ in 0..20 {
            m.epoch();
        }
        assert_eq!(m.statistics().live_objects, 0, "a ring of {size}");
        assert_eq!(last.slot(0).read(), u64::from_ne_bytes([tally_heap::zeal::POISON; 8]));
    }
    assert!(m.heap().bump.blocks.owned.len() <= 2, "zeal goes on in the hole it has");
}

#[test]
fn a_ring_larger_than_any_trial_falls_to_the_mark() {
    let mut m = heap(tiny());
    let first = new_pair(&mut m);
    let root = m.push_root(Some(first));
    let mut last = first;
    for _ in 0..5000 {
        let node = new_pair(&mut m);
        link(&mut m, last, 0, Some(node));
        link(&mut m, node, 1, Some(last));
        last = node;
    }
    link(&mut m, last, 0, Some(first));
    m.epoch();
    m.set_root(root, None);
    m.epoch();
    m.epoch();
    assert!(m.statistics().live_objects > 4000, "local trials are bounded");
    assert_empty(&mut m);
}
