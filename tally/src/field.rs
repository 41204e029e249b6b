//! Words of objects: references to objects, and what their fields hold.
//!
//! A word is a field, the number of elements, or plain; the type says which. Reading needs the reference alone, since
//! nothing moves; writing goes through the scope, which has the barrier. Objects that the services make have no words.

use crate::heap_core::is_builtin;
use crate::scope::Scope;
use std::marker::PhantomData;
use tally_heap::memory::range;
use tally_heap::object::flag;
use tally_heap::services::weak::WeakKind;
use tally_heap::type_registry::{Pairs, Reading, Tracer, TypeInfo};
use tally_heap::{ObjectRef, Slot};

/// A reference to an object, good until the next safepoint.
///
/// ```
/// # use tally::{Heap, HeapOptions, TypeBuilder};
/// # let mut heap = Heap::new(HeapOptions::new())?;
/// let pair = TypeBuilder::new("Pair", 24).reference("first", 0).reference("second", 8).register()?;
/// let mut scope = heap.scope();
/// let pair = scope.allocate(pair)?;
/// let pair = scope.get(pair);
/// scope.set_field(pair, 8, Some(pair));
/// scope.set_word(pair, 16, 42);
/// assert_eq!((pair.field(0), pair.field(8), pair.word(16)), (None, Some(pair), 42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// After a safepoint it may not be used:
///
/// ```compile_fail,E0502
/// # use tally::{Heap, HeapOptions, TypeBuilder};
/// # let mut heap = Heap::new(HeapOptions::new())?;
/// # let pair = TypeBuilder::new("Pair", 24).reference("first", 0).register()?;
/// # let mut scope = heap.scope();
/// # let pair = scope.allocate(pair)?;
/// let first = scope.get(pair).field(0);
/// scope.collect();
/// println!("{first:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ref<'a> {
    pub(crate) object: ObjectRef,
    scope: PhantomData<&'a Scope<'a>>,
}

/// What a field of tagged words holds.
///
/// ```
/// use tally::{FieldKind, Heap, HeapOptions, TypeBuilder, Value};
///
/// // Small integers have 1 in the lowest bit, references have 0 in the lowest two.
/// let kind = FieldKind::Tagged { mask: 3, pattern: 0, pointer: !3 };
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let cons = TypeBuilder::new("Cons", 16).kind(kind).reference("car", 0).reference("cdr", 8).register()?;
/// let mut scope = heap.scope();
/// let cons = scope.allocate(cons)?;
/// let cons = scope.get(cons);
/// scope.set_value(cons, 0, Value::Word(7 << 1 | 1));
/// scope.set_value(cons, 8, Value::Reference(cons, 0));
/// assert_eq!(cons.value(0), Value::Word(15));
/// assert_eq!(cons.value(8), Value::Reference(cons, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A reference, and the bits of its word that are not the address.
    Reference(Ref<'a>, u64),
    /// Another word; null is 0.
    Word(u64),
}

