//! Clauses D1 to D8 of docs/port/barriers.md: single writes under the deferred plan.

use crate::barrier_clauses::scene::{Logged, OBJECTS, Scene, allocate, cases, writes};
use proptest::prelude::*;
use std::collections::HashSet;
use tally_heap::memory::range::LIVE;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// Triples that are mature, clean, and linked as the writes say.
fn linked(links: &[(usize, u64, Option<usize>)]) -> Scene {
    let mut scene = Scene::new(Plan::Deferred, Kind::Triple, 0);
    links.iter().for_each(|&link| scene.write(link));
    scene.settle();
    scene
}

/// What the log must hold after writes: each object once, in the order of first writes, as it was.
fn first_writes(scene: &Scene, more: &[(usize, u64, Option<usize>)], before: &[Vec<u64>]) -> Vec<Logged> {
    let mut seen = HashSet::new();
    let firsts = more.iter().map(|write| write.0).filter(|object| seen.insert(*object));
    firsts.map(|object| (scene.objects[object], None, before[object].clone())).collect()
}

proptest! {
    #![proptest_config(cases())]

    /// D1
    #[test]
    fn first_write_logs_the_words_of_the_flip(
        links in writes(3, 20), write in writes(3, 2), behind_an_array in any::<bool>()
    ) {
        let mut scene = Scene::new(Plan::Deferred, Kind::Triple, 0);
        links.iter().for_each(|&link| scene.write(link));
        if behind_an_array {
            scene.hold_by_an_array();
        }
        scene.settle();
        let (write, before) = (write[0], scene.all_words());
        prop_assert!(scene.is_unlogged(write.0) && scene.log().is_empty());
        scene.write(write);
        prop_assert_eq!(scene.log(), vec![(scene.objects[write.0], None, before[write.0].clone())]);
        prop_assert!(!scene.is_unlogged(write.0));
        let epoch = scene.heap.mutator.heap().clock.epoch;
        prop_assert_eq!(scene.objects[write.0].stamp(), epoch);
        let mut expected = before;
        expected[write.0][write.1 as usize] = scene.word(write.2);
        prop_assert_eq!(scene.all_words(), expected);
        prop_assert!((0..OBJECTS).all(|other| other == write.0 || scene.is_unlogged(other)));
    }

    /// D2
    #[test]
    fn further_writes_of_an_epoch_are_plain_stores(links in writes(3, 20), more in writes(3, 30)) {
        let mut scene = linked(&links);
        let before = scene.all_words();
        let mut expected = before.clone();
        for &write in &more {
            scene.write(write);
            expected[write.0][write.1 as usize] = scene.word(write.2);
        }
        prop_assert_eq!(scene.log(), first_writes(&scene, &more, &before));
        prop_assert_eq!(scene.all_words(), expected);
        scene.assert_sound();
    }

    /// D3
    #[test]
    fn young_objects_are_written_without_a_trace(more in writes(3, 30), survives in any::<bool>()) {
        let mut scene = Scene::new(Plan::Deferred, Kind::Triple, 0);
        more.iter().for_each(|&write| scene.write(write));
        prop_assert!(scene.log().is_empty());
        prop_assert_eq!(scene.counts(), vec![0; OBJECTS]);
        prop_assert!((0..OBJECTS).all(|object| !scene.is_unlogged(object) && !scene.objects[object].is_mature()));
        if !survives {
            scene.heap.truncate_roots(0);
        }
        scene.heap.epoch();
        let promoted = scene.heap.mutator.statistics().promoted_objects;
        prop_assert_eq!(promoted, if survives { OBJECTS as u64 } else { 0 });
    }

    /// D4
    #[test]
    fn no_count_changes_between_two_flips(links in writes(3, 20), more in writes(3, 30)) {
        let mut scene = linked(&links);
        let before = scene.counts();
        more.iter().for_each(|&write| scene.write(write));
        prop_assert_eq!(scene.counts(), before);
    }

    /// D5
    #[test]
    fn pending_objects_are_counted_by_their_first_writer(
        links in writes(3, 20), more in writes(3, 30), write in writes(3, 2), is_young in any::<bool>()
    ) {
        let mut scene = linked(&links);
        let object = write[0].0;
        if is_young {
            let young = allocate(&mut scene.heap, Kind::Triple, 0);
            scene.objects[object] = young;
        }
        more.iter().for_each(|&write| scene.write(write));
        scene.write((object, 0, Some(object)));
        scene.heap.flip();
        let words = vec![scene.words(object)];
        let (before, pending) = (scene.counts(), scene.heap.mutator.heap().clock.epoch - 1);
        prop_assert_eq!(scene.objects[object].stamp(), pending);
        scene.write(write[0]);
        let counted = scene.counts().iter().zip(before).map(|(now, before)| u64::from(now - before)).collect::<Vec<_>>();
        prop_assert_eq!(counted, scene.references_in(&words));
        prop_assert!(scene.objects[object].is_mature() && scene.objects[object].stamp() == pending + 1);
        prop_assert_eq!(scene.log(), vec![(scene.objects[object], None, words[0].clone())]);
        scene.heap.mutator.step(u64::MAX / 4);
        scene.assert_sound();
    }

    /// D5, of a young object behind another: the writer has counted it before the increments come to its holder.
    #[test]
    fn pending_object_behind_a_young_one_is_counted_once(
        links in writes(3, 20), held in prop::collection::vec(0..OBJECTS, 3), write in writes(3, 2)
    ) {
        let mut scene = linked(&links);
        // What a root holds is not promoted with others of its type, what that holds is.
        let [root, holder, child] = [(); 3].map(|()| allocate(&mut scene.heap, Kind::Triple, 0));
        scene.heap.store(root.address(), scene.offset(0), holder.address());
        scene.heap.store(holder.address(), scene.offset(0), child.address());
        for (slot, &target) in held.iter().enumerate() {
            let word = scene.word(Some(target));
            scene.heap.store(child.address(), scene.offset(slot as u64), word);
        }
        scene.heap.truncate_roots(OBJECTS + 1);
        scene.heap.flip();
        let before = scene.counts();
        let (_, slot, target) = write[0];
        let word = scene.word(target);
        scene.heap.store(child.address(), scene.offset(slot), word);
        prop_assert!(child.is_mature() && child.count() == 0, "its holder comes later");
        for (target, count) in scene.counts().into_iter().enumerate() {
            let references = held.iter().filter(|&&other| other == target).count();
            prop_assert_eq!(usize::from(count - before[target]), references, "the words of the flip");
        }
        scene.heap.mutator.step(u64::MAX / 4);
        prop_assert_eq!(child.count(), 1);
        scene.assert_sound();
    }

    /// D6
    #[test]
    fn counts_after_the_passes_are_those_of_the_flip(
        links in writes(3, 20), rounds in prop::collection::vec((writes(3, 6), 0u32..20), 1..12)
    ) {
        let mut scene = linked(&links);
        for (more, units) in &rounds {
            more.iter().for_each(|&write| scene.write(write));
            scene.heap.flip();
            scene.heap.step(*units);
        }
        scene.assert_sound();
        let references = scene.references_in(&scene.all_words());
        let counts: Vec<u64> = scene.counts().into_iter().map(u64::from).collect();
        let expected: Vec<u64> = references.iter().map(|references| references + 1).collect();
        prop_assert_eq!(counts, expected, "each is in one root");
    }

    /// D7
    #[test]
    fn object_moved_from_field_to_field_is_never_at_zero(
        units in prop::collection::vec(0u32..12, 4), new_first in any::<bool>()
    ) {
        let mut scene = linked(&[(0, 0, Some(2))]);
        scene.heap.set_root(2, None);
        scene.heap.set_root(3, None);
        scene.settle();
        prop_assert_eq!((scene.objects[2].count(), scene.objects[3].count()), (1, 0));
        let moves = [(1, 1, Some(2)), (0, 0, None)];
        for (round, &units) in units.iter().enumerate() {
            let back = [(0, 0, Some(2)), (1, 1, None)];
            let [first, second] = if round % 2 == 0 { moves } else { back };
            let both = if new_first { [first, second] } else { [second, first] };
            both.into_iter().for_each(|write| scene.write(write));
            scene.heap.flip();
            scene.heap.step(units);
            while scene.heap.mutator.step(1) {}
            prop_assert_eq!(scene.objects[2].count(), 1);
        }
        scene.assert_sound();
        prop_assert!(scene.heap.live_objects().contains(&scene.objects[2].address()));
    }

    /// D6, of objects that no root holds and that held nothing: their entries have no words.
    #[test]
    fn objects_that_held_nothing_are_counted_when_they_are_filled(more in writes(3, 30)) {
        let mut scene = Scene::new(Plan::Deferred, Kind::Triple, 0);
        scene.hold_by_an_array();
        scene.settle();
        more.iter().for_each(|&write| scene.write(write));
        scene.assert_sound();
    }

    /// D8
    #[test]
    fn blocks_are_logged_without_logging_anything_twice(
        links in writes(3, 20), more in writes(3, 30), block_log_after in 1u16..5
    ) {
        let options = HeapOptions { block_log_after, ..HeapOptions::default() };
        let mut scene = Scene::with(options, Kind::Triple, 0);
        links.iter().for_each(|&link| scene.write(link));
        scene.settle();
        let before = scene.all_words();
        let mut expected = before.clone();
        for &write in &more {
            scene.write(write);
            expected[write.0][write.1 as usize] = scene.word(write.2);
        }
        let log = scene.log();
        let objects: HashSet<ObjectRef> = log.iter().map(|entry| entry.0).collect();
        prop_assert_eq!(objects.len(), log.len(), "an object is in the log twice");
        prop_assert!(more.iter().all(|write| objects.contains(&scene.objects[write.0])));
        for (object, words) in before.iter().enumerate() {
            let entry = log.iter().find(|entry| entry.0 == scene.objects[object]);
            prop_assert!(entry.is_none_or(|entry| entry.2 == *words));
            prop_assert_eq!(entry.is_none(), scene.is_unlogged(object));
        }
        prop_assert_eq!(scene.all_words(), expected);
        scene.assert_sound();
    }
}

/// D8, where an object of the block is dead already, and that is not known: it dies while the running log names it, and
/// keeps its memory.
#[test]
fn dead_object_logged_with_its_block_keeps_its_memory() {
    let options = HeapOptions { block_log_after: 1, ..HeapOptions::default() };
    let mut scene = Scene::with(options, Kind::Triple, 0);
    scene.settle();
    let dead = scene.objects[1];
    scene.heap.set_root(1, None);
    scene.heap.flip();
    scene.write((0, 0, Some(0)));
    assert!(scene.log().iter().any(|entry| entry.0 == dead));
    while scene.heap.mutator.step(100) {}
    assert!(
        scene.heap.mutator.heap().deferred.late_queue.contains(&dead) && LIVE.get(dead.granule()) && dead.count() == 0
    );
    scene.heap.flip();
    while scene.heap.mutator.step(1) {}
    assert!(scene.heap.mutator.heap().deferred.late_queue.is_empty() && !LIVE.get(dead.granule()));
    scene.assert_sound();
}
