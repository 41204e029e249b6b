//! Backoff: where trials found everything alive again and again, candidates are left alone for a while.
//!
//! A live structure that is written to all the time makes candidates in every epoch, and each trial says the same.
//! After `FAILURES` trials in a row that freed nothing of a block, its candidates are not tried for one epoch; after
//! each further one for twice as many, up to [`EPOCHS_MAX`]. One success wakes the block for good, and so does
//! allocation into it. An untried candidate is a suspect, so that garbage there is the mark's: nothing is lost
//! by sleeping.
//!
//! The block is the right unit because it is the cohort's: its objects were allocated together, and what is known about them must
//! be found without touching them.

use tally_heap::memory::range::{BlockInfo, block_info};

/// Trials in vain in a row after which a block backs off.
const FAILURES: u8 = 64;
/// Epochs of the longest backoff.
pub const EPOCHS_MAX: u16 = 256;

fn info(block: u32) -> &'static BlockInfo {
    // SAFETY: the entry of a block of this heap, which one thread at a time uses; no other borrow of it lives while
    // this one does.
    unsafe { &*block_info(block) }
}

/// Whether candidates in the block are to be left alone in this epoch.
pub(crate) fn is_napping(block: u32, epoch: u32) -> bool {
    let info = info(block);
    info.failures.get() > FAILURES && (1..=EPOCHS_MAX + 1).contains(&info.wakes.get().wrapping_sub(epoch as u16))
}

/// A trial there freed something.
pub(crate) fn wake(block: u32) {
    info(block).failures.set(0);
}

/// A trial there freed nothing.
pub(crate) fn note_failure(block: u32, epoch: u32) {
    let info = info(block);
    info.failures.set(info.failures.get().saturating_add(1).min(FAILURES + EPOCHS_MAX.ilog2() as u8 + 1));
    if info.failures.get() > FAILURES {
        let epochs = 1u16 << (info.failures.get() - FAILURES - 1);
        info.wakes.set((epoch as u16).wrapping_add(epochs).wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tally_heap::memory::range::reserve;

    /// A block that no heap of these tests gets to.
    fn block() -> u32 {
        (reserve().expect("address space") >> tally_heap::memory::range::BLOCK_SHIFT) as u32 - 3
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn naps_double_up_to_the_longest_and_end_with_a_success() {
        let block = block();
        // Around the place where the low bits of the epoch start over.
        let mut epoch = 65_000;
        let (mut tried, mut lengths) = (0, vec![]);
        for _ in 0..2000 {
            let asleep_since = epoch;
            while is_napping(block, epoch) {
                epoch += 1;
            }
            if epoch > asleep_since {
                lengths.push(epoch - asleep_since);
            }
            note_failure(block, epoch);
            tried += 1;
            epoch += 1;
        }
        assert_eq!(lengths[..9], [1, 2, 4, 8, 16, 32, 64, 128, 256], "after {tried} trials");
        assert!(lengths[9..].iter().all(|&length| length == 256));
        assert!(is_napping(block, epoch));
        wake(block);
        assert!(!is_napping(block, epoch));
    }
}
