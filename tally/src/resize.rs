//! Storage that grows and shrinks: the array of a list, the slots of a table. Objects do not move, so the field that holds the
//! storage is what is named, and it may hold another object afterwards.

use crate::scope::{Handle, Scope};
use tally_heap::{ObjectRef, OutOfMemory, Slot};

impl Scope<'_> {
    /// Gives the object in the field of `owner` at `offset` another number of elements: those that are there, then zeros. Where there
    /// is room it is the same object, else another, and the old one's content is not promised. A safepoint.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let list = TypeBuilder::new("List", 16).reference("items", 0).register()?; // and its length at 8
    /// let items = TypeBuilder::new("Items", 8).elements(0, 8).element_reference("item", 0).register()?;
    /// let mut scope = heap.scope();
    /// let list = scope.allocate(list)?;
    /// let empty = scope.allocate_array(items, 0)?;
    /// scope.set_field(scope.get(list), 0, Some(scope.get(empty)));
    /// for number in 0..100 {
    ///     let mut inner = scope.nested();
    ///     let capacity = inner.get(list).field(0).expect("always").length();
    ///     if number == capacity {
    ///         inner.resize(list, 0, capacity * 2 + 1)?;
    ///     }
    ///     let array = inner.get(list).field(0).expect("always");
    ///     inner.set_field(array, 8 + number * 8, Some(inner.get(list)));
    ///     inner.set_word(inner.get(list), 8, number + 1);
    /// }
    /// assert_eq!(scope.get(list).field(0).map(|items| items.length()), Some(127));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`]; all is as before then.
    ///
    /// # Panics
    /// When there is no field at `offset`, or a pair, it holds no object, or one without elements, with a finalizer, weak slots, weak references to
    /// it, or external bytes; or `owner` belongs to another heap.
    pub fn resize(&mut self, owner: Handle<'_>, offset: u64, length: u64) -> Result<(), OutOfMemory> {
        let (owner, slot) = self.storage(owner, offset);
        self.safepoint(|mut inner| inner.resize(owner, slot, length)).map(|_| ())
    }

    /// The same where elements change their places, as in a hash table: element `n` of the old storage goes to `place(n)`, or
    /// nowhere. The other elements are zeros. A safepoint, after the calls of `place`.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let table = TypeBuilder::new("Table", 8).reference("slots", 0).register()?;
    /// let slots = TypeBuilder::new("Slots", 8).elements(0, 16).element_reference("key", 0).register()?; // and a hash at 8
    /// let mut scope = heap.scope();
    /// let (table, slots) = (scope.allocate(table)?, scope.allocate_array(slots, 2)?);
    /// scope.set_field(scope.get(table), 0, Some(scope.get(slots)));
    /// scope.set_word(scope.get(slots), 16, 7);
    /// scope.rehash(table, 0, 8, |element| (element == 0).then_some(7))?;
    /// let slots = scope.get(table).field(0).expect("always");
    /// assert_eq!((slots.length(), slots.word(16), slots.word(8 + 7 * 16 + 8)), (8, 0, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`]; all is as before then.
    ///
    /// # Panics
    /// As [`resize`](Self::resize), and when two elements go to one place, or one beyond the length.
    pub fn rehash(
        &mut self,
        owner: Handle<'_>,
        offset: u64,
        length: u64,
        place: impl FnMut(u64) -> Option<u64>,
    ) -> Result<(), OutOfMemory> {
        let (owner, slot) = self.storage(owner, offset);
        let old = self.leaf(|inner| inner.storage_in(owner, slot)).expect("it was looked at");
        let places: Vec<Option<u64>> = (0..old.type_info().length(old)).map(place).collect();
        let mut taken: Vec<u64> = places.iter().flatten().copied().collect();
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[0] != pair[1]), "two elements go to one place");
        assert!(taken.last().is_none_or(|&last| last < length), "an element goes beyond the length");
        let mut fill = |from: ObjectRef, to: ObjectRef| {
            let info = from.type_info();
            // A finalizer may have put other storage there: as many of its elements go as it has.
            for (element, to_element) in (0..info.length(from)).zip(&places) {
                let Some(to_element) = *to_element else { continue };
                let at = |object: ObjectRef, element| object.address() + info.size + element * info.stride;
                let (from, to) = (at(from, element) as *const u8, at(to, to_element) as *mut u8);
                // SAFETY: [HEADER] an element of the old storage, and one of the new, which has more than `to_element`.
                unsafe { std::ptr::copy_nonoverlapping(from, to, info.stride as usize) };
            }
        };
        // SAFETY: no two elements go to one place.
        self.safepoint(|mut inner| unsafe { inner.rehash(owner, slot, length, &mut fill) }).map(|_| ())
    }

    fn storage(&self, owner: Handle<'_>, offset: u64) -> (ObjectRef, Slot) {
        let owner = self.get(owner);
        owner.expect_word_field(offset);
        let slot = owner.slot(offset);
        if let Some(refusal) = self.leaf(|inner| inner.resize_refuses(owner.object, slot)) {
            panic!("{refusal}");
        }
        (owner.object, slot)
    }
}
