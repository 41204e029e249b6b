//! Very many finalizers that become due together: with a pause goal a safepoint runs some, and then the program goes on.
//! Counted in units of work and in calls; no assertion looks at a clock. `[BOUND]`

use crate::finalizers::{FILE, LARGE, OWNER, SEEN, list, live, mutator_with, new, ring, set, type_of};
use std::time::Instant;
use tally_collector::Mutator;
use tally_collector::plan::deferred::epoch::STEP_UNITS_MAX;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};

static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// Units in a slice.
const UNITS: u32 = 4096;
/// Of these a stop would be some milliseconds.
const MANY: u64 = 100_000;
/// Safepoints by which all must have run.
const SAFEPOINTS_MAX: u64 = MANY;

fn sliced(plan: Plan, eager_marks: bool) -> Mutator {
    let options =
        HeapOptions { plan, pause_goal_ns: Some(1_000_000), slice_units: Some(UNITS), ..HeapOptions::default() };
    mutator_with(HeapOptions { eager_marks, ..options }, None)
}

fn calls() -> u64 {
    SEEN.with_borrow(|seen| seen.len() as u64)
}

/// A safepoint, and what the collector does there.
fn safepoint(m: &mut Mutator, plan: Plan) {
    match plan {
        Plan::Deferred => {
            if !m.step(UNITS.into()) {
                m.flip();
            }
        }
        Plan::Prompt => m.poll(),
        Plan::Trace => {
            if !m.step(UNITS.into()) && m.heap().services.finalizers.queue.is_empty() {
                m.flip();
            }
        }
    }
}

/// Everything dies: how many finalizers ran at one safepoint, at most.
fn most_at_once(m: &mut Mutator, plan: Plan) -> u64 {
    m.truncate_roots(0);
    let (mut most, mut before) = (0, calls());
    for _ in 0..SAFEPOINTS_MAX {
        safepoint(m, plan);
        most = most.max(calls() - before);
        before = calls();
        if before == MANY {
            return most;
        }
    }
    panic!("{plan:?}: {before} of {MANY} have run: {:?}", m.statistics());
}

fn check(plan: Plan, eager_marks: bool, build: impl Fn(&mut Mutator)) {
    let mut m = sliced(plan, eager_marks);
    build(&mut m);
    let most = most_at_once(&mut m, plan);
    // A drain of the prompt plan calls those of what dies by counting, an object at least for each unit.
    assert!(most <= u64::from(UNITS) * 2, "{plan:?}: {most} finalizers at one safepoint");
    let units = m.statistics().slice_units_max;
    assert!(units <= u64::from(UNITS) + STEP_UNITS_MAX, "{plan:?}: {units} units in one slice");
    m.collect();
    assert_eq!((live(&mut m), calls()), (0, MANY), "{plan:?}");
}

fn held_by_an_array(m: &mut Mutator) {
    let array = m.allocate_array(type_of(&ARRAY), MANY).expect("room");
    m.push_root(Some(array));
    for number in 0..MANY {
        let file = m.allocate(type_of(&FILE)).expect("room");
        file.slot(16).store(number);
        set(m, array, 8 + number * 8, Some(file));
    }
}

/// With two roots: all roots are looked at in one step.
fn ring_of_many(m: &mut Mutator) {
    let last = new(m, &FILE, 0);
    let first = m.push_root(Some(last));
    for number in 1..MANY {
        let file = m.allocate(type_of(&FILE)).expect("room");
        file.slot(16).store(number);
        let next = m.root(first);
        set(m, file, 0, next);
        m.set_root(first, Some(file));
    }
    let first = m.root(first);
    set(m, last, 0, first);
}

#[test]
fn finalizers_of_one_array_run_in_turns() {
    for plan in Plan::ALL {
        check(plan, false, held_by_an_array);
    }
}

#[test]
fn finalizers_of_one_mature_array_run_in_turns() {
    for plan in Plan::ALL {
        check(plan, false, |m| {
            held_by_an_array(m);
            m.collect();
        });
    }
}

#[test]
fn finalizers_of_one_ring_run_in_turns() {
    for plan in Plan::ALL {
        check(plan, true, |m| {
            ring_of_many(m);
            m.collect();
        });
    }
}

/// What waits is alive for a mark, which comes to it in slices; a flip meanwhile goes through none of it, nor through what has run
/// since the last.
#[test]
fn flip_beside_a_mark_does_not_go_through_all_that_wait() {
    let mut m = sliced(Plan::Deferred, false);
    held_by_an_array(&mut m);
    m.collect();
    m.truncate_roots(0);
    // They are found dead; the finalizers begin when all are.
    m.heap().options_mut().slice_units = Some(16);
    while m.heap().services.finalizers.queue.len() as u64 + calls() < MANY {
        if !m.step(16) {
            m.flip();
        }
    }
    m.heap().options_mut().eager_marks = true;
    let mut flips_beside = 0;
    while calls() < MANY {
        if m.heap().mark_phase().is_shown_references() {
            let (epochs, marked) = (m.statistics().epochs, m.heap().mark_stack.len());
            m.flip();
            if m.statistics().epochs != epochs {
                flips_beside += 1;
                let shown = m.heap().mark_stack.len() - marked;
                assert!(shown <= 64, "a flip showed {shown} objects to the mark");
            }
        }
        if !m.step(16) {
            m.flip();
        }
    }
    assert!(flips_beside > 2, "{flips_beside} flips came beside a mark");
    m.collect();
    assert_eq!((live(&mut m), calls()), (0, MANY));
    let seen = crate::finalizers::seen_sorted();
    assert!(seen.into_iter().eq(0..MANY), "each has run once");
}

