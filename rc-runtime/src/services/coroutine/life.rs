//! A coroutine is made, enters and leaves the chain, dies.

use super::{ARGUMENT, RECORD};
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use crate::services::external::HostValue;
use std::any::Any;

/// What a stack takes while it sleeps in a small frame, with its page tables.
const STACK_BYTES: u64 = 8 << 10;

impl Heap {
    /// A stack takes memory from the system: it counts as allocated, since it comes back when a collection finds the coroutine dead.
    pub fn note_stack_memory(&mut self) {
        self.note_bytes_outside(STACK_BYTES);
    }

    /// A new coroutine that owns `value`, at whose address its record is. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn new_coroutine(&mut self, value: Box<dyn Any>, record: u64) -> Result<ObjectRef, OutOfMemory> {
        let value = HostValue::new(value);
        let object = self.allocate_cell(builtin::coroutine(), 0)?;
        object.slot(RECORD).store(record);
        self.rest(object).host = Some(value);
        Ok(object)
    }

    /// The coroutine keeps the argument of its entry, for an entry that has no root of it.
    pub fn keep_argument(&mut self, coroutine: ObjectRef, argument: ObjectRef) {
        self.write(coroutine, coroutine.slot(ARGUMENT), argument.address());
    }

    /// The entry has returned, or never goes on.
    #[inline(always)]
    pub fn forget_argument(&mut self, coroutine: ObjectRef) {
        let slot = coroutine.slot(ARGUMENT);
        if slot.read() != 0 {
            self.write(coroutine, slot, 0);
        }
    }

    /// Sets the function that is called when a coroutine is taken apart.
    pub fn on_coroutine_death(&mut self, on_death: fn(&mut Heap, ObjectRef)) {
        self.on_coroutine_death = Some(on_death);
    }

    /// The coroutine runs, and those in the chain wait.
    #[inline(always)]
    pub fn enter_coroutine(&mut self, coroutine: ObjectRef) {
        self.recount_handle(Some(coroutine), None);
        self.services.coroutines.chain.push(coroutine);
    }

    /// The one that runs does so no more; the one before it in the chain does.
    #[inline(always)]
    pub fn leave_coroutine(&mut self) {
        let left = self.services.coroutines.chain.pop();
        self.recount_handle(None, left);
    }

    /// Takes the dead coroutine's frames apart.
    #[cold]
    pub(crate) fn let_go_of_frames(&mut self, coroutine: ObjectRef) {
        if let Some(on_death) = self.on_coroutine_death {
            on_death(self, coroutine);
        }
    }
}
