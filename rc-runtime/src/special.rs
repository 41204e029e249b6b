//! Special objects: what the heap keeps about the few objects that need more than a header.
//!
//! An object with the flag `SPECIAL` has a record here; all others cost nothing, neither memory nor an instruction: where a pass
//! looks at `LARGE` or at an object's shape anyway, it looks at this flag by the same test. The record is made on first use, and
//! goes when nothing needs it any more or with the object's memory.
//!
//! The end of a special object, under both plans:
//!
//! | step | called by | does |
//! |---|---|---|
//! | [`Heap::begin_reclaim`] | whoever found it dead, before its finalizer; again if it is still dead after that | weak references to it are cleared |
//! | [`Heap::dismantle`] | whoever lets go of its references, after its finalizer | its own weak slots are forgotten |
//! | [`Heap::end_special`] | `free`, with its memory | ephemerons lose it as their key |
//!
//! A verdict on many objects takes the first step for all of them before any finalizer runs:
//! [`Heap::begin_reclaim_all`]. `[WEAK]`
//!
//! **Dead young objects** are never touched under the deferred plan, so those that are special stand on a list. When
//! the increments of a flip are done, whoever is on it and not mature is dead ([`Heap::judge_young_special`]): the cost
//! is that of the young special objects, not of the young.

use crate::errand::Errands;
use crate::heap::Heap;
use crate::list::List;
use crate::object::{ObjectRef, flag};
use crate::plan::Plan;
use crate::range::MARK;
use crate::weak::WeakSlot;
use rustc_hash::FxHashMap;

/// What the heap keeps about one special object.
#[derive(Debug, Default)]
pub struct Special {
    /// Weak slots that refer to it.
    pub(crate) referrers: List<u64>,
    /// Slots of the ephemerons whose key it is.
    pub(crate) ephemerons: List<u64>,
    /// Weak slots and keys in it.
    pub(crate) slots: List<u64>,
    /// Which registration of a finalizer its own is, for types whose finalizers run in reverse order; 0: none.
    pub(crate) registration: u64,
    /// Bytes that it owns outside the heap.
    pub(crate) external: u64,
    /// A value of the host that is dropped with its memory.
    pub(crate) host: Option<Box<dyn std::any::Any>>,
    /// Its reclaim begins together with that of others.
    pub(crate) condemned: bool,
    /// Its reclaim has begun: it was found dead, and its finalizer is to run.
    pub(crate) awaits_finalizer: bool,
    /// Its number, of a weak map; 0: it is none.
    pub(crate) map: u64,
    /// Its place in the queue of errands.
    pub(crate) errand: Option<u64>,
}

impl Special {
    fn is_needed(&self) -> bool {
        let weak = !(self.referrers.is_empty() && self.ephemerons.is_empty() && self.slots.is_empty());
        let hosts = self.external != 0 || self.host.is_some();
        weak || hosts || self.registration != 0 || self.errand.is_some() || self.map != 0
    }
}

/// How far the young special objects of the last flip are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Judgement {
    /// The increments are not done.
    #[default]
    Waits,
    /// They are marked as one set, from this place on.
    Condemn(usize),
    /// Weak references to them are cleared.
    Begin(usize),
    /// Those with finalizers are held until these have run.
    Finalize,
    /// What is still dead lets go of its keys.
    Dismantle(usize),
    /// And goes.
    End(usize),
}

/// The records of one heap.
#[derive(Debug, Default)]
pub struct Specials {
    pub(crate) records: FxHashMap<ObjectRef, Special>,
    /// Address of a weak slot → what it is.
    pub(crate) slots: FxHashMap<u64, WeakSlot>,
    /// Deferred plan: became special in the running epoch, before they were mature.
    young: List<ObjectRef>,
    /// The same, of the epoch before.
    pending: List<ObjectRef>,
    judgement: Judgement,
    /// Number of a weak map → its entries that have died and still stand in its table.
    pub(crate) dead_entries: FxHashMap<u64, u64>,
    pub(crate) maps_made: u64,
    /// What is to be done when the collector has returned.
    pub errands: Errands,
    /// Deferred plan: objects that weak slots have yielded since the last flip, each with a count, as if they had been
    /// roots of it.
    pub upgraded: List<ObjectRef>,
    /// Deferred plan: the backup mark has seen all there is; what is mature and unmarked is dead.
    pub mark_condemns: bool,
    /// Deferred plan: ephemerons that the running mark must not follow yet, as far as it knows.
    pub held_back: List<ObjectRef>,
    /// Deferred plan: the program has not run since the flip, and waits for the passes to end.
    pub mutator_waits: bool,
}

impl Specials {
    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Every special object.
    pub fn objects(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.records.keys().copied()
    }

    /// At a flip: what is young is pending.
    pub fn flip(&mut self) {
        debug_assert!(self.pending.is_empty());
        std::mem::swap(&mut self.young, &mut self.pending);
        self.judgement = Judgement::Waits;
    }

    /// Whether the young objects of the last flip are judged: who is not mature by now is dead. `[WEAK]`
    #[inline(always)]
    pub fn young_are_judged(&self) -> bool {
        self.judgement != Judgement::Waits
    }
}

impl Heap {
    /// The object's record; it is special from now on.
    pub fn special(&mut self, object: ObjectRef) -> &mut Special {
        if !object.has(flag::SPECIAL) {
            object.add_flags(flag::SPECIAL);
            if self.plan == Plan::Deferred && !object.is_mature() {
                match object.stamp() == self.epoch {
                    true => self.specials.young.push(object),
                    false => self.specials.pending.push(object),
                }
            }
        }
        self.specials.records.entry(object).or_default()
    }

