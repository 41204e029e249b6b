//! Trial deletion over exact counts: is this candidate part of a garbage cycle?
//!
//! The idea and its source stand in [`crate::plan::deferred::trial`]. The differences:
//! - Counts are exact and nothing runs meanwhile, so the trial subtracts in the headers, which lie beside the references it
//!   reads: while a trial runs, a member's stamp holds what its count has *left* when the references from inside are taken
//!   off, and its flag `DYING` says that it is a member. The counts that were are kept in a list, and the stamps put
//!   back before anyone looks; the count bytes stay as they are. `[TRIAL]`
//! - Everything in the trial is reachable from the candidate. So if the candidate has something left, all of it is alive; and if
//!   no member has, all of it is dead: neither result needs a second pass.
//! - It deepens in levels, of many times as many members each. At every level the members whose references have been followed are
//!   judged for themselves: any subset is sound, since references from outside it keep their targets alive. A small dead ring
//!   that hangs on a large live heap is found at the first level.
//! - First of all a candidate is tried with objects of about its age: a ring is made at once, so its block is as old as that of its
//!   neighbours, and what it hangs on is not even looked at (a cache miss for every reference it has).
//! - Each level has a budget of references to follow, filled by allocation and by success, so that candidates on a large live
//!   heap cost a bounded part of the allocation, whatever their number. A candidate that finds its level's budget empty waits for it.
//! - A trial that came to its end and found the candidate alive has found all its members alive: they are candidates no more.
//!
//! Large objects are not judged; cycles through them are the mark's.

use super::levels::LEVELS;
use super::round::Source;
use crate::budget::Budget;
use crate::sample::Sample;
use crate::slice::Slice;
use tally_heap::memory::list::{List, Queue};
use tally_heap::memory::range::{self, BUFFERED};
use tally_heap::object::prompt_flag::{self, SHAPE};
use tally_heap::plan::prompt::{Bin, CellSpace};
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Left counts of members that are alive.
const ALIVE: u32 = u32::MAX;

/// Trial state that outlives one trial.
#[derive(Debug, Default)]
pub struct ExactTrials {
    pub(super) members: List<Member>,
    worklist: List<ObjectRef>,
    /// References followed by the running trial.
    pub(super) edges: i64,
    /// Of those, references to non-members.
    outward: i64,
    /// Members with something left.
    left: usize,
    /// There was no memory for another member: the trial is given up.
    starved: bool,
    /// Members are about as old as this.
    within: Option<u16>,
    pub(super) budget: Budget<{ LEVELS.len() }>,
    /// The candidates that a round has taken over from the heap, and how many of them have been tried.
    pub(super) backlog: List<ObjectRef>,
    pub(super) backlog_at: usize,
    /// There was nothing left over when the backlog was taken over.
    pub(super) catches_up: bool,
    /// Candidates that roots hold: they were passed over, and go back when the round ends.
    pub(super) held: List<ObjectRef>,
    /// Candidates that wait for their level's budget.
    pub(super) waiting: [Queue<ObjectRef>; LEVELS.len()],
    /// Objects that lost references from dead rings.
    pub(super) orphans: Source,
    /// Young objects that were held from outside when their batch was judged.
    pub(super) seeds: Source,
    /// Seeds of the batch that is being judged.
    pub(super) new_seeds: List<ObjectRef>,
    /// Candidates tried with objects of about their age.
    pub(super) near: Sample,
    /// Candidates tried with all that they reach.
    pub(super) far: Sample,
    /// All candidates are tried, at any cost.
    pub(super) unbounded: bool,
    /// How many trials may follow before the program has its turn.
    pub(super) slice: Slice,
    /// Levels that a trial may come to: it is not interrupted.
    pub(super) levels: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    object: ObjectRef,
    count: u32,
    /// The count left of it before the spread of liveness overwrote that.
    left: u32,
}

impl Member {
    /// Ends the membership: the high part of the count stands in the header again.
    #[inline(always)]
    fn restore(self) {
        let object = self.object;
        object.set_header(object.meta() & !prompt_flag::DYING, self.count - object.low_count());
    }
}

/// The result of a trial.
pub(super) enum Verdict {
    Live,
    Garbage(u64),
    Finalizing,
    /// Not tried with all that it reaches: most of its like are alive.
    PassedOver,
    /// The level that it could not pay.
    Undecided(usize),
    /// So many weak slots hang on the dead that only a mark in slices may clear them. `[BOUND]`
    LeftToMark,
}

