//! The entry point by which compiled code names a store to a root of another frame (`tally_heap::plan::prompt`'s
//! `address_taken`).

use crate::abi;
use crate::stack::bounds;
use tally_heap::fatal::{self, STATUS_USAGE};

/// `void tally_address_taken_store(void *slot)`: notes that a reference may have been stored through an out-parameter, to the word in which `slot`
/// lies. Memory outside this thread's stack is no root.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tally_address_taken_store(slot: u64) {
    leaf!(tally_address_taken_store);
    let here = 0_u64;
    let here = &raw const here as u64;
    let slot = slot & !7;
    if (here..bounds::end()).contains(&slot) {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { abi::thread_heap() }.note_address_taken_store(slot, here);
    } else if bounds::lies_on_a_stopped_stack(slot) {
        fatal::stop(
            STATUS_USAGE,
            "a reference is stored to a variable of a stack that does not run, through its address; under the prompt plan \
             pass an object for it, or a value of tally_stack_switch",
        );
    }
}
