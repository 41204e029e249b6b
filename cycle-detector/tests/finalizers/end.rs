//! The last finalizers of a heap.

use crate::{FILE, OWNER, PLANS, REVERSE, live, mutator, new, ring, seen, seen_sorted, set};
use rc_runtime::ObjectRef;

/// scenario 78: those that are left, and those made meanwhile.
#[test]
fn at_the_end_finalizers_run_of_what_is_reachable_and_of_what_they_make() {
    for plan in PLANS {
        let mut m = mutator(
            plan,
            Some(|m, object| {
                let number = object.slot(16).read();
                if number < 5 {
                    // Resurrected, and with something new: neither loops.
                    m.push_root(Some(object));
                    new(m, &REVERSE, number + 100);
                }
            }),
        );
        for number in 0..5 {
            let object = new(&mut m, &REVERSE, number);
            set(&mut m, object, 0, Some(object));
        }
        m.epoch();
        ring(&mut m, &REVERSE, 5, 2);
        m.finalize_all();
        let order = seen();
        assert_eq!(order[..7], [6, 5, 4, 3, 2, 1, 0], "{plan:?}");
        assert_eq!(order[7..], [100, 101, 102, 103, 104], "{plan:?}: those of 4 were made first");
        m.finalize_all();
        assert_eq!(seen(), []);
        m.truncate_roots(0);
        m.collect();
        assert_eq!((seen(), live(&mut m)), (vec![], 0));
    }
}

/// scenario 78: and nobody waits for ever.
#[test]
fn at_the_end_a_chain_of_finalizers_that_make_others_is_cut_off() {
    for plan in PLANS {
        let mut m = mutator(
            plan,
            Some(|m, _| {
                new(m, &FILE, 1);
            }),
        );
        new(&mut m, &FILE, 0);
        m.finalize_all();
        assert_eq!(seen().len(), 10, "{plan:?}");
    }
}

/// scenario 79: each is told, all run.
#[test]
fn at_the_end_an_error_stops_nobody() {
    for plan in PLANS {
        let mut m = mutator(plan, Some(|_, _| panic!("no")));
        m.on_finalizer_error(|_| ());
        ring(&mut m, &FILE, 0, 3);
        m.truncate_roots(1);
        new(&mut m, &FILE, 3);
        m.finalize_all();
        assert_eq!(seen_sorted(), [0, 1, 2, 3], "{plan:?}");
    }
}

/// scenario 81: of what is reachable.
#[test]
fn at_the_end_owners_come_before_what_they_own() {
    for plan in PLANS {
        let mut m = mutator(plan, None);
        let objects: Vec<ObjectRef> = (0..30).map(|number| new(&mut m, &OWNER, number)).collect();
        // A heap: 0 owns 1 and 2, 1 owns 3 and 4 …
        for (place, &object) in objects.iter().enumerate() {
            let child = |number: usize| objects.get(number).copied();
            set(&mut m, object, 0, child(2 * place + 1));
            set(&mut m, object, 8, child(2 * place + 2));
        }
        m.finalize_all();
        let order = seen();
        assert_eq!(order.len(), 30);
        let place_of = |number: u64| order.iter().position(|&one| one == number).expect("finalized");
        for number in 1..30 {
            assert!(place_of((number - 1) / 2) < place_of(number), "{plan:?}: {order:?}");
        }
    }
}
