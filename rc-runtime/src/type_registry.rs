//! The registered types: descriptor → type id → what the heap's passes need to know.
//!
//! Registration checks a descriptor once and builds a [`TypeInfo`], which lives as long as the process: objects of a
//! type may outlive the module that declared it. Ids index a table at a fixed address, so that a pass gets from a header
//! to its type in one load. The registry is shared by all heaps.

mod acyclic;
pub mod debugger_view;
pub(crate) mod field_names;
mod lost_code;
mod reading;
mod recent;

use crate::descriptor::{
    DescriptorError, DescriptorFault, FLAG_ACYCLIC, FLAG_EPHEMERON, FLAG_FINALIZE_REGISTERED, FinalizeOrder,
    TypeDescriptor, offset_of_entry,
};
use crate::memory::large::LARGEST_SMALL_CELL;
use crate::memory::list::List;
use crate::memory::range::{self, TYPE_ID_BITS};
use crate::object::{HEADER_BYTES, ObjectRef, SMALLEST_CELL, flag, prompt_flag};
use crate::services::finalizer::Finalizer;
use crate::shared_map::{SharedMap, shared_map};
use acyclic::may_reach_itself;
use lost_code::LostCode;
pub(crate) use reading::Entries;
pub use reading::{Pairs, Reading, Tagging, Tracer};
use recent::Known;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A `bump_cell` that fits nowhere, and overflows nothing that it is added to.
const NO_BUMP: u64 = 1 << 62;

/// Elements of an array are logged in chunks of about this many bytes.
pub const CHUNK_BYTES: u64 = 512;

/// Slots no further than this into an object are always logged together, however large it is: the fixed part and the
/// first elements are one chunk, and a chunk of whole elements is more than half of [`CHUNK_BYTES`] long.
pub const LOGGED_TOGETHER: u64 = CHUNK_BYTES / 2;

/// A registered type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// A type as the heap sees it.
#[derive(Debug)]
pub struct TypeInfo {
    /// The id in the header.
    pub id: u32,
    /// Whether objects of the type may be part of a cycle.
    pub may_be_cyclic: bool,
    /// Whether objects have any references.
    pub has_references: bool,
    /// How reference words are read.
    pub reading: Reading,
    /// Whether there is a destructor.
    pub has_finalizer: bool,
    /// The destructor, or 0.
    finalize: AtomicUsize,
    /// In which order destructors run.
    pub finalize_order: FinalizeOrder,
    /// Whether only registered objects are finalized.
    pub finalize_on_request: bool,
    /// Whether objects are ephemerons when they have a key.
    pub ephemeron: bool,
    /// Plain references at fixed offsets and no tail: what nearly every object is, and the passes' fast path.
    pub simple: bool,
    /// Plain references at fixed offsets and no others; elements, if there are any, are data, as a text's are.
    pub fixed_only: bool,
    /// Whether elements may hold references. A tail of data has no slots and one chunk, however long it is. `[BOUND]`
    pub(crate) tail_refers: bool,
    /// Whether the elements are plain references, one word each.
    pub(crate) words_tail: bool,
    /// Whether an object that dies is read word by word, and no destructor runs: words of one reading at fixed offsets, and
    /// elements that are one such word each, or data.
    pub(crate) read_by_words: bool,
    /// How those words are read; all ones for the address, and no mask, of plain references.
    word_mask: u64,
    word_pattern: u64,
    word_pointer: u64,
    /// Bytes of a cell without tail elements, header included.
    pub(crate) fixed_cell: u64,
    /// The same if such a cell needs nothing but a bump, a header and nulls; else more than any hole has. One
    /// comparison then asks whether there is room, a tail, a finalizer, an alignment to be kept.
    pub(crate) bump_cell: u64,
    /// Reference offsets of the fixed part.
    pub fixed: SmallVec<[u32; 8]>,
    /// Reference offsets of an element.
    pub element: SmallVec<[u32; 2]>,
    /// Both with the mark of plain references, of a type that has such beside others.
    pub(crate) entries: Option<Box<Entries>>,
    /// Payload bytes of the fixed part.
    pub size: u64,
    /// Bytes of an element, 0 = no tail.
    pub stride: u64,
    /// Where the number of elements stands.
    pub length_offset: u64,
    /// Alignment of the payload, at least 8.
    pub align: u64,
    /// Elements in one chunk of a large array.
    pub chunk_elements: u64,
    /// Its name.
    pub name: Box<str>,
    /// Names of its fields (`field_names`).
    fields: OnceLock<Box<str>>,
    /// The [`ClearFunction`] for weak slots, or 0 to store null.
    on_clear: AtomicUsize,
    /// Set when the module of the trace function has gone.
    lost: OnceLock<LostCode>,
}

