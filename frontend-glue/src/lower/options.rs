//! The options and the report of a lowering.

use super::count::{Damage, Patterns, Remark};
use super::named_root::NamedRoot;
use super::runtime::ContextAccess;
use crate::lower::mitigation::Mitigation;
use tally_heap::plan::Plan;

/// Which references get roots beside those that the module writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
#[non_exhaustive]
pub enum Roots {
    /// Pointers of address space 1.
    #[default]
    Typed,
    /// Every pointer that does not lead to a variable.
    Auto,
}

/// The options of a lowering.
#[derive(Debug, Clone)]
pub struct LowerOptions {
    /// The way in which code finds the context.
    pub context: ContextAccess,
    /// Stop and check everywhere.
    pub zeal: bool,
    /// Keep the names of fields and the lines of roots, for reports.
    pub names: bool,
    /// Keep the places of calls, for reports. A module with names has them, too.
    pub call_sites: bool,
    /// Other strategy names, and their plans.
    pub gc_names: Vec<(String, Plan)>,
    /// The references that get roots beside those that the module writes.
    pub roots: Roots,
    /// Whether to name a root only where it matters; if not, every root is named at every call.
    pub root_liveness: bool,
    /// Turn tail recursion into loops first, which bundles would prevent.
    pub eliminate_tail_calls: bool,
    /// The counts that the prompt plan saves.
    pub patterns: Patterns,
    /// Whether objects that cannot escape are put on the stack. Zeal never does.
    pub stack_objects: bool,
    /// Whether a module that LLVM compiles, by a strategy of its own, runs on the trace plan. One with statepoints does
    /// if it makes objects of Tally's heap.
    pub traces_llvms: bool,
    /// The module's name in records and messages.
    pub module_name: String,
    /// What tells the module from all others that it may meet: the ids of its roots are made of it. `None`: its name.
    pub identity: Option<String>,
    /// For tests: the mitigation to leave out, so that its hazard shows.
    pub without: Option<Mitigation>,
    /// For tests: an operation of the prompt plan to leave out, or to do twice.
    pub damage: Option<Damage>,
    /// For tests: the prompt plan's operations stay as they are placed, and nothing else is done.
    pub stop_at_counts: bool,
}

impl Default for LowerOptions {
    fn default() -> LowerOptions {
        LowerOptions {
            context: ContextAccess::Symbol,
            zeal: false,
            names: false,
            call_sites: false,
            gc_names: Vec::new(),
            roots: Roots::default(),
            root_liveness: true,
            eliminate_tail_calls: false,
            patterns: Patterns::ALL,
            stack_objects: false,
            traces_llvms: false,
            module_name: String::new(),
            identity: None,
            without: None,
            damage: None,
            stop_at_counts: false,
        }
    }
}

impl LowerOptions {
    /// What the ids of roots are made of.
    pub(super) fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.module_name)
    }

    /// Whether this mitigation is applied.
    pub(super) fn has(&self, mitigation: Mitigation) -> bool {
        self.without != Some(mitigation)
    }
}

/// The report of a lowering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LowerReport {
    /// False: there was nothing for Tally in the module, and it is as it was.
    pub touched: bool,
    /// Functions with a Tally strategy.
    pub functions: usize,
    /// All roots, by id, name and function.
    pub roots: Vec<NamedRoot>,
    /// Calls that carry a bundle.
    pub safepoints: usize,
    /// Writes with a barrier.
    pub barriers: usize,
    /// Writes without, because the object is fresh.
    pub fresh_writes: usize,
    /// Writes without, because a write just before logged the object.
    pub repeated_writes: usize,
    /// Writes without, because the plan has no barrier.
    pub plain_writes: usize,
    /// Writes to global roots.
    pub global_writes: usize,
    /// Objects that are on the stack.
    pub stack_objects: usize,
    /// Allocations that became inline code.
    pub inline_allocations: usize,
    /// Loops that poll.
    pub polls: usize,
    /// Types with a handle.
    pub types: usize,
    /// Registered global slots.
    pub globals: usize,
    /// Whether `main` was put behind the runtime.
    pub wraps_main: bool,
    /// Counts that the prompt plan saved, and objects that are on the stack.
    pub remarks: Vec<Remark>,
    /// The operation that a test had damaged.
    pub damaged: Option<String>,
}
