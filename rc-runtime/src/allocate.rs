//! Allocation: the inline path's twin for hosts, and the slow path behind both.
//!
//! Compiled code bumps `context.cursor` inline; expected cost: 3 loads, 1 add, 1 compare, 1 branch, 3 stores, and the null
//! stores of the reference words. Where the hole does not take the cell, `plan::bump::room` finds room, and gives the
//! collector its turn (`EpochDriver::on_block_taken`: a slice of pending work, a flip when one is due).
//!
//! Any epoch runs *before* the cell is carved, so nothing half-made is ever seen: the header is written and the payload
//! is null before the object is returned. `[HEADER]`
//!
//! Cells of more than 16 KiB have blocks of their own (`large`). When the heap limit or the range allows no more blocks, the
//! holes of the blocks there are serve every small cell that fits one, then a full collection is tried, and only then is the
//! program told.

use crate::heap::{Heap, HeapEntry};
use crate::memory::large::{LARGEST_SMALL_CELL, LargeSpace};
use crate::memory::range::BLOCK_BYTES;
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::out_of_memory::{OutOfMemory, name_of, range_used_up};
use crate::type_registry::{TypeId, TypeInfo};

impl Heap {
    /// Allocates an object without tail elements. All words of its payload are zero. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[inline(always)]
    pub fn allocate(&mut self, type_id: TypeId) -> Result<ObjectRef, OutOfMemory> {
        self.allocate_array(type_id, 0)
    }

