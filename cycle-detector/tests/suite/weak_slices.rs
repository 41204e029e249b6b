//! `[BOUND]` `[WEAK]` Whatever weak slots hang on what dies, no stop lets go of more of them than a slice allows, under all plans; and
//! nothing yields what is dead while some of them are left.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_collector::plan::deferred::epoch::STEP_UNITS_MAX;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak::WeakKind;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, Slot, TypeDescriptor};
use tally_kit::nodes::{new_mutator, type_of};

/// Two counted fields, and a weak slot at 16.
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
/// A counted field, and any number of words that are none.
static SLOTS: TypeDescriptor = TypeDescriptor::plain(c"Slots", 16, &[8]).with_tail(0, 8, &[]);
/// Any number of references.
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// Looks at the first of the weak references to it.
// SAFETY: `finalize` takes any object of the type.
static FINALIZED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Finalized", 24, &[0, 8]).finalized(finalize) };

thread_local! {
    static FIRST: Cell<Option<ObjectRef>> = const { Cell::new(None) };
    static FINALIZERS: Cell<u32> = const { Cell::new(0) };
    /// How often the callback of each weak reference was called.
    static CALLED: RefCell<HashMap<u64, u32>> = RefCell::new(HashMap::new());
}

unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {
    FINALIZERS.set(FINALIZERS.get() + 1);
    let first = FIRST.get().expect("the test has stored it");
    assert_eq!(first.slot(0).read(), 0, "all weak references are cleared before");
}

unsafe extern "C-unwind" fn count_call(weak: *mut c_void) {
    CALLED.with_borrow_mut(|called| *called.entry(weak as u64).or_default() += 1);
}

const WEAK: u64 = 16;
const SLICE: u32 = 64;
/// Weak slots that a part of a collection may let go of: those of a drain's slice and of a mark's, and some at the end of either.
const SLOTS_AT_ONCE: u64 = 2 * SLICE as u64 + 32;
/// More than any verdict takes apart at once.
const MANY: u64 = if cfg!(debug_assertions) { 20_000 } else { 100_000 };

#[derive(Debug, Clone, Copy, PartialEq)]
enum Death {
    /// Its last reference goes.
    ByCount,
    /// The same before anybody has counted it.
    Young,
    /// It refers to itself.
    InRing,
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("memory")
}

fn rooted(m: &mut Mutator) -> (ObjectRef, RootIndex) {
    let object = node(m);
    (object, m.push_root(Some(object)))
}

fn heap(plan: Plan) -> Mutator {
    let options = HeapOptions {
        plan,
        slice_units: Some(SLICE),
        pause_goal_ns: Some(1),
        eager_marks: plan == Plan::Deferred,
        ..HeapOptions::default()
    };
    new_mutator(options).expect("address space")
}

/// What dies so, in the order of its steps: before weak slots are made, and before its root goes.
fn grow_up(m: &mut Mutator, death: Death) {
    if death != Death::Young {
        m.epoch();
    }
}

fn close_ring(m: &mut Mutator, object: ObjectRef, field: u64, death: Death) {
    if death == Death::InRing {
        m.write(object, object.slot(field), object.address());
    }
}

/// A part of a collection.
fn advance(m: &mut Mutator, plan: Plan) {
    match plan {
        Plan::Deferred | Plan::Trace => {
            if !m.step(SLICE.into()) {
                m.flip();
            }
        }
        Plan::Prompt => {
            m.poll();
            m.collect_for(0);
        }
    }
}

/// Collects in parts until `left` says that nothing is; `while_left` looks at the heap while something is, after the first has gone.
fn collect_in_parts(
    m: &mut Mutator,
    what: (Plan, Death),
    mut left: impl FnMut(&mut Mutator) -> u64,
    mut while_left: impl FnMut(&mut Mutator),
) {
    let (at_first, mut before, mut parts) = (left(m), left(m), 0);
    while before != 0 {
        advance(m, what.0);
        let now = left(m);
        assert!(before - now <= SLOTS_AT_ONCE, "{what:?}: {} slots at once, {now} left of {at_first}", before - now);
        if now != 0 && now != at_first {
            while_left(m);
        }
        (before, parts) = (now, parts + 1);
        assert!(parts < 100 * at_first, "{what:?}: {now} left of {at_first}");
    }
    let held = m.root_count();
    m.collect();
    m.verify().unwrap_or_else(|violation| panic!("{what:?}: {violation}"));
    assert_eq!(m.root_count(), held);
    m.truncate_roots(0);
    m.collect();
    m.collect();
    assert_eq!(m.live_objects(), [], "{what:?}");
    assert!(m.heap().services.specials.is_empty() && m.heap().services.specials.slots() == 0);
}

