//! Lists of free cells that are no longer than asked for: they end where an object is to be sampled (`services::alloc_site`).
//!
//! A block's list is cut behind so many cells. The rest stays the block's own, which has room as before.

use super::{CARVED_AT_ONCE, CellSpace, entry, listed_entry};
use crate::memory::range::block_start;
use crate::memory::size_class::class_cell;
use crate::object::ObjectRef;

impl CellSpace {
    /// The same as [`take_list`](Self::take_list), of `most` cells at most; and how many they are.
    pub(crate) fn take_some(&mut self, class: u32, most: u64) -> Option<(u64, u64)> {
        if let Some(taken) = self.take_some_over(class, most) {
            return Some(taken);
        }
        let before = self.handed[class as usize];
        let list = self.carve(class, most.min(CARVED_AT_ONCE / class_cell(class)))?;
        Some((list, self.handed[class as usize] - before))
    }

    fn take_some_over(&mut self, class: u32, most: u64) -> Option<(u64, u64)> {
        while let Some(block) = self.classes[class as usize].listed.pop() {
            if let Some(entry) = listed_entry(block, class) {
                let free = (entry.carved.get() - entry.used.get()) as u64;
                return Some(self.take_from(block, free, most.clamp(1, free)));
            }
        }
        None
    }

    /// Takes `count` of the block's `free` cells.
    fn take_from(&mut self, block: u32, free: u64, count: u64) -> (u64, u64) {
        let entry = entry(block);
        let class = entry.class.get() as u32;
        let first = block_start(block) + entry.free.get() as u64 * 8;
        let rest = if count < free { cut(first, count) } else { 0 };
        entry.listed.set(false);
        entry.free.set(if rest == 0 { 0 } else { ((rest - block_start(block)) / 8) as u16 });
        entry.used.set(entry.used.get() + count as u16);
        if rest != 0 {
            self.block_has_room(block);
        }
        self.handed[class as usize] += count;
        self.handed_bytes += count * class_cell(class);
        // Whether they are few is asked of all that were free.
        self.are_born(block, first, count, entry.carved.get() as u64 * count / free);
        (first, count)
    }
}

/// Ends a list behind `count` cells; returns the first cell of the rest.
fn cut(first: u64, count: u64) -> u64 {
    // SAFETY: [FREE] free cells: the first payload word of each is the next one, and there are more than `count`.
    let cell_at = |payload| unsafe { ObjectRef::from_address(payload) };
    let mut last = cell_at(first);
    for _ in 1..count {
        last = cell_at(last.slot(0).read());
    }
    let rest = last.slot(0).read();
    last.slot(0).store(0);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::range;
    use crate::memory::size_class::cells_per_block;

    /// The cells that are linked from a payload on.
    fn linked(mut payload: u64) -> Vec<ObjectRef> {
        let mut cells = vec![];
        while payload != 0 {
            // SAFETY: [FREE] a free cell.
            let cell = unsafe { ObjectRef::from_address(payload) };
            payload = cell.slot(0).read();
            cells.push(cell);
        }
        cells
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn cells_of_a_list_that_was_cut_are_handed_out_once_each() {
        range::reserve().expect("address space");
        let (mut space, class) = (CellSpace::default(), 2);
        space.open_block(class).expect("room");
        let hand_out = |space: &mut CellSpace, most| {
            let mut cells = vec![];
            while let Some((first, count)) = space.take_some(class, most) {
                let list = linked(first);
                assert!(count <= most && list.len() as u64 == count, "the list ends there");
                list.iter().for_each(|cell| cell.set_meta(1));
                cells.extend(list);
            }
            cells
        };
        let objects = hand_out(&mut space, u64::MAX);
        assert_eq!(objects.len() as u64, cells_per_block(class));
        objects.iter().skip(1).for_each(|&object| space.give_back(object));
        let mut again = hand_out(&mut space, 7);
        again.sort();
        again.dedup();
        assert_eq!((again.len() + 1, space.owned.len()), (objects.len(), 1));
        again.into_iter().for_each(|object| space.give_back(object));
        space.give_back(objects[0]);
        assert_eq!(space.used_bytes(), 0);
    }
}
