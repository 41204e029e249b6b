//! The prompt plan's small objects: blocks of cells of one size, each with a list of its free cells.
//!
//! Allocation pops `context.free[class]`, inline in compiled code. A free cell's payload word is the payload of the next
//! free cell, its meta is 0. A cell that dies goes to the list of *its block*, so that lists stay local in memory; when
//! `context.free[class]` is used up, the slow path takes over the whole list of a block that has one. That is the shape of
//! mimalloc (Leijen, Zorn, de Moura 2019, "Mimalloc: Free List Sharding in Action", §2).
//!
//! ```text
//! block  │ cell │ cell │ …   │ cell │ never carved …                   32 KiB, one class
//!         └ carved ────────────────┘
//! entry  free: first free cell (offset / 8), used: cells handed out, carved: cells that have a header
//! ```
//!
//! `used` counts the cells handed to the context's list: cells carved and not used are on the block's own list.
//! A block whose last cell comes back is free for any class (`spare`). Fresh cells are carved a few at a time, so that
//! memory is touched in address order and no more of it than needed.
//!
//! Expected cost of a free: two loads, two stores, and the block's entry, which is the same line for a thousand cells.

mod some;

use super::Nursery;
use super::bin::Bin;
use super::count::FRESH;
use crate::memory::block_state::{clear_tables, state};
use crate::memory::heap_walk::Place;
use crate::memory::list::List;
use crate::memory::range::{self, BLOCK_BYTES, block_info, block_of, block_start};
use crate::memory::size_class::{CLASSES, cells_per_block, class_cell, first_payload};
use crate::object::{HEADER_BYTES, ObjectRef, prompt_flag};
use crate::plan::prompt::free_blocks::FreeBlocks;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;

/// Bytes of cells that are carved at once.
const CARVED_AT_ONCE: u64 = 4096;
/// A block's entry in the block table, as this plan uses it. Same size, and `state` and `owner` at the same places, as
/// `range::BlockInfo`.
#[repr(C, align(32))]
#[derive(Debug)]
pub(super) struct CellBlock {
    /// Payload of the first free cell: offset in the block / 8; 0 = none.
    pub(super) free: Cell<u16>,
    /// Cells handed out.
    pub(super) used: Cell<u16>,
    /// Cells that have been carved.
    pub(super) carved: Cell<u16>,
    pub(super) state: Cell<u8>,
    pub(super) class: Cell<u8>,
    pub(super) owner: AtomicU32,
    /// Whether the class's list has an entry for the block.
    pub(super) listed: Cell<bool>,
    /// Whether the batch has one (`nursery`).
    pub(super) young: Cell<bool>,
    /// Number of the batch in which cells of it were handed out last.
    pub(super) age: Cell<u16>,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<CellBlock>() == size_of::<range::BlockInfo>());
    assert!(offset_of!(CellBlock, state) == offset_of!(range::BlockInfo, state));
    assert!(offset_of!(CellBlock, owner) == offset_of!(range::BlockInfo, owner));
};

#[derive(Debug, Default)]
struct Class {
    /// The block that is being carved.
    carving: Option<u32>,
    /// Blocks with free cells; some entries are out of date.
    listed: List<u32>,
}

/// The small objects of a heap of the prompt plan: its blocks and their cells.
#[derive(Debug)]
pub struct CellSpace {
    /// Every block this heap owns for small objects.
    pub owned: List<u32>,
    /// Those of them that hold nothing.
    pub(super) spare: FreeBlocks,
    classes: List<Class>,
    /// Number of the heap, entered into each block.
    pub owner: u32,
    /// Cells that are candidates together.
    pub nursery: Nursery,
    /// Objects allocated during a sliced mark are allocated black: cells that are handed out are marked.
    pub born_marked: bool,
    /// Cells handed to free lists of the context so far, less those that were left when it was counted last.
    pub(super) handed: List<u64>,
    /// Their bytes.
    pub(super) handed_bytes: u64,
}

/// The cells at a place of the heap, free ones included.
#[derive(Debug)]
pub struct Cells {
    /// Payload of the next cell of a block, and where the last one ends.
    next: u64,
    end: u64,
    /// Bytes from one to the next.
    cell: u64,
    large: Option<ObjectRef>,
}

