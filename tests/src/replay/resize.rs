//! Storage that gets another number of elements: in place, or by another object, as the heap has it.
//!
//! The heap may do either, so its address says what the model does. What the old storage holds afterwards is not promised: in
//! the model it keeps its words. If it is reachable, something else holds it, and the heap must have kept them, too.

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::Word;
use crate::op::Place;

impl<H: HeapUnderTest> Replay<'_, H> {
    pub(super) fn resize(&mut self, place: Place, length: u32) -> Result<(), String> {
        let Some((owner, offset)) = self.resolve(place)? else { return Ok(()) };
        let owner_kind = self.model.object(owner).kind;
        let Word::Reference(old) = self.model.load(owner, offset) else { return Ok(()) };
        let (kind, before) = (self.model.object(old).kind, self.model.object(old).length);
        // A finalizer may hang itself into the first slot of an object.
        let may_be_overwritten = owner_kind.shape().finalizer.is_some()
            || offset == owner_kind.slot_offset(0) && !self.model.registered.is_empty();
        if !kind.has_tail() || may_be_overwritten {
            return Ok(());
        }
        // Bytes behind the last whole word are not compared: there are none.
        let (length, stride) = (u64::from(length), kind.shape().stride);
        let length = if stride < 8 { length / 8 * 8 } else { length };
        let holder = self.addresses[owner as usize];
        let resized = match self.heap.resize(holder, offset, length) {
            Ok(None) => return Ok(()),
            Ok(Some(address)) => Ok(address),
            Err(refusal) => Err(refusal),
        };
        if let Ok(address) = &resized
            && *address == self.addresses[old as usize]
        {
            self.model.resize(old, length);
            return self.after_work();
        }
        let Some(address) = self.after_allocation(resized, kind, length)? else { return Ok(()) };
        let new = self.enter(kind, length, address);
        self.model.take_words(new, old, before.min(length));
        self.model.store(owner, offset, Word::Reference(new));
        Ok(())
    }
}
