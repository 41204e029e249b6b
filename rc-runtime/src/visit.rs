//! Visiting an object's references, as they are now or as a snapshot in the log has them.
//!
//! Every pass over references goes through here: promotion, increments, decrements, trials, the mark, verification. An object is
//! visited whole, or, when it is a large array, by chunk of its tail (`Part::Chunk`), so that no slice of work is longer
//! than one chunk. `[BOUND]` Chunk 0 includes the fixed part. Elements that hold no references (texts, numbers) are never
//! visited: an array of those has one chunk, with the fixed part alone.
//!
//! A *snapshot* is what the log keeps of a part: for offset-described types the words at the reference offsets, in
//! order; for traced types the whole image, since only `trace` knows which words matter.

use crate::at_work;
use crate::descriptor::{PLAIN_REFERENCE, TraceFunction, is_plain_entry, offset_of_entry};
use crate::memory::list::List;
use crate::memory::range;
use crate::object::{HEADER_BYTES, ObjectRef, Slot};
use crate::type_registry::{Reading, Tagging, Tracer, TypeInfo};
use std::ffi::c_void;

/// Which part of an object is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// One chunk of a large object's tail.
    Chunk(u64),
}

/// Calls `visit` with the objects in the heap that plain words of an object refer to.
#[inline(always)]
pub fn references_among(words: &[u64], mut visit: impl FnMut(ObjectRef)) {
    for &word in words {
        if range::in_heap(word) {
            // SAFETY: [HEADER] a reference word that points into the heap range is the payload of an object.
            visit(unsafe { ObjectRef::from_address(word) });
        }
    }
}

impl TypeInfo {
    /// Whether so many bytes at an offset of the object are elements of one reference word each.
    pub(crate) fn is_among_elements(&self, object: ObjectRef, offset: u64, bytes: u64) -> bool {
        let is_word = self.stride == 8 && self.element.as_slice() == [0] && !matches!(self.reading, Reading::Traced(_));
        let is_inside = || offset >= self.size && offset.saturating_add(bytes) <= self.size + self.length(object) * 8;
        is_word && (offset - self.size.min(offset)).is_multiple_of(8) && is_inside()
    }

    /// Whether the descriptor names the payload's word at `offset`.
    pub fn is_field(&self, offset: u64) -> bool {
        match offset.checked_sub(self.size) {
            None => self.fixed.contains(&(offset as u32)),
            Some(at) => self.stride != 0 && self.element.contains(&((at % self.stride) as u32)),
        }
    }

    /// Whether the descriptor says nothing of the payload's word at `offset`: it is no field, no tag beside one and not the number of
    /// elements. What a trace function reads is not known.
    pub fn is_plain_word(&self, offset: u64) -> bool {
        !self.is_field(offset) && !self.is_tag(offset) && (self.stride == 0 || offset != self.length_offset)
    }

    /// Whether the payload's word at `offset` is the tag of a pair.
    pub(crate) fn is_tag(&self, offset: u64) -> bool {
        let Some(pairs) = self.pairs() else { return false };
        let word = if pairs.is_behind { offset.checked_sub(8) } else { offset.checked_add(8) };
        word.is_some_and(|word| self.is_field(word) && !self.is_plain_beside_tags(word))
    }

    /// Whether the field at `offset` is a plain reference of a mixed type.
    pub(crate) fn is_plain_beside_tags(&self, offset: u64) -> bool {
        let Some(entries) = &self.entries else { return false };
        match offset.checked_sub(self.size) {
            None => entries.fixed.contains(&(offset as u32 | PLAIN_REFERENCE)),
            Some(at) => self.stride != 0 && entries.element.contains(&((at % self.stride) as u32 | PLAIN_REFERENCE)),
        }
    }

    /// How the field at `offset` is read: of a mixed type, as that one is.
    #[inline(always)]
    pub fn reading_at(&self, offset: u64) -> Reading {
        match self.reading {
            Reading::Traced(Tracer::Mixed(_)) if self.is_plain_beside_tags(offset) => Reading::Plain,
            Reading::Traced(Tracer::Mixed(tagging)) => tagging.of_field(),
            reading => reading,
        }
    }

