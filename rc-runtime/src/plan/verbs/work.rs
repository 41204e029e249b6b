//! Verbs: to request work, and to do it at safepoints.

use crate::heap::{Heap, HeapEntry};
use crate::plan::Plan;

impl Heap {
    /// Makes the next safepoint enter the runtime.
    #[inline(always)]
    pub(crate) fn request_safepoint(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.set_poll(true),
            Plan::Prompt => self.context_mut().pending = 1,
        }
    }

    /// The same, for finalizers or callbacks that are due there.
    #[inline(always)]
    pub(crate) fn request_callbacks(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.request_finalizer_turn(),
            Plan::Prompt => self.context_mut().pending = 1,
        }
    }

    /// Requests another turn after a turn of callbacks that did not call them all. Prompt plan: the end of the drain
    /// does so.
    pub(crate) fn put_callbacks_off(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.request_finalizer_turn(),
            Plan::Prompt => {}
        }
    }

    /// Requests the work that calls of the program have postponed, when no call made by the runtime is left.
    pub(crate) fn request_interrupted_work(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {
                if self.services.specials.post_clear.are_due() {
                    self.request_finalizer_turn();
                }
            }
            Plan::Prompt => {
                self.restore_settings();
                self.context_mut().pending = 1;
            }
        }
    }

    /// Makes the next allocation enter the runtime, however much room its hole has, and the next safepoint, too.
    pub(crate) fn request_work_at_allocation(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {
                self.retire_hole();
                self.set_poll(true);
            }
            Plan::Prompt => self.context_mut().pending = 1,
        }
    }

    /// The heap has a pause goal, or none any more.
    pub(crate) fn note_pause_goal(&mut self, has_goal: bool) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.services.finalizers.take_turns = has_goal,
            Plan::Prompt => self.prompt.sliced_drains = has_goal,
        }
    }

    /// Collects all unreachable objects. Returns the number of objects that died.
    pub fn collect(heap: HeapEntry) -> u64 {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => Heap::collect_in_rounds(heap),
            Plan::Prompt => Heap::prompt_collect(heap),
        }
    }

    /// An explicit collection in parts: works for about `ns` nanoseconds, and returns true when all is done, that is
    /// when no object is left that was unreachable at the first of these steps. The next step begins another
    /// collection.
    ///
    /// Under the prompt plan cycles are judged last, by a mark in slices; in zeal in one piece.
    /// The trace plan collects in one piece.
    pub fn step(heap: HeapEntry, ns: u64) -> bool {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => Heap::step_driver(heap, ns),
            Plan::Prompt => Heap::prompt_step(heap, ns),
        }
    }

    /// A safepoint: does the work that is due.
    pub fn poll(heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => Heap::poll_driver(heap),
            Plan::Prompt => Heap::prompt_safepoint(heap, &[]),
        }
    }

    /// A safepoint of a host in Rust: the same, if work was requested.
    pub fn poll_if_asked(mut heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {
                if heap.context_mut().poll != 0 {
                    Heap::poll_driver(heap);
                }
            }
            Plan::Prompt => Heap::prompt_safepoint(heap, &[]),
        }
    }

    /// Deferred plan: flips and runs the passes of the flip to their end, then finalizers. Prompt plan: everything at
    /// zero dies, and all candidates are tried. Trace plan: a collection.
    pub fn epoch(mut heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {
                heap.with_driver(|driver, heap| driver.epoch(heap));
                Heap::run_ready_finalizers(heap);
            }
            Plan::Prompt => Heap::prompt_epoch(heap),
        }
    }

    /// The same before a recount. Deferred plan: finalizers wait, because their writes are logged.
    pub fn epoch_before_recount(mut heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred => heap.with_driver(|driver, heap| driver.epoch(heap)),
            Plan::Prompt => Heap::prompt_epoch(heap),
            Plan::Trace => _ = heap.with_driver(|driver, heap| driver.collect(heap)),
        }
    }

    /// A safepoint of code that was lowered for zeal; the objects that `count` words from `words` on lead to survive.
    ///
    /// # Safety
    /// `count` words may be read at `words`.
    pub unsafe fn zeal_safepoint(mut heap: HeapEntry, words: *const u64, count: usize) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {
                // The bytes of a call's result, as the lowering passes them.
                let word = |index| words.wrapping_add(index);
                // SAFETY: by the caller's promise.
                heap.zeal_epoch((0..count).map(|index| unsafe { word(index).read_unaligned() }));
            }
            Plan::Prompt if count == 0 => Heap::prompt_safepoint(heap, &[]),
            // SAFETY: by the caller's promise.
            Plan::Prompt => Heap::prompt_safepoint(heap, unsafe { std::slice::from_raw_parts(words, count) }),
        }
    }

    /// Drains at the end, when no code of the program runs any more: the objects at zero die.
    pub(crate) fn drain_at_end(heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => Heap::drain_all(heap),
        }
    }
}
