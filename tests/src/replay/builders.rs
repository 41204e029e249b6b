//! Allocation, and the ops that build whole structures.
//!
//! A new object is checked before it is used: aligned, null references, its length set. The structures are rooted in a
//! register from their first object on, so that any epoch may come between two allocations.

use std::collections::BTreeSet;

use super::effects::data_offsets;
use super::{BLOCK_BYTES, Loaded, Replay};
use crate::heap_under_test::{HeapUnderTest, Refusal};
use crate::model_heap::{Id, Word};
use crate::op::{Deed, Place, Register};
use crate::shape::{DEED, Kind};

impl<H: HeapUnderTest> Replay<'_, H> {
    /// A new object, checked to be null and filled with its data; `None` when the heap is full with good reason.
    pub(super) fn allocate(&mut self, kind: Kind, length: u32) -> Result<Option<Id>, String> {
        let length = if kind.has_tail() { u64::from(length) } else { 0 };
        let Some(address) = self.allocate_bare(kind, length)? else { return Ok(None) };
        let id = self.enter(kind, length, address);
        for offset in data_offsets(self.model.object(id)) {
            let Word::Raw(bits) = self.model.load(id, offset) else { unreachable!("data is no reference") };
            self.heap.store_data(address, offset, bits);
        }
        if kind.shape().finalizer.is_some() {
            self.heap.store_data(address, DEED, Deed::Nothing.encode());
        }
        Ok(Some(id))
    }

    /// Adds the model's object for a new one of the heap.
    pub(super) fn enter(&mut self, kind: Kind, length: u64, address: u64) -> Id {
        let id = self.model.allocate(kind, length);
        self.addresses.push(address);
        self.newest_at.insert(address, id);
        self.summary.objects += 1;
        id
    }

    pub(super) fn allocate_bare(&mut self, kind: Kind, length: u64) -> Result<Option<u64>, String> {
        let shape = kind.shape();
        let allocated = self.heap.allocate(kind, length);
        let Some(address) = self.after_allocation(allocated, kind, length)? else { return Ok(None) };
        if !address.is_multiple_of(u64::from(shape.align.max(8))) {
            return Err(format!("a new {} at {address:#x} is not aligned to {}", kind.word(), shape.align.max(8)));
        }
        for slot in 0..kind.slot_count(length) {
            let offset = kind.slot_offset(slot);
            let word = self.heap.load(address, offset);
            if word != 0 {
                return Err(format!("a new {} at {address:#x} has {word:#x} at offset {offset}", kind.word()));
            }
        }
        if kind.has_tail() && self.heap.load(address, shape.length_offset) != length {
            return Err(format!("a new {} at {address:#x} has not its length {length}", kind.word()));
        }
        Ok(Some(address))
    }

    /// Checks that a full heap is right: it has a limit, and reachable objects pin nearly all of its blocks. A block
    /// stays in use as long as an object in it lives, and objects do not move. Where sizes have blocks of their own,
    /// one of each may be kept for the next objects.
    pub(super) fn out_of_memory(&mut self, kind: Kind, length: u64, why: &Refusal) -> Result<(), String> {
        let reachable = self.model.reachable();
        let mut blocks = BTreeSet::new();
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            let (object, address) = (self.model.object(id), self.addresses[id as usize]);
            let end = address + object.kind.payload_bytes(object.length);
            blocks.extend((address - 8) / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES));
        }
        blocks.extend(self.heap.hidden_objects().into_iter().map(|address| address / BLOCK_BYTES));
        let pinned = blocks.len() as u64 * BLOCK_BYTES;
        let wanted = (kind.payload_bytes(length) + 64 + u64::from(kind.shape().align)).next_multiple_of(BLOCK_BYTES);
        match self.heap_limit {
            // Finalizers that ran or began in this very allocation may hold more.
            Some(_) if self.finalizing.ran_in_this_op => {
                self.summary.out_of_memory += 1;
                Ok(())
            }
            Some(limit) if pinned + wanted + self.heap.kept_bytes() + BLOCK_BYTES > limit => {
                self.summary.out_of_memory += 1;
                Ok(())
            }
            limit => Err(format!("{wanted} bytes not to be had with {pinned} bytes pinned, limit {limit:?}: {why}")),
        }
    }

    pub(super) fn build(&mut self, kind: Kind, length: u32, into: Register) -> Result<Option<Id>, String> {
        let id = self.allocate(kind, length)?;
        if id.is_some() {
            self.set_root(usize::from(into), id);
        }
        Ok(id)
    }

    pub(super) fn allocate_into(&mut self, kind: Kind, length: u32, place: Place) -> Result<(), String> {
        if self.resolve(place)?.is_some()
            && let Some(id) = self.allocate(kind, length)?
            && let Some((holder, offset)) = self.resolve(place)?
        {
            let encoding = self.model.object(holder).kind.encoding_at(offset);
            self.store_loaded(holder, offset, Loaded { word: Word::Reference(id), refers: true, encoding });
        }
        Ok(())
    }

    pub(super) fn garbage(&mut self, kind: Kind, length: u32, count: u32) -> Result<(), String> {
        let length = if kind.has_tail() { u64::from(length) } else { 0 };
        for _ in 0..count {
            let address = self.allocate_bare(kind, length)?;
            match address {
                Some(address) if kind.shape().finalizer.is_some() => {
                    // It will be finalized: the model must know it.
                    self.heap.store_data(address, DEED, Deed::Nothing.encode());
                    let id = self.enter(kind, length, address);
                    for offset in data_offsets(self.model.object(id)) {
                        self.model.store(id, offset, Word::Raw(0));
                    }
                }
                Some(address) => {
                    self.newest_at.remove(&address);
                    self.anonymous.insert(address);
                }
                None => {}
            }
        }
        Ok(())
    }

    pub(super) fn chain(&mut self, kind: Kind, count: u32, into: Register, closed: bool) -> Result<(), String> {
        if kind.slot_count(0) == 0 || kind == Kind::Label || kind.shape().ephemeron || count == 0 {
            return Ok(());
        }
        let Some(head) = self.build(kind, 0, into)? else { return Ok(()) };
        let mut last = head;
        for _ in 1..count {
            let Some(next) = self.allocate(kind, 0)? else { return Ok(()) };
            self.link(last, 0, next);
            last = next;
        }
        if closed {
            self.link(last, 0, head);
        }
        Ok(())
    }

    pub(super) fn hub(&mut self, count: u32, into: Register) -> Result<(), String> {
        let Some(array) = self.build(Kind::Array, count.max(1), into)? else { return Ok(()) };
        let Some(hub) = self.allocate(Kind::Pair, 0)? else { return Ok(()) };
        self.link(array, 0, hub);
        self.link(hub, 0, array);
        for index in 0..u64::from(count) {
            let Some(spoke) = self.allocate(Kind::Pair, 0)? else { return Ok(()) };
            self.link(spoke, 0, hub);
            self.link(array, index, spoke);
        }
        Ok(())
    }

    pub(super) fn tree(&mut self, depth: u8, into: Register) -> Result<(), String> {
        let Some(root) = self.build(Kind::Triple, 0, into)? else { return Ok(()) };
        let mut work = vec![(root, depth.min(12))];
        while let Some((parent, depth)) = work.pop() {
            for slot in 0..if depth > 0 { 2 } else { 0 } {
                let Some(child) = self.allocate(Kind::Triple, 0)? else { return Ok(()) };
                self.link(parent, slot, child);
                self.link(child, 2, parent);
                work.push((child, depth - 1));
            }
        }
        Ok(())
    }
}
