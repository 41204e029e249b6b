//! Where objects are found dead, and what is whole while they are finalized.

use crate::finalizers::{
    ACTION, Age, FILE, LARGE, NODE, drop_all, each, live, mutator, mutator_with, new, ring, seen, seen_sorted, set,
    type_of,
};
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};

/// scenario 53: each of a ring, once.
#[test]
fn finalizers_of_a_dead_ring_run_once() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 5);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4], 0), "{age:?}");
            m.collect();
            assert_eq!(seen(), []);
        },
        None,
    );
}

/// scenario 54: under the deferred plan at the epoch's end, under the prompt plan at the next safepoint.
#[test]
fn finalizer_of_what_no_ring_holds_runs_at_the_next_epoch() {
    each(
        |m, age| {
            let (first, last) = (new(m, &FILE, 1), new(m, &FILE, 2));
            set(m, first, 0, Some(last));
            drop_all(m, age);
            m.epoch();
            if age == Age::Young || m.heap().plan() == Plan::Prompt {
                assert_eq!(seen_sorted(), [1, 2], "{age:?}");
            } else {
                m.epoch();
                m.epoch();
                assert_eq!(seen()[0], 1, "the owner dies first");
            }
            m.collect();
            assert_eq!(live(m), 0);
        },
        None,
    );
}

/// scenario 55, scenario 72: the finalizer goes round its ring, and finds it whole.
#[test]
fn all_finalizers_of_a_ring_run_before_any_member_is_freed() {
    each(
        |m, age| {
            ring(m, &FILE, 0, 4);
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3], 0));
        },
        Some(|m, object| {
            let mut at = object;
            for step in 1..=4 {
                // SAFETY: a member of the same ring, which is all there.
                at = unsafe { ObjectRef::from_address(at.slot(0).read()) };
                assert_eq!(at.slot(16).read(), (object.slot(16).read() + step) % 4);
                assert!(m.count_of(at) > 0);
            }
            assert_eq!(at, object);
        }),
    );
}

#[test]
fn large_objects_are_finalized_too() {
    each(
        |m, age| {
            for _ in 0..3 {
                let object = m.allocate_array(type_of(&LARGE), 10_000).expect("room");
                m.push_root(Some(object));
                set(m, object, 0, Some(object));
                let file = new(m, &FILE, 1);
                set(m, object, 8, Some(file));
                set(m, file, 0, Some(object));
            }
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![1, 1, 1, 10_000, 10_000, 10_000], 0), "{age:?}");
        },
        None,
    );
}

/// Of many young dead objects each is seen once, in whatever slices, while the program goes on.
#[test]
fn thousands_of_young_dead_objects_are_finalized_while_the_program_runs() {
    for plan in Plan::ALL {
        for slice_units in [None, Some(50), Some(5000)] {
            let options = HeapOptions { plan, slice_units, epoch_bytes: 64 << 10, ..HeapOptions::default() };
            let mut m = mutator_with(
                options,
                Some(|m, object| {
                    let base = m.root_count();
                    let node = new(m, &NODE, 0);
                    set(m, object, 8, Some(node));
                    m.truncate_roots(base);
                }),
            );
            for number in 0..20_000 {
                let object = new(&mut m, &FILE, number);
                if number % 2 == 0 {
                    set(&mut m, object, 0, Some(object));
                }
                if number % 64 != 0 {
                    m.truncate_roots(m.root_count() - 1);
                }
                m.poll();
            }
            m.verify().expect("sound");
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen_sorted(), live(&mut m)), ((0..20_000).collect(), 0), "{plan:?}, {slice_units:?}");
        }
    }
}

/// At the heap limit it is finalizers that make room.
#[test]
fn garbage_that_waits_for_finalizers_is_room_at_the_limit() {
    for plan in Plan::ALL {
        let options = HeapOptions { plan, heap_limit: Some(512 << 10), ..HeapOptions::default() };
        let mut m = mutator_with(options, None);
        for number in 0..50_000 {
            let object = new(&mut m, &FILE, number);
            set(&mut m, object, 0, Some(object));
            m.truncate_roots(0);
        }
        m.collect();
        assert_eq!((seen().len(), live(&mut m)), (50_000, 0), "{plan:?}");
    }
}

