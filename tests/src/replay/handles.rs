//! Handles: references that a program holds across safepoints without a root of its own; and open objects, each held by one.

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::op::service::{GLOBAL_HANDLES, HANDLES_MAX, OPEN_OBJECTS};
use crate::op::{Place, Register, Value};

impl<H: HeapUnderTest> Replay<'_, H> {
    pub(super) fn open_scope(&mut self) {
        self.model.scopes.push(self.model.handles.len());
        self.heap.open_scope();
    }

    pub(super) fn push_handle(&mut self, register: Register) {
        if self.model.handles.len() < HANDLES_MAX {
            let target = self.register(register);
            self.model.handles.push(target);
            self.heap.push_handle(target.map(|id| self.addresses[id as usize]));
        }
    }

    pub(super) fn peek_handle(&mut self, index: u8, into: Register) {
        let count = self.model.handles.len();
        if count > 0 {
            self.set_root(usize::from(into), self.model.handles[usize::from(index) % count]);
        }
    }

    pub(super) fn close_scope(&mut self) {
        if let Some(count) = self.model.scopes.pop() {
            self.model.handles.truncate(count);
            self.heap.close_scope();
        }
    }

    pub(super) fn abandon_scope(&mut self) {
        // An outer scope must exist, or the handles would never go.
        if self.model.scopes.len() > 1 {
            self.model.scopes.pop();
            self.heap.abandon_scope();
        }
    }

    pub(super) fn close_all_scopes(&mut self) {
        self.model.scopes.clear();
        self.model.handles.clear();
        self.heap.close_all_scopes();
    }

    pub(super) fn raise(&mut self, register: Register, count: u32) -> Result<(), String> {
        let target = self.register(register).map(|id| self.addresses[id as usize]);
        self.heap.raise(target, count);
        self.after_work()
    }

    pub(super) fn set_global_handle(&mut self, handle: u8, from: Option<Register>) {
        let (handle, target) = (usize::from(handle) % GLOBAL_HANDLES, from.and_then(|from| self.register(from)));
        self.model.global_handles[handle] = target;
        self.heap.set_global_handle(handle, target.map(|id| self.addresses[id as usize]));
    }

    pub(super) fn free_global_handle(&mut self, handle: usize) {
        self.model.global_handles[handle % GLOBAL_HANDLES] = None;
        self.heap.free_global_handle(handle % GLOBAL_HANDLES);
    }

    /// The object of that number is closed, and another is opened instead, if there is one with slots that is no ephemeron.
    pub(super) fn open(&mut self, number: usize, from: Option<Register>) {
        let number = number % OPEN_OBJECTS;
        if let Some(id) = self.model.open[number].take() {
            self.heap.close_object(self.addresses[id as usize]);
        }
        let can_be_open = |id: &u32| {
            let object = self.model.object(*id);
            object.kind.slot_count(object.length) != 0 && !object.kind.shape().ephemeron
        };
        let target = from.and_then(|from| self.register(from)).filter(can_be_open);
        self.model.open[number] = target;
        target.into_iter().for_each(|id| self.heap.open_object(self.addresses[id as usize]));
    }

    pub(super) fn open_write(&mut self, place: Place, value: Value) -> Result<(), String> {
        if let Some((id, offset)) = self.resolve(place)?
            && self.model.open.contains(&Some(id))
        {
            let loaded = self.word_for((self.model.object(id).kind, offset), value);
            self.store_slot_by(H::store_open, id, offset, loaded);
        }
        Ok(())
    }
}
