//! The anchor of a walk that no call from compiled code has made. `[ROOT]`

/// The return address in such an anchor. No frame returns there: the unwinder takes the first step of the walk.
pub(crate) const NO_CALL: u64 = 1;

/// Walks in `body` begin at the caller: native code, which no call into the runtime has left. Managed frames, if there are any, lie
/// below it.
#[inline(never)]
pub(crate) fn beginning_here<T>(body: impl FnOnce() -> T) -> T {
    let here = 0_u64;
    // SAFETY: [CONTEXT] this thread's; none is borrowed while `body` runs.
    let context = || unsafe { &mut *tally_heap::context::current() };
    let before = (context().exit_pc, context().exit_sp, context().exit_fp);
    (context().exit_pc, context().exit_sp, context().exit_fp) = (NO_CALL, &raw const here as u64 & !7, 0);
    let done = body();
    (context().exit_pc, context().exit_sp, context().exit_fp) = before;
    done
}
