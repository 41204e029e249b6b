//! The edges of the heap: counts that do not fit, sizes that no heap holds, limits reached, heaps side by side.

use std::collections::BTreeSet;

use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, OutOfMemory};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::op::{Op, parse_program};
use tally_tests::replay::{self, Replay};
use tally_tests::setup::{check, check_in, check_series, setups};
use tally_tests::shape::Kind;
use tally_tests::strategies::nth_program;
use tally_tests::tally_heap::TallyHeap;

/// scenario 137: a count goes past what its byte holds, comes down again, and the object is neither freed nor lost.
#[test]
fn count_beyond_a_byte() {
    check(
        "allocate leaf 0 r0
         allocate array 600 r1
         fill r1.0 x 254 = r0
         epoch
         fill r1.0 x 600 = r0
         epoch
         fill r1.0 x 600 = null
         epoch
         write r1.3 = r0
         set r0 = null
         epoch
         epoch
         write r1.3 = null
         epoch
         collect",
    );
}

/// scenario 137: exactly at the border, up and down by one.
#[test]
fn count_around_the_border() {
    let steps: String = (248..262)
        .chain((248..262).rev())
        .map(|count| format!("fill r1.0 x 300 = null\nfill r1.0 x {count} = r0\nepoch\n"))
        .collect();
    check(&format!("ring pair x 2 r0\nallocate array 300 r1\n{steps}set r0 = null\nset r1 = null\ncollect"));
}

/// A ring whose members are stuck: only a collection can free it, and it does.
#[test]
fn stuck_ring_is_collected() {
    check(
        "ring triple x 3 r0
         allocate array 300 r1
         fill r1.0 x 300 = r0
         epoch
         set r1 = null
         epoch
         epoch
         set r0 = null
         epoch
         collect",
    );
}

/// scenario 143: sizes beyond any heap fail with an error, and the heap goes on.
#[test]
fn absurd_sizes_are_refused() {
    let mut heap = TallyHeap::new(HeapOptions::default());
    for kind in [Kind::Array, Kind::Text, Kind::Records, Kind::TracedArray] {
        for length in [u64::MAX, u64::MAX / 8, u64::MAX / 8 - 1, 1 << 61, 1 << 45] {
            let refused = heap.mutator.allocate_array(heap.type_of(kind), length);
            assert!(
                matches!(refused, Err(OutOfMemory::Absurd { .. } | OutOfMemory::Range { .. })),
                "{kind:?} of {length}: {refused:?}"
            );
        }
    }
    let object = heap.allocate(Kind::Pair, 0).expect("the heap still works");
    heap.push_root(Some(object));
    heap.epoch();
    heap.verify().expect("in order");
    assert_eq!(heap.totals().live_objects, 1);
}

/// scenarios 144, 145: at the limit an allocation first collects, and fails only when that does not help.
#[test]
fn limit_collects_first_and_then_fails() {
    let limit = 1 << 20;
    let mut heap = TallyHeap::new(HeapOptions { heap_limit: Some(limit), ..HeapOptions::default() });
    heap.push_root(None);
    for _ in 0..40 {
        // A ring of three quarters of the limit, dropped each time: fits only if the one before was collected.
        let first = heap.allocate(Kind::Medium, 0).expect("the ring before is garbage");
        heap.set_root(0, Some(first));
        let mut last = first;
        for _ in 1..(limit * 3 / 4) / 4112 {
            let next = heap.allocate(Kind::Medium, 0).expect("the ring before is garbage");
            heap.store(last, 0, next);
            last = next;
        }
        heap.store(last, 0, first);
    }
    let mut failures = 0;
    for _ in 0..400 {
        match heap.mutator.allocate(heap.type_of(Kind::Medium)) {
            Ok(object) => {
                heap.store(object.address(), 0, heap.mutator.root(RootIndex(0)).map_or(0, |root| root.address()));
                heap.set_root(0, Some(object.address()));
            }
            Err(OutOfMemory::Limit { limit: reported, used, .. }) => {
                assert!(reported == limit && used <= limit, "{used} of {limit}");
                failures += 1;
            }
            Err(other) => panic!("{other}"),
        }
        assert!(heap.mutator.heap().used_bytes() <= limit);
    }
    assert!(failures > 100, "only {failures} allocations failed");
    heap.set_root(0, None);
    heap.allocate(Kind::Medium, 0).expect("everything is garbage now");
    heap.collect();
    assert_eq!(heap.totals().live_objects, 0);
}

