//! The same bound for shapes in which trials of neighbours do not see that all is dead: each program makes one structure
//! after the other, lets go of it, and holds nothing else but a small list.

use crate::effort::World;
use crate::effort::garbage::{check, check_beside};
use tally_heap::plan::Plan;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, type_registry};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Bytes of a node.
const PAIR: u64 = 32;
const TRIPLE: u64 = 40;

unsafe extern "C-unwind" fn finalize(_object: *mut std::ffi::c_void) {}

/// Two references, as of a pair, and a finalizer.
// SAFETY: `finalize` takes any object of the type.
static FINALIZED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Finalized", 16, &[0, 8]).finalized(finalize) };

/// A structure of nodes with three references is at root 1, and is let go of.
fn let_go(world: &mut World) {
    world.heap.poll();
    world.heap.truncate_roots(1);
    world.heap.poll();
}

#[test]
fn rings_of_a_hundred_thousand() {
    check_beside(100_000 * PAIR, "long rings", |world, _| {
        world.ring_at_root(1, 100_000);
        let_go(world);
    });
}

/// Each node refers to its parent: the root of a tree is held by its children.
#[test]
fn trees_with_parents() {
    const NODES: u64 = 20_000;
    check_beside(NODES * (TRIPLE + 8), "trees", |world, _| {
        let all = world.allocate(Kind::Array, NODES);
        world.set_root(1, all);
        for index in 0..NODES {
            let node = world.allocate(Kind::Triple, 0);
            let all = world.root(1);
            world.set(all, Kind::Array, index, node);
            if index != 0 {
                let parent = world.get(all, Kind::Array, (index - 1) / 2);
                world.set(node, Kind::Triple, 2, parent);
                world.set(parent, Kind::Triple, (index - 1) % 2, node);
            }
        }
        let first = world.get(world.root(1), Kind::Array, 0);
        world.set_root(2, first);
        world.set_root(1, 0);
        let_go(world);
    });
}

#[test]
fn large_arrays_that_hold_themselves() {
    check("arrays that hold themselves", |world, _| {
        let array = world.allocate(Kind::Array, 10_000);
        world.set_root(1, array);
        world.set(array, Kind::Array, 0, array);
        world.epoch_in_slices();
        let_go(world);
    });
}

/// Each is larger than a batch of small objects.
#[test]
fn very_large_arrays_that_hold_themselves() {
    check_beside(800_000, "very large arrays", |world, _| {
        let array = world.allocate(Kind::Array, 100_000);
        world.set_root(1, array);
        world.set(array, Kind::Array, 99_999, array);
        world.epoch_in_slices();
        let_go(world);
    });
}

/// One object that all others refer to, and that refers to one of a list of them.
#[test]
fn stars() {
    check_beside(50_000 * PAIR, "stars", |world, _| {
        let middle = world.allocate(Kind::Pair, 0);
        world.set_root(1, middle);
        for _ in 0..50_000 {
            let ray = world.allocate(Kind::Pair, 0);
            let middle = world.root(1);
            let last = world.get(middle, Kind::Pair, 0);
            world.set(ray, Kind::Pair, 0, last);
            world.set(ray, Kind::Pair, 1, middle);
            world.set(middle, Kind::Pair, 0, ray);
        }
        let_go(world);
    });
}

/// A list with references both ways that grows at one end and is cut at the other.
#[test]
fn windows_over_a_list_with_references_both_ways() {
    const PIECE: u64 = 30_000;
    check_beside(3 * PIECE * PAIR, "windows", |world, made| {
        if made == 0 {
            let first = world.allocate(Kind::Pair, 0);
            (1..=2).for_each(|root| world.set_root(root, first));
        }
        for _ in 0..PIECE {
            let next = world.allocate(Kind::Pair, 0);
            let last = world.root(2);
            world.set(last, Kind::Pair, 0, next);
            world.set(next, Kind::Pair, 1, last);
            world.set_root(2, next);
        }
        if made < 2 {
            return;
        }
        for _ in 0..PIECE {
            let next = world.get(world.root(1), Kind::Pair, 0);
            world.set_root(1, next);
        }
        let first = world.root(1);
        let before = world.get(first, Kind::Pair, 1);
        world.set(before, Kind::Pair, 0, 0);
        world.set(first, Kind::Pair, 1, 0);
    });
}

