//! Local trial deletion: is this candidate part of a small garbage cycle?
//!
//! Trial deletion (Bacon & Rajan 2001, "Concurrent Cycle Collection in Reference Counted Systems", §3) subtracts the
//! references inside a subgraph from its members' counts; what is left over comes from outside. In the paper's words:
//!
//! ```text
//! MarkGray(S):     for T in children(S): RC(T) −= 1; MarkGray(T)
//! Scan(S):         if RC(S) > 0: ScanBlack(S)  else: color(S) = white; for T in children(S): Scan(T)
//! CollectWhite(S): if color(S) == white: for T in children(S): CollectWhite(T); free(S)
//! ```
//!
//! Deviations, each for a reason:
//! - The subgraph is bounded: nodes reachable from the candidate that were allocated in the same or a neighbouring epoch (its *cohort*,
//!   by block age), at most [`NODES_MAX`]. Any subset is sound: references from outside it keep their targets alive. A
//!   candidate that hangs over a large live heap costs one bounded trial, not the heap.
//! - Counts are not written. The trial counts internal references per node in its own arrays and compares at the end; the
//!   heap is bit-identical until a verdict commits, so abandoning costs nothing. `TRIAL`
//! - Nothing that is logged, pending, stuck or dead is judged: its count does not belong to its words. `LOG`
//! - Worklists, not recursion.
//!
//! A verdict may commit at once, although the mutator has run since the flip: counts are those of the flip, the roots of the
//! flip included, and the mutator can only reach what was reachable then or is younger.
//!
//! When fewer than one in eight trials frees anything, only a sample of the candidates is tried; the rest is counted as
//! suspects, the evidence for the backup mark.

use crate::collector::Collector;
use rc_runtime::block::state;
use rc_runtime::count::STUCK;
use rc_runtime::object::flag;
use rc_runtime::range::{BUFFERED, block_info, trial_cell};
use rc_runtime::visit::Part;
use rc_runtime::{Heap, ObjectRef};
use smallvec::SmallVec;

/// Nodes in one trial.
pub const NODES_MAX: usize = 128;
/// References that leave the subgraph, remembered for the case that it is garbage.
const OUTSIDE_MAX: usize = 512;
/// While trials fail, one candidate in this many is tried.
const SAMPLE: u64 = 64;
/// Trials after which the success rate is judged.
const JUDGE_AFTER: u32 = 32;

/// Trial state that outlives one trial; the arrays are reserved once.
#[derive(Debug)]
pub struct Trials {
    nodes: Vec<Node>,
    outside: Vec<ObjectRef>,
    worklist: Vec<u8>,
    sampling: bool,
    tried: u32,
    succeeded: u32,
    /// Candidates at the front of the buffer that were roots of the flip before: they are always tried, and say nothing
    /// about the program's cycles.
    former_roots: usize,
    position: u64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    object: ObjectRef,
    /// References to it from inside the subgraph.
    inner: u32,
    live: bool,
}

enum Verdict {
    /// Held from outside.
    Live,
    /// So many objects were garbage.
    Garbage(u64),
    /// There is garbage, and it will be judged again when its finalizers have run.
    Finalizing,
    /// Cut off by a bound, or something in it may not be judged now.
    Undecided,
}

impl Default for Trials {
    fn default() -> Self {
        Trials {
            nodes: Vec::with_capacity(NODES_MAX),
            outside: Vec::with_capacity(OUTSIDE_MAX),
            worklist: Vec::with_capacity(NODES_MAX),
            sampling: false,
            tried: 0,
            succeeded: 0,
            former_roots: 0,
            position: 0,
        }
    }
}

impl Trials {
    /// A root of the flip before was let go; there are `candidates` now.
    pub(crate) fn note_former_root(&mut self, candidates: usize) {
        self.former_roots = candidates.min(256);
    }

    fn is_skipped(&mut self, was_root: bool) -> bool {
        self.position += 1;
        self.sampling && !was_root && !self.position.is_multiple_of(SAMPLE)
    }

    fn learn(&mut self, succeeded: bool) {
        self.tried += 1;
        self.succeeded += succeeded as u32;
        if self.tried >= JUDGE_AFTER {
            self.sampling = self.succeeded * 8 < self.tried;
            (self.tried, self.succeeded) = (0, 0);
        }
    }
}

