//! Young objects pile up while no batch may be judged. With a pause goal the pile is judged a part at a time, and what is
//! left of it is young as before.

use crate::prompt::random::Random;
use crate::prompt::slices::{ring, sliced};
use crate::prompt::{node, nodes, set};
use std::collections::HashSet;
use tally_collector::Mutator;
use tally_collector::plan::prompt;
use tally_heap::ObjectRef;
use tally_heap::services::host_roots::RootIndex;

const NODES: usize = 120_000;
/// The objects that new ones are linked with, both ways.
const WINDOW: usize = 2000;
/// Blocks that a batch may judge, of a thousand nodes with two references each.
const BATCH_EDGES_MAX: u64 = 16 * 1024 * 2;
/// The same, and what a round of trials may follow.
const EDGES_MAX: u64 = BATCH_EDGES_MAX + 32_768;

/// A heap whose collector was stopped while rings of all sizes were made; one in a hundred of the last is still held.
fn pile(seed: u64) -> Mutator {
    let mut m = sliced(4096, true);
    let mut random = Random(seed);
    m.stop();
    let window: Vec<RootIndex> = (0..WINDOW).map(|_| m.push_root(None)).collect();
    for number in 0..NODES {
        let new = node(&mut m);
        let [to, from] = [(); 2].map(|()| m.root(window[random.below(WINDOW as u64) as usize]));
        set(&mut m, new, 0, to);
        if let Some(from) = from {
            set(&mut m, from, 8, Some(new));
        }
        m.set_root(window[number % WINDOW], Some(new));
    }
    for (place, &root) in window.iter().enumerate() {
        if place % 100 != 0 {
            m.set_root(root, None);
        }
    }
    m.restart();
    m
}

fn reachable(m: &Mutator) -> HashSet<ObjectRef> {
    let mut queue: Vec<ObjectRef> = (0..WINDOW).filter_map(|place| m.root(RootIndex(place))).collect();
    let mut seen = HashSet::new();
    while let Some(object) = queue.pop() {
        if seen.insert(object) {
            object.type_info().for_each_reference(object, tally_heap::visit::Part::Whole, |it| queue.push(it));
        }
    }
    seen
}

#[test]
fn pile_of_young_objects_is_judged_a_part_at_a_time() {
    for seed in 1..4 {
        let mut m = pile(seed);
        let (before, held) = (m.statistics(), reachable(&m));
        assert!(before.live_objects > 100_000 && held.len() > 100, "{} of {}", held.len(), before.live_objects);
        let (mut rounds, mut edges) = (0, before.trial_edges);
        while m.heap().prompt.cells.nursery.is_due() {
            m.poll();
            prompt::verify(m.heap()).unwrap_or_else(|fault| panic!("seed {seed}, poll {rounds}: {fault:?}"));
            let now = m.statistics().trial_edges;
            assert!(now - edges <= EDGES_MAX, "seed {seed}: {} references at once", now - edges);
            (rounds, edges) = (rounds + 1, now);
        }
        assert!((6..100).contains(&rounds), "seed {seed}: {rounds} rounds");
        let there: HashSet<ObjectRef> = m.live_objects().into_iter().collect();
        assert!(held.is_subset(&there), "seed {seed}");
        m.collect();
        let left: HashSet<ObjectRef> = m.live_objects().into_iter().collect();
        assert_eq!(left, held, "seed {seed}");
    }
}

/// A mark in slices begins when all that is young has been judged: a batch in each slice, not the pile at once. (The
/// first poll tries candidates, too.)
#[test]
fn mark_that_begins_beside_a_pile_judges_a_part_of_it_in_each_slice() {
    let mut m = pile(5);
    let held = reachable(&m);
    m.heap().options_mut().eager_marks = true;
    let mut edges = m.statistics().trial_edges;
    for slice in 0.. {
        m.poll();
        let now = m.statistics().trial_edges;
        assert!(slice == 0 || now - edges <= BATCH_EDGES_MAX, "slice {slice}: {} references at once", now - edges);
        edges = now;
        if m.statistics().marks > 1 {
            break;
        }
        assert!(slice < 10_000, "the mark does not end");
    }
    let there: HashSet<ObjectRef> = m.live_objects().into_iter().collect();
    assert!(held.is_subset(&there));
}

/// The mark begins with all that is young, however much that is.
#[test]
fn collection_takes_all_of_a_pile_at_once() {
    let mut m = pile(7);
    let held = reachable(&m);
    m.collect();
    assert_eq!(m.statistics().live_objects, held.len() as u64);
}

/// The program makes as much in each of its turns as a batch judges: the pile stays, and the mark comes to its end all
/// the same.
#[test]
fn mark_beside_a_pile_that_stays_comes_to_its_end() {
    let mut m = sliced(1 << 16, true);
    let base = m.root_count();
    let (root, _) = ring(&mut m, 20_000);
    m.epoch();
    m.set_root(root, None);
    m.truncate_roots(base);
    m.heap().options_mut().eager_marks = true;
    for turn in 0..60 {
        m.stop();
        for _ in 0..20_000 {
            let [one, two] = nodes(&mut m);
            set(&mut m, one, 0, Some(two));
            set(&mut m, two, 0, Some(one));
        }
        m.restart();
        assert!(m.heap().prompt.cells.nursery.is_backlog(), "turn {turn}");
        m.poll();
        if m.statistics().marks > 1 {
            return prompt::verify(m.heap()).expect("sound");
        }
    }
    panic!("{:?}", m.statistics());
}