    /// The reference in `word`, if it holds one to a heap object.
    ///
    /// # Safety
    /// `word` stands in a field of this type, or could: if it is read as an address in the heap, that is an object's. `[HEADER]`
    #[inline(always)]
    pub unsafe fn decode(&self, word: u64) -> Option<ObjectRef> {
        let address = match self.reading {
            Reading::Plain => word,
            Reading::Masked { mask, pattern, pointer } if word & mask == pattern => word & pointer,
            _ => return None,
        };
        // SAFETY: [HEADER] a reference word that points into the heap range is the payload of an object.
        unsafe { ObjectRef::of_word(address) }
    }

    /// What a described slot of `object` refers to: of pairs, the tag beside it tells. Not of a type with a trace function, which has no
    /// such slots.
    #[inline(always)]
    pub(crate) fn target_of(&self, object: ObjectRef, slot: Slot) -> Option<ObjectRef> {
        let address = match self.reading_at(slot.address() - object.address()) {
            // SAFETY: [HEADER] a pair of an object of this type.
            Reading::Traced(Tracer::Pairs(pairs)) => unsafe { pairs.address_at(slot.address()) },
            reading => reading.address_in(slot.read()),
        };
        // SAFETY: [HEADER] a word of a field of that type, or a reference as its tag says.
        unsafe { ObjectRef::of_word(address) }
    }

    /// Number of tail elements of `object`.
    #[inline(always)]
    pub fn length(&self, object: ObjectRef) -> u64 {
        if self.stride == 0 { 0 } else { object.slot(self.length_offset).read() }
    }

    /// Bytes of `object`'s cell, header included.
    #[inline(always)]
    pub fn cell_bytes_of(&self, object: ObjectRef) -> u64 {
        if self.stride == 0 {
            return self.fixed_cell;
        }
        let bytes = (self.size + self.stride * self.length(object) + HEADER_BYTES + 7) & !7;
        bytes.max(crate::object::SMALLEST_CELL)
    }

    /// Number of chunks of a large object with `length` elements; at least one.
    pub fn chunk_count(&self, length: u64) -> u64 {
        if self.tail_refers { length.div_ceil(self.chunk_elements).max(1) } else { 1 }
    }

    /// The payload bytes of `object` in which references may lie.
    pub(crate) fn reference_bytes(&self, object: ObjectRef) -> std::ops::Range<u64> {
        0..self.size + if self.tail_refers { self.stride * self.length(object) } else { 0 }
    }

    /// The payload bytes of a chunk, without elements that are data.
    pub(crate) fn bytes_of_chunk(&self, object: ObjectRef, chunk: u64) -> std::ops::Range<u64> {
        let (fixed, first, last) = self.bounds(object, Part::Chunk(chunk));
        let start = if fixed { 0 } else { self.size + first * self.stride };
        start..self.size + last * self.stride
    }

    /// The chunk that the payload byte `offset` belongs to.
    pub fn chunk_of(&self, offset: u64) -> u64 {
        if offset < self.size || !self.tail_refers {
            0
        } else {
            (offset - self.size) / (self.stride * self.chunk_elements)
        }
    }

    /// Whether the part includes the fixed part, and its first and last element, those that are data left out.
    #[inline(always)]
    fn bounds(&self, object: ObjectRef, part: Part) -> (bool, u64, u64) {
        let length = if self.tail_refers { self.length(object) } else { 0 };
        match part {
            Part::Whole => (true, 0, length),
            Part::Chunk(chunk) => {
                let first = chunk * self.chunk_elements;
                (chunk == 0, first.min(length), (first + self.chunk_elements).min(length))
            }
        }
    }

    /// Calls `visit` with the slot of every reference word of `part`. Only for types that are not traced.
    #[inline(always)]
    fn for_each_slot(&self, object: ObjectRef, part: Part, mut visit: impl FnMut(Slot)) {
        if !self.tail_refers && part == Part::Whole {
            for &offset in &self.fixed {
                visit(object.slot(offset as u64));
            }
            return;
        }
        let (fixed, first, last) = self.bounds(object, part);
        if fixed {
            for &offset in &self.fixed {
                visit(object.slot(offset as u64));
            }
        }
        for element in first..last {
            for &offset in &self.element {
                visit(object.slot(self.size + element * self.stride + offset as u64));
            }
        }
    }

    /// The slots of all references of `object`. Only for types that are not traced.
    pub fn reference_slots(&self, object: ObjectRef) -> List<Slot> {
        let mut slots = List::new();
        self.for_each_slot(object, Part::Whole, |slot| slots.push(slot));
        slots
    }

