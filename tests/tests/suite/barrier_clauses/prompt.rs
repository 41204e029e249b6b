//! Clauses P1 to P9 of docs/port/barriers.md: writes under the prompt plan.

use crate::barrier_clauses::scene::{OBJECTS, Scene, Write, allocate, cases, writes};
use proptest::prelude::*;
use tally_heap::ObjectRef;
use tally_heap::memory::range::BUFFERED;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::op::GLOBALS;
use tally_tests::shape::{Encoding, Kind, TRACE_NUMBER, TRACE_TAG};

/// Triples that were judged once, linked as the writes say.
fn linked(links: &[Write]) -> Scene {
    let mut scene = Scene::new(Plan::Prompt, Kind::Triple, 0);
    links.iter().for_each(|&link| scene.write(link));
    scene.heap.poll();
    scene
}

fn pending(scene: &mut Scene) -> Vec<ObjectRef> {
    scene.heap.mutator.heap().pending_objects().collect()
}

proptest! {
    #![proptest_config(cases())]

    /// P1
    #[test]
    fn each_write_counts_the_new_and_the_old(links in writes(3, 20), more in writes(3, 30)) {
        let mut scene = linked(&links);
        for &write in &more {
            let mut expected: Vec<i64> = scene.exact_counts().into_iter().map(i64::from).collect();
            let old = scene.words(write.0)[write.1 as usize];
            if let Some(target) = write.2 {
                expected[target] += 1;
            }
            if let Some(target) = (0..OBJECTS).find(|&target| scene.word(Some(target)) == old) {
                expected[target] -= 1;
            }
            scene.write(write);
            let counts: Vec<i64> = scene.exact_counts().into_iter().map(i64::from).collect();
            prop_assert_eq!(counts, expected);
            prop_assert_eq!(scene.words(write.0)[write.1 as usize], scene.word(write.2));
        }
        scene.assert_sound();
    }

    /// P2
    #[test]
    fn slot_written_with_what_it_holds_never_reaches_zero(slot in 0u64..3, times in 1usize..5) {
        let mut scene = linked(&[(0, slot, Some(1))]);
        scene.heap.set_root(1, None);
        scene.heap.poll();
        for _ in 0..times {
            scene.write((0, slot, Some(1)));
            prop_assert_eq!(scene.objects[1].exact_count(), 1);
            prop_assert!(!pending(&mut scene).contains(&scene.objects[1]));
        }
        scene.heap.poll();
        prop_assert!(scene.heap.live_objects().contains(&scene.objects[1].address()));
    }

    /// P3
    #[test]
    fn what_a_write_lets_go_of_is_whole_until_the_next_safepoint(slot in 0u64..3, rescued in any::<bool>()) {
        let mut scene = linked(&[(0, slot, Some(1)), (1, slot, Some(2))]);
        scene.heap.set_root(1, None);
        scene.heap.poll();
        scene.write((0, slot, None));
        prop_assert!(pending(&mut scene).contains(&scene.objects[1]));
        prop_assert_eq!(scene.words(1)[slot as usize], scene.word(Some(2)), "its fields can be read");
        if rescued {
            scene.write((3, slot, Some(1)));
        }
        scene.heap.poll();
        prop_assert_eq!(scene.heap.live_objects().contains(&scene.objects[1].address()), rescued);
        prop_assert_eq!(scene.objects[2].exact_count(), if rescued { 2 } else { 1 });
        scene.assert_sound();
    }

    /// P4
    #[test]
    fn write_that_leaves_a_count_notes_a_candidate_once(holders in prop::collection::vec((0usize..3, 0u64..3), 1..8)) {
        let links: Vec<Write> = (0..9).map(|place| (place / 3, place as u64 % 3, Some(4))).collect();
        let mut scene = linked(&links);
        let object = scene.objects[4];
        object.unsettle();
        prop_assert!(!BUFFERED.get(object.granule()));
        for &(holder, slot) in &holders {
            scene.write((holder, slot, None));
            prop_assert!(BUFFERED.get(object.granule()));
            let heap = scene.heap.mutator.heap();
            prop_assert_eq!(heap.candidates.iter().filter(|&&candidate| candidate == object).count(), 1);
        }
        scene.assert_sound();
    }

    /// P5
    #[test]
    fn only_what_the_type_reads_as_a_reference_is_counted(
        kind in prop::sample::select(vec![Kind::Tagged, Kind::Boxed, Kind::Traced, Kind::BoxedCell, Kind::Upvalue]),
        stores in prop::collection::vec((0..OBJECTS, 0u64..2, 0..OBJECTS, any::<bool>()), 1..20),
    ) {
        let mut scene = Scene::new(Plan::Prompt, kind, 0);
        let mut holds = [[None; 2]; OBJECTS];
        for &(object, slot, target, refers) in &stores {
            let (address, offset) = (scene.objects[object].address(), scene.offset(slot));
            let encoding = kind.encoding_at(offset);
            // Beside words and pairs with tags, too, a plain reference is one whatever its bits are.
            let refers = refers || encoding == Encoding::Pointer;
            let target_at = scene.objects[target].address();
            let (word, tag) = match refers {
                true => (encoding.encode(target_at), TRACE_TAG),
                false => (target_at, TRACE_NUMBER),
            };
            match encoding {
                Encoding::Pairs if kind.has_described_pairs() => scene.heap.store_pair(address, offset - 8, [tag, word]),
                Encoding::Pairs => {
                    // A reference before its tag, a tag before its number.
                    scene.heap.store(address, offset - 8, TRACE_NUMBER);
                    scene.heap.store(address, offset, word);
                    scene.heap.store(address, offset - 8, tag);
                }
                _ => scene.heap.store(address, offset, word),
            }
            holds[object][slot as usize] = refers.then_some(target);
            let held = |object| holds.iter().flatten().filter(|&&target| target == Some(object)).count();
            let expected: Vec<u32> = (0..OBJECTS).map(|object| 1 + held(object) as u32).collect();
            prop_assert_eq!(scene.exact_counts(), expected, "each is in one root");
        }
        scene.assert_sound();
    }

    /// P6
    #[test]
    fn copies_and_fills_count_every_word_they_write_and_replace(
        moves in prop::collection::vec((0u64..40, 0u64..40, 1u64..40, prop::option::of(0..OBJECTS), any::<bool>()), 1..10)
    ) {
        let mut scene = Scene::new(Plan::Prompt, Kind::Array, 40);
        (0..40).for_each(|slot| scene.write((0, slot, Some(slot as usize % OBJECTS))));
        for &(to, from, count, target, copies) in &moves {
            let (address, count) = (scene.objects[0].address(), count.min(40 - to.max(from)));
            let mut expected = scene.words(0);
            if copies {
                expected.copy_within(from as usize..(from + count) as usize, to as usize);
                scene.heap.copy_refs((address, scene.offset(to)), (address, scene.offset(from)), count);
            } else {
                expected[to as usize..(to + count) as usize].fill(scene.word(target));
                scene.heap.fill_refs(address, scene.offset(to), scene.word(target), count);
            }
            prop_assert_eq!(scene.words(0), expected);
            let held = scene.references_in(&[scene.words(0)]);
            let counts: Vec<u64> = scene.exact_counts().into_iter().map(u64::from).collect();
            prop_assert_eq!(counts, held.iter().map(|held| held + 1).collect::<Vec<_>>());
        }
        scene.assert_sound();
    }

    /// P7
    #[test]
    fn writes_that_are_put_off_count_the_same_at_the_safepoint(links in writes(3, 20), more in writes(3, 40)) {
        let (mut at_once, mut put_off) = (linked(&links), linked(&links));
        for scene in [&mut at_once, &mut put_off] {
            (0..OBJECTS / 2).for_each(|root| scene.heap.set_root(root, None));
        }
        for &write in &more {
            at_once.write(write);
            // What compiled code does: the pair is noted, and the word stored.
            let (new, old) = (put_off.word(write.2), put_off.words(write.0)[write.1 as usize]);
            let slot = put_off.objects[write.0].slot(put_off.offset(write.1));
            put_off.heap.mutator.heap().postpone(new, old);
            slot.store(new);
        }
        put_off.heap.mutator.heap().apply_postponed();
        prop_assert_eq!(put_off.exact_counts(), at_once.exact_counts());
        let places = |scene: &mut Scene| {
            let pending = pending(scene);
            let place = |object: &ObjectRef| scene.objects.iter().position(|other| other == object);
            pending_places(&pending, place)
        };
        prop_assert_eq!(places(&mut put_off), places(&mut at_once), "they die in the same order");
    }

    /// P8
    #[test]
    fn writes_to_a_fresh_object_let_go_of_nothing(targets in prop::collection::vec(0..OBJECTS, 3)) {
        let mut scene = linked(&[]);
        let fresh = allocate(&mut scene.heap, Kind::Triple, 0);
        let (address, before) = (fresh.address(), scene.exact_counts());
        prop_assert!((0..3).all(|slot| scene.heap.load(address, scene.offset(slot)) == 0));
        for (slot, &target) in targets.iter().enumerate() {
            scene.heap.store(address, scene.offset(slot as u64), scene.objects[target].address());
        }
        let wanted = |object| targets.iter().filter(|&&target| target == object).count() as u32;
        let expected: Vec<u32> = before.iter().enumerate().map(|(object, count)| count + wanted(object)).collect();
        prop_assert_eq!(scene.exact_counts(), expected);
        prop_assert!(pending(&mut scene).into_iter().all(|object| object == fresh), "nothing else lost a reference");
        scene.assert_sound();
    }

    /// P9
    #[test]
    fn globals_are_counted_as_they_are_written(
        stores in prop::collection::vec((0..GLOBALS, prop::option::of(0..OBJECTS)), 1..12)
    ) {
        let mut scene = linked(&[]);
        let mut holds = [None; GLOBALS];
        for &(global, target) in &stores {
            let address = target.map(|target| scene.objects[target].address());
            scene.heap.set_global(global, address);
            holds[global] = target;
            let held = |object| holds.iter().filter(|&&target| target == Some(object)).count();
            let expected: Vec<u32> = (0..OBJECTS).map(|object| 1 + held(object) as u32).collect();
            prop_assert_eq!(scene.exact_counts(), expected, "each is in one root");
        }
        scene.assert_sound();
    }
}