    /// The record, if there is one.
    pub fn special_of(&mut self, object: ObjectRef) -> Option<&mut Special> {
        if object.has(flag::SPECIAL) { self.specials.records.get_mut(&object) } else { None }
    }

    /// The object is plain again if nothing needs its record.
    pub(crate) fn tidy_special(&mut self, object: ObjectRef) {
        if self.special_of(object).is_some_and(|record| !record.is_needed()) {
            self.specials.records.remove(&object);
            object.remove_flags(flag::SPECIAL);
        }
    }

    /// The object is dead: its finalizer runs next, or its memory goes. Weak references to it are cleared.
    #[cold]
    pub fn begin_reclaim(&mut self, object: ObjectRef) {
        let Some(record) = self.special_of(object) else { return };
        for address in std::mem::take(&mut record.referrers) {
            self.clear_weak_slot(address);
        }
    }

    /// The same for objects that are found dead together.
    pub fn begin_reclaim_all(&mut self, dead: &[ObjectRef]) {
        dead.iter().for_each(|&object| self.condemn_special(object, true));
        dead.iter().for_each(|&object| self.begin_reclaim(object));
        dead.iter().for_each(|&object| self.condemn_special(object, false));
    }

    fn condemn_special(&mut self, object: ObjectRef, condemned: bool) {
        if let Some(record) = self.special_of(object) {
            record.condemned = condemned;
        }
    }

    /// Objects that are found dead together are freed without finalizers: all that belongs before the first of them is freed.
    #[cold]
    pub fn reclaim_special_all(&mut self, dead: &[ObjectRef]) {
        self.begin_reclaim_all(dead);
        dead.iter().for_each(|&object| self.dismantle(object));
    }

    /// The mark has seen all there is, and finalizers come before what it condemns: weak references to that are cleared now.
    pub fn begin_reclaim_unmarked(&mut self) {
        let records = self.specials.records.keys().copied();
        let dead: List<ObjectRef> = records
            .filter(|object| object.is_mature() && !object.has(flag::DEAD) && object.count() != 0)
            .filter(|object| !MARK.get(object.address()))
            .collect();
        self.begin_reclaim_all(&dead);
    }

    /// The memory of a dead object is about to go.
    #[cold]
    pub fn end_special(&mut self, object: ObjectRef) {
        self.begin_reclaim(object);
        self.dismantle(object);
        self.end_key(object);
        object.remove_flags(flag::SPECIAL);
        if let Some(record) = self.specials.records.remove(&object) {
            if record.map != 0 {
                self.specials.dead_entries.remove(&record.map);
            }
            self.release_external_bytes(record.external);
            drop(record.host);
        }
    }

    /// Deferred plan, when the increments of the flip are done: what became special while young and is not mature is
    /// dead. Does up to `units` of work; what is left, and whether all is done. If it has queued objects for promotion,
    /// it is to be called again when those are promoted.
    pub fn judge_young_special(&mut self, mut units: i64) -> (i64, bool) {
        if self.specials.judgement == Judgement::Waits {
            self.specials.judgement = Judgement::Condemn(0);
        }
        while units > 0 {
            if self.specials.judgement == Judgement::Finalize {
                let (left, done) = self.judge_young_finalizable(units);
                if done {
                    self.specials.judgement = Judgement::Dismantle(0);
                }
                if !done || !self.promotion_queue.is_empty() {
                    return (left, false);
                }
                units = left;
            }
            let (at, judgement) = (self.specials.judgement.place(), self.specials.judgement);
            let Some(&object) = self.specials.pending.get(at) else {
                self.specials.judgement = match judgement {
                    Judgement::Waits | Judgement::Condemn(_) => Judgement::Begin(0),
                    Judgement::Begin(_) => Judgement::Finalize,
                    Judgement::Finalize => unreachable!("has no places"),
                    Judgement::Dismantle(_) => Judgement::End(0),
                    Judgement::End(_) => {
                        self.specials.pending.clear();
                        return (units, true);
                    }
                };
                continue;
            };
            units -= 4;
            let dead = !object.is_mature() && object.has(flag::SPECIAL);
            self.specials.judgement = match judgement {
                Judgement::Waits | Judgement::Condemn(_) => {
                    if dead {
                        self.condemn_special(object, true);
                    }
                    Judgement::Condemn(at + 1)
                }
                Judgement::Begin(_) => {
                    if dead {
                        self.begin_reclaim(object);
                    }
                    Judgement::Begin(at + 1)
                }
                Judgement::Finalize => unreachable!("has no places"),
                Judgement::Dismantle(_) => {
                    match dead {
                        true => self.dismantle(object),
                        false => self.condemn_special(object, false),
                    }
                    Judgement::Dismantle(at + 1)
                }
                Judgement::End(_) => {
                    if dead {
                        self.end_special(object);
                    }
                    Judgement::End(at + 1)
                }
            };
        }
        (units, false)
    }
}

impl Judgement {
    fn place(self) -> usize {
        match self {
            Judgement::Waits | Judgement::Finalize => 0,
            Judgement::Condemn(at) | Judgement::Begin(at) | Judgement::Dismantle(at) | Judgement::End(at) => at,
        }
    }
}
