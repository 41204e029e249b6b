//! The last finalizers of a heap.

use crate::finalizers::{FILE, OWNER, REVERSE, live, mutator, mutator_with, new, ring, seen, seen_sorted, set};
use tally_compiled::module::record::{ModuleRecord, TypeHandle};
use tally_compiled::module::registry;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};

/// scenario 78: those that are left, and those made meanwhile.
#[test]
fn at_the_end_finalizers_run_of_what_is_reachable_and_of_what_they_make() {
    for plan in Plan::ALL {
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

/// scenario 78: and no finalizer waits for ever.
#[test]
fn at_the_end_a_chain_of_finalizers_that_make_others_is_cut_off() {
    for plan in Plan::ALL {
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
    for plan in Plan::ALL {
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
    for plan in Plan::ALL {
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

/// Only the types of the module that goes are finalized at once; what waits of others keeps its place in the queue.
#[test]
fn objects_that_wait_while_another_module_goes_are_finalized_in_their_turn() {
    const MANY: u64 = 3000;
    // SAFETY: `close` takes any object of the type.
    static GUEST: TypeDescriptor =
        unsafe { TypeDescriptor::plain(c"Guest", 24, &[0, 8]).finalized(crate::finalizers::close) };
    for plan in Plan::ALL {
        let mut m = mutator_with(
            HeapOptions { plan, pause_goal_ns: Some(1_000_000), slice_units: Some(64), ..HeapOptions::default() },
            None,
        );
        m.heap().attach();
        let mut handles = [TypeHandle { descriptor: &raw const GUEST, meta: 0, cell: 0 }];
        let module = ModuleRecord {
            flags: plan.module_flags(),
            type_count: 1,
            types: handles.as_mut_ptr(),
            ..ModuleRecord::empty(c"guest.ll")
        };
        // SAFETY: the record and what it points to live until it is unregistered.
        unsafe { registry::register(&module) }.expect("a sound module");
        ring(&mut m, &FILE, 0, MANY);
        m.truncate_roots(0);
        m.collect_for(0);
        while m.heap().services.finalizers.queue.is_empty() {
            m.collect_for(0);
        }
        new(&mut m, &GUEST, MANY);
        m.truncate_roots(0);
        let waiting = m.heap().services.finalizers.queue.len();
        // SAFETY: the module goes away now, with its code.
        unsafe { registry::unregister(&module) };
        let mut ran = seen();
        assert!(ran.contains(&MANY), "{plan:?}: the module's object");
        assert!(
            m.heap().services.finalizers.queue.len() + 64 >= waiting,
            "{plan:?}: of {waiting} wait {}",
            m.heap().services.finalizers.queue.len()
        );
        let marks = m.statistics().marks;
        for _ in 0..2 * MANY {
            match plan {
                Plan::Prompt => m.poll(),
                Plan::Trace if m.heap().services.finalizers.queue.is_empty() => m.flip(),
                Plan::Trace => m.poll(),
                Plan::Deferred => {
                    if !m.step(64) {
                        m.flip();
                    }
                }
            }
        }
        ran.extend(seen());
        ran.sort_unstable();
        assert!(ran.iter().copied().eq(0..=MANY), "{plan:?}: {} have run, not each once", ran.len());
        if plan == Plan::Prompt {
            assert_eq!(m.statistics().marks, marks, "no mark had to find them again");
        }
        m.collect();
        assert_eq!(live(&mut m), 0, "{plan:?}");
        m.heap().detach();
    }
}
