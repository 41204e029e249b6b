//! Heaps in the states in which benches begin.
//!
//! `counts.rs` counts instructions (`cargo xtask bench counts`); each of its benches begins in one of the states made
//! here, without counting the making. The tests below show that each state is as its name says: a ring that is not
//! tried, or a write that is not logged, would give a good but wrong number. `compiled.rs` counts the code that the
//! lowering emits, in executables made of `compiled/`, which bring their objects into a state themselves. The
//! workloads in `workloads/` are kernels, timed by `cargo xtask bench compare`; `programs/` are whole programs, timed by
//! `cargo xtask bench programs`.

use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{SlotKind, TraceVisit};
use tally_heap::plan::Plan;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor, TypeId, type_registry};

/// Two references and a number: 24 bytes of payload.
static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 24, &[FIRST as u32, SECOND as u32]);

/// Offset of a pair's first reference.
pub const FIRST: u64 = 0;
/// Offset of a pair's second reference.
pub const SECOND: u64 = 8;

/// Offset of a pair's number.
pub const NUMBER: u64 = 16;

/// A heap, its one type, and objects in the state that the constructor's name says.
pub struct State {
    /// The heap. It flips only when the bench tells it to.
    pub mutator: Mutator,
    /// The type of all objects.
    pub pair: TypeId,
    /// The objects that the bench works on.
    pub objects: Vec<ObjectRef>,
}

/// A heap with nothing in it, whose first block has been taken.
pub fn empty() -> State {
    empty_of(Plan::Deferred)
}

fn empty_of(plan: Plan) -> State {
    let options = HeapOptions {
        plan,
        epoch_bytes: 1 << 40,
        log_entries: 1 << 40,
        slice_ns: u64::MAX / 2,
        count_objects: false,
        ..HeapOptions::default()
    };
    // SAFETY: [HELD] references are used as it says.
    let mutator = unsafe { Mutator::new(options) }.expect("the heap range can be reserved");
    let pair = type_registry::register(&PAIR).expect("the descriptor is right");
    let mut state = State { mutator, pair, objects: Vec::new() };
    state.allocate();
    state
}

/// `count` young objects that nothing refers to.
pub fn young(count: usize) -> State {
    let mut state = empty();
    state.objects = (0..count).map(|_| state.allocate()).collect();
    state
}

/// A heap of a plan, this thread's from now on, with `count` weak references to one object that a root has held for an
/// epoch and that was upgraded since.
pub fn weak_references(plan: Plan, count: usize) -> State {
    let mut state = empty_of(plan);
    let target = state.allocate();
    state.mutator.push_root(Some(target));
    for _ in 0..count {
        let weak = state.mutator.new_weak(target).expect("there is no limit");
        state.mutator.push_root(Some(weak));
        state.objects.push(weak);
    }
    state.mutator.epoch();
    state.mutator.read_weak(state.objects[0].slot(0));
    state.mutator.heap().attach();
    state
}

/// How the elements of an array tell that they are references.
#[derive(Debug, Clone, Copy)]
pub enum Elements {
    /// They are nothing else.
    Plain,
    /// By a tag behind the word, which the descriptor describes.
    Pairs,
    /// By the same tag, which a trace function reads.
    Traced,
}

