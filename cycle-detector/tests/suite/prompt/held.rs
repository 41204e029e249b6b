//! What roots let go of is not noted, and yet no ring is lost: each judgement looks at the roots.

use crate::prompt::{ARRAY, NODE, live, mutator, node, options, set, type_of};
use tally_collector::Mutator;
use tally_heap::object::prompt_flag;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// Two nodes that refer to each other, and that roots have let go of.
fn pair(m: &mut Mutator) -> [ObjectRef; 2] {
    let base = m.root_count();
    let pair = std::array::from_fn(|_| {
        // As compiled code does it: born with the count of its root.
        let object = m.heap().allocate_owned(type_of(&NODE).info(), 0).expect("room");
        m.heap().services.host_roots.stack.push(Some(object));
        object
    });
    set(m, pair[0], 0, Some(pair[1]));
    set(m, pair[1], 0, Some(pair[0]));
    m.truncate_roots(base);
    pair
}

/// A pair that lives, grown up, as long as the first root refers to it; nothing of it was noted.
fn old_pair(m: &mut Mutator) -> [ObjectRef; 2] {
    let holder = node(m);
    m.push_root(Some(holder));
    let [one, two] = pair(m);
    set(m, holder, 8, Some(one));
    m.epoch();
    assert!(!one.is_settled() && !two.is_settled());
    [one, two]
}

fn is_candidate(object: ObjectRef) -> bool {
    object.has(prompt_flag::CANDIDATE)
}

#[test]
fn a_local_variable_that_comes_and_goes_makes_no_candidate() {
    let mut m = mutator();
    let [one, _] = old_pair(&mut m);
    let before = m.heap().candidates.len();
    for _ in 0..100 {
        let root = m.push_root(Some(one));
        m.set_root(root, None);
        m.truncate_roots(root.0);
        m.poll();
    }
    assert_eq!((is_candidate(one), m.heap().candidates.len()), (false, before));
    m.verify().expect("sound");
}

#[test]
fn a_ring_whose_last_holder_is_a_local_variable_that_lived_through_a_round_is_found() {
    let mut m = mutator();
    let [one, _] = old_pair(&mut m);
    let holder = m.root(RootIndex(0)).expect("set");
    let root = m.push_root(Some(one));
    set(&mut m, holder, 8, None);
    for _ in 0..3 {
        m.epoch();
        assert_eq!((live(&m), is_candidate(one)), (3, true), "tried, alive, and still a candidate");
    }
    m.set_root(root, None);
    m.epoch();
    assert_eq!(live(&m), 1);
    m.verify().expect("sound");
}

#[test]
fn a_ring_that_is_tried_by_one_member_while_a_local_variable_holds_another_is_found() {
    let mut m = mutator();
    let [one, two] = old_pair(&mut m);
    let holder = m.root(RootIndex(0)).expect("set");
    let root = m.push_root(Some(two));
    set(&mut m, holder, 8, None);
    assert!(is_candidate(one) && !is_candidate(two));
    m.epoch();
    assert!(is_candidate(two), "it is what kept the others alive");
    m.set_root(root, None);
    m.epoch();
    assert_eq!(live(&m), 1);
    m.verify().expect("sound");
}

#[test]
fn a_ring_handed_from_the_heap_to_one_root_after_the_other_is_found() {
    for rounds in [0, 1] {
        let mut m = mutator();
        let [one, two] = old_pair(&mut m);
        let holder = m.root(RootIndex(0)).expect("set");
        let mut root = m.push_root(Some(one));
        set(&mut m, holder, 8, None);
        for step in 0..4 {
            (0..rounds).for_each(|_| m.epoch());
            let next = m.push_root(Some(if step % 2 == 0 { two } else { one }));
            m.set_root(root, None);
            root = next;
        }
        assert_eq!(live(&m), 3);
        m.set_root(root, None);
        m.verify().expect("sound");
        assert_eq!(live(&m), 1, "{rounds} rounds between two hands");
    }
}

#[test]
fn a_ring_that_goes_through_roots_and_the_heap_again_is_found() {
    let mut m = mutator();
    let [one, two] = old_pair(&mut m);
    let holder = m.root(RootIndex(0)).expect("set");
    let root = m.push_root(Some(one));
    set(&mut m, holder, 8, None);
    m.epoch();
    set(&mut m, holder, 8, Some(two));
    m.set_root(root, None);
    m.epoch();
    assert!(!is_candidate(one) && !is_candidate(two), "alive, and no candidate");
    let root = m.push_root(Some(one));
    set(&mut m, holder, 8, None);
    m.set_root(root, None);
    m.verify().expect("sound");
    assert_eq!(live(&m), 1);
}

#[test]
fn a_ring_that_is_returned_and_dropped_is_found() {
    let mut m = mutator();
    let [one, _] = old_pair(&mut m);
    let holder = m.root(RootIndex(0)).expect("set");
    let callee = m.push_root(Some(one));
    set(&mut m, holder, 8, None);
    m.epoch();
    // The callee's root goes at its return; the value is in flight, and its count with it.
    m.heap().hold(one);
    m.truncate_roots(callee.0);
    m.heap().prompt.round_at = 0;
    m.drain(&[one.address()]);
    assert_eq!((live(&m), is_candidate(one)), (3, true));
    m.heap().decrement_root(one);
    m.verify().expect("sound");
    assert_eq!(live(&m), 1);
}

