//! The counts that the optimiser of counts saved, and objects on the stack, in the form of LLVM's optimisation remarks.

use crate::llvm::Value;
use std::fmt;

/// Why a count that the literal reading of the plan requires does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saving {
    /// A temporary's count went into an object, to a caller or into a phi.
    Moved,
    /// A temporary's count went to a root.
    MovedToRoot {
        /// The root.
        root: String,
    },
    /// The root's count went along with its last use.
    LastUse {
        /// The root.
        root: String,
    },
    /// The root was loaded and dropped between two safepoints.
    Unseen {
        /// The root.
        root: String,
    },
    /// The write only notes its counts, and the next safepoint applies them.
    Postponed,
    /// Nothing is released during the call.
    Borrowed {
        /// The root.
        root: String,
    },
    /// The object cannot escape, and is none of the heap.
    OnStack {
        /// Its descriptor.
        of: String,
    },
}

impl Saving {
    /// The remark's name, as `-Rpass` users filter by it.
    pub fn name(&self) -> &'static str {
        match self {
            Saving::Moved => "Moved",
            Saving::MovedToRoot { .. } => "MovedToRoot",
            Saving::LastUse { .. } => "LastUse",
            Saving::Unseen { .. } => "Unseen",
            Saving::Postponed => "Postponed",
            Saving::Borrowed { .. } => "Borrowed",
            Saving::OnStack { .. } => "OnStack",
        }
    }

    /// The pass that it is a remark of.
    pub fn pass(&self) -> &'static str {
        match self {
            Saving::OnStack { .. } => "tally-stack",
            _ => "tally-count",
        }
    }
}

impl fmt::Display for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Saving::Moved => write!(f, "no count: the value's own count moves along"),
            Saving::MovedToRoot { root } => write!(f, "no count: the value's own count moves to root `{root}`"),
            Saving::LastUse { root } => {
                write!(f, "no count: this is the last use of root `{root}`, whose count moves along")
            }
            Saving::Unseen { root } => {
                write!(f, "no count: root `{root}` borrowed its object from safepoint to safepoint")
            }
            Saving::Postponed => write!(f, "no count here: the next safepoint makes up for this write"),
            Saving::Borrowed { root } => {
                write!(f, "no count: root `{root}` borrows across this call, in which nothing is released")
            }
            Saving::OnStack { of } => {
                write!(f, "no allocation: this object of `{of}` cannot escape, and is on the stack")
            }
        }
    }
}

/// One saving, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The function.
    pub function: String,
    /// File, line and column, where known.
    pub place: Option<(String, u32, u32)>,
    /// The saving.
    pub saving: Saving,
}

impl Remark {
    pub(in crate::lower) fn at(instruction: Value, saving: Saving) -> Remark {
        let place = instruction.debug_place().map(|place| (place.file, place.line, place.column));
        Remark { function: instruction.function().name(), place, saving }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((file, line, column)) => write!(f, "{file}:{line}:{column}: ")?,
            None => write!(f, "in @{}: ", self.function)?,
        }
        write!(f, "remark: {} [-Rpass={}]", self.saving, self.saving.pass())
    }
}
