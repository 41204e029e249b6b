//! Deep structures of mixed kinds, on small stacks and on several threads.

use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::setup::both_plans;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Recursion over the depth of these structures would overflow it.
const STACK_BYTES: usize = 256 << 10;
const DEPTH: usize = 100_000;

/// Containers of four kinds inside each other; the outermost is in root 0.
fn nest(heap: &mut TallyHeap) {
    heap.push_root(None);
    let kinds = [(Kind::Array, 3), (Kind::Link, 0), (Kind::Records, 2), (Kind::Triple, 0)];
    let mut inner = 0;
    for (kind, length) in kinds.into_iter().cycle().take(DEPTH) {
        let outer = heap.allocate(kind, length).expect("room");
        heap.store(outer, kind.slot_offset(0), inner);
        heap.set_root(0, Some(outer));
        inner = outer;
    }
}

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).expect("a thread")
}

/// scenario 45: arrays, records and objects nested a hundred thousand deep die with the outermost.
#[test]
fn containers_of_every_kind_nested_deep() {
    for options in both_plans() {
        let test = move || {
            let mut heap = TallyHeap::new(options);
            nest(&mut heap);
            heap.epoch();
            assert_eq!(heap.totals().live_objects, DEPTH as u64);
            heap.set_root(0, None);
            heap.epoch();
            heap.epoch();
            assert_eq!(heap.totals().live_objects, 0, "counting alone frees them");
            heap.verify().expect("in order");
        };
        on_a_small_stack(test).join().expect("no overflow");
    }
}

/// scenario 46: four threads let go of such structures at once, each in a heap of its own.
#[test]
fn deep_structures_die_on_four_threads_at_once() {
    for options in both_plans() {
        let barrier = std::sync::Arc::new(std::sync::Barrier::new(4));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (options, barrier) = (options.clone(), barrier.clone());
                on_a_small_stack(move || {
                    let mut heap = TallyHeap::new(options);
                    nest(&mut heap);
                    heap.epoch();
                    barrier.wait();
                    heap.set_root(0, None);
                    heap.epoch();
                    heap.epoch();
                    assert_eq!(heap.totals().live_objects, 0);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no overflow"));
    }
}
