//! The plan of a heap: when its objects are counted, and when they die.
//!
//! Under the *deferred* plan roots are not counted but found at each flip, and writes are coalesced in the log; objects die
//! at the next epoch. Under the *prompt* plan every root, field and global is counted at once, and an object dies when its
//! last reference goes, at the next safepoint. Under the *trace* plan nothing is counted: a mark from the roots finds what
//! lives, and all else dies. All stand on the same range, blocks, headers and descriptors.
//!
//! They do not mix: code of one plan would not count what another relies on. A compiled module says which plan it was
//! lowered for (bits 0 and 3 of its record's flags), and the registry refuses a second plan in a process.

pub mod bump;
pub(crate) mod call_state;
pub mod deferred;
pub mod prompt;
pub mod trace;
mod verbs;

/// When the objects of a heap are counted, and when they die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plan {
    /// Roots uncounted, writes logged, deaths at epochs: `gc "refcount"`.
    #[default]
    Deferred,
    /// Everything counted, deaths at the last reference: `gc "refcount-prompt"`.
    Prompt,
    /// Nothing counted, deaths at collections that mark from the roots: for strategies without barriers, whose writes are plain stores.
    Trace,
}

/// What a heap of the deferred plan does with its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Epochs, counts and trials.
    Counting,
    /// It is small, and marks in one stop (`plan::deferred::marking`).
    Marking,
    /// It is large, and marks in slices (`plan::deferred::tracing`).
    Tracing,
}

/// Between two rules of a heap of the deferred plan (`plan::deferred::tracing`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Change {
    /// None is on its way.
    #[default]
    None,
    /// The heap has just begun to trace: its lists lack mature objects, and counts are left.
    TakesOver,
    /// The running sweep makes survivors young.
    MakesYoung,
    /// The last has made all of them young, and no collection has begun since.
    AllYoung,
}

/// Bit of a module record's flags: the module's code is of the prompt plan.
pub const MODULE_FLAG_PROMPT: u32 = 1;

/// Bit of a module record's flags: the module's code is of the trace plan.
pub const MODULE_FLAG_TRACE: u32 = 8;

impl Plan {
    /// All plans.
    pub const ALL: [Plan; 3] = [Plan::Deferred, Plan::Prompt, Plan::Trace];

    /// The plans that count references.
    pub const COUNTING: [Plan; 2] = [Plan::Deferred, Plan::Prompt];

    /// The number by which a lowered module names its plan, in the module flag `tally.lowered`: from 1 on, and never another's.
    pub const fn code(self) -> u64 {
        match self {
            Plan::Deferred => 1,
            Plan::Prompt => 2,
            Plan::Trace => 3,
        }
    }

    /// The plan with that number.
    pub fn of_code(code: u64) -> Option<Plan> {
        Plan::ALL.into_iter().find(|plan| plan.code() == code)
    }

    /// The bits of a module record's flags that name the plan.
    pub const fn module_flags(self) -> u32 {
        match self {
            Plan::Deferred => 0,
            Plan::Prompt => MODULE_FLAG_PROMPT,
            Plan::Trace => MODULE_FLAG_TRACE,
        }
    }

    /// The plan that these bits of a module record's flags name, the bits that say nothing of the plan taken away.
    pub fn of_module_flags(flags: u32) -> Option<Plan> {
        Plan::ALL.into_iter().find(|plan| plan.module_flags() == flags)
    }

    /// Whether code and heaps of the two plans may be in one process: one plan's code would not count what another relies on.
    pub fn may_meet(self, other: Plan) -> bool {
        self == other
    }

    /// Whether what global variables hold is counted, so that it is to be released when they go.
    pub const fn counts_globals(self) -> bool {
        match self {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => true,
        }
    }

    /// Whether each write of a reference counts, so that one into a fresh object is more than a store, too.
    pub const fn counts_each_write(self) -> bool {
        match self {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => true,
        }
    }

    /// Whether a write of a reference must be more than a store. Elsewhere plain stores are as good as writes, but a mark in slices needs
    /// code that promises a barrier.
    pub const fn has_barrier(self) -> bool {
        match self {
            Plan::Deferred | Plan::Prompt => true,
            Plan::Trace => false,
        }
    }

    /// The name of its strategy, as functions carry it in `gc "…"`.
    pub const fn strategy(self) -> &'static str {
        match self {
            Plan::Deferred => "refcount",
            Plan::Prompt => "refcount-prompt",
            Plan::Trace => "trace",
        }
    }
}

impl std::str::FromStr for Plan {
    type Err = String;

    /// Reads the name of a strategy.
    fn from_str(text: &str) -> Result<Plan, String> {
        Plan::ALL.into_iter().find(|plan| plan.strategy() == text).ok_or_else(|| {
            let names = Plan::ALL.map(Plan::strategy).join(", ");
            format!("unknown plan {text:?}; there are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modules_flags_name_its_plan() {
        for plan in Plan::ALL {
            assert_eq!(Plan::of_module_flags(plan.module_flags()), Some(plan));
        }
        assert_eq!(
            Plan::of_module_flags(MODULE_FLAG_PROMPT | MODULE_FLAG_TRACE),
            None,
            "a plan that this runtime does not know"
        );
    }

    #[test]
    fn plans_are_found_by_their_names_and_numbers() {
        for plan in Plan::ALL {
            assert_eq!((plan.strategy().parse(), Plan::of_code(plan.code())), (Ok(plan), Some(plan)));
        }
        assert_eq!(Plan::of_code(0).or(Plan::of_code(4)), None);
        assert!("mark-sweep".parse::<Plan>().is_err_and(|error| error.contains("refcount, refcount-prompt, trace")));
    }
}
