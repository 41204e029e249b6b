//! Weak maps: from objects to objects, by identity, whose entries go with their keys, with their values, or with either.

use crate::field::Ref;
use crate::scope::{Handle, Scope};
use tally_heap::services::builtin;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{ObjectRef, OutOfMemory};

impl<'h> Scope<'h> {
    /// A new, empty weak map: an object. A safepoint.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions, TypeBuilder, WeakMode};
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let node = TypeBuilder::new("Node", 8).register()?;
    /// let mut scope = heap.scope();
    /// let map = scope.new_weak_map(WeakMode::Keys)?;
    /// let mut inner = scope.nested();
    /// let (key, value) = (inner.allocate(node)?, inner.allocate(node)?);
    /// inner.weak_map_set(map, key, value)?;
    /// assert_eq!(inner.weak_map_get(inner.get(map), inner.get(key)), Some(inner.get(value)));
    /// drop(inner);
    /// scope.collect();
    /// assert_eq!(scope.weak_map_len(scope.get(map)), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_map(&mut self, mode: WeakMode) -> Result<Handle<'h>, OutOfMemory> {
        let map = self.safepoint(|mut inner| inner.new_weak_map(mode))?;
        Ok(self.handle_of(map))
    }

    /// Lets the map have `value` for `key`. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the map is as before then.
    ///
    /// # Panics
    /// When `map` is no weak map, or an object belongs to another heap.
    pub fn weak_map_set(&mut self, map: Handle<'_>, key: Handle<'_>, value: Handle<'_>) -> Result<(), OutOfMemory> {
        let [map, key, value] = [map, key, value].map(|handle| self.get(handle).object);
        expect_map(map);
        // SAFETY: as `safepoint` says; the handles keep the objects.
        // SAFETY: [HEADER] key and value are objects' addresses.
        self.safepoint(|mut inner| unsafe { inner.weak_map_set(map, key.address(), value.address()) })
    }

    /// Returns the map's value for `key`.
    ///
    /// # Panics
    /// As [`weak_map_set`](Self::weak_map_set).
    pub fn weak_map_get(&self, map: Ref<'_>, key: Ref<'_>) -> Option<Ref<'_>> {
        self.expect_map_and_key(map, key);
        // SAFETY: [HEADER] the key is an object's address.
        self.object(self.leaf(|inner| unsafe { inner.weak_map_get(map.object, key.address()) }))
    }

    /// Removes the entry of `key`; whether there was one.
    ///
    /// # Panics
    /// As [`weak_map_set`](Self::weak_map_set).
    pub fn weak_map_remove(&self, map: Ref<'_>, key: Ref<'_>) -> bool {
        self.expect_map_and_key(map, key);
        // SAFETY: [HEADER] the key is an object's address.
        self.leaf(|inner| unsafe { inner.weak_map_remove(map.object, key.address()) })
    }

    /// Number of entries.
    ///
    /// # Panics
    /// As [`weak_map_set`](Self::weak_map_set).
    pub fn weak_map_len(&self, map: Ref<'_>) -> u64 {
        self.check(map.address());
        expect_map(map.object);
        self.leaf(|inner| inner.weak_map_count(map.object))
    }

    /// Each entry once: key and value.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder, WeakMode};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let node = TypeBuilder::new("Node", 8).register()?;
    /// # let mut scope = heap.scope();
    /// let map = scope.new_weak_map(WeakMode::Both)?;
    /// let key = scope.allocate(node)?;
    /// scope.weak_map_set(map, key, key)?;
    /// for (key, value) in scope.weak_map_entries(scope.get(map)) {
    ///     assert_eq!(key, value);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`weak_map_set`](Self::weak_map_set).
    pub fn weak_map_entries<'s>(&'s self, map: Ref<'s>) -> impl Iterator<Item = (Ref<'s>, Ref<'s>)> {
        self.check(map.address());
        expect_map(map.object);
        self.weak_map_entries_from(map, 0)
    }

    /// The entries behind that of `key`, in the order of [`weak_map_entries`](Self::weak_map_entries); `None` if `key` has no entry.
    ///
    /// # Panics
    /// As [`weak_map_set`](Self::weak_map_set).
    pub fn weak_map_entries_behind<'s>(
        &'s self,
        map: Ref<'s>,
        key: Ref<'_>,
    ) -> Option<impl Iterator<Item = (Ref<'s>, Ref<'s>)>> {
        self.expect_map_and_key(map, key);
        match self.leaf(|inner| inner.weak_map_find(map.object, key.address())) {
            0 => None,
            position => Some(self.weak_map_entries_from(map, position)),
        }
    }

    fn weak_map_entries_from<'s>(
        &'s self,
        map: Ref<'s>,
        mut position: u64,
    ) -> impl Iterator<Item = (Ref<'s>, Ref<'s>)> {
        std::iter::from_fn(move || {
            position = self.leaf(|inner| inner.weak_map_next(map.object, position));
            let (key, value) = self.leaf(|inner| inner.weak_map_at(map.object, position));
            self.object(key).zip(self.object(value))
        })
    }

    fn expect_map_and_key(&self, map: Ref<'_>, key: Ref<'_>) {
        self.check(map.address());
        self.check(key.address());
        expect_map(map.object);
    }

    /// The object that a map has answered.
    fn object(&self, word: u64) -> Option<Ref<'_>> {
        // SAFETY: [HEADER] maps of a scope's heap hold objects of that, and answer those that are alive.
        unsafe { ObjectRef::of_word(word) }.map(Ref::new)
    }
}

fn expect_map(object: ObjectRef) {
    let info = object.type_info();
    assert!(info.id == builtin::weak_map().id, "`{}` is no weak map", info.name);
}
