//! What the tests of marks in slices share: rings, and a deed of the program before the first slice, between the first
//! two, and so on.

use crate::prompt::{live, node, options, set};
use tally_collector::Mutator;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// Slices of so many units, and of no time.
pub fn sliced(units: u32, trials: bool) -> Mutator {
    let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(units), trials, ..options() };
    new_mutator(options).expect("address space")
}

/// A ring of so many nodes, by their second fields, held by nothing but the root that is answered.
pub fn ring(m: &mut Mutator, count: usize) -> (RootIndex, Vec<ObjectRef>) {
    let base = m.root_count();
    let root = m.push_root(None);
    let ring: Vec<ObjectRef> = (0..count)
        .map(|_| {
            let object = node(m);
            m.push_root(Some(object));
            object
        })
        .collect();
    for at in 0..count {
        set(m, ring[at], 8, Some(ring[(at + 1) % count]));
    }
    m.set_root(root, Some(ring[0]));
    m.truncate_roots(base + 1);
    (root, ring)
}

/// Whether it has not been freed.
pub fn is_there(m: &mut Mutator, object: ObjectRef) -> bool {
    m.live_objects().contains(&object)
}

/// Steps until a collection is complete. Before step number `at` the program does `deed`; answers whether that came
/// before the end.
pub fn collect_with(m: &mut Mutator, at: usize, mut deed: impl FnMut(&mut Mutator)) -> bool {
    for step in 0..1_000_000 {
        if step == at {
            deed(m);
        }
        let complete = m.collect_for(0);
        tally_collector::plan::prompt::verify(m.heap())
            .unwrap_or_else(|fault| panic!("deed {at}, step {step}: {fault:?}"));
        if complete {
            return step >= at;
        }
    }
    panic!("never complete");
}

/// The root lets go of what leads to `target`, and before step number `at` it holds what a weak slot to that yields:
/// whether that came, and what.
pub fn collect_and_read_weak(
    m: &mut Mutator,
    at: usize,
    root: RootIndex,
    target: ObjectRef,
) -> (bool, Option<ObjectRef>) {
    let weak = m.new_weak(target).expect("room");
    m.push_root(Some(weak));
    m.poll();
    m.set_root(root, None);
    let mut yielded = None;
    let came = collect_with(m, at, |m| {
        yielded = m.read_weak(weak.slot(0));
        m.set_root(root, yielded);
    });
    (came, yielded)
}

/// Plays `situation` with the deed at each place, until it comes after the end.
pub fn at_each_place(mut situation: impl FnMut(&mut Mutator, usize) -> bool) {
    for (at, trials) in (0..).flat_map(|at| [(at, false), (at, true)]) {
        let mut m = sliced(1, trials);
        let came = situation(&mut m, at);
        m.verify().unwrap_or_else(|fault| panic!("deed {at}: {fault:?}"));
        m.truncate_roots(0);
        m.collect();
        assert_eq!(live(&m), 0, "deed {at}: nothing is left when nothing is held");
        if !came {
            assert!(at > 8, "the mark had {at} steps only");
            return;
        }
    }
}