impl Iterator for Cells {
    type Item = ObjectRef;

    #[inline(always)]
    fn next(&mut self) -> Option<ObjectRef> {
        if self.next == self.end {
            return self.large.take();
        }
        // SAFETY: [FREE] carved cells have headers; a meta of 0 says free, and then it is not used as an object.
        let cell = unsafe { ObjectRef::from_address(self.next) };
        self.next += self.cell;
        Some(cell)
    }
}

impl Default for CellSpace {
    fn default() -> Self {
        CellSpace {
            owned: List::new(),
            spare: FreeBlocks::default(),
            classes: (0..CLASSES).map(|_| Class::default()).collect(),
            owner: 0,
            nursery: Nursery::default(),
            born_marked: false,
            handed: List::filled(0, CLASSES as usize),
            handed_bytes: 0,
        }
    }
}

#[inline(always)]
pub(super) fn entry<'a>(block: u32) -> &'a CellBlock {
    // SAFETY: [MAPPED] the table is mapped for every block of the range; one heap, on one thread, owns the block.
    // Others read its owner alone, which is atomic.
    unsafe { &*block_info(block).cast() }
}

/// The entry of a block that the list of the class names, unless the list is out of date.
#[inline(always)]
fn listed_entry<'a>(block: u32, class: u32) -> Option<&'a CellBlock> {
    let entry = entry(block);
    let is_listed = entry.listed.get() && entry.class.get() as u32 == class && entry.state.get() == state::CELLS;
    is_listed.then_some(entry)
}

#[inline(always)]
pub(super) fn link(payload: u64, next: u64) {
    debug_assert!(range::in_heap(payload));
    // SAFETY: [FREE] a free cell of this heap: no reference leads to its header, payload and count.
    unsafe { *range::count_cell(payload) = FRESH };
    // SAFETY: [FREE] a free cell of this heap: no reference leads to its header, payload and count.
    unsafe { *((payload - HEADER_BYTES) as *mut u64) = 0 };
    // SAFETY: [FREE] a free cell of this heap: no reference leads to its header, payload and count.
    unsafe { *(payload as *mut u64) = next };
}

impl CellSpace {
    /// Gives a cell back.
    pub fn give_back(&mut self, object: ObjectRef) {
        let mut bin = Bin::default();
        bin.take(self, object);
        bin.empty();
    }

    /// A cell of a block that is on no list has come back, or is about to.
    #[cold]
    #[inline(never)]
    pub(super) fn block_has_room(&mut self, block: u32) {
        let entry = entry(block);
        entry.listed.set(true);
        self.classes[entry.class.get() as usize].listed.push(block);
    }

    /// The last cell of a block has come back.
    #[cold]
    #[inline(never)]
    pub(super) fn block_is_free(&mut self, block: u32) {
        let entry = entry(block);
        let class = &mut self.classes[entry.class.get() as usize];
        if class.carving == Some(block) {
            class.carving = None;
        }
        entry.listed.set(false);
        self.spare.put(block);
    }

    /// Free cells of `class`, linked: taken over from a block, or carved. `None` when a block has to be opened first.
    pub(crate) fn take_list(&mut self, class: u32) -> Option<u64> {
        self.take_over(class).or_else(|| self.carve(class, CARVED_AT_ONCE / class_cell(class)))
    }

    fn take_over(&mut self, class: u32) -> Option<u64> {
        while let Some(block) = self.classes[class as usize].listed.pop() {
            if let Some(entry) = listed_entry(block, class) {
                entry.listed.set(false);
                let first = block_start(block) + entry.free.get() as u64 * 8;
                let new = (entry.carved.get() - entry.used.get()) as u64;
                self.handed[class as usize] += new;
                self.handed_bytes += new * class_cell(class);
                self.are_born(block, first, new, entry.carved.get() as u64);
                entry.free.set(0);
                entry.used.set(entry.carved.get());
                return Some(first);
            }
        }
        None
    }

