//! Objects are opened, written to, logged and closed. `[LOG]`

use crate::heap::Heap;
use crate::object::{ObjectRef, Slot, flag};
use crate::visit::Part;

impl Heap {
    /// Why the object cannot be open; `None` if it can. An open object is logged at each flip, so that marks follow what it refers to.
    pub fn open_refuses(&self, object: ObjectRef) -> Option<&'static str> {
        object.type_info().ephemeron.then_some(
            "what an ephemeron refers to is alive only with its key, and an open object holds it in any case",
        )
    }

    /// From now on the object is written to by [`write_open`](Self::write_open). Opening it twice means that it is to be closed twice.
    pub fn open_object(&mut self, object: ObjectRef) {
        debug_assert_eq!(self.open_refuses(object), None);
        // SAFETY: [ROOT] an object.
        let handle = unsafe { self.new_global(object.address()) };
        self.services.open_objects.open.push((object, handle));
        self.log_open(object);
        self.show_open(object);
    }

    /// It is an object like others again; false if it was not open.
    pub fn close_object(&mut self, object: ObjectRef) -> bool {
        let open = &mut self.services.open_objects.open;
        let Some(place) = open.iter().rposition(|&(other, _)| other == object) else { return false };
        let (_, handle) = open.swap_remove(place);
        // SAFETY: a global handle of this heap, which was made for the object.
        unsafe { self.free_global(handle) };
        true
    }

    /// Whether the object is open.
    pub fn is_open(&self, object: ObjectRef) -> bool {
        self.services.open_objects.open.iter().any(|&(other, _)| other == object)
    }

    /// Writes to an open object.
    #[inline(always)]
    pub fn write_open(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        debug_assert!(self.is_open(object));
        match self.frames_count() {
            true => self.write(object, slot, word),
            false => slot.store(word),
        }
    }

    /// Deferred plan: a flip has armed the barrier; that of open objects does its work now.
    #[inline(always)]
    pub fn log_open_objects(&mut self) {
        for place in 0..self.services.open_objects.open.len() {
            let (object, _) = self.services.open_objects.open[place];
            self.log_open(object);
        }
        self.services.open_objects.entries = self.log_entries();
    }

    /// Trace plan: a mark in slices has its snapshot. What open objects refer to belongs to it, and no barrier will show it.
    pub(crate) fn show_open_objects(&mut self) {
        for place in 0..self.services.open_objects.open.len() {
            let (object, _) = self.services.open_objects.open[place];
            self.show_open(object);
        }
    }

    fn show_open(&mut self, object: ObjectRef) {
        if self.shows_overwritten() && !self.is_new(object) {
            self.show_part(object, Part::Whole);
        }
    }

    /// How many entries of the log are those with which open objects began it.
    pub fn entries_of_open_objects(&self) -> u64 {
        self.services.open_objects.entries
    }

    fn log_open(&mut self, object: ObjectRef) {
        if !self.logs_writes() {
            return;
        }
        let info = object.type_info();
        if object.has(flag::LARGE) {
            for chunk in 0..info.chunk_count(info.length(object)) {
                self.log_chunk(object, chunk);
            }
        } else if object.stamp() != self.clock.epoch {
            // One that has the number of the epoch is young, or logged. Its block is not logged as a whole for it: garbage there would be
            // named by each log, and a mark would find alive what that refers to.
            self.log_alone(object);
            self.note_log_growth();
        }
    }
}
