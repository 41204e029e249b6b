//! Another number of elements for the storage of an owner: the array of a list, the nodes of a table.
//!
//! Objects do not move, so storage that has no room where it lies is **replaced**: a new object takes its elements and its place in
//! the field of the owner. The runtime does all of it in one call because it knows more than the program: that the field's is
//! the last reference to the old storage, and so that each element only changes its holder.
//!
//! | plan | in place | else |
//! |---|---|---|
//! | prompt | in the rest of its cell, or of its blocks | the elements take their counts along if nothing else holds the old storage and no mark runs; the old storage is empty then, and dies at the next safepoint |
//! | deferred, trace | while it is the newest object: the cursor moves | the words are copied: a new object is young, so that its stores need no work |
//!
//! What the old storage holds afterwards is not promised. Zeal never works in place, so that a program that goes on with the old
//! storage is found. `[EXACT]` `[LOG]`
//!
//! Growth is one step: an array of a million elements is copied at once, as by `realloc`.

use crate::at_work;
use crate::fatal::violation;
use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, Slot, flag};
use crate::out_of_memory::{OutOfMemory, name_of};
use crate::services::host_roots::Release;
use crate::type_registry::{Reading, TypeInfo};
use crate::visit::Part;

/// Fills the new storage from the old: by plain stores, each element once at most.
pub(crate) type Rehash<'a> = &'a mut dyn FnMut(ObjectRef, ObjectRef);

/// What a slot of `owner` refers to.
fn target_of(owner: ObjectRef, slot: Slot) -> Option<ObjectRef> {
    let address = match owner.type_info().reading_at(slot.address().wrapping_sub(owner.address())) {
        Reading::Traced(_) => slot.read(),
        reading => reading.address_in(slot.read()),
    };
    // SAFETY: [HEADER] a word of a field of that type, or one that the caller names and its trace function reports.
    unsafe { ObjectRef::of_word(address) }
}

/// Whether `owner` is that long.
fn lies_in(owner: ObjectRef, slot: Slot) -> bool {
    let info = owner.type_info();
    let end = info.size + info.stride * info.length(owner);
    slot.address().wrapping_sub(owner.address()).checked_add(8).is_some_and(|behind| behind <= end)
}

impl Heap {
    /// What a slot of `owner` refers to.
    pub fn storage_in(&self, owner: ObjectRef, slot: Slot) -> Option<ObjectRef> {
        target_of(owner, slot)
    }