impl Collector {
    /// Tries candidates with up to `units` of work; what is left, and whether none is left over.
    pub(crate) fn try_candidates(&mut self, heap: &mut Heap, mut units: i64) -> (i64, bool) {
        while let Some(candidate) = heap.candidates.pop() {
            // It may have died meanwhile, and then even its address says nothing: the blocks of a large object go back to the
            // process, and what another heap had buffered there was tried, and freed, here.
            if !heap.owns(candidate) || !BUFFERED.get(candidate.address()) {
                units -= 1;
                continue;
            }
            BUFFERED.clear(candidate.address());
            let was_root = heap.candidates.len() < self.trials.former_roots;
            if !heap.options.trials || self.trials.is_skipped(was_root) {
                heap.suspects += 1;
                units -= 1;
            } else {
                units -= self.try_candidate(heap, candidate, was_root);
            }
            if units <= 0 {
                return (units, heap.candidates.is_empty());
            }
        }
        self.trials.former_roots = 0;
        (units, true)
    }

    fn try_candidate(&mut self, heap: &mut Heap, candidate: ObjectRef, was_root: bool) -> i64 {
        if candidate.count() == 0
            || candidate.has(flag::DEAD | flag::ROOTED | flag::IMMORTAL)
            || !candidate.type_info().may_be_cyclic
        {
            return 1;
        }
        self.report.trials += 1;
        heap.statistics.trial_runs += 1;
        let edges_before = heap.statistics.trial_edges;
        // In zeal nearly every object has an epoch of its own; there the cohort is the whole heap.
        let slack = if heap.zeal.is_some() { u32::MAX / 4 } else { 1 };
        let mut verdict = self.trial(heap, candidate, slack);
        if matches!(verdict, Verdict::Undecided) && self.trials.nodes.len() == NODES_MAX && !self.trials.sampling {
            verdict = self.trial(heap, candidate, 0);
        }
        match verdict {
            Verdict::Finalizing => {}
            Verdict::Live if heap.specials.is_empty() => {}
            // An ephemeron that is alive seems to hold its value, and by that its key: only a mark can tell.
            Verdict::Live => heap.suspects += self.trials.nodes.iter().any(|node| heap.is_key(node.object)) as u64,
            Verdict::Garbage(objects) => {
                heap.statistics.cyclic_garbage_objects += objects;
                self.report.freed_by_trial += objects;
            }
            Verdict::Undecided => heap.suspects += 1,
        }
        if !was_root {
            self.trials.learn(matches!(verdict, Verdict::Garbage(_) | Verdict::Finalizing));
        }
        4 + (heap.statistics.trial_edges - edges_before) as i64
    }

    /// One trial over the nodes whose blocks are at most `slack` epochs older or younger than the candidate's.
    fn trial(&mut self, heap: &mut Heap, candidate: ObjectRef, slack: u32) -> Verdict {
        let trials = &mut self.trials;
        trials.nodes.clear();
        trials.outside.clear();
        if candidate.has(flag::LARGE) || !may_be_judged(candidate) {
            return Verdict::Undecided;
        }
        let complete = trials.gather(heap, candidate, slack);
        let verdict = match complete.then(|| trials.dead_nodes()) {
            None => Verdict::Undecided,
            Some(0) => Verdict::Live,
            Some(_) if trials.await_finalizers(heap) => Verdict::Finalizing,
            Some(dead) => Verdict::Garbage(dead),
        };
        if let Verdict::Garbage(_) = verdict {
            trials.collect_dead(heap);
        } else {
            trials.forget_places();
        }
        verdict
    }
}

/// Clean, counted, alive: its count belongs to the words of the last flip.
fn may_be_judged(object: ObjectRef) -> bool {
    let count = object.count();
    object.stamp() == 0 && count != 0 && count != STUCK && !object.has(flag::DEAD)
}

fn place_of(object: ObjectRef) -> u8 {
    // SAFETY: the trial table of the reserved range is mapped.
    unsafe { *trial_cell(object.address()) }
}

fn set_place(object: ObjectRef, place: u8) {
    // SAFETY: as in `place_of`.
    unsafe { *trial_cell(object.address()) = place }
}