    /// Calls `visit` with every heap reference in `part` of `object`, as its words are now.
    #[inline(always)]
    pub fn for_each_reference(&self, object: ObjectRef, part: Part, mut visit: impl FnMut(ObjectRef)) {
        if self.fixed_only {
            for &offset in self.fixed.as_slice() {
                let word = object.slot(offset as u64).read();
                if range::in_heap(word) {
                    // SAFETY: [HEADER] a reference word that points into the heap range is the payload of an object.
                    visit(unsafe { ObjectRef::from_address(word) });
                }
            }
            return;
        }
        self.for_each_reference_of_any_shape(object, part, &mut visit);
    }

    #[inline(never)]
    fn for_each_reference_of_any_shape(&self, object: ObjectRef, part: Part, visit: &mut dyn FnMut(ObjectRef)) {
        if let Reading::Traced(tracer) = self.reading {
            let (fixed, first, last) = self.bounds(object, part);
            let elements = object.address() + self.size + first * self.stride;
            return self.read_images(tracer, fixed.then(|| object.address()), (elements, last - first), visit);
        }
        if let Some(words) = self.words_in_a_row(object, part) {
            return references_among(words, visit);
        }
        self.for_each_slot(object, part, |slot| {
            // SAFETY: [HEADER] a word of a field of that type.
            if let Some(target) = unsafe { self.decode(slot.read()) } {
                visit(target);
            }
        });
    }

    /// Calls `visit` with the references in those parts of a traced object that lie at the payload's `bytes`: the fixed part if
    /// they begin there, and the elements they touch.
    pub(crate) fn for_each_reference_near(
        &self,
        object: ObjectRef,
        bytes: std::ops::Range<u64>,
        visit: &mut dyn FnMut(ObjectRef),
    ) {
        let Reading::Traced(tracer) = self.reading else { unreachable!("`{}` is not read by images", self.name) };
        let fixed = (bytes.start < self.size).then(|| object.address());
        let mut elements = (object.address() + self.size, 0);
        if self.tail_refers && bytes.end > self.size {
            let first = bytes.start.saturating_sub(self.size) / self.stride;
            let last = (bytes.end - self.size).div_ceil(self.stride).min(self.length(object));
            elements = (elements.0 + first * self.stride, last.saturating_sub(first));
        }
        self.read_images(tracer, fixed, elements, visit);
    }

    /// Calls `visit` with the reference slots among the payload's `bytes`: between them may lie words that are none. Only for
    /// types that are not traced.
    pub fn for_each_slot_among(&self, object: ObjectRef, bytes: std::ops::Range<u64>, mut visit: impl FnMut(Slot)) {
        for &offset in self.fixed.iter().filter(|&&offset| bytes.contains(&(offset as u64))) {
            visit(object.slot(offset as u64));
        }
        if !self.tail_refers || bytes.end <= self.size {
            return;
        }
        let first = bytes.start.saturating_sub(self.size) / self.stride;
        for element in first..(bytes.end - self.size).div_ceil(self.stride).min(self.length(object)) {
            let start = self.size + element * self.stride;
            for at in self.element.iter().map(|&offset| start + offset as u64).filter(|at| bytes.contains(at)) {
                visit(object.slot(at));
            }
        }
    }

    /// The offset of the first word of `object` that refers to `target`; `None` where none does, or a trace function reads them.
    pub(crate) fn offset_of_reference(&self, object: ObjectRef, target: ObjectRef) -> Option<u64> {
        let mut found = None;
        if !matches!(self.reading, Reading::Traced(Tracer::Function(_))) {
            self.for_each_slot(object, Part::Whole, |slot| {
                if found.is_none() && self.target_of(object, slot) == Some(target) {
                    found = Some(slot.address() - object.address());
                }
            });
        }
        found
    }

    /// The words of `part` if they are nothing but plain references one behind the other, as those of an array and of its chunks are
    /// (none if references before its elements belong to the part): to be followed, copied and compared as they lie there.
    #[inline(always)]
    pub fn words_in_a_row<'a>(&self, object: ObjectRef, part: Part) -> Option<&'a [u64]> {
        if !self.words_tail {
            return None;
        }
        let (fixed, first, last) = self.bounds(object, part);
        if fixed && !self.fixed.is_empty() {
            return None;
        }
        let start = object.address() + self.size + first * 8;
        // SAFETY: [HEADER] the elements of an object; the collector's thread alone reads and writes them while it has this.
        Some(unsafe { std::slice::from_raw_parts(start as *const u64, (last - first) as usize) })
    }

