//! An object is touched while a mark proves; is an object still there? `[EXACT]`

use crate::heap::Heap;
use crate::memory::block_state::state;
use crate::memory::heap_walk::HeapWalk;
use crate::memory::range::{MARK, block_info};
use crate::object::{ObjectRef, prompt_flag};
use crate::plan::prompt::CellSpace;
use crate::services::special::FADES;
use crate::visit::Part;

impl Heap {
    /// If a mark is proving that the object is dead: it may not be.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_touched(&mut self, object: ObjectRef) {
        if self.mark_phase().watches() && !MARK.get(object.granule()) {
            MARK.set(object.granule());
            let touched = &mut self.prompt.touched;
            touched.starved |= !touched.objects.try_push(object);
        }
    }

    /// An ephemeron has another key while a mark proves: it may not be dead, whatever was found of its key.
    pub(crate) fn watch_ephemeron(&mut self, ephemeron: ObjectRef) {
        if self.mark_phase().watches() {
            MARK.set(ephemeron.granule());
            let touched = &mut self.prompt.touched;
            touched.starved |= !touched.objects.try_push(ephemeron);
        }
    }

    /// The host may keep objects that a running mark is about to prove dead: the proof begins anew.
    pub(crate) fn begin_proof_anew(&mut self) {
        self.prompt.touched.begin_anew |= self.mark_phase().watches();
    }

    /// The object is not being taken apart, and no mark has to be asked about it.
    #[inline(always)]
    pub(crate) fn is_whole_and_unwatched(&self, object: ObjectRef) -> bool {
        !object.has(prompt_flag::DYING | prompt_flag::DEAD) && !self.prompt.touched.asks_at_upgrades
    }

    /// A weak slot is read while a mark proves: what it yields is alive, and a candidate, as it may have been before
    /// the proof: the program uses it by roots, and nothing is noted for roots.
    #[cold]
    #[inline(never)]
    pub(crate) fn upgrade_watched(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        let condemned = self.mark_phase().condemns() && !MARK.get(object.granule());
        let fades =
            self.services.specials.fading != 0 && self.special_of(object).is_some_and(|record| record.has(FADES));
        if object.has(prompt_flag::DYING | prompt_flag::DEAD) || condemned || fades {
            return None;
        }
        if self.mark_phase().watches() && !MARK.get(object.granule()) {
            self.note_candidate(object);
        }
        Some(object)
    }

    /// The object is among those that a mark has condemned, and that go in slices.
    #[inline(always)]
    pub(crate) fn is_going(&self, object: ObjectRef) -> bool {
        self.mark_phase().frees() && !MARK.get(object.granule())
    }

    /// An object begins to fade, or has come to its end; or a mark has come to another phase.
    pub(crate) fn note_what_fades(&mut self) {
        self.prompt.touched.asks_at_upgrades = self.upgrades_ask();
        self.note_what_yields();
    }

    /// Whether an upgrade must ask for more than the object's header.
    pub(crate) fn upgrades_ask(&self) -> bool {
        self.mark_phase().asks_at_upgrades() || self.services.specials.fading != 0
    }

    /// Whether marks go in slices: with a pause goal, but not in zeal, which recounts the heap in between.
    pub fn marks_in_slices(&self) -> bool {
        self.prompt.sliced_drains && self.zeal.is_none()
    }

    /// Whether a mark in slices runs, or one is asked for at each safepoint.
    #[inline(always)]
    pub(crate) fn mark_wants_its_turn(&self) -> bool {
        self.mark_phase().wants_turns() || self.options.eager_marks && self.marks_in_slices()
    }

    /// Whether a former object of this heap still is one, and is not being taken apart.
    pub fn is_still_there(&self, object: ObjectRef) -> bool {
        if !self.owns(object) {
            return false;
        }
        // SAFETY: [OWNED] the entry of a block of this heap.
        let is_there = match unsafe { (*block_info(object.block())).state.get() } {
            // SAFETY: [OWNED] a block of this heap.
            state::CELLS => (unsafe { CellSpace::object_at(object.address()) }) == Some(object),
            state::LARGE => self.large.holds(object),
            _ => false,
        };
        is_there && !object.has(prompt_flag::DEAD | prompt_flag::DYING)
    }

    /// References to live objects that condemned objects have not released yet: for recounts.
    pub fn for_each_condemned_reference(&mut self, mut visit: impl FnMut(ObjectRef)) {
        if !self.mark_phase().frees() {
            return;
        }
        let survives = |target: &ObjectRef| MARK.get(target.granule());
        let is_condemned =
            |object: &ObjectRef| !MARK.get(object.granule()) && !object.has(prompt_flag::DEAD | prompt_flag::DYING);
        let mut walk = HeapWalk::default();
        let places = std::iter::from_fn(|| walk.next(&self.prompt.cells.owned, &self.large));
        // SAFETY: a place of this heap.
        for object in places.flat_map(|place| unsafe { CellSpace::objects_at(place) }).filter(is_condemned) {
            Heap::for_each_counted_reference(object, |target| {
                if survives(&target) {
                    visit(target);
                }
            });
        }
        if let Some((object, next)) = self.prompt.touched.condemned_large {
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
