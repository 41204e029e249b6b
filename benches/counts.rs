//! Instructions of the runtime's operations, counted by callgrind: `cargo xtask bench counts`.
//!
//! The benches run frequent operations a thousand times each through [`Mutator`](tally_collector::Mutator), the Rust
//! twin of the inline code (`compiled.rs` counts that code itself, under both plans). They also run whole epochs with
//! different work in them: an epoch pays per survivor, not per object allocated; it pays nothing for live objects
//! that were not written; a dropped ring costs a trial of its own size. Short epochs are repeated, because a count is
//! only good to about a hundred instructions: the search of the C library's `malloc` differs from one folder to another.
//! `paths.txt` names all of them, `approved.txt` holds their allowed costs.

#![allow(missing_docs, reason = "the macros of iai-callgrind make public items and document none")]

use hashbrown::HashTable;
use iai_callgrind::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use tally_benches::{
    Elements, NUMBER, SECOND, State, array_type, attached, beside_a_map, beside_a_map_of, chorded_rings, dropped_list,
    dropped_rings, empty, entries_of_a_map, growing, held_by_elements, keys_of_a_map, logged_list, mature_list,
    mature_roots, members, numbered, weak_references, young, young_list,
};
use tally_collector::Mutator;
use tally_compiled::abi::host::{tally_handle_new, tally_handles_close, tally_handles_open};
use tally_compiled::abi::{tally_weak_get, tally_weak_map_get, tally_weak_set_probe};
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;
use tally_heap::services::weak_map::WeakMode;

/// The C library's memory, except that nothing grows in place. Whether an allocation has room behind it depends on
/// everything allocated before it, even on the length of this program's path, and a copy costs thousands of instructions.
struct GrowsByCopy;

// SAFETY: both are the system's own, which keeps the trait's contract; what is not written here is the trait's.
unsafe impl GlobalAlloc for GrowsByCopy {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from `alloc` above, with this layout.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static MEMORY: GrowsByCopy = GrowsByCopy;

const TIMES: usize = 1000;
/// Objects of an epoch whose cost is counted by object.
const MANY: usize = 10 * TIMES;

fn write_each(mut state: State) -> State {
    for place in 0..TIMES {
        let object = black_box(state.objects[place]);
        state.write(object, SECOND, Some(object));
    }
    state
}

fn epoch(mut state: State) -> State {
    state.mutator.epoch();
    state
}

#[library_benchmark]
#[bench::each(args = (), setup = empty)]
fn allocate(mut state: State) -> State {
    for _ in 0..TIMES {
        black_box(state.allocate());
    }
    state
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = young)]
fn write_young(state: State) -> State {
    write_each(state)
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = logged_list)]
fn write_logged(state: State) -> State {
    write_each(state)
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = mature_list)]
fn write_clean(state: State) -> State {
    write_each(state)
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = weak_references)]
#[bench::prompt(args = (Plan::Prompt, TIMES), setup = weak_references)]
fn weak_get(state: State) -> State {
    for &weak in &state.objects {
        // SAFETY: a weak reference of this thread's heap.
        black_box(unsafe { tally_weak_get(black_box(weak).address()) });
    }
    state
}

// Every object is asked for by its number, as an interned string is by its bytes.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = members)]
#[bench::prompt(args = (Plan::Prompt, TIMES), setup = members)]
#[bench::trace(args = (Plan::Trace, TIMES), setup = members)]
fn weak_set_find((state, set): (State, ObjectRef)) -> State {
    for number in 0..TIMES as u64 {
        let mut at = 0;
        loop {
            // SAFETY: a weak set of this thread's heap.
            let member = unsafe { tally_weak_set_probe(black_box(set).address(), number as u32, &mut at) };
            // SAFETY: [HEADER] a member.
            if unsafe { ObjectRef::from_address(member) }.slot(NUMBER).read() == number {
                black_box(member);
                break;
            }
        }
    }
    state
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, MANY), setup = numbered)]
#[bench::prompt(args = (Plan::Prompt, MANY), setup = numbered)]
#[bench::trace(args = (Plan::Trace, MANY), setup = numbered)]
fn weak_set_add((mut state, set): (State, ObjectRef)) -> State {
    for place in 0..MANY {
        let object = black_box(state.objects[place]);
        state.mutator.heap().weak_set_add(set, object).expect("there is no limit");
    }
    state
}

// Each object has itself as its value, so that no entry costs an allocation but its own.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = keys_of_a_map)]
#[bench::prompt(args = (Plan::Prompt, TIMES), setup = keys_of_a_map)]
#[bench::trace(args = (Plan::Trace, TIMES), setup = keys_of_a_map)]
fn weak_map_get((state, map): (State, ObjectRef)) -> State {
    get_all(state, map)
}

