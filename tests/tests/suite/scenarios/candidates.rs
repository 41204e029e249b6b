//! Candidates, what starts a collection, and what is said of it.

use crate::scenarios::on_both;
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;
use tally_heap::report::statistics::Statistics;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::op::parse_program;
use tally_tests::setup::{Setup, both_plans, check, check_in, check_series};
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// scenario 29: structures full of candidates are taken apart, and what dies makes new candidates of what it held.
#[test]
fn structures_full_of_candidates_are_taken_apart_while_more_are_noted() {
    let noted: String = (0..24)
        .map(|turn| {
            format!(
                "load r1 = r0.{turn}\nwrite r2.{turn} = r1\nset r1 = null\nflip\nstep {}\nwrite r2.{turn} = null\nstep 2\n\
                 write r0.{} = null\nflip\nstep {turn}\n",
                turn * 3,
                23 - turn
            )
        })
        .collect();
    let filled: String = (0..24).map(|slot| format!("tree 3 r1\nwrite r0.{slot} = r1\nwrite r1.2 = r0\n")).collect();
    check(&format!(
        "allocate array 24 r0\nallocate array 24 r2\n{filled}set r1 = null\nepoch\n{noted}epoch\nepoch\ncollect"
    ));
}

/// scenario 32: a member of a ring that nothing else holds is pinned by a root, then by a global, and let go.
#[test]
fn member_of_a_dead_ring_is_pinned_for_a_while() {
    for pinned in ["push r1", "global 1 = r1", "global 3 = r1"] {
        check(&format!(
            "ring triple x 6 r0
             load r1 = r0.0
             load r1 = r1.0
             {pinned}
             set r0 = null
             set r1 = null
             epoch
             epoch
             collect
             epoch
             truncate 0
             global 1 = null
             global 3 = null
             epoch
             collect"
        ));
    }
}

/// scenario 36: the figures agree with each other and with what the program did, whenever they are asked for.
#[test]
fn figures_agree_with_each_other_and_with_the_program() {
    on_both(|heap, plan| {
        heap.push_root(None);
        let mut last = heap.mutator.statistics();
        let mut made = 0;
        for round in 0..30u64 {
            for _ in 0..round {
                let pair = heap.allocate(Kind::Pair, 0).expect("room");
                heap.store(pair, 0, pair);
                heap.set_root(0, Some(pair));
                made += 1;
            }
            let freed = if round % 2 == 0 { Some(heap.mutator.collect()) } else { None };
            heap.epoch();
            let now = heap.mutator.statistics();
            assert_eq!(now.allocated_objects, made, "{plan:?}");
            assert_eq!(now.allocated_objects, now.freed_objects() + now.live_objects, "{now:?}");
            assert_eq!(now.live_bytes, now.live_objects * 32, "{now:?}");
            assert!(now.epochs > last.epochs && now.pause_ns_max <= now.pause_ns_total, "{now:?}");
            assert!(
                now.cyclic_garbage_objects <= now.freed_objects() && now.trial_runs <= now.candidates + made,
                "{now:?}"
            );
            for (key, before, after) in [
                ("freed_objects", last.freed_objects(), now.freed_objects()),
                ("candidates", last.candidates, now.candidates),
                ("trial_edges", last.trial_edges, now.trial_edges),
                ("marks", last.marks, now.marks),
            ] {
                assert!(before <= after, "{key} fell from {before} to {after}");
            }
            if freed.is_some() {
                assert_eq!(now.live_objects, u64::from(made > 0), "{plan:?}");
            }
            last = now;
        }
        heap.set_root(0, None);
        assert_eq!(heap.mutator.collect(), u64::from(made > 0));
        assert_eq!(heap.mutator.statistics().freed_objects(), made);
    });
}

/// scenario 38: objects of types that can be on no ring are counted up and down, and no work goes into them. (The deferred plan
/// learns the type only when it takes a candidate out of the buffer: a decrement does not look at it.)
#[test]
fn objects_of_acyclic_types_are_never_tried() {
    on_both(|heap, plan| {
        heap.push_root(None);
        let holder = heap.allocate(Kind::Array, 200).expect("room");
        heap.push_root(Some(holder));
        let slot = |index| Kind::Array.slot_offset(index);
        for index in 0..100 {
            let text = heap.allocate(Kind::Text, index).expect("room");
            heap.store(holder, slot(index), text);
            let label = heap.allocate(Kind::Label, 0).expect("room");
            heap.store(label, Kind::Label.slot_offset(0), text);
            heap.store(holder, slot(100 + index), label);
        }
        heap.epoch();
        // The array, which may be on a ring, has been judged by now.
        let before = heap.mutator.statistics();
        for round in 0..20 {
            for index in 0..100 {
                let label = heap.load(holder, slot(100 + index));
                heap.set_root(0, Some(label));
                let other = heap.load(holder, slot((index + round) % 100));
                heap.store(label, Kind::Label.slot_offset(0), other);
            }
            heap.set_root(0, None);
            heap.epoch();
        }
        let after = heap.mutator.statistics();
        let work = |figures: &Statistics| (figures.trial_runs, figures.trial_edges, figures.marks);
        assert_eq!(work(&after), work(&before), "{plan:?}");
        // The array is one in each of the twenty rounds: a root holds it, and it may be on a ring.
        assert!(plan == Plan::Deferred || after.candidates <= before.candidates + 20, "{after:?}");
        heap.truncate_roots(0);
        heap.epoch();
        heap.epoch();
        assert_eq!(heap.totals().live_objects, 0, "counting alone frees them: {plan:?}");
    });
}