/// A heap of the deferred plan with `count` mature objects, all held by the one array of such elements that a root holds.
pub fn held_by_elements(elements: Elements, count: usize) -> State {
    static PLAIN: TypeDescriptor = TypeDescriptor::plain(c"Plain", 8, &[]).with_tail(0, 16, &[0]);
    static PAIRS: TypeDescriptor =
        TypeDescriptor::plain(c"Pairs", 8, &[]).with_tail(0, 16, &[0]).tagged(SlotKind::TagBehind, 1, 1, u64::MAX);
    static TRACED: TypeDescriptor = {
        let tail = TypeDescriptor::plain(c"Traced", 8, &[]).with_tail(0, 16, &[]);
        // SAFETY: it reads the words that it gets.
        unsafe { tail.traced(trace_pair) }
    };
    let descriptor = match elements {
        Elements::Plain => &PLAIN,
        Elements::Pairs => &PAIRS,
        Elements::Traced => &TRACED,
    };
    let mut state = empty();
    let array = type_registry::register(descriptor).expect("a sound descriptor");
    let array = state.mutator.allocate_array(array, count as u64).expect("there is no limit");
    state.mutator.push_root(Some(array));
    for place in 0..count as u64 {
        let object = state.allocate();
        state.mutator.heap().write_pair(array, array.slot(8 + place * 16), [object.address(), 1]);
    }
    state.mutator.epoch();
    state.mutator.collect();
    state
}

/// The words of an element, which begin with the reference; the fixed part is one word.
unsafe extern "C" fn trace_pair(words: *const u64, n: u64, visit: TraceVisit, context: *mut c_void) {
    // SAFETY: an image of two words.
    if n == 2 && unsafe { *words.wrapping_add(1) } & 1 == 1 {
        // SAFETY: an image of two words.
        let word = unsafe { *words };
        // SAFETY: a reference, as its tag says.
        unsafe { visit(word as *mut c_void, context) };
    }
}

/// The type of arrays of references.
pub fn array_type() -> TypeId {
    static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);
    type_registry::register(&ARRAY).expect("a sound descriptor")
}

/// A heap of a plan with `count` mature objects that roots hold, and an object that has an array of one element.
pub fn growing(plan: Plan, count: usize) -> (State, ObjectRef) {
    let mut state = empty_of(plan);
    for _ in 0..count {
        let object = state.allocate();
        state.mutator.push_root(Some(object));
        state.objects.push(object);
    }
    let owner = state.allocate();
    state.mutator.push_root(Some(owner));
    state.mutator.epoch();
    let array = state.mutator.allocate_array(array_type(), 1).expect("there is no limit");
    state.mutator.write(owner, owner.slot(0), array.address());
    (state, owner)
}

/// A heap of a plan, this thread's from now on, with `count` mature objects that roots hold, whose last word is their
/// number and their hash, and an empty weak set.
pub fn numbered(plan: Plan, count: usize) -> (State, ObjectRef) {
    let mut state = empty_of(plan);
    for number in 0..count {
        let object = state.allocate();
        object.slot(NUMBER).store(number as u64);
        state.mutator.push_root(Some(object));
        state.objects.push(object);
    }
    let set = state.mutator.heap().new_weak_set(NUMBER as u32).expect("there is no limit");
    state.mutator.push_root(Some(set));
    state.mutator.epoch();
    state.mutator.heap().attach();
    (state, set)
}

/// The same with all of them in the set, each found once since the last epoch.
pub fn members(plan: Plan, count: usize) -> (State, ObjectRef) {
    let (mut state, set) = numbered(plan, count);
    for object in state.objects.clone() {
        state.mutator.heap().weak_set_add(set, object).expect("there is no limit");
        assert_eq!(state.mutator.heap().weak_set_probe(set, object.slot(NUMBER).read() as u32, &mut 0), Some(object));
    }
    (state, set)
}

/// The same objects, in no weak set, and an empty weak map with weak keys.
pub fn beside_a_map(plan: Plan, count: usize) -> (State, ObjectRef) {
    let (mut state, _) = numbered(plan, count);
    let map = state.mutator.new_weak_map(WeakMode::Keys).expect("there is no limit");
    state.mutator.push_root(Some(map));
    (state, map)
}

/// Twice as many objects, and a map of that mode.
pub fn beside_a_map_of(plan: Plan, mode: WeakMode, count: usize) -> (State, ObjectRef) {
    let (mut state, _) = numbered(plan, 2 * count);
    let map = state.mutator.new_weak_map(mode).expect("there is no limit");
    state.mutator.push_root(Some(map));
    (state, map)
}

