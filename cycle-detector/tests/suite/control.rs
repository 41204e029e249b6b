//! What a host asks of a running heap, under both plans: to stop, to work in parts, to say what is there.

use std::collections::HashSet;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::HeapEntry;
use tally_heap::plan::Plan;
use tally_heap::{Heap, HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static LEAF: TypeDescriptor = TypeDescriptor::plain(c"Leaf", 16, &[]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// A test of both plans: each gets a heap that counts what it allocates.
fn each_plan(test: impl Fn(Mutator)) {
    each_of(&Plan::ALL, test);
}

fn each_of(plans: &[Plan], test: impl Fn(Mutator)) {
    for &plan in plans {
        test(new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space"));
    }
}

fn node(m: &mut Mutator) -> ObjectRef {
    let node = type_of(&NODE);
    m.allocate(node).expect("room")
}

fn set(m: &mut Mutator, object: ObjectRef, offset: u64, target: ObjectRef) {
    m.write(object, object.slot(offset), target.address());
}

/// A ring of `count` nodes that nothing holds.
fn drop_ring(m: &mut Mutator, count: usize) {
    let base = m.root_count();
    let first = node(m);
    let held = m.push_root(Some(first));
    m.push_root(Some(first));
    for _ in 1..count {
        let next = node(m);
        let last = m.root(tally_heap::services::host_roots::RootIndex(held.0 + 1)).expect("set");
        set(m, last, 0, next);
        m.set_root(tally_heap::services::host_roots::RootIndex(held.0 + 1), Some(next));
    }
    let last = m.root(tally_heap::services::host_roots::RootIndex(held.0 + 1)).expect("set");
    set(m, last, 0, first);
    m.truncate_roots(base);
}

fn allocate_garbage(m: &mut Mutator, objects: usize) {
    for _ in 0..objects {
        node(m);
        m.poll();
    }
}

/// As Lua's `collectgarbage("count")` and `("step", n)`: what is counted rises with allocation, and steps for bytes bring it down.
#[test]
fn live_bytes_rise_with_allocation_and_fall_with_steps_for_bytes() {
    each_plan(|mut m| {
        m.heap().stop();
        let first = m.heap().live_bytes();
        drop_ring(&mut m, 2000);
        let full = m.heap().live_bytes();
        assert!(full >= first + 2000 * 32, "{full}");
        let heap = &raw mut *m.heap();
        // SAFETY: [HELD] the mutator's heap, which nothing borrows meanwhile.
        let step = || tally_heap::Heap::step_bytes(unsafe { tally_heap::heap::HeapEntry::of(heap) }, 4096);
        let steps = (0..100_000).take_while(|_| !step()).count();
        assert!(steps < 100_000 && m.heap().live_bytes() <= first, "{steps} steps, {} bytes", m.heap().live_bytes());
        assert!(!m.heap().is_running(), "an explicit request leaves it stopped");
    });
}

/// scenario 30, 39: epochs, drains and trials wait, whatever is allocated and polled; what is asked for is done.
#[test]
fn nothing_dies_while_the_collector_is_stopped() {
    each_plan(|mut m| {
        m.set_epoch_bytes(0);
        m.set_pause_goal(1);
        assert!(m.is_running());
        m.stop();
        assert!(!m.is_running());
        let before = m.statistics();
        for _ in 0..200 {
            drop_ring(&mut m, 5);
        }
        allocate_garbage(&mut m, 20_000);
        m.heap().count_hole();
        let after = m.statistics();
        assert_eq!(after.freed_objects(), before.freed_objects(), "{:?}", m.heap().plan());
        assert_eq!((after.epochs, after.pauses), (before.epochs, before.pauses));
        assert_eq!(after.allocated_objects - before.allocated_objects, 21_000);
        assert_eq!(m.collect(), 21_000, "an explicit collection works");
        assert!(!m.is_running(), "and does not restart it");
        m.verify().expect("a sound heap");
    });
}

/// An epoch is an eighth of what is alive if that is more than was asked for, unless the program has said how long it is to be, or
/// memory is limited.
#[test]
fn epochs_grow_with_the_live_heap() {
    const EPOCH: u64 = 64 << 10;
    const LIVE: u64 = 3 << 20;
    for (heap_limit, grows) in [(None, true), (None, false), (Some(1 << 30), true)] {
        let options = HeapOptions {
            epoch_bytes: EPOCH,
            epoch_grows: grows,
            heap_limit,
            slice_units: Some(16_384),
            ..HeapOptions::default()
        };
        let mut m = new_mutator(options).expect("address space");
        assert_eq!(m.heap().epoch_bytes(), EPOCH, "nothing is alive");
        while m.statistics().allocated_bytes < LIVE {
            let object = node(&mut m);
            m.push_root(Some(object));
            m.heap().count_hole();
        }
        m.collect();
        let live = m.statistics().live_bytes;
        let epoch = if grows && heap_limit.is_none() { live / 8 } else { EPOCH };
        assert_eq!(m.heap().epoch_bytes(), epoch);
        let before = m.statistics();
        while m.statistics().allocated_bytes < before.allocated_bytes + 8 * LIVE {
            allocate_garbage(&mut m, 1000);
        }
        let (epochs, most) = (m.statistics().epochs - before.epochs, 8 * LIVE / epoch);
        assert!((most / 4..=most + 1).contains(&epochs), "{epochs} epochs, {most} at most");
        m.set_epoch_bytes(EPOCH);
        assert_eq!(m.heap().epoch_bytes(), EPOCH, "the program has asked for it");
    }
}

/// scenario 31: candidates are noted meanwhile.
#[test]
fn garbage_made_while_stopped_is_found_after_the_restart() {
    each_plan(|mut m| {
        m.set_epoch_bytes(64 << 10);
        m.stop();
        for _ in 0..1000 {
            drop_ring(&mut m, 4);
        }
        m.restart();
        assert!(m.is_running());
        allocate_garbage(&mut m, 200_000);
        let freed = m.statistics().freed_objects();
        assert!(freed >= 4000 + 100_000, "{:?}: only {freed} objects died", m.heap().plan());
        m.verify().expect("a sound heap");
    });
}

/// scenario 40: a step does what it is asked for, and no more.
#[test]
fn stepping_a_stopped_collector_does_not_restart_it() {
    each_plan(|mut m| {
        m.set_epoch_bytes(0);
        m.stop();
        drop_ring(&mut m, 100);
        while !m.collect_for(1000) {}
        assert_eq!(m.statistics().freed_objects(), 100);
        assert!(!m.is_running());
        allocate_garbage(&mut m, 20_000);
        assert_eq!(m.statistics().freed_objects(), 100, "{:?}", m.heap().plan());
    });
}

/// scenario 42: known garbage is gone when a step says that it was the last, and no earlier than by steps.
#[test]
fn live_bytes_fall_by_steps() {
    each_of(&Plan::COUNTING, |mut m| {
        let kept = node(&mut m);
        m.push_root(Some(kept));
        m.collect();
        let base = m.statistics().live_bytes;
        let big = type_of(&ARRAY);
        for _ in 0..100 {
            let array = m.allocate_array(big, 500).expect("room");
            m.push_root(Some(array));
            set(&mut m, array, 8, array);
        }
        for _ in 0..500 {
            let object = node(&mut m);
            m.push_root(Some(object));
            m.write(object, object.slot(0), object.address());
        }
        m.epoch();
        let full = m.statistics().live_bytes;
        assert!(full > base + 100 * 4000);
        m.truncate_roots(1);
        let mut steps = 1;
        while !m.collect_for(0) {
            steps += 1;
        }
        assert_eq!(m.statistics().live_bytes, base, "{:?} after {steps} steps", m.heap().plan());
        assert!(m.heap().plan() == Plan::Prompt || steps > 3, "{steps} steps");
        m.verify().expect("a sound heap");
        // The next collection begins anew.
        m.truncate_roots(0);
        while !m.collect_for(u64::MAX) {}
        assert_eq!(m.statistics().live_objects, 0);
    });
}

/// A program goes on between two steps, and its own epochs come in between.
#[test]
fn steps_and_the_program_take_turns() {
    each_plan(|mut m| {
        m.set_epoch_bytes(8 << 10);
        for _ in 0..300 {
            drop_ring(&mut m, 7);
            let done = m.collect_for(100);
            if done {
                m.verify().expect("a sound heap");
            }
            allocate_garbage(&mut m, 10);
        }
        while !m.collect_for(100_000) {}
        assert_eq!(m.statistics().live_objects, 0, "{:?}", m.heap().plan());
    });
}

/// scenario 41
#[test]
fn thresholds_take_any_number() {
    each_plan(|mut m| {
        for bytes in [0, 1, 4097, i32::MAX as u64, i64::MAX as u64, u64::MAX] {
            m.set_epoch_bytes(bytes);
            allocate_garbage(&mut m, 2000);
        }
        for ns in [1, 0, 1000, i32::MAX as u64, u64::MAX, 0] {
            m.set_pause_goal(ns);
            drop_ring(&mut m, 20);
            allocate_garbage(&mut m, 2000);
            while !m.collect_for(ns) {}
        }
        assert_eq!(m.statistics().live_objects, 0);
        m.verify().expect("a sound heap");
    });
}

/// scenario 33
#[test]
fn a_collection_with_nothing_to_do_changes_nothing() {
    each_plan(|mut m| {
        let kept = node(&mut m);
        m.push_root(Some(kept));
        set(&mut m, kept, 0, kept);
        drop_ring(&mut m, 3);
        assert_eq!(m.collect(), 3);
        let count = m.count_of(kept);
        for _ in 0..3 {
            assert_eq!(m.collect(), 0);
            assert_eq!((m.count_of(kept), m.statistics().live_objects), (count, 1));
        }
    });
}

/// scenario 37
#[test]
fn a_program_that_never_asks_stays_small() {
    each_plan(|mut m| {
        for round in 0..20_000 {
            drop_ring(&mut m, 40);
            if round % 100 == 0 {
                m.poll();
            }
        }
        let statistics = m.statistics();
        assert!(statistics.epochs > 0);
        assert!(statistics.used_bytes < 32 << 20, "{:?}: {} bytes", m.heap().plan(), statistics.used_bytes);
    });
}

/// scenario 38: objects of acyclic types are not tried.
#[test]
fn leaves_are_never_tried() {
    each_plan(|mut m| {
        let (leaf, array) = (type_of(&LEAF), type_of(&ARRAY));
        let holder = m.allocate_array(array, 100).expect("room");
        m.push_root(Some(holder));
        let shared = m.allocate(leaf).expect("room");
        m.push_root(Some(shared));
        for index in 0..100 {
            set(&mut m, holder, 8 + index * 8, shared);
        }
        m.epoch();
        let (trials, edges) = (m.statistics().trial_runs, m.statistics().trial_edges);
        for index in 0..99 {
            m.write(holder, holder.slot(8 + index * 8), 0);
            m.epoch();
        }
        let now = m.statistics();
        assert_eq!((now.trial_runs, now.trial_edges), (trials, edges), "{:?}", m.heap().plan());
    });
}

/// scenario 36: what the counters say fits together at every moment.
#[test]
fn counters_are_consistent() {
    each_plan(|mut m| {
        m.set_epoch_bytes(16 << 10);
        let array = type_of(&ARRAY);
        for round in 0..400 {
            drop_ring(&mut m, 1 + round % 9);
            let kept = m.allocate_array(array, (round * 37 % 3000) as u64).expect("room");
            m.push_root(Some(kept));
            if round % 50 == 49 {
                m.truncate_roots(0);
                m.poll();
            }
            m.heap().count_hole();
            let now = m.statistics();
            let plan = m.heap().plan();
            assert_eq!(now.size_histogram.total(), now.allocated_objects, "{plan:?}");
            assert_eq!(now.pause_histogram.total(), now.pauses, "{plan:?}");
            assert!(now.freed_objects() + now.live_objects <= now.allocated_objects, "{plan:?}: {now:?}");
            assert!(now.pause_ns_max <= now.pause_ns_total && now.live_bytes <= now.used_bytes, "{plan:?}: {now:?}");
            assert_eq!(now.used_bytes, m.heap().used_bytes());
        }
        m.truncate_roots(0);
        m.collect();
        let end = m.statistics();
        assert_eq!((end.live_objects, end.live_bytes), (0, 0));
        assert_eq!(end.freed_objects(), end.allocated_objects);
        assert!(end.pauses > 0 && end.pause_histogram.used().len() > 5);
        assert!(end.size_histogram.buckets[5] >= 1600, "nodes take 32 bytes: {:?}", end.size_histogram);
    });
}

/// scenario 152
#[test]
fn a_walk_meets_every_live_object_once() {
    each_plan(|mut m| {
        let (leaf, array) = (type_of(&LEAF), type_of(&ARRAY));
        let mut expected = HashSet::new();
        for index in 0..3000u64 {
            let object = match index % 3 {
                0 => m.allocate(leaf),
                1 => m.allocate_array(array, index % 700 * 10),
                _ => m.allocate(leaf),
            }
            .expect("room");
            if index % 5 != 0 {
                m.push_root(Some(object));
                expected.insert(object);
            }
        }
        for _ in 0..2 {
            let found = m.objects();
            let unique: HashSet<ObjectRef> = found.iter().copied().collect();
            assert_eq!(unique.len(), found.len(), "{:?}: each once", m.heap().plan());
            assert_eq!(unique, expected, "{:?}: each live one, and no other", m.heap().plan());
        }
        m.truncate_roots(0);
        m.collect();
        assert_eq!(m.objects(), []);
    });
}

/// scenario 151
#[test]
fn the_leak_report_names_what_is_left() {
    each_plan(|mut m| {
        assert_eq!(m.leak_report(), None);
        drop_ring(&mut m, 3);
        assert_eq!(m.leak_report(), None, "garbage is no leak");
        let leaf = type_of(&LEAF);
        for _ in 0..4 {
            let leaf = m.allocate(leaf).expect("room");
            m.push_root(Some(leaf));
        }
        let kept = node(&mut m);
        m.push_root(Some(kept));
        let report = m.leak_report().expect("five objects");
        let lines: Vec<(&str, u64, u64)> =
            report.types.iter().map(|of| (of.name.as_str(), of.objects, of.bytes)).collect();
        assert_eq!(lines, [("Leaf", 4, 96), ("Node", 1, 32)]);
        assert_eq!((report.objects(), report.bytes(), report.host_roots), (5, 128, 5));
        let text = report.text("here");
        assert!(text.starts_with("tally: 5 objects (128 bytes) are still reachable here:\n"), "{text}");
        assert!(text.ends_with("  held by the host: 5 references\n"), "{text}");
        m.truncate_roots(0);
        assert_eq!(m.leak_report(), None);
    });
}

/// scenario 153
#[test]
fn addresses_are_classified_as_in_the_heap_or_not() {
    each_plan(|mut m| {
        let array = type_of(&ARRAY);
        let (small, large) = (node(&mut m), m.allocate_array(array, 100_000).expect("room"));
        m.push_root(Some(large));
        let mut other = new_mutator(HeapOptions::default()).expect("address space");
        let foreign = node(&mut other);
        let heap = m.heap();
        for inside in [small.address(), small.address() + 23, large.address(), large.address() + 700_000] {
            assert!(heap.contains(inside), "{inside:#x}");
        }
        let here = &raw const small as u64;
        let past = large.address() + (2 << 20);
        for outside in [0, 8, here, foreign.address(), past, tally_heap::memory::range::HEAP_BASE - 8, u64::MAX] {
            assert!(!heap.contains(outside), "{outside:#x}");
        }
        m.truncate_roots(0);
        m.collect();
        m.collect();
        assert!(!m.heap().contains(large.address() + 700_000), "its memory went back");
    });
}

/// scenario 27: a count that falls to non-zero makes a candidate, and no victim.
#[test]
fn a_reference_more_and_one_less_frees_nothing() {
    each_plan(|mut m| {
        let object = node(&mut m);
        m.push_root(Some(object));
        set(&mut m, object, 0, object);
        for _ in 0..5 {
            let more = m.push_root(Some(object));
            m.epoch();
            m.truncate_roots(more.0);
            assert_eq!(m.collect(), 0);
        }
        m.truncate_roots(0);
        assert_eq!(m.collect(), 1);
    });
}

/// Zeal has no marks in slices; a part of a collection is a whole one then.
#[test]
fn a_collection_in_parts_under_zeal_leaves_nothing() {
    for plan in Plan::ALL {
        let mut m = new_mutator(HeapOptions { plan, zeal: true, ..HeapOptions::default() }).expect("address space");
        let kept = node(&mut m);
        m.push_root(Some(kept));
        drop_ring(&mut m, 5);
        let mut parts = 1;
        while !m.collect_for(0) {
            parts += 1;
            assert!(parts < 1000, "{plan:?}: never complete");
        }
        assert_eq!(m.live_objects(), [kept], "{plan:?}, after {parts} parts");
        m.verify().expect("a sound heap");
    }
}

/// A library that was lowered for zeal may be loaded beside a heap that has none.
#[test]
fn safepoints_of_zeal_leave_what_is_in_flight_alone_in_a_heap_without_zeal() {
    each_of(&Plan::ALL, |mut m| {
        for _ in 0..3 {
            let object = node(&mut m);
            object.slot(0).store(0);
            let in_flight = [object.address()];
            // SAFETY: [HELD] nothing else of the heap is in use.
            let heap = unsafe { HeapEntry::of(&raw mut *m.heap()) };
            // SAFETY: one word may be read.
            unsafe { Heap::zeal_safepoint(heap, in_flight.as_ptr(), 1) };
            let again = node(&mut m);
            assert_ne!(object, again, "{:?}: its memory went", m.heap().plan());
            assert!(std::ptr::eq(object.type_info(), again.type_info()));
            let root = m.push_root(Some(object));
            m.write(object, object.slot(0), again.address());
            m.set_root(root, None);
            m.collect();
        }
    });
}

/// Whoever adds up what is there has what the counters say.
#[test]
fn bytes_of_all_objects_are_the_live_bytes() {
    each_of(&Plan::ALL, |mut m| {
        for length in [0, 1, 2, 10, 16, 17, 30, 100, 161, 500, 1200, 3000, 5000, 20_000] {
            let array = m.allocate_array(type_of(&ARRAY), length).expect("room");
            m.push_root(Some(array));
            m.collect();
            let mut bytes = 0;
            // SAFETY: [HELD] nothing else of the heap is in use.
            Heap::for_each_object(unsafe { HeapEntry::of(&raw mut *m.heap()) }, |_, of_cell| bytes += of_cell);
            assert_eq!(
                (bytes, m.heap().live_bytes()),
                (m.statistics().live_bytes, bytes),
                "{:?}, {length}",
                m.heap().plan()
            );
        }
    });
}
