//! The blocks that have objects and holes, by the class of their longest hole.
//!
//! A block may have an entry in several lists, one in each: it was swept again before it was taken. An entry counts while the
//! block is `RECYCLABLE` and its class is the list's.

use super::by_class::ByClass;
#[cfg(test)]
use super::hole::CLASSES;
use super::hole::{class_of, class_that_takes};
use crate::memory::block_state::state;
use crate::memory::range::block_info;

/// Without need a block is not opened for shorter holes: opening, arming and sweeping it costs what allocating some objects does.
const WORTHWHILE: u64 = 512;
/// Small objects leave longer holes to others while there are such as these, and the time to open a block pays.
const PREFERRED: u64 = 1024;

/// Blocks with holes.
#[derive(Debug, Default)]
pub(crate) struct Recyclable(ByClass<u32>);

impl Recyclable {
    /// Enters a block whose longest hole has so many bytes.
    pub(crate) fn enter(&mut self, block: u32, longest: u64) {
        let class = class_of(longest);
        // SAFETY: [OWNED] the caller's heap owns the block.
        let info = unsafe { &*block_info(block) };
        info.class.set(class as u8);
        if info.listed.get() & 1_u64 << class == 0 {
            info.listed.set(info.listed.get() | 1 << class);
            self.0.enter(class, block);
        }
    }

    /// Takes the block with the longest hole, if that is worthwhile.
    pub(crate) fn take_roomy(&mut self) -> Option<u32> {
        self.take_highest(!0 << class_of(WORTHWHILE))
    }

    /// Whether there may be such a block.
    pub(crate) fn has_roomy(&self) -> bool {
        self.0.some() >> class_of(WORTHWHILE) != 0
    }

    /// Whether there may be a block with a hole that takes every small object.
    pub(crate) fn has_some(&self) -> bool {
        self.0.some() >> class_of(super::SMALLEST_HOLE) != 0
    }

    /// Takes a block with a hole for a small object of so many bytes.
    pub(crate) fn take_for_small(&mut self, bytes: u64) -> Option<u32> {
        let fits = fitting(bytes);
        let preferred = fits & !0 << class_of(PREFERRED);
        self.take_lowest(preferred).or_else(|| self.take_highest(fits))
    }

    /// Takes a block with a hole of at least so many bytes, the shortest that there is.
    pub(crate) fn take_tight(&mut self, bytes: u64) -> Option<u32> {
        self.take_lowest(fitting(bytes))
    }

    /// Takes a block that may have such a hole.
    pub(crate) fn take_doubtful(&mut self, bytes: u64) -> Option<u32> {
        self.take_lowest(1 << class_of(bytes))
    }

    fn take_lowest(&mut self, classes: u64) -> Option<u32> {
        while self.0.some() & classes != 0 {
            if let Some(block) = self.take_of((self.0.some() & classes).trailing_zeros()) {
                return Some(block);
            }
        }
        None
    }

    fn take_highest(&mut self, classes: u64) -> Option<u32> {
        while self.0.some() & classes != 0 {
            if let Some(block) = self.take_of((self.0.some() & classes).ilog2()) {
                return Some(block);
            }
        }
        None
    }

    /// The newest entry of a list, which has some, if that counts.
    fn take_of(&mut self, class: u32) -> Option<u32> {
        let block = self.0.take(class as usize)?;
        // SAFETY: [OWNED] the heap owns the block.
        let info = unsafe { &*block_info(block) };
        info.listed.set(info.listed.get() & !(1 << class));
        (info.state.get() == state::RECYCLABLE && u32::from(info.class.get()) == class).then_some(block)
    }

    /// Entries, those that do not count included.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> Vec<u32> {
        (0..CLASSES).flat_map(|class| self.0.of(class).iter().copied()).collect()
    }
}

/// The classes of which every hole takes so many bytes.
fn fitting(bytes: u64) -> u64 {
    !0_u64 << class_that_takes(bytes)
}
