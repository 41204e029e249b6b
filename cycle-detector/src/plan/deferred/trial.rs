//! Local trial deletion: is this candidate part of a small garbage cycle?
//!
//! Trial deletion (Bacon & Rajan 2001, "Concurrent Cycle Collection in Reference Counted Systems", §3) subtracts the
//! references inside a subgraph from its members' counts; the remaining counts come from outside. In the paper's words:
//!
//! ```text
//! MarkGray(S):     for T in children(S): RC(T) −= 1; MarkGray(T)
//! Scan(S):         if RC(S) > 0: ScanBlack(S)  else: color(S) = white; for T in children(S): Scan(T)
//! CollectWhite(S): if color(S) == white: for T in children(S): CollectWhite(T); free(S)
//! ```
//!
//! Deviations, each for a reason:
//! - The subgraph is bounded: nodes reachable from the candidate that were allocated in the same epoch (its *cohort*,
//!   by block age), `NODES` of them, or `EDGES` references. Any subset is sound: references from outside it keep
//!   their targets alive. A candidate that hangs over a large live heap costs one bounded trial, not the heap; and all
//!   trials together what the [budget](crate::budget) has.
//! - Counts are not written. The trial counts internal references in a byte table of its own and compares at the end; the
//!   heap is bit-identical until a verdict commits, so abandoning costs nothing. `TRIAL`
//! - Nothing that is logged, pending, stuck or dead is judged: its count does not belong to its words. It is outside, too. `LOG`
//! - Worklists, not recursion. They were reserved when the heap was made: a trial allocates nothing.
//! - Two comparisons come before Scan. If the counts add up to the references between nodes, all is dead; if the
//!   candidate is held, all that it reaches is alive. So Scan ends, too, as soon as it comes to the candidate.
//! - Phases, although one walk could judge strongly connected components: that executes more, and no less where
//!   trials fail (docs/work/decisions/34-phases-not-components.md).
//!
//! A verdict may commit at once, although the mutator has run since the flip: counts are those of the flip, the roots of the
//! flip included, and the mutator can only reach objects that were reachable then or are younger.
//!
//! **A trial that is cut off judges the objects it has visited**, the candidate's nearest: the others are outside.
//! A small structure that refers to a live one dies so without that being followed to its end. Where trials free
//! little, only a sample of the candidates is tried.
//! When all that a candidate reaches is alive, the candidates among it need no trial of their own. A candidate not
//! decided is a suspect, the evidence for the backup mark; one not tried leaves a doubt: no measure, but without any there is no mark.

mod member;
mod try_candidates;
mod verdict;

use crate::budget::Budget;
use crate::sample::Sample;
use member::{COUNT_MAX, Cohort, LIVE};
use member::{cell_of, may_be_judged, push_within, release_survivor, set_cell};
use tally_heap::memory::large::LARGEST_SMALL_CELL;
use tally_heap::memory::list::List;
use tally_heap::memory::range::{BUFFERED, block_info};
use tally_heap::object::flag;
use tally_heap::plan::deferred::bulk::Shape;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};
use verdict::{Verdict, Walk};

/// How far a trial may go before it is cut off: it ends with the object at which it passes one of the two. The edges
/// keep a trial among the steps that one slice may do too much. `[BOUND]`
const NODES: usize = 128;
const EDGES: i64 = 4 * NODES as i64;
/// References of one small object, which is the least that a trial looks at.
const OBJECT_EDGES_MAX: usize = LARGEST_SMALL_CELL as usize / 8;
/// Nodes, and references to others, that a trial can have met when it is cut off.
const MET_MAX: usize = EDGES as usize + OBJECT_EDGES_MAX;
/// The most by which a trial may exceed its budget.
pub const EDGES_OVERDRAWN: u64 = 3 * MET_MAX as u64;

/// Trial state that outlives one trial; the arrays are reserved once.
#[derive(Debug)]
pub struct Trials {
    /// Reached from the candidate; up to `visited` their references were followed.
    nodes: List<ObjectRef>,
    visited: usize,
    /// References that leave the subgraph, remembered for the case that it is garbage.
    outside: List<ObjectRef>,
    worklist: List<ObjectRef>,
    /// The plain type that was met last.
    shape: Shape,
    /// A reference leads to something that may not be judged now, and is outside for that reason.
    met_unjudged: bool,
    /// Counts of all nodes together.
    counts: i64,
    /// References followed by the running trial.
    edges: i64,
    /// Of those, in the subgraph that was judged: by objects that were found dead.
    dead_edges: i64,
    budget: Budget<1>,
    sample: Sample,
    /// Since the last mark a verdict was "alive" (something outside the cohort holds it, which may be garbage, too), a
    /// candidate was not tried, or a dead cycle released a survivor: no measure of garbage, but without that there is none.
    pub(crate) in_doubt: bool,
}

