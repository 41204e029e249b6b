//! Reads and writes: the effects of an op's places and values, performed on model and heap alike.
//!
//! A [`Value`] becomes a word in the encoding of the slot's owner; a value that the slot cannot express becomes null.
//! Block moves are performed on the model word by word, on the heap by the operation under test.

use super::{IMMORTALS, Loaded, Replay};
use crate::heap_under_test::{Deaths, HeapUnderTest};
use crate::model_heap::{Id, ModelObject, Word};
use crate::op::{Place, Register, Value};
use crate::shape::{DEED, Encoding, Kind, TRACE_TAG};

impl<H: HeapUnderTest> Replay<'_, H> {
    /// The word that a store of `value` puts into the slot of `holder` at `offset`.
    pub(super) fn word_for(&self, (holder, offset): (Kind, u64), value: Value) -> Loaded {
        let encoding = holder.encoding_at(offset);
        let (word, refers) = match value {
            Value::Null => (Word::Raw(encoding.encode(0)), false),
            Value::Object(register) => match self.register(register) {
                Some(id) if self.fits(holder, id) => (Word::Reference(id), true),
                _ => (Word::Raw(encoding.encode(0)), false),
            },
            Value::Immortal(number) => {
                let target = &raw const IMMORTALS[usize::from(number) % IMMORTALS.len()];
                (Word::Raw(encoding.encode(target as u64)), true)
            }
            Value::Integer(number) => match encoding {
                Encoding::Pointer => (Word::Raw(0), false),
                Encoding::LowBits => (Word::Raw(u64::from(number) << 3 | 2), false),
                Encoding::NanBox => (Word::Raw(f64::from(number).to_bits()), false),
                Encoding::Pairs => (Word::Raw(u64::from(number)), false),
            },
            Value::Address(register) => match (encoding, self.register(register)) {
                (Encoding::Pointer, _) | (_, None) => (Word::Raw(0), false),
                (_, Some(id)) => (Word::Raw(self.addresses[id as usize]), false),
            },
        };
        Loaded { word, refers, encoding }
    }

    /// Whether the object fits: a label holds only texts, as its descriptor says.
    pub(super) fn fits(&self, holder: Kind, id: Id) -> bool {
        holder != Kind::Label || self.model.object(id).kind == Kind::Text
    }

    pub(super) fn store_slot(&mut self, id: Id, offset: u64, loaded: Loaded) {
        self.store_slot_by(H::store, id, offset, loaded);
    }

    /// The same by a store of words of the heap's. A pair that is described changes as one, with a barrier.
    pub(super) fn store_slot_by(&mut self, store: fn(&mut H, u64, u64, u64), id: Id, offset: u64, loaded: Loaded) {
        let (kind, address) = (self.model.object(id).kind, self.addresses[id as usize]);
        let mut stores = self.model.stores_for(id, offset, loaded.word, loaded.refers);
        // Any order is allowed under the deferred plan.
        let is_described_pair = kind.has_described_pairs() && kind.encoding_at(offset) == Encoding::Pairs;
        if is_described_pair || self.heap.deaths() == Deaths::Deferred {
            stores.sort_unstable_by_key(|(offset, _)| *offset);
        }
        if is_described_pair {
            let pair = [stores[0], stores[1]].map(|(offset, word)| self.bits((kind, offset), word));
            stores.iter().for_each(|&(offset, word)| self.model.store(id, offset, word));
            return self.heap.store_pair(address, offset - 8, pair);
        }
        for (offset, word) in stores {
            let bits = self.bits((kind, offset), word);
            self.model.store(id, offset, word);
            store(self.heap, address, offset, bits);
        }
    }

    pub(super) fn write_place(&mut self, place: Place, value: Value) -> Result<(), String> {
        if let Some((id, offset)) = self.resolve(place)? {
            let loaded = self.word_for((self.model.object(id).kind, offset), value);
            self.store_slot(id, offset, loaded);
        }
        Ok(())
    }

    pub(super) fn link(&mut self, from: Id, slot: u64, to: Id) {
        let kind = self.model.object(from).kind;
        let offset = kind.slot_offset(slot);
        let loaded = Loaded { word: Word::Reference(to), refers: true, encoding: kind.encoding_at(offset) };
        self.store_slot(from, offset, loaded);
    }

    pub(super) fn load_slot(&self, id: Id, offset: u64) -> Loaded {
        let encoding = self.model.object(id).kind.encoding_at(offset);
        let word = self.model.load(id, offset);
        let refers = encoding != Encoding::Pairs || self.model.load(id, offset - 8) == Word::Raw(TRACE_TAG);
        Loaded { word, refers, encoding }
    }

    pub(super) fn swap(&mut self, a: Place, b: Place) -> Result<(), String> {
        let (Some((a, a_offset)), Some((b, b_offset))) = (self.resolve(a)?, self.resolve(b)?) else { return Ok(()) };
        let (from_a, from_b) = (self.load_slot(a, a_offset), self.load_slot(b, b_offset));
        self.store_loaded(b, b_offset, from_a);
        self.store_loaded(a, a_offset, from_b);
        Ok(())
    }

    /// Stores a word read elsewhere; one that the slot cannot express becomes null.
    pub(super) fn store_loaded(&mut self, id: Id, offset: u64, loaded: Loaded) {
        let kind = self.model.object(id).kind;
        let encoding = kind.encoding_at(offset);
        let fits = match loaded.word {
            Word::Reference(target) => self.fits(kind, target),
            Word::Raw(_) | Word::Weak { .. } => loaded.encoding == encoding,
        };
        let null = Loaded { word: Word::Raw(encoding.encode(0)), refers: false, encoding };
        self.store_slot(id, offset, if fits { loaded } else { null });
    }

    pub(super) fn copy(&mut self, to: Place, from: Place, count: u32) -> Result<(), String> {
        let (Some((to, to_slot)), Some((from, from_slot))) = (self.resolve_slot(to)?, self.resolve_slot(from)?) else {
            return Ok(());
        };
        let (to_object, from_object) = (self.model.object(to), self.model.object(from));
        let (to_kind, from_kind) = (to_object.kind, from_object.kind);
        let run = if has_records(to_kind) && to_kind == from_kind {
            copy_elements(to_kind, (to_slot, to_object.length), (from_slot, from_object.length), count)
        } else if let encoding = to_kind.encoding_at(to_kind.slot_offset(to_slot))
            && encoding == from_kind.encoding_at(from_kind.slot_offset(from_slot))
            && encoding != Encoding::Pairs
            && to_kind != Kind::Label
        {
            let words = u64::from(count)
                .min(to_kind.contiguous_slots(to_slot, to_object.length))
                .min(from_kind.contiguous_slots(from_slot, from_object.length));
            Some((to_kind.slot_offset(to_slot), from_kind.slot_offset(from_slot), words))
        } else {
            None
        };
        let Some((to_offset, from_offset, words)) = run else { return Ok(()) };
        let moved: Vec<Word> = (0..words).map(|word| self.model.load(from, from_offset + 8 * word)).collect();
        for (index, word) in moved.into_iter().enumerate() {
            self.model.store(to, to_offset + 8 * index as u64, word);
        }
        let (to, from) = (self.addresses[to as usize], self.addresses[from as usize]);
        self.heap.copy_refs((to, to_offset), (from, from_offset), words);
        Ok(())
    }

    pub(super) fn fill(&mut self, place: Place, count: u32, value: Value) -> Result<(), String> {
        let Some((id, slot)) = self.resolve_slot(place)? else { return Ok(()) };
        let object = self.model.object(id);
        let kind = object.kind;
        let offset = kind.slot_offset(slot);
        if kind.encoding_at(offset) == Encoding::Pairs {
            return Ok(());
        }
        let words = u64::from(count).min(kind.contiguous_slots(slot, object.length));
        let word = self.word_for((kind, offset), value).word;
        for index in 0..words {
            self.model.store(id, offset + 8 * index, word);
        }
        self.heap.fill_refs(self.addresses[id as usize], offset, self.bits((kind, offset), word), words);
        Ok(())
    }

    pub(super) fn scribble(&mut self, register: Register, data: u32) {
        let Some(id) = self.register(register) else { return };
        self.model.forget_hash(id);
        for (index, offset) in data_offsets(self.model.object(id)).into_iter().enumerate() {
            let bits = u64::from(data) ^ ((index as u64) << 32);
            self.model.store(id, offset, Word::Raw(bits));
            self.heap.store_data(self.addresses[id as usize], offset, bits);
        }
    }
}

