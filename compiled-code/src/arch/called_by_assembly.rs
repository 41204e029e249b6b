//! What assembly of each processor calls in `stack::coroutine` and `stack::diversion`, which name this folder: it needs no more than the
//! names.

unsafe extern "C" {
    pub(super) fn tally_diversion_arrived();
    pub(super) fn tally_diversion_personality();
    pub(super) fn tally_stack_finished();
    pub(super) fn tally_stack_personality();
    pub(super) fn tally_stack_prepare_switch();
}
