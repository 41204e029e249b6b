//! Dead young objects of the deferred plan that are special. `[WEAK]`
//!
//! Dead young objects are never touched under that plan, so those that are special stand on a list. When the increments of a
//! flip are done, an object on it that is not mature is dead: the cost is that of the young special objects and of their weak slots,
//! not of the young. They are one set: all weak references to them are cleared before the first finalizer among them is
//! queued, and their memory goes after all of that, with their block's sweep. No upgrade yields them meanwhile
//! ([`Specials::young_are_judged`](crate::services::special::Specials::young_are_judged)), so each step may end anywhere. `[BOUND]`

mod judge;

/// Objects of the list that are fetched before they are looked at.
const AHEAD: usize = 6;

/// Units of a look at an object on the list.
const LOOK_UNITS: i64 = 4;

/// How far the young special objects of the last flip are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The increments are not done.
    #[default]
    Waits,
    /// They are marked as one set, from this place on.
    Condemn(usize),
    /// Weak references to them are cleared.
    Begin(usize),
    /// Those with finalizers are held until these have run.
    Finalize,
    /// The objects that are still dead release their keys.
    Dismantle(usize),
    /// And goes.
    End(usize),
}

impl Judgement {
    /// The object to look at next, for a step that looks at all of them.
    fn place(self) -> usize {
        match self {
            Judgement::Waits | Judgement::Finalize => 0,
            Judgement::Condemn(at) | Judgement::Begin(at) | Judgement::Dismantle(at) | Judgement::End(at) => at,
        }
    }

    /// The same step with the next object.
    fn at_next(self) -> Judgement {
        match self {
            Judgement::Waits | Judgement::Finalize => self,
            Judgement::Condemn(at) => Judgement::Condemn(at + 1),
            Judgement::Begin(at) => Judgement::Begin(at + 1),
            Judgement::Dismantle(at) => Judgement::Dismantle(at + 1),
            Judgement::End(at) => Judgement::End(at + 1),
        }
    }

    /// The next step; `None` after the last.
    fn next_step(self) -> Option<Judgement> {
        match self {
            Judgement::Waits => Some(Judgement::Condemn(0)),
            Judgement::Condemn(_) => Some(Judgement::Begin(0)),
            Judgement::Begin(_) => Some(Judgement::Finalize),
            Judgement::Finalize => Some(Judgement::Dismantle(0)),
            Judgement::Dismantle(_) => Some(Judgement::End(0)),
            Judgement::End(_) => None,
        }
    }
}
