//! The list of special objects, between two slices.

use super::{end, finish, heap, node, rooted, take_snapshot};
use tally_heap::mark_phase::MarkPhase;

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