fn for_all_deaths(situation: impl Fn(&mut Mutator, (Plan, Death))) {
    for plan in Plan::ALL {
        for death in [Death::ByCount, Death::Young, Death::InRing] {
            situation(&mut heap(plan), (plan, death));
        }
    }
}

/// How many of the words are not zero, if those at the end went first.
fn uncleared(slots: &[Slot], mut known: usize) -> usize {
    while known != 0 && slots[known - 1].read() == 0 {
        known -= 1;
    }
    known
}

fn references_go_in_slices(make: impl Fn(&mut Mutator, ObjectRef) -> Slot) {
    for_all_deaths(|m, what| {
        let (target, root) = rooted(m);
        close_ring(m, target, 0, what.1);
        grow_up(m, what.1);
        let slots: Vec<Slot> = (0..MANY).map(|_| make(m, target)).collect();
        assert_eq!(m.read_weak(slots[0]), Some(target));
        m.set_root(root, None);
        let mut known = slots.len();
        let left = |_: &mut Mutator| {
            known = uncleared(&slots, known);
            known as u64
        };
        collect_in_parts(m, what, left, |m| assert_eq!(m.read_weak(slots[0]), None, "{what:?}"));
    });
}

#[test]
fn a_target_of_many_weak_references_dies_in_slices() {
    references_go_in_slices(|m, target| {
        let weak = m.new_weak(target).expect("memory");
        m.push_root(Some(weak));
        weak.slot(0)
    });
}

#[test]
fn a_target_of_many_weak_slots_dies_in_slices() {
    references_go_in_slices(|m, target| {
        let (holder, _) = rooted(m);
        m.write_weak(holder, holder.slot(WEAK), Some(target));
        holder.slot(WEAK)
    });
}

#[test]
fn a_holder_of_many_weak_slots_dies_in_slices() {
    for_all_deaths(|m, what| {
        let (target, _) = rooted(m);
        let holder = m.allocate_array(type_of(&SLOTS), MANY).expect("memory");
        let root = m.push_root(Some(holder));
        close_ring(m, holder, 8, what.1);
        grow_up(m, what.1);
        for index in 0..MANY {
            m.write_weak(holder, holder.slot(16 + 8 * index), Some(target));
        }
        m.set_root(root, None);
        collect_in_parts(m, what, |m| m.heap().services.specials.slots().into(), |_| {});
    });
}

#[test]
fn a_key_of_many_ephemerons_dies_in_slices() {
    for_all_deaths(|m, what| {
        let (value, _) = rooted(m);
        let (key, root) = rooted(m);
        close_ring(m, key, 0, what.1);
        grow_up(m, what.1);
        let first = m.new_ephemeron(key, Some(value)).expect("memory");
        m.push_root(Some(first));
        for _ in 1..MANY {
            let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
            m.push_root(Some(ephemeron));
        }
        m.set_root(root, None);
        let left = |m: &mut Mutator| m.heap().services.specials.slots().into();
        collect_in_parts(m, what, left, |m| assert_eq!(m.ephemeron_value(first), None, "{what:?}"));
    });
}

/// Only a mark can tell that the keys are dead.
#[test]
fn a_map_whose_values_lead_to_their_keys_is_emptied_in_slices() {
    for plan in Plan::ALL {
        let m = &mut heap(plan);
        let map = m.new_weak_map(WeakMode::Keys).expect("memory");
        m.push_root(Some(map));
        let roots = m.root_count();
        for _ in 0..MANY {
            let (key, _) = rooted(m);
            let (value, root) = rooted(m);
            m.write(value, value.slot(0), key.address());
            m.weak_map_set(map, key, value).expect("memory");
            m.set_root(root, None);
        }
        m.epoch();
        m.truncate_roots(roots);
        collect_in_parts(m, (plan, Death::InRing), |m| m.weak_map_count(map), |_| {});
    }
}

#[test]
fn a_chain_of_ephemerons_dies_in_slices() {
    for_all_deaths(|m, what| {
        let (mut key, first) = rooted(m);
        grow_up(m, what.1);
        let top = m.push_root(None);
        for _ in 0..MANY {
            let value = node(m);
            m.set_root(top, Some(value));
            // In a ring each key waits for the mark that has found the one before.
            close_ring(m, value, 0, what.1);
            let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
            m.push_root(Some(ephemeron));
            key = value;
        }
        grow_up(m, what.1);
        m.set_root(top, None);
        m.set_root(first, None);
        collect_in_parts(m, what, |m| m.heap().services.specials.slots().into(), |_| {});
    });
}