/// Rings that share a node, which nothing else holds.
#[test]
fn rings_around_hubs() {
    check_beside(20 * 2_000 * PAIR, "rings around hubs", |world, _| {
        let hub = world.allocate(Kind::Array, 20);
        world.set_root(1, hub);
        for index in 0..20 {
            world.ring_at_root(2, 2_000);
            let (hub, first) = (world.root(1), world.root(2));
            world.set(hub, Kind::Array, index, first);
            let second = world.get(first, Kind::Pair, 0);
            world.set(second, Kind::Pair, 1, hub);
            world.set_root(2, 0);
        }
        let_go(world);
    });
}

/// A root goes back and forth between two structures, which are replaced in turn.
#[test]
fn toggled_roots() {
    check_beside(2 * 15_000 * PAIR, "toggled roots", |world, made| {
        let root = 1 + (made as usize % 2) * 2;
        world.ring_at_root(root, 15_000);
        for _ in 0..100 {
            let [one, two] = [1, 3].map(|root| if made == 0 && root == 3 { 0 } else { world.root(root) });
            world.set_root(5, one);
            world.heap.poll();
            world.set_root(5, two);
            world.heap.poll();
        }
        world.set_root(5, 0);
    });
}

/// Graphs of nodes that refer to two others at random.
#[test]
fn random_graphs() {
    check_beside(20_000 * (PAIR + 8), "random graphs", |world, _| {
        world.graph_at_root(1, 20_000);
        let node = world.get(world.root(1), Kind::Array, 0);
        world.set_root(2, node);
        world.set_root(1, 0);
        let_go(world);
    });
}

/// Chains of rings: each holds the next, and the last the first.
#[test]
fn chains_of_rings() {
    check_beside(200 * 300 * PAIR, "chains", |world, _| {
        for index in 0..200 {
            world.ring_at_root(4, 300);
            let first = world.root(4);
            if index == 0 {
                (1..=2).for_each(|root| world.set_root(root, first));
            } else {
                let last = world.get(world.root(2), Kind::Pair, 0);
                world.set(last, Kind::Pair, 1, first);
                world.set_root(2, first);
            }
            world.set_root(4, 0);
        }
        let (first, last) = (world.root(1), world.root(2));
        world.set(last, Kind::Pair, 1, first);
        let_go(world);
    });
}

/// Old rings are cut off one by one from a live array: each has been a candidate in vain before.
#[test]
fn rings_that_were_candidates_in_vain() {
    const RINGS: u64 = 16;
    check_beside(RINGS * 10_000 * PAIR, "old rings in an array", |world, made| {
        if made == 0 {
            world.rings_at_root(1, RINGS, 10_000);
        }
        world.ring_at_root(2, 10_000);
        let (all, fresh) = (world.root(1), world.root(2));
        for index in 0..RINGS {
            // A reference comes and goes.
            let ring = world.get(all, Kind::Array, index);
            let holder = world.allocate(Kind::Pair, 0);
            world.set(holder, Kind::Pair, 0, ring);
        }
        world.heap.poll();
        let all = world.root(1);
        world.set(all, Kind::Array, made % RINGS, fresh);
        world.set_root(2, 0);
    });
}

/// Arrays of a few hundred elements, small objects all of them, that refer to each other.
#[test]
fn rings_of_small_arrays() {
    check_beside(300 * 2_000, "rings of small arrays", |world, _| {
        let first = world.allocate(Kind::Array, 240);
        (1..=2).for_each(|root| world.set_root(root, first));
        for _ in 1..300 {
            let next = world.allocate(Kind::Array, 240);
            let last = world.root(2);
            (0..240).for_each(|place| world.set(last, Kind::Array, place, next));
            world.set_root(2, next);
        }
        let (first, last) = (world.root(1), world.root(2));
        world.set(last, Kind::Array, 0, first);
        let_go(world);
    });
}

