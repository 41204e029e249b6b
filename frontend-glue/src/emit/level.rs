//! The optimisation level of a module: the `-O` of the command line.
//!
//! One level decides two things at once, as it does in clang: which pass pipeline runs over the lowered IR, and how
//! hard the code generator works. Level 0 runs no passes at all, but the module is lowered all the same: a gc
//! function has no meaning without the lowering.

use inkwell::OptimizationLevel;

/// An optimisation level, `-O0` to `-O3` and `-Os`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// No passes; fast to compile, easy to step through.
    #[value(name = "0")]
    O0,
    /// Cheap passes.
    #[value(name = "1")]
    O1,
    /// For released programs.
    #[default]
    #[value(name = "2")]
    O2,
    /// Spends more code and time on loops.
    #[value(name = "3")]
    O3,
    /// As `2`, but prefers small code.
    #[value(name = "s")]
    Os,
}

impl Level {
    /// The pass pipeline in LLVM's own notation, or `None` where no passes run.
    pub fn passes(self) -> Option<&'static str> {
        match self {
            Level::O0 => None,
            Level::O1 => Some("default<O1>"),
            Level::O2 => Some("default<O2>"),
            Level::O3 => Some("default<O3>"),
            Level::Os => Some("default<Os>"),
        }
    }

    /// The code generator's level.
    pub(crate) fn code_generation(self) -> OptimizationLevel {
        match self {
            Level::O0 => OptimizationLevel::None,
            Level::O1 => OptimizationLevel::Less,
            Level::O2 | Level::Os => OptimizationLevel::Default,
            Level::O3 => OptimizationLevel::Aggressive,
        }
    }
}
