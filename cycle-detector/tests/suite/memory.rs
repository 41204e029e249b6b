//! Memory runs out, under both plans: limits, the callbacks in front of them, failures that were asked for. The program goes on.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::HeapEntry;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::limits::RETRIES_MAX;
use tally_heap::{HeapOptions, ObjectRef, OutOfMemory};
use tally_kit::nodes::{new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn mutator(plan: Plan) -> Mutator {
    new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space")
}

/// Allocates rooted nodes until it is refused.
fn fill(m: &mut Mutator) -> OutOfMemory {
    let node = type_of(&NODE);
    loop {
        match m.allocate(node) {
            Ok(object) => m.push_root(Some(object)),
            Err(error) => return error,
        };
    }
}

/// Numbers that a callback was told.
type Told = Rc<RefCell<Vec<u64>>>;

fn note_of(told: &Told) -> impl Fn(u64) + 'static {
    let told = told.clone();
    move |number| told.borrow_mut().push(number)
}

/// scenario 144: asked once, the answer was no; the allocation fails, and a heap with less in it goes on.
#[test]
fn a_handler_that_cannot_help_is_asked_once_and_the_program_goes_on() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(None, Some(1 << 20));
        let told = Told::default();
        let note = note_of(&told);
        m.on_out_of_memory(move |_, requested| {
            note(requested);
            false
        });
        assert!(matches!(fill(&mut m), OutOfMemory::Limit { .. }));
        assert_eq!(*told.borrow(), [32 << 10], "{plan:?}");
        m.truncate_roots(m.root_count() / 2);
        let node = type_of(&NODE);
        for _ in 0..1000 {
            m.allocate(node).expect("half of it is free");
        }
        assert_eq!(told.borrow().len(), 1, "a collection is enough now");
        m.verify().expect("a sound heap");
    }
}

/// scenario 144: it is believed so many times and no more.
#[test]
fn a_handler_that_only_says_try_again_is_not_believed_for_ever() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(None, Some(256 << 10));
        let told = Told::default();
        let note = note_of(&told);
        m.on_out_of_memory(move |_, requested| {
            note(requested);
            true
        });
        assert!(matches!(fill(&mut m), OutOfMemory::Limit { .. }));
        assert_eq!(told.borrow().len(), RETRIES_MAX as usize, "{plan:?}");
        m.verify().expect("a sound heap");
    }
}

/// A handler that raises the limit gets its program the object.
#[test]
fn a_handler_makes_room_and_the_allocation_succeeds() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(None, Some(256 << 10));
        let told = Told::default();
        let note = note_of(&told);
        m.on_out_of_memory(move |heap, _| {
            note(heap.used_bytes());
            let limit = heap.options().heap_limit.expect("set above");
            heap.set_limits(None, Some(limit * 2));
            limit < 1 << 20
        });
        assert!(matches!(fill(&mut m), OutOfMemory::Limit { .. }));
        assert_eq!(told.borrow().len(), 3, "{plan:?}: at 256 and 512 KiB it helps, at 1 MiB no more");
        m.verify().expect("a sound heap");
    }
}

/// It may allocate itself, and is not asked for that.
#[test]
fn an_allocation_in_a_handler_fails_without_asking_it_again() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(None, Some(256 << 10));
        let told = Told::default();
        let note = note_of(&told);
        let node = type_of(&NODE);
        m.on_out_of_memory(move |heap, _| {
            note(heap.allocate(node).is_err() as u64);
            false
        });
        fill(&mut m);
        fill(&mut m);
        assert_eq!(*told.borrow(), [1, 1], "{plan:?}");
    }
}

/// Called once per crossing, at a safepoint, with the figure; again after the heap was smaller.
#[test]
fn the_soft_limit_tells_of_each_crossing_once() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(Some(1 << 20), None);
        let told = Told::default();
        let note = note_of(&told);
        m.on_soft_limit(move |heap, used| {
            note(used);
            // SAFETY: the closure is the mutator now, and uses no reference afterwards.
            tally_heap::Heap::collect(unsafe { HeapEntry::of(heap) });
        });
        let node = type_of(&NODE);
        for crossing in 1..=3 {
            for _ in 0..100_000 {
                let object = m.allocate(node).expect("room");
                m.push_root(Some(object));
            }
            m.poll();
            assert_eq!(told.borrow().len(), crossing, "{plan:?}");
            m.truncate_roots(0);
            m.collect();
            // Seen when the heap grows next.
            for _ in 0..10_000 {
                let object = m.allocate(node).expect("room");
                m.push_root(Some(object));
            }
            m.truncate_roots(0);
            m.collect();
        }
        assert!(told.borrow().iter().all(|&used| used > 1 << 20 && used < 2 << 20), "{told:?}");
        m.verify().expect("a sound heap");
    }
}

