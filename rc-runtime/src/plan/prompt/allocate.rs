//! Allocation under the prompt plan: what inline code falls back to. A safepoint.
//!
//! | cell | goes to |
//! |---|---|
//! | up to 16 KiB | a cell of its size class: the context's list, a block's list, fresh cells, another block |
//! | more | blocks of its own (`large`) |
//!
//! Work that is due is done *before* a cell is taken: structures that a pause goal left half apart, a round of trials, and a
//! drain when very many objects are pending. Other pending objects are left to the drain at the end of the statement, so
//! that the order of destructors does not depend on when a list of cells runs out. `[HEADER]`
//!
//! In zeal the context's lists stay empty, so that every allocation comes here, and no cell is used twice.

use super::count::{FRESH, SETTLED};
use crate::heap::{Heap, HeapEntry};
use crate::memory::large::LargeSpace;
use crate::memory::range::{BLOCK_BYTES, MARK};
use crate::memory::size_class::{CLASSES, LARGEST_CELL, aligned_class_of, class_cell, class_of};
use crate::object::{HEADER_BYTES, ObjectRef, prompt_flag};
use crate::out_of_memory::{OutOfMemory, name_of, range_used_up};
use crate::type_registry::TypeInfo;

impl Heap {
    /// Allocates a small object whose count is one, while nothing is due and a cell is at hand; otherwise `None`, and nothing has changed.
    #[inline(always)]
    pub(crate) fn allocate_at_hand(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        let is_special = info.has_finalizer || info.align > 8 || info.stride == 0 && length != 0;
        if is_special || !self.may_allocate_at_hand() {
            return None;
        }
        let cell = info.cell_bytes(length).filter(|&cell| cell <= LARGEST_CELL)?;
        let object = self.take_at_hand(info, cell)?;
        // SAFETY: [FREE] the payload of a cell of `cell` bytes.
        unsafe { std::ptr::write_bytes(object.address() as *mut u8, 0, (cell - HEADER_BYTES) as usize) };
        if info.stride != 0 {
            object.slot(info.length_offset).store(length);
        }
        Some(object)
    }

    /// The same for a type without a finalizer, of that size and no greater alignment, with any words in the payload.
    #[inline(always)]
    pub(crate) fn allocate_unwritten_at_hand(&mut self, info: &TypeInfo, cell: u64) -> Option<ObjectRef> {
        debug_assert!(info.cell_bytes(0) == Some(cell) && !info.has_finalizer && info.align <= 8);
        if self.may_allocate_at_hand() { self.take_at_hand(info, cell) } else { None }
    }

    #[inline(always)]
    fn may_allocate_at_hand(&mut self) -> bool {
        let is_due =
            self.due_at_allocation || self.mark_phase().wants_turns() || self.round_is_due() || self.drain_is_due();
        !is_due && self.zeal.is_none() && self.limits.until_failure == 0
    }

    #[inline(always)]
    fn take_at_hand(&mut self, info: &TypeInfo, cell: u64) -> Option<ObjectRef> {
        let list = &mut self.context_mut().free[class_of(cell) as usize];
        let payload = *list;
        if payload == 0 {
            return None;
        }
        // SAFETY: [FREE] a free cell: its first payload word is the next one.
        *list = unsafe { *(payload as *const u64) };
        // SAFETY: [FREE] a free cell of this heap, at least `cell` bytes long; its header is written below.
        let object = unsafe { ObjectRef::from_address(payload) };
        object.set_header(info.fresh_meta_prompt(), 0);
        Some(object)
    }

    /// Allocates an object whose count is one.
    #[inline(always)]
    pub(crate) fn allocate_counted(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        let absurd = || OutOfMemory::Absurd { length, type_name: name_of(info) };
        let length = self.length_of(info, length);
        let cell = info.cell_bytes(length).ok_or_else(absurd)?;
        if self.zeal.is_some() || self.mark_phase().wants_turns() || self.round_is_due() || self.drain_is_due() {
            self.allocation_safepoint();
        }
        self.fails_as_asked(info, cell)?;
        let meta = info.fresh_meta_prompt();
        let object = if cell > LARGEST_CELL {
            self.allocate_large_counted(info, cell)?
        } else {
            let class = if info.align > 8 { aligned_class_of(cell, info.align) } else { class_of(cell) };
            let payload = self.take_cell(class, info)?;
            // SAFETY: [FREE] a free cell of this heap, `class_cell(class)` bytes long; its header is written below.
            unsafe { std::ptr::write_bytes(payload as *mut u8, 0, (class_cell(class) - HEADER_BYTES) as usize) };
            // SAFETY: [FREE] a free cell of this heap, `class_cell(class)` bytes long; its header is written below.
            unsafe { ObjectRef::from_address(payload) }
        };
        let large = if cell > LARGEST_CELL { prompt_flag::LARGE } else { 0 };
        object.set_header(meta | large, 0);
        if info.stride != 0 {
            object.slot(info.length_offset).store(length);
        }
        if large != 0 {
            // No batch judges it.
            object.set_count(FRESH & !SETTLED);
            if self.prompt.cells.born_marked {
                MARK.set(object.granule());
            }
            let blocks = LargeSpace::blocks_for(cell, info).expect("taken a moment ago");
            self.large.adopt_counted(object, blocks, cell);
            self.prompt.cells.nursery.note_large(blocks as u64 * BLOCK_BYTES);
            self.note_growth();
        }
        if let Some(zeal) = &mut self.zeal {
            zeal.birth_counted(object, cell);
        }
        if info.has_finalizer {
            self.note_birth_with_finalizer(object, info);
        }
        Ok(object)
    }

