//! The batch: trial deletion from all young objects together.
//!
//! The idea is CPython's generation 0 (Schemenauer 2000, "Garbage Collection for Python"), by blocks instead of lists;
//! its passes are Bacon and Rajan's. Members are the young objects of the batch's blocks, judged at a safepoint,
//! pending list drained, counts exact:
//!
//! | pass | does | result |
//! |---|---|---|
//! | subtract | a reference from member to member takes one from its target's count | members with counts left are held from outside |
//! | spread | a member with something left is alive, and what it reaches; what their references took is put back | the living members |
//! | free | the other members are dead: their references to the outside are dropped, their cells go back | |
//!
//! The counts themselves are the scratch memory: those of dead members need not be put back. Every pass goes over memory in
//! address order, which the second-level cache holds. Any subset would be sound: references from outside it keep their targets
//! alive.
//!
//! Survivors have grown up: from now on a decrement makes them candidates. One that happened before was not noted, so a
//! survivor that is held from outside may be in a dead ring with old objects: it becomes a candidate, as far as such trials pay
//! (`Sample`). What it reaches is judged with it. So are objects that were born grown up: roots have released them unnoted.
//!
//! Where batches free next to nothing, only every 2nd, 4th … 256th is judged. In the others all grow up unseen: garbage
//! among them is a mark's.

use super::ExactTrials;
use crate::plan::prompt::mark::BYTES_PER_OBJECT;
use crate::prefetch_queue::AHEAD;
use crate::sample::{EVERY_MAX, PAYS};
use tally_heap::memory::list::List;
use tally_heap::memory::range::{self, REACHED};
use tally_heap::object::prompt_flag::{self, SHAPE};
use tally_heap::plan::prompt::count::SETTLED;
use tally_heap::plan::prompt::{Bin, CellSpace};
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// No more may be passed over in a row than this part of the memory in use, so that a change of the program is seen soon.
const UNSEEN: u64 = 8;
/// In a header: no member. Its count does not say, or the trial does not, whether it is alive; or it is a candidate by itself.
const NO_MEMBER: u64 = ((prompt_flag::ACYCLIC
    | prompt_flag::CANDIDATE
    | prompt_flag::PENDING
    | prompt_flag::LARGE
    | prompt_flag::DYING
    | prompt_flag::DEAD) as u64)
    << 32
    | u32::MAX as u64;
/// In a header: settled for another reason than being young, as acyclic or as a candidate.
const STAYS_SETTLED: u64 = ((prompt_flag::ACYCLIC | prompt_flag::CANDIDATE) as u64) << 32;

/// The state that outlives a batch.
#[derive(Debug)]
pub struct Batch {
    worklist: List<ObjectRef>,
    /// References from members to non-members.
    outward: List<(ObjectRef, ObjectRef)>,
    /// There was no memory for some of them: the dead are looked through once more.
    forgot_outward: bool,
    /// Members of each block.
    members: List<u32>,
    every: u32,
    passed_over: u32,
    cells_passed_over: u64,
    has_odd: bool,
    has_special: bool,
}

/// The report of a batch.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(super) freed: u64,
    pub(super) edges: u64,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            worklist: List::new(),
            outward: List::new(),
            forgot_outward: false,
            members: List::new(),
            every: 1,
            passed_over: 0,
            cells_passed_over: 0,
            has_odd: false,
            has_special: false,
        }
    }
}

impl Batch {
    /// Judges the young objects when there are enough of them, or, unless `always`, lets them grow up when that has not
    /// paid lately.
    pub(crate) fn judge(&mut self, heap: &mut Heap, trials: &mut ExactTrials, always: bool) -> Judged {
        let mut judged = Judged::default();
        if !always && !heap.prompt.cells.nursery.is_due() {
            return judged;
        }
        let bounded = heap.marks_in_slices() && !always;
        let young = heap.prompt.cells.batch(bounded);
        let (blocks, cells) = (&young.blocks[..young.judged], young.cells);
        self.passed_over += 1;
        if !self.has_memory_for(young.members_max, blocks.len()) {
            self.let_grow_up(heap, blocks, cells);
        } else if always || self.passed_over >= self.every {
            self.judge_blocks(heap, trials, blocks, &mut judged);
            self.learn(&judged, cells);
            self.passed_over = 0;
        } else if (self.cells_passed_over + cells) * BYTES_PER_OBJECT > heap.kept_bytes() / UNSEEN {
            self.probe(heap, trials, (blocks, cells), &mut judged);
        } else {
            self.let_grow_up(heap, blocks, cells);
        }
        let (lists, alone) = (heap.free_lists(), heap.prompt.cells.take_alone());
        heap.prompt.cells.end_batch(young, &lists);
        // A root may have released them.
        alone.into_iter().filter(|object| !object.is_settled()).for_each(|object| trials.seed(heap, object));
        trials.note_seeds(heap);
        judged
    }

