//! The actions: those possible in a state, their effects, and their texts in a trace.

use super::invariant::{Outcome, check};
use super::{Model, NULL, Name, Phase, Queue, Stage, State};

/// One operation of the mutator, or one unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`Action::shown` says them in words")]
pub enum Action {
    Allocate { object: Name, over: Name },
    Load { object: Name, field: u8, over: Name },
    Write { object: Name, field: u8, value: Name },
    Clear { over: Name },
    Flip,
    Promote(Name),
    Reconcile(Name),
    Sweep(Name),
    FreeLate(Name),
    ReleaseRoot(Name),
    ReleaseEntry(Name),
    Try { object: Name, outside: u8 },
    NextPhase,
    ReleaseDead(Name),
    StartMark,
    Visit(Name),
    ReadLog(Name),
    EndDiscovery,
    GiveUpMark,
    Condemn(Name),
    EndRelease,
    FreeDead(Name),
    EndMark,
}

impl Model {
    /// Every action that can be taken.
    pub fn actions(&self, state: &State) -> Vec<Action> {
        let mut actions = Vec::with_capacity(32);
        self.operations(state, &mut actions);
        if self.may_flip(state) {
            actions.push(Action::Flip);
        }
        if self.may_start_mark(state) {
            actions.push(Action::StartMark);
        }
        if state.stage == Stage::Discover {
            actions.push(Action::GiveUpMark);
        }
        self.work(state, &mut actions);
        actions
    }

    /// Adds every unit of work that is left, in the order in which a slice looks for it.
    pub(super) fn work(&self, state: &State, actions: &mut Vec<Action>) {
        self.phase_actions(state, actions);
        self.all_that(state, |object| object.queue == Queue::Release, Action::ReleaseDead, actions);
        self.mark_actions(state, actions);
    }

    /// The state after an action.
    ///
    /// # Errors
    /// A violation, when it breaks an invariant.
    pub fn take(&self, before: &State, action: Action) -> Result<State, super::Violation> {
        let mut state = *before;
        self.perform(&mut state, action)?;
        check(self, &state)?;
        Ok(state)
    }

    pub(super) fn perform(&self, state: &mut State, action: Action) -> Outcome {
        match action {
            Action::Allocate { .. } | Action::Load { .. } | Action::Write { .. } | Action::Clear { .. } => {
                self.operate(state, action)?;
            }
            Action::Flip => self.flip(state)?,
            Action::Promote(name) => self.promote_queued(state, name)?,
            Action::Reconcile(name) => self.reconcile(state, name)?,
            Action::Sweep(name) => self.give_back(state, name)?,
            Action::FreeLate(name) => {
                state.of(name).queue = Queue::None;
                self.free(state, name)?;
            }
            Action::ReleaseRoot(name) => self.release_root(state, name)?,
            Action::ReleaseEntry(name) => self.release_entry(state, name)?,
            Action::Try { object, outside } => self.try_candidate(state, object, outside)?,
            Action::NextPhase => Model::enter_next_phase(state),
            Action::ReleaseDead(name) => self.release_dead(state, name)?,
            Action::StartMark => self.start_mark(state)?,
            Action::Visit(name) => self.visit(state, name)?,
            Action::ReadLog(name) => self.read_log(state, name)?,
            Action::EndDiscovery => Model::enter_stage(state, Stage::Release),
            Action::GiveUpMark | Action::EndRelease => Model::enter_stage(state, Stage::Free),
            Action::Condemn(name) => self.condemn(state, name)?,
            Action::FreeDead(name) => self.free_dead(state, name)?,
            Action::EndMark => state.stage = Stage::Off,
        }
        Ok(())
    }

    /// An explicit collection, as `DeferredDriver::collect_all` does it; the units of work it took.
    pub(super) fn collect(&self, state: &mut State) -> Result<u32, super::Violation> {
        let mut units = self.finish(state, true)?;
        self.flip(state)?;
        units += self.finish(state, false)?;
        if self.marks && state.stage == Stage::Off {
            self.start_mark(state)?;
        }
        units += self.finish(state, true)?;
        self.flip(state)?;
        units += self.finish(state, true)?;
        Ok(units)
    }

    /// Runs pending work to its end, or only until the passes and the deaths are done.
    fn finish(&self, state: &mut State, with_mark: bool) -> Result<u32, super::Violation> {
        let (mut actions, mut units) = (Vec::with_capacity(8), 0);
        loop {
            let has_passes = state.phase != Phase::Idle || state.objects.iter().any(|o| o.queue == Queue::Release);
            let has_mark = with_mark && state.stage != Stage::Off;
            if !has_passes && !has_mark {
                return Ok(units);
            }
            actions.clear();
            self.work(state, &mut actions);
            self.perform(state, actions[0])?;
            units += 1;
        }
    }
}

impl Action {
    /// The action, taken from a state, as text; `called` returns the name of an object in the trace.
    pub(super) fn shown(self, state: &State, called: impl Fn(Name) -> char) -> String {
        let root = |over: Name| match over {
            NULL => "an empty root".to_owned(),
            over => format!("the root that held {}", called(over)),
        };
        match self {
            Action::Allocate { object, over } => format!("mutator: allocate {} into {}", called(object), root(over)),
            Action::Load { object, field, over } => {
                format!("mutator: load {}.{field} into {}", called(object), root(over))
            }
            Action::Write { object, field, value: NULL } => format!("mutator: {}.{field} = null", called(object)),
            Action::Write { object, field, value } => {
                format!("mutator: {}.{field} = {}", called(object), called(value))
            }
            Action::Clear { over } => format!("mutator: null into {}", root(over)),
            Action::Flip => "flip".to_owned(),
            Action::Promote(name) => format!("count: promote {}", called(name)),
            Action::Reconcile(name) => format!("count: reconcile the log of {}", called(name)),
            Action::Sweep(name) => format!("sweep: {} died young", called(name)),
            Action::FreeLate(name) => format!("release: free {}, which the log named", called(name)),
            Action::ReleaseRoot(name) => format!("release: a former root of {}", called(name)),
            Action::ReleaseEntry(name) => format!("release: the old words of {}", called(name)),
            Action::Try { object, outside } => {
                let outside: String = (0..8).filter(|name| outside & 1 << name != 0).map(&called).collect();
                format!("try: {}, outside its cohort: [{outside}]", called(object))
            }
            Action::NextPhase => format!("{:?} is done", state.phase),
            Action::ReleaseDead(name) => format!("release: {} is dead", called(name)),
            Action::StartMark => "mark: starts".to_owned(),
            Action::Visit(name) => format!("mark: visit {}", called(name)),
            Action::ReadLog(name) => format!("mark: read the running log of {}", called(name)),
            Action::EndDiscovery => "mark: all is discovered".to_owned(),
            Action::GiveUpMark => "mark: given up".to_owned(),
            Action::Condemn(name) => format!("mark: condemn {}", called(name)),
            Action::EndRelease => "mark: all is condemned".to_owned(),
            Action::FreeDead(name) => format!("mark: free {}", called(name)),
            Action::EndMark => "mark: ends".to_owned(),
        }
    }
}
