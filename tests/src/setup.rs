//! The setups of the heap that programs are run in, and `check`, which runs one program in all of them.
//!
//! All but `default` and `prompt-pause-goal` count work in units instead of looking at the clock, so that a program
//! runs the same way each time. The setups differ in all properties that may not change a program's result: the size
//! of the slices, whether the passes are sliced at all, whether candidates are tried, the frequency of flips, whether
//! a block is logged as a whole early, whether allocation sites are recorded, whether the heap is nearly full, zeal, and the plan: both plans run the same
//! programs.

use tally_heap::heap::{HeapOptions, MARK_NS_PER_UNIT, Traces};
use tally_heap::plan::Plan;

use crate::failure_report::report;
use crate::journal::JournalEntry;
use crate::op::{Op, parse_program};
use crate::origin::Origin;
use crate::replay::{self, Failure, Summary};
use crate::shrink::shrink;
use crate::strategies::{Taste, nth_program, nth_program_of};
use crate::tally_heap::TallyHeap;
use tally_kit::seed;

/// A way to set up a heap.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name in reports and in the soak command.
    pub name: &'static str,
    /// The options.
    pub options: HeapOptions,
}

impl Setup {
    /// The setup of that name.
    ///
    /// # Errors
    /// That there is none.
    pub fn named(name: &str) -> Result<Setup, String> {
        setups().into_iter().find(|setup| setup.name == name).ok_or_else(|| format!("no setup is called `{name}`"))
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

/// All setups, zeal last of each plan: it is by far the slowest.
pub fn setups() -> Vec<Setup> {
    let small = |units| HeapOptions {
        epoch_bytes: 16 << 10,
        log_entries: 200,
        slice_units: Some(units),
        ..HeapOptions::default()
    };
    let prompt = || HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() };
    // Until a mark has so many units.
    let marking = |units| HeapOptions { epoch_bytes: 4 << 10, mark_ns: units * MARK_NS_PER_UNIT, ..small(100) };
    let tracing =
        |collections, units| HeapOptions { epoch_bytes: 4 << 10, traces: Traces::ByTurns(collections), ..small(units) };
    let trace = || HeapOptions { plan: Plan::Trace, ..HeapOptions::default() };
    let sliced_trace =
        |units| HeapOptions { epoch_bytes: 4 << 10, pause_goal_ns: Some(1), slice_units: Some(units), ..trace() };
    let setup = |name, options| Setup { name, options };
    vec![
        setup("default", HeapOptions::default()),
        setup("sliced", small(300)),
        setup("tiny-slices", small(5)),
        setup("stop-the-world", HeapOptions { stop_the_world: true, ..small(300) }),
        setup("without-trials", HeapOptions { trials: false, ..small(100) }),
        setup("eager-marks", HeapOptions { eager_marks: true, ..small(60) }),
        setup(
            "marks-without-trials",
            HeapOptions { eager_marks: true, trials: false, alloc_sites: Some(0), ..small(25) },
        ),
        setup("whole-blocks-logged", HeapOptions { block_log_after: 1, alloc_sites: Some(200), ..small(100) }),
        setup(
            "marks-and-whole-blocks-logged",
            HeapOptions { eager_marks: true, trials: false, block_log_after: 1, ..small(40) },
        ),
        setup("short-lists", HeapOptions { eager_marks: true, list_entries_max: Some(3), ..small(80) }),
        setup("small-heap", HeapOptions { heap_limit: Some(2 << 20), eager_marks: true, ..small(200) }),
        setup("zeal", HeapOptions { zeal: true, ..small(1000) }),
        setup("marking", HeapOptions { epoch_bytes: 16 << 10, ..marking(1 << 30) }),
        setup("marking-or-counting", HeapOptions { eager_marks: true, alloc_sites: Some(200), ..marking(400) }),
        setup("marking-a-little", marking(60)),
        setup("marking-short-lists", HeapOptions { list_entries_max: Some(3), ..marking(300) }),
        setup("marking-small-heap", HeapOptions { heap_limit: Some(2 << 20), ..marking(300) }),
        setup("tracing", tracing(2, 7)),
        setup("tracing-by-turns", HeapOptions { eager_marks: true, alloc_sites: Some(200), ..tracing(1, 40) }),
        setup("tracing-and-marking", HeapOptions { mark_ns: 200 * MARK_NS_PER_UNIT, ..tracing(2, 100) }),
        setup("tracing-short-lists", HeapOptions { list_entries_max: Some(3), ..tracing(3, 60) }),
        setup(
            "tracing-at-every-turn",
            HeapOptions { mark_ns: 100 * MARK_NS_PER_UNIT, list_entries_max: Some(2), ..tracing(1, 500) },
        ),
        setup("tracing-small-heap", HeapOptions { heap_limit: Some(2 << 20), ..tracing(2, 300) }),
        setup("prompt", prompt()),
        setup("prompt-without-trials", HeapOptions { trials: false, ..prompt() }),
        setup("prompt-marks", HeapOptions { eager_marks: true, alloc_sites: Some(0), ..prompt() }),
        setup("prompt-marks-without-trials", HeapOptions { eager_marks: true, trials: false, ..prompt() }),
        setup(
            "prompt-marks-sliced",
            HeapOptions { eager_marks: true, pause_goal_ns: Some(1), slice_units: Some(40), ..prompt() },
        ),
        setup(
            "prompt-slices",
            HeapOptions { pause_goal_ns: Some(1), slice_units: Some(7), alloc_sites: Some(200), ..prompt() },
        ),
        setup("prompt-pause-goal", HeapOptions { pause_goal_ns: Some(20_000), slice_ns: 10_000, ..prompt() }),
        setup("prompt-small-heap", HeapOptions { heap_limit: Some(2 << 20), ..prompt() }),
        setup("prompt-zeal", HeapOptions { zeal: true, ..prompt() }),
        setup("trace", trace()),
        setup("trace-often", HeapOptions { epoch_bytes: 16 << 10, alloc_sites: Some(0), ..trace() }),
        setup("trace-short-lists", HeapOptions { epoch_bytes: 16 << 10, list_entries_max: Some(3), ..trace() }),
        setup("trace-small-heap", HeapOptions { heap_limit: Some(2 << 20), ..trace() }),
        setup("trace-slices", HeapOptions { alloc_sites: Some(200), ..sliced_trace(7) }),
        setup(
            "trace-slices-small-heap",
            HeapOptions { heap_limit: Some(2 << 20), list_entries_max: Some(30), ..sliced_trace(100) },
        ),
        setup("trace-zeal", HeapOptions { zeal: true, ..trace() }),
        setup("trace-slices-zeal", HeapOptions { zeal: true, ..sliced_trace(30) }),
    ]
}

/// The default heap of each plan.
pub fn both_plans() -> [HeapOptions; 2] {
    [Plan::Deferred, Plan::Prompt].map(|plan| HeapOptions { plan, ..HeapOptions::default() })
}

/// Under zeal every allocation is an epoch and a recount: programs with more of them are not run there.
const ZEAL_ALLOCATIONS_MAX: u64 = 400;

/// Runs the program in every setup.
///
/// # Panics
/// With a report when a heap and the model disagree, or when the program cannot be read.
pub fn check(program: &str) {
    let ops = parse_program(program).unwrap_or_else(|error| panic!("{error}"));
    let allocations: u64 = ops.iter().map(|op| op.allocations()).sum();
    for setup in setups() {
        if !setup.options.zeal || allocations <= ZEAL_ALLOCATIONS_MAX {
            check_in(&setup, &ops);
        }
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
                let origin = Origin { setup: setup.name.to_owned(), seed, number, longest: ops_max };
                panic!("{}", report(setup, Some(&origin), &ops, &failure));
            }
        }
    }
    total
}

/// Programs of one taste; a failure is not shrunk.
fn check_taste(setup: &Setup, taste: Taste, seed: u64, count: u64, ops_max: usize) -> Summary {
    let programs = (0..count).map(|number| nth_program_of(taste, seed, number, ops_max));
    programs.fold(Summary::default(), |total, ops| total.plus(check_in(setup, &ops)))
}

/// Runs a few programs of one taste, of the run's seed, in every setup: fewer and shorter ones under zeal.
///
/// # Panics
/// With a report when a heap and the model disagree.
pub fn check_taste_in_every_setup(taste: Taste) -> Summary {
    let seed = seed::of_the_run(1);
    setups().into_iter().fold(Summary::default(), |total, setup| {
        let (programs, longest) = if setup.options.zeal { (2, 40) } else { (3, 400) };
        total.plus(check_taste(&setup, taste, seed, programs, longest))
    })
}

/// Runs the program in one setup; panics with a report.
pub fn check_in(setup: &Setup, ops: &[Op]) -> Summary {
    match setup.run(ops) {
        Ok(summary) => summary,
        Err(failure) => panic!("{}", report(setup, None, ops, &failure)),
    }
}
