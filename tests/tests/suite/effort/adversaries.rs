//! Inputs on which trial deletion is known to degrade, each with the same three questions: were no more references
//! followed than was paid for, is all garbage gone after an explicit collection, and was the work bounded when all of
//! it was in vain?

use crate::effort::{EPOCH_BYTES, Effort, World, options};
use tally_collector::evidence::TURNOVER;
use tally_heap::HeapOptions;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Runs `program`; then `live` objects are left by a collection, none when the roots are gone, and what trials followed
/// was paid for.
fn check(live: u64, build: impl FnOnce(&mut World), program: impl FnOnce(&mut World)) -> Effort {
    let mut world = World::new();
    build(&mut world);
    world.epoch_in_slices();
    let before = world.statistics();
    program(&mut world);
    world.epoch_in_slices();
    let now = world.statistics();
    Effort::since(&Default::default(), &now).check_trials();
    let effort = Effort::since(&before, &now);
    world.heap.verify().expect("in order");
    world.heap.collect();
    assert_eq!(world.heap.totals().live_objects, live, "{:?}", world.statistics());
    world.heap.truncate_roots(0);
    world.heap.collect();
    assert_eq!((world.heap.totals().live_objects, world.heap.totals().used_bytes), (0, 0));
    effort
}

/// The head of a long live list is held and let go of, again and again.
#[test]
fn toggled_head_of_a_long_live_list() {
    let effort = check(
        100_002,
        |world| {
            world.list_at_root(0, 100_000);
            for root in [1, 2] {
                let holder = world.allocate(Kind::Pair, 0);
                world.set_root(root, holder);
            }
        },
        |world| {
            for round in 0..2000 {
                let (head, holder) = (world.root(0), world.root(1 + round % 2));
                world.set(holder, Kind::Pair, 0, head);
                let other = world.root(1 + (round + 1) % 2);
                world.set(other, Kind::Pair, 0, 0);
                world.epoch_in_slices();
            }
        },
    );
    effort.check_trials_in_vain(0);
    assert_eq!(effort.mark_units, 0, "nothing grew");
}

/// The same with the list's members instead: each node loses and gets back a second reference.
#[test]
fn every_node_of_a_long_live_list_toggled() {
    let effort = check(
        50_001,
        |world| {
            let holder = world.allocate(Kind::Array, 8);
            world.set_root(0, holder);
            world.list_at_root(1, 50_000);
        },
        |world| {
            let mut node = world.root(1);
            for step in 0..50_000 {
                let holder = world.root(0);
                world.set(holder, Kind::Array, step % 8, node);
                node = world.get(node, Kind::Pair, 0);
                if step % 8 == 7 {
                    world.epoch_in_slices();
                }
            }
        },
    );
    effort.check_trials_in_vain(256 << 10);
}

/// Each of two hundred objects refers to all; they lose references to each other one by one.
#[test]
fn clique() {
    let slots = 200;
    let effort = check(
        slots + 1,
        |world| {
            let all = world.arrays_at_root(0, slots, slots);
            for index in 0..slots {
                let node = world.get(all, Kind::Array, index);
                for other in 0..slots {
                    let target = world.get(all, Kind::Array, other);
                    world.set(node, Kind::Array, other, target);
                }
            }
        },
        |world| {
            for round in 0..slots {
                let all = world.root(0);
                for index in 0..slots {
                    let node = world.get(all, Kind::Array, index);
                    world.set(node, Kind::Array, (index + round) % slots, 0);
                    world.heap.poll();
                }
            }
        },
    );
    effort.check_trials_in_vain(256 << 10);
}

/// A chain of a hundred thousand objects whose end refers to its start loses and gets back its one root.
#[test]
fn deep_chain() {
    let effort = check(
        100_000,
        |world| world.ring_at_root(0, 100_000),
        |world| {
            for _ in 0..500 {
                let node = world.root(0);
                let next = world.get(node, Kind::Pair, 0);
                world.set_root(0, next);
                world.epoch_in_slices();
            }
        },
    );
    effort.check_trials_in_vain(0);
}

/// Rings with one reference from outside, which moves around each.
#[test]
fn rings_with_one_outside_reference() {
    for length in [3, 50, 120, 130, 1000] {
        let rings = 20_000 / length;
        let effort = check(
            rings * length + 1,
            |world| {
                world.rings_at_root(0, rings, length);
            },
            |world| {
                for _ in 0..40 {
                    let all = world.root(0);
                    for index in 0..rings {
                        let member = world.get(all, Kind::Array, index);
                        let next = world.get(member, Kind::Pair, 0);
                        world.set(all, Kind::Array, index, next);
                    }
                    world.epoch_in_slices();
                }
            },
        );
        effort.check_trials_in_vain(256 << 10);
    }
}

fn large_graph_touched_at_random(nodes: u64, writes: u64) {
    let effort = check(
        nodes + 1,
        |world| world.graph_at_root(0, nodes),
        |world| {
            let array = world.root(0);
            for _ in 0..writes {
                let [from, to] =
                    [world.below(nodes), world.below(nodes)].map(|place| world.get(array, Kind::Array, place));
                let slot = world.below(2);
                world.set(from, Kind::Pair, slot, to);
                world.heap.poll();
            }
        },
    );
    effort.check_trials_in_vain(256 << 10);
    effort.check_marks_in_vain(4.0);
}

/// A live graph of which every node is a candidate sooner or later.
#[test]
fn large_live_graph_touched_at_random() {
    large_graph_touched_at_random(300_000, 400_000);
}

/// The same at a size that only a release build fills in time.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "ten million objects take a minute without optimisation: cargo test --release --test suite effort::"
)]
fn ten_million_live_objects_touched_at_random() {
    large_graph_touched_at_random(10_000_000, 10_000_000);
}

