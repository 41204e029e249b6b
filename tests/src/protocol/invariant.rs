//! The invariants of every state, by their names in ARCHITECTURE.md.
//!
//! Some actions find a violation themselves: a count below zero, a cell freed twice or while it will still be read.
//! The rest is checked here after every action; QUIET and BOUND by running a collection from the state.

use super::{Model, Name, OBJECTS_MAX, Phase, Queue, Read, Stage, Stamp, State, flag};

/// An invariant that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its name.
    pub invariant: &'static str,
    /// The object.
    pub object: Name,
    /// The fault.
    pub what: &'static str,
}

/// Nothing, or a violation.
pub(super) type Outcome = Result<(), Violation>;

/// The violation.
pub(super) fn broken(invariant: &'static str, object: Name, what: &'static str) -> Outcome {
    Err(Violation { invariant, object, what })
}

/// Units of work of an explicit collection, at most: for the phases of two epochs and a mark, and for each object. A
/// unit is one reference, entry, candidate or object, so a collection that takes more goes round in circles.
/// `[BOUND]`
const UNITS_OF_PHASES: u32 = 16;
const UNITS_PER_OBJECT: u32 = 6;

/// Checks all invariants of one state.
pub(super) fn check(model: &Model, state: &State) -> Outcome {
    let reachable = reachable(state);
    for name in model.names() {
        let object = state.at(name);
        if reachable & 1 << name != 0 {
            if !object.has(flag::USED) {
                return broken("ROOT", name, "was freed, and the mutator can reach it");
            }
            if object.queue != Queue::None || object.has(flag::DEAD) {
                return broken("RECLAIM", name, "was judged dead, and the mutator can reach it");
            }
        }
        check_log(state, name)?;
        check_candidate(state, name)?;
    }
    if state.phase == Phase::Idle { check_counts(model, state) } else { Ok(()) }
}

/// Checks that an explicit collection leaves only the objects that the mutator can reach, with right counts. Returns
/// the units of work that it took.
pub(super) fn check_quiet(model: &Model, state: &State) -> Result<u32, Violation> {
    let mut state = *state;
    let units = model.collect(&mut state)?;
    check(model, &state)?;
    let reachable = reachable(&state);
    if let Some(name) = model.names().find(|&name| state.at(name).has(flag::USED) && reachable & 1 << name == 0) {
        broken("QUIET", name, "is garbage that an explicit collection from here leaves")?;
    }
    if units > UNITS_OF_PHASES + UNITS_PER_OBJECT * model.objects as u32 {
        broken("BOUND", 0, "is in a heap whose collection from here takes too many units of work")?;
    }
    Ok(units)
}

/// The objects that the mutator can reach, as bits by name.
fn reachable(state: &State) -> u8 {
    let mut found = 0;
    let mut worklist = [0; OBJECTS_MAX];
    let mut end = 0;
    for (name, object) in state.objects.iter().enumerate() {
        if object.held > 0 {
            found |= 1 << name;
            worklist[end] = name;
            end += 1;
        }
    }
    while end > 0 {
        end -= 1;
        for target in state.objects[worklist[end]].targets() {
            if found & 1 << target == 0 {
                found |= 1 << target;
                worklist[end] = usize::from(target);
                end += 1;
            }
        }
    }
    found
}

/// The unlogged bit is clear exactly while the words are in the log; the stamp says the same.
fn check_log(state: &State, name: Name) -> Outcome {
    let object = state.at(name);
    if !object.has(flag::USED) {
        return Ok(());
    }
    let is_logged = object.running.read != Read::Absent;
    let is_unlogged = object.has(flag::UNLOGGED);
    if object.has(flag::MATURE) {
        if is_logged == is_unlogged {
            return broken("LOG", name, "has an unlogged bit that does not agree with the log");
        }
        if is_logged != (object.stamp == Stamp::Running) {
            return broken("LOG", name, "has a stamp that does not agree with the log");
        }
    } else if is_unlogged != (object.stamp == Stamp::Last) {
        return broken("LOG", name, "is young, and has an unlogged bit that does not agree with its stamp");
    }
    if object.stamp == Stamp::Last && !matches!(state.phase, Phase::Count | Phase::Sweep) {
        return broken("PENDING", name, "is still pending after the increments");
    }
    Ok(())
}

fn check_candidate(state: &State, name: Name) -> Outcome {
    let object = state.at(name);
    let expected = object.stale + u8::from(object.has(flag::BUFFERED));
    if object.buffered != expected {
        return broken("CANDIDATE", name, "has a buffered bit that does not agree with the buffer");
    }
    Ok(())
}

/// Checks counts when the passes are over: they are those of the flip. Objects that a mark is just condemning need no
/// right count.
fn check_counts(model: &Model, state: &State) -> Outcome {
    let mut expected = state.objects.map(|object| object.roots + object.last_roots);
    for object in &state.objects {
        let is_released = matches!(object.queue, Queue::Mark | Queue::Late | Queue::LastLate);
        if object.has(flag::USED) && object.has(flag::MATURE) && !is_released {
            let at_the_flip = if object.running.read == Read::Absent { object.words } else { object.running.words };
            for target in at_the_flip.into_iter().filter(|&target| target != super::NULL) {
                expected[usize::from(target)] += 1;
            }
        }
    }
    for name in model.names() {
        let object = state.at(name);
        let is_mature = object.has(flag::MATURE) && !object.has(flag::DEAD);
        let is_judged = state.stage != Stage::Release || object.has(flag::MARKED);
        if !is_mature || !is_judged || matches!(object.queue, Queue::Late | Queue::LastLate) {
            continue;
        }
        if object.count != model.stuck && object.count != expected[usize::from(name)] {
            return broken("COUNT", name, "has a count that is not the number of its references");
        }
        if object.count == 0 && object.queue == Queue::None {
            return broken("RECLAIM", name, "has count 0, and is in no queue");
        }
    }
    Ok(())
}