/// `void on_clear(void *holder, void *slot)`: stores to a weak slot of `holder` what says there that its target is gone.
pub type ClearFunction = unsafe extern "C" fn(holder: *mut c_void, slot: *mut c_void);

impl TypeId {
    /// The type's facts.
    pub fn info(self) -> &'static TypeInfo {
        // SAFETY: [HEADER] a registered type's.
        unsafe { TypeInfo::of_meta(self.0) }
    }
}

impl ObjectRef {
    /// The object's type.
    #[inline(always)]
    pub fn type_info(self) -> &'static TypeInfo {
        // SAFETY: [HEADER] a registered type's.
        unsafe { TypeInfo::of_meta(self.meta()) }
    }
}

impl TypeInfo {
    /// The type whose id stands in `meta`.
    ///
    /// # Safety
    /// The type id in `meta` is a registered type's.
    #[inline(always)]
    pub unsafe fn of_meta(meta: u32) -> &'static TypeInfo {
        // SAFETY: [HEADER] ids in headers were given by `register`, which published the entry first.
        let info = unsafe { *range::type_cell(meta & ((1 << TYPE_ID_BITS) - 1)) } as *const TypeInfo;
        // SAFETY: [HEADER] ids come from `register`, which published the entry first; it lives as long as the process.
        unsafe { &*info }
    }

    /// How its pairs of a tag and a word are read, if it has such.
    pub(crate) fn pairs(&self) -> Option<Pairs> {
        match self.reading {
            Reading::Traced(Tracer::Pairs(pairs) | Tracer::Mixed(Tagging::Pairs(pairs))) => Some(pairs),
            Reading::Plain | Reading::Masked { .. } | Reading::Traced(_) => None,
        }
    }

    /// The destructor; `None` also when its code has gone.
    #[inline(always)]
    pub fn finalizer(&self) -> Option<Finalizer> {
        // SAFETY: a checked descriptor's finalizer is null or such a function.
        unsafe { std::mem::transmute::<usize, Option<Finalizer>>(self.finalize.load(Ordering::Acquire)) }
    }

    /// The code of the destructor goes: objects that are left die without it.
    pub fn forget_finalizer(&self) {
        self.finalize.store(0, Ordering::Release);
    }

    /// Weak slots of this type's objects are cleared by `clear` from now on, in place of null.
    ///
    /// # Safety
    /// `clear` may be called with every object of this type and a weak slot of it.
    pub unsafe fn set_on_clear(&self, clear: ClearFunction) {
        self.on_clear.store(clear as *const () as usize, Ordering::Release);
    }

    /// Returns the function that clears weak slots of this type's objects, if null is not stored.
    pub(crate) fn on_clear(&self) -> Option<ClearFunction> {
        let clear = self.on_clear.load(Ordering::Acquire);
        // SAFETY: 0, or what `set_on_clear` was given.
        unsafe { std::mem::transmute::<usize, Option<ClearFunction>>(clear) }
    }

    /// The meta word of a fresh object of the deferred plan.
    #[inline(always)]
    pub(crate) fn fresh_meta_deferred(&self) -> u32 {
        let odd = if self.has_finalizer { flag::NON_TRIVIAL } else { 0 };
        self.id | self.asleep() | odd
    }

    /// The meta word of a fresh object of the prompt plan.
    #[inline(always)]
    pub(crate) fn fresh_meta_prompt(&self) -> u32 {
        let acyclic = if self.may_be_cyclic { 0 } else { prompt_flag::ACYCLIC };
        let odd = if self.fixed_only && !self.has_finalizer { 0 } else { prompt_flag::NON_TRIVIAL };
        self.id | self.asleep() | acyclic | odd
    }

    /// A type that is finalized on request only: its objects are born as if their finalizer had run.
    #[inline(always)]
    fn asleep(&self) -> u32 {
        if self.finalize_on_request { flag::FINALIZED } else { 0 }
    }

    /// The address in a word of an object that is read by words; 0 if the word is no reference.
    #[inline(always)]
    pub(crate) fn untagged(&self, word: u64) -> u64 {
        if word & self.word_mask == self.word_pattern { word & self.word_pointer } else { 0 }
    }

    /// Whether a word of such an object is the address itself.
    #[inline(always)]
    pub(crate) fn reads_plain_words(&self) -> bool {
        self.word_pointer == u64::MAX && self.word_mask == 0
    }

    /// Bytes of a cell with `length` tail elements, header included; `None` when that is more than any heap holds.
    #[inline(always)]
    pub fn cell_bytes(&self, length: u64) -> Option<u64> {
        let tail = self.stride.checked_mul(length)?;
        let bytes = (self.size + HEADER_BYTES + 7).checked_add(tail)? & !7;
        (bytes <= range::HEAP_SPAN).then_some(bytes.max(SMALLEST_CELL))
    }
}

