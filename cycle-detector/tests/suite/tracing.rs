//! A large heap of the deferred plan traces: when it does, when it counts again, and what changes hands.

use std::cell::RefCell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{FinalizeOrder, TypeDescriptor};
use tally_heap::heap::{MARK_NS_PER_UNIT, Traces};
use tally_heap::plan::Rules;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ROW: TypeDescriptor = TypeDescriptor::plain(c"Row", 8, &[]).with_tail(0, 8, &[0]);

thread_local! {
    static FINALIZED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Notes the number of the file.
unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    // SAFETY: a file's third word is its number.
    let number = unsafe { object.cast::<u64>().add(2).read() };
    FINALIZED.with_borrow_mut(|finalized| finalized.push(number));
}

// SAFETY: `finalize` takes objects of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 24, &[0]).finalized(finalize) };
// SAFETY: `finalize` takes objects of the type.
static OWNER: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Owner", 24, &[0]).finalized(finalize).finalized_in(FinalizeOrder::OwnerFirst) };

const EPOCH: u64 = 64 << 10;
/// Units of a mark in one stop.
const BOUND: u64 = 6000;
const SLICE: u32 = 1024;

fn options(collections: u32) -> HeapOptions {
    HeapOptions {
        epoch_bytes: EPOCH,
        slice_units: Some(SLICE),
        traces: Traces::ByTurns(collections),
        stop_the_world: false,
        ..HeapOptions::default()
    }
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("room")
}

fn file(m: &mut Mutator, number: u64) -> ObjectRef {
    let file = m.allocate(type_of(&FILE)).expect("room");
    file.slot(16).store(number);
    file
}

/// A list of so many nodes in a new root.
fn push_list(m: &mut Mutator, count: usize) {
    let place = m.push_root(None);
    for _ in 0..count {
        let node = node(m);
        if let Some(last) = m.root(place) {
            m.write(node, node.slot(0), last.address());
        }
        m.set_root(place, Some(node));
    }
}

/// Garbage, until other rules hold, which must be soon. Each node refers to the one before.
fn run_until(m: &mut Mutator, rules: Rules) {
    let place = m.push_root(None);
    for _ in 0..64 * EPOCH {
        if m.heap().rules() == rules {
            return m.truncate_roots(place.0);
        }
        let node = node(m);
        if let Some(last) = m.root(place) {
            m.write(node, node.slot(8), last.address());
            m.write(last, last.slot(8), 0);
        }
        m.set_root(place, Some(node));
        m.poll();
    }
    panic!("the heap is still {:?}", m.heap().rules());
}

fn finalized() -> Vec<u64> {
    FINALIZED.take()
}

fn collect_and_verify(m: &mut Mutator) {
    m.collect();
    m.verify().expect("a sound heap");
    let statistics = m.statistics();
    assert_eq!(statistics.allocated_objects, statistics.freed_objects() + statistics.live_objects, "{statistics:?}");
}

#[test]
fn heap_that_outgrows_one_stop_traces_in_slices() {
    let mut m = new_mutator(HeapOptions { mark_ns: BOUND * MARK_NS_PER_UNIT, ..options(u32::MAX) }).expect("room");
    push_list(&mut m, 100);
    run_until(&mut m, Rules::Marking);
    push_list(&mut m, 20_000);
    run_until(&mut m, Rules::Tracing);
    let [one, other] = [(); 2].map(|()| node(&mut m));
    m.write(one, one.slot(0), other.address());
    m.write(other, other.slot(0), one.address());
    let before = m.statistics();
    for _ in 0..200_000 {
        node(&mut m);
        m.poll();
    }
    let after = m.statistics();
    assert_eq!(m.heap().rules(), Rules::Tracing);
    assert!(after.marks > before.marks + 2 && after.mark_units > before.mark_units + 20_000, "{after:?}");
    assert!(after.slice_units_max <= u64::from(SLICE) + 2048, "{} units in a slice", after.slice_units_max);
    assert_eq!(after.log_entries, 0, "nothing was logged");
    assert!(after.used_bytes < 8 << 20, "{} bytes in use", after.used_bytes);
    collect_and_verify(&mut m);
    assert_eq!(m.statistics().live_objects, 20_100);
}