impl<'a> Ref<'a> {
    /// The caller knows that the object is alive until the next safepoint.
    pub(crate) fn new(object: ObjectRef) -> Ref<'a> {
        Ref { object, scope: PhantomData }
    }

    /// The reference in the field at `offset`.
    ///
    /// # Panics
    /// When the type has no reference there, or a tag tells what the field holds.
    pub fn field(self, offset: u64) -> Option<Ref<'a>> {
        self.expect_plain_reference(offset);
        // SAFETY: [HEADER] a plain reference.
        unsafe { ObjectRef::of_word(self.object.slot(offset).read()) }.map(Ref::new)
    }

    /// What the field at `offset` holds.
    ///
    /// # Panics
    /// When the type has no field there, or a pair.
    pub fn value(self, offset: u64) -> Value<'a> {
        let reading = self.expect_word_field(offset);
        let word = self.object.slot(offset).read();
        // SAFETY: [HEADER] a word of a field of that type.
        unsafe { Value::of(address_in(reading, word), word) }
    }

    /// The tag of the pair at `offset`, where its word is, and what that word holds.
    ///
    /// # Panics
    /// When the type has no pair there.
    pub fn pair(self, offset: u64) -> (u64, Value<'a>) {
        let pairs = self.expect_pair(offset);
        let (tag, word) = (self.object.slot(tag_of(pairs, offset)).read(), self.object.slot(offset).read());
        // SAFETY: [HEADER] a pair of that type.
        (tag, unsafe { Value::of(address_in_pair(pairs, tag, word), word) })
    }

    /// Returns the word at `offset`, whatever it is.
    ///
    /// # Panics
    /// When it lies outside the object.
    pub fn word(self, offset: u64) -> u64 {
        self.expect_word(offset);
        self.object.slot(offset).read()
    }

    /// Number of elements.
    pub fn length(self) -> u64 {
        let info = self.object.type_info();
        if is_builtin(info.id) { 0 } else { info.length(self.object) }
    }

    /// Name of the object's type.
    pub fn type_name(self) -> &'static str {
        &self.object.type_info().name
    }

    /// Where it is: the same as long as it lives.
    pub fn address(self) -> u64 {
        self.object.address()
    }

    /// A field whose word tells by itself what it holds. Returns how.
    pub(crate) fn expect_word_field(self, offset: u64) -> Reading {
        let info = self.expect_field(offset);
        let reading = info.reading_at(offset);
        assert!(!matches!(reading, Reading::Traced(_)), "the field of `{}` at {offset} is a pair", info.name);
        reading
    }

    /// A reference without a tag.
    pub(crate) fn expect_plain_reference(self, offset: u64) {
        let info = self.expect_field(offset);
        let is_plain = matches!(info.reading_at(offset), Reading::Plain);
        assert!(is_plain, "the field of `{}` at {offset} has a tag", info.name);
    }

    /// A pair. Returns how it is read.
    fn expect_pair(self, offset: u64) -> Pairs {
        let info = self.expect_field(offset);
        match info.reading_at(offset) {
            Reading::Traced(Tracer::Pairs(pairs)) => pairs,
            _ => panic!("the field of `{}` at {offset} is no pair", info.name),
        }
    }

    fn expect_field(self, offset: u64) -> &'static TypeInfo {
        let info = self.expect_word(offset);
        assert!(info.is_field(offset), "`{}` has no plain reference at {offset}", info.name);
        info
    }

    pub(crate) fn expect_word(self, offset: u64) -> &'static TypeInfo {
        let info = self.object.type_info();
        let end = if is_builtin(info.id) { 0 } else { info.size + info.stride * info.length(self.object) };
        let inside = offset.is_multiple_of(8) && offset.checked_add(8).is_some_and(|next| next <= end);
        assert!(inside, "`{}` has no word at {offset}", info.name);
        info
    }

    /// A word that is neither a field nor the number of elements.
    pub(crate) fn expect_plain_word(self, offset: u64) {
        let info = self.expect_word(offset);
        assert!(info.is_plain_word(offset), "`{}` has no plain word at {offset}", info.name);
    }

    pub(crate) fn slot(self, offset: u64) -> Slot {
        self.object.slot(offset)
    }
}