fn weak_map_at_root_1(world: &mut World) {
    let map = world.heap.mutator.new_weak_map(WeakMode::Keys).expect("room");
    world.set_root(1, map.address());
}

/// Enters a new key in the map at root 1, with a value of two references that leads to it. Roots 2 and 3 hold both.
fn enter_value_that_leads_to_its_key(world: &mut World, allocate: impl FnOnce(&mut World) -> u64) {
    let key = world.allocate(Kind::Pair, 0);
    world.set_root(2, key);
    let value = allocate(world);
    world.set_root(3, value);
    world.set(value, Kind::Pair, 0, world.root(2));
    // SAFETY: [HEADER] the roots hold them.
    let [map, key, value] = [1, 2, 3].map(|root| unsafe { ObjectRef::from_address(world.root(root)) });
    world.heap.mutator.weak_map_set(map, key, value).expect("room");
}

/// Each value of a map with weak keys leads to its key, so only a mark finds dead entries; and each new one logs a whole
/// bucket, which the mark has to read before it may end.
#[test]
fn entries_of_a_weak_map_whose_values_lead_to_their_keys() {
    check("entries of a weak map", |world, made| {
        if made == 0 {
            weak_map_at_root_1(world);
        }
        for _ in 0..200 {
            enter_value_that_leads_to_its_key(world, |world| world.allocate(Kind::Pair, 0));
        }
    });
}

/// An explicit collection of such a map takes as long for each entry, however many there are.
#[test]
fn collection_of_entries_whose_values_lead_to_their_keys_is_linear() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let units_per_entry = [10_000_u64, 40_000].map(|entries| {
            let mut world = World::with(HeapOptions { plan, epoch_bytes: 1 << 40, ..crate::effort::options() });
            weak_map_at_root_1(&mut world);
            for _ in 0..entries {
                enter_value_that_leads_to_its_key(&mut world, |world| world.allocate(Kind::Pair, 0));
            }
            let before = world.statistics().mark_units;
            world.heap.truncate_roots(2);
            world.heap.collect();
            // SAFETY: [HEADER] the root holds it.
            let map = unsafe { ObjectRef::from_address(world.root(1)) };
            assert_eq!(world.heap.mutator.weak_map_count(map), 0, "{plan:?}");
            (world.statistics().mark_units - before) as f64 / entries as f64
        });
        let [few, many] = units_per_entry;
        assert!(few > 1.0 && many <= few * 1.25, "{plan:?}: {few} units for an entry, {many} of four times as many");
    }
}

/// The bound, if the values have finalizers: what a mark finds dead stays until they have run.
#[test]
fn finalized_values_of_a_weak_map_that_lead_to_their_keys() {
    let value_type = type_registry::register(&FINALIZED).expect("a sound descriptor");
    check("finalized entries of a weak map", |world, made| {
        if made == 0 {
            weak_map_at_root_1(world);
        }
        for _ in 0..200 {
            enter_value_that_leads_to_its_key(world, |world| {
                world.heap.mutator.allocate(value_type).expect("room").address()
            });
        }
    });
}

/// What small dead rings own outside is bounded as if it lay inside.
#[test]
fn rings_that_own_bytes_outside() {
    for (setting, options) in crate::effort::garbage::settings() {
        let mut world = World::with(options);
        world.list_at_root(0, 1_000);
        world.heap.collect();
        let limit = 10 * crate::effort::EPOCH_BYTES + 3 * crate::effort::EPOCH_BYTES;
        let mut peak = 0;
        for _ in 0..2_000 {
            world.ring_at_root(1, 3);
            // SAFETY: [HEADER] the root holds it.
            let owner = unsafe { ObjectRef::from_address(world.root(1)) };
            world.heap.mutator.add_external_bytes(owner, 32 << 10);
            let_go(&mut world);
            peak = peak.max(world.statistics().external_bytes);
        }
        assert!(peak <= limit, "{setting}: {peak} bytes outside, {limit} are allowed");
        assert!(world.statistics().marks < 100, "{setting}: {} marks", world.statistics().marks);
    }
}
