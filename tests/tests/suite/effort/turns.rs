//! The program has its turn between two slices (`tally_collector::account`): in units, where it pays with what it allocates and
//! with its polls. `[BOUND]`

use crate::effort::World;
use tally_collector::account::{BYTES_PER_UNIT, UNITS_PER_POLL};
use tally_collector::plan::deferred::epoch::STEP_UNITS_MAX;
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Units of a slice, and what the program is owed for one.
const UNITS: u32 = 16_384;
const OWED: u64 = UNITS as u64 / 4 * 5;
/// Live objects.
const NODES: u64 = 64 << 10;

fn options(plan: Plan, pause_goal_ns: Option<u64>) -> HeapOptions {
    HeapOptions { plan, pause_goal_ns, slice_units: Some(UNITS), epoch_bytes: 4 << 20, ..HeapOptions::default() }
}

/// Deferred plan: an epoch has a dozen slices, whose work is far from any bound. They do not come at one block after the other.
#[test]
fn slices_of_an_epoch_leave_the_program_as_much_as_they_take() {
    let mut world = World::with(options(Plan::Deferred, None));
    let array = world.allocate(Kind::Array, NODES);
    world.set_root(0, array);
    let mut slices = Vec::new();
    while world.statistics().allocated_bytes < 32 << 20 {
        for place in 0..4 {
            let new = world.allocate(Kind::Pair, 0);
            if place == 0 {
                let (array, index) = (world.root(0), world.below(NODES));
                world.set(array, Kind::Array, index, new);
            }
        }
        let now = world.statistics();
        if slices.last().is_none_or(|&(_, before)| now.slices > before) {
            slices.push((now.allocated_bytes, now.slices));
        }
    }
    let epochs = world.statistics().epochs;
    assert!(slices.len() as u64 > 4 * epochs && epochs > 4, "{} slices in {epochs} epochs", slices.len());
    // Ten slices in a row pay for nine turns, but for what one may do more than its units, and a block.
    for stretch in slices.windows(10) {
        let ((from, first), (to, last)) = (stretch[0], stretch[9]);
        assert_eq!(last - first, 9, "one at a time");
        let (paid, least) = (to - from, 8 * OWED * BYTES_PER_UNIT / 2);
        assert!(paid >= least, "ten slices in {paid} bytes, {least} are due for them");
    }
    world.heap.verify().expect("in order");
}

/// Prompt plan, with and without a goal: a mark beside a large heap goes in slices, and a program that allocates nothing meanwhile
/// polls as often between two of them as pays for one.
#[test]
fn slices_of_a_mark_leave_the_program_its_turn() {
    for goal in [None, Some(1_000_000)] {
        let mut world = World::with(options(Plan::Prompt, goal));
        world.list_at_root(0, NODES);
        world.ring_at_root(1, 20_000);
        world.set_root(1, 0);
        world.heap.mutator.heap().options_mut().eager_marks = true;
        let before = world.statistics();
        while world.statistics().marks == before.marks {
            world.allocate(Kind::Pair, 0);
            world.heap.poll();
        }
        world.heap.mutator.heap().options_mut().eager_marks = false;
        let (mut polls, mut turns, mut slices) = (0, Vec::new(), world.statistics().slices);
        for _ in 0..10_000 {
            world.heap.poll();
            polls += 1;
            let now = world.statistics().slices;
            assert!(now <= slices + 1, "{goal:?}: {} slices at one poll", now - slices);
            if now > slices {
                turns.push(polls);
                (polls, slices) = (0, now);
            }
        }
        assert!(turns.len() > 20, "{goal:?}: {} slices", turns.len());
        // The last one may end before its units do.
        let (least, most) = (OWED / UNITS_PER_POLL, OWED / UNITS_PER_POLL * 2 + 2);
        let among = &turns[1..turns.len() - 4];
        assert!(among.iter().all(|turn| (least..=most).contains(turn)), "{goal:?}: {least} to {most}, {turns:?}");
        let units = world.statistics().slice_units_max;
        assert!(units <= u64::from(UNITS) + STEP_UNITS_MAX, "{goal:?}: {units} in one slice");
        world.heap.verify().expect("in order");
    }
}