impl ExactTrials {
    /// Tries a candidate, for the first time or after it `waited` for a level's budget.
    pub(super) fn trial(
        &mut self,
        heap: &mut Heap,
        candidate: ObjectRef,
        waited: Option<usize>,
        unbounded: bool,
    ) -> Verdict {
        let (first, paid) = (waited.is_none(), waited.unwrap_or(0));
        self.edges = 0;
        if first && (unbounded || self.near.takes()) {
            let verdict = self.try_near(heap, candidate);
            let freed = if let Some(Verdict::Garbage(objects)) = verdict { objects } else { 0 };
            self.near.learn(freed, self.edges as u64);
            if let Some(verdict) = verdict {
                return verdict;
            }
        }
        if first && !unbounded {
            if !self.far.takes() {
                return Verdict::PassedOver;
            }
            if !self.can_pay(0) {
                return Verdict::Undecided(0);
            }
        }
        let near = self.edges;
        let verdict = self.try_far(heap, candidate, paid, unbounded);
        if first {
            let freed = if let Verdict::Garbage(objects) = verdict { objects } else { 0 };
            self.far.learn(freed, (self.edges - near) as u64);
        }
        verdict
    }

    /// Tries the candidate with all that it reaches, level by level.
    fn try_far(&mut self, heap: &mut Heap, candidate: ObjectRef, paid: usize, unbounded: bool) -> Verdict {
        self.begin(candidate, None);
        let (mut next, mut level) = (0, 0);
        loop {
            let before = self.edges;
            let limit = LEVELS.get(level).copied().unwrap_or(usize::MAX);
            next = self.gather(next, limit);
            if self.starved {
                self.restore(false);
                return Verdict::Undecided(level);
            }
            if !unbounded {
                self.budget.pay(level, self.edges - before);
            }
            let complete = next == self.members.len();
            if candidate.stamp() == 0
                && let Some(verdict) = self.judge(heap, next)
            {
                if !unbounded && let Verdict::Garbage(objects) = verdict {
                    self.reward(level, objects as i64);
                }
                return verdict;
            }
            if complete {
                self.restore(!self.starved);
                return if self.starved { Verdict::Undecided(level) } else { Verdict::Live };
            }
            level += 1;
            let affordable = level < self.levels && (level <= paid || self.can_pay(level));
            if !affordable && !unbounded {
                self.restore(false);
                return Verdict::Undecided(level);
            }
        }
    }

    fn begin(&mut self, candidate: ObjectRef, within: Option<u16>) {
        self.members.clear();
        (self.within, self.starved) = (within, false);
        (self.outward, self.left) = (0, 1);
        let count = candidate.exact_count();
        self.members.push(Member { object: candidate, count, left: 0 });
        candidate.set_header(candidate.meta() | prompt_flag::DYING, count);
    }

    /// Tries the candidate with objects of about its age: a ring is made at once, and the objects it hangs on are not visited.
    fn try_near(&mut self, heap: &mut Heap, candidate: ObjectRef) -> Option<Verdict> {
        self.begin(candidate, Some(CellSpace::age_of(candidate)));
        let next = self.gather(0, LEVELS[0]);
        if candidate.stamp() == 0
            && !self.starved
            && let Some(verdict) = self.judge(heap, next)
        {
            return Some(verdict);
        }
        self.restore(false);
        None
    }

