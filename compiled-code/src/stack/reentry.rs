//! Native code without unwind tables calls back into managed code: the trampoline that carries its anchor.
//!
//! The walk knows the return address below and finds the anchor in the frame (`stack_roots::anchor` has the picture).
//! The C view, with the macro that writes an anchor, is in `tally.h`. To the unwinder it is a frame like any other:
//! exceptions pass.

unsafe extern "C" {
    /// The return address inside `tally_call_managed`.
    static tally_reentry_return: u8;
}

/// The return address by which a walk knows the trampoline.
pub(crate) fn reentry_return() -> u64 {
    &raw const tally_reentry_return as u64
}
