//! Structures so deep or so large that recursion, or work without a bound, would show (scenarios, group C), under both plans
//! where these do not differ.
//!
//! These use the heap directly: a model object beside each of millions of nodes would cost more than the test is worth.

use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::setup::both_plans;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Where the garbage collector has to be content with: a thread's stack that recursion over objects would overflow.
const STACK_BYTES: usize = 256 << 10;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).expect("a thread");
    thread.join().expect("the test panicked");
}

fn of_both_plans_on_a_small_stack(test: fn(TallyHeap)) {
    for options in both_plans() {
        on_a_small_stack(move || test(TallyHeap::new(options)));
    }
}

/// `count` objects of a kind, each referring to the next with slot 0, rooted at root 0; the last object.
fn list(heap: &mut TallyHeap, kind: Kind, count: u64) -> u64 {
    heap.push_root(None);
    let mut last = heap.allocate(kind, 0).expect("room");
    heap.set_root(0, Some(last));
    for _ in 1..count {
        let next = heap.allocate(kind, 0).expect("room");
        heap.store(last, kind.slot_offset(0), next);
        last = next;
    }
    last
}

/// scenario 44: a long list is dropped at once. Ten million nodes in a release build.
#[test]
fn long_list_dropped() {
    on_a_small_stack(|| {
        let count = if cfg!(debug_assertions) { 400_000 } else { 10_000_000 };
        let mut heap = TallyHeap::new(HeapOptions::default());
        list(&mut heap, Kind::Link, count);
        heap.epoch();
        assert_eq!(heap.totals().live_objects, count);
        heap.set_root(0, None);
        heap.epoch();
        heap.epoch();
        assert_eq!(heap.totals().live_objects, 0, "counting alone frees a list");
        assert_eq!(heap.mutator.statistics().marks, 0);
    });
}

/// scenario 44: the same in slices: no single one does it all.
#[test]
fn long_list_dropped_in_slices() {
    on_a_small_stack(|| {
        let mut heap = TallyHeap::new(HeapOptions { slice_units: Some(2000), ..HeapOptions::default() });
        list(&mut heap, Kind::Pair, 100_000);
        heap.epoch();
        heap.set_root(0, None);
        heap.flip();
        let mut polls = 0;
        while heap.totals().live_objects > 0 {
            heap.step(2000);
            polls += 1;
            assert!(polls < 10_000, "the list is never freed: {:?}", heap.totals());
        }
        assert!(polls > 50, "a hundred thousand objects were freed in {polls} slices of 2000 units");
    });
}

/// scenario 14: a doubly linked ring of 200,000 nodes: only cycle collection frees it, and it must not recurse.
#[test]
fn doubly_linked_ring_of_200_000() {
    of_both_plans_on_a_small_stack(|mut heap| {
        let (next, previous) = (Kind::Pair.slot_offset(0), Kind::Pair.slot_offset(1));
        let last = list(&mut heap, Kind::Pair, 200_000);
        let first =
            heap.mutator.root(tally_heap::services::host_roots::RootIndex(0)).map(ObjectRef::address).expect("rooted");
        heap.store(last, next, first);
        let mut node = first;
        loop {
            let follower = heap.load(node, next);
            heap.store(follower, previous, node);
            node = follower;
            if node == first {
                break;
            }
        }
        heap.epoch();
        heap.verify().expect("in order");
        heap.set_root(0, None);
        heap.collect();
        assert_eq!((heap.totals().live_objects, heap.totals().live_bytes), (0, 0));
        heap.verify().expect("in order");
    });
}

/// scenario 48: a deep acyclic tail hangs from a dead cycle.
#[test]
fn deep_tail_of_a_dead_cycle() {
    of_both_plans_on_a_small_stack(|mut heap| {
        list(&mut heap, Kind::Pair, 200_000);
        let head =
            heap.mutator.root(tally_heap::services::host_roots::RootIndex(0)).map(ObjectRef::address).expect("rooted");
        heap.store(head, Kind::Pair.slot_offset(1), head);
        heap.epoch();
        heap.set_root(0, None);
        heap.epoch();
        heap.epoch();
        heap.collect();
        assert_eq!(heap.totals().live_objects, 0);
    });
}

/// scenario 51: millions of objects die at once with two live roots: memory stays bounded.
#[test]
fn immediately_dead_allocations_stay_in_a_bounded_heap() {
    let count = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };
    for options in both_plans() {
        let plan = options.plan;
        let mut heap = TallyHeap::new(HeapOptions { epoch_bytes: 1 << 20, ..options });
        let kept = [Kind::Pair, Kind::Leaf].map(|kind| heap.allocate(kind, 0).expect("room"));
        kept.into_iter().for_each(|object| heap.push_root(Some(object)));
        heap.store(kept[0], 0, kept[1]);
        let mut used_max = 0;
        for number in 0..count {
            heap.allocate(Kind::Leaf, 0).expect("room");
            if plan == Plan::Prompt {
                heap.poll();
            }
            if number % 1000 == 0 {
                used_max = used_max.max(heap.mutator.heap().used_bytes());
            }
        }
        assert!(used_max < 4 << 20, "{used_max} bytes of blocks were in use");
        assert_eq!(heap.load(kept[0], 0), kept[1]);
        heap.epoch();
        let figures = heap.mutator.statistics();
        assert_eq!((figures.freed_objects(), figures.live_objects), (count, 2), "{plan:?}");
        assert_eq!(figures.died_young_objects, if plan == Plan::Deferred { count } else { 0 });
    }
}

/// scenarios 37, 42: rings under allocation load are collected without anybody asking.
#[test]
fn rings_under_load_are_collected_without_asking() {
    let mut heap = TallyHeap::new(HeapOptions { epoch_bytes: 256 << 10, ..HeapOptions::default() });
    heap.push_root(None);
    let mut live_max = 0;
    for round in 0..20_000 {
        let first = heap.allocate(Kind::Pair, 0).expect("room");
        heap.set_root(0, Some(first));
        let second = heap.allocate(Kind::Pair, 0).expect("room");
        heap.store(first, 0, second);
        heap.store(second, 0, first);
        if round % 50 == 0 {
            heap.poll();
            live_max = live_max.max(heap.totals().live_objects);
        }
    }
    assert!(live_max < 10_000, "{live_max} objects were mature at once, of which two were alive");
}