/// A soft limit that is below what is used already, and one without a callback.
#[test]
fn limits_may_be_set_at_any_time_to_anything() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        let node = type_of(&NODE);
        for (soft, hard) in [(Some(0), None), (Some(1), Some(u64::MAX)), (None, Some(i64::MAX as u64)), (None, None)] {
            m.set_limits(soft, hard);
            for _ in 0..2000 {
                let object = m.allocate(node).expect("room");
                m.push_root(Some(object));
            }
            m.poll();
        }
        m.set_limits(None, Some(1));
        assert!(matches!(fill(&mut m), OutOfMemory::Limit { .. }));
        m.set_limits(None, None);
        m.allocate(node).expect("room again");
        m.verify().expect("a sound heap");
    }
}

/// scenario 143: refused at once, without a collection and without asking anybody.
#[test]
fn an_absurd_request_fails_cleanly() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.on_out_of_memory(|_, _| panic!("nothing would help"));
        let array = type_of(&ARRAY);
        let epochs = m.statistics().epochs;
        for length in [u64::MAX, u64::MAX / 8, 1 << 40] {
            let refused = m.allocate_array(array, length).expect_err("no heap holds it");
            assert!(matches!(refused, OutOfMemory::Absurd { .. }), "{refused}");
        }
        assert_eq!(m.statistics().epochs, epochs);
        m.on_out_of_memory(|_, _| false);
        let refused = m.allocate_array(array, 1 << 36).expect_err("more than is reserved");
        assert!(matches!(refused, OutOfMemory::Range { .. }), "{refused}");
        m.allocate_array(array, 10).expect("the heap is as it was");
        m.verify().expect("a sound heap");
    }
}

/// What a list of `count` nodes holds that is built while one allocation fails: as many as were not refused, in order.
fn build_with_failure(plan: Plan, fail: u64, zeal: bool) -> (u64, Vec<u64>) {
    let mut m = new_mutator(HeapOptions { plan, fail_allocation: Some(fail), zeal, ..HeapOptions::default() })
        .expect("address space");
    let (node, array) = (type_of(&NODE), type_of(&ARRAY));
    let list = m.push_root(None);
    let table = m.push_root(None);
    let (mut refused, mut kept) = (0, vec![]);
    for number in 0..40u64 {
        let made = if number % 4 == 3 { m.allocate_array(array, number * 100) } else { m.allocate(node) };
        let object = match made {
            Ok(object) => object,
            Err(error) => {
                assert!(matches!(error, OutOfMemory::AskedFor { .. }), "{error}");
                refused += 1;
                continue;
            }
        };
        if number % 4 == 3 {
            // A table that refers to the list and to itself; the one before it is garbage.
            let first = m.root(list).map_or(0, ObjectRef::address);
            m.write(object, object.slot(8), first);
            m.write(object, object.slot(16), object.address());
            m.set_root(table, Some(object));
        } else {
            let next = m.root(list).map_or(0, ObjectRef::address);
            m.write(object, object.slot(0), next);
            object.slot(16).store(number);
            m.set_root(list, Some(object));
            kept.push(number);
        }
    }
    m.verify().expect("nothing is corrupted");
    let mut found = vec![];
    let mut at = m.root(list);
    while let Some(object) = at {
        found.push(object.slot(16).read());
        let next = object.slot(0).read();
        // SAFETY: [HEADER] a reference of a live object.
        at = (next != 0).then(|| unsafe { ObjectRef::from_address(next) });
    }
    found.reverse();
    assert_eq!(found, kept, "nothing is lost");
    m.truncate_roots(0);
    assert_eq!(m.leak_report(), None, "nothing is left");
    (refused, kept)
}

/// scenario 122, 145: each allocation of a program fails in turn, after a collection in the middle of it.
#[test]
fn a_failure_at_any_allocation_loses_nothing_and_corrupts_nothing() {
    for plan in Plan::ALL {
        for zeal in [false, true] {
            for fail in 1..=40 {
                assert_eq!(build_with_failure(plan, fail, zeal).0, 1, "{plan:?}, allocation {fail}");
            }
            assert_eq!(build_with_failure(plan, 41, zeal).0, 0);
        }
    }
}

/// A handler turns the failure into a delay.
#[test]
fn a_failure_that_was_asked_for_is_one_that_a_handler_can_mend() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        let node = type_of(&NODE);
        m.heap().fail_allocation(3);
        let told = Told::default();
        let note = note_of(&told);
        m.on_out_of_memory(move |_, requested| {
            note(requested);
            true
        });
        for _ in 0..10 {
            m.allocate(node).expect("tried again");
        }
        assert_eq!(*told.borrow(), [32]);
    }
}

