//! Handles: references that a program holds across safepoints without a root of its own.

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::op::Register;
use crate::op::service::{GLOBAL_HANDLES, HANDLES_MAX};

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
}
