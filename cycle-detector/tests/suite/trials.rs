//! What a trial follows: no more than it takes to tell garbage from what is alive.

use tally_collector::Mutator;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, type_registry};
use tally_kit::nodes::new_mutator;

static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
const LENGTH: usize = 8;

/// References that a trial follows from the first of a mature ring when it has lost its root, and an object outside
/// holds the `held`-th.
fn edges_of_a_trial(held: Option<usize>) -> (u64, Mutator) {
    let options = HeapOptions { slice_units: Some(16_384), ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("address space");
    let id = type_registry::register(&PAIR).expect("a sound descriptor");
    let objects: Vec<ObjectRef> = (0..=LENGTH).map(|_| m.allocate(id).expect("memory")).collect();
    let (holder, ring) = (objects[LENGTH], &objects[..LENGTH]);
    for (place, &object) in ring.iter().enumerate() {
        m.write(object, object.slot(0), ring[(place + 1) % LENGTH].address());
    }
    m.write(holder, holder.slot(0), held.map_or(0, |place| ring[place].address()));
    m.push_root(Some(holder));
    let root = m.push_root(Some(ring[0]));
    m.epoch();
    m.truncate_roots(root.0);
    m.epoch();
    assert_eq!(m.statistics().trial_runs, 1);
    m.verify().expect("a sound heap");
    (m.statistics().trial_edges, m)
}

#[test]
fn dead_ring_is_found_by_one_walk() {
    let (edges, m) = edges_of_a_trial(None);
    assert_eq!((edges, m.statistics().live_objects), (8, 1));
}

#[test]
fn candidate_that_is_held_is_found_alive_by_one_walk() {
    let (edges, m) = edges_of_a_trial(Some(0));
    assert_eq!((edges, m.statistics().live_objects), (8, 9));
}

/// From the sixth, the first is reached by three references more; that it reaches the others was seen before.
#[test]
fn life_spreads_no_further_than_to_the_candidate() {
    let (edges, m) = edges_of_a_trial(Some(5));
    assert_eq!((edges, m.statistics().live_objects), (8 + 3, 9));
}
