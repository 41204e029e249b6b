//! Objects larger than half a block: whole blocks of their own, and logging by chunk.
//!
//! A large object starts a run of blocks. What its header cannot hold stands in this table: one stamp per chunk of its
//! tail (`TypeInfo::chunk_elements` elements each), read exactly like a small object's header stamp, so that a write to
//! a million-element array logs 64 words and not a million. `[LOG]` The unlogged bits of a chunk are cleared when it is
//! logged, but for a granule that it shares with the next chunk: writes there go the slow way, which looks at the
//! stamp. Elements are laid out so that there is none in an array of references with a length in front.
//!
//! New large objects are on the `young` list: unlike small ones they are visited when they die young, because their
//! blocks must be given back.

use crate::memory::block_state::{clear_tables, state};
use crate::memory::leaving::{LEAVING_FREELY, Leaving, Run, STEP_BLOCKS};
use crate::memory::list::List;
use crate::memory::range::{self, BLOCK_BYTES, BUFFERED, UNLOGGED, block_info, block_start};
use crate::memory::spare_runs::SpareRuns;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::report::histogram::Histogram;
use crate::type_registry::TypeInfo;
use std::ops::Range;

/// Cells above this size are large.
pub const LARGEST_SMALL_CELL: u64 = 16384;

/// The heap's data about one large object.
#[derive(Debug)]
pub(crate) struct LargeObject {
    /// The object.
    pub object: ObjectRef,
    /// Blocks of its run.
    pub blocks: u32,
    /// One stamp per chunk.
    pub stamps: List<u32>,
}

/// The large objects of one heap.
#[derive(Debug, Default)]
pub struct LargeSpace {
    objects: List<Option<LargeObject>>,
    vacant: List<u32>,
    /// Allocated since the last flip.
    pub young: List<ObjectRef>,
    /// Were young at the last flip; those not promoted by the end of the pass are dead.
    pub pending: List<ObjectRef>,
    /// Number of the heap, entered into each run's first block.
    pub owner: u32,
    blocks: u64,
    /// Bytes of the cells of mature ones, under the deferred plan.
    pub(crate) mature_bytes: u64,
    /// Blocks of dead objects, on their way back to the system.
    pub leaving: Leaving,
    /// Blocks of dead objects that wait for new ones.
    pub(crate) spares: SpareRuns,
    /// Objects taken under the prompt plan so far.
    pub(crate) taken_objects: u64,
    /// Bytes of their cells.
    pub(crate) taken_bytes: u64,
    /// The cells by size.
    pub(crate) taken_sizes: Histogram,
    /// Where unlogged bits were cleared since the last flip.
    logged: List<Range<u64>>,
}

impl LargeSpace {
    /// Blocks that a cell of `cell` bytes of a type needs; `None` when that is absurd.
    pub(crate) fn blocks_for(cell: u64, info: &TypeInfo) -> Option<u32> {
        let bytes = cell - HEADER_BYTES + payload_offset(info);
        u32::try_from(bytes.div_ceil(BLOCK_BYTES)).ok()
    }

    /// Takes the blocks for a cell and zeroed memory; the payload's address, or `None` when the range is used up. The
    /// caller writes the header, then calls [`adopt`](Self::adopt).
    pub fn take(&mut self, blocks: u32, info: &TypeInfo) -> Option<u64> {
        let first = self.spares.take(blocks).or_else(|| crate::memory::block_source::take(blocks)).or_else(|| {
            self.leaving.shrink_to(0);
            self.spares.give_back();
            crate::memory::block_source::take(blocks)
        })?;
        Some(block_start(first) + payload_offset(info))
    }

    /// Blocks that must go back before a large object of `blocks` blocks may be taken, while `others` other blocks of the heap
    /// are in use: else what waits would grow without bound.
    pub(crate) fn leaving_in_excess(&self, blocks: u32, others: u64) -> u64 {
        let waiting = self.leaving.blocks();
        let may_wait = ((others + u64::from(blocks)) / 2).max(LEAVING_FREELY);
        waiting.saturating_sub(may_wait).max(waiting.min(u64::from(blocks.min(STEP_BLOCKS))))
    }