    /// A small object whose count is one, without a safepoint, where a cell is at hand.
    pub(crate) fn allocate_counted_aside(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        let cell = info.cell_bytes(length).filter(|&cell| cell <= LARGEST_CELL && info.align <= 8)?;
        let class = class_of(cell);
        if self.context_mut().free[class as usize] == 0 {
            self.context_mut().free[class as usize] = self.list_at_hand(class)?;
        }
        let payload = self.context_mut().free[class as usize];
        // SAFETY: [FREE] a free cell: its first payload word is the next one.
        self.context_mut().free[class as usize] = unsafe { *(payload as *const u64) };
        // SAFETY: [FREE] a free cell of this heap, `class_cell(class)` bytes long; its header is written below.
        unsafe { std::ptr::write_bytes(payload as *mut u8, 0, (class_cell(class) - HEADER_BYTES) as usize) };
        // SAFETY: [FREE] a free cell of this heap, `class_cell(class)` bytes long; its header is written below.
        let object = unsafe { ObjectRef::from_address(payload) };
        object.set_header(info.fresh_meta_prompt(), 0);
        object.slot(info.length_offset).store(length);
        if let Some(zeal) = &mut self.zeal {
            zeal.birth_counted(object, cell);
        }
        Some(object)
    }

    /// Free cells, from blocks that are there or a new one.
    fn list_at_hand(&mut self, class: u32) -> Option<u64> {
        if let Some(list) = self.next_list(class) {
            return Some(list);
        }
        let opened = if self.makes_room(BLOCK_BYTES) { self.prompt.cells.open_block(class) } else { None };
        self.note_growth();
        opened?;
        self.next_list(class)
    }

    #[cold]
    #[inline(never)]
    fn allocation_safepoint(&mut self) {
        // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
        // pointer.
        Heap::prompt_safepoint(unsafe { HeapEntry::of(self) }, &[]);
    }

    #[inline(always)]
    fn take_cell(&mut self, class: u32, info: &TypeInfo) -> Result<u64, OutOfMemory> {
        let list = self.context_mut().free[class as usize];
        let payload = if list != 0 { list } else { self.refill(class, info)? };
        // SAFETY: [FREE] a free cell: its first payload word is the next one.
        self.context_mut().free[class as usize] = unsafe { *(payload as *const u64) };
        Ok(payload)
    }

    #[inline(never)]
    fn refill(&mut self, class: u32, info: &TypeInfo) -> Result<u64, OutOfMemory> {
        self.begin_refill(class);
        let mut collected = false;
        loop {
            if let Some(list) = self.list_at_hand(class) {
                return Ok(list);
            }
            if std::mem::replace(&mut collected, true) {
                return Err(self.refusal(BLOCK_BYTES, info));
            }
            self.collect_for_room();
        }
    }

    fn next_list(&mut self, class: u32) -> Option<u64> {
        match self.every_allocation_calls() {
            true if !self.records_all_sites() || self.zeal.is_some() => self.prompt.cells.carve(class, 1),
            _ if self.records_alloc_sites() => self.next_sampled_list(class),
            _ => self.prompt.cells.take_list(class),
        }
    }

    /// A list that ends where the next object is to be sampled.
    #[cold]
    fn next_sampled_list(&mut self, class: u32) -> Option<u64> {
        let most = self.cells_to_next_sample(class_cell(class));
        let (list, count) = self.prompt.cells.take_some(class, most)?;
        self.note_handed_out(class, count * class_cell(class));
        Some(list)
    }

    /// Garbage goes, and the cells on the context's lists go back to their blocks: one without objects is free for any
    /// class, and each class would keep one.
    #[cold]
    fn collect_for_room(&mut self) {
        match self.services.finalizers.depth() {
            // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
            // pointer.
            0 => _ = Heap::prompt_collect(unsafe { HeapEntry::of(self) }),
            // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
            // pointer.
            _ => Heap::collect_inside_finalizer(unsafe { HeapEntry::of(self) }),
        }
        self.give_lists_back();
    }

    /// The cells on the context's lists go back to their blocks.
    pub(crate) fn give_lists_back(&mut self) {
        for class in 0..CLASSES {
            let first = std::mem::take(&mut self.context_mut().free[class as usize]);
            self.prompt.cells.take_back(class, first);
        }
        self.prompt.handed_at_round = self.prompt.handed_at_round.min(self.prompt.cells.handed_cells());
    }

    fn allocate_large_counted(&mut self, info: &TypeInfo, cell: u64) -> Result<ObjectRef, OutOfMemory> {
        let blocks = LargeSpace::blocks_for(cell, info).ok_or_else(|| range_used_up(info, cell))?;
        let bytes = blocks as u64 * BLOCK_BYTES;
        let payload = match self.take_large(blocks, info) {
            Some(payload) => payload,
            None => {
                self.collect_for_room();
                self.take_large(blocks, info).ok_or_else(|| self.refusal(bytes, info))?
            }
        };
        // SAFETY: [OWNED] zeroed blocks of this heap; the caller writes the header.
        Ok(unsafe { ObjectRef::from_address(payload) })
    }
}
