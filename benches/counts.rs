//! Instructions, counted by callgrind and held: `cargo xtask bench counts`.
//!
//! Two groups. The *fast paths* are what a program does all the time, a thousand times over through
//! [`Mutator`](cycle_detector::Mutator), the Rust twin of the inline code (`compiled.rs` counts that code itself, under both
//! plans). The *epochs* are one whole epoch each, by what there is
//! to do: an epoch pays per survivor, not per object allocated; it pays nothing for what lives and was not written;
//! a dropped ring costs a trial of its own size. Each limit stands a little above what was counted when it was set, so
//! a change that makes a path longer fails here. If it must be longer, raise the limit in the same commit and say why.

#![allow(missing_docs, reason = "the macros of iai-callgrind make public items and document none")]

use iai_callgrind::{Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use rc_runtime::abi::tally_weak_get;
use rc_runtime::host_abi::{tally_handle_new, tally_handles_close, tally_handles_open};
use rc_runtime::plan::Plan;
use std::hint::black_box;
use tally_benches::{
    SECOND, State, attached, dropped_rings, empty, logged_list, mature_list, weak_references, young, young_list,
};

const TIMES: usize = 1000;

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, instructions)]));
    config
}

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

// A bump, a header, and nulls; now and then the next block.
#[library_benchmark(config = at_most(68_000))]
#[bench::thousand(args = (), setup = empty)]
fn allocate(mut state: State) -> State {
    for _ in 0..TIMES {
        black_box(state.allocate());
    }
    state
}

// The bit is clear because the object is young.
#[library_benchmark(config = at_most(27_500))]
#[bench::thousand(args = (TIMES), setup = young)]
fn write_young(state: State) -> State {
    write_each(state)
}

// The bit is clear because the object was logged before.
#[library_benchmark(config = at_most(27_500))]
#[bench::thousand(args = (TIMES), setup = logged_list)]
fn write_logged(state: State) -> State {
    write_each(state)
}

// The slow path: each write is the object's first in the epoch.
#[library_benchmark(config = at_most(249_000))]
#[bench::thousand(args = (TIMES), setup = mature_list)]
fn write_clean(state: State) -> State {
    write_each(state)
}

// 20 instructions each, and the loop around them.
#[library_benchmark(config = at_most(29_000))]
#[bench::deferred(args = (Plan::Deferred, TIMES), setup = weak_references)]
#[bench::prompt(args = (Plan::Prompt, TIMES), setup = weak_references)]
fn weak_get(state: State) -> State {
    for &weak in &state.objects {
        // SAFETY: a weak reference of this thread's heap.
        black_box(unsafe { tally_weak_get(black_box(weak).address()) });
    }
    state
}

// Nine instructions for each, under either plan; the rest is the loop. Prompt handles are counted at safepoints.
#[library_benchmark(config = at_most(28_500))]
#[bench::thousand(args = (TIMES), setup = attached)]
fn scoped_handle(state: State) -> State {
    let scope = tally_handles_open();
    for place in 0..TIMES {
        black_box(tally_handle_new(black_box(state.objects[place].address())));
    }
    tally_handles_close(scope);
    state
}

library_benchmark_group!(name = fast_paths; benchmarks = allocate, write_young, write_logged, write_clean, weak_get, scoped_handle);

// A thousand objects allocated, none reachable.
#[library_benchmark(config = at_most(5_400))]
#[bench::thousand(args = (TIMES), setup = young)]
fn all_died_young(state: State) -> State {
    epoch(state)
}

// A thousand objects allocated, all reachable: promotion and a count for each.
#[library_benchmark(config = at_most(119_500))]
#[bench::thousand(args = (TIMES), setup = young_list)]
fn all_survived(state: State) -> State {
    epoch(state)
}

// A thousand mature objects, none written.
#[library_benchmark(config = at_most(3_700))]
#[bench::thousand(args = (TIMES), setup = mature_list)]
fn nothing_happened(state: State) -> State {
    epoch(state)
}

// Ten dead rings of eight: ten candidates, ten trials.
#[library_benchmark(config = at_most(29_500))]
#[bench::ten(args = (10, 8), setup = dropped_rings)]
fn rings_died(state: State) -> State {
    epoch(state)
}

library_benchmark_group!(name = epochs; benchmarks = all_died_young, all_survived, nothing_happened, rings_died);

main!(library_benchmark_groups = fast_paths, epochs);
