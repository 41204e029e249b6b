//! Whatever finalizers do.

use crate::finalizers::{
    ACTION, Action, DEPTH, FILE, NODE, OWNER, REVERSE, drop_all, each, live, mutator, mutator_with, new, ring, seen,
    seen_sorted, set,
};
use std::cell::{Cell, RefCell};
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};

/// scenario 56, scenario 57: stored, it is whole.
#[test]
fn what_a_finalizer_stores_lives_on_with_all_it_reaches_and_is_not_finalized_again() {
    each(
        |m, age| {
            let members = ring(m, &FILE, 0, 3);
            let held = new(m, &NODE, 10);
            set(m, members[1], 8, Some(held));
            drop_all(m, age);
            m.collect();
            assert_eq!(seen_sorted(), [0, 1, 2], "{age:?}");
            assert_eq!(live(m), 4);
            let [member] = [m.root(tally_heap::services::host_roots::RootIndex(0)).expect("stored")];
            assert_eq!(member.slot(16).read(), 1);
            // SAFETY: a field of a live object.
            assert_eq!(unsafe { ObjectRef::from_address(member.slot(8).read()) }.slot(16).read(), 10);
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![], 0));
        },
        Some(|m, object| {
            if object.slot(16).read() == 1 {
                m.push_root(Some(object));
            }
        }),
    );
}

/// scenario 58, scenario 59, scenario 60: each finalizer takes its ring apart, by the very field that led to it.
#[test]
fn finalizers_that_take_their_ring_apart_find_it_whole_or_in_pieces() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 6);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4, 5], 0), "{age:?}");
        },
        Some(|m, object| {
            let next = object.slot(0).read();
            set(m, object, 0, None);
            if next != 0 {
                // SAFETY: the object held it a moment ago, and no safepoint has begun since.
                let next = unsafe { ObjectRef::from_address(next) };
                set(m, next, 0, None);
            }
        }),
    );
}

/// scenario 61: a chain that never ends does not hold anybody up.
#[test]
fn a_finalizer_that_allocates_another_of_its_type_ends() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 2);
            drop_all(m, age);
            for _ in 0..5 {
                m.collect();
                assert!(live(m) < 40, "{}", m.statistics().live_objects);
            }
            assert!((5..200).contains(&seen().len()));
            ACTION.set(None);
            m.collect();
            m.collect();
            assert_eq!(live(m), 0);
        },
        Some(|m, object| {
            let base = m.root_count();
            let made = new(m, &FILE, object.slot(16).read() + 1);
            set(m, made, 0, Some(made));
            m.truncate_roots(base);
        }),
    );
}

/// scenario 62: by the next collection.
#[test]
fn a_ring_that_a_finalizer_makes_is_collected_later() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 3);
            drop_all(m, age);
            m.collect();
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2], 0));
        },
        Some(|m, _| {
            let base = m.root_count();
            ring(m, &NODE, 100, 3);
            m.truncate_roots(base);
        }),
    );
}

/// scenario 63: until the finalizer has returned.
#[test]
fn a_collection_asked_for_in_a_finalizer_is_put_off() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 3);
            drop_all(m, age);
            m.epoch();
            m.epoch();
            m.epoch();
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2], 0));
        },
        Some(|m, _| {
            DEPTH.set(DEPTH.get() + 1);
            assert_eq!(DEPTH.get(), 1, "finalizers of a ring do not nest");
            assert_eq!(m.collect(), 0);
            DEPTH.set(DEPTH.get() - 1);
        }),
    );
}

/// scenario 64, scenario 65: and the next collection works.
#[test]
fn a_finalizer_that_panics_is_told_and_the_rest_goes_on() {
    each(
        |m, age| {
            let told: std::rc::Rc<RefCell<Vec<String>>> = Default::default();
            let listener = told.clone();
            m.on_finalizer_error(move |error| {
                listener.borrow_mut().push(format!("{} {}", error.object.slot(16).read(), error.message));
            });
            for _ in 0..3 {
                ring(m, &FILE, 0, 4);
                drop_all(m, age);
                m.collect();
                assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3], 0));
                let mut told = told.take();
                told.sort();
                assert_eq!(told, ["1 panicked: 1 is odd", "3 panicked: 3 is odd"]);
            }
        },
        Some(|_, object| {
            let number = object.slot(16).read();
            assert!(number.is_multiple_of(2), "{number} is odd");
        }),
    );
}

