//! Options that several subcommands share: how to compile, and how to run.
//!
//! The runtime's own parser reads sizes and times, so that `--heap-limit 64MiB` and `TALLY_HEAP_LIMIT=64MiB` mean the
//! same and a wrong value gets the same message.

use clap::Args;
use tally_compiled::program::options::{
    Logged, OptionError, RunOptions, StatsTarget, parse_alloc_sites, parse_allocation, parse_log, parse_size,
    parse_stats, parse_time,
};

use super::sources::Sources;
use crate::emit::level::Level;
use crate::emit::object_file::MapFormat;
use crate::emit::target::Target;
use crate::lower::{Patterns, Plan, Roots, STRATEGY};
use crate::pipeline::option_text::gc_name;
use crate::pipeline::{CompileOptions, Destination};

/// How files are understood, and strategies of other names.
#[derive(Args, Debug)]
pub(super) struct GcNames {
    #[command(flatten)]
    pub(super) sources: Sources,
    /// Treat functions with gc NAME as those of PLAN: refcount, refcount-prompt or trace (existing IR: --gc-name jblab-gc=refcount)
    #[arg(long = "gc-name", value_name = "NAME=PLAN", value_parser = gc_name)]
    names: Vec<(String, Plan)>,
    /// The plan of functions with gc "refcount" and of C files: refcount (objects die at the next epoch), refcount-prompt
    /// (objects die when their last reference goes) or trace (nothing is counted, objects die at the next collection)
    #[arg(long, value_name = "PLAN")]
    plan: Option<Plan>,
    /// Which references get roots beside those that the program writes: typed (those of type ptr addrspace(1)) or auto (every
    /// pointer of every function; what lies outside the heap is ignored)
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Roots::Typed)]
    roots: Roots,
    /// The machine that code is for: x86_64-, aarch64- or riscv64gc-unknown-linux-gnu; the host by default
    #[arg(long, value_name = "TRIPLE")]
    target: Option<Target>,
}

/// How code is made.
#[derive(Args, Debug)]
pub(super) struct Compiling {
    /// How much to optimise
    #[arg(short = 'O', long = "opt", value_name = "LEVEL", value_enum, default_value_t = Level::O2)]
    level: Level,
    #[command(flatten)]
    pub(super) gc_names: GcNames,
    /// Which counts the prompt plan saves: all, none, or of moves, lazy-roots, quiet-calls, leaf-calls, inlined-leaves, advances, held-parameters, last-use,
    /// owned-results, postponed (all above --opt 0, none there)
    #[arg(long, value_name = "SAVINGS")]
    save_counts: Option<Patterns>,
    #[command(flatten)]
    stack_objects: StackObjects,
    /// The format of the stack maps: compact (Tally's own) or llvm (its section, for tools that read it)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    stack_maps: MapFormat,
    /// Keep the names of fields, the lines of roots and the places of calls, for TALLY_WHY and TALLY_ALLOC_SITES; a module that asks why
    /// objects are alive, or where they were allocated, keeps its own
    #[arg(long = "names")]
    keep_names: bool,
    /// Do not look for forgotten roots; otherwise a line names each file of which `tally verify` would warn
    #[arg(long)]
    no_warnings: bool,
}

/// Where objects are that cannot escape.
#[derive(Args, Debug)]
pub(super) struct StackObjects {
    /// Whether small objects that cannot escape are put on the stack, from --opt 2 on (--zeal never does)
    #[arg(
        long, value_name = "on|off", value_enum, num_args = 0..=1, require_equals = true, default_value = "on",
        default_missing_value = "on", hide_possible_values = true
    )]
    stack_objects: Switch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

impl StackObjects {
    pub(super) fn are_on(&self) -> bool {
        self.stack_objects == Switch::On
    }
}

/// How the heap behaves.
#[derive(Args, Debug)]
pub(super) struct Running {
    /// Report statistics at exit: a table on standard error, or JSON in FILE, whose name has a `/` or a `.` in it
    #[arg(
        long, value_name = "FILE.json", num_args = 0..=1, require_equals = true, default_missing_value = "-",
        value_parser = stats
    )]
    stats: Option<Stats>,
    /// Stop with exit status 4 when the heap would grow beyond SIZE (64MiB, 2GiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    heap_limit: Option<u64>,
    /// Start an epoch after SIZE bytes of allocation (512KiB, 8MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    epoch_bytes: Option<u64>,
    /// Aim at stops no longer than TIME (500us, 2ms)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pause_goal: Option<u64>,
    /// Collect fully at exit, list the objects that are left by type, and exit with status 3 if there are any
    #[arg(long)]
    leak_check: bool,
    /// Say WHAT in lines on standard error: collections, each with its time, stops, bytes and objects; cycles, at exit, by the fields
    /// that closed them; or both with a comma
    #[arg(long, value_name = "WHAT", value_parser = parse_log)]
    log: Option<Logged>,
    /// Say at exit why objects of TYPE are alive, which is the name of a type
    #[arg(long, value_name = "TYPE")]
    why: Option<String>,
    /// Record where objects are allocated, of one for BYTES on average (128KiB), or of all: for --leak-check, --stats, --why and --zeal
    #[arg(
        long, value_name = "BYTES|all", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = sites
    )]
    alloc_sites: Option<Sites>,
    /// Make the N-th allocation fail, as if the heap were full
    #[arg(long, value_name = "N", value_parser = parse_allocation)]
    fail_allocation: Option<u64>,
}

