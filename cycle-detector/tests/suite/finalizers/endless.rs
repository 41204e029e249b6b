//! Finalizers that make finalizable objects, which make others, without end: the program goes on after every safepoint,
//! collection, step, and at its end.

use crate::finalizers::{Action, FILE, mutator, new, seen, set, type_of};
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;

/// Finalizers that a safepoint may call for one object that always brings another.
const CALLS_MAX: usize = 2_000;
/// The same of a collection: it takes ten rounds of such.
const CALLS_OF_A_COLLECTION: usize = 10_000;

fn another(m: &mut Mutator, _: ObjectRef) {
    m.allocate(type_of(&FILE)).expect("room");
}

/// With a safepoint inside the finalizer.
fn another_that_dies_inside(m: &mut Mutator, object: ObjectRef) {
    another(m, object);
    m.poll();
}

/// Two, and a safepoint after each: as many at each depth as there are at the one before, and twice.
fn two_that_die_inside(m: &mut Mutator, object: ObjectRef) {
    if object.slot(16).read() != 7 {
        return;
    }
    for _ in 0..2 {
        let next = m.allocate(type_of(&FILE)).expect("room");
        next.slot(16).store(7);
        m.poll();
    }
}

/// A dead ring that a trial or a mark must find.
fn another_ring(m: &mut Mutator, _: ObjectRef) {
    let base = m.root_count();
    let object = new(m, &FILE, 0);
    set(m, object, 0, Some(object));
    m.truncate_roots(base);
}

fn another_and_a_collection(m: &mut Mutator, object: ObjectRef) {
    another(m, object);
    m.collect();
}

const ACTIONS: [(&str, Action); 5] = [
    ("another", another),
    ("another that dies inside", another_that_dies_inside),
    ("two that die inside", two_that_die_inside),
    ("another ring", another_ring),
    ("another and a collection", another_and_a_collection),
];

fn begin(plan: Plan, action: Action) -> Mutator {
    let mut m = mutator(plan, Some(action));
    let object = new(&mut m, &FILE, 7);
    set(&mut m, object, 0, Some(object));
    set(&mut m, object, 0, None);
    m
}

#[test]
fn the_program_goes_on_after_a_safepoint() {
    for (plan, (name, action)) in Plan::ALL.into_iter().flat_map(|plan| ACTIONS.map(|action| (plan, action))) {
        let mut m = begin(plan, action);
        m.truncate_roots(0);
        for _ in 0..20 {
            m.epoch();
            m.poll();
            let called = seen().len();
            // Two bring four: what is pending when a safepoint begins is finalized by it.
            assert!(called <= CALLS_MAX || name.starts_with("two"), "{plan:?}, {name}: {called} calls");
            if name.starts_with("two") {
                break;
            }
        }
    }
}

#[test]
fn a_collection_ends() {
    for (plan, (name, action)) in Plan::ALL.into_iter().flat_map(|plan| ACTIONS.map(|action| (plan, action))) {
        if name.starts_with("two") {
            continue;
        }
        let mut m = begin(plan, action);
        m.truncate_roots(0);
        m.collect();
        let called = seen().len();
        assert!((1..=CALLS_OF_A_COLLECTION).contains(&called), "{plan:?}, {name}: {called} calls");
        m.verify().unwrap_or_else(|violation| panic!("{plan:?}, {name}: {violation}"));
    }
}

#[test]
fn a_collection_in_parts_comes_to_its_end() {
    for (plan, (name, action)) in Plan::ALL.into_iter().flat_map(|plan| ACTIONS.map(|action| (plan, action))) {
        if name.starts_with("two") {
            continue;
        }
        let mut m = begin(plan, action);
        m.truncate_roots(0);
        let mut parts = 0;
        while !m.collect_for(1_000_000) {
            parts += 1;
            assert!(parts < 10_000, "{plan:?}, {name}");
        }
        assert!(!seen().is_empty(), "{plan:?}, {name}");
    }
}

/// One safepoint of two that always bring two: those inside finalizers have a number of calls, all together.
#[test]
fn finalizers_inside_finalizers_do_not_multiply() {
    let mut m = begin(Plan::Prompt, two_that_die_inside);
    m.truncate_roots(0);
    m.poll();
    let called = seen().len();
    assert!((1_000..10_000).contains(&called), "{called} calls");
}
