//! The plan of a heap: when its objects are counted, and when they die.
//!
//! Under the *deferred* plan roots are not counted but found at each flip, and writes are coalesced in the log; objects die
//! at the next epoch. Under the *prompt* plan every root, field and global is counted at once, and an object dies when its
//! last reference goes, at the next safepoint. Both stand on the same range, blocks, headers and descriptors.
//!
//! The two do not mix: code of one plan would not count what the other relies on. A compiled module says which plan it was
//! lowered for (bit 0 of its record's flags), and the registry refuses a second plan in a process.

pub mod deferred;
pub mod prompt;

/// See the file's first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plan {
    /// Roots uncounted, writes logged, deaths at epochs: `gc "refcount"`.
    #[default]
    Deferred,
    /// Everything counted, deaths at the last reference: `gc "refcount-prompt"`.
    Prompt,
}

/// Bit of a module record's flags: the module's code is of the prompt plan.
pub const MODULE_FLAG_PROMPT: u32 = 1;

impl Plan {
    /// The plan that a module record's flags name.
    pub const fn of_module_flags(flags: u32) -> Plan {
        if flags & MODULE_FLAG_PROMPT != 0 { Plan::Prompt } else { Plan::Deferred }
    }

    /// The name of its strategy, as functions carry it in `gc "…"`.
    pub const fn strategy(self) -> &'static str {
        match self {
            Plan::Deferred => "refcount",
            Plan::Prompt => "refcount-prompt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modules_flags_name_its_plan() {
        assert_eq!(Plan::of_module_flags(0), Plan::Deferred);
        assert_eq!(Plan::of_module_flags(MODULE_FLAG_PROMPT), Plan::Prompt);
        assert_ne!(Plan::Deferred.strategy(), Plan::Prompt.strategy());
    }
}