    /// Allocates an object with `length` tail elements. All words of its payload are zero but the length. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate_array(&mut self, type_id: TypeId, length: u64) -> Result<ObjectRef, OutOfMemory> {
        self.allocate_cell(type_id.info(), length)
    }

    /// The entry of every allocation that is not inline in compiled code. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[inline(never)]
    pub fn allocate_cell(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        match self.bump(info) {
            Some(object) => Ok(object),
            None => self.allocate_slowly(info, length),
        }
    }

    /// As inline code does it: the cursor moves on, and all that the heap and the type may want besides is one flag and one
    /// number. The prompt plan has no cursor.
    #[inline(always)]
    pub(crate) fn bump(&mut self, info: &TypeInfo) -> Option<ObjectRef> {
        let object = self.bump_unwritten(info)?;
        clear_payload(object, info.bump_cell);
        Some(object)
    }

    /// The same with any words in its payload.
    #[inline(always)]
    pub(crate) fn bump_unwritten(&mut self, info: &TypeInfo) -> Option<ObjectRef> {
        let start = self.advance(info.bump_cell)?;
        Some(self.write_header(start, info.id))
    }

    /// The same for an array of the deferred plan, whose length is only known now. Other types take the long way.
    #[inline(always)]
    pub(crate) fn bump_array(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        if info.stride == 0 || info.align > 8 || info.has_finalizer {
            return None;
        }
        let cell = info.cell_bytes(length).filter(|&cell| cell <= LARGEST_SMALL_CELL)?;
        let start = self.advance(cell)?;
        let object = self.write_header(start, info.fresh_meta_deferred());
        clear_payload(object, cell);
        object.slot(info.length_offset).store(length);
        Some(object)
    }

    /// Moves the cursor on by a cell, unless that does not fit or something is due; where it was.
    #[inline(always)]
    fn advance(&mut self, cell: u64) -> Option<u64> {
        let context = self.context_mut();
        let (start, end) = (context.cursor, context.cursor + cell);
        if end > context.limit || self.due_at_allocation {
            return None;
        }
        self.context_mut().cursor = end;
        Some(start)
    }

    #[inline(never)]
    fn allocate_slowly(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        let object = self.allocate_with_host(info, length)?;
        self.disown(object);
        Ok(object)
    }

    /// Allocates an object that the caller owns: under the prompt plan its count is one. All words of its payload are zero but
    /// the length.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[inline(never)]
    pub fn allocate_owned(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        self.allocate_with_host(info, length)
    }

    /// The same for an object that compiled code does not allocate inline, such as an array.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[inline(always)]
    pub fn allocate_array_owned(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        match self.allocate_at_once(info, length) {
            Some(object) => Ok(object),
            None => self.allocate_owned(info, length),
        }
    }

    /// The same; the host's callbacks are called (`limits`).
    #[inline(always)]
    fn allocate_with_host(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        let mut retries = 0;
        loop {
            if self.due_at_allocation {
                self.do_what_is_due();
            }
            match self.allocate_cell_of_plan(info, length) {
                Ok(object) => {
                    self.note_slow_allocation(object);
                    return Ok(object);
                }
                // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through
                // a pointer.
                Err(error) if Heap::host_made_room(unsafe { HeapEntry::of(self) }, &error, retries) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn allocate_uncounted(&mut self, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        let absurd = || OutOfMemory::Absurd { length, type_name: name_of(info) };
        let length = self.length_of(info, length);
        let cell = info.cell_bytes(length).ok_or_else(absurd)?;
        if self.zeal.is_some() && self.is_running() {
            self.with_driver(|driver, heap| driver.epoch(heap));
        }
        if self.services.finalizers.are_ready() && self.is_running() {
            self.finalizer_safepoint();
        }
        self.fails_as_asked(info, cell)?;
        let object = match self.allocate_anywhere(info, cell, length) {
            Err(_) if !self.services.finalizers.queue.is_empty() => {
                self.finalize_for_room();
                self.allocate_anywhere(info, cell, length)?
            }
            allocated => allocated?,
        };
        if info.stride != 0 {
            object.slot(info.length_offset).store(length);
        }
        if let Some(zeal) = &mut self.zeal {
            zeal.birth(object, cell);
        }
        if info.has_finalizer {
            self.note_birth_with_finalizer(object, info);
        }
        Ok(object)
    }

    /// The number of elements: none, of a type that has none.
    #[inline(always)]
    pub(crate) fn length_of(&self, info: &TypeInfo, length: u64) -> u64 {
        if info.stride != 0 {
            return length;
        }
        if length != 0 {
            self.refuse_length(info, length);
        }
        0
    }

    fn allocate_anywhere(&mut self, info: &TypeInfo, cell: u64, length: u64) -> Result<ObjectRef, OutOfMemory> {
        match cell > LARGEST_SMALL_CELL {
            true => self.allocate_large(info, cell, length),
            false => self.allocate_small(info, cell),
        }
    }

    /// A small object without a safepoint, where there is room at hand.
    pub(crate) fn allocate_uncounted_aside(&mut self, info: &TypeInfo, length: u64) -> Option<ObjectRef> {
        let cell = info.cell_bytes(length).filter(|&cell| cell <= LARGEST_SMALL_CELL && info.align <= 8)?;
        let start = self.carve(cell, info.align).or_else(|| self.room_at_hand(cell, info.align))?;
        let object = self.write_header(start, info.fresh_meta_deferred());
        clear_payload(object, cell);
        object.slot(info.length_offset).store(length);
        if let Some(zeal) = &mut self.zeal {
            zeal.birth(object, cell);
        }
        Some(object)
    }

    #[cold]
    #[inline(never)]
    fn finalizer_safepoint(&mut self) {
        // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
        // pointer.
        Heap::run_finalizers(unsafe { HeapEntry::of(self) });
    }

    /// A full collection has found objects that wait for their finalizers: with those they go.
    #[cold]
    fn finalize_for_room(&mut self) {
        // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
        // pointer.
        Heap::collect(unsafe { HeapEntry::of(self) });
    }

    fn allocate_small(&mut self, info: &TypeInfo, cell: u64) -> Result<ObjectRef, OutOfMemory> {
        let start = match self.carve(cell, info.align) {
            Some(start) => start,
            None => self.find_room(info, cell)?,
        };
        let object = self.write_header(start, info.fresh_meta_deferred());
        clear_payload(object, cell);
        Ok(object)
    }

    #[cold]
    #[inline(never)]
    fn do_what_is_due(&mut self) {
        if self.limits.soft_is_due {
            // SAFETY: [ALONE] nothing of this heap is borrowed by the callers' callers but the heap itself, through a
            // pointer.
            Heap::run_soft_limit_callback(unsafe { HeapEntry::of(self) });
        }
        self.due_at_allocation =
            self.every_allocation_calls() || self.limits.soft_is_due || self.services.finalizers.are_ready();
    }

    fn write_header(&mut self, start: u64, meta: u32) -> ObjectRef {
        // SAFETY: [HEADER] the header of a cell of this heap is written in the next two lines.
        let object = unsafe { ObjectRef::from_address(start + HEADER_BYTES) };
        object.set_stamp(self.clock.epoch);
        object.set_meta(meta);
        object
    }

    /// Whether the heap limit allows `bytes` of blocks more.
    pub(crate) fn allows(&self, bytes: u64) -> bool {
        self.options.heap_limit.is_none_or(|limit| self.used_bytes().saturating_add(bytes) <= limit)
    }

    /// Why `bytes` of blocks are not to be had.
    #[cold]
    pub(crate) fn refusal(&self, bytes: u64, info: &TypeInfo) -> OutOfMemory {
        match self.options.heap_limit {
            Some(limit) if !self.allows(bytes) => {
                OutOfMemory::Limit { limit, used: self.used_bytes(), requested: bytes, type_name: name_of(info) }
            }
            _ => range_used_up(info, bytes),
        }
    }

    fn allocate_large(&mut self, info: &TypeInfo, cell: u64, length: u64) -> Result<ObjectRef, OutOfMemory> {
        let blocks = LargeSpace::blocks_for(cell, info).ok_or_else(|| range_used_up(info, cell))?;
        let bytes = blocks as u64 * BLOCK_BYTES;
        self.with_driver(|driver, heap| driver.on_block_taken(heap));
        let payload = match self.take_large(blocks, info) {
            Some(payload) => payload,
            None => {
                self.with_driver(|driver, heap| driver.collect(heap));
                self.take_large(blocks, info).ok_or_else(|| self.refusal(bytes, info))?
            }
        };
        let object = self.write_header(payload - HEADER_BYTES, info.fresh_meta_deferred() | flag::LARGE);
        let chunks = info.chunk_count(length);
        let epoch = self.clock.epoch;
        self.large.adopt(object, blocks, chunks, epoch);
        self.note_growth();
        self.clock.given_bytes += cell;
        self.count_birth(cell);
        Ok(object)
    }

    pub(crate) fn take_large(&mut self, blocks: u32, info: &TypeInfo) -> Option<u64> {
        if !self.makes_room(blocks as u64 * BLOCK_BYTES) {
            return None;
        }
        self.give_excess_back(blocks);
        self.large.take(blocks, info)
    }

    pub(crate) fn count_birth(&mut self, cell: u64) {
        self.statistics.note_births(cell, 1);
    }
}

#[inline(always)]
fn clear_payload(object: ObjectRef, cell: u64) {
    // SAFETY: the payload of a cell that was just carved.
    unsafe { std::ptr::write_bytes(object.address() as *mut u8, 0, (cell - HEADER_BYTES) as usize) };
}
