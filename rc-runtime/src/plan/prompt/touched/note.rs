//! An object is touched while a mark proves; is an object still there? `[EXACT]`

use crate::heap::Heap;
use crate::memory::block_state::state;
use crate::memory::range::{MARK, block_info};
use crate::object::{ObjectRef, prompt_flag};
use crate::plan::prompt::CellSpace;
use crate::services::special::FADES;
use crate::visit::Part;

impl Heap {
    /// If a mark is proving that the object is dead: it may not be.
    #[cold]
    #[inline(never)]
    pub fn note_touched(&mut self, object: ObjectRef) {
        if self.prompt.watch.is_on && !MARK.get(object.address()) {
            MARK.set(object.address());
            let watch = &mut self.prompt.watch;
            watch.starved |= !watch.touched.try_push(object);
        }
    }

    /// An ephemeron has another key while a mark proves: it may not be dead, whatever was found of its key.
    pub(crate) fn watch_ephemeron(&mut self, ephemeron: ObjectRef) {
        if self.prompt.watch.is_on {
            MARK.set(ephemeron.address());
            let watch = &mut self.prompt.watch;
            watch.starved |= !watch.touched.try_push(ephemeron);
        }
    }

    /// The host may keep objects that a running mark is about to prove dead: the proof begins anew.
    pub(crate) fn begin_proof_anew(&mut self) {
        self.prompt.watch.begin_anew |= self.prompt.watch.is_on;
    }

    /// The object is not being taken apart, and no mark has to be asked about it.
    #[inline(always)]
    pub(crate) fn is_whole_and_unwatched(&self, object: ObjectRef) -> bool {
        !object.has(prompt_flag::DYING | prompt_flag::DEAD) && !self.prompt.watch.asks_at_upgrades
    }

    /// A weak slot is read while a mark proves: what it yields is alive, and a candidate, as it may have been before
    /// the proof: what the program does with it goes by roots, of which nothing is noted.
    #[cold]
    #[inline(never)]
    pub(crate) fn upgrade_watched(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        let condemned = self.specials.mark_condemns && !MARK.get(object.address());
        let fades = self.specials.fading != 0 && self.special_of(object).is_some_and(|record| record.has(FADES));
        if object.has(prompt_flag::DYING | prompt_flag::DEAD) || condemned || fades {
            return None;
        }
        if self.prompt.watch.is_on && !MARK.get(object.address()) {
            self.note_candidate(object);
        }
        Some(object)
    }

    /// The watch goes on or off.
    pub fn set_watch(&mut self, is_on: bool) {
        self.prompt.watch.is_on = is_on;
        self.prompt.watch.dying_large.clear();
        self.prompt.watch.asks_at_upgrades = self.upgrades_ask();
    }

    /// From now on, or no longer, what is unmarked is dead, and no weak slot yields it.
    pub fn set_mark_condemns(&mut self, condemns: bool) {
        self.specials.mark_condemns = condemns;
        self.prompt.watch.asks_at_upgrades = self.upgrades_ask();
    }

    /// An object begins to fade, or has come to its end.
    pub(crate) fn note_what_fades(&mut self) {
        self.prompt.watch.asks_at_upgrades = self.upgrades_ask();
    }

    /// Whether an upgrade must ask for more than the object's header.
    pub(crate) fn upgrades_ask(&self) -> bool {
        self.prompt.watch.is_on || self.specials.mark_condemns || self.specials.fading != 0
    }

    /// Whether marks go in slices: with a pause goal, but not in zeal, which recounts the heap in between.
    pub fn marks_in_slices(&self) -> bool {
        self.sliced_drains && self.zeal.is_none()
    }

    /// Whether a mark in slices runs, or one is asked for at each safepoint.
    #[inline(always)]
    pub(crate) fn mark_wants_its_turn(&self) -> bool {
        self.prompt.watch.mark_runs || self.options.eager_marks && self.marks_in_slices()
    }

    /// Whether what was an object of this heap some time ago is one still, and is not being taken apart.
    pub fn is_still_there(&self, object: ObjectRef) -> bool {
        if !self.owns(object) {
            return false;
        }
        // SAFETY: the entry of a block of this heap.
        let is_there = match unsafe { (*block_info(object.block())).state } {
            state::CELLS => CellSpace::object_at(object.address()) == Some(object),
            state::LARGE => self.large.holds(object),
            _ => false,
        };
        is_there && !object.has(prompt_flag::DEAD | prompt_flag::DYING)
    }

    /// References that condemned objects have not let go of, to what lives on: for recounts.
    pub fn for_each_condemned_reference(&mut self, mut visit: impl FnMut(ObjectRef)) {
        if !self.prompt.watch.condemns {
            return;
        }
        let survives = |target: &ObjectRef| MARK.get(target.address());
        let is_condemned =
            |object: &ObjectRef| !MARK.get(object.address()) && !object.has(prompt_flag::DEAD | prompt_flag::DYING);
        let blocks = self.prompt.cells.owned.iter().flat_map(|&block| CellSpace::objects_in(block));
        let large = (0..self.large.places()).filter_map(|place| self.large.at(place));
        for object in blocks.chain(large).filter(is_condemned) {
            Heap::for_each_counted_reference(object, |target| {
                if survives(&target) {
                    visit(target);
                }
            });
        }
        if let Some((object, next)) = self.prompt.watch.condemned_large {
            let info = object.type_info();
            for chunk in next..info.chunk_count(info.length(object)) {
                info.for_each_reference(object, Part::Chunk(chunk), |target| {
                    if survives(&target) {
                        visit(target);
                    }
                });
            }
        }
    }
}
