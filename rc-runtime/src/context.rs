//! The thread's context: what compiled code touches inline, and the anchors its shims leave behind.
//!
//! `tally_context` is a thread-local symbol of 832 bytes, defined here in assembly because stable Rust cannot export
//! one. Compiled code reaches it by its name (initial-exec) or, under the JIT, by its constant distance from the
//! thread pointer ([`fs_offset`]). A heap that no compiled code runs on keeps its context in a box instead: the
//! runtime always goes through `Heap::context` and does not care which of the two it is.
//!
//! ```text
//!  0 cursor    where the next cell's header goes      32 exit_pc   \
//!  8 limit     end of the hole; 0 = take slow path    40 exit_sp    | the last exit from managed code
//! 16 stamp     running epoch                          48 exit_fp    | into a Tally safepoint
//! 20 poll      non-zero: a safepoint has work         56 exit_rbx  /
//! 24 heap      the attached heap, or null             64 entry     innermost entry into managed code
//! 816 handle_top, 824 handle_end                     where the next scoped handle goes, and the end of that room
//!
//! the deferred plan only:
//! 120 address_taken_high  highest frame pointer of a frame that others may write to roots of
//!
//! the prompt plan only:
//! 72 pending   non-zero: a drain is due              128 free      by size class: payload of the first free cell, or 0
//! 80 pending_top, 88 pending_end                     where the next pending object is noted, and the end of that room
//! 96 address_taken      frames with address-taken roots
//! ```

/// The state that a thread shares with compiled code; offsets are asserted below and again by the lowering.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Context {
    /// Address where the next cell's header goes.
    pub cursor: u64,
    /// End of the hole; 0 sends every allocation to the slow path.
    pub limit: u64,
    /// The running epoch: the stamp of fresh objects.
    pub stamp: u32,
    /// Non-zero when a safepoint poll has work.
    pub poll: u32,
    /// The attached heap, or null.
    pub heap: *mut crate::heap::Heap,
    /// Return address of the last exit from managed code to a Tally safepoint.
    pub exit_pc: u64,
    /// Stack pointer at that return address.
    pub exit_sp: u64,
    /// Frame pointer of the managed caller.
    pub exit_fp: u64,
    /// rbx of the managed caller: over-aligned frames address their slots by it.
    pub exit_rbx: u64,
    /// Innermost entry record (`entry`), 0 when none.
    pub entry: u64,
    /// Prompt plan: non-zero when a drain is due.
    pub pending: u64,
    /// Prompt plan: where the next pending object is noted.
    pub(crate) pending_top: u64,
    /// Prompt plan: end of the room for pending objects.
    pub(crate) pending_end: u64,
    /// Prompt plan: frames that others may write to roots of.
    pub address_taken: u64,
    /// Prompt plan: where the next write whose counts are put off is noted.
    pub(crate) postponed_top: u64,
    /// Prompt plan: end of the room for such.
    pub(crate) postponed_end: u64,
    /// Deferred plan: the highest frame pointer, since a walk of the stack looked last, of a frame that others may
    /// write to roots of.
    pub address_taken_high: u64,
    /// Prompt plan: by size class, the payload of the first free cell, or 0.
    pub free: [u64; FREE_CLASSES],
    /// Where the next scoped handle goes.
    pub handle_top: u64,
    /// End of the room for scoped handles.
    pub(crate) handle_end: u64,
}

const _: () = {
    assert!(std::mem::size_of::<Context>() == CONTEXT_BYTES);
    assert!(std::mem::offset_of!(Context, cursor) == CURSOR as usize);
    assert!(std::mem::offset_of!(Context, limit) == LIMIT as usize);
    assert!(std::mem::offset_of!(Context, stamp) == STAMP as usize);
    assert!(std::mem::offset_of!(Context, poll) == POLL as usize);
    assert!(std::mem::offset_of!(Context, exit_pc) == 32);
    assert!(std::mem::offset_of!(Context, exit_sp) == 40);
    assert!(std::mem::offset_of!(Context, exit_fp) == 48);
    assert!(std::mem::offset_of!(Context, exit_rbx) == 56);
    assert!(std::mem::offset_of!(Context, entry) == 64);
    assert!(std::mem::offset_of!(Context, pending) == PENDING as usize);
    assert!(std::mem::offset_of!(Context, pending_top) == 80);
    assert!(std::mem::offset_of!(Context, pending_end) == 88);
    assert!(std::mem::offset_of!(Context, address_taken) == ADDRESS_TAKEN as usize);
    assert!(std::mem::offset_of!(Context, postponed_top) == POSTPONED_TOP as usize);
    assert!(std::mem::offset_of!(Context, postponed_end) == POSTPONED_END as usize);
    assert!(std::mem::offset_of!(Context, address_taken_high) == ADDRESS_TAKEN_HIGH as usize);
    assert!(std::mem::offset_of!(Context, handle_top) == 816);
    assert!(std::mem::offset_of!(Context, handle_end) == 824);
    assert!(std::mem::offset_of!(Context, free) == FREE_LISTS as usize);
    assert!(FREE_CLASSES >= crate::memory::size_class::CLASSES as usize);
};