/// A collection in parts comes to its end by turns, too; one that is asked for as a whole does not wait for them.
#[test]
fn steps_of_a_collection_take_turns_and_a_whole_one_runs_all() {
    for plan in Plan::ALL {
        let mut m = sliced(plan, true);
        ring(&mut m, &FILE, 0, 2000);
        m.truncate_roots(0);
        let (mut before, mut steps) = (calls(), 0);
        while !m.collect_for(0) {
            assert!(calls() - before <= u64::from(UNITS), "{plan:?}");
            before = calls();
            steps += 1;
            assert!(steps < 100_000, "{plan:?}: it comes to no end");
        }
        assert_eq!((live(&mut m), calls()), (0, 2000), "{plan:?}");
        assert!(steps > 2000 / u64::from(UNITS / 16), "{plan:?}: {steps} steps");
        ring(&mut m, &FILE, 0, 2000);
        m.truncate_roots(0);
        m.collect();
        assert_eq!((live(&mut m), calls()), (0, 4000), "{plan:?}");
    }
}

/// What becomes due while a set has its turns is not lost, and comes after it.
#[test]
fn set_that_is_found_while_another_has_its_turns_runs_too() {
    for plan in Plan::ALL {
        let mut m = sliced(plan, true);
        for round in 0..6 {
            ring(&mut m, &FILE, round * 1000, 1000);
            let large = new(&mut m, &LARGE, 0);
            set(&mut m, large, 0, Some(large));
            m.truncate_roots(0);
            (0..20).for_each(|_| safepoint(&mut m, plan));
        }
        let is_done = |m: &mut Mutator| m.statistics().live_objects == 0;
        for _ in 0..100_000 {
            if is_done(&mut m) {
                break;
            }
            safepoint(&mut m, plan);
        }
        assert_eq!(calls(), 6006, "{plan:?}");
        m.collect();
        assert_eq!((live(&mut m), calls()), (0, 6006), "{plan:?}");
        let mut all: Vec<u64> = crate::finalizers::seen_sorted();
        all.dedup();
        assert_eq!(all.len(), 6000, "each once; the large ones say 0, as the first of the rings does: {plan:?}");
    }
}

/// Each holds the next. Where owners come first a link is found by two epochs, which come when the program polls, not when it has
/// allocated; else all are found at once.
#[test]
fn list_of_finalizable_objects_comes_to_its_end_in_linear_time() {
    const LINKS: u64 = 3000;
    for (descriptor, collected) in [(&FILE, true), (&FILE, false), (&OWNER, true), (&OWNER, false)] {
        let mut m = sliced(Plan::Deferred, false);
        list(&mut m, &[descriptor], LINKS);
        m.epoch();
        m.truncate_roots(0);
        let (epochs, marks) = (m.statistics().epochs, m.statistics().marks);
        if collected {
            m.collect();
        } else {
            // The first is found by what the program would allocate.
            for _ in 0..3 {
                m.flip();
                (0..100).for_each(|_| m.poll());
            }
            (0..20 * LINKS).for_each(|_| m.poll());
        }
        assert_eq!(calls(), LINKS, "{descriptor:?}, collected {collected}");
        let in_order: Vec<u64> = crate::finalizers::seen();
        assert!(in_order.into_iter().eq((0..LINKS).rev()), "owners come before what they hold");
        assert!(m.statistics().marks - marks <= 10, "{} marks", m.statistics().marks - marks);
        assert!(m.statistics().epochs - epochs <= 2 * LINKS + 50, "{} epochs", m.statistics().epochs - epochs);
        m.collect();
        assert_eq!(live(&mut m), 0);
    }
}

/// Each takes longer than a slice may: however fast the machine is, none is followed by another at the same safepoint.
#[test]
fn slow_finalizers_of_what_dies_by_counting_end_the_slice() {
    const SLOW: u64 = 20;
    const SLICE_NS: u64 = 100_000;
    fn takes_its_time(_: &mut Mutator, _: ObjectRef) {
        let start = Instant::now();
        while start.elapsed().as_nanos() as u64 <= SLICE_NS {}
    }
    let options = HeapOptions {
        plan: Plan::Prompt,
        pause_goal_ns: Some(2 * SLICE_NS),
        slice_ns: SLICE_NS,
        ..HeapOptions::default()
    };
    for in_a_list in [true, false] {
        let mut m = mutator_with(options.clone(), Some(takes_its_time));
        match in_a_list {
            true => list(&mut m, &[&FILE], SLOW),
            false => (0..SLOW).for_each(|number| _ = new(&mut m, &FILE, number)),
        }
        m.poll();
        m.truncate_roots(0);
        let mut safepoints = 0;
        while calls() < SLOW {
            let before = calls();
            m.poll();
            assert!(calls() <= before + 1, "{} at one safepoint, in a list: {in_a_list}", calls() - before);
            safepoints += 1;
        }
        assert!(safepoints >= SLOW);
        m.collect();
        assert_eq!(live(&mut m), 0);
    }
}
