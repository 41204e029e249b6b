//! The prompt plan's counters, found by counting: allocation and death touch none.
//!
//! Inline code pops cells without a report. The runtime knows how many cells of each class it has handed to the
//! context's lists, and how many of each block are handed out now; the lists themselves are counted on request,
//! and the cells left on them were not allocated. Zeal's dead keep their cells, so in zeal it is the headers that are
//! looked at.

use super::CellSpace;
use super::cells::entry;
use crate::memory::block_state::state;
use crate::memory::size_class::{CLASSES, class_cell};
use crate::object::prompt_flag;
use crate::report::histogram::Histogram;

/// Counters that follow from the blocks.
#[derive(Debug, Default)]
pub struct CellStatistics {
    /// Objects allocated so far.
    pub allocated_objects: u64,
    /// Bytes of their cells.
    pub allocated_bytes: u64,
    /// The cells by size.
    pub sizes: Histogram,
    /// Objects now.
    pub live_objects: u64,
    /// Bytes of their cells.
    pub live_bytes: u64,
}

impl CellSpace {
    /// Cells handed out so far, of all classes.
    pub fn handed_cells(&self) -> u64 {
        self.handed.iter().sum()
    }

    /// The bytes of them.
    pub(crate) fn handed_bytes(&self) -> u64 {
        self.handed_bytes
    }

    /// The counters; `lists` are the context's free lists.
    pub fn tally(&self, lists: &[u64]) -> CellStatistics {
        let mut left = [0; CLASSES as usize];
        for (class, &first) in lists.iter().enumerate() {
            let mut cell = first;
            while cell != 0 {
                left[class] += 1;
                // SAFETY: [FREE] a cell of a free list: its first payload word is the next one.
                cell = unsafe { *(cell as *const u64) };
            }
        }
        let mut used = [0; CLASSES as usize];
        for &block in &self.owned {
            let entry = entry(block);
            if entry.state.get() == state::CELLS {
                used[entry.class.get() as usize] += entry.used.get() as u64;
            }
        }
        let mut tally = CellStatistics::default();
        for class in 0..CLASSES {
            let (place, cell) = (class as usize, class_cell(class));
            let (allocated, live) = (self.handed[place] - left[place], used[place] - left[place]);
            tally.allocated_objects += allocated;
            tally.allocated_bytes += allocated * cell;
            tally.sizes.add(cell, allocated);
            tally.live_objects += live;
            tally.live_bytes += live * cell;
        }
        tally
    }

    /// Objects that are not zeal's dead, and the bytes of their cells.
    pub fn living(&self) -> (u64, u64) {
        // SAFETY: [OWNED] a block of this heap.
        let objects = self.owned.iter().flat_map(|&block| unsafe { CellSpace::objects_in(block) });
        let living = objects.filter(|object| !object.has(prompt_flag::DEAD));
        living.fold((0, 0), |(count, bytes), object| (count + 1, bytes + CellSpace::cell_of(object)))
    }
}