// The same where each key has an object of its own, which is weak.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, WeakMode::Values, TIMES), setup = entries_of_a_map)]
#[bench::prompt(args = (Plan::Prompt, WeakMode::Values, TIMES), setup = entries_of_a_map)]
#[bench::trace(args = (Plan::Trace, WeakMode::Values, TIMES), setup = entries_of_a_map)]
fn weak_map_get_values((state, map): (State, ObjectRef)) -> State {
    get_all(state, map)
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, WeakMode::Both, TIMES), setup = entries_of_a_map)]
#[bench::prompt(args = (Plan::Prompt, WeakMode::Both, TIMES), setup = entries_of_a_map)]
#[bench::trace(args = (Plan::Trace, WeakMode::Both, TIMES), setup = entries_of_a_map)]
fn weak_map_get_both((state, map): (State, ObjectRef)) -> State {
    get_all(state, map)
}

#[inline(always)]
fn get_all(state: State, map: ObjectRef) -> State {
    for place in 0..TIMES {
        let key = black_box(state.objects[place]);
        // SAFETY: a weak map of this thread's heap, and an object of it.
        black_box(unsafe { tally_weak_map_get(map.address(), key.address()) });
    }
    state
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, MANY), setup = beside_a_map)]
#[bench::prompt(args = (Plan::Prompt, MANY), setup = beside_a_map)]
#[bench::trace(args = (Plan::Trace, MANY), setup = beside_a_map)]
fn weak_map_set((mut state, map): (State, ObjectRef)) -> State {
    for place in 0..MANY {
        let object = black_box(state.objects[place]);
        state.mutator.weak_map_set(map, object, object).expect("there is no limit");
    }
    state
}

// The first entry is removed until there is none, as a queue of work is emptied.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = keys_of_a_map)]
fn weak_map_take((mut state, map): (State, ObjectRef)) -> State {
    while let Some((_, key, _)) = state.mutator.weak_map_next(map, 0) {
        state.mutator.weak_map_remove(map, black_box(key));
    }
    state
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = members)]
fn weak_set_take((mut state, set): (State, ObjectRef)) -> State {
    while let Some((_, member)) = state.mutator.heap().weak_set_next(set, 0) {
        state.mutator.heap().weak_set_remove(set, black_box(member));
    }
    state
}

// The same with values of their own, which are weak, under keys that are counted, and with both weak.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, WeakMode::Values, MANY), setup = beside_a_map_of)]
#[bench::prompt(args = (Plan::Prompt, WeakMode::Values, MANY), setup = beside_a_map_of)]
#[bench::trace(args = (Plan::Trace, WeakMode::Values, MANY), setup = beside_a_map_of)]
fn weak_map_set_values((state, map): (State, ObjectRef)) -> State {
    set_next(state, map)
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, WeakMode::Both, MANY), setup = beside_a_map_of)]
#[bench::prompt(args = (Plan::Prompt, WeakMode::Both, MANY), setup = beside_a_map_of)]
#[bench::trace(args = (Plan::Trace, WeakMode::Both, MANY), setup = beside_a_map_of)]
fn weak_map_set_both((state, map): (State, ObjectRef)) -> State {
    set_next(state, map)
}

/// Each object of the first half is a key, and one of the second half its value.
fn set_next(mut state: State, map: ObjectRef) -> State {
    for place in 0..MANY {
        let [key, value] = [place, MANY + place].map(|place| black_box(state.objects[place]));
        state.mutator.weak_map_set(map, key, value).expect("there is no limit");
    }
    state
}

// An array grows from nothing to a thousand elements and more: by the runtime, and as a program does it by itself.
#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, MANY), setup = growing)]
#[bench::prompt(args = (Plan::Prompt, MANY), setup = growing)]
#[bench::trace(args = (Plan::Trace, MANY), setup = growing)]
fn grow_by_resize((mut state, owner): (State, ObjectRef)) -> State {
    append_all(&mut state, owner, |mutator, length| {
        mutator.heap().resize(owner, owner.slot(0), length).expect("there is no limit");
    });
    state
}

#[library_benchmark]
#[bench::deferred(args = (Plan::Deferred, MANY), setup = growing)]
#[bench::prompt(args = (Plan::Prompt, MANY), setup = growing)]
#[bench::trace(args = (Plan::Trace, MANY), setup = growing)]
fn grow_by_copy((mut state, owner): (State, ObjectRef)) -> State {
    append_all(&mut state, owner, |mutator, length| {
        // SAFETY: [HEADER] the owner's array.
        let old = unsafe { ObjectRef::from_address(owner.slot(0).read()) };
        let new = mutator.allocate_array(array_type(), length).expect("there is no limit");
        // SAFETY: words of the two arrays.
        unsafe { mutator.copy_refs(new, new.slot(8), old.address() + 8, length / 2) };
        mutator.write(owner, owner.slot(0), new.address());
    });
    state
}