    /// Whether there is memory for what cannot be given up half-way: each member may be on the worklist.
    fn has_memory_for(&mut self, members: u64, blocks: usize) -> bool {
        self.members.clear();
        self.worklist.try_reserve_exact(members as usize) && self.members.try_reserve(blocks)
    }

    /// They are not judged.
    fn let_grow_up(&mut self, heap: &mut Heap, blocks: &[u32], cells: u64) {
        self.cells_passed_over += cells;
        heap.prompt.passed_over.note();
        // SAFETY: [OWNED] a block of this heap.
        blocks.iter().for_each(|&block| unsafe { CellSpace::grow_up(block) });
    }

    /// Judges the last block; if that has paid, the rest, too.
    fn probe(
        &mut self,
        heap: &mut Heap,
        trials: &mut ExactTrials,
        (blocks, cells): (&[u32], u64),
        judged: &mut Judged,
    ) {
        let (rest, last) = blocks.split_at(blocks.len().saturating_sub(1));
        // SAFETY: [OWNED] a block of this heap.
        rest.iter().for_each(|&block| unsafe { CellSpace::set_young(block, false) });
        self.judge_blocks(heap, trials, last, judged);
        let seen = cells * last.len() as u64 / blocks.len().max(1) as u64;
        // SAFETY: [OWNED] a block of this heap.
        rest.iter().for_each(|&block| unsafe { CellSpace::set_young(block, true) });
        if judged.freed * PAYS >= seen {
            // SAFETY: [OWNED] a block of this heap.
            last.iter().for_each(|&block| unsafe { CellSpace::set_young(block, false) });
            self.judge_blocks(heap, trials, rest, judged);
            // SAFETY: [OWNED] a block of this heap.
            last.iter().for_each(|&block| unsafe { CellSpace::set_young(block, true) });
            self.learn(judged, cells);
        } else {
            // SAFETY: [OWNED] a block of this heap.
            rest.iter().for_each(|&block| unsafe { CellSpace::grow_up(block) });
            self.cells_passed_over += cells - seen;
            heap.prompt.passed_over.note();
            self.learn(judged, seen);
        }
    }

    fn judge_blocks(&mut self, heap: &mut Heap, trials: &mut ExactTrials, blocks: &[u32], judged: &mut Judged) {
        judged.edges += self.subtract(heap, blocks);
        self.spread(heap, trials, blocks);
        if self.has_special && heap.marks_in_slices() {
            self.leave_to_mark(heap, blocks);
        }
        let special = if self.has_special { dead_special(blocks) } else { List::new() };
        if self.has_odd {
            heap.begin_reclaim_before_finalizers(&special);
            self.keep_finalizable(heap, blocks);
        } else {
            heap.begin_reclaim_all(&special);
        }
        let dead: List<ObjectRef> = special.into_iter().filter(|&object| is_dead(object)).collect();
        dead.iter().for_each(|&object| heap.dismantle(object));
        let let_go = dead.iter().flat_map(|&key| heap.values_of_key(key)).filter(|&value| is_shown(value)).collect();
        if heap.notes_cycles() {
            // SAFETY: [OWNED] a block of this heap.
            let cells = blocks.iter().flat_map(|&block| unsafe { CellSpace::carved(block) }.cells());
            heap.note_cycles(cells.filter(|cell| cell.meta() != 0), |object| object.meta() != 0 && is_dead(object));
        }
        match self.forgot_outward {
            false => self.release_outward(heap, trials),
            true => release_outward_of(heap, trials, blocks),
        }
        judged.freed += self.free(heap, blocks);
        trials.note_seeds(heap);
        note_let_go(heap, trials, let_go);
    }