    /// Enters a new object with `chunks` chunks, all stamped `epoch`.
    pub fn adopt(&mut self, object: ObjectRef, blocks: u32, chunks: u64, epoch: u32) {
        self.enter(object, blocks, chunks, epoch);
        self.young.push(object);
    }

    /// Enters a new object of a prompt heap, of `cell` bytes: it is not young, and nothing of it is logged.
    pub(crate) fn adopt_counted(&mut self, object: ObjectRef, blocks: u32, cell: u64) {
        self.enter(object, blocks, 0, 0);
        self.taken_objects += 1;
        self.taken_bytes += cell;
        self.taken_sizes.add(cell, 1);
    }

    fn enter(&mut self, object: ObjectRef, blocks: u32, chunks: u64, epoch: u32) {
        let entry = LargeObject { object, blocks, stamps: List::filled(epoch, chunks as usize) };
        let place = match self.vacant.pop() {
            Some(place) => {
                self.objects[place as usize] = Some(entry);
                place
            }
            None => {
                self.objects.push(Some(entry));
                self.objects.len() as u32 - 1
            }
        };
        let first = Self::first_block(object);
        // SAFETY: the run was taken for this object.
        unsafe { &*block_info(first) }.state.set(state::LARGE);
        for block in first..first + blocks {
            // SAFETY: the run was taken for this object.
            unsafe { &*block_info(block) }.age.set(place);
        }
        // SAFETY: [OWNED] the block was taken for this heap.
        unsafe { range::set_owner(first, self.owner) };
        self.blocks += blocks as u64;
    }

    /// Bytes of the cell of an object.
    pub fn cell_of(&self, object: ObjectRef) -> u64 {
        object.type_info().cell_bytes_of(object)
    }

    /// Payload bytes that the blocks of an object have room for.
    pub(crate) fn room_of(&self, object: ObjectRef, info: &TypeInfo) -> u64 {
        let entry = self.objects[Self::place(object)].as_ref().expect("a large object is in the table");
        u64::from(entry.blocks) * BLOCK_BYTES - payload_offset(info)
    }

    /// The live object in whose run `address` lies.
    pub fn object_at(&self, address: u64) -> Option<ObjectRef> {
        if !range::in_heap(address) || !range::is_reserved(address) {
            return None;
        }
        let block = range::block_of(address);
        // SAFETY: [MAPPED] the entry of an address in the reserved range.
        let place = unsafe { (*block_info(block)).age.get() };
        // Of a block that is no large object's the place is another thing's, or out of date.
        let entry = self.objects.get(place as usize)?.as_ref()?;
        let first = Self::first_block(entry.object);
        let lies_there = (first..first + entry.blocks).contains(&block);
        (lies_there && !entry.object.has(crate::object::flag::DEAD)).then_some(entry.object)
    }

    /// Whether there is such an object; of any address.
    pub fn holds(&self, object: ObjectRef) -> bool {
        // SAFETY: [MAPPED] the entry of an address in the reserved range.
        let info = unsafe { &*block_info(Self::first_block(object)) };
        let entry = self.objects.get(info.age.get() as usize).and_then(Option::as_ref);
        info.state.get() == state::LARGE && entry.is_some_and(|entry| entry.object == object)
    }

    /// Objects that are not known to be dead, and the bytes of their cells.
    pub fn totals(&self) -> (u64, u64) {
        let alive = self.objects.iter().flatten().filter(|entry| !entry.object.has(crate::object::flag::DEAD));
        alive.fold((0, 0), |(objects, bytes), entry| (objects + 1, bytes + self.cell_of(entry.object)))
    }

    fn first_block(object: ObjectRef) -> u32 {
        range::block_of(object.address() - HEADER_BYTES)
    }

    fn place(object: ObjectRef) -> usize {
        // SAFETY: the object is in the table: its first block carries its place.
        unsafe { (*block_info(Self::first_block(object))).age.get() as usize }
    }

    /// The chunk stamps of `object`.
    pub fn stamps(&mut self, object: ObjectRef) -> &mut [u32] {
        &mut self.objects[Self::place(object)].as_mut().expect("a large object is in the table").stamps
    }