/// Offsets and words of a copy of whole elements, from the element of one slot to that of another.
/// Whether its elements are copied whole.
fn has_records(kind: Kind) -> bool {
    matches!(kind, Kind::Records | Kind::TracedArray | Kind::WideRecords | Kind::ValueRecords | Kind::Nodes)
}

fn copy_elements(kind: Kind, to: (u64, u64), from: (u64, u64), count: u32) -> Option<(u64, u64, u64)> {
    let shape = kind.shape();
    let element =
        |slot: u64| slot.checked_sub(shape.refs.len() as u64).map(|slot| slot / shape.element_refs.len() as u64);
    let (to_element, from_element) = (element(to.0)?, element(from.0)?);
    let elements = u64::from(count).min(to.1 - to_element).min(from.1 - from_element);
    let offset = |element: u64| shape.size + element * shape.stride;
    Some((offset(to_element), offset(from_element), elements * shape.stride / 8))
}

/// Offsets of the words that are neither references, nor their tags, nor the length, nor weak slots, nor deeds, nor the
/// runtime's.
pub(super) fn data_offsets(object: &ModelObject) -> Vec<u64> {
    let shape = object.kind.shape();
    let mut is_data = vec![true; object.words.len()];
    for slot in 0..object.kind.slot_count(object.length) {
        let offset = object.kind.slot_offset(slot);
        let index = (offset / 8) as usize;
        is_data[index] = false;
        if object.kind.encoding_at(offset) == Encoding::Pairs {
            is_data[index - 1] = false;
        }
    }
    if object.kind.has_tail() {
        is_data[(shape.length_offset / 8) as usize] = false;
    }
    for offset in shape.weak.iter().chain(shape.hidden) {
        is_data[*offset as usize / 8] = false;
    }
    if shape.finalizer.is_some() {
        is_data[(DEED / 8) as usize] = false;
    }
    (0..is_data.len()).filter(|index| is_data[*index]).map(|index| 8 * index as u64).collect()
}