/// The same with all of them in the map, each looked up once since the last epoch.
pub fn keys_of_a_map(plan: Plan, count: usize) -> (State, ObjectRef) {
    let (mut state, map) = beside_a_map(plan, count);
    for object in state.objects.clone() {
        state.mutator.weak_map_set(map, object, object).expect("there is no limit");
    }
    for object in state.objects.clone() {
        assert_eq!(state.mutator.weak_map_get(map, object), Some(object));
    }
    (state, map)
}

/// `count` objects that are keys of a map of that mode, and as many behind them that are their values.
pub fn entries_of_a_map(plan: Plan, mode: WeakMode, count: usize) -> (State, ObjectRef) {
    let (mut state, map) = beside_a_map_of(plan, mode, count);
    for place in 0..count {
        let [key, value] = [state.objects[place], state.objects[count + place]];
        state.mutator.weak_map_set(map, key, value).expect("there is no limit");
        assert_eq!(state.mutator.weak_map_get(map, key), Some(value));
    }
    (state, map)
}

/// `count` young objects of the heap that is the thread's.
pub fn attached(count: usize) -> State {
    let mut state = young(count);
    state.mutator.heap().attach();
    state
}

/// `count` young objects, all held by the root stack through one list.
pub fn young_list(count: usize) -> State {
    let mut state = empty();
    let root = state.mutator.push_root(None);
    for _ in 0..count {
        let object = state.allocate();
        let rest = state.mutator.root(root);
        state.write(object, FIRST, rest);
        state.mutator.set_root(root, Some(object));
        state.objects.push(object);
    }
    state
}

/// The same list after an epoch: every object is mature and clean.
pub fn mature_list(count: usize) -> State {
    let mut state = young_list(count);
    state.mutator.epoch();
    state
}

/// The same, after a first write to each object: every object is logged.
pub fn logged_list(count: usize) -> State {
    let mut state = mature_list(count);
    for place in 0..count {
        state.write(state.objects[place], SECOND, None);
    }
    state
}

/// `count` mature objects, each held by a root of its own.
pub fn mature_roots(count: usize) -> State {
    let mut state = empty();
    for _ in 0..count {
        let object = state.allocate();
        state.mutator.push_root(Some(object));
        state.objects.push(object);
    }
    state.mutator.epoch();
    state
}

/// The mature list, no longer held: the next epoch takes away its only count.
pub fn dropped_list(count: usize) -> State {
    let mut state = mature_list(count);
    state.mutator.truncate_roots(0);
    state
}

/// The dropped rings, each of whose objects also refers to the one after the next.
pub fn chorded_rings(count: usize, length: usize) -> State {
    let mut state = rings(count, length);
    for ring in 0..count {
        for place in 0..length {
            let (from, to) = (ring * length + place, ring * length + (place + 2) % length);
            state.write(state.objects[from], SECOND, Some(state.objects[to]));
        }
    }
    drop_all(state)
}

/// `count` mature rings of `length` objects, no longer held by anything: candidates of the next epoch's trials.
pub fn dropped_rings(count: usize, length: usize) -> State {
    drop_all(rings(count, length))
}

fn rings(count: usize, length: usize) -> State {
    let mut state = empty();
    for _ in 0..count {
        let root = state.mutator.push_root(None);
        let first = state.allocate();
        state.mutator.set_root(root, Some(first));
        state.objects.push(first);
        let mut last = first;
        for _ in 1..length {
            let next = state.allocate();
            state.write(last, FIRST, Some(next));
            state.objects.push(next);
            last = next;
        }
        state.write(last, FIRST, Some(first));
    }
    state
}

fn drop_all(mut state: State) -> State {
    state.mutator.epoch();
    state.mutator.truncate_roots(0);
    state
}