    /// Number of words in a snapshot of `part`.
    #[inline(always)]
    pub fn snapshot_words(&self, object: ObjectRef, part: Part) -> usize {
        if !self.tail_refers && part == Part::Whole && !matches!(self.reading, Reading::Traced(_)) {
            return self.fixed.len();
        }
        let (fixed, first, last) = self.bounds(object, part);
        let (fixed_words, element_words) = match self.reading {
            Reading::Traced(_) => (self.size.div_ceil(8), self.stride / 8),
            _ => (self.fixed.len() as u64, self.element.len() as u64),
        };
        (if fixed { fixed_words } else { 0 } + (last - first) * element_words) as usize
    }

    /// Writes the snapshot of `part`, as its words are now, to `out`, which has [`snapshot_words`](Self::snapshot_words)
    /// entries.
    #[inline(always)]
    pub(crate) fn take_snapshot(&self, object: ObjectRef, part: Part, out: &mut [u64]) {
        if let Some(words) = self.words_in_a_row(object, part) {
            return out.copy_from_slice(words);
        }
        let mut at = 0;
        self.for_each_snapshot_word(object, part, |word| {
            out[at] = word;
            at += 1;
        });
        debug_assert_eq!(at, out.len());
    }

    /// Calls `visit` with every word that a snapshot of `part` would hold now.
    #[inline(always)]
    pub fn for_each_snapshot_word(&self, object: ObjectRef, part: Part, mut visit: impl FnMut(u64)) {
        if !matches!(self.reading, Reading::Traced(_)) {
            return self.for_each_slot(object, part, |slot| visit(slot.read()));
        }
        let (fixed, first, last) = self.bounds(object, part);
        if fixed {
            for word in 0..self.size.div_ceil(8) {
                visit(object.slot(word * 8).read());
            }
        }
        for word in first * self.stride / 8..last * self.stride / 8 {
            visit(object.slot(self.size + word * 8).read());
        }
    }

    /// Calls `visit` with every heap reference in a snapshot that was taken of `part` of `object`.
    #[inline(always)]
    pub fn for_each_reference_in_snapshot(
        &self,
        object: ObjectRef,
        part: Part,
        snapshot: &[u64],
        mut visit: impl FnMut(ObjectRef),
    ) {
        let Reading::Traced(tracer) = self.reading else {
            // SAFETY: [HEADER] a word of a field of that type.
            snapshot.iter().filter_map(|&word| unsafe { self.decode(word) }).for_each(visit);
            return;
        };
        let (fixed, first, last) = self.bounds(object, part);
        let words = snapshot.as_ptr() as u64;
        let elements = words + if fixed { self.size.div_ceil(8) * 8 } else { 0 };
        self.read_images(tracer, fixed.then_some(words), (elements, last - first), &mut visit);
    }

    /// Whether two such slots outside the heap are known to hold the same references: their words are equal, and their
    /// tags. A type with a trace function is not looked at.
    ///
    /// # Safety
    /// As for [`TypeInfo::for_each_reference_in_root`], for both.
    pub(crate) unsafe fn is_same_in_roots(&self, [first, second]: [u64; 2]) -> bool {
        // SAFETY: [ROOT] the memory of each root is `size` bytes.
        let word = |address| unsafe { Slot::from_address(address) }.read();
        let is_same = |&offset: &u32| word(first + u64::from(offset)) == word(second + u64::from(offset));
        match self.reading {
            Reading::Traced(Tracer::Function(_)) => false,
            Reading::Traced(Tracer::Pairs(pairs)) => {
                self.fixed.iter().all(|offset| is_same(offset) && is_same(&pairs.tag_of(*offset)))
            }
            Reading::Traced(Tracer::Mixed(Tagging::Pairs(pairs))) => self.fixed.iter().all(|offset| {
                let has_tag = !self.is_plain_beside_tags(u64::from(*offset));
                is_same(offset) && (!has_tag || is_same(&pairs.tag_of(*offset)))
            }),
            _ => self.fixed.iter().all(is_same),
        }
    }

