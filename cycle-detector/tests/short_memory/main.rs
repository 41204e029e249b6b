//! The allocator has no memory while garbage is collected, at any point of it, under both plans: nothing is lost,
//! nothing is corrupted, the program goes on, and with memory everything that is garbage goes. `[MEMORY]` A room of its
//! own, because it has an allocator of its own.

mod allocator;
mod no_memory;
mod program;

use allocator::{Refuse, refusing};
use program::{Program, options};
use tally_heap::HeapOptions;
use tally_heap::plan::Plan;

/// A program of `nodes` nodes for each kind of garbage, while requests are refused; how many there were.
fn run(options: HeapOptions, nodes: u64, refuse: Refuse) -> u64 {
    let what = format!("{:?}, {refuse:?}, {nodes} nodes", options.plan);
    let mut program = Program::new(options, nodes);
    let requests = refusing(refuse, || program.drop_and_go_on());
    program.check(&what);
    requests
}

/// The ways in which garbage is found: by itself, in steps of few units with a mark always on its way, and in slices
/// with a pause goal.
fn ways(plan: Plan) -> [HeapOptions; 4] {
    let default = options(plan);
    [
        default.clone(),
        HeapOptions { trials: false, ..default.clone() },
        HeapOptions { eager_marks: true, slice_units: Some(300), ..default.clone() },
        HeapOptions { eager_marks: true, pause_goal_ns: Some(1_000_000), slice_units: Some(1000), ..default },
    ]
}

/// scenario 122: at each at once.
#[test]
fn without_any_memory_all_garbage_goes() {
    for plan in Plan::ALL {
        for (options, nodes) in ways(plan).into_iter().zip([100_000, 20_000, 20_000, 20_000]) {
            run(options, nodes, Refuse::From(0));
        }
    }
}

/// scenario 122: in turn, alone and with all that follow.
#[test]
fn a_refusal_at_any_request_loses_nothing() {
    for plan in Plan::ALL {
        for options in ways(plan) {
            let requests = run(options.clone(), 200, Refuse::Nothing);
            // Marks in slices ask for the same things again and again.
            for number in (0..requests).filter(|number| *number < 100 || number % 97 == 0) {
                run(options.clone(), 200, Refuse::From(number));
                run(options.clone(), 200, Refuse::One(number));
            }
        }
    }
}

#[test]
fn with_memory_for_short_lists_only_all_garbage_goes() {
    for plan in Plan::ALL {
        for options in ways(plan) {
            for most in [256, 4096, 32 << 10] {
                run(options.clone(), 10_000, Refuse::Above(most));
            }
        }
    }
}
