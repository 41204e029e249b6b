//! Weak maps of many entries: they grow and shrink by one bucket at a time, whatever the keys.

use crate::weak_maps::{MODES, NODE, map, rooted};
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::weak_map::{ENTRIES_PER_BUCKET, WeakMode};
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// Grows to thousands of entries and shrinks to a few, time and again, by removals and by deaths.
#[test]
fn map_that_grows_and_shrinks() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for mode in MODES {
            let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
            let map = map(&mut m, mode);
            let top = m.root_count();
            for (round, most) in [3000_usize, 5, 700, 5000, 64, 65].into_iter().enumerate() {
                // Keys and values, which stand on the roots.
                let objects: Vec<ObjectRef> = (0..most).map(|_| rooted(&mut m, &NODE)).collect();
                for (at, &key) in objects.iter().enumerate() {
                    m.weak_map_set(map, key, objects[most - 1 - at]).expect("memory");
                }
                assert_eq!(m.weak_map_count(map), most as u64, "{plan:?}, {mode:?}");
                for (at, &key) in objects.iter().enumerate() {
                    assert_eq!(m.weak_map_get(map, key), Some(objects[most - 1 - at]), "{plan:?}, {mode:?}");
                }
                let removed = objects.iter().step_by(3).filter(|&&key| m.weak_map_remove(map, key)).count();
                let (mut position, mut seen) = (0, 0);
                while let Some((next, _, _)) = m.weak_map_next(map, position) {
                    (position, seen) = (next, seen + 1);
                }
                assert_eq!((seen, m.weak_map_count(map)), (most - removed, (most - removed) as u64));
                if round % 2 == 0 {
                    objects.iter().for_each(|&key| _ = m.weak_map_remove(map, key));
                }
                m.truncate_roots(top);
                m.collect();
                m.collect();
                if mode == WeakMode::Values && round % 2 != 0 {
                    // Its keys are values of others, which hold them: they go by hand.
                    while let Some((_, key, _)) = m.weak_map_next(map, 0) {
                        m.weak_map_remove(map, key);
                    }
                }
                assert_eq!(m.weak_map_count(map), 0, "{plan:?}, {mode:?}");
            }
            m.verify().expect("sound");
        }
    }
}

/// A map that doubles takes a segment more, and copies none of those that it has. `[BOUND]`
#[test]
fn map_that_grows_keeps_its_segments() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        let map = map(&mut m, WeakMode::Keys);
        let value = rooted(&mut m, &NODE);
        let grow = |m: &mut Mutator, entries: std::ops::Range<u64>| {
            entries.for_each(|number| {
                // SAFETY: [HEADER] key and value are objects' addresses, or outside the heap.
                unsafe { m.heap().weak_map_set(map, 1 + number * 16, value.address()) }.expect("memory")
            });
            segments(map)
        };
        let small = grow(&mut m, 0..40_000);
        let large = grow(&mut m, 40_000..160_000);
        assert!(small.len() >= 8 && large.len() == small.len() + 2, "{plan:?}: {small:?}, {large:?}");
        assert_eq!(large[..small.len()], small, "{plan:?}");
        for number in 0..160_000 {
            // SAFETY: [HEADER] the key is an object's address.
            unsafe { m.heap().weak_map_remove(map, 1 + number * 16) };
        }
        // Merges come with insertions, one with each.
        let few = (0..2000).fold(Vec::new(), |_, number| {
            let few = grow(&mut m, number..number + 1);
            // SAFETY: [HEADER] the key is an object's address.
            unsafe { m.heap().weak_map_remove(map, 1 + number * 16) };
            few
        });
        assert_eq!(few, small[..few.len()], "{plan:?}");
        assert!(few.len() <= 4, "{plan:?}: {few:?}");
        m.verify().expect("sound");
    }
}

/// The addresses of a map's segments.
fn segments(map: ObjectRef) -> Vec<u64> {
    // SAFETY: [HEADER] the first word of a map refers to its directory.
    let directory = unsafe { ObjectRef::from_address(map.slot(0).read()) };
    (1..=directory.slot(0).read()).map(|place| directory.slot(8 * place).read()).take_while(|&word| word != 0).collect()
}

/// Whatever a map has, one more entry allocates, and moves, a bucket or two and at times the directory: never all of it. `[BOUND]`
#[test]
fn no_insertion_goes_through_the_whole_map() {
    const ENTRIES: u64 = 100_000;
    for plan in [Plan::Deferred, Plan::Prompt] {
        for mode in MODES {
            let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
            m.stop();
            let map = map(&mut m, mode);
            let value = rooted(&mut m, &NODE);
            // What there is between two insertions, in bytes of blocks.
            let mut most = 0;
            for number in 0..ENTRIES {
                let before = m.heap().used_bytes();
                // SAFETY: [HEADER] key and value are objects' addresses.
                unsafe { m.heap().weak_map_set(map, 1 + number * 16, value.address()) }.expect("memory");
                most = most.max(m.heap().used_bytes() - before);
            }
            assert_eq!(m.weak_map_count(map), ENTRIES);
            let directory = 16 * ENTRIES / ENTRIES_PER_BUCKET;
            assert!(most <= 4 * (directory + 65_536), "{plan:?}, {mode:?}: {most} bytes for one entry");
        }
    }
}

/// Keys outside the heap are any words: some whose hashes are alike on purpose. All stay in the first bucket when that is split, or all
/// go into the new one each time that theirs is.
#[test]
fn keys_that_all_belong_into_one_bucket() {
    // 0x9e37_79b9_7f4a_7c15 · inverse = 1: so the bits that a bucket's number is taken from are what `bits` has.
    let mut inverse = 1_u64;
    (0..6).for_each(|_| {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(inverse)))
    });
    for bits in [0, 0xfff_ffff << 24] {
        let words =
            (0..4096_u64).flat_map(|high| (0..8_u64).map(move |low| (high << 52 | bits | low).wrapping_mul(inverse)));
        let keys: Vec<u64> = words.filter(|&word| (1..1 << 61).contains(&word)).map(|word| word << 3).collect();
        let keys: Vec<u64> = keys.into_iter().filter(|&key| !tally_heap::memory::range::in_heap(key)).collect();
        assert!(keys.len() > 2000);
        for plan in [Plan::Deferred, Plan::Prompt] {
            let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
            let map = map(&mut m, WeakMode::Keys);
            for &key in &keys {
                // SAFETY: [HEADER] key and value are objects' addresses.
                unsafe { m.heap().weak_map_set(map, key, key + 1) }.expect("memory");
            }
            assert_eq!(m.weak_map_count(map), keys.len() as u64);
            // SAFETY: [HEADER] the key is an object's address.
            assert!(keys.iter().all(|&key| unsafe { m.heap().weak_map_get(map, key) } == key + 1), "{plan:?}");
            m.verify().expect("sound");
        }
    }
}
