//! The search: breadth first, so that the first counterexample is a shortest one.
//!
//! The search keeps only a state's fingerprint, and of the path to it only the last action: a trace is made by taking
//! the actions again from the first state. Two states of one fingerprint would be taken for one; among the ten
//! million of the largest search here that happens with a probability of three in a million.

use super::invariant::{Violation, check_quiet};
use super::{Action, Model, Name, OBJECTS_MAX, Phase, Stage, State};
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// The extent of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Different states to begin with.
    pub first_states: usize,
    /// Different states.
    pub states: usize,
    /// Actions taken, to old states or new ones.
    pub actions: u64,
    /// The longest of the shortest paths to a state.
    pub depth: u32,
    /// Different kinds of actions.
    pub kinds: usize,
    /// The most units of work that an explicit collection took.
    pub units_max: u32,
    /// Whether these are all states that there are.
    pub complete: bool,
}

/// A shortest way to a violation.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The violation at its end.
    pub violation: Violation,
    /// States that had been seen when it was found.
    pub states: usize,
    /// The actions, as text.
    pub trace: Vec<String>,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, line) in self.trace.iter().enumerate() {
            writeln!(f, "{number:>3}  {line}")?;
        }
        write!(f, "found after {} states", self.states)
    }
}

/// A state whose actions are still to be taken, and its place among the nodes.
struct Open {
    state: State,
    node: u32,
    depth: u32,
}

/// The way to a state: the state before and the number of the action there; or the number of a first state.
struct Node {
    parent: u32,
    action: u32,
}

/// The parent of the first states.
const FIRST: u32 = u32::MAX;

impl Model {
    /// Searches until no state is new, or `states_max` states are known.
    ///
    /// # Errors
    /// A shortest way to a violation.
    pub fn search(&self, states_max: usize) -> Result<Extent, Box<Counterexample>> {
        let (mut known, mut nodes, mut open) = (Known::default(), vec![], VecDeque::new());
        let firsts = self.first_states();
        for (place, first) in firsts.iter().enumerate() {
            let (state, _) = first.canonical(self.objects);
            if known.insert(state.fingerprint()) {
                open.push_back(Open { state, node: nodes.len() as u32, depth: 0 });
                nodes.push(Node { parent: FIRST, action: place as u32 });
            }
        }
        let mut kinds = HashSet::new();
        let mut extent = Extent { first_states: nodes.len(), ..Extent::default() };
        while let Some(Open { state, node, depth }) = open.pop_front() {
            extent.depth = depth;
            if self.marks && state.phase == Phase::Idle && state.stage == Stage::Off {
                let quiet = check_quiet(self, &state);
                let units = quiet.map_err(|violation| self.counterexample(&nodes, node, None, violation))?;
                extent.units_max = extent.units_max.max(units);
            }
            for (place, &action) in self.actions(&state).iter().enumerate() {
                extent.actions += 1;
                kinds.insert(std::mem::discriminant(&action));
                let after = self.take(&state, action);
                let after = after.map_err(|violation| self.counterexample(&nodes, node, Some(action), violation))?;
                let (after, _) = after.canonical(self.objects);
                if known.insert(after.fingerprint()) {
                    let child = nodes.len() as u32;
                    nodes.push(Node { parent: node, action: place as u32 });
                    open.push_back(Open { state: after, node: child, depth: depth + 1 });
                }
            }
            if nodes.len() >= states_max {
                break;
            }
        }
        Ok(Extent { states: nodes.len(), kinds: kinds.len(), complete: open.is_empty(), ..extent })
    }

    fn counterexample(
        &self,
        nodes: &[Node],
        mut node: u32,
        last: Option<Action>,
        violation: Violation,
    ) -> Box<Counterexample> {
        let mut places = vec![];
        while nodes[node as usize].parent != FIRST {
            places.push(nodes[node as usize].action);
            node = nodes[node as usize].parent;
        }
        let (mut state, renaming) = self.first_states()[nodes[node as usize].action as usize].canonical(self.objects);
        // The name in the first state of each object of this one.
        let mut letters = ['?'; OBJECTS_MAX];
        for (old, &new) in renaming.iter().enumerate() {
            letters[usize::from(new)] = (b'a' + old as u8) as char;
        }
        let mut trace = vec![format!("at first: {}", shown(self, &state, letters))];
        for &place in places.iter().rev() {
            let action = self.actions(&state)[place as usize];
            trace.push(action.shown(&state, |name| letters[usize::from(name)]));
            let after = self.take(&state, action).expect("the search has taken this action");
            let renaming;
            (state, renaming) = after.canonical(self.objects);
            let before = letters;
            renaming.iter().enumerate().for_each(|(old, &new)| letters[usize::from(new)] = before[old]);
        }
        trace.push(format!("now: {}", shown(self, &state, letters)));
        trace.extend(last.map(|action| action.shown(&state, |name| letters[usize::from(name)])));
        let letter = letters[usize::from(violation.object)];
        trace.push(format!("[{}] {letter} {}", violation.invariant, violation.what));
        Box::new(Counterexample { violation, states: nodes.len(), trace })
    }
}

/// The objects in use: roots, words, count, and flags.
fn shown(model: &Model, state: &State, letters: [char; OBJECTS_MAX]) -> String {
    let mut names: Vec<Name> = model.names().filter(|&name| state.at(name).has(super::flag::USED)).collect();
    names.sort_by_key(|&name| letters[usize::from(name)]);
    let objects = names.into_iter().map(|name| {
        let object = state.at(name);
        let words: String = object.targets().map(|target| letters[usize::from(target)]).collect();
        let letter = letters[usize::from(name)];
        let maturity = if object.has(super::flag::MATURE) { "" } else { ", young" };
        format!("{letter} -> [{words}] (held by {}, count {}{maturity})", object.held, object.count)
    });
    format!("{} [{:?}, mark {:?}]", objects.collect::<Vec<_>>().join(", "), state.phase, state.stage)
}

/// Fingerprints are hashes already.
type Known = HashSet<u64, BuildHasherDefault<Fingerprint>>;

#[derive(Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, _: &[u8]) {
        unreachable!("fingerprints are words");
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