    /// Calls `visit` with every heap reference in a slot outside the heap (a stack or global root) that this type
    /// describes as if it were a payload. Roots have no tail.
    ///
    /// # Safety
    /// As many bytes as the type has may be read at `address`, and hold what a field of the type may. `[ROOT]`
    pub unsafe fn for_each_reference_in_root(&self, address: u64, mut visit: impl FnMut(ObjectRef)) {
        if let Reading::Traced(tracer) = self.reading {
            return self.read_fixed_image(tracer, address, &mut visit);
        }
        for &offset in &self.fixed {
            // SAFETY: [ROOT] the root's memory is `size` bytes at `address`.
            let word = unsafe { Slot::from_address(address + offset as u64) }.read();
            // SAFETY: [HEADER] a word of a field of that type.
            if let Some(target) = unsafe { self.decode(word) } {
                visit(target);
            }
        }
    }
}

impl TypeInfo {
    /// Finds the references in the words of a fixed part that stand at `words`.
    #[inline(always)]
    fn read_fixed_image<F: FnMut(ObjectRef)>(&self, tracer: Tracer, words: u64, visit: &mut F) {
        let entries = self.entries.as_ref().map_or(&*self.fixed, |entries| &entries.fixed);
        match tracer.tagging() {
            Ok(tagging) => read_image(tagging, words, entries, visit),
            Err(trace) => self.call_trace(trace, words, self.size.div_ceil(8), visit),
        }
    }

    /// Visits the references of the fixed part at that address, if there is one, and of `count` elements from `elements` on.
    #[inline(never)]
    fn read_images(
        &self,
        tracer: Tracer,
        fixed: Option<u64>,
        (elements, count): (u64, u64),
        mut visit: &mut dyn FnMut(ObjectRef),
    ) {
        if let Some(words) = fixed {
            self.read_fixed_image(tracer, words, &mut visit);
        }
        let entries = self.entries.as_ref().map_or(&*self.element, |entries| &entries.element);
        let tagging = tracer.tagging();
        for words in (0..count).map(|element| elements + element * self.stride) {
            match tagging {
                Ok(tagging) => read_image(tagging, words, entries, &mut visit),
                Err(trace) => self.call_trace(trace, words, self.stride / 8, &mut visit),
            }
        }
    }

    fn call_trace<F: FnMut(ObjectRef)>(&self, trace: TraceFunction, words: u64, count: u64, visit: &mut F) {
        unsafe extern "C" fn found<F: FnMut(ObjectRef)>(reference: *mut c_void, context: *mut c_void) {
            let address = reference as u64;
            if range::in_heap(address) {
                // SAFETY: `context` is the closure that `call_trace` passed; the reference obeys [HEADER].
                let visit = unsafe { &mut *context.cast::<F>() };
                // SAFETY: [HEADER] a reference that a trace function reports.
                visit(unsafe { ObjectRef::from_address(address) });
            }
        }
        self.check_that_code_is_there(trace);
        // SAFETY: the descriptor's author promised a function that reads `count` words and calls back.
        at_work::call(|| unsafe { trace(words as *const u64, count, found::<F>, (visit as *mut F).cast()) });
    }
}

/// Finds the references in an image that stands at `words`, in the fields that the entries of a list name.
#[inline(always)]
fn read_image<F: FnMut(ObjectRef)>(tagging: Tagging, words: u64, entries: &[u32], visit: &mut F) {
    for &entry in entries {
        let address = match tagging {
            // SAFETY: [HEADER] a pair of such an image.
            Tagging::Pairs(pairs) if !is_plain_entry(entry) => unsafe { pairs.address_at(words + u64::from(entry)) },
            // SAFETY: [HEADER] a word of such an image.
            _ => unsafe { address_in_word(tagging, words, entry) },
        };
        // SAFETY: [HEADER] a reference, as its field is read.
        if let Some(target) = unsafe { ObjectRef::of_word(address) } {
            visit(target);
        }
    }
}

/// The address in the word of a mixed type that an entry names, in an image that stands at `words`; 0 if that is no reference by itself.
///
/// # Safety
/// The word may be read. `[HEADER]`
#[inline(never)]
unsafe fn address_in_word(tagging: Tagging, words: u64, entry: u32) -> u64 {
    let reading = if is_plain_entry(entry) { Reading::Plain } else { tagging.of_field() };
    // SAFETY: by the caller's promise.
    reading.address_in(unsafe { Slot::from_address(words + u64::from(offset_of_entry(entry))) }.read())
}