impl Scope<'_> {
    /// Writes a reference into the field at `offset`, with the barrier.
    ///
    /// # Panics
    /// When the type has no reference there, a tag tells what the field holds, or one of the objects belongs to another heap.
    pub fn set_field(&self, object: Ref<'_>, offset: u64, value: Option<Ref<'_>>) {
        let word = self.word_of(value);
        self.check(object.address());
        object.expect_plain_reference(offset);
        self.leaf(|inner| inner.write(object.object, object.slot(offset), word));
    }

    /// The word that stands for a reference of this heap.
    pub(crate) fn word_of(&self, value: Option<Ref<'_>>) -> u64 {
        value.into_iter().for_each(|value| self.check(value.address()));
        value.map_or(0, Ref::address)
    }

    /// Writes a tagged word into the field at `offset`, with the barrier.
    ///
    /// # Panics
    /// When the type has no field there, or a pair, one of the objects belongs to another heap, or a word would be read as another
    /// thing than it was given as: a reference with bits that do not tell it from others, a word that looks like a reference.
    pub fn set_value(&self, object: Ref<'_>, offset: u64, value: Value<'_>) {
        self.check(object.address());
        let reading = object.expect_word_field(offset);
        let word = self.word_of_value(object, value, |word| address_in(reading, word));
        self.leaf(|inner| inner.write(object.object, object.slot(offset), word));
    }

    /// Writes a tag and its word into the pair at `offset`, where the word is, with the barrier.
    ///
    /// # Panics
    /// As [`set_value`](Self::set_value), and when the type has no pair there.
    pub fn set_pair(&self, object: Ref<'_>, offset: u64, tag: u64, value: Value<'_>) {
        self.check(object.address());
        let pairs = object.expect_pair(offset);
        let word = self.word_of_value(object, value, |word| address_in_pair(pairs, tag, word));
        let (first, pair) = if pairs.is_behind { (offset, [word, tag]) } else { (tag_of(pairs, offset), [tag, word]) };
        self.leaf(|inner| inner.write_pair(object.object, object.slot(first), pair));
    }

    /// The word that stands for the value, if it is read as that.
    fn word_of_value(&self, object: Ref<'_>, value: Value<'_>, address_in: impl Fn(u64) -> u64) -> u64 {
        let name = object.type_name();
        match value {
            Value::Word(word) => {
                let is_none = !range::in_heap(address_in(word));
                assert!(is_none, "`{name}` would read the word {word:#x} as a reference");
                word
            }
            Value::Reference(value, bits) => {
                self.check(value.address());
                let (word, bits) = (value.address() | bits, bits & value.address());
                let is_it = bits == 0 && address_in(word) == value.address();
                assert!(is_it, "`{name}` would not read the word {word:#x} as that reference");
                word
            }
        }
    }

    /// Stores a word that is no reference. A weak field there ends.
    ///
    /// # Panics
    /// When the type has a reference there, its length, or nothing, or the object belongs to another heap.
    pub fn set_word(&self, object: Ref<'_>, offset: u64, word: u64) {
        self.check(object.address());
        object.expect_plain_word(offset);
        let slot = object.slot(offset);
        if object.object.has(flag::SPECIAL) {
            self.leaf(|inner| inner.write_weak(object.object, slot, None, WeakKind::Reference));
        }
        slot.store(word);
    }

    /// Copies references from `count` fields of `from` to as many of `to`, one beside the other, with one barrier.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let array = TypeBuilder::new("Array", 8).elements(0, 8).element_reference("item", 0).register()?;
    /// let mut scope = heap.scope();
    /// let (from, to) = (scope.allocate_array(array, 100)?, scope.allocate_array(array, 200)?);
    /// let (from, to) = (scope.get(from), scope.get(to));
    /// scope.fill_fields(from, 8, 100, Some(to));
    /// scope.copy_fields(to, 8, from, 8, 100);
    /// assert_eq!((to.field(8), to.field(800), to.field(808)), (Some(to), Some(to), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When one of those words is no plain reference, or one of the objects belongs to another heap.
    pub fn copy_fields(&self, to: Ref<'_>, to_offset: u64, from: Ref<'_>, from_offset: u64, count: u64) {
        self.expect_fields(to, to_offset, count);
        self.expect_fields(from, from_offset, count);
        let source = from.address().wrapping_add(from_offset);
        if count != 0 {
            // SAFETY: `expect_fields` has found that many plain fields at both places.
            self.leaf(|inner| unsafe { inner.copy_references(to.object, to.slot(to_offset), source, count) });
        }
    }

    /// Writes the same reference to `count` fields from `offset` on, with one barrier.
    ///
    /// # Panics
    /// As [`copy_fields`](Self::copy_fields).
    pub fn fill_fields(&self, object: Ref<'_>, offset: u64, count: u64, value: Option<Ref<'_>>) {
        let word = self.word_of(value);
        self.expect_fields(object, offset, count);
        if count != 0 {
            // SAFETY: `expect_fields` has found that many plain fields there.
            self.leaf(|inner| unsafe { inner.fill_references(object.object, object.slot(offset), word, count) });
        }
    }

    fn expect_fields(&self, object: Ref<'_>, offset: u64, count: u64) {
        self.check(object.address());
        if count == 0 {
            return;
        }
        // Outside of the object the first word that is wrong is found before any number overflows.
        let last =
            count.checked_sub(1).and_then(|more| more.checked_mul(8)).and_then(|bytes| offset.checked_add(bytes));
        object.expect_plain_reference(last.unwrap_or(u64::MAX));
        (0..count).for_each(|at| object.expect_plain_reference(offset + at * 8));
    }
}

impl Value<'_> {
    /// # Safety
    /// `address`, which was read from `word`, is that of a live object if it lies in the heap. `[HEADER]`
    unsafe fn of(address: u64, word: u64) -> Self {
        // SAFETY: by the caller's promise.
        match unsafe { ObjectRef::of_word(address) } {
            Some(object) => Value::Reference(Ref::new(object), word & !object.address()),
            None => Value::Word(word),
        }
    }
}

/// The address that a word which is read so stands for; 0 if it stands for none.
fn address_in(reading: Reading, word: u64) -> u64 {
    match reading {
        Reading::Plain => word,
        Reading::Masked { mask, pattern, pointer } if word & mask == pattern => word & pointer,
        _ => 0,
    }
}

/// The same of a word beside a tag.
fn address_in_pair(pairs: Pairs, tag: u64, word: u64) -> u64 {
    if tag & pairs.mask == pairs.pattern { word & pairs.pointer } else { 0 }
}

/// Where the tag is of the word at `offset`.
fn tag_of(pairs: Pairs, offset: u64) -> u64 {
    if pairs.is_behind { offset + 8 } else { offset - 8 }
}

impl std::fmt::Debug for Ref<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:#x}", self.type_name(), self.address())
    }
}