impl State {
    /// Allocates a pair.
    pub fn allocate(&mut self) -> ObjectRef {
        self.mutator.allocate(self.pair).expect("a bench is far from any limit")
    }

    /// Writes a reference or null.
    pub fn write(&mut self, object: ObjectRef, offset: u64, value: Option<ObjectRef>) {
        self.mutator.write(object, object.slot(offset), value.map_or(0, ObjectRef::address));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Plan, SECOND, chorded_rings, dropped_list, dropped_rings, logged_list, mature_list, weak_references, young,
        young_list,
    };

    #[test]
    fn weak_references_yield_a_target_that_was_upgraded_before() {
        for plan in [Plan::Deferred, Plan::Prompt] {
            let mut state = weak_references(plan, 10);
            let target = state.mutator.root(tally_heap::services::host_roots::RootIndex(0));
            let upgraded = state.mutator.heap().services.specials.upgraded.len();
            for weak in state.objects.clone() {
                assert_eq!(state.mutator.read_weak(weak.slot(0)), target);
            }
            assert_eq!(
                state.mutator.heap().services.specials.upgraded.len(),
                upgraded,
                "no upgrade was the first of the epoch"
            );
        }
    }

    #[test]
    fn list_becomes_mature_in_one_epoch_and_not_before() {
        let mut state = young_list(100);
        assert!(state.objects.iter().all(|object| !object.is_mature()));
        state.mutator.epoch();
        assert!(state.objects.iter().all(|object| object.is_mature()));
        assert_eq!(state.mutator.statistics().promoted_objects, 100);
    }

    #[test]
    fn dead_young_objects_are_never_promoted() {
        let mut state = young(100);
        state.mutator.epoch();
        assert_eq!(state.mutator.statistics().promoted_objects, 0);
        assert!(state.mutator.live_objects().is_empty());
    }

    #[test]
    fn only_the_first_write_of_an_epoch_logs() {
        let mut state = mature_list(100);
        let entries = |state: &super::State| state.mutator.statistics().log_entries;
        assert_eq!(entries(&state), 0);
        for place in 0..50 {
            state.write(state.objects[place], SECOND, None);
        }
        state.mutator.epoch();
        let after_first = entries(&state);
        assert!(after_first >= 50, "{after_first}");
        let mut again = logged_list(100);
        for place in 0..100 {
            again.write(again.objects[place], SECOND, None);
        }
        again.mutator.epoch();
        assert!((100..200).contains(&entries(&again)), "the second write to each object logged nothing");
    }

    #[test]
    fn dropped_rings_go_by_trial_in_the_next_epoch() {
        let mut state = dropped_rings(10, 8);
        assert_eq!(state.mutator.live_objects().len(), 80);
        assert_eq!(state.mutator.statistics().trial_runs, 0);
        state.mutator.epoch();
        let statistics = state.mutator.statistics();
        assert_eq!((statistics.trial_runs, statistics.cyclic_garbage_objects), (10, 80));
        assert!(state.mutator.live_objects().is_empty());
    }

    #[test]
    fn chords_are_edges_of_the_same_trials() {
        let (mut plain, mut chorded) = (dropped_rings(10, 8), chorded_rings(10, 8));
        plain.mutator.epoch();
        chorded.mutator.epoch();
        let (plain, chorded) = (plain.mutator.statistics(), chorded.mutator.statistics());
        assert_eq!((chorded.trial_runs, chorded.cyclic_garbage_objects), (10, 80));
        assert!(chorded.trial_edges >= plain.trial_edges + 80, "{} and {}", plain.trial_edges, chorded.trial_edges);
    }

    #[test]
    fn dropped_list_dies_in_one_epoch_without_a_trial() {
        let mut state = dropped_list(100);
        assert_eq!(state.mutator.live_objects().len(), 100);
        state.mutator.epoch();
        assert_eq!((state.mutator.live_objects().len(), state.mutator.statistics().trial_runs), (0, 0));
    }
}