/// P1, where a count fills its byte and comes back.
#[test]
fn counts_beyond_a_byte_are_exact() {
    let mut scene = Scene::new(Plan::Prompt, Kind::Array, 500);
    for slot in 0..500 {
        scene.write((0, slot, Some(1)));
        assert_eq!(scene.objects[1].exact_count(), 2 + slot as u32);
    }
    for slot in 0..500 {
        scene.write((0, slot, None));
        assert_eq!(scene.objects[1].exact_count(), 500 - slot as u32);
    }
    scene.assert_sound();
}

/// P7, where a write that is counted at once comes after one that was put off.
#[test]
fn writes_that_are_put_off_die_before_those_that_come_after() {
    let mut scene = linked(&[(0, 0, Some(1)), (0, 1, Some(2))]);
    (1..3).for_each(|root| scene.heap.set_root(root, None));
    scene.heap.poll();
    let (old, slot) = (scene.words(0)[0], scene.objects[0].slot(scene.offset(0)));
    scene.heap.mutator.heap().postpone(0, old);
    slot.store(0);
    scene.write((0, 1, None));
    assert_eq!(pending(&mut scene), [scene.objects[1], scene.objects[2]]);
    scene.assert_sound();
}

fn pending_places(objects: &[ObjectRef], place: impl Fn(&ObjectRef) -> Option<usize>) -> Vec<Option<usize>> {
    objects.iter().map(place).collect()
}