    fn subtract(&mut self, heap: &mut Heap, blocks: &[u32]) -> u64 {
        let mut edges = 0;
        self.outward.clear();
        self.members.clear();
        (self.has_odd, self.has_special, self.forgot_outward) = (false, false, false);
        let (mut shape, mut fields): (u32, &'static [u32]) = (0, &[]);
        for &block in blocks {
            let mut members = 0;
            // SAFETY: [OWNED] a block of this heap.
            for object in unsafe { CellSpace::carved(block) }.cells() {
                let header = object.header();
                if header == 0 {
                    continue;
                }
                if !is_member(object, header) {
                    note_hub(heap, object, header);
                    continue;
                }
                members += 1;
                let meta = (header >> 32) as u32;
                if meta & SHAPE != shape {
                    let info = object.type_info();
                    self.has_odd |= info.has_finalizer;
                    self.has_special |= meta & prompt_flag::SPECIAL != 0;
                    if !info.fixed_only {
                        info.for_each_reference(object, Part::Whole, |target| {
                            edges += 1;
                            self.subtract_one(object, target);
                        });
                        continue;
                    }
                    (shape, fields) = (meta & SHAPE, info.fixed.as_slice());
                }
                for &offset in fields {
                    let word = object.slot(offset as u64).read();
                    if range::in_heap(word) {
                        edges += 1;
                        // SAFETY: [HEADER] a reference word of an object.
                        self.subtract_one(object, unsafe { ObjectRef::from_address(word) });
                    }
                }
            }
            self.members.push(members);
        }
        edges
    }

    #[inline(always)]
    fn subtract_one(&mut self, holder: ObjectRef, target: ObjectRef) {
        if is_young_member(target) {
            target.set_count(target.count() - 1);
        } else if !self.outward.try_push((holder, target)) {
            self.forgot_outward = true;
        }
    }

    fn spread(&mut self, heap: &mut Heap, trials: &mut ExactTrials, blocks: &[u32]) {
        for &block in blocks {
            // SAFETY: [OWNED] a block of this heap.
            for object in unsafe { CellSpace::carved(block) }.cells() {
                if object.count() > SETTLED {
                    let header = object.header();
                    if header != 0 && is_member(object, header) && !REACHED.get(object.granule()) {
                        trials.seed(heap, object);
                        self.show(object);
                    }
                }
            }
        }
    }

    /// The member is alive, and all that it reaches.
    fn show(&mut self, seed: ObjectRef) {
        REACHED.set(seed.granule());
        self.worklist.push(seed);
        while let Some(object) = self.worklist.pop() {
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                if is_young_member(target) {
                    target.set_count(target.count() + 1);
                    if !REACHED.get(target.granule()) {
                        REACHED.set(target.granule());
                        self.worklist.push(target);
                    }
                }
            });
        }
    }

    /// Dead members with more weak slots than may be cleared at once live until a mark in slices finds them. `[BOUND]`
    #[cold]
    fn leave_to_mark(&mut self, heap: &mut Heap, blocks: &[u32]) {
        for object in dead_special(blocks) {
            if is_dead(object) && heap.has_too_many_slots(std::iter::once(object)) {
                heap.suspects += 1;
                self.show(object);
            }
        }
    }

    /// Dead members with finalizers live until those have run, with all they reach; then they are judged again.
    fn keep_finalizable(&mut self, heap: &mut Heap, blocks: &[u32]) {
        let from = heap.services.finalizers.queue.len();
        for &block in blocks {
            // SAFETY: [OWNED] a block of this heap.
            for object in unsafe { CellSpace::carved(block) }.cells() {
                if object.meta() != 0 && is_dead(object) && object.needs_finalizer() {
                    heap.services.finalizers.queue.push_back(object);
                }
            }
        }
        for place in from..heap.services.finalizers.queue.len() {
            let object = heap.services.finalizers.queue[place];
            if !REACHED.get(object.granule()) {
                self.show(object);
            }
        }
        for place in from..heap.services.finalizers.queue.len() {
            heap.services.finalizers.queue[place].increment_exact();
        }
    }

    /// Objects outside lose the references from dead members.
    fn release_outward(&mut self, heap: &mut Heap, trials: &mut ExactTrials) {
        for (place, &(holder, target)) in self.outward.iter().enumerate() {
            if let Some((_, soon)) = self.outward.get(place + AHEAD) {
                soon.prefetch_count();
            }
            if !REACHED.get(holder.granule()) {
                trials.release(heap, target);
            }
        }
    }

    /// Frees the dead; the living have grown up.
    fn free(&self, heap: &mut Heap, blocks: &[u32]) -> u64 {
        let (mut bin, mut freed, buries) = (Bin::default(), 0, heap.zeal.is_some());
        for (&block, &members) in blocks.iter().zip(&self.members) {
            // SAFETY: [OWNED] this heap's block.
            let marks = unsafe { REACHED.block_words(block) };
            let none_lives = marks.iter().all(|&word| word == 0);
            // SAFETY: [OWNED] a block of this heap, in which nothing is alive.
            if none_lives && !buries && !self.has_special && unsafe { heap.prompt.cells.free_whole(block, members) } {
                freed += u64::from(members);
                continue;
            }
            // SAFETY: [OWNED] a block of this heap.
            for object in unsafe { CellSpace::carved(block) }.cells() {
                let header = object.header();
                if header & STAYS_SETTLED != 0 || header == 0 {
                    continue;
                }
                if is_member(object, header) && !REACHED.get(object.granule()) {
                    freed += 1;
                    heap.free_into(&mut bin, object, (header >> 32) as u32, buries);
                } else {
                    object.unsettle();
                }
            }
            marks.fill(0);
        }
        bin.empty();
        freed
    }

    /// `seen` cells were judged.
    fn learn(&mut self, judged: &Judged, seen: u64) {
        self.cells_passed_over = 0;
        self.every = if judged.freed * PAYS >= seen { 1 } else { (self.every * 2).min(EVERY_MAX) };
    }
}