impl Default for Trials {
    fn default() -> Self {
        Trials {
            nodes: List::with_capacity(MET_MAX),
            visited: 0,
            outside: List::with_capacity(MET_MAX),
            worklist: List::with_capacity(MET_MAX),
            shape: Shape::NONE,
            met_unjudged: false,
            counts: 0,
            edges: 0,
            dead_edges: 0,
            budget: Budget::of_levels([NODES]),
            sample: Sample::default(),
            in_doubt: false,
        }
    }
}

impl Trials {
    /// A candidate is not tried: weak evidence.
    fn pass_over(&mut self, heap: &mut Heap) {
        self.in_doubt = true;
        heap.suspects += u64::from(!heap.options().trials);
    }

    /// Whether the next candidate is not looked at: it is not in the sample, and there is doubt already. Where one in 256 is tried,
    /// looking at each waited for memory several times.
    #[inline(always)]
    fn passes_over_unseen(&mut self) -> bool {
        self.in_doubt && self.sample.passes_over()
    }

    /// Whether the candidate is to be tried now.
    fn is_worth_it(&mut self, heap: &Heap, candidate: ObjectRef) -> bool {
        heap.options().trials && !candidate.has(flag::LARGE) && self.sample.takes() && self.budget.can_pay(0, 1)
    }
}

impl Trials {
    /// One trial over the candidate's cohort.
    fn trial(&mut self, heap: &mut Heap, candidate: ObjectRef) -> Verdict {
        self.nodes.clear();
        self.outside.clear();
        self.visited = 0;
        self.met_unjudged = false;
        if !may_be_judged(candidate) {
            return Verdict::Undecided;
        }
        self.nodes.push(candidate);
        set_cell(candidate, 1);
        self.counts = candidate.count() as i64;
        let before = self.edges;
        let walk = self.gather(candidate, heap.zeal.is_some(), before);
        let verdict = if walk == Walk::Abandoned {
            Verdict::Undecided
        } else {
            match self.dead_nodes(self.edges - before) {
                0 if walk == Walk::CutOff => Verdict::CutOff,
                0 if self.met_unjudged => Verdict::Undecided,
                0 => Verdict::Live,
                _ if self.has_too_many_slots(heap) => Verdict::Undecided,
                _ if self.await_finalizers(heap) => Verdict::Finalizing,
                dead => Verdict::Garbage(dead),
            }
        };
        if let Verdict::Garbage(dead) = verdict {
            self.dead_edges = self.edges - before;
            self.collect_dead(heap, dead);
        } else {
            self.forget_cells();
        }
        verdict
    }

    /// MarkGray: the cohort's nodes reachable from `candidate`, with their internal counts, from the first that was not visited.
    fn gather(&mut self, candidate: ObjectRef, zeal: bool, before: i64) -> Walk {
        let home = candidate.block();
        // SAFETY: [OWNED] the block of an object of this heap.
        let age = unsafe { (*block_info(home)).age.get() };
        // Under zeal nearly every object has an epoch of its own; the cohort is the whole heap.
        let cohort = Cohort { home, age, all: zeal };
        let (mut abandoned, mut shape) = (false, self.shape);
        while let Some(&object) = self.nodes.get(self.visited) {
            if self.visited >= NODES || self.edges - before >= EDGES {
                return Walk::CutOff;
            }
            self.visited += 1;
            if shape.fits(object, object.meta(), flag::MATURE) {
                for &offset in shape.fields {
                    // SAFETY: [HEADER] a reference word of an object.
                    let Some(target) = (unsafe { ObjectRef::of_word(object.slot(offset as u64).read()) }) else {
                        continue;
                    };
                    self.edges += 1;
                    let cell = cell_of(target);
                    if cell == 0 || cell > COUNT_MAX {
                        abandoned |= !self.meet(target, &cohort, &mut shape);
                    } else {
                        set_cell(target, cell + 1);
                    }
                }
            } else {
                object.type_info().for_each_reference(object, Part::Whole, |target| {
                    self.edges += 1;
                    abandoned |= !self.meet(target, &cohort, &mut shape);
                });
            }
            if abandoned {
                return Walk::Abandoned;
            }
        }
        self.shape = shape;
        Walk::Complete
    }

    /// A reference leads to `target`: a node already, a new one, or outside. False when the trial ends here.
    #[inline(always)]
    fn meet(&mut self, target: ObjectRef, cohort: &Cohort, shape: &mut Shape) -> bool {
        if !cohort.has(target) {
            target.prefetch_count();
            return push_within(&mut self.outside, target);
        }
        let cell = cell_of(target);
        if cell != 0 {
            // [COUNT] A judged object is referred to as often as its count says at most.
            set_cell(target, cell.saturating_add(1));
            return cell <= COUNT_MAX;
        }
        let header = target.header();
        let is_plain = header as u32 == 0 && shape.fits(target, (header >> 32) as u32, flag::MATURE);
        let may_be_cyclic = match is_plain {
            true => shape.may_be_cyclic,
            false => !target.has(flag::IMMORTAL) && target.type_info().may_be_cyclic,
        };
        if !may_be_cyclic {
            return push_within(&mut self.outside, target);
        }
        let count = target.count();
        let judged = if is_plain { (1..=COUNT_MAX).contains(&count) } else { may_be_judged(target) };
        if judged && push_within(&mut self.nodes, target) {
            set_cell(target, 2);
            self.counts += count as i64;
            return true;
        }
        // A mark has condemned it, or counting has: what refers to it is not judged here.
        if count == 0 || target.has(flag::DEAD) {
            return false;
        }
        self.met_unjudged = true;
        push_within(&mut self.outside, target)
    }