impl Trials {
    /// MarkGray: the cohort's nodes reachable from `candidate`, with their internal counts; false when cut off.
    fn gather(&mut self, heap: &mut Heap, candidate: ObjectRef, slack: u32) -> bool {
        let home = candidate.block();
        // SAFETY: the block of an object of this heap.
        let age = unsafe { (*block_info(home)).age };
        self.nodes.push(Node { object: candidate, inner: 0, live: false });
        set_place(candidate, 1);
        let (mut next, mut complete, mut edges) = (0, true, 0);
        while next < self.nodes.len() && complete {
            let object = self.nodes[next].object;
            next += 1;
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                edges += 1;
                if is_outside(target, home, age, slack) {
                    return self.remember_outside(target, &mut complete);
                }
                match place_of(target) {
                    0 if target.has(flag::IMMORTAL) || !target.type_info().may_be_cyclic => {
                        self.remember_outside(target, &mut complete);
                    }
                    0 if self.nodes.len() == NODES_MAX || !may_be_judged(target) => complete = false,
                    0 => {
                        self.nodes.push(Node { object: target, inner: 1, live: false });
                        set_place(target, self.nodes.len() as u8);
                    }
                    place => self.nodes[place as usize - 1].inner += 1,
                }
            });
        }
        heap.statistics.trial_edges += edges;
        complete
    }

    fn remember_outside(&mut self, target: ObjectRef, complete: &mut bool) {
        *complete &= self.outside.len() < OUTSIDE_MAX;
        if *complete {
            self.outside.push(target);
        }
    }

    /// Scan: a node with a reference from outside is live, and so is what it reaches; the number of the others.
    fn dead_nodes(&mut self) -> u64 {
        self.worklist.clear();
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.live = node.object.count() as u32 != node.inner;
            if node.live {
                self.worklist.push(place as u8);
            }
        }
        let mut dead = self.nodes.len() - self.worklist.len();
        while let Some(place) = self.worklist.pop() {
            if dead == 0 {
                break;
            }
            let object = self.nodes[place as usize].object;
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                let place = place_of(target);
                if place != 0 && !self.nodes[place as usize - 1].live {
                    self.nodes[place as usize - 1].live = true;
                    self.worklist.push(place - 1);
                    dead -= 1;
                }
            });
        }
        dead as u64
    }

    /// Whether finalizers come first. Those of all dead nodes are queued then.
    fn await_finalizers(&self, heap: &mut Heap) -> bool {
        let dead = || self.nodes.iter().filter(|node| !node.live).map(|node| node.object);
        if !dead().any(ObjectRef::needs_finalizer) {
            return false;
        }
        let special: SmallVec<[ObjectRef; 8]> = dead().filter(|object| object.has(flag::SPECIAL)).collect();
        heap.begin_reclaim_all(&special);
        dead().filter(|object| object.needs_finalizer()).for_each(|object| heap.await_finalizer(object));
        true
    }

    /// CollectWhite: survivors lose the references that the dead held; the dead are reclaimed.
    fn collect_dead(&mut self, heap: &mut Heap) {
        if !heap.specials.is_empty() {
            let dead = self.nodes.iter().filter(|node| !node.live && node.object.has(flag::SPECIAL));
            let special: SmallVec<[ObjectRef; 8]> = dead.map(|node| node.object).collect();
            heap.reclaim_special_all(&special);
        }
        if self.nodes.iter().all(|node| !node.live) {
            for &target in &self.outside {
                release_survivor(heap, target);
            }
        } else {
            for node in self.nodes.iter().filter(|node| !node.live) {
                node.object.type_info().for_each_reference(node.object, Part::Whole, |target| {
                    let place = place_of(target);
                    if place == 0 || self.nodes[place as usize - 1].live {
                        release_survivor(heap, target);
                    }
                });
            }
        }
        self.forget_places();
        for node in self.nodes.iter().filter(|node| !node.live) {
            node.object.set_count(0);
            heap.reclaim(node.object);
        }
    }

    fn forget_places(&self) {
        for node in &self.nodes {
            set_place(node.object, 0);
        }
    }
}

/// Large, or of another cohort: told from the block table alone, because most references that leave a ring lead to cold
/// memory.
#[inline(always)]
fn is_outside(target: ObjectRef, home: u32, age: u32, slack: u32) -> bool {
    let block = target.block();
    if block == home {
        return false;
    }
    // SAFETY: the block of an object of this heap.
    let info = unsafe { *block_info(block) };
    info.state == state::LARGE || info.age.wrapping_sub(age).wrapping_add(slack) > 2 * slack
}

/// A reference from a dead cycle to a survivor goes away. The survivor becomes no candidate: rings that hang on a large
/// live heap would make all of that a candidate, ring after ring; it is evidence for the mark instead.
fn release_survivor(heap: &mut Heap, target: ObjectRef) {
    if heap.mark_discovers {
        heap.show_to_mark(target);
    }
    if heap.decrement_only(target) {
        heap.suspects += 1;
    }
}
