//! Death in bulk: objects whose count has reached zero release their references, and their memory is freed. `[COUNT]`

use super::{Shape, cell_start, for_field_count, make_room, push, reference};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::{self, BUFFERED, LIVE};
use crate::object::{ObjectRef, flag};
use crate::plan::deferred::count::STUCK;

impl Heap {
    /// Releases what plain objects at the end of the free queue refer to, and gives their memory back, while `units` last. Stops
    /// at one that is not plain, or that the log names. What is left of the units, and how many objects were freed.
    ///
    /// Not while a mark is running, and not in zeal.
    pub fn free_queued(&mut self, mut units: i64) -> (i64, u64) {
        debug_assert!(!self.mark_phase().keeps_the_dead() && self.zeal.is_none());
        let mut queue = std::mem::take(&mut self.deferred.free_queue);
        let mut shape = Shape::NONE;
        let before = self.statistics.freed_mature_objects;
        while units > 0
            && let Some(&object) = queue.last()
        {
            let plain = object.stamp() == 0 && shape.fits(object, object.meta(), flag::MATURE);
            if !plain {
                break;
            }
            units = for_field_count!(
                shape,
                self.free_alike(&mut queue, &shape, units),
                self.free_wide(&mut queue, &shape, units)
            );
        }
        self.deferred.free_queue = queue;
        (units, self.statistics.freed_mature_objects - before)
    }

    /// Objects that are dead, and whose references are released: frees their memory, or, while a mark is
    /// running, keeps it until the mark ends.
    pub fn reclaim_all(&mut self, dead: &[ObjectRef]) {
        if self.mark_phase().keeps_the_dead() || self.zeal.is_some() {
            for &object in dead {
                object.set_count(0);
                self.reclaim(object);
            }
            return;
        }
        let mut shape = Shape::NONE;
        let (mut freed, mut bytes, mut last_block) = (0, 0, u32::MAX);
        for &object in dead {
            object.set_count(0);
            let header = object.header();
            if header as u32 != 0 || !shape.fits(object, (header >> 32) as u32, flag::MATURE) {
                self.free(object);
                continue;
            }
            freed += 1;
            bytes += shape.cell;
            self.forget_cell(object, shape.cell, &mut last_block);
        }
        self.statistics.live_objects -= freed;
        self.statistics.live_bytes -= bytes;
        self.statistics.freed_mature_objects += freed;
    }

    /// A dead object is no candidate, its cell is free, and its block has had a death. What stays in the tables are its
    /// unlogged bits, which are cleared where memory is handed out again.
    #[inline(always)]
    fn forget_cell(&mut self, object: ObjectRef, cell: u64, last_block: &mut u32) {
        if BUFFERED.get(object.granule()) {
            BUFFERED.clear(object.granule());
        }
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.clear_cell(cell_start(object), cell_start(object) + cell) };
        let block = range::block_of(cell_start(object));
        if block != *last_block {
            *last_block = block;
            self.bump.blocks.note_death(block);
        }
    }

    /// Frees objects of one shape until another comes, or the units are used up.
    #[inline(never)]
    fn free_alike<const N: usize>(&mut self, queue: &mut List<ObjectRef>, shape: &Shape, units: i64) -> i64 {
        self.free_with(queue, shape, units, &shape.offsets::<N>())
    }

    /// The same for shapes with many fields.
    #[inline(never)]
    fn free_wide(&mut self, queue: &mut List<ObjectRef>, shape: &Shape, units: i64) -> i64 {
        self.free_with(queue, shape, units, shape.fields)
    }

    #[inline(always)]
    fn free_with(&mut self, queue: &mut List<ObjectRef>, shape: &Shape, mut units: i64, offsets: &[u32]) -> i64 {
        let Shape { meta, cell, .. } = *shape;
        let header = (meta as u64) << 32;
        let (mut freed, mut last_block) = (0, u32::MAX);
        while units > 0
            && let Some(&object) = queue.last()
        {
            if object.header() != header {
                break;
            }
            queue.pop();
            make_room(queue, offsets.len());
            units -= 2 + offsets.len() as i64;
            for &offset in offsets {
                let Some(target) = reference(object, offset.into()) else { continue };
                let count = target.count();
                if count == 1 {
                    // One that a mark has found dead, too, is passed over when its turn comes.
                    target.set_count(0);
                    push(queue, target);
                } else if count > 1 && count != STUCK {
                    target.set_count(count - 1);
                    if !BUFFERED.get(target.granule()) {
                        self.buffer_candidate(target);
                    }
                } else {
                    self.decrement(target);
                }
            }
            freed += 1;
            self.forget_cell(object, cell, &mut last_block);
        }
        self.statistics.live_objects -= freed;
        self.statistics.live_bytes -= freed * cell;
        self.statistics.freed_mature_objects += freed;
        units
    }
}
