//! What a running mark means to the program, and to all that the heap does meanwhile. `[WEAK]` `[EXACT]`
//!
//! The plan's driver alone sets it ([`Heap::set_mark_phase`](crate::Heap::set_mark_phase)), where its mark enters another stage. Everything else asks one of
//! the questions below: each is one bit of the phase, so that a barrier's slow path or an upgrade pays one test.
//!
//! ```text
//! deferred:  Off ──► Discovers ──► Condemns ──► Off          and back, when finalizers or ephemerons need more
//! prompt:    Off ──► Runs ──► Proves ──► Holds ──► Proves ──► Holds ──► Forgets ──► Frees ──► Off
//!                     ▲──────────┴─────────┘                 begun anew
//!            Off ──► Condemns ──► Off                        the mark that stops the world
//! ```

/// The bits: one for each question.
const KEEPS: u8 = 1;
const REACHED: u8 = 2;
const WATCHES: u8 = 4;
const CONDEMNS: u8 = 8;
const FREES: u8 = 16;
const TURNS: u8 = 32;

/// See the file's first lines. The numbers are sets of the bits above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum MarkPhase {
    /// None runs, or it only clears bits or frees: nothing that the program does concerns it.
    #[default]
    Off = 0,
    /// Deferred plan: references that vanish are shown to it, and the dead keep their memory.
    Discovers = KEEPS | REACHED,
    /// Unmarked objects are dead, and still whole: no weak slot yields one.
    Condemns = KEEPS | CONDEMNS,
    /// Prompt plan: it has its turn at safepoints, and objects are born marked once it discovers.
    Runs = TURNS,
    /// Prompt plan: objects that are touched are marked and listed.
    Proves = TURNS | WATCHES,
    /// Prompt plan: unmarked objects are dead, but for those that are held for their finalizers now.
    Holds = TURNS | WATCHES | CONDEMNS,
    /// Prompt plan: nothing leads to the condemned any more; their weak slots are forgotten.
    Forgets = TURNS | CONDEMNS | FREES,
    /// Prompt plan: the condemned let go of what lives on, in slices, and go.
    Frees = TURNS | FREES,
}

impl MarkPhase {
    #[inline(always)]
    const fn has(self, bit: u8) -> bool {
        self as u8 & bit != 0
    }

    /// Deferred plan: the memory of objects that die by counting stays until the mark ends.
    #[inline(always)]
    pub const fn keeps_the_dead(self) -> bool {
        self.has(KEEPS)
    }

    /// Deferred plan: references that vanish are shown to the mark.
    #[inline(always)]
    pub const fn is_shown_references(self) -> bool {
        self.has(REACHED)
    }

    /// Prompt plan: touched objects are marked, and listed.
    #[inline(always)]
    pub const fn watches(self) -> bool {
        self.has(WATCHES)
    }

    /// Unmarked objects are dead, and no weak slot yields one.
    #[inline(always)]
    pub const fn condemns(self) -> bool {
        self.has(CONDEMNS)
    }

    /// Prompt plan: unmarked objects are dead, nothing leads to them, and they go in slices.
    #[inline(always)]
    pub const fn frees(self) -> bool {
        self.has(FREES)
    }

    /// Prompt plan: each allocation that comes to the runtime, and each safepoint that does, gives the mark its turn.
    #[inline(always)]
    pub const fn wants_turns(self) -> bool {
        self.has(TURNS)
    }

    /// An upgrade must ask for more than the object's header.
    #[inline(always)]
    pub(crate) const fn asks_at_upgrades(self) -> bool {
        self.has(WATCHES | CONDEMNS)
    }
}