    /// Carves `count` cells, at least one, of the block that is being carved.
    pub(crate) fn carve(&mut self, class: u32, count: u64) -> Option<u64> {
        let block = self.classes[class as usize].carving?;
        let entry = entry(block);
        let (cell, base) = (class_cell(class), block_start(block) + first_payload(class));
        let first = entry.carved.get() as u64;
        let end = (first + count.max(1)).min(cells_per_block(class));
        for index in first..end {
            link(base + index * cell, if index + 1 < end { base + (index + 1) * cell } else { 0 });
        }
        let new = (end - first) as u16;
        entry.carved.set(entry.carved.get() + new);
        entry.used.set(entry.used.get() + new);
        self.handed[class as usize] += new as u64;
        self.handed_bytes += new as u64 * cell;
        if end == cells_per_block(class) {
            self.classes[class as usize].carving = None;
        }
        self.are_born(block, base + first * cell, new as u64, new as u64);
        Some(base + first * cell)
    }

    /// Cells of `class` that were handed out, linked from `first` on, and have not been used: as if they had not been.
    pub(crate) fn take_back(&mut self, class: u32, first: u64) {
        let (mut bin, mut cell) = (Bin::default(), first);
        while cell != 0 {
            // SAFETY: [FREE] a free cell; its payload word is the next one.
            let free = unsafe { ObjectRef::from_address(cell) };
            cell = free.slot(0).read();
            bin.take(self, free);
            self.handed[class as usize] -= 1;
            self.handed_bytes -= class_cell(class);
        }
        bin.empty();
    }

    /// Opens a block for `class`; `None` when the range is used up.
    pub(crate) fn open_block(&mut self, class: u32) -> Option<()> {
        let block = self.spare.take(&mut self.owned)?;
        let opened = entry(block);
        opened.free.set(0);
        opened.used.set(0);
        opened.carved.set(0);
        opened.state.set(state::CELLS);
        opened.class.set(class as u8);
        opened.listed.set(false);
        opened.age.set(self.nursery.number);
        // SAFETY: [OWNED] the block was taken for this heap.
        unsafe { range::set_owner(block, self.owner) };
        debug_assert!(self.classes[class as usize].carving.is_none());
        self.classes[class as usize].carving = Some(block);
        Some(())
    }

    /// Gives memory back to the system that was free all the time since this was last called.
    pub(crate) fn give_idle_back(&mut self) {
        self.spare.give_idle_back();
    }

    /// Bytes in blocks that are not free.
    pub fn used_bytes(&self) -> u64 {
        (self.owned.len() - self.spare.count()) as u64 * BLOCK_BYTES
    }

    /// Objects of a block, in address order; dying ones and zeal's dead included.
    ///
    /// # Safety
    /// The block was taken by a heap of this thread.
    pub unsafe fn objects_in(block: u32) -> impl Iterator<Item = ObjectRef> {
        // SAFETY: by the caller's promise.
        unsafe { CellSpace::objects_at(Place::Block(block)) }
    }

    /// Objects at a place of a walk, the same.
    ///
    /// # Safety
    /// It is a place of a heap of this thread.
    pub unsafe fn objects_at(place: Place) -> impl Iterator<Item = ObjectRef> {
        // SAFETY: by the caller's promise.
        unsafe { CellSpace::cells_at(place) }.filter(|cell| cell.meta() != 0)
    }

    /// The cells at a place; those with a meta of 0 are free.
    ///
    /// # Safety
    /// It is a place of a heap of this thread.
    #[inline(always)]
    pub unsafe fn cells_at(place: Place) -> Cells {
        let mut cells = Cells { next: 0, end: 0, cell: 0, large: None };
        match place {
            Place::Block(block) => {
                let entry = entry(block);
                if entry.state.get() == state::CELLS {
                    let class = entry.class.get() as u32;
                    (cells.next, cells.cell) = (block_start(block) + first_payload(class), class_cell(class));
                    cells.end = cells.next + entry.carved.get() as u64 * cells.cell;
                }
            }
            Place::Large(object) => cells.large = Some(object),
            Place::Vacant => {}
        }
        cells
    }

    /// The object whose cell contains `address`, which lies in a block of cells.
    ///
    /// # Safety
    /// The address lies in a block that was taken by a heap of this thread.
    pub unsafe fn object_at(address: u64) -> Option<ObjectRef> {
        let block = block_of(address);
        let entry = entry(block);
        if entry.state.get() != state::CELLS {
            return None;
        }
        let class = entry.class.get() as u32;
        let first_cell = block_start(block) + first_payload(class) - HEADER_BYTES;
        let index = address.checked_sub(first_cell)? / class_cell(class);
        if index >= entry.carved.get() as u64 {
            return None;
        }
        // SAFETY: [FREE] a carved cell; a meta of 0 says free.
        let object = unsafe { ObjectRef::from_address(first_cell + HEADER_BYTES + index * class_cell(class)) };
        (object.meta() != 0 && !object.has(prompt_flag::DEAD)).then_some(object)
    }

