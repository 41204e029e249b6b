//! Handles are opened, set, counted, closed. `[ROOT]`

use super::{CHUNK, CHUNK_BYTES, FREE, GLOBALS, Globals, object_in};
use crate::fatal::{self, STATUS_USAGE};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::zeal::access::FOREIGN;

impl Heap {
    /// A new scoped handle: the address of its word.
    ///
    /// # Safety
    /// `word` is a reference or null, or lies outside the heap. `[ROOT]`
    #[inline(always)]
    pub unsafe fn new_handle(&mut self, word: u64) -> u64 {
        // SAFETY: [ROOT] the word is a reference or null.
        if let Some(handle) = unsafe { self.context_mut().push_handle(word) } {
            return handle;
        }
        self.grow_handles();
        // SAFETY: [ROOT] the word is a reference or null.
        unsafe { self.context_mut().push_handle(word) }.expect("a new chunk has room")
    }

    /// The same for an object with a count that becomes the handle's.
    pub fn new_owning_handle(&mut self, object: ObjectRef) -> u64 {
        self.count_new_handles();
        self.note_owning_handle();
        // SAFETY: [ROOT] the word is a reference or null.
        unsafe { self.new_handle(object.address()) }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn grow_handles(&mut self) {
        let chunk = self.services.handles.spare.pop().unwrap_or_else(|| List::zeroed(CHUNK));
        self.services.handles.chunks.push(chunk);
        let start = self.services.handles.start();
        let context = self.context_mut();
        (context.handle_top, context.handle_end) = (start, start + CHUNK_BYTES);
    }

    /// Opens a scope: what closes it.
    #[inline(always)]
    pub fn open_handles(&mut self) -> u64 {
        self.context_mut().handle_top
    }

    /// Closes a scope, and those that were opened in it: their handles are none any more. `mark` is what
    /// [`open_handles`](Self::open_handles) answered; 0 closes all.
    pub fn close_handles(&mut self, mark: u64) {
        loop {
            let (start, top) = (self.services.handles.start(), self.context_mut().handle_top);
            let is_here = start != 0 && (start..=top).contains(&mark);
            self.release_handles(if is_here { mark } else { start }, top);
            if is_here {
                self.context_mut().handle_top = mark;
                return;
            }
            let left = self.services.handles.chunks.pop();
            self.services.handles.spare.extend(left);
            let end =
                if self.services.handles.chunks.is_empty() { 0 } else { self.services.handles.start() + CHUNK_BYTES };
            let context = self.context_mut();
            (context.handle_top, context.handle_end) = (end, end);
            if end == 0 {
                if mark != 0 {
                    let what = "tally_handles_close was given what tally_handles_open of this thread did not answer, or \
                                what belongs to a scope that is closed";
                    fatal::stop(STATUS_USAGE, what);
                }
                return;
            }
        }
    }

    /// The handles from `bottom` up to `top`, in the newest chunk, go; the last first.
    pub(in crate::services::handle) fn release_handles(&mut self, bottom: u64, top: u64) {
        let left = self.services.handles.len(bottom);
        // Those that are counted; under the deferred plan none is.
        if self.services.handles.counted > left {
            let mut at = self.services.handles.counted.min(self.services.handles.len(top));
            while at > left {
                at -= 1;
                if let Some(object) = object_in(self.services.handles.word(at)) {
                    self.decrement_root(object);
                }
            }
            self.services.handles.counted = left;
        }
    }

    /// Prompt plan: counts the handles pushed since the last safepoint.
    #[inline(always)]
    pub(crate) fn count_handles(&mut self) {
        let top = self.context_mut().handle_top;
        let len = self.services.handles.len(top);
        if self.services.handles.counted < len {
            self.count_handles_up_to(len);
        }
    }

    /// Prompt plan: the handle that is pushed next has a count.
    pub(crate) fn note_counted_handle(&mut self) {
        self.services.handles.counted += 1;
    }

    #[cold]
    pub(in crate::services::handle) fn count_handles_up_to(&mut self, len: usize) {
        for at in self.services.handles.counted..len {
            if let Some(object) = self.object_of_handle(self.services.handles.word(at)) {
                object.increment_exact();
            }
        }
        self.services.handles.counted = len;
    }

    /// Lets a scoped handle hold something else.
    ///
    /// # Safety
    /// `handle` is one of this heap, and its scope is open; `word` is a reference or null.
    pub unsafe fn set_handle(&mut self, handle: u64, word: u64) {
        let place = self.services.handles.place_of(handle);
        let counted = place.is_some_and(|place| place < self.services.handles.counted);
        // SAFETY: by the caller's promise.
        let old = unsafe { std::mem::replace(&mut *(handle as *mut u64), word) };
        if counted {
            self.recount_exactly(object_in(word), object_in(old));
        }
    }

    /// A new global handle.
    ///
    /// # Safety
    /// `word` is a reference or null, or lies outside the heap. `[ROOT]`
    pub unsafe fn new_global(&mut self, word: u64) -> u64 {
        if self.services.handles.free_globals.is_empty() {
            let mut globals = Box::new(Globals([FREE; GLOBALS]));
            let start = globals.0.as_mut_ptr() as u64;
            let handles = &mut self.services.handles;
            handles.free_globals.extend((0..GLOBALS).rev().map(|at| start + at as u64 * 8));
            handles.starts_of_globals.insert(start);
            handles.globals.push(globals);
        }
        let global = self.services.handles.free_globals.pop().expect("just made");
        // SAFETY: a free word of a chunk.
        unsafe { *(global as *mut u64) = 0 };
        // SAFETY: a free word of a chunk.
        unsafe { self.set_global(global, word) };
        global
    }

    /// Why a function must not be given that as a global handle, if so.
    pub fn global_refuses(&self, global: u64) -> Option<&'static str> {
        if !self.services.handles.has_global(global) {
            return Some("which is no global handle of this thread's heap");
        }
        // SAFETY: [ROOT] a word among the heap's global handles.
        (unsafe { *(global as *const u64) } == FREE).then_some("a handle that is free already")
    }

