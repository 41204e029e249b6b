//! Weak sets: objects by a hash, which the set does not keep alive. For interned strings.

use crate::field::Ref;
use crate::scope::{Handle, Scope};
use tally_heap::services::builtin;
use tally_heap::{Heap as InnerHeap, ObjectRef, OutOfMemory};

impl<'h> Scope<'h> {
    /// A new, empty weak set: an object. Its members have their hash in the 32 bits at `hash_offset`, written before they are
    /// added. A safepoint.
    ///
    /// ```
    /// use tally::{Handle, Heap, HeapOptions, OutOfMemory, Scope, TypeBuilder, TypeId};
    ///
    /// /// The text that is there already, or a new one.
    /// fn intern<'h>(scope: &mut Scope<'h>, texts: Handle<'_>, text: TypeId, bytes: u64) -> Result<Handle<'h>, OutOfMemory> {
    ///     let hash = bytes as u32; // a better one in earnest
    ///     if let Some(found) = scope.weak_set_find(scope.get(texts), hash, |member| member.word(8) == bytes) {
    ///         return Ok(scope.root(found));
    ///     }
    ///     let new = scope.allocate(text)?;
    ///     scope.set_word(scope.get(new), 0, hash.into());
    ///     scope.set_word(scope.get(new), 8, bytes);
    ///     scope.weak_set_add(texts, new)?;
    ///     Ok(new)
    /// }
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let text = TypeBuilder::new("Text", 16).register()?;
    /// let mut scope = heap.scope();
    /// let texts = scope.new_weak_set(0)?;
    /// let mut inner = scope.nested();
    /// let (one, other) = (intern(&mut inner, texts, text, 7)?, intern(&mut inner, texts, text, 8)?);
    /// let again = intern(&mut inner, texts, text, 7)?;
    /// assert!(inner.get(one) == inner.get(again) && inner.get(one) != inner.get(other));
    /// drop(inner);
    /// scope.collect();
    /// assert_eq!(scope.weak_set_len(scope.get(texts)), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// # Panics
    /// When the heap has 4,095 sets.
    pub fn new_weak_set(&mut self, hash_offset: u32) -> Result<Handle<'h>, OutOfMemory> {
        assert!(self.safepoint(InnerHeap::makes_room_for_weak_set), "a heap has at most 4,095 weak sets");
        let set = self.safepoint(|mut inner| inner.new_weak_set(hash_offset))?;
        Ok(self.handle_of(set))
    }

    /// Adds an object; one that is a member stays. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the set is as before then.
    ///
    /// # Panics
    /// When `set` is no weak set, when the object is in another one or has no word at the offset of hashes, or when either
    /// belongs to another heap.
    pub fn weak_set_add(&mut self, set: Handle<'_>, member: Handle<'_>) -> Result<(), OutOfMemory> {
        let [set, member] = [set, member].map(|handle| self.get(handle).object);
        expect_set(set);
        if let Some(refusal) = self.leaf(|inner| inner.weak_set_refuses(set, member)) {
            panic!("{refusal}");
        }
        self.safepoint(|mut inner| inner.weak_set_add(set, member))
    }

    /// Returns the member with this hash that `is_same` says is the wanted one.
    ///
    /// # Panics
    /// When `set` is no weak set, or belongs to another heap.
    pub fn weak_set_find(&self, set: Ref<'_>, hash: u32, mut is_same: impl FnMut(Ref<'_>) -> bool) -> Option<Ref<'_>> {
        self.check(set.address());
        expect_set(set.object);
        let mut at = 0;
        while let Some(member) = self.leaf(|inner| inner.weak_set_probe(set.object, hash, &mut at)) {
            if is_same(Ref::new(member)) {
                return Some(Ref::new(member));
            }
        }
        None
    }

    /// Removes an object; whether it was a member.
    ///
    /// # Panics
    /// As [`weak_set_find`](Self::weak_set_find), also for the object.
    pub fn weak_set_remove(&self, set: Ref<'_>, member: Ref<'_>) -> bool {
        self.check(set.address());
        self.check(member.address());
        expect_set(set.object);
        self.leaf(|inner| inner.weak_set_remove(set.object, member.object))
    }

    /// Number of members, with those that are dead and not found yet.
    ///
    /// # Panics
    /// As [`weak_set_find`](Self::weak_set_find).
    pub fn weak_set_len(&self, set: Ref<'_>) -> u64 {
        self.check(set.address());
        expect_set(set.object);
        self.leaf(|inner| inner.weak_set_count(set.object))
    }

    /// Each member once.
    ///
    /// # Panics
    /// As [`weak_set_find`](Self::weak_set_find).
    pub fn weak_set_members<'s>(&'s self, set: Ref<'s>) -> impl Iterator<Item = Ref<'s>> {
        self.check(set.address());
        expect_set(set.object);
        let mut position = 0;
        std::iter::from_fn(move || {
            let (at, member) = self.leaf(|inner| inner.weak_set_next(set.object, position))?;
            position = at;
            Some(Ref::new(member))
        })
    }
}

fn expect_set(object: ObjectRef) {
    assert!(builtin::is_weak_set(object), "`{}` is no weak set", object.type_info().name);
}