/// Address of a descriptor → its type.
static TYPES: OnceLock<SharedMap<u64, &'static Known>> = OnceLock::new();
static NEXT_ID: AtomicU32 = AtomicU32::new(1);
/// Pointer masks of all tagged types described so far.
static POINTER_MASKS: Mutex<Vec<u64>> = Mutex::new(vec![]);

/// Any type has a finalizer.
static HAS_FINALIZERS: AtomicBool = AtomicBool::new(false);

/// Any type has a finalizer that runs in an order.
static HAS_ORDERED_FINALIZERS: AtomicBool = AtomicBool::new(false);

/// The number of [`pointer_masks`].
static MASK_COUNT: AtomicUsize = AtomicUsize::new(1);

type DescriptorImage = [u64; std::mem::size_of::<TypeDescriptor>() / 8];

fn types() -> &'static SharedMap<u64, &'static Known> {
    TYPES.get_or_init(shared_map)
}

fn image(descriptor: &TypeDescriptor) -> DescriptorImage {
    // SAFETY: 128 bytes without padding, aligned to 8.
    unsafe { *(&raw const *descriptor).cast() }
}

/// Registers `descriptor`, or finds it registered.
///
/// # Errors
/// [`DescriptorError`] when the descriptor is malformed, or no heap range can be reserved.
pub fn register(descriptor: &'static TypeDescriptor) -> Result<TypeId, DescriptorError> {
    let key = descriptor as *const TypeDescriptor as u64;
    let image = image(descriptor);
    if let Some(id) = recent::of(key, &image) {
        return Ok(id);
    }
    let known = types().get(&key).map(|known| *known).filter(|known| known.image == image);
    let known = known.map_or_else(|| register_anew(descriptor, key, image), Ok)?;
    recent::note(known);
    Ok(known.id)
}

#[cold]
fn register_anew(
    descriptor: &'static TypeDescriptor,
    key: u64,
    image: DescriptorImage,
) -> Result<&'static Known, DescriptorError> {
    descriptor.check()?;
    let info = describe(descriptor)?;
    range::reserve()
        .map_err(|error| DescriptorError { name: descriptor.display_name(), fault: DescriptorFault::Range(error) })?;
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    if id >= 1 << TYPE_ID_BITS {
        return Err(DescriptorError { name: descriptor.display_name(), fault: DescriptorFault::TooManyTypes });
    }
    if info.has_finalizer {
        HAS_FINALIZERS.store(true, Ordering::Release);
    }
    if info.finalize_order != FinalizeOrder::Any {
        HAS_ORDERED_FINALIZERS.store(true, Ordering::Release);
    }
    let info = Box::leak(Box::new(TypeInfo { id, ..info }));
    // SAFETY: the id is this call's own; no code reads the entry before the id is handed out.
    unsafe { *range::type_cell(id) = info as *const TypeInfo as u64 };
    // SAFETY: the id is this call's own; no code reads the entry before the id is handed out.
    unsafe { *range::reading_cell(id) = info.reading.number() };
    let known: &Known =
        Box::leak(Box::new(Known { id: TypeId(id), address: key, image, is_forgotten: AtomicBool::new(false) }));
    types().insert(key, known);
    Ok(known)
}

/// Whether any type that was ever registered has a finalizer.
pub fn has_finalizers() -> bool {
    HAS_FINALIZERS.load(Ordering::Acquire)
}

/// Whether the finalizers of any type that was ever registered run in an order.
pub(crate) fn has_ordered_finalizers() -> bool {
    HAS_ORDERED_FINALIZERS.load(Ordering::Acquire)
}

/// The type of a descriptor that is registered.
pub fn known(descriptor: *const TypeDescriptor) -> Option<TypeId> {
    types().get(&(descriptor as u64)).map(|known| known.id)
}