    /// Lets a global handle hold something else.
    ///
    /// # Safety
    /// `global` is one of this heap that is not freed; `word` is a reference or null.
    pub unsafe fn set_global(&mut self, global: u64, word: u64) {
        // SAFETY: by the caller's promise.
        let old = unsafe { std::mem::replace(&mut *(global as *mut u64), word) };
        self.recount_handle(object_in(word), object_in(old));
    }

    /// Frees a global handle.
    ///
    /// # Safety
    /// `global` is one of this heap. Freed twice, it stops the program.
    pub unsafe fn free_global(&mut self, global: u64) {
        // SAFETY: by the caller's promise.
        if unsafe { *(global as *const u64) } == FREE {
            fatal::stop(STATUS_USAGE, "tally_global_free: this handle is free already");
        }
        // SAFETY: by the caller's promise.
        unsafe { self.set_global(global, 0) };
        // SAFETY: by the caller's promise.
        unsafe { *(global as *mut u64) = FREE };
        self.services.handles.free_globals.push(global);
    }

    /// Every reference that a handle holds.
    pub(crate) fn for_each_handle(&self, mut visit: impl FnMut(ObjectRef)) {
        self.for_each_handle_by_kind(|object, _| visit(object));
    }

    /// The same, with whether the handle is a global one.
    pub(crate) fn for_each_handle_by_kind(&self, mut visit: impl FnMut(ObjectRef, bool)) {
        // SAFETY: [CONTEXT] the context through which this heap allocates.
        let top = unsafe { (*self.context).handle_top };
        (0..self.services.handles.len(top))
            .filter_map(|at| self.object_of_handle(self.services.handles.word(at)))
            .for_each(|object| visit(object, false));
        self.services
            .handles
            .globals
            .iter()
            .flat_map(|globals| &globals.0)
            .filter_map(|&word| object_in(word))
            .for_each(|object| visit(object, true));
    }

    /// The object that a scoped handle holds. That it is this heap's is asked when the handle is read, since a push is to cost next to nothing.
    fn object_of_handle(&self, word: u64) -> Option<ObjectRef> {
        let object = object_in(word)?;
        if !self.owns(object) {
            fatal::stop(STATUS_USAGE, &format!("a handle holds {word:#x}, {FOREIGN}"));
        }
        Some(object)
    }

    /// Calls `visit` with everything that a host holds: on the stack of a host in Rust, and by handles; and with the
    /// coroutines that run.
    pub fn for_each_host_reference(&self, mut visit: impl FnMut(ObjectRef)) {
        self.services.host_roots.iter().for_each(&mut visit);
        self.services.coroutines.chain().iter().copied().for_each(&mut visit);
        self.for_each_handle(visit);
    }
}
