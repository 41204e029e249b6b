//! The list of special objects, between two slices.

use super::{FINALIZED, MORTAL, end, finish, heap, node, rooted, take_snapshot};
use tally_heap::mark_phase::MarkPhase;
use tally_kit::nodes::type_of;

/// A slice may end by the clock when the last of the dead is judged and the driver does not know it yet: it asks once more, after the
/// program had its turn.
#[test]
fn what_becomes_special_when_the_last_of_the_dead_is_judged_is_known_to_the_next_collection() {
    let mut m = heap();
    for _ in 0..30 {
        let target = node(&mut m);
        m.new_weak(target).expect("memory");
    }
    take_snapshot(&mut m);
    while m.heap().mark_phase() != MarkPhase::Off {
        assert!(m.step(1), "a collection that has not swept");
    }
    let (target, root) = rooted(&mut m);
    let weak = m.new_weak(target).expect("memory");
    m.push_root(Some(weak));
    assert_eq!(m.heap().end_special_some(100), None, "all of them have ended");
    finish(&mut m);
    m.set_root(root, None);
    m.collect();
    assert_eq!(m.read_weak(weak.slot(0)), None);
    end(m);
}

/// A collection in one stop takes the object off the list of registered ones.
#[test]
fn finalizer_that_is_registered_again_after_a_collection_between() {
    FINALIZED.set(0);
    let mut m = heap();
    let mortal = m.allocate(type_of(&MORTAL)).expect("memory");
    let root = m.push_root(Some(mortal));
    m.forget_finalizer(mortal);
    m.collect();
    assert!(m.register_finalizer(mortal));
    m.set_root(root, None);
    m.flip();
    finish(&mut m);
    (0..3).for_each(|_| m.poll());
    assert_eq!(FINALIZED.get(), 1);
    end(m);
}