#[test]
fn a_young_ring_that_only_a_root_holds_at_its_batch_is_found() {
    let mut m = mutator();
    let [one, two] = pair(&mut m);
    let root = m.push_root(Some(one));
    m.epoch();
    assert_eq!((is_candidate(one), two.is_settled()), (true, false));
    m.set_root(root, None);
    m.epoch();
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

#[test]
fn a_young_ring_that_only_a_root_holds_at_a_batch_that_is_passed_over_is_found() {
    let mut m = mutator();
    let [one, _] = pair(&mut m);
    let root = m.push_root(Some(one));
    // What lives on and on: judging does not pay.
    let list = m.push_root(None);
    for step in 0..2_000_000 {
        let (new, rest) = (node(&mut m), m.root(list));
        set(&mut m, new, 0, rest);
        m.set_root(list, Some(new));
        if step % 250_000 == 0 {
            // Another that is young then.
            let [one, _] = pair(&mut m);
            m.push_root(Some(one));
        }
    }
    assert!(m.heap().prompt.passed_over.may_be_there(), "nothing was passed over");
    let rings: Vec<ObjectRef> = (list.0 + 1..m.root_count()).filter_map(|index| m.root(RootIndex(index))).collect();
    assert!(is_candidate(one) && rings[..7].iter().all(|&ring| is_candidate(ring)));
    m.truncate_roots(list.0 + 1);
    m.set_root(root, None);
    m.epoch();
    assert_eq!(live(&m), 2_000_000);
}

#[test]
fn a_ring_in_single_cells_of_old_blocks_is_found_after_a_root_has_let_it_go() {
    let mut m = mutator();
    for _ in 0..50_000 {
        let object = node(&mut m);
        m.push_root(Some(object));
    }
    m.epoch();
    for index in (0..50_000).step_by(16) {
        m.set_root(RootIndex(index), None);
    }
    m.poll();
    let before = live(&m);
    let mut alone = 0;
    for _ in 0..3000 {
        let [one, two] = pair(&mut m);
        let root = m.push_root(Some(one));
        m.poll();
        alone += u32::from(!one.is_settled() && !two.is_settled());
        m.truncate_roots(root.0);
    }
    assert!(alone > 100, "{alone} rings in cells of old blocks");
    m.verify().expect("sound");
    assert_eq!(live(&m), before);
}

#[test]
fn a_suspect_that_a_root_holds_at_a_mark_is_a_candidate_again() {
    let mut m = new_mutator(HeapOptions { trials: false, ..options() }).expect("address space");
    let [one, _] = pair(&mut m);
    let root = m.push_root(Some(one));
    m.collect();
    assert_eq!((live(&m), is_candidate(one)), (2, true));
    m.set_root(root, None);
    m.verify().expect("sound");
    m.collect();
    assert_eq!(live(&m), 0);
}

#[test]
fn without_trials_rings_that_only_roots_have_held_are_evidence_for_a_mark() {
    let mut m = new_mutator(HeapOptions { trials: false, ..options() }).expect("address space");
    for _ in 0..500_000 {
        let [one, _] = pair(&mut m);
        let root = m.push_root(Some(one));
        m.truncate_roots(root.0);
        m.poll();
    }
    assert!(m.statistics().marks > 0);
    assert!(m.heap().used_bytes() < 24 << 20, "{} bytes in use", m.heap().used_bytes());
}

#[test]
fn a_candidate_that_a_root_holds_is_not_tried_in_vain() {
    let mut m = mutator();
    let array = m.allocate_array(type_of(&ARRAY), 1000).expect("room");
    m.push_root(Some(array));
    for index in 0..1000 {
        let [one, _] = pair(&mut m);
        set(&mut m, array, 8 + index * 8, Some(one));
        m.push_root(Some(one));
    }
    m.epoch();
    let before = m.statistics().trial_runs;
    for _ in 0..10 {
        m.epoch();
    }
    assert_eq!((m.statistics().trial_runs, live(&m)), (before, 2001));
    m.truncate_roots(1);
    m.epoch();
    assert!(m.statistics().trial_runs > before);
    m.verify().expect("sound");
}

#[test]
fn a_ring_is_lost_to_a_verdict_that_does_not_look_at_roots_and_the_recount_says_so() {
    let mut m = mutator();
    let [one, two] = old_pair(&mut m);
    let holder = m.root(RootIndex(0)).expect("set");
    // A root that is in no list, as one whose frame the walk did not see.
    m.heap().hold(two);
    set(&mut m, holder, 8, None);
    m.epoch();
    assert!(!is_candidate(one) && !is_candidate(two));
    m.heap().decrement_root(two);
    let violation = m.verify().expect_err("two objects are lost");
    assert_eq!(violation.invariant, "CANDIDATE");
    m.collect();
    m.verify().expect("the mark finds them");
}

#[test]
fn an_object_of_many_references_that_roots_let_go_of_is_no_candidate_for_that() {
    let mut m = mutator();
    let hub = m.allocate(type_of(&NODE)).expect("room");
    let holder = node(&mut m);
    m.push_root(Some(holder));
    set(&mut m, holder, 0, Some(hub));
    m.epoch();
    for _ in 0..100 {
        m.push_root(Some(hub));
    }
    m.truncate_roots(1);
    assert_eq!((m.count_of(hub), is_candidate(hub)), (1, false));
}
