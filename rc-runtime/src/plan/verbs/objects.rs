//! Verbs: to make, count, mark and find objects, and to make them immortal.

use crate::heap::{Heap, HeapEntry};
use crate::memory::heap_walk::HeapWalk;
use crate::memory::list::List;
use crate::memory::range::MARK;
use crate::object::{ObjectRef, flag};
use crate::out_of_memory::OutOfMemory;
use crate::plan::Plan;
use crate::plan::prompt::CellSpace;
use crate::type_registry::TypeInfo;

impl Heap {
    /// Clears the marks of all objects, in one piece.
    pub fn clear_marks(&self) {
        let blocks = match self.plan() {
            Plan::Deferred | Plan::Trace => &self.bump.blocks.owned,
            Plan::Prompt => &self.prompt.cells.owned,
        };
        let mut walk = HeapWalk::default();
        while let Some(place) = walk.next(blocks, &self.large) {
            // SAFETY: [OWNED] a place of this heap.
            unsafe { place.clear_marks() };
        }
    }

    /// Bytes of the cell that the object lies in: what the counters count.
    pub(crate) fn bytes_of_cell(&self, object: ObjectRef) -> u64 {
        match self.plan() {
            Plan::Prompt if !object.has(flag::LARGE) => CellSpace::cell_of(object),
            Plan::Deferred | Plan::Trace | Plan::Prompt => object.type_info().cell_bytes_of(object),
        }
    }

