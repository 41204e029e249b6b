//! Marks in slices beside structures that are being taken apart, and beside very many finalizers that wait: no slice goes through
//! all that these hold, and a mark does not wait for their end. `[BOUND]`

use crate::prompt::slices::{is_there, sliced};
use crate::prompt::{ARRAY, live, node, nodes, set, type_of};
use std::cell::Cell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_collector::plan::deferred::epoch::STEP_UNITS_MAX;
use tally_heap::{ObjectRef, TypeDescriptor};

const UNITS: u32 = 64;
/// More than a slice's longest step.
const MANY: u64 = 6 * STEP_UNITS_MAX;

thread_local! {
    static FINALIZERS: Cell<u64> = const { Cell::new(0) };
}

unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {
    FINALIZERS.set(FINALIZERS.get() + 1);
}

// SAFETY: `finalize` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(finalize) };

/// An array of nodes, the only one to hold them.
fn array_of(m: &mut Mutator, length: u64) -> ObjectRef {
    let array = m.allocate_array(type_of(&ARRAY), length).expect("room");
    let root = m.push_root(Some(array));
    for index in 0..length {
        let element = node(m);
        set(m, array, 8 + index * 8, Some(element));
    }
    assert_eq!(m.root(root), Some(array));
    array
}

fn assert_slices_kept_to_their_budget(m: &Mutator) {
    let (units, limit) = (m.statistics().slice_units_max, u64::from(UNITS) + STEP_UNITS_MAX);
    assert!(units <= limit, "a slice did {units} units, {limit} are allowed");
}

#[test]
fn mark_that_begins_while_a_large_array_dies_comes_to_what_it_holds_in_slices() {
    let mut m = sliced(UNITS, false);
    array_of(&mut m, MANY);
    m.collect();
    m.truncate_roots(0);
    (0..10).for_each(|_| m.poll());
    assert!(live(&m) > MANY / 2, "it is being taken apart");
    let marks = m.statistics().marks;
    m.heap().options_mut().eager_marks = true;
    while live(&m) != 0 {
        m.poll();
    }
    assert!(m.statistics().marks > marks);
    assert_slices_kept_to_their_budget(&m);
    m.verify().expect("sound");
}

#[test]
fn mark_that_begins_while_many_wait_for_their_finalizers_comes_to_them_in_slices() {
    let mut m = sliced(UNITS, false);
    FINALIZERS.set(0);
    let file = type_of(&FILE);
    let first = m.allocate(file).expect("room");
    m.push_root(Some(first));
    let top = m.push_root(Some(first));
    for _ in 1..MANY {
        let next = m.allocate(file).expect("room");
        let before = m.root(top);
        set(&mut m, next, 0, before);
        m.set_root(top, Some(next));
    }
    let last = m.root(top);
    set(&mut m, first, 0, last);
    m.collect();
    m.truncate_roots(0);
    m.heap().options_mut().eager_marks = true;
    while m.heap().services.finalizers.queue.is_empty() {
        m.poll();
    }
    let marks = m.statistics().marks;
    while m.heap().services.finalizers.queue.len() as u64 > MANY / 2 {
        m.poll();
    }
    assert!(m.statistics().marks > marks, "no mark began while half of them waited");
    while FINALIZERS.get() < MANY {
        m.poll();
    }
    assert_slices_kept_to_their_budget(&m);
    m.collect();
    assert_eq!((live(&m), FINALIZERS.get()), (0, MANY));
}

/// The array was counted as suspected, with what it holds, and dies before it is judged: nothing that it still holds is
/// condemned.
#[test]
fn array_that_dies_while_a_mark_proves_lets_go_of_its_elements_itself() {
    const LENGTH: u64 = 2100;
    for large in [false, true] {
        let length = if large { LENGTH } else { 40 };
        for at in 0..60 {
            for gap in [1, 2, 7, 30] {
                let mut m = sliced(7, false);
                let [early, late] = nodes(&mut m);
                m.push_root(Some(early));
                m.push_root(Some(late));
                let roots = m.root_count();
                let array = array_of(&mut m, length);
                // What it holds holds others in turn.
                for index in 0..length {
                    // SAFETY: an element of the array.
                    let element = unsafe { ObjectRef::from_address(array.slot(8 + index * 8).read()) };
                    set(&mut m, element, 0, Some(late));
                }
                set(&mut m, late, 0, Some(array));
                m.truncate_roots(roots);
                m.collect();
                let mut parts = 0;
                while !m.collect_for(0) {
                    if parts == at * if large { 16 } else { 1 } {
                        set(&mut m, early, 0, Some(array));
                        set(&mut m, late, 0, None);
                    }
                    if parts == at * if large { 16 } else { 1 } + gap {
                        set(&mut m, early, 0, None);
                    }
                    m.poll();
                    parts += 1;
                    assert!(parts < 1_000_000);
                }
                set(&mut m, early, 0, None);
                set(&mut m, late, 0, None);
                (0..3).for_each(|_| _ = m.collect());
                m.verify().unwrap_or_else(|violation| panic!("large {large}, at {at}, gap {gap}: {violation}"));
                assert_eq!(live(&m), 2, "large {large}, at {at}, gap {gap}");
                assert!(is_there(&mut m, early) && is_there(&mut m, late));
                assert_eq!(m.count_of(late), 1);
            }
        }
    }
}
