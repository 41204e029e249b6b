//! Clauses D9 to D14 of docs/port/barriers.md: words that need not be references, large arrays, block moves, globals.

use crate::barrier_clauses::scene::{Logged, OBJECTS, Scene, Write, cases};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::op::GLOBALS;
use tally_tests::shape::{Encoding, Kind, TRACE_NUMBER, TRACE_TAG};

/// What a word of a tagged field can be.
#[derive(Clone, Copy, Debug)]
enum Word {
    Null,
    Number(u32),
    Reference(usize),
    BareAddress(usize),
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        Just(Word::Null),
        any::<u32>().prop_map(Word::Number),
        (0..OBJECTS).prop_map(Word::Reference),
        (0..OBJECTS).prop_map(Word::BareAddress),
    ]
}

fn bits(scene: &Scene, word: Word) -> u64 {
    match word {
        Word::Null => 0,
        Word::Number(number) => u64::from(number) << 3 | 2,
        Word::Reference(target) => scene.word(Some(target)),
        Word::BareAddress(target) => scene.objects[target].address(),
    }
}

/// Arrays of references, filled, mature and clean.
fn arrays(length: u64) -> Scene {
    let mut scene = Scene::new(Plan::Deferred, Kind::Array, length);
    for slot in 0..length {
        scene.write((0, slot, Some(slot as usize % OBJECTS)));
    }
    scene.settle();
    scene
}

/// The entries that a log must hold once these slots of array 0 were written.
fn entries(scene: &Scene, before: &[u64], slots: impl Iterator<Item = u64>) -> Vec<Logged> {
    let object = scene.objects[0];
    let info = object.type_info();
    if !object.has(tally_heap::object::flag::LARGE) {
        return slots.take(1).map(|_| (object, None, before.to_vec())).collect();
    }
    let chunks: BTreeSet<u64> = slots.map(|slot| slot / info.chunk_elements).collect();
    let words = |chunk: u64| {
        let first = (chunk * info.chunk_elements) as usize;
        before[first..(first + info.chunk_elements as usize).min(before.len())].to_vec()
    };
    chunks.into_iter().map(|chunk| (object, Some(chunk), words(chunk))).collect()
}

fn sorted(mut log: Vec<Logged>) -> Vec<Logged> {
    log.sort_by_key(|entry| entry.1);
    log
}

/// Elements of a large array that is read by `trace`; most hold numbers, so that counts stay small.
const PAIRS: u64 = 2500;

/// Writes a pair whose word comes before its tag: between the two no number passes for a reference.
fn write_pair(scene: &mut Scene, (object, slot, target): Write) {
    let (address, tag) = (scene.objects[object].address(), scene.offset(slot) - 8);
    if target.is_none() {
        scene.heap.store(address, tag, TRACE_NUMBER);
    }
    scene.write_word(object, slot, target.map_or(slot, |target| scene.word(Some(target))));
    if target.is_some() {
        scene.heap.store(address, tag, TRACE_TAG);
    }
}

/// Writes an object's address to a slot: as a reference, or as a number where a tag tells.
fn write_mixed(
    scene: &mut Scene,
    kind: Kind,
    (object, slot, target, refers): (usize, u64, usize, bool),
    held: &mut [[Option<usize>; 3]; OBJECTS],
) {
    let (address, offset) = (scene.objects[object].address(), scene.offset(slot));
    let encoding = kind.encoding_at(offset);
    let refers = refers || encoding == Encoding::Pointer;
    let target_at = scene.objects[target].address();
    let word = if refers { encoding.encode(target_at) } else { target_at };
    match encoding {
        Encoding::Pairs => {
            let tag = if refers { TRACE_TAG } else { TRACE_NUMBER };
            scene.heap.store_pair(address, offset - 8, [tag, word]);
        }
        _ => scene.heap.store(address, offset, word),
    }
    held[object][slot as usize] = refers.then_some(target);
}

/// The image of a chunk of array 0.
fn pairs_of_chunk(scene: &Scene, chunk: u64) -> Vec<u64> {
    let (array, per_chunk) = (scene.objects[0], scene.objects[0].type_info().chunk_elements);
    let length = (chunk == 0).then_some(PAIRS);
    let pairs = chunk * per_chunk..((chunk + 1) * per_chunk).min(PAIRS);
    let words = pairs.flat_map(|slot| [scene.offset(slot) - 8, scene.offset(slot)]);
    length.into_iter().chain(words.map(|offset| array.slot(offset).read())).collect()
}

