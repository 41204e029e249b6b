//! How the areas in which compiled code allocates are closed: at flips, at the end of a hole, and when counts are asked for.
//!
//! Compiled code bumps the cursor and counts nothing. What it allocated in a hole is counted when the hole is closed, by walking
//! the headers between the hole's start and the cursor.

use super::block::{Hole, SMALLEST_HOLE};
use crate::heap::Heap;
use crate::object::{HEADER_BYTES, ObjectRef};

impl Heap {
    /// Counts the objects allocated in the current hole.
    pub fn count_hole(&mut self) {
        let (start, end) = (self.bump.hole_start, self.context_mut().cursor);
        if start != 0 && self.options.count_objects {
            self.count_cells(start, end);
            self.bump.hole_start = end;
        }
    }

    /// Closes the current hole: the objects allocated in it are counted, the rest is left to the next sweep.
    pub(crate) fn retire_hole(&mut self) {
        self.count_hole();
        let cursor = self.context_mut().cursor;
        self.count_for_sample(cursor);
        self.bump.hole = Hole::NONE;
        self.bump.hole_start = 0;
        let context = self.context_mut();
        (context.cursor, context.limit) = (0, 0);
    }

    /// Cells follow each other without gaps but for zeroed alignment padding.
    fn count_cells(&mut self, mut at: u64, end: u64) {
        while at < end {
            // SAFETY: between a hole's start and the cursor stand headers, payloads and zeroed padding.
            if unsafe { *(at as *const u64) } == 0 {
                at += 8;
                continue;
            }
            // SAFETY: [HEADER] not padding, so a cell.
            let object = unsafe { ObjectRef::from_address(at + HEADER_BYTES) };
            let bytes = object.type_info().cell_bytes_of(object);
            self.count_birth(bytes);
            at += bytes;
        }
    }

    /// At a flip: the hole and the fragments are closed. Zeal has a flip per allocation and never reuses memory; it goes on in
    /// the rest of the hole, or each object would take a block.
    pub fn retire_allocation(&mut self) {
        let rest = Hole { start: self.context_mut().cursor, end: self.bump.hole.end };
        self.retire_hole();
        self.bump.fragments.clear();
        if self.zeal.is_some() && rest.start != 0 && rest.end - rest.start >= SMALLEST_HOLE {
            self.bump.hole = rest;
            self.bump.hole_start = rest.start;
            self.context_mut().cursor = rest.start;
        }
    }

    /// The block that was opened last is beyond the heap limit: nothing more is allocated in it.
    #[cold]
    pub(in crate::plan) fn close_newest_block(&mut self) {
        self.retire_hole();
        self.bump.fragments.clear();
        self.bump.blocks.hold_newest_back();
    }

    /// After a flip has armed the barriers: objects allocated in a hole that stayed open are young all the same.
    pub fn keep_hole_open(&mut self) {
        if self.bump.hole.end != 0 {
            self.bump.blocks.keep_open(self.bump.hole);
        }
    }
}