    /// Bytes of the cell that a small object lies in.
    pub fn cell_of(object: ObjectRef) -> u64 {
        class_cell(entry(object.block()).class.get() as u32)
    }
}

impl Drop for CellSpace {
    fn drop(&mut self) {
        for &block in &self.owned {
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { clear_tables(block) };
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { crate::memory::block_source::give_back(block, 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one cell as the context would.
    fn pop(space: &mut CellSpace, list: &mut u64, class: u32) -> ObjectRef {
        if *list == 0 {
            *list = match space.take_list(class) {
                Some(first) => first,
                None => {
                    space.open_block(class).expect("room");
                    space.take_list(class).expect("a new block has cells")
                }
            };
        }
        // SAFETY: [FREE] a free cell.
        let object = unsafe { ObjectRef::from_address(*list) };
        *list = object.slot(0).read();
        object.set_meta(1);
        object
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn cells_of_every_class_never_overlap_and_all_come_back() {
        range::reserve().expect("address space");
        for class in 0..CLASSES {
            let mut space = CellSpace::default();
            let (mut list, cell) = (0, class_cell(class));
            let wanted = cells_per_block(class) * 2 + 1;
            let mut objects: List<ObjectRef> = (0..wanted).map(|_| pop(&mut space, &mut list, class)).collect();
            objects.sort();
            for pair in objects.windows(2) {
                assert!(pair[1].address() - pair[0].address() >= cell, "class {class}");
            }
            for object in &objects {
                // SAFETY: [OWNED] a block of this heap.
                assert_eq!(unsafe { CellSpace::object_at(object.address() - 8) }, Some(*object));
                // SAFETY: [OWNED] a block of this heap.
                assert_eq!(unsafe { CellSpace::object_at(object.address() + cell - 9) }, Some(*object));
            }
            assert_eq!(space.owned.len(), 3, "class {class}");
            assert_eq!(space.tally(&lists(class, list)).live_objects, wanted);
            for object in objects {
                space.give_back(object);
            }
            assert_eq!(space.tally(&lists(class, list)).live_objects, 0);
            let kept = if list == 0 { 0 } else { 1 };
            assert_eq!(
                space.used_bytes(),
                kept * BLOCK_BYTES,
                "class {class}: blocks whose cells all came back are free"
            );
        }
    }

    fn lists(class: u32, list: u64) -> List<u64> {
        let mut lists = List::filled(0, CLASSES as usize);
        lists[class as usize] = list;
        lists
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn freed_cells_are_used_again_before_another_block_is_opened() {
        range::reserve().expect("address space");
        let mut space = CellSpace::default();
        let (mut list, class) = (0, 1);
        let objects: List<ObjectRef> = (0..cells_per_block(class)).map(|_| pop(&mut space, &mut list, class)).collect();
        for object in objects.iter().step_by(2) {
            space.give_back(*object);
        }
        for _ in objects.iter().step_by(2) {
            let object = pop(&mut space, &mut list, class);
            assert!(objects.contains(&object));
        }
        assert_eq!(space.owned.len(), 1);
        pop(&mut space, &mut list, class);
        assert_eq!(space.owned.len(), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_block_that_empties_serves_another_class_and_old_entries_lead_nowhere() {
        range::reserve().expect("address space");
        let mut space = CellSpace::default();
        let mut list = 0;
        let objects: List<ObjectRef> = (0..cells_per_block(3)).map(|_| pop(&mut space, &mut list, 3)).collect();
        assert_eq!(list, 0);
        for object in objects {
            space.give_back(object);
        }
        assert_eq!(space.used_bytes(), 0);
        let mut other = 0;
        pop(&mut space, &mut other, 9);
        assert_eq!(space.owned.len(), 1, "the block is used again");
        assert_eq!(space.take_list(3), None, "its entry in the old class's list is passed over");
    }
}