/// Lengths of small arrays, and of some that are logged in chunks.
fn length() -> impl Strategy<Value = u64> {
    prop_oneof![3u64..60, 4500u64..6000]
}

proptest! {
    #![proptest_config(cases())]

    /// D9
    #[test]
    fn tagged_words_are_logged_as_they_are(
        kind in prop::sample::select(vec![Kind::Tagged, Kind::Boxed]),
        before in prop::collection::vec((0..OBJECTS, 0u64..3, word()), 0..20),
        after in prop::collection::vec((0..OBJECTS, 0u64..3, word()), 1..20),
    ) {
        let mut scene = Scene::new(Plan::Deferred, kind, 0);
        for &(object, slot, word) in &before {
            let word = bits(&scene, word);
            scene.write_word(object, slot, word);
        }
        scene.settle();
        let raw = scene.all_words();
        for &(object, slot, word) in &after {
            let word = bits(&scene, word);
            scene.write_word(object, slot, word);
        }
        for (object, _, words) in scene.log() {
            let place = scene.objects.iter().position(|&other| other == object).expect("one of ours");
            prop_assert_eq!(&words, &raw[place], "the words as they were, tags and numbers too");
        }
        scene.assert_sound();
        let expected: Vec<u64> = scene.references_in(&scene.all_words()).iter().map(|count| count + 1).collect();
        prop_assert_eq!(scene.counts().into_iter().map(u64::from).collect::<Vec<_>>(), expected);
    }

    /// D9, of plain references beside words and pairs with tags: the log has the object's image.
    #[test]
    fn plain_references_beside_tags_are_logged_with_the_words_around_them(
        kind in prop::sample::select(vec![Kind::BoxedCell, Kind::Upvalue]),
        before in prop::collection::vec((0..OBJECTS, 0u64..3, 0..OBJECTS, any::<bool>()), 0..20),
        after in prop::collection::vec((0..OBJECTS, 0u64..3, 0..OBJECTS, any::<bool>()), 1..20),
    ) {
        let mut scene = Scene::new(Plan::Deferred, kind, 0);
        let mut held = [[None; 3]; OBJECTS];
        before.iter().for_each(|&write| write_mixed(&mut scene, kind, write, &mut held));
        scene.settle();
        let image = |object: ObjectRef| -> Vec<u64> {
            (0..kind.whole_words(0)).map(|word| object.slot(word * 8).read()).collect()
        };
        let images: Vec<Vec<u64>> = scene.objects.iter().map(|&object| image(object)).collect();
        after.iter().for_each(|&write| write_mixed(&mut scene, kind, write, &mut held));
        for (object, _, words) in scene.log() {
            let place = scene.objects.iter().position(|&other| other == object).expect("one of ours");
            prop_assert_eq!(&words, &images[place]);
        }
        scene.assert_sound();
        let refer = |object| held.iter().flatten().filter(|&&target| target == Some(object)).count();
        let expected: Vec<u64> = (0..OBJECTS).map(|object| 1 + refer(object) as u64).collect();
        prop_assert_eq!(scene.counts().into_iter().map(u64::from).collect::<Vec<_>>(), expected);
    }

    /// D10
    #[test]
    fn chunks_of_a_large_array_are_logged_one_by_one(
        length in 4500u64..6000, slots in prop::collection::vec(0u64..4500, 1..12)
    ) {
        let mut scene = arrays(length);
        let before = scene.words(0);
        slots.iter().for_each(|&slot| scene.write((0, slot, None)));
        let expected = entries(&scene, &before, slots.iter().copied());
        prop_assert_eq!(&sorted(scene.log()), &expected);
        // A fill comes to the chunk's stamp in any case, where a single write is stopped by the slot's bit.
        for &slot in &slots {
            let (address, offset) = (scene.objects[0].address(), scene.offset(slot));
            scene.heap.fill_refs(address, offset, 0, 1);
        }
        prop_assert_eq!(sorted(scene.log()), expected);
        prop_assert!(slots.iter().all(|&slot| scene.words(0)[slot as usize] == 0));
        scene.assert_sound();
    }

    /// D10, of elements that only `trace` can read: the log has the chunk's image.
    #[test]
    fn chunks_of_a_large_array_that_is_read_by_trace_are_logged_word_for_word(
        writes in prop::collection::vec((0..PAIRS, prop::option::of(0..OBJECTS)), 1..12), is_pending in any::<bool>()
    ) {
        let mut scene = Scene::new(Plan::Deferred, Kind::TracedArray, PAIRS);
        (0..PAIRS).for_each(|slot| {
            let target = (slot % 50 == 0).then_some(slot as usize / 50 % OBJECTS);
            write_pair(&mut scene, (0, slot, target));
        });
        if is_pending {
            scene.heap.flip();
        } else {
            scene.settle();
        }
        let per_chunk = scene.objects[0].type_info().chunk_elements;
        let chunks: BTreeSet<u64> = writes.iter().map(|(slot, _)| slot / per_chunk).collect();
        let before: Vec<Logged> =
            chunks.iter().map(|&chunk| (scene.objects[0], Some(chunk), pairs_of_chunk(&scene, chunk))).collect();
        writes.iter().for_each(|&(slot, target)| write_pair(&mut scene, (0, slot, target)));
        prop_assert_eq!(sorted(scene.log()), before);
        scene.assert_sound();
        let expected: Vec<u64> = scene.references_in(&scene.all_words()).iter().map(|count| count + 1).collect();
        prop_assert_eq!(scene.counts().into_iter().map(u64::from).collect::<Vec<_>>(), expected);
    }

    /// D11
    #[test]
    fn copies_log_what_they_touch_and_then_move(
        length in length(), ends in (0.0..1.0, 0.0..1.0, 0.0..1.0)
    ) {
        let mut scene = arrays(length);
        let before = scene.words(0);
        let (to, from) = ((ends.0 * length as f64) as u64, (ends.1 * length as f64) as u64);
        let count = 1 + (ends.2 * (length - to.max(from) - 1) as f64) as u64;
        let address = scene.objects[0].address();
        scene.heap.copy_refs((address, scene.offset(to)), (address, scene.offset(from)), count);
        let mut expected = before.clone();
        expected.copy_within(from as usize..(from + count) as usize, to as usize);
        prop_assert_eq!(scene.words(0), expected);
        let touched = entries(&scene, &before, to..to + count);
        prop_assert_eq!(sorted(scene.log()), touched);
        scene.assert_sound();
    }

    /// D12
    #[test]
    fn fills_log_what_they_touch_and_then_write(
        length in length(), ends in (0.0..1.0, 0.0..1.0), target in prop::option::of(0..OBJECTS)
    ) {
        let mut scene = arrays(length);
        let before = scene.words(0);
        let at = (ends.0 * length as f64) as u64;
        let count = 1 + (ends.1 * (length - at - 1) as f64) as u64;
        let word = scene.word(target);
        let (address, offset) = (scene.objects[0].address(), scene.offset(at));
        scene.heap.fill_refs(address, offset, word, count);
        let mut expected = before.clone();
        expected[at as usize..(at + count) as usize].fill(word);
        prop_assert_eq!(scene.words(0), expected);
        let touched = entries(&scene, &before, at..at + count);
        prop_assert_eq!(sorted(scene.log()), touched);
        scene.assert_sound();
    }

    /// D13
    #[test]
    fn moves_of_no_words_leave_no_trace(length in length(), at in 0.0..1.0, prompt in any::<bool>()) {
        let mut scene = if prompt { Scene::new(Plan::Prompt, Kind::Array, length) } else { arrays(length) };
        let at = (at * length as f64) as u64;
        let (address, offset) = (scene.objects[0].address(), scene.offset(at));
        let (words, counts) = (scene.words(0), scene.counts());
        scene.heap.copy_refs((address, offset), (address, scene.offset(0)), 0);
        scene.heap.fill_refs(address, offset, 1, 0);
        prop_assert!(scene.log().is_empty());
        prop_assert_eq!((scene.words(0), scene.counts()), (words, counts));
    }

    /// D14
    #[test]
    fn globals_are_counted_at_the_flip(
        stores in prop::collection::vec((0..GLOBALS, prop::option::of(0..OBJECTS)), 1..12)
    ) {
        let mut scene = Scene::new(Plan::Deferred, Kind::Pair, 0);
        scene.settle();
        let before = scene.counts();
        let mut holds = [None; GLOBALS];
        for &(global, target) in &stores {
            let address = target.map(|target| scene.objects[target].address());
            scene.heap.set_global(global, address);
            holds[global] = target;
        }
        prop_assert!(scene.log().is_empty() && scene.counts() == before, "a write to a global is a store");
        scene.heap.epoch();
        let held = |object| holds.iter().filter(|&&target| target == Some(object)).count();
        let expected: Vec<u8> = (0..OBJECTS).map(|object| 1 + held(object) as u8).collect();
        prop_assert_eq!(scene.counts(), expected);
        for global in 0..GLOBALS {
            scene.heap.set_global(global, None);
        }
        scene.heap.epoch();
        prop_assert_eq!(scene.counts(), vec![1; OBJECTS]);
    }
}