/// An allocation finds the heap at its limit, and the finalizer that the collection for it runs allocates; the one that
/// was to fail comes later.
#[test]
fn failure_asked_for_comes_after_one_for_want_of_room() {
    check(
        "finalizable file allocate r1
         allocate records 0 r1
         limit 2048
         fail 3
         allocate wide-records 2065 r15
         limit 0
         ring link x 1 r0",
    );
}

/// scenario 152: a walk of the heap lists each live object once, and knows them as the program does.
#[test]
fn heap_walk_lists_each_live_object_once() {
    let mut heap = TallyHeap::new(HeapOptions::default());
    let mut expected = BTreeSet::new();
    for (index, kind) in Kind::without_finalizer().cycle().take(500).enumerate() {
        let object = heap.allocate(kind, if index % 50 == 0 { 4000 } else { index as u64 % 7 }).expect("room");
        if index % 3 != 0 {
            heap.push_root(Some(object));
            expected.insert(object);
        }
    }
    heap.epoch();
    let walked = heap.live_objects();
    assert_eq!(walked.len(), expected.len());
    assert_eq!(walked.into_iter().collect::<BTreeSet<u64>>(), expected);
    heap.truncate_roots(0);
    heap.collect();
    assert!(heap.live_objects().is_empty());
}

/// scenario 33: what a collection answers is what it freed; a second one frees nothing.
#[test]
fn collect_answers_what_it_freed() {
    let mut heap = TallyHeap::new(HeapOptions::default());
    heap.push_root(None);
    let first = heap.allocate(Kind::Pair, 0).expect("room");
    heap.set_root(0, Some(first));
    let second = heap.allocate(Kind::Pair, 0).expect("room");
    heap.store(first, 0, second);
    heap.store(second, 0, first);
    heap.epoch();
    assert_eq!(heap.mutator.collect(), 0);
    heap.set_root(0, None);
    assert_eq!(heap.mutator.collect(), 2);
    assert_eq!(heap.mutator.collect(), 0);
}

/// Epoch numbers run out and start over: no object is taken for pending, logged or young that is not.
#[test]
fn epoch_numbers_start_over() {
    let program = "ring pair x 5 r0\nlist triple x 40 r1\nallocate array 3000 r2\nwrite r2.2000 = r0\n\
                   flip\nstep 30\nwrite r2.7 = r1\nepoch\nload r3 = r1.0\nwrite r3.1 = r0\nset r3 = null\npoll\n";
    for setup in setups().into_iter().filter(|setup| !setup.options.zeal) {
        for epochs_left in 0..12 {
            let mut heap = TallyHeap::new(setup.options.clone());
            let last = heap.mutator.heap();
            last.clock.epoch = tally_heap::heap::LAST_EPOCH - epochs_left;
            last.context_mut().stamp = last.clock.epoch;
            let ops = parse_program(&program.repeat(4)).expect("a program");
            let outcome = replay::run(&mut heap, setup.options.heap_limit, &ops);
            outcome.unwrap_or_else(|failure| panic!("{} epochs left, {}: {failure:?}", epochs_left, setup.name));
            // Under the prompt plan the number is no stamp: it only counts, and may wrap. In a heap that marks it stands still.
            let is_stamp = setup.options.plan == Plan::Deferred && setup.options.mark_ns == 0;
            assert!(!is_stamp || heap.mutator.heap().clock.epoch < 1000, "the numbers did not start over");
        }
    }
}

/// scenario 28: more candidates than the buffer holds: the rest is evidence for the mark, nothing is lost.
#[test]
fn more_candidates_than_the_buffer_holds() {
    let count = 150_000;
    let mut heap = TallyHeap::new(HeapOptions::default());
    let arrays: Vec<u64> = (0..2)
        .map(|_| heap.allocate(Kind::Array, count).inspect(|array| heap.push_root(Some(*array))).expect("room"))
        .collect();
    for index in 0..count {
        let pair = heap.allocate(Kind::Pair, 0).expect("room");
        heap.store(pair, 8, pair);
        arrays.iter().for_each(|array| heap.store(*array, Kind::Array.slot_offset(index), pair));
    }
    heap.epoch();
    heap.fill_refs(arrays[0], Kind::Array.slot_offset(0), 0, count);
    heap.epoch();
    heap.verify().expect("in order");
    assert_eq!(heap.totals().live_objects, count + 2);
    heap.truncate_roots(1);
    heap.collect();
    assert_eq!(heap.totals().live_objects, 1);
}