/// The mark visits what a key of many ephemerons keeps alive a few at a time, and finds all of it.
#[test]
fn a_mark_visits_the_values_of_a_key_in_slices() {
    for plan in Plan::ALL {
        let m = &mut heap(plan);
        let (key, _) = rooted(m);
        let all = m.allocate_array(type_of(&ARRAY), MANY).expect("memory");
        m.push_root(Some(all));
        let top = m.push_root(None);
        let mut values = vec![];
        for index in 0..MANY {
            let value = node(m);
            m.set_root(top, Some(value));
            // Held by nothing but the ephemeron, in a ring.
            close_ring(m, value, 0, Death::InRing);
            let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
            m.write(all, all.slot(8 + 8 * index), ephemeron.address());
            values.push((ephemeron, value));
        }
        m.set_root(top, None);
        m.epoch();
        let marks = m.statistics().marks;
        while m.statistics().marks < marks + 2 {
            advance(m, plan);
        }
        let (units, limit) = (m.statistics().slice_units_max, u64::from(SLICE) + STEP_UNITS_MAX);
        assert!(units <= limit, "{plan:?}: a slice did {units} units, {limit} are allowed");
        for &(ephemeron, value) in &values {
            assert_eq!(m.ephemeron_value(ephemeron), Some(value));
        }
        m.collect();
        m.verify().expect("sound");
        assert_eq!(m.live_objects().len() as u64, 2 * MANY + 2);
    }
}

/// However many slices it takes: each callback is called once, and the finalizer finds nothing that was not cleared.
#[test]
fn callbacks_and_finalizer_of_a_target_that_dies_in_slices() {
    for_all_deaths(|m, what| {
        FINALIZERS.set(0);
        CALLED.with_borrow_mut(HashMap::clear);
        let target = m.allocate(type_of(&FINALIZED)).expect("memory");
        let root = m.push_root(Some(target));
        close_ring(m, target, 0, what.1);
        grow_up(m, what.1);
        let weaks: Vec<ObjectRef> = (0..MANY)
            .map(|_| {
                let weak = m.new_weak_with(target, count_call).expect("memory");
                m.push_root(Some(weak));
                weak
            })
            .collect();
        FIRST.set(Some(weaks[0]));
        m.set_root(root, None);
        let slots: Vec<Slot> = weaks.iter().map(|weak| weak.slot(0)).collect();
        let mut known = slots.len();
        let left = |_: &mut Mutator| {
            known = uncleared(&slots, known);
            known as u64
        };
        collect_in_parts(m, what, left, |_| assert_eq!(FINALIZERS.get(), 0, "{what:?}"));
        assert_eq!(FINALIZERS.get(), 1, "{what:?}");
        let called = CALLED.take();
        assert!(weaks.iter().all(|weak| called.get(&weak.address()) == Some(&1)), "{what:?}");
        assert_eq!(called.len() as u64, MANY);
    });
}

/// Slots of a target that is half cleared are written to, and their holders die.
#[test]
fn slots_of_a_target_that_dies_in_slices_are_written_and_dropped() {
    for_all_deaths(|m, what| {
        let (other, _) = rooted(m);
        let (target, root) = rooted(m);
        close_ring(m, target, 0, what.1);
        grow_up(m, what.1);
        let mut holders: Vec<(ObjectRef, RootIndex)> = vec![];
        for at in 0..MANY {
            let holder = match at % 2 {
                0 => node(m),
                _ => m.new_weak(target).expect("memory"),
            };
            if at % 2 == 0 {
                m.write_weak(holder, holder.slot(WEAK), Some(target));
            }
            holders.push((holder, m.push_root(Some(holder))));
        }
        m.set_root(root, None);
        let mut at = 0;
        let slot = |holder: ObjectRef, at: usize| holder.slot(if at.is_multiple_of(2) { WEAK } else { 0 });
        while slot(holders[0].0, 0).read() != 0 || slot(holders[1].0, 1).read() != 0 {
            advance(m, what.0);
            for _ in 0..16 {
                at = (at + 7919) % holders.len();
                let (holder, root) = holders[at];
                match (at % 4 < 2, m.root(root)) {
                    (_, None) => {}
                    (true, Some(_)) => m.set_root(root, None),
                    (false, Some(_)) if at > 1 => {
                        m.heap().write_weak(holder, slot(holder, at), Some(other), WeakKind::Reference);
                    }
                    (false, Some(_)) => {}
                }
                if at < 2 {
                    m.set_root(root, Some(holder));
                }
            }
        }
        for (at, &(holder, root)) in holders.iter().enumerate().filter(|(at, _)| at % 4 >= 2) {
            assert_eq!(m.root(root), Some(holder));
            let seen = m.read_weak(slot(holder, at));
            assert!(seen.is_none() || seen == Some(other), "{what:?}");
        }
        m.truncate_roots(0);
        m.collect();
        m.collect();
        m.verify().unwrap_or_else(|violation| panic!("{what:?}: {violation}"));
        assert_eq!(m.live_objects(), []);
        assert!(m.heap().services.specials.is_empty() && m.heap().services.specials.slots() == 0);
    });
}
