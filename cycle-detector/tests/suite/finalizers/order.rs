//! In which order, on request, and not at all.

use crate::finalizers::{
    ACTION, FILE, NODE, ON_REQUEST, OWNER, REVERSE, drop_all, each, live, mutator, new, ring, seen, seen_sorted, set,
};
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;

/// scenario 67: wherever they are found dead.
#[test]
fn finalizers_run_in_reverse_order_of_registration_where_the_type_says_so() {
    each(
        |m, age| {
            ring(m, &REVERSE, 0, 20);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), ((0..20).rev().collect(), 0), "{age:?}");
        },
        None,
    );
}

/// scenario 67: of objects that die one by one: under the deferred plan an epoch's dead are one set.
#[test]
fn what_one_epoch_finds_dead_is_finalized_in_reverse_order_whatever_found_it() {
    let mut m = mutator(Plan::Deferred, None);
    for number in 0..10 {
        let object = new(&mut m, &REVERSE, number);
        if number % 2 == 0 {
            set(&mut m, object, 0, Some(object));
        }
    }
    m.epoch();
    m.truncate_roots(0);
    new(&mut m, &REVERSE, 10);
    m.truncate_roots(0);
    m.epoch();
    m.epoch();
    assert_eq!(seen(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    m.collect();
    assert_eq!(live(&mut m), 0);
}

/// scenario 67: the same where the deaths go on beside the program after the epoch's end.
#[test]
fn deaths_that_go_on_after_an_epoch_are_of_its_set() {
    for units in 1..200 {
        let mut m = mutator(Plan::Deferred, None);
        (0..30).for_each(|number| _ = new(&mut m, &REVERSE, number));
        m.epoch();
        m.truncate_roots(0);
        for _ in 0..2 {
            m.flip();
            while m.step(units) {}
        }
        assert_eq!(seen(), (0..30).rev().collect::<Vec<_>>(), "{units} units at a time");
    }
}

/// scenario 68: once for each time that it is found dead.
#[test]
fn an_object_that_registers_itself_anew_is_finalized_once_in_each_collection() {
    each(
        |m, age| {
            ring(m, &FILE, 7, 1);
            drop_all(m, age);
            for _ in 0..5 {
                m.collect();
                assert_eq!(seen(), [7], "{age:?}");
            }
            ACTION.set(None);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![7], 0));
        },
        Some(|m, object| {
            assert!(m.register_finalizer(object));
        }),
    );
}

/// scenario 69: the finalizer that runs first takes the others' away.
#[test]
fn a_finalizer_that_is_forgotten_between_being_found_dead_and_its_call_does_not_run() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 5);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen().len(), live(m)), (1, 0), "{age:?}");
        },
        Some(|m, object| {
            let mut at = object;
            for _ in 0..5 {
                // SAFETY: a member of the ring.
                at = unsafe { ObjectRef::from_address(at.slot(0).read()) };
                m.forget_finalizer(at);
            }
        }),
    );
}

#[test]
fn of_a_type_on_request_only_registered_objects_are_finalized() {
    each(
        |m, age| {
            let members = ring(m, &ON_REQUEST, 0, 6);
            for place in [1, 2, 3] {
                assert!(m.register_finalizer(members[place]));
                m.forget_finalizer(members[place]);
            }
            for place in [2, 3] {
                assert!(m.register_finalizer(members[place]));
                assert!(m.register_finalizer(members[place]));
            }
            let node = new(m, &NODE, 0);
            assert!(!m.register_finalizer(node));
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![2, 3], 0), "{age:?}");
        },
        None,
    );
}

/// scenario 81: a chain, with what has no finalizer in between.
#[test]
fn owners_are_finalized_before_what_they_own_where_the_type_says_so() {
    each(
        |m, age| {
            let objects: Vec<ObjectRef> = (0..12).map(|number| new(m, &OWNER, number)).collect();
            for (place, pair) in objects.windows(2).enumerate() {
                let between = new(m, &NODE, 100 + place as u64);
                let direct = place % 2 == 0;
                set(m, pair[0], 0, Some(if direct { pair[1] } else { between }));
                set(m, between, 0, Some(pair[1]).filter(|_| !direct));
            }
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), ((0..12).collect(), 0), "{age:?}");
        },
        None,
    );
}

/// Of all orders: the first owner may be of another one.
#[test]
fn owners_of_another_order_are_finalized_before_what_they_own() {
    for first in [&REVERSE, &FILE] {
        each(
            |m, age| {
                let objects = [new(m, first, 0), new(m, &OWNER, 1), new(m, &OWNER, 2)];
                objects.windows(2).for_each(|pair| set(m, pair[0], 0, Some(pair[1])));
                drop_all(m, age);
                m.collect();
                assert_eq!((seen(), live(m)), (vec![0, 1, 2], 0), "{age:?}");
            },
            None,
        );
    }
}

/// scenario 75: nothing is uncollectable.
#[test]
fn rings_of_owners_are_finalized_in_any_order() {
    each(
        |m, age| {
            let members = ring(m, &OWNER, 0, 4);
            let hung_on = new(m, &OWNER, 10);
            set(m, members[2], 8, Some(hung_on));
            let owner = new(m, &OWNER, 20);
            set(m, owner, 8, Some(members[0]));
            drop_all(m, age);
            m.collect();
            let order = seen();
            assert_eq!((order.len(), order[0], live(m)), (6, 20, 0), "{age:?}: {order:?}");
        },
        None,
    );
}