/// The emergency collection finds the roots that the program has at that moment, and only those.
#[test]
fn an_emergency_collection_frees_what_nothing_holds_and_keeps_the_rest() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.stop();
        m.set_limits(None, Some(1 << 20));
        let node = type_of(&NODE);
        let kept = m.push_root(None);
        for number in 0..200_000u64 {
            let object = m.allocate(node).expect("garbage makes room, although the collector is stopped");
            object.slot(16).store(number);
            m.write(object, object.slot(0), object.address());
            m.set_root(kept, Some(object));
        }
        assert_eq!(m.root(RootIndex(0)).expect("set").slot(16).read(), 199_999);
        assert!(!m.is_running() && m.heap().used_bytes() <= 1 << 20);
        m.verify().expect("a sound heap");
    }
}

/// A callback that has given up its reserve is not called again: a callback that takes itself off stays off, and one that names
/// another is followed by that.
#[test]
fn a_callback_that_takes_itself_off_is_not_called_again() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        m.set_limits(None, Some(256 << 10));
        let told = Told::default();
        let (note, other) = (note_of(&told), note_of(&told));
        m.on_out_of_memory(move |heap, _| {
            note(1);
            drop(heap.on_out_of_memory(None));
            false
        });
        fill(&mut m);
        fill(&mut m);
        assert_eq!(*told.borrow(), [1], "{plan:?}");
        m.truncate_roots(0);
        m.collect();
        m.set_limits(Some(1), None);
        m.on_soft_limit(move |heap, _| {
            other(2);
            drop(heap.on_soft_limit(None));
        });
        for _ in 0..2 {
            m.allocate(type_of(&NODE)).expect("room");
            m.poll();
            m.set_limits(Some(1), None);
        }
        assert_eq!(*told.borrow(), [1, 2], "{plan:?}");
    }
}

/// It is as it was before the call, wherever the next safepoint is: nothing of the first call is left on the stack.
#[test]
fn a_callback_left_by_a_panic_is_called_again_from_deeper_on_the_stack() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        let told = Told::default();
        let (note, other) = (note_of(&told), note_of(&told));
        m.on_soft_limit(move |_, _| {
            note(1);
            panic!("the soft limit");
        });
        m.on_out_of_memory(move |_, _| {
            other(2);
            panic!("the end");
        });
        for depth in [0, 100] {
            m.set_limits(Some(1), None);
            let left = catch_unwind(AssertUnwindSafe(|| at_depth(depth, &mut || allocate_and_poll(&mut m))));
            assert!(left.is_err(), "{plan:?}");
            m.set_limits(None, Some(1));
            let left = catch_unwind(AssertUnwindSafe(|| at_depth(depth, &mut || drop(fill(&mut m)))));
            assert!(left.is_err(), "{plan:?}");
        }
        assert_eq!(*told.borrow(), [1, 2, 1, 2], "{plan:?}");
        m.set_limits(None, None);
        m.truncate_roots(0);
        m.collect();
        m.verify().expect("a sound heap");
    }
}

fn allocate_and_poll(m: &mut Mutator) {
    m.allocate(type_of(&NODE)).expect("room");
    m.poll();
}

/// Calls `work` below so many frames of a kilobyte.
fn at_depth(frames: u32, work: &mut dyn FnMut()) {
    let frame = std::hint::black_box([0u8; 1024]);
    match frames {
        0 => work(),
        _ => at_depth(frames - 1, work),
    }
    std::hint::black_box(frame);
}

/// Between two looks at the heap it was below the limit.
#[test]
fn a_large_object_crosses_the_soft_limit_again_after_another_died() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        let told = Told::default();
        let note = note_of(&told);
        m.on_soft_limit(move |_, used| note(used));
        m.set_limits(Some(4 << 20), None);
        let array = type_of(&ARRAY);
        for crossing in 1..=3 {
            let large = m.allocate_array(array, 1 << 20).expect("room");
            m.push_root(Some(large));
            m.allocate_array(array, 1).expect("room");
            m.poll();
            assert_eq!(told.borrow().len(), crossing, "{plan:?}");
            m.truncate_roots(0);
            m.collect();
        }
    }
}

/// The same for bytes outside.
#[test]
fn what_objects_own_outside_crosses_the_soft_limit_again_after_they_died() {
    for plan in Plan::ALL {
        let mut m = mutator(plan);
        let told = Told::default();
        let note = note_of(&told);
        m.on_soft_limit(move |_, used| note(used));
        m.set_limits(Some(64 << 20), None);
        let node = type_of(&NODE);
        for crossing in 1..=3 {
            let owner = m.allocate(node).expect("room");
            m.push_root(Some(owner));
            m.add_external_bytes(owner, 100 << 20);
            m.poll();
            assert_eq!(told.borrow().len(), crossing, "{plan:?}");
            m.truncate_roots(0);
            m.collect();
            assert_eq!(m.statistics().external_bytes, 0);
        }
    }
}