/// Forgets that `descriptor` stands at its address: the module that held it goes away. Objects keep their type.
pub fn forget(descriptor: *const TypeDescriptor) {
    if let Some((_, known)) = types().remove(&(descriptor as u64)) {
        known.is_forgotten.store(true, Ordering::Release);
    }
}

/// Every address that `word` may stand for: itself, and what the pointer masks of the program's tagged types make of it.
/// For zeal, which must protect a word whose type it does not know.
pub(crate) fn possible_addresses(word: u64) -> impl Iterator<Item = u64> {
    let masks = POINTER_MASKS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    [u64::MAX, !7].into_iter().chain(masks).map(move |mask| word & mask)
}

/// The masks that take a word of unknown type to an address, besides all ones; they only become more.
pub(crate) fn pointer_masks() -> List<u64> {
    let masks = POINTER_MASKS.lock().unwrap_or_else(PoisonError::into_inner);
    std::iter::once(!7).chain(masks.iter().copied()).collect()
}

/// How many those are.
#[inline(always)]
pub(crate) fn pointer_mask_count() -> usize {
    MASK_COUNT.load(Ordering::Acquire)
}

/// Builds the facts of a descriptor (with id 0) without registering it: how a stack root is read.
///
/// # Errors
/// [`DescriptorError`] when the descriptor is malformed.
pub fn describe(descriptor: &TypeDescriptor) -> Result<TypeInfo, DescriptorError> {
    descriptor.check()?;
    let entries = Entries::of(descriptor);
    let reading = Reading::of(descriptor, entries.is_some());
    if let Some(pointer) = reading.pointer_mask() {
        let mut masks = POINTER_MASKS.lock().unwrap_or_else(PoisonError::into_inner);
        if !masks.contains(&pointer) {
            masks.push(pointer);
            MASK_COUNT.store(masks.len() + 1, Ordering::Release);
        }
    }
    let traced = matches!(reading, Reading::Traced(_));
    let simple = matches!(reading, Reading::Plain) && descriptor.stride == 0;
    let fixed_cell = ((descriptor.size + HEADER_BYTES + 7) & !7).max(SMALLEST_CELL);
    let bumps = descriptor.stride == 0
        && descriptor.align <= 8
        && fixed_cell <= LARGEST_SMALL_CELL
        && descriptor.finalize.is_null()
        && descriptor.flags & FLAG_FINALIZE_REGISTERED == 0;
    let by_function = matches!(reading, Reading::Traced(Tracer::Function(_)));
    let tail_refers = descriptor.stride != 0 && (by_function || descriptor.element_ref_count > 0);
    let word_tail = descriptor.stride == 8 && descriptor.element_entries() == [0];
    let (word_mask, word_pattern, word_pointer) = match reading {
        Reading::Masked { mask, pattern, pointer } => (mask, pattern, pointer),
        Reading::Plain | Reading::Traced(_) => (0, 0, u64::MAX),
    };
    let mut fixed = SmallVec::from_slice(descriptor.fixed_entries());
    let mut element = SmallVec::from_slice(descriptor.element_entries());
    for entry in fixed.iter_mut().chain(&mut element) {
        *entry = offset_of_entry(*entry);
    }
    let has_references = by_function || descriptor.ref_count > 0 || descriptor.element_ref_count > 0;
    Ok(TypeInfo {
        id: 0,
        may_be_cyclic: has_references && descriptor.flags & FLAG_ACYCLIC == 0 && may_reach_itself(descriptor),
        has_references,
        simple,
        fixed_only: matches!(reading, Reading::Plain) && !tail_refers,
        tail_refers,
        words_tail: matches!(reading, Reading::Plain) && word_tail,
        read_by_words: !traced && (word_tail || !tail_refers) && descriptor.finalize.is_null(),
        word_mask,
        word_pattern,
        word_pointer,
        ephemeron: descriptor.flags & FLAG_EPHEMERON != 0,
        has_finalizer: !descriptor.finalize.is_null(),
        finalize: AtomicUsize::new(descriptor.finalize as usize),
        finalize_order: descriptor.finalize_order(),
        finalize_on_request: descriptor.flags & FLAG_FINALIZE_REGISTERED != 0,
        fixed_cell,
        bump_cell: if bumps { fixed_cell } else { NO_BUMP },
        reading,
        fixed,
        element,
        entries,
        size: descriptor.size,
        stride: descriptor.stride,
        length_offset: descriptor.length_offset,
        align: (descriptor.align as u64).max(8),
        chunk_elements: CHUNK_BYTES.checked_div(descriptor.stride).unwrap_or(1).max(1),
        name: descriptor.display_name().into(),
        fields: OnceLock::new(),
        on_clear: AtomicUsize::new(0),
        lost: OnceLock::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::SlotKind;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_descriptor_is_registered_once() {
        static PAIR: TypeDescriptor = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
        let first = register(&PAIR).expect("sound");
        assert_eq!(register(&PAIR), Ok(first));
        assert_eq!(&*first.info().name, "Pair");
        assert_eq!(first.info().cell_bytes(0), Some(24));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_descriptor_at_the_address_of_one_that_is_gone_is_another_type() {
        let place = Box::into_raw(Box::new(TypeDescriptor::plain(c"Gone", 24, &[0, 8])));
        // SAFETY: the box is never freed.
        let gone = register(unsafe { &*place }).expect("sound");
        // SAFETY: the registry keeps no reference to it.
        unsafe { *place = TypeDescriptor::plain(c"New", 64, &[]) };
        // SAFETY: the registry keeps no reference to it.
        let new = register(unsafe { &*place }).expect("sound");
        assert_ne!(gone, new);
        assert_eq!((&*gone.info().name, &*new.info().name, new.info().size), ("Gone", "New", 64));
    }

    #[test]
    fn cell_sizes_round_up_and_refuse_the_absurd() {
        let bytes = describe(&TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 1, &[])).expect("sound");
        assert_eq!(bytes.cell_bytes(0), Some(16));
        assert_eq!(bytes.cell_bytes(1), Some(24));
        assert_eq!(bytes.cell_bytes(u64::MAX), None);
        assert_eq!(bytes.cell_bytes(1 << 50), None);
        let empty = describe(&TypeDescriptor::plain(c"Empty", 0, &[])).expect("sound");
        assert_eq!(empty.cell_bytes(0), Some(16));
    }

    #[test]
    fn the_first_slots_of_every_object_are_logged_together() {
        for (fixed, stride) in (8..=1032).step_by(8).flat_map(|stride| [(8, stride), (72, stride), (4096, stride)]) {
            let array = TypeDescriptor::plain(c"Array", fixed, &[]).with_tail(0, stride, &[0]);
            let info = describe(&array).expect("sound");
            let chunks = (0..LOGGED_TOGETHER).step_by(8).map(|offset| info.chunk_of(offset));
            assert!(chunks.max() == Some(0), "elements of {stride} bytes behind {fixed}");
        }
    }

    #[test]
    fn only_cells_that_need_nothing_else_are_bumped() {
        let bumped = |descriptor: &TypeDescriptor| {
            let info = describe(descriptor).expect("sound");
            (info.bump_cell == info.fixed_cell).then_some(info.bump_cell)
        };
        assert_eq!(bumped(&TypeDescriptor::plain(c"Pair", 16, &[0, 8])), Some(24));
        assert_eq!(bumped(&TypeDescriptor::plain(c"Bytes", 8, &[]).with_tail(0, 1, &[])), None, "its length is stored");
        assert_eq!(bumped(&TypeDescriptor::plain(c"Page", LARGEST_SMALL_CELL, &[])), None, "blocks of its own");
        let aligned = TypeDescriptor::plain(c"Vector", 16, &[]).aligned(16);
        assert_eq!(bumped(&aligned), None, "padding");
        unsafe extern "C-unwind" fn close(_: *mut c_void) {}
        // SAFETY: it takes anything.
        let finalized = unsafe { TypeDescriptor::plain(c"File", 16, &[]).finalized(close) };
        assert_eq!(bumped(&finalized), None, "noted at birth");
    }

    #[test]
    fn a_word_in_flight_is_read_through_every_mask_of_the_program() {
        let mask = 0x0000_7fff_ffff_fff0;
        let boxed =
            TypeDescriptor::plain(c"Boxed", 8, &[0]).tagged(SlotKind::NanBoxed, 0xffff << 48, 0xfff9 << 48, mask);
        describe(&boxed).expect("sound");
        let word = 0xfff9_2000_0000_0010;
        assert!(possible_addresses(word).any(|address| address == 0x2000_0000_0010));
        assert!(possible_addresses(0x2000_0000_0011).any(|address| address == 0x2000_0000_0010));
    }
}
