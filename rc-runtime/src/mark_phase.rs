//! The meaning of a running mark to the program, and to the rest of the heap. `[WEAK]` `[EXACT]`
//!
//! Only the plan's driver sets the phase ([`Heap::set_mark_phase`](crate::Heap::set_mark_phase)), when its mark
//! enters another stage. All other code uses one of the predicates below: each is one bit of the phase, so that a
//! barrier's slow path or an upgrade pays one test.
//!
//! ```text
//! deferred:  Off ──► Discovers ──► Condemns ──► Off          and back, when finalizers or ephemerons need more
//! prompt:    Off ──► Runs ──► Proves ──► Holds ──► Proves ──► Holds ──► Forgets ──► Frees ──► Off
//!                     ▲──────────┴─────────┘                 begun anew
//!            Off ──► Condemns ──► Off                        the mark that stops the world
//! ```

/// The bits: one for each predicate.
const KEEPS: u8 = 1;
const REACHED: u8 = 2;
const WATCHES: u8 = 4;
const CONDEMNS: u8 = 8;
const FREES: u8 = 16;
const TURNS: u8 = 32;

/// A phase of a mark. The values are sets of the bits that the predicates below test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum MarkPhase {
    /// No mark runs, or it only clears bits or frees: the program's actions do not concern it.
    #[default]
    Off = 0,
    /// Deferred plan: the mark gets the references that vanish, and dead objects keep their memory.
    Discovers = KEEPS | REACHED,
    /// Unmarked objects are dead, and still whole: no weak slot yields one.
    Condemns = KEEPS | CONDEMNS,
    /// Prompt plan: the mark has its turn at safepoints, and objects are born marked once it discovers.
    Runs = TURNS,
    /// Prompt plan: objects that are touched are marked and listed.
    Proves = TURNS | WATCHES,
    /// Prompt plan: unmarked objects are dead, except those that are held for their finalizers now.
    Holds = TURNS | WATCHES | CONDEMNS,
    /// Prompt plan: nothing leads to the condemned any more; their weak slots are forgotten.
    Forgets = TURNS | CONDEMNS | FREES,
    /// Prompt plan: the condemned objects release the survivors that they refer to, in slices, and are freed.
    Frees = TURNS | FREES,
}

impl MarkPhase {
    #[inline(always)]
    const fn has(self, bit: u8) -> bool {
        self as u8 & bit != 0
    }

    /// Whether the memory of objects that die by counting stays until the mark ends (deferred plan).
    #[inline(always)]
    pub const fn keeps_the_dead(self) -> bool {
        self.has(KEEPS)
    }

    /// Whether references that vanish are shown to the mark (deferred plan).
    #[inline(always)]
    pub const fn is_shown_references(self) -> bool {
        self.has(REACHED)
    }

    /// Whether touched objects are marked and listed (prompt plan).
    #[inline(always)]
    pub const fn watches(self) -> bool {
        self.has(WATCHES)
    }

    /// Unmarked objects are dead, and no weak slot yields one.
    #[inline(always)]
    pub const fn condemns(self) -> bool {
        self.has(CONDEMNS)
    }

    /// Whether unmarked objects are dead, unreferenced, and freed in slices (prompt plan).
    #[inline(always)]
    pub const fn frees(self) -> bool {
        self.has(FREES)
    }

    /// Whether each allocation and each safepoint that enters the runtime gives the mark its turn (prompt plan).
    #[inline(always)]
    pub const fn wants_turns(self) -> bool {
        self.has(TURNS)
    }

    /// Whether an upgrade must check more than the object's header.
    #[inline(always)]
    pub(crate) const fn asks_at_upgrades(self) -> bool {
        self.has(WATCHES | CONDEMNS)
    }
}