/// The same, by another look at the dead members. No non-member has joined the batch since; one that is held for its
/// finalizer may look like none.
#[cold]
fn release_outward_of(heap: &mut Heap, trials: &mut ExactTrials, blocks: &[u32]) {
    // SAFETY: [OWNED] a block of this heap.
    for object in blocks.iter().flat_map(|&block| unsafe { CellSpace::carved(block) }.cells()) {
        if object.meta() != 0 && is_dead(object) {
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                if !is_young_member(target) && !is_shown(target) {
                    trials.release(heap, target);
                }
            });
        }
    }
}

/// Young, and its count says all about it.
#[inline(always)]
fn is_member(object: ObjectRef, header: u64) -> bool {
    header & NO_MEMBER == 0 && object.count() >= SETTLED
}

#[inline(always)]
fn is_young_member(object: ObjectRef) -> bool {
    CellSpace::is_young(object) && is_member(object, object.header())
}

/// Of an object that has a meta word: a member that nothing has shown to be alive.
#[inline(always)]
fn is_dead(object: ObjectRef) -> bool {
    is_member(object, object.header()) && !REACHED.get(object.granule())
}

/// A member that lives.
#[inline(always)]
fn is_shown(object: ObjectRef) -> bool {
    CellSpace::is_young(object) && REACHED.get(object.granule())
}

/// Survivors that ephemerons have released because their keys died in the batch. That took a reference from them
/// before they had grown up, when it is not noted; a ring was lost if that was its last reference from outside.
fn note_let_go(heap: &mut Heap, trials: &mut ExactTrials, let_go: List<ObjectRef>) {
    for object in let_go {
        if !object.has(prompt_flag::CANDIDATE) {
            trials.seed(heap, object);
            trials.note_seeds(heap);
        }
    }
}

/// Dead members with a record.
#[cold]
fn dead_special(blocks: &[u32]) -> List<ObjectRef> {
    // SAFETY: [OWNED] a block of this heap.
    let cells = blocks.iter().flat_map(|&block| unsafe { CellSpace::carved(block) }.cells());
    cells.filter(|cell| cell.meta() & prompt_flag::SPECIAL != 0 && is_dead(*cell)).collect()
}

/// A young object with so many references that its byte does not hold them is judged by itself.
#[inline(always)]
fn note_hub(heap: &mut Heap, object: ObjectRef, header: u64) {
    if object.is_settled() && header & (NO_MEMBER & !u64::from(u32::MAX)) == 0 && !object.is_stuck() {
        heap.note_candidate(object);
    }
}