    /// MarkGray: follows the references of members from place `next` on, until there are `limit` followed or no more. Answers
    /// the place of the first that was not.
    ///
    /// All it counts is in registers: what goes through it is an edge of every ring that a program drops. Expected cost: one
    /// load for the reference, one load and one store for the header behind it; once for each member a load of its count byte.
    fn gather(&mut self, mut next: usize, limit: usize) -> usize {
        let near = self.within;
        let (mut edges, mut outward, mut left) = (0, 0, self.left);
        let (mut shape, mut fields): (u32, &'static [u32]) = (0, &[]);
        let mut members = std::mem::take(&mut self.members);
        while next < members.len() && next < limit {
            let object = members[next].object;
            next += 1;
            let meta = object.meta();
            if meta & SHAPE != shape {
                let info = object.type_info();
                if !info.fixed_only {
                    // Its words, and so its references, are no more than that.
                    if !members.try_reserve(info.snapshot_words(object, Part::Whole)) {
                        self.starved = true;
                        break;
                    }
                    info.for_each_reference(object, Part::Whole, |target| {
                        edges += 1;
                        match follow(target, near, &mut left) {
                            Followed::Member => {}
                            Followed::Outside => outward += 1,
                            Followed::New(member) => members.push(member),
                        }
                    });
                    continue;
                }
                (shape, fields) = (meta & SHAPE, info.fixed.as_slice());
            }
            if !members.try_reserve(fields.len()) {
                self.starved = true;
                break;
            }
            let (start, mut length) = (members.as_mut_ptr(), members.len());
            for &offset in fields {
                let word = object.slot(offset as u64).read();
                if !range::in_heap(word) {
                    continue;
                }
                edges += 1;
                // SAFETY: [HEADER] a reference word of an object.
                match follow(unsafe { ObjectRef::from_address(word) }, near, &mut left) {
                    Followed::Member => {}
                    Followed::Outside => outward += 1,
                    Followed::New(member) => {
                        // SAFETY: [LIST] there is room for one for each field.
                        let end = unsafe { start.add(length) };
                        // SAFETY: [LIST] there is room for one for each field.
                        unsafe { end.write(member) };
                        length += 1;
                    }
                }
            }
            // SAFETY: [LIST] so many have been written.
            unsafe { members.set_len(length) };
        }
        self.members = members;
        self.edges += edges;
        self.outward += outward;
        self.left = left;
        next
    }

    /// The first `followed` members, of which the candidate has nothing left: frees the dead among them. `None` when there are
    /// none, or no memory to find out.
    fn judge(&mut self, heap: &mut Heap, followed: usize) -> Option<Verdict> {
        if followed == self.members.len() && self.left == 0 {
            return Some(self.end_all(heap));
        }
        self.worklist.clear();
        if !self.worklist.try_reserve(followed) {
            self.starved = true;
            return None;
        }
        self.spread(followed);
        let is_dead = |member: &Member| member.object.stamp() == 0;
        if !self.members[..followed].iter().any(is_dead) {
            self.members.iter().for_each(|member| member.object.set_stamp(member.left));
            return None;
        }
        Some(self.end_some(heap, followed))
    }

    /// Scan: the objects that a member with a count left reaches are alive, too.
    fn spread(&mut self, followed: usize) {
        debug_assert!(self.worklist.is_empty() && self.worklist.capacity() >= followed);
        for member in &mut self.members {
            member.left = member.object.stamp();
        }
        for member in &self.members[followed..] {
            member.object.set_stamp(ALIVE);
        }
        for member in &self.members[..followed] {
            if member.object.stamp() != 0 {
                member.object.set_stamp(ALIVE);
                // SAFETY: [LIST] there is room for all that were followed, and each comes once.
                unsafe { self.worklist.push_within(member.object) };
            }
        }
        while let Some(object) = self.worklist.pop() {
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                if target.has(prompt_flag::DYING) && target.stamp() != ALIVE {
                    target.set_stamp(ALIVE);
                    // SAFETY: [LIST] there is room for all that were followed, and each comes once; the others were
                    // alive from the start.
                    unsafe { self.worklist.push_within(target) };
                }
            });
        }
    }

    /// All members are dead.
    fn end_all(&mut self, heap: &mut Heap) -> Verdict {
        let is_odd = |member: &Member| member.object.has(prompt_flag::NON_TRIVIAL | prompt_flag::SPECIAL);
        if self.has_too_many_slots(heap, self.members.len()) {
            self.restore(false);
            return Verdict::LeftToMark;
        }
        if self.members.iter().any(is_odd) && self.holds_back(heap, self.members.len()) {
            return self.finalize(heap, self.members.len());
        }
        if self.outward != 0 {
            self.release_outward(heap, self.members.len());
        }
        self.free_members(heap);
        Verdict::Garbage(self.members.len() as u64)
    }

    /// Those of the first `followed` members with nothing left are dead.
    fn end_some(&mut self, heap: &mut Heap, followed: usize) -> Verdict {
        let is_dead = |member: &Member| member.object.stamp() == 0;
        let is_odd =
            |member: &Member| is_dead(member) && member.object.has(prompt_flag::NON_TRIVIAL | prompt_flag::SPECIAL);
        if self.has_too_many_slots(heap, followed) {
            self.restore(false);
            return Verdict::LeftToMark;
        }
        if self.members[..followed].iter().any(is_odd) && self.holds_back(heap, followed) {
            return self.finalize(heap, followed);
        }
        // The living get their counts back first, so that they can lose what the dead held.
        let mut dead = 0;
        for place in 0..self.members.len() {
            let member = self.members[place];
            if is_dead(&member) {
                self.members[dead] = member;
                dead += 1;
            } else {
                member.restore();
            }
        }
        self.members.truncate(dead);
        self.release_outward(heap, dead);
        self.free_members(heap);
        Verdict::Garbage(dead as u64)
    }

    fn has_too_many_slots(&self, heap: &mut Heap, followed: usize) -> bool {
        if heap.services.specials.is_empty() || !heap.marks_in_slices() {
            return false;
        }
        let dead = self.members[..followed].iter().map(|member| member.object).filter(|object| object.stamp() == 0);
        heap.has_too_many_slots(dead)
    }

    /// The last words of those of the first `followed` members that are dead; true when finalizers come first.
    #[cold]
    fn holds_back(&self, heap: &mut Heap, followed: usize) -> bool {
        let dead = || self.members[..followed].iter().map(|member| member.object).filter(|object| object.stamp() == 0);
        let special: List<ObjectRef> = dead().filter(|object| object.has(prompt_flag::SPECIAL)).collect();
        let finalizes = dead().any(ObjectRef::needs_finalizer);
        match finalizes {
            true => heap.begin_reclaim_before_finalizers(&special),
            false => heap.reclaim_special_all(&special),
        }
        finalizes
    }

    fn free_members(&self, heap: &mut Heap) {
        let members = self.members.iter().map(|member| member.object);
        heap.note_cycles(members, |object| object.has(prompt_flag::DYING));
        let (mut bin, buries) = (Bin::default(), heap.zeal.is_some());
        for member in &self.members {
            heap.free_into(&mut bin, member.object, member.object.meta(), buries);
        }
        bin.empty();
    }

    /// Objects outside lose the references from the first `dead` members, all of which are dead.
    fn release_outward(&mut self, heap: &mut Heap, dead: usize) {
        let (members, near) = (std::mem::take(&mut self.members), self.within);
        for member in &members[..dead] {
            member.object.type_info().for_each_reference(member.object, Part::Whole, |target| {
                if is_far(target, near) || !target.has(prompt_flag::DYING) {
                    self.release(heap, target);
                }
            });
        }
        self.members = members;
    }

    /// Dead members have finalizers: those run first, and the cycle is judged again after that.
    fn finalize(&mut self, heap: &mut Heap, followed: usize) -> Verdict {
        let mut held = List::new();
        for member in &self.members[..followed] {
            if member.object.stamp() == 0 && member.object.needs_finalizer() {
                held.push(member.object);
            }
        }
        self.restore(false);
        for object in held {
            unbuffer(object);
            object.increment_exact();
            heap.services.finalizers.queue.push_back(object);
        }
        // The candidate stays one, whether its finalizer is among them or not.
        let candidate = self.members[0].object;
        if candidate.has(prompt_flag::CANDIDATE) {
            heap.candidates.push(candidate);
        }
        Verdict::Finalizing
    }

    /// An ephemeron that is alive seems to hold its value, and by that its key: only a mark can tell.
    #[cold]
    pub(super) fn suspect_keys(&self, heap: &mut Heap) {
        heap.suspects += self.members.iter().any(|member| heap.is_key(member.object)) as u64;
    }

    /// Puts the counts back; if all are known to be alive, they are candidates no more.
    fn restore(&mut self, alive: bool) {
        for member in &self.members {
            let object = member.object;
            member.restore();
            if alive && object.has(prompt_flag::CANDIDATE) {
                unbuffer(object);
            }
        }
    }
}