/// A loop that does nothing but make candidates: each time a live hub's reference moves from one field to another.
#[test]
fn candidates_in_a_hot_loop() {
    let effort = check(
        20_003,
        |world| {
            world.ring_at_root(0, 20_000);
            for root in [1, 2, 3] {
                let holder = world.allocate(Kind::Pair, 0);
                world.set_root(root, holder);
            }
        },
        |world| {
            let mut hub = world.root(0);
            for round in 0..300_000 {
                let holder = world.root(1 + round % 3);
                world.set(holder, Kind::Pair, (round / 3 % 2) as u64, hub);
                hub = world.get(hub, Kind::Pair, 0);
                if round % 50 == 0 {
                    world.heap.flip();
                }
                world.heap.poll();
            }
        },
    );
    effort.check_trials_in_vain(256 << 10);
}

/// Garbage rings that refer to a live graph, which trials must find without following that; and the hubs are candidates, too.
#[test]
fn garbage_rings_that_hang_from_live_hubs() {
    let (hubs, rings) = (50_000, 60_000);
    let mut freed_by_trials = 0;
    let effort = check(
        hubs + 1,
        |world| world.graph_at_root(0, hubs),
        |world| {
            for round in 0..rings {
                world.ring_at_root(1, 3);
                let (array, place) = (world.root(0), world.below(hubs));
                let (hub, ring) = (world.get(array, Kind::Array, place), world.root(1));
                let member = world.get(ring, Kind::Pair, 0);
                world.set(member, Kind::Pair, 1, hub);
                // The ring is held by a hub for a while, in place of one of the hub's own references.
                world.set(hub, Kind::Pair, round % 2, ring);
                world.set_root(1, 0);
                let other = world.below(hubs);
                let other = world.get(array, Kind::Array, other);
                world.set(other, Kind::Pair, round % 2, hub);
                world.heap.poll();
            }
            freed_by_trials = world.statistics().cyclic_garbage_objects;
            // What is held now is let go of.
            let array = world.root(0);
            for index in 0..hubs {
                let hub = world.get(array, Kind::Array, index);
                world.set(hub, Kind::Pair, 0, 0);
                world.set(hub, Kind::Pair, 1, 0);
            }
        },
    );
    effort.check_trials();
    assert!(freed_by_trials > rings / 4, "{freed_by_trials} objects of {rings} rings");
}

/// Cycles that are cut loose by writes alone: nothing is allocated meanwhile, and they go all the same.
#[test]
fn cycles_unlinked_without_any_allocation() {
    let rings = 30_000;
    let mut left = u64::MAX;
    check(
        1,
        |world| {
            world.rings_at_root(0, rings, 4);
        },
        |world| {
            let all = world.root(0);
            for index in 0..rings {
                world.set(all, Kind::Array, index, 0);
                if index % 1000 == 0 {
                    world.heap.flip();
                }
                for _ in 0..4 {
                    world.heap.poll();
                }
            }
            world.epoch_in_slices();
            left = world.heap.totals().live_objects;
        },
    );
    assert!(left < rings * 4 / 4, "{left} of {} objects are left although nothing refers to them", rings * 4);
}

/// Objects with two thousand references each are candidates: what counts is references, not objects.
#[test]
fn wide_objects_as_candidates() {
    let (objects, width) = (200, 2000);
    let effort = check(
        objects + 1,
        |world| {
            let all = world.arrays_at_root(0, objects, width);
            for index in 0..objects {
                let node = world.get(all, Kind::Array, index);
                for slot in 0..width {
                    let target = world.below(objects);
                    let target = world.get(all, Kind::Array, target);
                    // So many references that no count is stuck.
                    if slot % 20 == 0 {
                        world.set(node, Kind::Array, slot, target);
                    } else {
                        world.set(node, Kind::Array, slot, 0);
                    }
                }
            }
        },
        |world| {
            for round in 0..400 {
                let all = world.root(0);
                for index in 0..objects {
                    let node = world.get(all, Kind::Array, index);
                    world.set(node, Kind::Array, round % 100 * 20, 0);
                }
                world.epoch_in_slices();
            }
        },
    );
    effort.check_trials_in_vain(256 << 10);
}

/// A program that frees nothing for an hour and then makes garbage where the detector had given up: naps end.
#[test]
fn garbage_where_everything_was_alive_for_long() {
    let rings = 1000;
    let mut world = World::with(HeapOptions { epoch_bytes: 64 << 10, ..options() });
    world.rings_at_root(0, rings, 8);
    for _ in 0..600 {
        let all = world.root(0);
        for index in 0..rings / 10 {
            let member = world.get(all, Kind::Array, index * 10);
            let next = world.get(member, Kind::Pair, 0);
            world.set(all, Kind::Array, index * 10, next);
        }
        world.epoch_in_slices();
    }
    let in_vain = world.statistics();
    let rate = in_vain.trial_runs as f64 / in_vain.candidates as f64;
    assert!(rate < 0.2, "{} trials for {} candidates", in_vain.trial_runs, in_vain.candidates);
    let all = world.root(0);
    world.heap.fill_refs(all, Kind::Array.slot_offset(0), 0, rings);
    // The program goes on, with garbage that costs nothing.
    let turnover = 9 * TURNOVER * (world.statistics().live_bytes + EPOCH_BYTES);
    let limit = world.statistics().allocated_bytes + turnover;
    while world.heap.totals().live_objects > 1 {
        world.allocate(Kind::Medium, 0);
        assert!(world.statistics().allocated_bytes < limit, "{:?}", world.statistics());
    }
}