/// What is changed in a heap's options.
type Change = fn(&mut HeapOptions);

/// scenario 41: thresholds of nothing, of one, and beyond all memory change when things happen, and nothing else.
#[test]
fn thresholds_of_nothing_and_of_everything_are_accepted() {
    let changes: [(&'static str, Change); 13] = [
        ("an epoch at every block", |options| options.epoch_bytes = 0),
        ("an epoch at every byte", |options| options.epoch_bytes = 1),
        ("no epoch ever", |options| options.epoch_bytes = u64::MAX),
        ("a log of nothing", |options| options.log_entries = 0),
        ("a log without end", |options| options.log_entries = u64::MAX),
        ("slices of no time", |options| options.slice_ns = 0),
        ("slices of all time", |options| options.slice_ns = u64::MAX),
        ("slices of no work", |options| options.slice_units = Some(0)),
        ("slices of all work", |options| options.slice_units = Some(u32::MAX)),
        ("blocks logged at once", |options| options.block_log_after = 0),
        ("blocks never logged", |options| options.block_log_after = u16::MAX),
        ("a pause goal of nothing", |options| options.pause_goal_ns = Some(0)),
        ("a pause goal of all time", |options| options.pause_goal_ns = Some(u64::MAX)),
    ];
    let program = "ring pair x 30 r0\nlist triple x 100 r1\nhub x 40 r2\nflip\nstep 5\nset r0 = null\npoll\n\
                   garbage text 900 x 200\ntoggle r2.3 r1 x 30\nset r2 = null\nepoch\nset r1 = null\ncollect";
    let ops = parse_program(program).expect("a program");
    for options in both_plans() {
        for (name, change) in changes {
            let mut options = options.clone();
            change(&mut options);
            let setup = Setup { name, options };
            println!("{:?}, {name}", setup.options.plan);
            check_in(&setup, &ops);
            check_series(&setup, 41, 4, 200);
        }
    }
}

/// scenario 42: the bytes of known garbage are there until it is collected, and then gone to the last one.
#[test]
fn bytes_of_known_garbage_are_there_until_it_is_collected() {
    on_both(|heap, plan| {
        for root in 0..2 {
            heap.push_root(None);
            let array = heap.allocate(Kind::Array, 100).expect("room");
            heap.set_root(root, Some(array));
            for index in 0..100 {
                let pair = heap.allocate(Kind::Pair, 0).expect("room");
                heap.store(pair, 0, array);
                heap.store(array, Kind::Array.slot_offset(index), pair);
            }
        }
        heap.epoch();
        let half = (100 * 32) + 8 + 8 + 100 * 8;
        let full = heap.totals().live_bytes;
        assert!(full >= 2 * half, "{full}");
        heap.set_root(0, None);
        assert_eq!(
            (heap.totals().live_bytes, heap.live_objects().len()),
            (full, 202),
            "nothing was allocated, and nothing collected: {plan:?}"
        );
        assert_eq!(heap.mutator.collect(), 101);
        assert_eq!(heap.totals().live_bytes, full / 2);
        heap.mutator.collect();
        assert_eq!(heap.totals().live_bytes, full / 2, "what lives stays");
        if plan == Plan::Deferred {
            heap.flip();
            while heap.mutator.step(10) {
                assert_eq!(heap.totals().live_bytes, full / 2, "no step takes what lives");
            }
        }
    });
}

/// scenario 37: without a call of the program, a heap under load with rings of every age loses them.
#[test]
fn rings_of_every_age_go_under_load() {
    on_both(|heap, plan| {
        const HELD: u64 = 64;
        let held = heap.allocate(Kind::Array, HELD).expect("room");
        heap.push_root(Some(held));
        let mut live_max = 0;
        for round in 0..60_000u64 {
            let first = heap.allocate(Kind::Pair, 0).expect("room");
            heap.push_root(Some(first));
            let second = heap.allocate(Kind::Pair, 0).expect("room");
            heap.store(first, 0, second);
            heap.store(second, 0, first);
            // Some are held for 64 turns, every 64th for 4,096.
            let index = if round % HELD == 0 { round / HELD % HELD } else { round % HELD };
            heap.store(held, Kind::Array.slot_offset(index), first);
            heap.truncate_roots(1);
            heap.poll();
            live_max = live_max.max(heap.totals().live_objects);
        }
        assert!(
            live_max < 60_000,
            "{live_max} of 120,000 objects were there at once, and {HELD} pairs were held: {plan:?}"
        );
    });
}

/// A heap whose limit is nothing says so, and goes on saying it.
#[test]
fn heap_of_no_bytes_refuses_every_object() {
    for options in both_plans() {
        let mut heap = TallyHeap::new(HeapOptions { heap_limit: Some(0), ..options });
        for _ in 0..100 {
            heap.allocate(Kind::Pair, 0).expect_err("there is no byte for it");
            heap.allocate(Kind::Array, 100_000).expect_err("there is no byte for it");
        }
        heap.epoch();
        heap.collect();
        assert_eq!(heap.totals().live_objects, 0);
    }
}
