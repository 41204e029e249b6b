//! Trials; after `cycle-detector/src/plan/deferred/trial.rs`. `[TRIAL]` `[CANDIDATE]`
//!
//! A trial runs in one slice, so it is one action. The addresses of the objects that a candidate reaches decide which
//! of them are of its cohort, and near enough not to be cut off. So the action names those `outside`, and every
//! choice is tried.

use super::invariant::{Outcome, broken};
use super::{Action, FIELDS_MAX, Model, Name, OBJECTS_MAX, Rule, Stage, Stamp, State, flag};

/// The objects of a trial, as bits by name, and the references to each from among them.
struct Subgraph {
    nodes: u8,
    inner: [u8; OBJECTS_MAX],
    /// It refers to an object that may not be judged now, and is outside for that reason.
    met_unjudged: bool,
}

impl Model {
    /// Adds every candidate, with every choice of the objects outside its cohort; returns whether there is any.
    pub(super) fn tries(&self, state: &State, actions: &mut Vec<Action>) -> bool {
        let before = actions.len();
        for name in self.names().filter(|&name| state.at(name).buffered > 0) {
            let others = ((1u8 << self.objects) - 1) & !(1 << name);
            let is_tried = self.trials && state.at(name).has(flag::BUFFERED);
            let choices = if self.cohorts && is_tried { others } else { 0 };
            let subsets = (0..=choices).filter(|outside| outside & !choices == 0);
            actions.extend(subsets.map(|outside| Action::Try { object: name, outside }));
        }
        actions.len() > before
    }

    pub(super) fn try_candidate(&self, state: &mut State, name: Name, outside: u8) -> Outcome {
        let object = state.of(name);
        object.buffered -= 1;
        object.stale = object.stale.min(object.buffered);
        if !object.has(flag::BUFFERED) {
            return Ok(());
        }
        object.flags &= !flag::BUFFERED;
        let is_rooted = object.roots > 0 && self.keeps(Rule::RootedIsNotTried);
        if !self.trials || object.count == 0 || object.has(flag::DEAD) || is_rooted {
            return Ok(());
        }
        let before = *state;
        let Some(graph) = self.gather(state, name, outside) else {
            return if *state == before {
                Ok(())
            } else {
                broken("TRIAL", name, "was tried in vain, and the heap changed")
            };
        };
        let dead = self.dead_nodes(state, &graph);
        if dead == 0 {
            if !graph.met_unjudged {
                self.note_alive(state, &graph);
            }
            return Ok(());
        }
        self.collect_dead(state, &graph, dead)
    }

    /// Notes that reached candidates need no trial of their own; the buffer keeps their addresses.
    fn note_alive(&self, state: &mut State, graph: &Subgraph) {
        for name in self.members(graph) {
            let object = state.of(name);
            object.flags &= !flag::BUFFERED;
            object.stale = object.buffered;
        }
    }

    fn may_be_judged(&self, state: &State, name: Name) -> bool {
        let object = state.at(name);
        (object.stamp == Stamp::Clean || !self.keeps(Rule::LoggedIsNotJudged))
            && object.count != 0
            && (object.count != self.stuck || !self.keeps(Rule::FullIsNotJudged))
            && (!object.has(flag::DEAD) || !self.keeps(Rule::CondemnedIsNotJudged))
    }

    fn gather(&self, state: &mut State, candidate: Name, outside: u8) -> Option<Subgraph> {
        let mut graph = Subgraph { nodes: 1 << candidate, inner: [0; OBJECTS_MAX], met_unjudged: false };
        if !self.may_be_judged(state, candidate) {
            return None;
        }
        let mut worklist = vec![candidate];
        while let Some(name) = worklist.pop() {
            for target in state.at(name).targets() {
                if outside & 1 << target != 0 {
                    continue;
                }
                if graph.nodes & 1 << target == 0 {
                    if !self.may_be_judged(state, target) {
                        if state.at(target).count == 0 || state.at(target).has(flag::DEAD) {
                            return None;
                        }
                        graph.met_unjudged = true;
                        continue;
                    }
                    graph.nodes |= 1 << target;
                    worklist.push(target);
                }
                graph.inner[usize::from(target)] += 1;
                if !self.keeps(Rule::TrialsCountAside) {
                    state.of(target).count -= 1;
                }
            }
        }
        if !self.keeps(Rule::TrialsCountAside) {
            self.members(&graph).for_each(|name| state.of(name).count += graph.inner[usize::from(name)]);
        }
        Some(graph)
    }

    fn members<'a>(&self, graph: &'a Subgraph) -> impl Iterator<Item = Name> + use<'a> {
        self.names().filter(|&name| graph.nodes & 1 << name != 0)
    }

    fn dead_nodes(&self, state: &State, graph: &Subgraph) -> u8 {
        let is_held = |name: &Name| state.at(*name).count != graph.inner[usize::from(*name)];
        let mut worklist: Vec<Name> = self.members(graph).filter(is_held).collect();
        let mut dead = worklist.iter().fold(graph.nodes, |dead, name| dead & !(1 << name));
        while let Some(name) = worklist.pop() {
            for target in state.at(name).targets() {
                if dead & 1 << target != 0 {
                    dead &= !(1 << target);
                    worklist.push(target);
                }
            }
        }
        dead
    }

    /// Survivors lose the references that the dead held; the dead are reclaimed.
    fn collect_dead(&self, state: &mut State, graph: &Subgraph, dead: u8) -> Outcome {
        let is_dead = |name: &Name| dead & 1 << name != 0;
        let mut survivors: Vec<Name> = Vec::with_capacity(OBJECTS_MAX * FIELDS_MAX);
        for name in self.members(graph).filter(is_dead) {
            survivors.extend(state.at(name).targets().filter(|target| !is_dead(target)));
        }
        for target in survivors {
            if state.stage == Stage::Discover && self.keeps(Rule::TrialsShowSurvivors) {
                self.show(state, target)?;
            }
            self.decrement_only(state, target)?;
        }
        for name in self.members(graph).filter(is_dead) {
            state.of(name).count = 0;
            self.reclaim(state, name)?;
        }
        Ok(())
    }
}
