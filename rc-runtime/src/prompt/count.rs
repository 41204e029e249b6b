//! Exact counts: in the header, changed at every write of a reference. `[EXACT]`
//!
//! What compiled code does inline stands here for hosts and for the runtime's own writes:
//!
//! ```text
//! increment(v): count = count +sat 1
//! decrement(v): count = count − 1;  count ≤ 0 (signed) → zero or stuck;  else unless SETTLED → candidate
//! write(o.slot, v): increment(v); old = o.slot; o.slot = v; decrement(old)
//! ```
//!
//! A count at or above 2³¹ is *stuck*: the decrement that finds it so puts it to the middle of that half, from where neither
//! 2³⁰ increments nor as many decrements lead out of it without passing here. It never wraps, and never frees; the mark does.
//!
//! Expected cost: increment 1 load, 1 add, 1 store; decrement 1 load, 1 subtraction, 1 store, 2 branches.

use crate::descriptor::TypeDescriptor;
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot, prompt_flag};
use crate::range::{self, BUFFERED};
use crate::type_registry::{Reading, TypeInfo};
use crate::visit::Part;
use smallvec::SmallVec;

/// Where a stuck count is put back to.
pub const STUCK_COUNT: u32 = 0xc000_0000;
/// Candidates buffered at most; beyond that they are only counted as suspects.
const CANDIDATES_MAX: usize = 1 << 20;

/// References collected before counts change.
type Found = SmallVec<[ObjectRef; 32]>;

impl ObjectRef {
    /// The count of an object of a prompt heap.
    #[inline(always)]
    pub fn exact_count(self) -> u32 {
        self.stamp()
    }

    /// Sets it.
    #[inline(always)]
    pub fn set_exact_count(self, count: u32) {
        self.set_stamp(count);
    }

    /// Whether a count no longer says anything.
    #[inline(always)]
    pub fn is_stuck(self) -> bool {
        self.exact_count() > i32::MAX as u32
    }

    /// The header as one word: meta above, count below.
    #[inline(always)]
    pub fn header(self) -> u64 {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *const u64) }
    }

    /// Sets both halves.
    #[inline(always)]
    pub fn set_header(self, meta: u32, count: u32) {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *mut u64) = (meta as u64) << 32 | count as u64 }
    }

    /// Adds one to the count; a count that is full stays.
    #[inline(always)]
    pub fn increment_exact(self) {
        self.set_exact_count(self.exact_count().saturating_add(1));
    }
}

impl Heap {
    /// The object's count, whatever the plan: at the last flip, where 255 is stuck, or now.
    pub fn count_of(&self, object: ObjectRef) -> u32 {
        match self.plan {
            crate::plan::Plan::Deferred => object.count() as u32,
            crate::plan::Plan::Prompt => object.exact_count(),
        }
    }

    /// Takes one from the object's count.
    #[inline(always)]
    pub fn decrement_exact(&mut self, object: ObjectRef) {
        let header = object.header();
        let count = (header as u32).wrapping_sub(1);
        object.set_exact_count(count);
        if count as i32 <= 0 {
            self.note_zero(object);
        } else if header >> 63 == 0 {
            self.note_candidate(object);
        }
    }

    /// The count has just been taken to zero, or is stuck.
    pub fn note_zero(&mut self, object: ObjectRef) {
        match object.exact_count() {
            0 => self.add_pending(object),
            u32::MAX => {
                let what = format!("the count of {object:?} ({}) would fall below zero", object.type_info().name);
                crate::fatal::violation("EXACT", self.epoch, &what)
            }
            _ => {
                object.set_exact_count(STUCK_COUNT);
                self.suspects += 1;
            }
        }
    }

    /// The count fell to non-zero: the object may hold up a garbage cycle. `[CANDIDATE]`
    #[inline(always)]
    pub fn note_candidate(&mut self, object: ObjectRef) {
        if self.candidates.len() >= CANDIDATES_MAX {
            return self.settle_without_buffer(object);
        }
        object.add_flags(prompt_flag::SETTLED | prompt_flag::CANDIDATE);
        BUFFERED.set(object.address());
        self.candidates.push(object);
    }

    #[cold]
    fn settle_without_buffer(&mut self, object: ObjectRef) {
        object.add_flags(prompt_flag::SETTLED);
        self.suspects += 1;
    }

    /// The counted form of [`write`](Self::write).
    #[inline(never)]
    pub(crate) fn write_counted(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        let info = object.type_info();
        if let Reading::Traced(_) = info.reading {
            let offset = slot.address() - object.address();
            return self.write_traced(object, offset..offset + 8, || slot.store(word));
        }
        if let Some(new) = info.decode(word) {
            new.increment_exact();
        }
        let old = info.decode(slot.read());
        slot.store(word);
        if let Some(old) = old {
            self.decrement_exact(old);
        }
    }