/// Bytes of the context.
pub const CONTEXT_BYTES: usize = 832;
/// Byte offset of `cursor`.
pub const CURSOR: u32 = 0;
/// Byte offset of `limit`.
pub const LIMIT: u32 = 8;
/// Byte offset of `stamp`.
pub const STAMP: u32 = 16;
/// Byte offset of `poll`.
pub const POLL: u32 = 20;
/// Byte offset of `pending`.
pub const PENDING: u32 = 72;
/// Byte offset of `address_taken`.
pub const ADDRESS_TAKEN: u32 = 96;
/// Byte offset of `postponed_top`.
pub const POSTPONED_TOP: u32 = 104;
/// Byte offset of `postponed_end`.
pub const POSTPONED_END: u32 = 112;
/// Byte offset of `address_taken_high`.
pub const ADDRESS_TAKEN_HIGH: u32 = 120;
/// Byte offset of the free lists; class `n`'s is the n-th u64 from here.
pub const FREE_LISTS: u32 = 128;
/// Room for free lists.
const FREE_CLASSES: usize = 86;

impl Context {
    /// The exit anchor: pc, sp, fp, rbx.
    pub fn exit_anchor(&self) -> [u64; 4] {
        [self.exit_pc, self.exit_sp, self.exit_fp, self.exit_rbx]
    }

    /// Sets the exit anchor: code that the collector called has overwritten it.
    pub fn set_exit_anchor(&mut self, anchor: [u64; 4]) {
        [self.exit_pc, self.exit_sp, self.exit_fp, self.exit_rbx] = anchor;
    }

    /// Pushes a scoped handle that holds `word`; `None`: there is no room.
    ///
    /// # Safety
    /// `word` is a reference or null, or lies outside the heap. `[ROOT]`
    #[inline(always)]
    pub unsafe fn push_handle(&mut self, word: u64) -> Option<u64> {
        let handle = self.handle_top;
        if handle == self.handle_end {
            return None;
        }
        // SAFETY: `handle_top..handle_end` lies in the newest chunk.
        unsafe { *(handle as *mut u64) = word };
        self.handle_top = handle + 8;
        Some(handle)
    }
}

impl Default for Context {
    fn default() -> Self {
        Context {
            cursor: 0,
            limit: 0,
            stamp: 0,
            poll: 0,
            heap: std::ptr::null_mut(),
            exit_pc: 0,
            exit_sp: 0,
            exit_fp: 0,
            exit_rbx: 0,
            entry: 0,
            pending: 0,
            pending_top: 0,
            pending_end: 0,
            address_taken: 0,
            postponed_top: 0,
            postponed_end: 0,
            address_taken_high: 0,
            free: [0; FREE_CLASSES],
            handle_top: 0,
            handle_end: 0,
        }
    }
}

/// The calling thread's context.
#[inline(always)]
pub fn current() -> *mut Context {
    crate::arch::context() as *mut Context
}

/// Distance of the context from the thread pointer: the same in every thread, a constant for JIT code.
pub fn fs_offset() -> i64 {
    crate::arch::context_offset()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "the context is read by assembly")]
    fn every_thread_has_its_own_zeroed_context() {
        let here = current() as u64;
        let (there, stamp) = std::thread::spawn(|| {
            let context = current();
            // SAFETY: [CONTEXT] this thread's own context.
            (context as u64, unsafe { (*context).stamp })
        })
        .join()
        .expect("thread");
        assert_ne!(here, there);
        assert_eq!(stamp, 0);
        assert_eq!(here % 64, 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the context is read by assembly")]
    fn the_distance_from_the_thread_pointer_is_constant() {
        let mine = fs_offset();
        assert_eq!(std::thread::spawn(fs_offset).join().expect("thread"), mine);
    }
}