enum Followed {
    /// The target is a member; it has one left less.
    Member,
    /// It is not judged.
    Outside,
    /// It is a member from now on.
    New(Member),
}

/// Whether a trial that stays near that age leaves the object out, whose header it has not looked at.
#[inline(always)]
fn is_far(target: ObjectRef, near: Option<u16>) -> bool {
    near.is_some_and(|age| CellSpace::age_of(target).wrapping_sub(age).wrapping_add(1) > 2)
}

/// One edge; `left` counts the members with something left.
#[inline(always)]
fn follow(target: ObjectRef, near: Option<u16>, left: &mut usize) -> Followed {
    if is_far(target, near) {
        // If the ring is dead it is released soon.
        target.prefetch_count();
        return Followed::Outside;
    }
    let header = target.header();
    let (meta, high) = ((header >> 32) as u32, header as u32);
    if meta & prompt_flag::DYING != 0 {
        target.set_stamp(high - 1);
        *left -= (high == 1) as usize;
        return Followed::Member;
    }
    let count = high.saturating_add(target.low_count());
    if meta & (prompt_flag::LARGE | prompt_flag::PENDING | prompt_flag::ACYCLIC) != 0
        || count.wrapping_sub(1) >= i32::MAX as u32
    {
        return Followed::Outside;
    }
    target.set_header(meta | prompt_flag::DYING, count - 1);
    *left += (count != 1) as usize;
    Followed::New(Member { object: target, count, left: 0 })
}

/// The object is no candidate any more; a decrement may make it one again.
pub(super) fn unbuffer(object: ObjectRef) {
    if object.has(prompt_flag::CANDIDATE) {
        BUFFERED.clear(object.granule());
        object.remove_flags(prompt_flag::CANDIDATE);
        object.unsettle();
    }
}
