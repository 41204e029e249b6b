//! `[BOUND]` No slice does more than its budget and one step, whatever is in the heap. The flip is no slice.

use crate::effort::{World, options};
use tally_collector::plan::deferred::epoch::STEP_UNITS_MAX;
use tally_collector::slice::CHUNK_UNITS;
use tally_heap::HeapOptions;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

const SLICE_UNITS: u32 = 64;

/// All that makes steps long: large arrays that are written, held by many roots and dropped, rings of all sizes, deep
/// lists, wide and traced objects, ephemerons, in a heap that marks all the time.
#[test]
fn slices_of_a_mixed_heap_keep_to_their_budget() {
    let mut world = World::with(HeapOptions {
        slice_units: Some(SLICE_UNITS),
        eager_marks: true,
        epoch_bytes: 128 << 10,
        ..options()
    });
    world.graph_at_root(0, 20_000);
    world.list_at_root(1, 10_000);
    for root in 3000..3100 {
        let node = world.get(world.root(0), Kind::Array, root);
        world.set_root(root as usize, node);
    }
    let mut marks = 0;
    for round in 0..40 {
        let array = world.root(0);
        for index in 0..2000 {
            let other = world.below(20_000);
            let other = world.get(array, Kind::Array, other);
            world.set(array, Kind::Array, (round * 2000 + index) % 20_000, other);
        }
        world.ring_at_root(4, 1 + round * 40);
        world.list_at_root(5, 3000);
        let wide = world.allocate(Kind::Array, 2000);
        world.set_root(6, wide);
        for slot in 0..2000 {
            let [wide, member] = [world.root(6), world.root(4)];
            world.set(wide, Kind::Array, slot, if slot % 17 == 0 { member } else { wide });
        }
        for _ in 0..30 {
            let (key, value) = (world.root(4), world.root(6));
            let ephemeron = world.new_ephemeron(key, value);
            let list = world.root(1);
            world.set(list, Kind::Pair, 1, ephemeron);
        }
        let large = world.allocate(Kind::Array, 30_000);
        world.set_root(7, large);
        let member = world.root(4);
        world.heap.fill_refs(large, Kind::Array.slot_offset(0), member, 100);
        world.set(member, Kind::Pair, 1, large);
        for root in [4, 5, 6, 7] {
            (0..50 * round).for_each(|_| _ = world.heap.mutator.step(SLICE_UNITS.into()));
            world.set_root(root, 0);
        }
        world.heap.flip();
        while world.heap.mutator.step(SLICE_UNITS.into()) {}
        marks = world.statistics().marks;
    }
    let now = world.statistics();
    assert!(marks > 2 && now.cyclic_garbage_objects > 1000, "{now:?}");
    let limit = u64::from(SLICE_UNITS) + STEP_UNITS_MAX;
    assert!(now.slice_units_max <= limit, "a slice did {} units, {limit} are allowed", now.slice_units_max);
    world.heap.verify().expect("in order");
}

/// What a mark condemns fills its blocks: 32 KiB of dead rings, each member of which lets go of a survivor, took as long as
/// a whole slice may, and two of them twice that.
#[test]
fn block_full_of_the_dead_is_condemned_in_parts() {
    let mut world = World::with(HeapOptions { slice_units: Some(SLICE_UNITS), trials: false, ..options() });
    world.ring_at_root(0, 20_000);
    world.heap.epoch();
    world.set_root(0, 0);
    world.heap.flip();
    while world.heap.mutator.step(SLICE_UNITS.into()) {}
    let before = world.heap.mutator.statistics();
    world.heap.mutator.heap().options_mut().eager_marks = true;
    world.heap.flip();
    while world.heap.mutator.step(SLICE_UNITS.into()) {}
    let now = world.statistics();
    assert!(now.marks > before.marks && now.live_objects == 0, "{now:?}");
    let limit = u64::from(SLICE_UNITS) + CHUNK_UNITS as u64 + 64;
    assert!(now.slice_units_max <= limit, "a slice did {} units, {limit} are allowed", now.slice_units_max);
}

/// A hundred thousand roots are not shown to a mark in one slice.
#[test]
fn roots_are_shown_to_a_mark_a_few_at_a_time() {
    let roots = 100_000;
    let mut world = World::with(HeapOptions { slice_units: Some(SLICE_UNITS), ..options() });
    for root in 0..roots {
        let node = world.allocate(Kind::Link, 0);
        world.set_root(root, node);
    }
    world.heap.epoch();
    world.heap.mutator.heap().options_mut().eager_marks = true;
    let marks = world.statistics().marks;
    world.heap.flip();
    let mut slices = 0;
    while world.heap.mutator.step(SLICE_UNITS.into()) {
        slices += 1;
    }
    assert!(world.statistics().marks > marks);
    assert!(slices > roots / SLICE_UNITS as usize, "{slices} slices");
    assert_eq!(world.heap.totals().live_objects, roots as u64);
    // A flip between two slices wants them all at once; what they hold stays.
    for slices in [1, 400, 1000, 3000] {
        world.heap.flip();
        (0..slices).for_each(|_| _ = world.heap.mutator.step(SLICE_UNITS.into()));
        world.heap.epoch();
        assert_eq!(world.heap.totals().live_objects, roots as u64);
        world.heap.verify().expect("in order");
    }
}
