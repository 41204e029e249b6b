//! Types of the runtime's own objects, as the services make them.

use crate::descriptor::TypeDescriptor;
use crate::object::{ObjectRef, flag};
use crate::services::weak_map::WeakMode;
use crate::type_registry::{TypeInfo, register};
use std::sync::OnceLock;

/// A weak reference: its slot, and two words for its target's list (`weak/links.rs`).
static WEAK: Builtin = Builtin::new(TypeDescriptor::plain(c"weak reference", 24, &[]));

/// An object that owns a value of the host: its pointer.
static HOST: Builtin = Builtin::new(TypeDescriptor::plain(c"host object", 8, &[]));

/// A coroutine: its images, the address of its record, and the argument of its entry (`coroutine.rs`).
static COROUTINE: Builtin = Builtin::new(TypeDescriptor::plain(c"coroutine", 32, &[0, 8, 24]));
/// What frames of a stopped coroutine hold: their number, the next part, the references.
static FRAMES: Builtin = Builtin::new(TypeDescriptor::plain(c"frames of a coroutine", 16, &[8]).with_tail(0, 8, &[0]));

/// The type of coroutines.
pub fn coroutine() -> &'static TypeInfo {
    COROUTINE.info()
}

/// Whether the object is a coroutine.
#[inline(always)]
pub fn is_coroutine(object: ObjectRef) -> bool {
    COROUTINE.is_type_of(object)
}

/// The type of their images.
pub fn frames() -> &'static TypeInfo {
    FRAMES.info()
}

/// The type of objects that own a value of the host.
pub fn host() -> &'static TypeInfo {
    HOST.info()
}

/// The type of weak references.
pub fn weak() -> &'static TypeInfo {
    WEAK.info()
}

/// An ephemeron: value and key, as `ephemeron` says.
static EPHEMERON: Builtin = Builtin::new(TypeDescriptor::plain(c"ephemeron", 16, &[0]).ephemeron());

/// The type of ephemerons.
pub fn ephemeron() -> &'static TypeInfo {
    EPHEMERON.info()
}

/// The same with a callback behind that.
static WEAK_WITH_CALLBACK: Builtin = Builtin::new(TypeDescriptor::plain(c"weak reference with callback", 32, &[]));

/// `void callback(void *weak)`: the target of a weak reference is gone.
pub type Callback = crate::services::finalizer::Finalizer;
/// Where the callback of a weak reference stands.
pub(crate) const CALLBACK: u64 = 24;

/// The type of weak references with callbacks.
pub fn weak_with_callback() -> &'static TypeInfo {
    WEAK_WITH_CALLBACK.info()
}

/// Whether the object is a weak reference, with a callback or without.
#[inline]
pub fn is_weak(object: ObjectRef) -> bool {
    WEAK.is_type_of(object) || WEAK_WITH_CALLBACK.is_type_of(object)
}

/// The callback of a weak reference, if it has one.
pub(crate) fn callback_of(object: ObjectRef) -> Option<Callback> {
    if !WEAK_WITH_CALLBACK.is_type_of(object) {
        return None;
    }
    let word = object.slot(CALLBACK).read() as usize;
    // SAFETY: what `new_weak_with` has stored there, or 0.
    unsafe { std::mem::transmute::<usize, Option<Callback>>(word) }
}

/// Whether something is to be done when a weak reference in the object was cleared.
pub(crate) fn is_told_when_cleared(object: ObjectRef) -> bool {
    WEAK_WITH_CALLBACK.is_type_of(object) || entry_type(WeakMode::Values).is_type_of(object)
}

/// A weak map: directory, number, mode, places in use, buckets, how far a dying one is done, changes, the mask of buckets, and where
/// entries begin.
static WEAK_MAP: Builtin = Builtin::new(TypeDescriptor::plain(c"weak map", 72, &[0]));
/// Its directory, and a segment of it: the number of places, the segments or the buckets.
static WEAK_MAP_TABLE: Builtin =
    Builtin::new(TypeDescriptor::plain(c"table of a weak map", 8, &[]).with_tail(0, 8, &[0]));