/// All that the runtime may know of an object, before other rules hold, and after it.
#[test]
fn what_was_known_under_other_rules_is_known() {
    for (before, after) in [(Rules::Counting, Rules::Tracing), (Rules::Tracing, Rules::Counting)] {
        let mut m = new_mutator(options(2)).expect("room");
        push_list(&mut m, 2_000);
        run_until(&mut m, before);
        let map = m.new_weak_map(WeakMode::Keys).expect("room");
        let place = m.push_root(Some(map));
        let objects: Vec<ObjectRef> = (0..6).map(|number| file(&mut m, number)).collect();
        objects.iter().for_each(|&object| _ = m.push_root(Some(object)));
        let row = m.allocate_array(type_of(&ROW), 5_000).expect("room");
        m.push_root(Some(row));
        let [immortal, in_row, key] = [(); 3].map(|()| node(&mut m));
        m.write(row, row.slot(8 + 8 * 4_999), in_row.address());
        m.make_immortal(immortal);
        m.push_root(Some(key));
        m.weak_map_set(map, key, objects[5]).expect("room");
        // The second is known when it is old, as the first; the third is taken back, the fourth registered again.
        let weak = m.new_weak(objects[0]).expect("room");
        m.push_root(Some(weak));
        run_until(&mut m, after);
        run_until(&mut m, before);
        let late = m.new_weak(objects[1]).expect("room");
        m.push_root(Some(late));
        m.forget_finalizer(objects[2]);
        m.forget_finalizer(objects[3]);
        assert!(m.register_finalizer(objects[3]));
        run_until(&mut m, after);
        for (weak, target) in [(weak, 0), (late, 1)] {
            assert_eq!(m.read_weak(weak.slot(0)), Some(objects[target]), "{before:?}");
        }
        assert_eq!(m.weak_map_get(map, key), Some(objects[5]), "{before:?}");
        assert_eq!(row.slot(8 + 8 * 4_999).read(), in_row.address(), "{before:?}");
        assert_eq!(finalized(), [0; 0], "{before:?}");
        m.set_root(place, None);
        m.truncate_roots(0);
        m.push_root(Some(weak));
        m.push_root(Some(late));
        run_until(&mut m, before);
        run_until(&mut m, after);
        collect_and_verify(&mut m);
        let mut numbers = finalized();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 3, 4, 5], "{before:?}");
        for weak in [weak, late] {
            assert_eq!(m.read_weak(weak.slot(0)), None, "{before:?}");
        }
        collect_and_verify(&mut m);
        let mut live = m.live_objects();
        live.sort_unstable_by_key(|object| object.address());
        let mut expected = [immortal, weak, late];
        expected.sort_unstable_by_key(|object| object.address());
        assert_eq!(live, expected, "{before:?}");
    }
}

/// What the program takes from an object and writes elsewhere is shown to the marks, whenever that is.
#[test]
fn what_moves_while_rules_change_lives_on() {
    let mut m = new_mutator(options(1)).expect("room");
    push_list(&mut m, 3_000);
    let [left, right] = [(); 2].map(|()| m.allocate_array(type_of(&ROW), 3_000).expect("room"));
    m.push_root(Some(left));
    m.push_root(Some(right));
    for index in 0..3_000 {
        let object = node(&mut m);
        m.write(left, left.slot(8 + 8 * index), object.address());
    }
    let mut changes = 0;
    let mut rules = m.heap().rules();
    for turn in 0..60_000_u64 {
        let index = 8 + 8 * (turn % 3_000);
        let (from, to) = if turn / 3_000 % 2 == 0 { (left, right) } else { (right, left) };
        let word = from.slot(index).read();
        m.write(from, from.slot(index), 0);
        m.write(to, to.slot(index), word);
        node(&mut m);
        m.poll();
        let now = m.heap().rules();
        changes += u32::from(now != rules);
        rules = now;
    }
    assert!(changes > 10, "{changes} changes");
    collect_and_verify(&mut m);
    assert_eq!(m.statistics().live_objects, 6_002);
}

/// Each is finalized after its owner: a collection would find one.
#[test]
fn chain_of_owners_makes_the_heap_count() {
    const LINKS: u64 = 2_000;
    let mut m = new_mutator(HeapOptions { epoch_grows: true, traces: Traces::ByTurns(1), ..options(1) }).expect("room");
    push_list(&mut m, 2_000);
    run_until(&mut m, Rules::Tracing);
    let place = m.push_root(None);
    for number in 0..LINKS {
        let owner = m.allocate(type_of(&OWNER)).expect("room");
        owner.slot(16).store(number);
        if let Some(last) = m.root(place) {
            m.write(owner, owner.slot(0), last.address());
        }
        m.set_root(place, Some(owner));
    }
    m.set_root(place, None);
    run_until(&mut m, Rules::Counting);
    m.heap().options_mut().traces = Traces::Never;
    let mut order = vec![];
    for _ in 0..LINKS * 8 {
        node(&mut m);
        m.epoch();
        order.extend(finalized());
    }
    assert!(order.into_iter().eq((0..LINKS).rev()), "owners come before what they hold");
    collect_and_verify(&mut m);
}

/// A collection after which the heap was to count is given up for one that is asked for.
#[test]
fn collections_that_are_asked_for_come_at_any_time() {
    let mut m = new_mutator(options(1)).expect("room");
    push_list(&mut m, 3_000);
    for garbage in 0..300 {
        (0..garbage * 7).for_each(|_| {
            node(&mut m);
            m.poll();
        });
        match garbage % 3 {
            0 => collect_and_verify(&mut m),
            1 => m.epoch(),
            _ => _ = m.step(u64::from(SLICE)),
        }
    }
    collect_and_verify(&mut m);
    assert_eq!(m.statistics().live_objects, 3_000);
}