    /// Scan: a node with a reference from outside is live, and so is what it reaches; the number of the others. What
    /// was reached but not visited is outside. Of the `edges` that were followed, those that do not lead outside lead
    /// to nodes: if all counts add up to them, all is dead. If the candidate is live, so is all that it reaches.
    fn dead_nodes(&mut self, edges: i64) -> u64 {
        let (visited, beyond) = self.nodes.split_at(self.visited);
        if beyond.is_empty() && self.counts == edges - self.outside.len() as i64 {
            debug_assert!(visited.iter().all(|node| node.count() + 1 == cell_of(*node)));
            return visited.len() as u64;
        }
        let candidate = visited[0];
        if candidate.count() + 1 != cell_of(candidate) {
            return 0;
        }
        self.worklist.clear();
        beyond.iter().for_each(|&node| set_cell(node, LIVE));
        for &node in visited {
            if node.count() + 1 != cell_of(node) {
                set_cell(node, LIVE);
                self.worklist.push(node);
            }
        }
        let mut dead = visited.len() - self.worklist.len();
        while cell_of(candidate) != LIVE
            && let Some(node) = self.worklist.pop()
        {
            node.type_info().for_each_reference(node, Part::Whole, |target| {
                self.edges += 1;
                let cell = cell_of(target);
                if cell != 0 && cell != LIVE {
                    set_cell(target, LIVE);
                    self.worklist.push(target);
                    dead -= 1;
                }
            });
        }
        if cell_of(candidate) == LIVE { 0 } else { dead as u64 }
    }

    /// Everything that was reached is alive: what of it are candidates of the same cohort would be found so again, each
    /// by a trial of its own.
    fn note_alive(&mut self, heap: &mut Heap) {
        self.in_doubt = true;
        let home = self.nodes[0].block();
        for &node in &self.nodes {
            if node.block() == home && BUFFERED.get(node.granule()) {
                BUFFERED.clear(node.granule());
            }
        }
        // An ephemeron that is alive seems to hold its value, and by that its key: only a mark can tell.
        if !heap.services.specials.is_empty() && self.nodes.iter().any(|&node| heap.is_key(node)) {
            heap.suspects += 1;
        }
    }

    /// Whether so many weak slots hang on the dead that only a mark, which goes in slices, may clear them. `[BOUND]`
    fn has_too_many_slots(&mut self, heap: &mut Heap) -> bool {
        !heap.services.specials.is_empty() && heap.has_too_many_slots(dead(&self.nodes))
    }

    /// Whether finalizers come first. Those of all dead nodes are queued then.
    fn await_finalizers(&mut self, heap: &mut Heap) -> bool {
        if !dead(&self.nodes).any(ObjectRef::needs_finalizer) {
            return false;
        }
        self.list_dead_specials();
        heap.begin_reclaim_before_finalizers(&self.worklist);
        dead(&self.nodes).filter(|object| object.needs_finalizer()).for_each(|object| heap.await_finalizer(object));
        true
    }

    /// Onto the worklist, which has room for all nodes.
    fn list_dead_specials(&mut self) {
        self.worklist.clear();
        self.worklist.extend(dead(&self.nodes).filter(|node| node.has(flag::SPECIAL)));
    }

    /// CollectWhite: survivors lose the references that the dead held; the dead are reclaimed.
    fn collect_dead(&mut self, heap: &mut Heap, how_many: u64) {
        heap.note_cycles(dead(&self.nodes), |object| !matches!(cell_of(object), 0 | LIVE));
        if !heap.services.specials.is_empty() {
            self.list_dead_specials();
            heap.reclaim_special_all(&self.worklist);
        }
        if how_many as usize == self.nodes.len() {
            for &target in &self.outside {
                self.in_doubt |= release_survivor(heap, target);
            }
            self.forget_cells();
            std::mem::swap(&mut self.nodes, &mut self.worklist);
        } else {
            self.worklist.clear();
            self.worklist.extend(dead(&self.nodes));
            self.dead_edges = 0;
            for &node in &self.worklist {
                node.type_info().for_each_reference(node, Part::Whole, |target| {
                    self.dead_edges += 1;
                    if matches!(cell_of(target), 0 | LIVE) {
                        self.in_doubt |= release_survivor(heap, target);
                    }
                });
            }
            self.forget_cells();
        }
        heap.reclaim_all(&self.worklist);
    }

    fn forget_cells(&self) {
        for &node in &self.nodes {
            set_cell(node, 0);
        }
    }
}

/// The nodes of a judged trial that nothing outside holds.
fn dead(nodes: &[ObjectRef]) -> impl Iterator<Item = ObjectRef> + '_ {
    nodes.iter().copied().filter(|&node| cell_of(node) != LIVE)
}