/// A bucket: the number of places, how many of them are in use, the places.
static WEAK_MAP_BUCKET: Builtin =
    Builtin::new(TypeDescriptor::plain(c"bucket of a weak map", 16, &[]).with_tail(0, 8, &[0]));
/// Entries, as `weak_map` says: value and key.
static WEAK_KEY_ENTRY: Builtin = Builtin::new(TypeDescriptor::plain(c"entry with a weak key", 16, &[0]).ephemeron());
/// Key and value.
static WEAK_VALUE_ENTRY: Builtin = Builtin::new(TypeDescriptor::plain(c"entry with a weak value", 16, &[0]));
/// The same.
static WEAK_ENTRY: Builtin = Builtin::new(TypeDescriptor::plain(c"weak entry", 16, &[]));

/// Bytes of a weak set.
pub(crate) const WEAK_SET_BYTES: u64 = 56;
/// A weak set, as `weak_set` says: table, and six words.
static WEAK_SET: Builtin = Builtin::new(TypeDescriptor::plain(c"weak set", WEAK_SET_BYTES, &[0]).acyclic());
/// Its table: the number of words, the words.
static WEAK_SET_TABLE: Builtin =
    Builtin::new(TypeDescriptor::plain(c"table of a weak set", 8, &[]).with_tail(0, 8, &[]));

/// The type of weak sets.
pub fn weak_set() -> &'static TypeInfo {
    WEAK_SET.info()
}

/// The type of their tables.
pub fn weak_set_table() -> &'static TypeInfo {
    WEAK_SET_TABLE.info()
}

/// Whether the object is a weak set.
#[inline]
pub fn is_weak_set(object: ObjectRef) -> bool {
    WEAK_SET.is_type_of(object)
}

/// Whether the object is a weak map.
pub fn is_weak_map(object: ObjectRef) -> bool {
    WEAK_MAP.is_type_of(object)
}

/// Whether the object is an entry with a weak key and a counted value.
#[inline]
pub(crate) fn is_weak_key_entry(object: ObjectRef) -> bool {
    WEAK_KEY_ENTRY.is_type_of(object)
}

/// The type of weak maps.
pub fn weak_map() -> &'static TypeInfo {
    WEAK_MAP.info()
}

/// The type of their directories.
pub fn weak_map_table() -> &'static TypeInfo {
    WEAK_MAP_TABLE.info()
}

/// The type of their buckets.
pub fn weak_map_bucket() -> &'static TypeInfo {
    WEAK_MAP_BUCKET.info()
}

/// The type of entries in that mode.
pub fn weak_map_entry(mode: WeakMode) -> &'static TypeInfo {
    entry_type(mode).info()
}

fn entry_type(mode: WeakMode) -> &'static Builtin {
    match mode {
        WeakMode::Keys => &WEAK_KEY_ENTRY,
        WeakMode::Values => &WEAK_VALUE_ENTRY,
        WeakMode::Both => &WEAK_ENTRY,
    }
}

/// The mode of the map that the object is an entry of, if it is one.
pub(crate) fn mode_of_entry(object: ObjectRef) -> Option<WeakMode> {
    [WeakMode::Keys, WeakMode::Values, WeakMode::Both].into_iter().find(|&mode| entry_type(mode).is_type_of(object))
}

/// A type that is registered when it is first needed.
struct Builtin {
    descriptor: TypeDescriptor,
    info: OnceLock<&'static TypeInfo>,
}

impl Builtin {
    const fn new(descriptor: TypeDescriptor) -> Builtin {
        Builtin { descriptor, info: OnceLock::new() }
    }

    /// Not the moment to register a type: the collector asks, too. `[MEMORY]`
    #[inline]
    fn is_type_of(&self, object: ObjectRef) -> bool {
        self.info.get().is_some_and(|info| info.id == object.meta() & !flag::ALL)
    }

    fn info(&'static self) -> &'static TypeInfo {
        self.info.get_or_init(|| {
            let registered = register(&self.descriptor);
            registered.expect("a type of the runtime's own is in order, and a heap has reserved the range").info()
        })
    }
}