fn append_all(state: &mut State, owner: ObjectRef, mut grow: impl FnMut(&mut Mutator, u64)) {
    let mut length = 1;
    for place in 0..MANY {
        if place as u64 == length {
            length *= 2;
            grow(&mut state.mutator, length);
        }
        // SAFETY: [HEADER] the owner's array.
        let array = unsafe { ObjectRef::from_address(owner.slot(0).read()) };
        state.mutator.write(array, array.slot(8 + place as u64 * 8), state.objects[place].address());
    }
    state.mutator.poll();
    state.mutator.epoch();
}

/// The hash of a number for the table that weak sets are compared with.
fn hash_of(object: &ObjectRef) -> u64 {
    object.slot(NUMBER).read().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn table_of(count: usize) -> (State, HashTable<ObjectRef>) {
    let (state, _) = numbered(Plan::Deferred, count);
    let mut table = HashTable::new();
    for &object in &state.objects {
        table.insert_unique(hash_of(&object), object, hash_of);
    }
    (state, table)
}

// For comparison: a table that keeps nothing weakly.
#[library_benchmark]
#[bench::each(args = (TIMES), setup = table_of)]
fn hashbrown_find((state, table): (State, HashTable<ObjectRef>)) -> State {
    for number in 0..TIMES as u64 {
        let hash = black_box(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        black_box(black_box(&table).find(hash, |object| object.slot(NUMBER).read() == number));
    }
    state
}

/// The same by a call, as a program in another language makes it.
#[inline(never)]
extern "C" fn find_called(table: &HashTable<ObjectRef>, number: u64) -> Option<ObjectRef> {
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    table.find(hash, |object| object.slot(NUMBER).read() == number).copied()
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = table_of)]
fn hashbrown_find_called((state, table): (State, HashTable<ObjectRef>)) -> State {
    for number in 0..TIMES as u64 {
        black_box(find_called(black_box(&table), black_box(number)));
    }
    state
}

#[library_benchmark]
#[bench::each(args = (Plan::Deferred, MANY), setup = numbered)]
fn hashbrown_add((state, _): (State, ObjectRef)) -> State {
    let mut table = HashTable::new();
    for place in 0..MANY {
        let object = black_box(state.objects[place]);
        table.insert_unique(hash_of(&object), object, hash_of);
    }
    black_box(&table);
    std::mem::forget(table);
    state
}

// Prompt handles are counted at safepoints.
#[library_benchmark]
#[bench::each(args = (TIMES), setup = attached)]
fn scoped_handle(state: State) -> State {
    // SAFETY: as `tally.h` says.
    let scope = unsafe { tally_handles_open() };
    for place in 0..TIMES {
        // SAFETY: as `tally.h` says.
        black_box(unsafe { tally_handle_new(black_box(state.objects[place].address())) });
    }
    // SAFETY: as `tally.h` says.
    unsafe { tally_handles_close(scope) };
    state
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = mature_list)]
fn flip(mut state: State) -> State {
    for _ in 0..100 {
        state.mutator.epoch();
    }
    state
}

#[library_benchmark]
#[bench::each(args = (100 * MANY), setup = young)]
fn died_young(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (TIMES), setup = mature_roots)]
fn root(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (MANY), setup = young_list)]
fn survivor(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (MANY), setup = logged_list)]
fn log_entry(state: State) -> State {
    epoch(state)
}

// The epoch after a flip releases the roots of that flip.
#[library_benchmark]
#[bench::each(args = (MANY), setup = dropped_list)]
fn freed(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (100, 8), setup = dropped_rings)]
fn trial(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (100, 8), setup = chorded_rings)]
fn trial_edge(state: State) -> State {
    epoch(state)
}

#[library_benchmark]
#[bench::each(args = (MANY), setup = mature_list)]
fn marked(mut state: State) -> State {
    state.mutator.collect();
    state
}

// What a value of a table costs in a mark, by how it tells what it is.
#[library_benchmark]
#[bench::plain(args = (Elements::Plain, MANY), setup = held_by_elements)]
#[bench::pairs(args = (Elements::Pairs, MANY), setup = held_by_elements)]
#[bench::traced(args = (Elements::Traced, MANY), setup = held_by_elements)]
fn marked_element(mut state: State) -> State {
    state.mutator.collect();
    state
}

library_benchmark_group!(name = runtime; benchmarks = allocate, write_young, write_logged, write_clean, weak_get,
    grow_by_resize, grow_by_copy, weak_set_find, weak_set_add, weak_set_take, weak_map_get,
    weak_map_get_values, weak_map_get_both, weak_map_set,
    weak_map_set_values, weak_map_set_both, weak_map_take, hashbrown_find,
    hashbrown_find_called, hashbrown_add, scoped_handle,
    flip, died_young, root, survivor, log_entry, freed, trial, trial_edge, marked, marked_element);

fn config() -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::with_args(["--cache-sim=no"]));
    config
}

main!(config = config(); library_benchmark_groups = runtime);