#[test]
fn in_zeal_finalizers_run_and_nothing_dead_is_touched() {
    for plan in Plan::ALL {
        let mut m = mutator_with(
            HeapOptions { plan, zeal: true, ..HeapOptions::default() },
            Some(|m, object| {
                let base = m.root_count();
                let node = new(m, &NODE, 5);
                set(m, object, 8, Some(node));
                if object.slot(16).read() == 3 {
                    m.push_root(Some(object));
                } else {
                    m.truncate_roots(base);
                }
            }),
        );
        ring(&mut m, &FILE, 0, 5);
        m.truncate_roots(0);
        for _ in 0..40 {
            new(&mut m, &NODE, 0);
            m.truncate_roots(m.root_count() - 1);
        }
        m.collect();
        assert_eq!(seen_sorted(), [0, 1, 2, 3, 4], "{plan:?}");
        ACTION.set(None);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(live(&mut m), 0, "{plan:?}");
    }
}

/// scenario 71: the class of an object, an object with a finalizer as well, is whole while its instances are finalized.
#[test]
fn what_an_object_refers_to_as_its_class_is_there_while_it_is_finalized() {
    each(
        |m, age| {
            let class = new(m, &FILE, 1000);
            let instances = ring(m, &FILE, 0, 5);
            for &instance in &instances {
                set(m, instance, 8, Some(class));
            }
            set(m, class, 0, Some(instances[0]));
            set(m, class, 8, Some(class));
            drop_all(m, age);
            m.collect();
            assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 4, 1000], 0), "{age:?}");
        },
        Some(|m, object| {
            // SAFETY: a field of an object that is being finalized.
            let class = unsafe { ObjectRef::from_address(object.slot(8).read()) };
            assert!(class.slot(16).read() == 1000 && m.count_of(class) > 0);
        }),
    );
}

/// The key of an ephemeron, found dead in a slice, was yielded by the key's slot, and finalized after that, reachable.
#[test]
fn a_key_that_waits_for_its_finalizer_is_not_yielded() {
    for units in 1..60 {
        let mut m = mutator(Plan::Deferred, None);
        let key = new(&mut m, &FILE, 1);
        let ephemeron = m.new_ephemeron(key, None).expect("room");
        m.truncate_roots(0);
        let place = m.push_root(Some(ephemeron));
        m.flip();
        m.step(units);
        let finalized = seen() == [1];
        let yielded = m.ephemeron_value(ephemeron).is_some() || m.read_weak(ephemeron.slot(8)).is_some();
        let kept = m.push_root(yielded.then_some(key));
        m.collect();
        assert_eq!(seen(), if yielded || finalized { vec![] } else { vec![1] }, "after {units} units");
        m.set_root(place, None);
        m.set_root(kept, None);
        m.collect();
        assert_eq!(live(&mut m), 0);
    }
}

/// A mark that has discovered all while thousands of the dead are still to be taken apart: behind them waits an object
/// with a finalizer, its count at zero. What that object holds is no garbage before its finalizer has run.
#[test]
fn finalizer_of_an_object_whose_death_is_still_to_come_when_a_mark_has_discovered_all() {
    const DEAD: u64 = 5000;
    let looks: crate::finalizers::Action = |m, object| {
        // SAFETY: a field of an object that is being finalized.
        let held = unsafe { ObjectRef::of_word(object.slot(0).read()) }.expect("a reference");
        assert!(m.count_of(held) > 0 && held.slot(16).read() == 7, "what it holds has been freed");
    };
    let options = HeapOptions { eager_marks: true, slice_units: Some(64), ..HeapOptions::default() };
    let mut m = mutator_with(options, Some(looks));
    for number in 0..DEAD {
        new(&mut m, &NODE, number);
    }
    // The last root is let go of first, and what is dead first waits longest.
    let file = new(&mut m, &FILE, 1);
    let held = m.allocate(type_of(&NODE)).expect("room");
    held.slot(16).store(7);
    set(&mut m, file, 0, Some(held));
    m.collect();
    assert_eq!(live(&mut m), DEAD + 2);
    m.truncate_roots(0);
    for _ in 0..3 {
        m.flip();
        while m.step(64) {}
        m.poll();
    }
    assert_eq!(seen(), [1]);
    m.collect();
    assert_eq!(live(&mut m), 0);
}
