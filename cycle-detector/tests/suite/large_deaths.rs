//! Memory of large objects that have died goes back in steps, and what waits for that is bounded. `[BOUND]`

use tally_collector::Mutator;
use tally_heap::memory::range::UNLOGGED;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

/// Bytes and nothing else.
static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 8, &[]).with_tail(0, 1, &[]);
static REFERENCES: TypeDescriptor = TypeDescriptor::plain(c"References", 8, &[]).with_tail(0, 8, &[0]);
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 16, &[0, 8]);

const MIB: u64 = 1 << 20;
/// Units in a slice: as many as four MiB that go back cost.
const SLICE_UNITS: u32 = 1024;
/// What may go back between two steps of the program: two slices at most, and a step of each.
const GIVEN_BACK_AT_ONCE: u64 = 10 * MIB;

/// Both plans, without and with a pause goal, in slices of so many units, if any.
fn all_options(slice_units: Option<u32>) -> impl Iterator<Item = HeapOptions> {
    let plans = [Plan::Deferred, Plan::Prompt];
    plans.into_iter().flat_map(move |plan| {
        let options = move || HeapOptions { plan, slice_units, epoch_bytes: MIB, ..HeapOptions::default() };
        [options(), HeapOptions { pause_goal_ns: Some(1_000_000), ..options() }]
    })
}

/// Drops an array, and lets the program allocate nodes, and poll, until its memory has gone; the most that went at once.
fn most_at_once(m: &mut Mutator, array: &'static TypeDescriptor, length: u64) -> u64 {
    let array = m.allocate_array(type_of(array), length).expect("address space");
    let root = m.push_root(Some(array));
    m.epoch();
    let held = m.heap().used_bytes();
    m.truncate_roots(root.0);
    let (mut before, mut most) = (held, 0);
    for _ in 0..1 << 20 {
        m.allocate(type_of(&NODE)).expect("room");
        m.poll();
        let now = m.heap().used_bytes();
        most = most.max(before.saturating_sub(now));
        if now < held / 8 {
            return most;
        }
        before = now;
    }
    panic!("{} of {held} bytes are still there: {:?}", before, m.heap().plan());
}

#[test]
fn gibibyte_array_dropped() {
    for options in all_options(Some(SLICE_UNITS)) {
        let what = format!("{options:?}");
        let mut m = new_mutator(options).expect("address space");
        let most = most_at_once(&mut m, &TEXT, 1 << 30);
        assert!(most <= GIVEN_BACK_AT_ONCE, "{most} bytes at once: {what}");
    }
}

/// The unlogged bits of their memory go with it: what lies there next is written to as if it had never been used.
#[test]
fn large_array_of_references_dropped_and_its_memory_used_again() {
    for options in all_options(Some(SLICE_UNITS)) {
        let what = format!("{options:?}");
        let mut m = new_mutator(options).expect("address space");
        for _ in 0..2 {
            let most = most_at_once(&mut m, &REFERENCES, 16 << 20);
            assert!(most <= GIVEN_BACK_AT_ONCE, "{most} bytes at once: {what}");
            m.collect();
            let again = m.allocate_array(type_of(&REFERENCES), 16 << 20).expect("address space");
            let root = m.push_root(Some(again));
            assert!((0..16 << 20).all(|at| again.slot(8 + at * 8).read() == 0), "it is empty: {what}");
            let armed = (0..16 << 20).step_by(512).any(|at| UNLOGGED.get(again.slot(8 + at * 8).granule()));
            assert!(!armed, "a young object has bits set: {what}");
            for at in (0..16 << 20).step_by(100_003) {
                let node = m.allocate(type_of(&NODE)).expect("room");
                let again = m.root(root).expect("held");
                m.write(again, again.slot(8 + at * 8), node.address());
            }
            m.epoch();
            m.verify().expect("in order");
            m.truncate_roots(root.0);
        }
        m.collect();
        assert_eq!(m.statistics().live_objects, 0, "{what}");
    }
}

/// A program that does nothing but allocate and drop large arrays gives its collector few slices.
#[test]
fn large_arrays_dropped_one_after_the_other_do_not_pile_up() {
    const ARRAY: u64 = 128 * MIB;
    for options in all_options(None).chain(all_options(Some(1))) {
        let what = format!("{options:?}");
        let mut m = new_mutator(options).expect("address space");
        let root = m.push_root(None);
        for _ in 0..50 {
            let array = m.allocate_array(type_of(&TEXT), ARRAY).expect("address space");
            m.set_root(root, Some(array));
            // What counting has not found dead yet is in use.
            let (used, kept) = (m.heap().used_bytes(), m.heap().kept_bytes());
            assert!(used - kept <= kept / 2 + 2 * MIB, "{used} bytes used, {kept} without what leaves: {what}");
        }
    }
}

/// What is on its way back is no reason to refuse an object.
#[test]
fn limit_leaves_room_for_another_array_of_the_same_size() {
    for options in all_options(Some(SLICE_UNITS)) {
        let what = format!("{options:?}");
        let limit = 160 * MIB;
        let mut m = new_mutator(HeapOptions { heap_limit: Some(limit), ..options }).expect("address space");
        for _ in 0..4 {
            let array = m.allocate_array(type_of(&TEXT), 128 * MIB).unwrap_or_else(|error| panic!("{error}: {what}"));
            let root = m.push_root(Some(array));
            assert!(m.heap().used_bytes() <= limit, "{what}");
            m.truncate_roots(root.0);
            m.poll();
        }
        let nodes = 100 * MIB / 24;
        for _ in 0..nodes {
            m.allocate(type_of(&NODE)).unwrap_or_else(|error| panic!("{error}: {what}"));
        }
        m.collect();
        assert_eq!(m.heap().large.used_bytes(), 0, "{what}");
    }
}