/// scenario 74: an address that a finalizer hides where no root is leads to a dead object; zeal knows that.
#[test]
fn an_address_that_a_finalizer_hides_leads_to_what_zeal_knows_is_dead() {
    thread_local! {
        static HIDDEN: Cell<u64> = const { Cell::new(0) };
    }
    for plan in Plan::ALL {
        let mut m = mutator_with(
            HeapOptions { plan, zeal: true, ..HeapOptions::default() },
            Some(|_, object| HIDDEN.set(object.address())),
        );
        let object = new(&mut m, &FILE, 1);
        let address = object.address();
        assert_eq!(m.heap().zeal.as_ref().expect("zeal").live_object(address), Some(object));
        m.truncate_roots(0);
        m.collect();
        assert_eq!(HIDDEN.get(), address, "{plan:?}");
        assert_eq!(m.heap().zeal.as_ref().expect("zeal").live_object(address), None, "{plan:?}");
    }
}

/// scenario 76: roots come and go in finalizers, and never under the collector's eyes.
#[test]
fn finalizers_change_the_table_of_roots() {
    each(
        |m, age| {
            for round in 0..20 {
                ring(m, &FILE, round * 10, 4);
                for number in 0..100 {
                    new(m, &NODE, number);
                }
                drop_all(m, age);
                new(m, &NODE, 500);
                m.collect();
            }
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen().len(), live(m)), (80, 0), "{age:?}");
        },
        Some(|m, _| {
            let nodes = m.root_count();
            for number in 0..64 {
                new(m, &NODE, 600 + number);
            }
            m.truncate_roots(nodes / 2);
        }),
    );
}

/// scenario 82: the first time that it is found dead a finalizer says no, and asks to be called again; the second time
/// it does not.
#[test]
fn a_finalizer_that_vetoes_the_first_death_lets_the_second_happen() {
    each(
        |m, age| {
            ring(m, &FILE, 1, 1);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![1], 1), "{age:?}");
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen(), live(m)), (vec![2], 0), "{age:?}");
        },
        Some(|m, object| {
            let time = object.slot(16).read();
            object.slot(16).store(time + 1);
            if time == 1 {
                m.push_root(Some(object));
                assert!(m.register_finalizer(object));
            }
        }),
    );
}

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// scenario 64: whichever of them panics, of whatever shape what dies is, the others run, and nothing stays.
#[test]
fn a_finalizer_panics_at_each_point_of_a_collection() {
    const OBJECTS: u64 = 16;
    for panics in 0..OBJECTS {
        each(
            |m, age| {
                let told: std::rc::Rc<Cell<u64>> = Default::default();
                let listener = told.clone();
                m.on_finalizer_error(move |_| listener.set(listener.get() + 1));
                let mut objects = ring(m, &FILE, 0, 4);
                objects.extend(ring(m, &OWNER, 4, 2));
                objects.extend(ring(m, &REVERSE, 6, 3));
                for number in 9..OBJECTS {
                    let object = new(m, [&FILE, &OWNER, &REVERSE][number as usize % 3], number);
                    set(m, object, 8, objects.last().copied());
                    objects.push(object);
                }
                set(m, objects[1], 8, Some(objects[7]));
                set(m, objects[4], 8, Some(objects[2]));
                LEFT.set(panics);
                drop_all(m, age);
                m.collect();
                assert_eq!(seen_sorted(), (0..OBJECTS).collect::<Vec<u64>>(), "{age:?}, {panics}");
                assert_eq!((told.get(), live(m)), (1, 0), "{age:?}, {panics}");
                // The next collection works.
                ring(m, &FILE, 0, 3);
                drop_all(m, age);
                m.collect();
                assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2], 0), "{age:?}, {panics}");
            },
            Some(|_, _| {
                let left = LEFT.get();
                LEFT.set(left.wrapping_sub(1));
                assert_ne!(left, 0, "as asked");
            }),
        );
    }
}

/// Under the prompt plan it was held for good, since only safepoints let go of it.
#[test]
fn what_is_registered_anew_is_finalized_once_in_each_collection_in_parts() {
    let again: Action = |m, object| assert!(m.register_finalizer(object));
    for plan in Plan::ALL {
        let mut m = mutator(plan, Some(again));
        new(&mut m, &FILE, 1);
        m.truncate_roots(0);
        for _ in 0..5 {
            while !m.collect_for(0) {}
        }
        assert!((4..=5).contains(&seen().len()), "{plan:?}");
    }
}