/// A program that writes without allocating is flipped for its log's sake, and a long log is no different from a short one.
#[test]
fn log_of_very_many_entries() {
    let count = 300_000;
    let mut heap = TallyHeap::new(HeapOptions::default());
    let array = heap.allocate(Kind::Array, count).expect("room");
    heap.push_root(Some(array));
    for index in 0..count {
        let pair = heap.allocate(Kind::Pair, 0).expect("room");
        heap.store(array, Kind::Array.slot_offset(index), pair);
    }
    heap.epoch();
    for round in 0..4 {
        for index in 0..count {
            let pair = heap.load(array, Kind::Array.slot_offset(index));
            let other = heap.load(array, Kind::Array.slot_offset((index * 7 + round) % count));
            heap.store(pair, 0, other);
            heap.poll();
        }
    }
    heap.epoch();
    heap.verify().expect("in order");
    heap.recount().expect("in order");
    assert!(heap.mutator.statistics().log_entries >= count, "{:?}", heap.mutator.statistics());
    heap.truncate_roots(0);
    heap.collect();
    assert_eq!(heap.totals().live_objects, 0);
}

/// Heaps are dropped with epochs, marks and logs under way; the next heap gets their blocks and must not notice.
#[test]
fn heap_dropped_in_the_middle_of_an_epoch() {
    for setup in setups().into_iter().filter(|setup| !setup.options.zeal) {
        for number in 0..6 {
            let mut heap = TallyHeap::new(setup.options.clone());
            let mut replay = Replay::new(&mut heap, setup.options.heap_limit);
            for op in nth_program(77, number, 500).into_iter().chain([Op::Flip, Op::Step { units: 40 * number as u32 }])
            {
                replay.perform(op).unwrap_or_else(|what| panic!("program {number} in {}: {what}", setup.name));
            }
            drop(heap);
            check_series(&setup, 78 + number, 1, 300);
        }
    }
}

/// Several heaps on one thread, their programs interleaved; and one dropped in between.
#[test]
fn several_heaps_on_one_thread() {
    let mut heaps: Vec<TallyHeap> = (0..4).map(|_| TallyHeap::new(HeapOptions::default())).collect();
    for heap in &mut heaps {
        heap.push_root(None);
    }
    for round in 0..200 {
        for heap in &mut heaps {
            let next = heap.allocate(if round % 20 == 0 { Kind::Huge } else { Kind::Pair }, 0).expect("room");
            let root = heap.mutator.root(RootIndex(0)).map_or(0, |root| root.address());
            heap.store(next, 0, root);
            heap.set_root(0, Some(next));
            heap.set_global(round % 4, Some(next));
            if round % 30 == 0 {
                heap.epoch();
            }
        }
        if round == 100 {
            heaps.remove(1);
        }
    }
    for heap in &mut heaps {
        heap.verify().expect("in order");
        heap.recount().expect("in order");
        assert_eq!(heap.totals().live_objects, 200);
        heap.set_root(0, None);
        (0..4).for_each(|global| heap.set_global(global, None));
        heap.collect();
        assert_eq!(heap.totals().live_objects, 0);
    }
}

/// Heaps on several threads at once, whose tables and globals lie side by side.
#[test]
fn several_heaps_on_several_threads() {
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            std::thread::spawn(move || {
                for setup in setups().into_iter().filter(|setup| !setup.options.zeal) {
                    check_series(&setup, 900 + seed, 3, 400);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a heap and the model differ"));
}

/// scenario 12: the longest array a program of tests can have, written and copied at both ends.
#[test]
fn array_of_many_chunks() {
    let program = "allocate array 100000 r0
         allocate pair 0 r1
         write r0.0 = r1
         write r0.99999 = r1
         write r0.50000 = r0
         set r1 = null
         epoch
         copy r0.1 = r0.0 x 99999
         flip
         step 500
         write r0.99999 = null
         write r0.3 = r0
         epoch
         fill r0.0 x 100000 = null
         epoch
         epoch
         epoch";
    let ops = parse_program(program).expect("a program");
    for setup in setups().iter().filter(|setup| setup.options.heap_limit.is_none()) {
        check_in(setup, &ops);
    }
}
