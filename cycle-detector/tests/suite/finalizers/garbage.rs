//! Garbage that finalizers and callbacks make themselves: it is bounded while they run, too, however long that takes, and
//! a heap at its limit gets rid of it. `[BOUND]`

use crate::finalizers::{Age, FILE, LARGE, NODE, drop_all, mutator_with, new, ring, seen, set, type_of};
use std::cell::Cell;
use tally_collector::Mutator;
use tally_collector::evidence::GARBAGE_MAX;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};

const EPOCH_BYTES: u64 = 1 << 20;
/// What there may be at once: next to nothing is alive.
const LIMIT: u64 = (GARBAGE_MAX + 3) * EPOCH_BYTES;
/// What finalizers make, in all.
const MADE: u64 = 2 * LIMIT;
/// Nodes of a ring, and their bytes.
const RING: u64 = 100;
const RING_BYTES: u64 = RING * 32;
/// Finalizers that make a share of it each.
const FINALIZERS: u64 = 64;

thread_local! {
    static PEAK: Cell<u64> = const { Cell::new(0) };
    /// Finalizers that have found the heap sound.
    static SOUND: Cell<u64> = const { Cell::new(0) };
}

/// Both plans, with and without a pause goal.
fn settings() -> impl Iterator<Item = HeapOptions> {
    Plan::ALL.into_iter().flat_map(|plan| {
        [None, Some(1_000_000)].map(|pause_goal_ns| HeapOptions {
            plan,
            pause_goal_ns,
            epoch_bytes: EPOCH_BYTES,
            ..HeapOptions::default()
        })
    })
}

/// Makes rings and lets go of each.
fn make_rings(m: &mut Mutator, bytes: u64) {
    let base = m.root_count();
    for made in 0..bytes / RING_BYTES {
        ring(m, &NODE, 0, RING);
        m.truncate_roots(base);
        m.poll();
        if made.is_multiple_of(16) {
            PEAK.set(PEAK.get().max(m.statistics().live_bytes));
        }
    }
}

fn makes_all(m: &mut Mutator, _: ObjectRef) {
    make_rings(m, MADE);
}

fn makes_a_share(m: &mut Mutator, _: ObjectRef) {
    make_rings(m, MADE / FINALIZERS);
}

/// Collects until so many finalizers have run.
fn collect_until(m: &mut Mutator, count: usize) {
    let mut called = seen().len();
    while called < count {
        m.collect();
        called += seen().len();
    }
}

fn check_peak(what: &str, options: &HeapOptions) {
    let peak = PEAK.replace(0);
    assert!((1..=LIMIT).contains(&peak), "{what}, {options:?}: {peak} bytes at once, {LIMIT} are allowed");
}

#[test]
fn garbage_of_one_finalizer_that_runs_for_long_is_bounded() {
    for options in settings() {
        for age in [Age::Young, Age::Mature] {
            for in_a_ring in [false, true] {
                let mut m = mutator_with(options.clone(), Some(makes_all));
                match in_a_ring {
                    true => _ = ring(&mut m, &FILE, 0, 1),
                    false => _ = new(&mut m, &FILE, 0),
                }
                drop_all(&mut m, age);
                collect_until(&mut m, 1);
                check_peak("one finalizer", &options);
                m.verify().expect("sound");
            }
        }
    }
}

/// The list dies by counting, and what is left of it waits while each of its finalizers runs.
#[test]
fn garbage_of_the_finalizers_of_a_dying_list_is_bounded() {
    for options in settings() {
        let mut m = mutator_with(options.clone(), Some(makes_a_share));
        let first = new(&mut m, &FILE, 0);
        for number in 1..FINALIZERS {
            let next = new(&mut m, &FILE, number);
            let rest = m.root(RootIndex(0));
            set(&mut m, next, 0, rest);
            m.set_root(RootIndex(0), Some(next));
            m.truncate_roots(1);
        }
        assert_ne!(m.root(RootIndex(0)), Some(first));
        drop_all(&mut m, Age::Young);
        collect_until(&mut m, FINALIZERS as usize);
        check_peak("a list", &options);
        m.verify().expect("sound");
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{options:?}");
    }
}

/// They wait on the queue, each held until its finalizer has run.
#[test]
fn garbage_of_the_finalizers_of_a_dead_ring_is_bounded() {
    for options in settings() {
        let mut m = mutator_with(options.clone(), Some(makes_a_share));
        ring(&mut m, &FILE, 0, FINALIZERS);
        drop_all(&mut m, Age::Mature);
        collect_until(&mut m, FINALIZERS as usize);
        check_peak("a ring", &options);
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{options:?}");
    }
}

#[test]
fn full_heap_is_collected_inside_a_finalizer() {
    for options in settings() {
        let options = HeapOptions { heap_limit: Some(4 << 20), epoch_bytes: 64 << 20, ..options };
        let mut m = mutator_with(options.clone(), Some(makes_all));
        new(&mut m, &FILE, 0);
        drop_all(&mut m, Age::Mature);
        collect_until(&mut m, 1);
        PEAK.set(0);
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{options:?}");
    }
}

/// A structure that a finalizer interrupts is still being taken apart when a mark judges all: the mark finds none of the
/// rest dead, which is finalized in its order.
#[test]
fn rest_of_a_dying_structure_outlives_a_mark_inside_its_finalizer() {
    fn has_the_heap_marked(m: &mut Mutator, object: ObjectRef) {
        if object.slot(16).read().is_multiple_of(16) {
            let marks = m.statistics().marks;
            make_rings(m, 8 << 20);
            assert_ne!(m.statistics().marks, marks);
        }
        m.verify().expect("sound inside");
        SOUND.set(SOUND.get() + 1);
    }
    for options in settings().filter(|options| options.plan == Plan::Prompt) {
        let options = HeapOptions { eager_marks: true, ..options };
        let mut m = mutator_with(options.clone(), Some(has_the_heap_marked));
        // The last made is the first to be let go of.
        let array = m.allocate_array(type_of(&LARGE), FINALIZERS).expect("room");
        m.push_root(Some(array));
        for number in 0..FINALIZERS {
            let file = new(&mut m, &FILE, number);
            set(&mut m, array, 24 + 8 * (FINALIZERS - 1 - number), Some(file));
            let node = new(&mut m, &NODE, 0);
            set(&mut m, node, 0, Some(node));
            set(&mut m, file, 8, Some(node));
            m.truncate_roots(1);
        }
        // None is on the pending list from its birth.
        m.poll();
        m.truncate_roots(0);
        m.collect();
        let in_order: Vec<u64> = std::iter::once(FINALIZERS).chain((0..FINALIZERS).rev()).collect();
        assert_eq!(seen(), in_order, "{options:?}");
        assert_eq!(SOUND.replace(0), FINALIZERS + 1, "{options:?}");
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{options:?}");
    }
}
