//! A large heap of the deferred plan traces: when it does, when it counts again, and what changes hands.

use std::cell::RefCell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{FinalizeOrder, TypeDescriptor};
use tally_heap::heap::{MARK_NS_PER_UNIT, Traces};
use tally_heap::plan::Rules;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{in_finalizer, new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ROW: TypeDescriptor = TypeDescriptor::plain(c"Row", 8, &[]).with_tail(0, 8, &[0]);

thread_local! {
    static FINALIZED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Notes the number of the file.
unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    // SAFETY: a file's third word is its number.
    let number = unsafe { object.cast::<u64>().wrapping_add(2).read() };
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

/// An object with a finalizer.
fn numbered(m: &mut Mutator, descriptor: &'static TypeDescriptor, number: u64) -> ObjectRef {
    let object = m.allocate(type_of(descriptor)).expect("room");
    object.slot(16).store(number);
    object
}

/// A chain of so many objects in a new root, of which each refers to the one made before.
fn push_chain(m: &mut Mutator, count: u64, mut make: impl FnMut(&mut Mutator, u64) -> ObjectRef) -> RootIndex {
    let place = m.push_root(None);
    for number in 0..count {
        let object = make(m, number);
        if let Some(last) = m.root(place) {
            m.write(object, object.slot(0), last.address());
        }
        m.set_root(place, Some(object));
    }
    place
}

/// A list of so many nodes.
fn push_list(m: &mut Mutator, count: u64) {
    push_chain(m, count, |m, _| node(m));
}

/// A chain of so many owners, numbered from the last.
fn push_owners(m: &mut Mutator, count: u64) -> RootIndex {
    push_chain(m, count, |m, number| numbered(m, &OWNER, number))
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
        let objects: Vec<ObjectRef> = (0..6).map(|number| numbered(&mut m, &FILE, number)).collect();
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
    let place = push_owners(&mut m, LINKS);
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

/// Of two objects with finalizers that die together the owner's runs first, whose rules ever find them dead, and whose ever hold then.
#[test]
fn owners_are_finalized_first_while_rules_change() {
    for slice_units in [Some(SLICE), Some(200_000)] {
        let mut m = new_mutator(HeapOptions { slice_units, ..options(2) }).expect("room");
        push_list(&mut m, 3_000);
        let (mut changes, mut rules) = (0, m.heap().rules());
        for number in 0..30_000 {
            let owned = numbered(&mut m, &OWNER, 2 * number);
            let place = m.push_root(Some(owned));
            let owner = numbered(&mut m, &OWNER, 2 * number + 1);
            m.write(owner, owner.slot(0), owned.address());
            m.truncate_roots(place.0);
            (0..5).for_each(|_| _ = node(&mut m));
            if number % 64 == 0 {
                m.poll();
            }
            let now = m.heap().rules();
            changes += u32::from(now != rules);
            rules = now;
        }
        collect_and_verify(&mut m);
        let mut seen = vec![false; 60_000];
        for number in finalized() {
            assert!(number % 2 == 1 || seen[number as usize + 1], "{number} before its owner, {slice_units:?}");
            seen[number as usize] = true;
        }
        assert!(seen.into_iter().all(|seen| seen), "{slice_units:?}");
        assert!(changes > 4 || slice_units != Some(SLICE), "{changes} changes");
    }
}

/// A collection that is asked for is linear in the chain, too: counting ends it.
#[test]
fn chain_of_owners_is_collected_in_linear_time() {
    const LINKS: u64 = 1_000;
    let mut m = new_mutator(options(u32::MAX)).expect("room");
    push_list(&mut m, 10_000);
    run_until(&mut m, Rules::Tracing);
    let place = push_owners(&mut m, LINKS);
    m.set_root(place, None);
    let before = m.statistics().marks;
    m.collect();
    assert!(finalized().into_iter().eq((0..LINKS).rev()));
    assert!(m.statistics().marks - before <= 10, "{} marks", m.statistics().marks - before);
    collect_and_verify(&mut m);
}

/// The same in a heap that is small enough to mark, which counts until the chain has ended.
#[test]
fn chain_of_owners_in_a_small_heap_is_finalized_in_linear_time() {
    const LINKS: u64 = 1_000;
    for is_asked_for in [true, false] {
        let marks = HeapOptions { mark_ns: 64 * LINKS * MARK_NS_PER_UNIT, traces: Traces::Never, ..options(0) };
        let mut m = new_mutator(marks).expect("room");
        let place = push_owners(&mut m, LINKS);
        m.set_root(place, None);
        assert_eq!(m.heap().rules(), Rules::Marking);
        let (marks, mut order) = (m.statistics().marks, vec![]);
        if is_asked_for {
            m.collect();
            order = finalized();
        } else {
            for _ in 0..2 * EPOCH / 16 + 64 * LINKS {
                node(&mut m);
                m.poll();
                order.extend(finalized());
            }
        }
        assert!(order.into_iter().eq((0..LINKS).rev()), "{is_asked_for}");
        let marks = m.statistics().marks - marks;
        assert!(marks <= 64 * LINKS * 32 / EPOCH + 10, "{marks} marks, {is_asked_for}");
        collect_and_verify(&mut m);
        run_until(&mut m, Rules::Marking);
    }
}

/// Else it would come to its limit before a collection is due, and stop for each.
#[test]
fn heap_counts_that_has_no_room_to_trace() {
    let mut m = new_mutator(HeapOptions { heap_limit: Some(8 << 20), ..options(u32::MAX) }).expect("room");
    push_list(&mut m, 50_000);
    run_until(&mut m, Rules::Tracing);
    push_list(&mut m, 110_000);
    run_until(&mut m, Rules::Counting);
    let before = m.statistics();
    for _ in 0..1_000_000 {
        node(&mut m);
        m.poll();
    }
    let after = m.statistics();
    assert_eq!(m.heap().rules(), Rules::Counting);
    assert!(after.marks - before.marks < 8, "{} marks", after.marks - before.marks);
    assert!(after.slice_units_max <= u64::from(SLICE) * 8, "{} units in a slice", after.slice_units_max);
}

#[test]
fn program_that_polls_brings_the_first_collection_to_its_end() {
    let mut m = new_mutator(HeapOptions { mark_ns: BOUND * MARK_NS_PER_UNIT, ..options(u32::MAX) }).expect("room");
    push_list(&mut m, 20_000);
    for _ in 0..20_000 {
        node(&mut m);
        if m.heap().rules() == Rules::Tracing {
            break;
        }
    }
    assert_eq!(m.heap().rules(), Rules::Tracing);
    let mut polls = 0;
    while m.heap().context_mut().poll != 0 {
        m.poll();
        polls += 1;
    }
    assert!(polls > 10 && m.heap().rules() == Rules::Tracing, "{polls} polls");
}

/// The collection after which the heap was to count ends in a step, which begins the next.
#[test]
fn steps_end_collections_after_which_the_heap_counts() {
    for seed in 1..30_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut m = new_mutator(HeapOptions { slice_units: Some(512), ..options(1) }).expect("room");
        push_list(&mut m, 3_000);
        for _ in 0..60 {
            let place = m.push_root(None);
            for _ in 0..random(400) {
                let object = node(&mut m);
                if random(3) == 0 {
                    if let Some(last) = m.root(place) {
                        m.write(object, object.slot(0), last.address());
                    }
                    m.set_root(place, Some(object));
                }
                m.poll();
            }
            if random(3) != 0 {
                m.truncate_roots(place.0);
            }
            if random(6) == 0 {
                while !m.collect_for(1) {}
            }
            assert!(m.statistics().freed_objects() <= m.statistics().allocated_objects, "seed {seed}");
        }
        collect_and_verify(&mut m);
    }
}

unsafe extern "C-unwind" fn allocate_in_callback(_weak: *mut c_void) {
    in_finalizer(|m| {
        for _ in 0..20_000 {
            node(m);
        }
    });
}

/// What the runtime holds for a call has one count for it.
#[test]
fn what_a_callback_is_called_with_is_let_go_of() {
    let mut m = new_mutator(options(1)).expect("room");
    push_list(&mut m, 3_000);
    for _ in 0..20 {
        run_until(&mut m, Rules::Tracing);
        let target = node(&mut m);
        let place = m.push_root(Some(target));
        let weak = m.new_weak_with(target, allocate_in_callback).expect("room");
        m.set_root(place, Some(weak));
        run_until(&mut m, Rules::Counting);
        m.truncate_roots(place.0);
    }
    collect_and_verify(&mut m);
    assert_eq!(m.statistics().live_objects, 3_000);
}

/// Weak references that are asked in turn, all of them, again and again: while a collection ran each yielded its target, dead or alive. Fewer
/// died in each collection, each was longer than the one before, and memory had no bound.
#[test]
fn dead_objects_that_weak_references_are_asked_for_die() {
    const LIVE: usize = 2_000;
    const ASKED: usize = 48;
    let mut m = new_mutator(HeapOptions { epoch_bytes: EPOCH, ..options(u32::MAX) }).expect("room");
    let [views, weaks] = [LIVE as u64, 200_000].map(|length| m.allocate_array(type_of(&ROW), length).expect("room"));
    m.push_root(Some(views));
    m.push_root(Some(weaks));
    let at = |row: ObjectRef, index: usize| row.slot(8 + 8 * index as u64);
    // SAFETY: [HEADER] the row holds weak references there.
    let weak_at = |index: usize| unsafe { ObjectRef::of_word(at(weaks, index).read()) }.expect("a weak reference");
    let (mut used, mut next) = (0, 0);
    for round in 0..60_000 {
        let view = node(&mut m);
        m.write(view, view.slot(0), view.address());
        m.write(views, at(views, round % LIVE), view.address());
        let weak = m.new_weak(view).expect("room");
        m.write(weaks, at(weaks, used), weak.address());
        used += 1;
        for _ in 0..ASKED {
            next = if next + 1 < used { next + 1 } else { 0 };
            if m.read_weak(weak_at(next).slot(0)).is_none() {
                used -= 1;
                let last = at(weaks, used).read();
                m.write(weaks, at(weaks, next), last);
                m.write(weaks, at(weaks, used), 0);
            }
        }
        m.poll();
    }
    assert!(used < 8 * LIVE, "{used} weak references");
    collect_and_verify(&mut m);
}
