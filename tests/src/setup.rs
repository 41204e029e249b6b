//! The setups of the heap that programs are run in, and `check`, which runs one program in all of them.
//!
//! The setups differ in everything that may not change what a program sees: how small the slices are, whether the passes
//! are sliced at all, whether candidates are tried, how often the heap flips by itself, whether a block is logged as a
//! whole early, whether the heap is nearly full, and zeal.

use rc_runtime::heap::HeapOptions;

use crate::failure_report::report;
use crate::journal::JournalEntry;
use crate::op::{Op, parse_program};
use crate::replay::{self, Failure, Summary};
use crate::shrink::shrink;
use crate::strategies::nth_program;
use crate::tally_heap::TallyHeap;

/// A way to set up a heap.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What reports and the soak command call it.
    pub name: &'static str,
    /// The options.
    pub options: HeapOptions,
}

impl Setup {
    /// The setup of that name.
    pub fn named(name: &str) -> Option<Setup> {
        setups().into_iter().find(|setup| setup.name == name)
    }

    /// Runs a program in a fresh heap, noted in the journal meanwhile. A panic of the runtime is a failure too.
    pub fn run(&self, ops: &[Op]) -> Result<Summary, Failure> {
        let _entry = JournalEntry::new(self.name, ops);
        let run = std::panic::catch_unwind(|| {
            let mut heap = TallyHeap::new(self.options.clone());
            replay::run(&mut heap, self.options.heap_limit, ops)
        });
        run.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)");
            Err(Failure { op_index: None, what: format!("the runtime panicked: {text}") })
        })
    }
}

/// All setups, zeal last: it is by far the slowest.
pub fn setups() -> Vec<Setup> {
    let small = || HeapOptions { epoch_bytes: 16 << 10, log_entries: 200, ..HeapOptions::default() };
    vec![
        Setup { name: "default", options: HeapOptions::default() },
        Setup { name: "sliced", options: HeapOptions { slice_ns: 1, ..small() } },
        Setup { name: "stop-the-world", options: HeapOptions { stop_the_world: true, ..small() } },
        Setup { name: "without-trials", options: HeapOptions { trials: false, slice_ns: 1, ..small() } },
        Setup { name: "whole-blocks-logged", options: HeapOptions { block_log_after: 1, slice_ns: 1, ..small() } },
        Setup { name: "small-heap", options: HeapOptions { heap_limit: Some(2 << 20), ..small() } },
        Setup { name: "zeal", options: HeapOptions { zeal: true, ..small() } },
    ]
}

/// Runs the program in every setup.
///
/// # Panics
/// With a report when a heap and the model disagree, or when the program cannot be read.
pub fn check(program: &str) {
    let ops = parse_program(program).unwrap_or_else(|error| panic!("{error}"));
    for setup in setups() {
        check_in(&setup, &ops);
    }
}

/// Runs `count` programs of the seed, each of at most `ops_max` ops, in one setup.
///
/// # Panics
/// With a report of the shrunk program when a heap and the model disagree.
pub fn check_series(setup: &Setup, seed: u64, count: u64, ops_max: usize) -> Summary {
    let mut total = Summary::default();
    for number in 0..count {
        let ops = nth_program(seed, number, ops_max);
        match setup.run(&ops) {
            Ok(summary) => total = total.plus(summary),
            Err(_) => {
                let ops = shrink(&ops, |ops| setup.run(ops).is_err());
                let failure = setup.run(&ops).expect_err("the shrunk program fails too");
                panic!("{}", report(setup, Some(seed), &ops, &failure));
            }
        }
    }
    total
}

/// Runs the program in one setup; panics with a report.
pub fn check_in(setup: &Setup, ops: &[Op]) -> Summary {
    match setup.run(ops) {
        Ok(summary) => summary,
        Err(failure) => panic!("{}", report(setup, None, ops, &failure)),
    }
}