    /// Whether the chunk is still pending, stamped `pending`; it is clean from here on. `[PENDING]`
    pub fn take_pending(&mut self, object: ObjectRef, chunk: u64, pending: u32) -> bool {
        let stamp = &mut self.stamps(object)[chunk as usize];
        let was_pending = *stamp == pending;
        if was_pending {
            *stamp = 0;
        }
        was_pending
    }

    /// A chunk was logged in epoch `epoch`: it may be written to.
    pub(crate) fn note_logged(&mut self, object: ObjectRef, chunk: u64, epoch: u32) {
        let granules = self.note_shown(object, chunk, epoch);
        if !granules.is_empty() {
            self.logged.push(granules);
        }
    }

    /// A chunk may be written to in epoch `epoch`. Returns its granules, whose bits are cleared.
    pub(crate) fn note_shown(&mut self, object: ObjectRef, chunk: u64, epoch: u32) -> Range<u64> {
        self.stamps(object)[chunk as usize] = epoch;
        let granules = granules_of(object, object.type_info().bytes_of_chunk(object, chunk));
        if !granules.is_empty() {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { UNLOGGED.clear_range(granules.start, granules.end) };
        }
        granules
    }

    /// Sets the unlogged bits of young objects from the one with that number on.
    pub(crate) fn arm_young(&self, from: usize) {
        self.young[from..].iter().for_each(|&object| arm(object));
    }

    /// Gives the object's blocks back.
    pub fn free(&mut self, object: ObjectRef) {
        let place = Self::place(object);
        let entry = self.objects[place].take().expect("a large object is in the table");
        self.vacant.push(place as u32);
        self.blocks -= entry.blocks as u64;
        if let Some(run) = self.spares.keep(run_of(&entry)) {
            self.leaving.add(run);
        }
    }

    /// At a flip: the young list becomes pending; its objects' unlogged bits, and those of logged chunks, are armed.
    /// Objects with a chunk in the running log are kept, so that all this is theirs. Costs a 128th of the bytes in which
    /// young objects may hold references, and some instructions for each chunk.
    pub fn flip(&mut self) {
        debug_assert!(self.pending.is_empty());
        self.spares.flip(|run| self.leaving.add_idle(run));
        std::mem::swap(&mut self.young, &mut self.pending);
        // SAFETY: [OWNED] a block of this heap.
        self.logged.iter().for_each(|granules| unsafe { UNLOGGED.set_range(granules.start, granules.end) });
        self.logged.clear();
        self.pending.iter().for_each(|&object| arm(object));
    }

    /// At the end of a collection that marks: no object is young, or all are.
    pub(crate) fn end_collection(&mut self, all_are_young: bool) {
        self.spares.flip(|run| self.leaving.add_idle(run));
        match all_are_young {
            true => self.list_all_as_young(),
            false => self.young.clear(),
        }
    }

    fn list_all_as_young(&mut self) {
        self.young.clear();
        self.young.extend(self.objects.iter().flatten().map(|entry| entry.object));
    }

    /// All objects are young: none has a count or is a candidate, no write to it is logged, and all its chunks are stamped
    /// `epoch`.
    pub(crate) fn make_young(&mut self, epoch: u32) {
        self.forget_counts();
        self.list_all_as_young();
        for entry in self.objects.iter_mut().flatten() {
            let object = entry.object;
            entry.stamps.fill(epoch);
            let info = object.type_info();
            if info.has_references {
                // SAFETY: [OWNED] a block of this heap.
                unsafe { UNLOGGED.clear_range(object.address(), object.address() + info.reference_bytes(object).end) };
            }
        }
    }

    /// No object has a count or is a candidate, and no write is logged.
    pub(crate) fn forget_counts(&mut self) {
        self.logged.clear();
        for entry in self.objects.iter().flatten() {
            entry.object.set_count(0);
            BUFFERED.clear(entry.object.granule());
        }
    }

    /// The object at table place `place`; `None` at a vacant place.
    pub fn at(&self, place: usize) -> Option<ObjectRef> {
        self.objects[place].as_ref().map(|entry| entry.object)
    }

    /// Places in the table, vacant ones included.
    pub fn places(&self) -> usize {
        self.objects.len()
    }