    /// Allocates a cell with a header for an object of this plan.
    #[inline(always)]
    pub(crate) fn allocate_cell_of_plan(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.allocate_uncounted(info, length),
            Plan::Prompt => self.allocate_counted(info, length),
        }
    }

    /// Allocates an object if that is a matter of a few instructions.
    #[inline(always)]
    pub(crate) fn allocate_at_once(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.bump_array(info, length),
            Plan::Prompt => self.allocate_at_hand(info, length),
        }
    }

    /// The same for an object of a fixed size, of which the maker takes care as of one that it owns: [`write_owned`](Self::write_owned)
    /// is its first reference. The maker writes all of its words.
    #[inline(always)]
    pub(crate) fn allocate_entry_at_once(&mut self, info: &TypeInfo, cell: u64) -> Option<ObjectRef> {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.bump_unwritten(info),
            Plan::Prompt => self.allocate_unwritten_at_hand(info, cell),
        }
    }

    /// Allocates a small object in the midst of the collector's work: no safepoint, and no collection for its sake.
    /// `None` where no memory is at hand. Under the prompt plan its count is one.
    ///
    /// The limit is for what the program allocates. What the collector needs, so that it can free, may take the heap beyond it; a block
    /// that it opens there is not the program's to go on in.
    pub(crate) fn allocate_aside(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        let limit = self.options.heap_limit.take();
        let before = self.bump.blocks.used_bytes();
        let object = match self.plan() {
            Plan::Deferred | Plan::Trace => self.allocate_uncounted_aside(info, length),
            Plan::Prompt => self.allocate_counted_aside(info, length),
        };
        self.options.heap_limit = limit;
        if self.bump.blocks.used_bytes() > before && !self.allows(0) {
            self.close_newest_block();
        }
        object
    }

    /// Takes away the count with which a new object is born, if it is: nothing refers to the object yet.
    #[inline(always)]
    pub(crate) fn disown(&mut self, object: ObjectRef) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => {
                object.set_exact_count(0);
                self.add_pending(object);
            }
        }
    }

    /// Whether the object may have a cell of `cell` bytes where it lies; it has one then.
    pub(crate) fn has_room_in_place(&mut self, info: &TypeInfo, object: ObjectRef, cell: u64) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.stretch_newest(info, object, cell),
            Plan::Prompt => self.has_room_in_cell(info, object, cell),
        }
    }

    /// Notes that a new object has its first record, or may have one from now on.
    #[inline(always)]
    pub(crate) fn note_special_birth(&mut self, object: ObjectRef) {
        match self.regime() {
            Plan::Deferred if object.is_mature() => {}
            Plan::Deferred => self.list_young_special(object),
            Plan::Prompt => {}
            Plan::Trace => self.list_special(object),
        }
    }

    /// The object's count, whatever the plan: at the last flip, where 255 is stuck, or now. Where nothing is counted every
    /// object has 1.
    pub fn count_of(&self, object: ObjectRef) -> u32 {
        match self.regime() {
            Plan::Deferred => object.count() as u32,
            Plan::Prompt => object.exact_count(),
            Plan::Trace => 1,
        }
    }

    /// Calls `visit` with every object that the plan knows: every mature object, or every object that is not
    /// dying.
    pub fn for_each_known(&mut self, visit: impl FnMut(&mut Heap, ObjectRef)) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.for_each_mature(visit),
            Plan::Prompt => self.for_each_counted(visit),
        }
    }

    /// Makes [`for_each_known`](Self::for_each_known) complete: no object is young, or none is at zero.
    pub(crate) fn make_known(mut heap: HeapEntry) {
        match heap.regime() {
            Plan::Deferred => heap.with_driver(|driver, heap| driver.epoch(heap)),
            Plan::Prompt => {
                Heap::drain_all(heap);
                heap.begin_proof_anew();
            }
            Plan::Trace => _ = heap.with_driver(|driver, heap| driver.collect(heap)),
        }
    }

    /// Whether an object that [`for_each_known`](Self::for_each_known) visits is not known to be dead.
    #[inline(always)]
    pub(crate) fn is_there(&self, object: ObjectRef) -> bool {
        match self.regime() {
            Plan::Deferred => self.is_there_by_count(object),
            Plan::Prompt => true,
            Plan::Trace => !object.has(flag::DEAD),
        }
    }

    /// Whether a mark that concerns the object has not reached it.
    #[inline(always)]
    pub fn is_unmarked(&self, object: ObjectRef) -> bool {
        let is_concerned = match self.regime() {
            Plan::Deferred => object.is_mature(),
            Plan::Prompt => true,
            Plan::Trace => !self.is_new(object),
        };
        is_concerned && !MARK.get(object.granule())
    }

    /// Makes the object immortal. A second call changes nothing.
    pub fn make_immortal(&mut self, object: ObjectRef) {
        match self.plan() {
            Plan::Deferred => self.make_immortal_at_flip(object),
            Plan::Prompt => self.make_immortal_at_once(object),
            Plan::Trace => self.make_immortal_root(object),
        }
    }

    /// Makes immortal objects mortal again.
    pub(crate) fn make_mortal(&mut self, objects: List<ObjectRef>) {
        match self.plan() {
            Plan::Deferred => self.make_mortal_at_flip(objects),
            Plan::Prompt => self.make_mortal_at_once(objects),
            Plan::Trace => objects.iter().for_each(|object| object.remove_flags(flag::IMMORTAL)),
        }
    }
}

impl TypeInfo {
    /// The meta word of a fresh object under `plan`.
    #[inline(always)]
    pub fn fresh_meta(&self, plan: Plan) -> u32 {
        match plan {
            Plan::Deferred | Plan::Trace => self.fresh_meta_deferred(),
            Plan::Prompt => self.fresh_meta_prompt(),
        }
    }
}

impl Plan {
    /// Whether a header with this meta word belongs to an object that is being taken apart: its payload is no longer
    /// as the program left it.
    pub(crate) fn is_taken_apart(self, meta: u32) -> bool {
        match self {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => meta & crate::object::prompt_flag::DYING != 0,
        }
    }

    /// Whether the allocator clears the padding before an object that needs more alignment than its neighbour's end
    /// has.
    pub(crate) fn clears_padding(self) -> bool {
        match self {
            Plan::Deferred | Plan::Trace => true,
            Plan::Prompt => false,
        }
    }
}
