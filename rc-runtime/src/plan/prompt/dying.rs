//! Dying structures, as a mark in slices sees them. `[EXACT]` `[BOUND]`
//!
//! References that dying objects still hold have counts, so a mark that has not come to them finds their targets alive all the
//! same, if these objects began to die before its proof. One that begins to die while the mark proves may have been counted as
//! suspected, with what it holds, and is not judged any more: what it holds counts as touched, so that the mark follows it. That
//! is shown where a small object goes to wait, and for the stack of the cascade when the program is about to run. A large object's
//! references are shown by the mark itself, a chunk at a time: those that are still held by then; a reference released meanwhile is
//! touched by that.

use super::Cascade;
use super::reclaim::DyingLarge;
use crate::heap::Heap;
use crate::object::{ObjectRef, prompt_flag};
use crate::visit::Part;

impl DyingLarge {
    /// Calls `visit` with references of the next chunk from `chunk` on that are still held, and with those that were taken from
    /// one that was unmarked; the chunk after that, and how many they were. `None` after the last.
    pub(super) fn visit_from(&self, chunk: u64, mut visit: impl FnMut(ObjectRef)) -> Option<(u64, i64)> {
        let mut visited = 0;
        if chunk <= self.chunk {
            self.references.iter().for_each(|&target| visit(target));
            visited += self.references.len() as i64;
        }
        let (chunk, info) = (chunk.max(self.chunk), self.object.type_info());
        if !info.has_references || chunk >= info.chunk_count(info.length(self.object)) {
            return (visited != 0).then_some((u64::MAX, visited));
        }
        info.for_each_reference(self.object, Part::Chunk(chunk), |target| {
            visited += 1;
            visit(target);
        });
        Some((chunk + 1, visited))
    }
}

impl Heap {
    /// The program runs before the cascade goes on: to a mark that proves, the objects on the stack count as touched.
    pub(super) fn touch_next_of(&mut self, cascade: &Cascade) {
        if self.mark_phase().watches() {
            cascade.next.into_iter().chain(cascade.release_stack.iter()).for_each(|object| self.note_touched(object));
        }
    }

    /// The same of all that an object holds that may have to wait. Of a large one the mark sees it a chunk at a time.
    #[cold]
    pub(super) fn touch_held(&mut self, object: ObjectRef) {
        match object.has(prompt_flag::LARGE) {
            true => self.note_dying_large(object),
            false => Heap::for_each_counted_reference(object, |target| self.note_touched(target)),
        }
    }

    /// A mark that begins to discover comes to what large objects that are being taken apart still hold.
    pub fn list_dying_large(&mut self) {
        self.prompt.touched.dying_large = self.prompt.dying_large().map(|dying| dying.object).collect();
        self.prompt.touched.dying_chunk = 0;
    }

    /// A large object begins to be taken apart.
    pub(super) fn note_dying_large(&mut self, object: ObjectRef) {
        let touched = &mut self.prompt.touched;
        touched.starved |= !touched.dying_large.try_push(object);
        touched.dying_chunk = 0;
    }

    /// Calls `visit` with some of what a large object that is being taken apart still holds. How many; `None` when nothing is
    /// left of any.
    pub fn visit_dying_large(&mut self, visit: impl FnMut(ObjectRef)) -> Option<i64> {
        let object = *self.prompt.touched.dying_large.last()?;
        let dying = self.prompt.dying_large().find(|dying| dying.object == object);
        let Some((chunk, visited)) = dying.and_then(|dying| dying.visit_from(self.prompt.touched.dying_chunk, visit))
        else {
            self.prompt.touched.dying_large.pop();
            self.prompt.touched.dying_chunk = 0;
            return Some(1);
        };
        self.prompt.touched.dying_chunk = chunk;
        Some(1 + visited)
    }
}