    /// Why what `slot` of `owner` refers to cannot be resized, if it cannot.
    pub fn resize_refuses(&self, owner: ObjectRef, slot: Slot) -> Option<&'static str> {
        let Some(storage) = target_of(owner, slot) else { return Some("the field refers to no object of the heap") };
        let info = storage.type_info();
        if info.stride == 0 {
            Some("the object in the field has no elements")
        } else if info.has_finalizer {
            Some("the object in the field has a finalizer, which would run for the storage that is replaced")
        } else if storage.has(flag::SPECIAL) && !self.is_special_for_its_site(storage) {
            Some(
                "weak slots, weak references or external bytes belong to the object in the field: it cannot be replaced",
            )
        } else if self.is_open(storage) {
            Some("the object in the field is open: it is closed before it grows")
        } else {
            None
        }
    }

    /// Gives the storage in a field `length` elements: those that are there, then zeros. The field refers to it afterwards. Only where
    /// [`resize_refuses`](Self::resize_refuses) nothing. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; all is as before then.
    pub fn resize(&mut self, owner: ObjectRef, slot: Slot, length: u64) -> Result<ObjectRef, OutOfMemory> {
        self.replace_storage(owner, slot, length, None)
    }

    /// The same where elements have another place in storage of another length: `rehash` fills the new storage, whose elements are
    /// zero, and may leave some out. It is never done in place.
    ///
    /// # Errors
    /// [`OutOfMemory`]; all is as before then.
    ///
    /// # Safety
    /// `rehash` copies words of elements to words of elements of the same kind, each element once at most, and writes nothing else
    /// of the heap.
    pub unsafe fn rehash(
        &mut self,
        owner: ObjectRef,
        slot: Slot,
        length: u64,
        rehash: Rehash<'_>,
    ) -> Result<ObjectRef, OutOfMemory> {
        self.replace_storage(owner, slot, length, Some(rehash))
    }

    fn replace_storage(
        &mut self,
        owner: ObjectRef,
        slot: Slot,
        length: u64,
        mut rehash: Option<Rehash<'_>>,
    ) -> Result<ObjectRef, OutOfMemory> {
        loop {
            let old = target_of(owner, slot).expect("a field that was looked at");
            let info = old.type_info();
            if rehash.is_none() && self.is_resized_in_place(info, old, length)? {
                return Ok(old);
            }
            let new = self.allocate_beside(owner, info, length)?;
            // A callback at that safepoint may have replaced it, stored something else, or shrunk the owner itself.
            let is_inside = lies_in(owner, slot);
            if !is_inside || target_of(owner, slot) != Some(old) {
                self.give_up_owned(new);
                if !is_inside || self.resize_refuses(owner, slot).is_some() {
                    return Ok(old);
                }
                continue;
            }
            let kept = match &mut rehash {
                None => Some(copy_elements(info, old, new, length)),
                Some(rehash) => {
                    copy_fixed_part(info, old, new, length);
                    self.fill_storage(info, rehash, old, new);
                    None
                }
            };
            if info.has_references {
                self.hand_over(info, old, new, kept);
            }
            let word = slot.read() - old.address() + new.address();
            self.put_in_place_of(owner, slot, word, old);
            return Ok(new);
        }
    }

    /// Allocates an object that the caller owns, while the owner of its predecessor is held: by a root, so that the release makes it
    /// no candidate.
    fn allocate_beside(&mut self, owner: ObjectRef, info: &TypeInfo, length: u64) -> Result<ObjectRef, OutOfMemory> {
        if let Some(object) = self.allocate_at_once(info, length) {
            return Ok(object);
        }
        self.holding_as(Release::AsRoot, &[Some(owner)], |heap| heap.allocate_owned(info, length))
    }

    fn is_resized_in_place(&mut self, info: &TypeInfo, object: ObjectRef, length: u64) -> Result<bool, OutOfMemory> {
        let before = info.length(object);
        if length == before {
            return Ok(true);
        }
        let absurd = || OutOfMemory::Absurd { length, type_name: name_of(info) };
        let cell = info.cell_bytes(length).ok_or_else(absurd)?;
        if self.zeal.is_some() || !self.has_room_in_place(info, object, cell) {
            return Ok(false);
        }
        let end = |length| info.size + info.stride * length;
        if length < before {
            self.release_elements(info, object, end(length)..end(before));
        }
        object.slot(info.length_offset).store(length);
        if length > before {
            let bytes = (end(length) - end(before)) as usize;
            // SAFETY: [OWNED] the object's cell has so many bytes.
            unsafe { std::ptr::write_bytes((object.address() + end(before)) as *mut u8, 0, bytes) };
        }
        Ok(true)
    }

    fn fill_storage(&mut self, info: &TypeInfo, rehash: &mut Rehash<'_>, old: ObjectRef, new: ObjectRef) {
        self.zeal.iter_mut().for_each(|zeal| zeal.filled = Some(new));
        at_work::call(|| rehash(old, new));
        if let Some(zeal) = &mut self.zeal {
            zeal.filled = None;
            self.check_rehash(info, old, new);
        }
    }

    /// Zeal: the new storage holds nothing that the old one does not hold, and nothing twice.
    #[cold]
    fn check_rehash(&self, info: &TypeInfo, old: ObjectRef, new: ObjectRef) {
        let sorted = |object| {
            let mut found = List::new();
            info.for_each_reference(object, Part::Whole, |target| found.push(target));
            found.sort_unstable();
            found
        };
        let (before, after) = (sorted(old), sorted(new));
        let mut left = before.iter();
        if let Some(target) = after.iter().find(|&target| !left.any(|other| other == target)) {
            let what =
                format!("a rehash of {old:?} ({}) has put {target:?} into the new storage once too often", info.name);
            violation("EXACT", self.clock.epoch, &what)
        }
    }
}

/// Copies the fixed part, but for the length.
fn copy_fixed_part(info: &TypeInfo, old: ObjectRef, new: ObjectRef, length: u64) {
    copy_bytes(old, new, info.size);
    new.slot(info.length_offset).store(length);
}

/// Copies what both have room for. Returns how many bytes of the old payload that were.
fn copy_elements(info: &TypeInfo, old: ObjectRef, new: ObjectRef, length: u64) -> u64 {
    let kept = info.size + info.stride * info.length(old).min(length);
    copy_bytes(old, new, kept);
    new.slot(info.length_offset).store(length);
    kept
}

fn copy_bytes(old: ObjectRef, new: ObjectRef, bytes: u64) {
    let (from, to) = (old.address() as *const u8, new.address() as *mut u8);
    // SAFETY: [HEADER] both payloads have so many bytes; they are two objects of a type.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
}
