//! Cyclic garbage is bounded: programs in a steady state that make garbage which no trial can see, for a long time. At
//! no moment may there be more of it than [`GARBAGE_MAX`] times the live heap, and three epochs' allocation: under both
//! plans, and under the prompt plan with a pause goal, where marks go in slices.

use crate::effort::{EPOCH_BYTES, World, options};
use tally_collector::evidence::GARBAGE_MAX;
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Nodes of the live list that stands beside all of it: half a MiB.
const LIVE_NODES: u64 = 16 << 10;
/// What the programs make, in times of the bound: enough to see that it holds.
const TIMES: u64 = 8;
/// Units of work that marks take for each byte allocated, at most.
const UNITS_PER_BYTE: u64 = 2;

/// Units that a block pays for while a mark runs under the deferred plan, unless slices have a fixed number.
const BLOCK_UNITS: u32 = 32_768;

/// Both plans, and the prompt plan with a pause goal.
pub(in crate::effort) fn settings() -> [(&'static str, HeapOptions); 3] {
    let deferred = HeapOptions { slice_units: Some(BLOCK_UNITS), ..options() };
    let prompt = HeapOptions { plan: Plan::Prompt, slice_units: Some(16_384), ..options() };
    let with_goal = HeapOptions { pause_goal_ns: Some(1_000_000), ..prompt.clone() };
    [("deferred", deferred), ("prompt", prompt), ("prompt, with a pause goal", with_goal)]
}

/// Calls `make`, which makes some garbage with roots from 1 on, until much more has been made than there may be at once.
pub(in crate::effort) fn check(name: &str, make: impl FnMut(&mut World, u64)) {
    check_beside(0, name, make);
}

/// The same for a program that holds so many bytes itself at times.
pub(in crate::effort) fn check_beside(held: u64, name: &str, mut make: impl FnMut(&mut World, u64)) {
    for (setting, options) in settings() {
        check_under(&format!("{name}, {setting}"), held, options, &mut make);
    }
}

fn check_under(name: &str, held: u64, options: HeapOptions, make: &mut impl FnMut(&mut World, u64)) {
    // Under the prompt plan a batch may see what no trial does.
    let marks_min = u64::from(options.plan == Plan::Deferred);
    let mut world = World::with(options);
    world.list_at_root(0, LIVE_NODES);
    world.heap.collect();
    let before = world.statistics();
    let live = before.live_bytes + held;
    let limit = live + GARBAGE_MAX * live + 3 * EPOCH_BYTES;
    let (mut peak, mut made) = (0, 0);
    while world.statistics().allocated_bytes < TIMES * limit {
        make(&mut world, made);
        made += 1;
        world.heap.poll();
        peak = peak.max(world.statistics().live_bytes);
    }
    let now = world.statistics();
    assert!(peak <= limit, "{name}: {peak} bytes at once, {limit} are allowed, {live} are alive: {now:?}");
    let marks = now.marks - before.marks;
    assert!(marks >= marks_min, "{name}: {marks} marks");
    let (units, bytes) = (now.mark_units - before.mark_units, now.allocated_bytes - before.allocated_bytes);
    assert!(units <= UNITS_PER_BYTE * bytes, "{name}: {units} units marked for {bytes} bytes");
    // What a program holds at times, a mark may not have found alive.
    assert!(held != 0 || marks < 100, "{name}: {marks} marks");
    world.heap.verify().expect("in order");
    world.heap.truncate_roots(1);
    world.heap.collect();
    assert_eq!(world.heap.totals().live_objects, LIVE_NODES, "{name}");
}

#[test]
fn rings_larger_than_any_trial() {
    check("rings of 5,000", |world, _| {
        world.ring_at_root(1, 5000);
        world.heap.flip();
        world.set_root(1, 0);
    });
}

/// Few objects, many bytes: a count of objects would not see them.
#[test]
fn large_arrays_that_refer_to_each_other() {
    check("arrays", |world, _| {
        for root in [1, 2] {
            let array = world.allocate(Kind::Array, 10_000);
            world.set_root(root, array);
        }
        let (one, two) = (world.root(1), world.root(2));
        world.set(one, Kind::Array, 9_999, two);
        world.set(two, Kind::Array, 0, one);
        world.epoch_in_slices();
        for root in [1, 2] {
            world.set_root(root, 0);
        }
    });
}

#[test]
fn cycles_through_large_arrays() {
    check("hubs", |world, _| {
        let array = world.allocate(Kind::Array, 4000);
        world.set_root(1, array);
        for index in 0..4000 {
            let node = world.allocate(Kind::Pair, 0);
            let array = world.root(1);
            world.set(array, Kind::Array, index, node);
            world.set(node, Kind::Pair, 0, array);
        }
        world.heap.flip();
        world.set_root(1, 0);
    });
}

/// Prompt plan: where nearly all growth is garbage, and marks find that out, there is hardly more of it than live objects.
#[test]
fn garbage_of_a_program_whose_marks_pay() {
    for (setting, options) in settings().into_iter().filter(|(_, options)| options.plan == Plan::Prompt) {
        let mut world = World::with(HeapOptions { trials: false, ..options });
        world.list_at_root(0, LIVE_NODES);
        world.heap.collect();
        let live = world.statistics().live_bytes;
        let mut peak = 0;
        for made in 0..2_000 {
            world.ring_at_root(1, 1000);
            world.set_root(1, 0);
            world.heap.poll();
            if made >= 1_000 {
                peak = peak.max(world.statistics().live_bytes);
            }
        }
        assert!(peak <= 3 * live + EPOCH_BYTES, "{setting}: {peak} bytes at once, {live} are alive");
    }
}

/// Prompt plan: beside little that is alive a mark costs little, so the first comes early, and each later one when some MiB have gathered.
/// (66 MiB of such rings gathered beside 2 MiB until the first, and 16 MiB until each later one.)
#[test]
fn rings_larger_than_any_trial_beside_little_that_is_alive() {
    const MIB: u64 = 1 << 20;
    for (pause_goal_ns, most) in [(None, 8 * MIB), (Some(1_000_000), 24 * MIB)] {
        let options =
            HeapOptions { plan: Plan::Prompt, slice_units: Some(16_384), pause_goal_ns, ..HeapOptions::default() };
        let mut world = World::with(options);
        world.list_at_root(0, LIVE_NODES);
        let mut peak = 0;
        while world.statistics().allocated_bytes < 96 * MIB {
            world.ring_at_root(1, 5000);
            world.set_root(1, 0);
            world.heap.poll();
            peak = peak.max(world.statistics().live_bytes);
        }
        assert!(peak <= most, "{pause_goal_ns:?}: {peak} bytes at once");
    }
}

/// No cycle at all: a count that was stuck never falls.
#[test]
fn lists_that_hang_on_stuck_counts() {
    check("stuck", |world, _| {
        let holders = world.allocate(Kind::Array, 300);
        world.set_root(1, holders);
        world.list_at_root(2, 1000);
        let (holders, head) = (world.root(1), world.root(2));
        world.heap.fill_refs(holders, Kind::Array.slot_offset(0), head, 300);
        world.epoch_in_slices();
        world.set_root(1, 0);
        world.set_root(2, 0);
    });
}

/// Each ring has members of many epochs, which no cohort holds together.
#[test]
fn rings_across_cohorts() {
    const RINGS: u64 = 512;
    check("old rings", |world, made| {
        if made == 0 {
            let rings = world.allocate(Kind::Array, RINGS);
            world.set_root(1, rings);
        }
        // Another member for each ring; when it has eight, it is let go of, and the next ring begins with one that
        // refers to itself.
        for index in 0..RINGS {
            let node = world.allocate(Kind::Pair, 0);
            let rings = world.root(1);
            let last = world.get(rings, Kind::Array, index);
            if made % 8 == 0 {
                world.set(node, Kind::Pair, 0, node);
            } else {
                let first = world.get(last, Kind::Pair, 0);
                world.set(last, Kind::Pair, 0, node);
                world.set(node, Kind::Pair, 0, first);
            }
            world.set(rings, Kind::Array, index, node);
        }
        world.epoch_in_slices();
    });
}

/// Rings in which weak references lead to members, and ephemerons with a member as key and one as value.
#[test]
fn rings_of_special_objects() {
    check("special rings", |world, _| {
        world.ring_at_root(1, 1500);
        for _ in 0..20 {
            let (one, two) = (world.root(1), world.get(world.root(1), Kind::Pair, 0));
            let weak = world.new_ephemeron(one, two);
            let member = world.get(world.root(1), Kind::Pair, 0);
            world.set(member, Kind::Pair, 1, weak);
            world.set_root(1, member);
        }
        world.heap.flip();
        world.set_root(1, 0);
    });
}

/// While each mark runs, counting frees so much that it could be given up: it is not given up for ever.
#[test]
fn marks_beside_structures_that_counting_frees() {
    check_beside(105_000 * 32, "lists and rings", |world, _| {
        world.ring_at_root(1, 5000);
        world.list_at_root(2, 100_000);
        world.heap.flip();
        world.set_root(1, 0);
        world.set_root(2, 0);
        world.heap.poll();
    });
}

/// A program under the deferred plan that has let go of a ring of 20,000 nodes and keeps a list of 1,000; and the turnover in which
/// the ring goes, in bytes.
fn large_structure_let_go_of() -> (World, u64) {
    let (_, deferred) = settings().into_iter().next().expect("the first");
    let mut world = World::with(deferred);
    world.list_at_root(0, 1000);
    world.ring_at_root(1, 20_000);
    // The first only ends the epoch that the building has begun.
    (0..2).for_each(|_| world.epoch_in_slices());
    world.set_root(1, 0);
    let turnover = 9 * tally_collector::evidence::TURNOVER * (world.statistics().live_bytes + EPOCH_BYTES);
    (world, turnover)
}

/// One large structure is let go of, and the program goes on without making garbage: it goes after a while, though nothing grows.
/// Deferred plan: under the prompt plan nothing is promised but the bound.
#[test]
fn large_structure_let_go_of_once() {
    let (mut world, turnover) = large_structure_let_go_of();
    let limit = world.statistics().allocated_bytes + turnover;
    while world.heap.totals().live_objects > 1000 {
        world.allocate(Kind::Medium, 0);
        assert!(world.statistics().allocated_bytes < limit, "{:?}", world.statistics());
    }
}

/// The same where the program only writes: log entries are turnover, too.
#[test]
fn large_structure_let_go_of_by_a_program_that_only_writes() {
    let (mut world, turnover) = large_structure_let_go_of();
    // An entry counts for 64 bytes.
    let limit = world.statistics().log_entries + turnover / 64;
    while world.heap.totals().live_objects > 1000 {
        let mut node = world.root(0);
        while node != 0 {
            world.set(node, Kind::Pair, 1, node);
            node = world.get(node, Kind::Pair, 0);
        }
        world.epoch_in_slices();
        assert!(world.statistics().log_entries < limit, "{:?}", world.statistics());
    }
}