    /// The counted form of [`copy_references`](Self::copy_references).
    pub(crate) fn copy_counted(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        let info = object.type_info();
        // SAFETY: the caller names `count` readable words and `count` words of the object.
        let copy = || unsafe { std::ptr::copy(source as *const u64, target.address() as *mut u64, count as usize) };
        if let Reading::Traced(_) = info.reading {
            let offset = target.address() - object.address();
            return self.write_traced(object, offset..offset + count * 8, copy);
        }
        for index in 0..count {
            // SAFETY: as above.
            let word = unsafe { Slot::from_address(source + index * 8) }.read();
            if let Some(new) = info.decode(word) {
                new.increment_exact();
            }
        }
        self.release_words(info, target, count);
        copy();
    }

    /// The counted form of [`fill_references`](Self::fill_references).
    pub(crate) fn fill_counted(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        let info = object.type_info();
        let slots = (0..count).map(|index| object.slot(target.address() - object.address() + index * 8));
        if let Reading::Traced(_) = info.reading {
            let offset = target.address() - object.address();
            return self.write_traced(object, offset..offset + count * 8, || slots.for_each(|slot| slot.store(word)));
        }
        if let Some(new) = info.decode(word) {
            let wanted = u32::try_from(count).unwrap_or(u32::MAX);
            new.set_exact_count(new.exact_count().saturating_add(wanted));
        }
        self.release_words(info, target, count);
        slots.for_each(|slot| slot.store(word));
    }

    /// Decrements what `count` words hold that are about to be overwritten: at zero an object is only noted, not freed.
    fn release_words(&mut self, info: &TypeInfo, target: Slot, count: u64) {
        for index in 0..count {
            // SAFETY: words of one object, by the caller's promise.
            if let Some(old) = info.decode(unsafe { Slot::from_address(target.address() + index * 8) }.read()) {
                self.decrement_exact(old);
            }
        }
    }

    /// Only `trace` knows which words are references: what it reports of the parts that are written, before and after.
    fn write_traced(&mut self, object: ObjectRef, bytes: std::ops::Range<u64>, store: impl FnOnce()) {
        let info = object.type_info();
        let mut old = Found::new();
        info.for_each_reference_near(object, bytes.clone(), |target| old.push(target));
        store();
        info.for_each_reference_near(object, bytes, ObjectRef::increment_exact);
        old.into_iter().for_each(|target| self.decrement_exact(target));
    }

    /// A root of complex shape was stored to: what `slot` holds now is counted, what `shadow` holds, its value when it was
    /// settled last, is released, and `shadow` becomes a copy. A null slot only releases. `how` describes both; null = every
    /// word may be a reference.
    ///
    /// # Safety
    /// Both are `bytes` bytes, aligned words, and what they hold by `how` obeys `[HEADER]`.
    pub unsafe fn settle_root(&mut self, slot: u64, shadow: u64, how: Option<&'static TypeDescriptor>, bytes: u64) {
        let how = how.map(|how| crate::abi::root_type(how));
        let each = |address: u64, found: &mut dyn FnMut(ObjectRef)| match how {
            Some(info) => info.for_each_reference_in_root(address, found),
            None => {
                for word in (address..address + bytes).step_by(8) {
                    // SAFETY: by the caller's promise.
                    let word = unsafe { Slot::from_address(word) }.read();
                    if range::in_heap(word) {
                        // SAFETY: as above.
                        found(unsafe { ObjectRef::from_address(word) });
                    }
                }
            }
        };
        if slot != 0 {
            each(slot, &mut |new| new.increment_exact());
        }
        each(shadow, &mut |old| self.decrement_exact(old));
        // SAFETY: by the caller's promise.
        unsafe {
            match slot {
                0 => std::ptr::write_bytes(shadow as *mut u8, 0, bytes as usize),
                _ => std::ptr::copy(slot as *const u8, shadow as *mut u8, bytes as usize),
            }
        }
    }

    /// Counts one more reference of a host to the object.
    #[inline(always)]
    pub fn hold(&mut self, object: ObjectRef) {
        object.increment_exact();
    }

    /// Every object of a prompt heap that is alive or pending: not dying, not zeal's dead.
    pub fn for_each_counted(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        for place in 0..self.prompt.cells.owned.len() {
            let block = self.prompt.cells.owned[place];
            for object in super::CellSpace::objects_in(block) {
                if !object.has(prompt_flag::DEAD | prompt_flag::DYING) {
                    visit(self, object);
                }
            }
        }
        for place in 0..self.large.places() {
            if let Some(object) = self.large.at(place)
                && !object.has(prompt_flag::DEAD | prompt_flag::DYING)
            {
                visit(self, object);
            }
        }
    }

    /// Calls `visit` with everything that `object` refers to; by chunk, so that traced arrays need no image of the whole.
    #[inline(always)]
    pub fn for_each_counted_reference(object: ObjectRef, visit: impl FnMut(ObjectRef)) {
        object.type_info().for_each_reference(object, Part::Whole, visit);
    }
}