    /// Bytes of all runs, with those on their way back.
    pub fn used_bytes(&self) -> u64 {
        (self.blocks + self.leaving.blocks()) * BLOCK_BYTES
    }
}

/// Sets the unlogged bits of an object.
fn arm(object: ObjectRef) {
    let info = object.type_info();
    if info.has_references {
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.set_range(object.address(), object.address() + info.reference_bytes(object).end) };
    }
}

/// Where the payload lies in its first block: the elements begin with a granule, where the alignment allows it.
fn payload_offset(info: &TypeInfo) -> u64 {
    if info.align > 8 || info.stride == 0 { info.align.max(16) } else { 16 + info.size.wrapping_neg() % 16 / 8 * 8 }
}

/// The granules that the payload's `bytes` have for themselves. The bytes before the first part and behind the last belong to no other part.
fn granules_of(object: ObjectRef, bytes: Range<u64>) -> Range<u64> {
    let end = object.type_info().reference_bytes(object).end;
    let first = if bytes.start == 0 { object.address() & !15 } else { (object.address() + bytes.start + 15) & !15 };
    let last = object.address() + bytes.end;
    first..if bytes.end >= end { (last + 15) & !15 } else { last & !15 }
}

/// The blocks of an object that has died; their tables know nothing of it any more, but for unlogged bits. Other tables
/// know a large object by its payload's address alone, so that only its first block has entries, but for the object's place: zeroing
/// those of the whole run, in one step, made a tenth of the object's size resident. `[BOUND]`
fn run_of(entry: &LargeObject) -> Run {
    let first = LargeSpace::first_block(entry.object);
    // SAFETY: [OWNED] the block is this heap's, and holds nothing.
    unsafe { clear_tables(first) };
    let info = entry.object.type_info();
    let armed = if entry.stamps.is_empty() || !info.has_references {
        0
    } else if info.tail_refers {
        entry.blocks
    } else {
        // Not by the length: zeal has overwritten what it has buried.
        range::block_of(entry.object.address() + info.size - 1) + 1 - first
    };
    Run { first, blocks: entry.blocks, armed }
}

impl Drop for LargeSpace {
    fn drop(&mut self) {
        self.objects.iter().flatten().for_each(|entry| self.leaving.add(run_of(entry)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::TypeDescriptor;
    use crate::type_registry::register;

    fn made(space: &mut LargeSpace, blocks: u32) -> ObjectRef {
        static DATA: TypeDescriptor = TypeDescriptor::plain(c"Data", 8, &[]).with_tail(0, 1, &[]);
        let info = register(&DATA).expect("a sound descriptor").info();
        let address = space.take(blocks, info).expect("room");
        // SAFETY: [OWNED] the run was just taken.
        let object = unsafe { ObjectRef::from_address(address) };
        object.set_meta(info.id);
        space.adopt_counted(object, blocks, u64::from(blocks) * BLOCK_BYTES);
        object
    }

    /// The object that each block of a run leads to.
    fn found(space: &LargeSpace, first: u64, blocks: u32) -> Vec<Option<ObjectRef>> {
        (0..u64::from(blocks)).map(|block| space.object_at(first + block * BLOCK_BYTES)).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn each_block_of_a_large_object_leads_to_it_until_it_is_freed() {
        let mut space = LargeSpace::default();
        space.owner = 1;
        let objects: Vec<_> = (1..=6).map(|blocks| (made(&mut space, blocks), blocks)).collect();
        for &(object, blocks) in &objects {
            assert_eq!(found(&space, object.address(), blocks), vec![Some(object); blocks as usize]);
        }
        let (dead, blocks) = objects[4];
        space.free(dead);
        assert_eq!(found(&space, dead.address(), blocks), vec![None; blocks as usize]);
        let next = made(&mut space, 2);
        let mut expected = vec![None; blocks as usize];
        expected[3..].fill(Some(next));
        assert_eq!(found(&space, dead.address(), blocks), expected, "the end of the run has another object");
        assert_eq!(space.object_at(objects[5].0.address() + 5 * BLOCK_BYTES), Some(objects[5].0));
        assert_eq!((space.object_at(8), space.object_at(range::HEAP_BASE + range::HEAP_SPAN - 8)), (None, None));
    }
}
