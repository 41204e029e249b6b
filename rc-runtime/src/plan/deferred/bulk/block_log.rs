//! Logging a block as a whole: in address order, where a program's own writes come in any. `[LOG]` `[PENDING]`

use super::Shape;
use crate::heap::Heap;
use crate::memory::heap_walk::next_live;
use crate::memory::range::{BLOCK_BYTES, MARK, UNLOGGED, block_start};
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::plan::bump::clear_unlogged;
use crate::plan::deferred::log;

impl Heap {
    /// Logs every object of the block that is not logged yet. Objects whose count is zero are dead, and no pass will
    /// write to them; nor to what a mark that has discovered all has not reached. (Such an object, logged, was counted
    /// once more as pending, and what it held was freed by the mark before the log released it.)
    #[cold]
    pub(crate) fn log_block(&mut self, block: u32) {
        self.statistics.blocks_logged += 1;
        let condemns = self.mark_phase().condemns();
        let (mut shape, mut run) = (Shape::NONE, Run::default());
        let end = block_start(block) + BLOCK_BYTES;
        let mut cell = block_start(block);
        while let Some(object) = next_live(cell, end) {
            let plain = shape.fits(object, object.meta(), flag::MATURE);
            let bytes = if plain { shape.cell } else { object.type_info().cell_bytes_of(object) };
            cell = object.address() - HEADER_BYTES + bytes;
            if !UNLOGGED.get(object.granule()) || object.count() == 0 || condemns && !MARK.get(object.granule()) {
                continue;
            }
            if plain && !shape.fields.is_empty() {
                self.log_alike(object, &shape, &mut run);
            } else if !object.has(flag::DEAD) && object.type_info().has_references {
                self.end_run(&mut run);
                self.log_object(object);
            }
        }
        self.end_run(&mut run);
    }

    #[inline(always)]
    fn log_alike(&mut self, object: ObjectRef, shape: &Shape, run: &mut Run) {
        if self.deferred.counting && object.stamp() == self.clock.epoch - 1 {
            self.count_pending(object);
        }
        let mut tail = self.deferred.log.tail();
        if tail.len() <= run.used + shape.fields.len() {
            self.end_run(run);
            self.deferred.log.add_room();
            tail = self.deferred.log.tail();
        }
        let entry = &mut tail[run.used..run.used + 1 + shape.fields.len()];
        let has_any = log::copy_references(object, shape.fields, &mut entry[1..]);
        let words = if has_any { shape.fields.len() } else { 0 };
        entry[0] = log::plain_head(object, words);
        run.used += 1 + words;
        run.entries += 1;
        object.set_stamp(self.clock.epoch);
        clear_unlogged(object, shape.cell);
    }

    /// The log takes over what a run has written behind its end.
    #[inline(always)]
    fn end_run(&mut self, run: &mut Run) {
        self.deferred.log.take_tail(run.used, run.entries);
        *run = Run::default();
    }
}

/// Entries written behind the log's end, of which it does not know yet.
#[derive(Default)]
struct Run {
    /// Their words.
    used: usize,
    entries: u64,
}