impl GcNames {
    /// For subcommands that make no code.
    pub(super) fn compile_options(&self) -> CompileOptions {
        CompileOptions {
            target: self.target(),
            reading: self.sources.reading(),
            gc_names: self.plans(),
            roots: self.roots,
            ..CompileOptions::default()
        }
    }

    /// The machine that code is for.
    pub(super) fn target(&self) -> Target {
        self.target.unwrap_or_default()
    }

    fn plans(&self) -> Vec<(String, Plan)> {
        let of_refcount = self.plan.map(|plan| (STRATEGY.to_owned(), plan));
        of_refcount.into_iter().chain(self.names.iter().cloned()).collect()
    }
}

impl Compiling {
    /// The machine that code is for.
    pub(super) fn target(&self) -> Target {
        self.gc_names.target()
    }

    /// Options for compiling to `destination`.
    pub(super) fn compile_options(&self, zeal: bool, destination: Destination) -> CompileOptions {
        let (warns, names) = (!self.no_warnings, self.keep_names);
        let patterns = self.save_counts;
        let (level, stack_objects) = (self.level, self.stack_objects.are_on());
        CompileOptions {
            level,
            zeal,
            names,
            warns,
            patterns,
            stack_objects,
            maps: self.stack_maps,
            destination,
            ..self.gc_names.compile_options()
        }
    }
}

impl Running {
    /// The options of the environment, overridden by those of the command line.
    pub(super) fn run_options(&self, zeal: bool) -> Result<RunOptions, OptionError> {
        Ok(self.over(RunOptions::from_env()?, zeal))
    }

    fn over(&self, base: RunOptions, zeal: bool) -> RunOptions {
        RunOptions {
            heap_limit: self.heap_limit.or(base.heap_limit),
            epoch_bytes: self.epoch_bytes.or(base.epoch_bytes),
            pause_goal_ns: self.pause_goal.or(base.pause_goal_ns),
            stats: self.stats.as_ref().map_or(base.stats, |stats| stats.0.clone()),
            zeal: zeal || base.zeal,
            leak_check: self.leak_check || base.leak_check,
            log_collections: self.log.map_or(base.log_collections, |log| log.collections),
            log_cycles: self.log.map_or(base.log_cycles, |log| log.cycles),
            why: self.why.clone().or(base.why),
            alloc_sites: self.alloc_sites.map_or(base.alloc_sites, |sites| sites.0),
            fail_allocation: self.fail_allocation.or(base.fail_allocation),
            slice_units: base.slice_units,
            tracing: base.tracing,
        }
    }
}

/// The value of `--stats`.
#[derive(Clone, Debug)]
struct Stats(Option<StatsTarget>);

fn stats(text: &str) -> Result<Stats, OptionError> {
    parse_stats(text).map(Stats)
}

/// The value of `--alloc-sites`.
#[derive(Clone, Copy, Debug)]
struct Sites(Option<u64>);

fn sites(text: &str) -> Result<Sites, OptionError> {
    parse_alloc_sites(text).map(Sites)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let running = Running {
            stats: Some(Stats(Some(StatsTarget::Stderr))),
            heap_limit: None,
            epoch_bytes: Some(4096),
            pause_goal: None,
            leak_check: false,
            log: Some(Logged { collections: true, cycles: false }),
            why: Some("Node".to_owned()),
            alloc_sites: Some(Sites(None)),
            fail_allocation: Some(7),
        };
        let environment = RunOptions {
            heap_limit: Some(1),
            epoch_bytes: Some(2),
            leak_check: true,
            alloc_sites: Some(0),
            ..RunOptions::default()
        };
        let expected = RunOptions {
            heap_limit: Some(1),
            epoch_bytes: Some(4096),
            stats: Some(StatsTarget::Stderr),
            leak_check: true,
            log_collections: true,
            why: Some("Node".to_owned()),
            fail_allocation: Some(7),
            ..RunOptions::default()
        };
        assert_eq!(running.over(environment, false), expected);
    }
}
