//! Memory is short while cycles are collected: the mark stack and the candidate buffer cannot grow. Nothing is lost by that.

use crate::effort::{World, options};
use tally_heap::HeapOptions;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

fn short_of_memory(entries: usize) -> HeapOptions {
    HeapOptions { list_entries_max: Some(entries), ..options() }
}

/// Structures of which a mark has many objects on its stack at once, each of them once alive and once garbage.
#[test]
fn marks_with_a_stack_of_a_few_entries_find_the_same() {
    for entries in [0, 1, 8, 100] {
        let mut world = World::with(short_of_memory(entries));
        // The nodes of the second of each pair of roots are garbage later.
        for root in [0, 1] {
            world.graph_at_root(root, 2000);
        }
        for root in [2, 3] {
            world.ring_at_root(root, 3000);
        }
        for root in [4, 5] {
            let hub = world.allocate(Kind::Array, 500);
            world.set_root(root, hub);
            for index in 0..500 {
                let leaf = world.allocate(Kind::Array, 3);
                let hub = world.root(root);
                world.set(hub, Kind::Array, index, leaf);
                world.set(leaf, Kind::Array, index % 3, hub);
            }
        }
        world.heap.collect();
        let all = world.heap.totals().live_objects;
        assert_eq!(all, 2 * (2001 + 3000 + 501), "{entries} entries");
        world.heap.verify().expect("in order");
        for root in [1, 3, 5] {
            world.set_root(root, 0);
        }
        world.heap.collect();
        assert_eq!(world.heap.totals().live_objects, all / 2, "{entries} entries");
        world.heap.verify().expect("in order");
        world.heap.truncate_roots(0);
        world.heap.collect();
        assert_eq!(world.heap.totals().live_objects, 0, "{entries} entries");
    }
}

/// A mark that overflows beside a program that goes on, moves what it holds, and has memory again later.
#[test]
fn program_goes_on_while_a_mark_has_no_room_and_gets_it_back() {
    let nodes = 3000;
    let mut world = World::with(HeapOptions { eager_marks: true, slice_units: Some(300), ..short_of_memory(4) });
    world.graph_at_root(0, nodes);
    world.epoch_in_slices();
    for round in 0..60_u64 {
        world.ring_at_root(1, 200);
        world.heap.flip();
        world.set_root(1, 0);
        for _ in 0..200 {
            let array = world.root(0);
            let [from, to] = [world.below(nodes), world.below(nodes)].map(|place| world.get(array, Kind::Array, place));
            world.set(from, Kind::Pair, round % 2, to);
            world.heap.step(300);
        }
    }
    assert!(world.statistics().marks > 3, "{:?}", world.statistics());
    world.heap.verify().expect("in order");
    assert!(world.heap.totals().live_objects >= nodes);
    world.heap.mutator.heap().options_mut().list_entries_max = None;
    world.heap.collect();
    assert_eq!(world.heap.totals().live_objects, nodes + 1);
}

/// No candidate can be noted: all are suspects, and the mark finds what trials would have.
#[test]
fn candidates_for_which_there_is_no_room_are_left_to_the_mark() {
    let mut world = World::with(short_of_memory(0));
    world.list_at_root(0, 1000);
    let mut peak = 0;
    for _ in 0..60_000 {
        world.ring_at_root(1, 4);
        peak = peak.max(world.heap.totals().live_objects);
    }
    let now = world.statistics();
    assert_eq!((now.candidates, now.trial_runs), (0, 0));
    assert!(now.marks > 0 || now.promoted_objects < 20_000, "{now:?}");
    assert!(peak < 120_000, "{peak} of 240,000 were there at once");
    world.set_root(1, 0);
    world.heap.collect();
    assert_eq!(world.heap.totals().live_objects, 1000);
}
