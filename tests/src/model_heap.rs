//! The model heap: a plain graph that defines the permitted behaviour of either plan.
//!
//! Objects with words, roots, globals; nothing else. Live means reachable from a root or a global. The driver
//! (`replay.rs`) performs every op here and on the heap under test. This file defines two sets of objects:
//!
//! * what **must be there** after an epoch: every reachable object, word for word ([`ModelHeap::reachable`]);
//! * what **must be gone**: after a full collection all unreachable objects; after a few epochs already the garbage
//!   that plain counting finds, that is, garbage that is reachable neither from a garbage cycle nor, where counts are
//!   small, from an object whose count once came near saturation ([`ModelHeap::countable_garbage`]). Under the prompt
//!   plan that is gone at once.
//!
//! Garbage stays in the model until the heap under test has freed it ([`ModelHeap::forget`]), so that every object
//! that the heap still lists can be named. No address occurs here: ids are never reused, which makes reuse of
//! addresses by the real heap visible.
//!
//! `model_heap/reach.rs` has the effect of ephemerons and weak maps on reachability, `model_heap/garbage.rs` their
//! effect on counting, `model_heap/weak.rs` the fate of weak slots when an object dies, and `model_heap/stacks.rs` what frames
//! hold.

mod garbage;
mod reach;
pub mod stacks;
mod weak;

use std::collections::{BTreeMap, BTreeSet};

use crate::op::Deed;
use crate::op::service::{GLOBAL_HANDLES, OPEN_OBJECTS};
use crate::shape::{DEED, Encoding, Finalizes, Kind, TRACE_NUMBER, TRACE_TAG};

pub use garbage::Garbage;
pub use stacks::{FrameSlot, ModelFrame, ModelStack, ModelStacks, StackState};
pub use weak::{ModelMap, ModelMember, Owed};

/// An object of the model; never reused within a run.
pub type Id = u32;

/// A payload word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// These bits, no reference.
    Raw(u64),
    /// A reference to that object, encoded as the object's kind demands.
    Reference(Id),
    /// A weak slot that refers to that object; unless it is `sure`, it may have been cleared meanwhile, because the
    /// object was dead for a while and a finalizer has brought it back.
    Weak {
        /// The target.
        target: Id,
        /// Whether it certainly refers to it.
        sure: bool,
    },
}

/// An object of the model.
#[derive(Clone, Debug)]
pub struct ModelObject {
    /// Its kind.
    pub kind: Kind,
    /// Elements in its tail.
    pub length: u64,
    /// Its payload.
    pub words: Vec<Word>,
    references_held: u32,
    references_held_max: u32,
}

/// A count at which the runtime may already have given up counting an object: it counts to 255, includes roots, and
/// applies an epoch's increments before its decrements.
const NEAR_SATURATION: u32 = 64;

/// The graph.
#[derive(Debug, Default)]
pub struct ModelHeap {
    objects: Vec<Option<ModelObject>>,
    /// The host roots: the registers of a program, then its root stack.
    pub roots: Vec<Option<Id>>,
    /// The global roots.
    pub globals: Vec<Option<Id>>,
    /// The contents of scoped handles.
    pub handles: Vec<Option<Id>>,
    /// The number of handles before each open scope.
    pub scopes: Vec<usize>,
    /// The contents of global handles.
    pub global_handles: [Option<Id>; GLOBAL_HANDLES],
    /// The objects that are open; one may be so several times.
    pub open: [Option<Id>; OPEN_OBJECTS],
    /// The objects whose finalizers will run.
    pub registered: BTreeSet<Id>,
    /// The weak maps.
    pub maps: BTreeMap<Id, ModelMap>,
    /// The weak sets: their members.
    pub sets: BTreeMap<Id, BTreeMap<Id, ModelMember>>,
    /// Objects with weak slots.
    watchers: BTreeSet<Id>,
    /// Weak references whose targets are gone, and whose callbacks have not been called.
    pub owed: BTreeMap<Id, Owed>,
    /// Stacks and their frames.
    pub stacks: ModelStacks,
}

impl ModelHeap {
    /// A fresh object: raw zero words, its length set, data words filled with a pattern of the id.
    pub fn allocate(&mut self, kind: Kind, length: u64) -> Id {
        let id = self.objects.len() as Id;
        let shape = kind.shape();
        let count = kind.whole_words(length) as usize;
        let mut words: Vec<Word> = (0..count as u64).map(|index| Word::Raw(data_pattern(id, index))).collect();
        for slot in 0..kind.slot_count(length) {
            let offset = kind.slot_offset(slot);
            let index = (offset / 8) as usize;
            words[index] = Word::Raw(0);
            if kind.encoding_at(offset) == Encoding::Pairs {
                words[index - 1] = Word::Raw(0);
            }
        }
        if kind.has_tail() {
            words[(shape.length_offset / 8) as usize] = Word::Raw(length);
        }
        for offset in shape.weak.iter().chain(shape.hidden) {
            words[*offset as usize / 8] = Word::Raw(0);
        }
        if let Some(finalizer) = shape.finalizer {
            words[(DEED / 8) as usize] = Word::Raw(Deed::Nothing.encode());
            if finalizer != Finalizes::Registered {
                self.registered.insert(id);
            }
        }
        if !shape.weak.is_empty() {
            self.watchers.insert(id);
        }
        self.objects.push(Some(ModelObject { kind, length, words, references_held: 0, references_held_max: 0 }));
        id
    }

    /// The object; it must not have been forgotten.
    pub fn object(&self, id: Id) -> &ModelObject {
        self.objects[id as usize].as_ref().expect("the program reached an object that the model had forgotten")
    }

    /// Returns whether the object is still in the model, live or garbage.
    pub fn knows(&self, id: Id) -> bool {
        self.objects.get(id as usize).is_some_and(Option::is_some)
    }

    /// All objects that have not been forgotten, live or garbage.
    pub fn known(&self) -> impl Iterator<Item = Id> + '_ {
        (0..self.objects.len() as Id).filter(|id| self.knows(*id))
    }

    /// The words to store, in order, so that the slot at `offset` holds `word`: the slot, and the tag of a pair,
    /// which says whether the word `refers` to something. Between the two `trace` sees no number as a reference: a
    /// reference comes before its tag, a number after.
    pub fn stores_for(&self, id: Id, offset: u64, word: Word, refers: bool) -> Vec<(u64, Word)> {
        if self.object(id).kind.encoding_at(offset) != Encoding::Pairs {
            return vec![(offset, word)];
        }
        let tag = if refers { TRACE_TAG } else { TRACE_NUMBER };
        let (tag, slot) = ((offset - 8, Word::Raw(tag)), (offset, word));
        if refers { vec![slot, tag] } else { vec![tag, slot] }
    }

    /// Stores one word.
    pub fn store(&mut self, id: Id, offset: u64, word: Word) {
        let index = (offset / 8) as usize;
        let object = self.objects[id as usize].as_mut().expect("a store into a forgotten object");
        let old = std::mem::replace(&mut object.words[index], word);
        if let Word::Reference(new) = word {
            self.hold(new);
        }
        if let Word::Reference(old) = old {
            self.release(old);
        }
    }

    /// Changes the number of elements: new ones are zeros.
    pub fn resize(&mut self, id: Id, length: u64) {
        let kind = self.object(id).kind;
        let (words, count) = (self.object(id).words.len(), kind.whole_words(length) as usize);
        (count..words).for_each(|index| self.store(id, index as u64 * 8, Word::Raw(0)));
        let object = self.objects[id as usize].as_mut().expect("just looked at");
        object.words.resize(count, Word::Raw(0));
        object.words[(kind.shape().length_offset / 8) as usize] = Word::Raw(length);
        object.length = length;
    }

    /// A new object has the words of another, so many elements, and zeros behind them.
    pub fn take_words(&mut self, new: Id, old: Id, elements: u64) {
        let kind = self.object(new).kind;
        let (kept, count) = (kind.whole_words(elements), self.object(new).words.len() as u64);
        for index in 0..count {
            let word = if index < kept { self.load(old, index * 8) } else { Word::Raw(0) };
            if index * 8 != kind.shape().length_offset {
                self.store(new, index * 8, word);
            }
        }
    }

    /// The word at `offset`.
    pub fn load(&self, id: Id, offset: u64) -> Word {
        self.object(id).words[(offset / 8) as usize]
    }

    /// The objects that `id` refers to, once for each referring word; of a stopped stack, for each slot of its frames.
    pub fn references(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let words = self.object(id).words.iter().filter_map(|word| match word {
            Word::Reference(target) => Some(*target),
            Word::Raw(_) | Word::Weak { .. } => None,
        });
        words.chain(self.stacks.held_by_frames_of(id))
    }

    /// The objects that roots of all sorts hold.
    pub fn held_by_roots(&self) -> impl Iterator<Item = Id> + '_ {
        let handles = self.handles.iter().chain(&self.global_handles).chain(&self.open);
        let words = self.roots.iter().chain(&self.globals).chain(handles);
        words.flatten().copied().chain(self.stacks.held_as_roots())
    }

    /// Removes garbage that the heap under test has freed.
    pub fn forget(&mut self, id: Id) {
        let targets: Vec<Id> = self.references(id).collect();
        self.objects[id as usize] = None;
        self.stacks.all.remove(&id);
        self.forget_weakly(id);
        targets.into_iter().for_each(|target| self.release(target));
    }

    fn hold(&mut self, id: Id) {
        if let Some(object) = &mut self.objects[id as usize] {
            object.references_held += 1;
            object.references_held_max = object.references_held_max.max(object.references_held);
        }
    }

    fn release(&mut self, id: Id) {
        if let Some(object) = &mut self.objects[id as usize] {
            object.references_held -= 1;
        }
    }
}

/// The content of a data word of a fresh object; it looks like no heap address.
pub fn data_pattern(id: Id, index: u64) -> u64 {
    0xd1d0_0000_0000_0000 | (u64::from(id) << 16) | (index & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(heap: &mut ModelHeap, from: Id, slot: u64, to: Id) {
        let offset = heap.object(from).kind.slot_offset(slot);
        for (offset, word) in heap.stores_for(from, offset, Word::Reference(to), true) {
            heap.store(from, offset, word);
        }
    }

    #[test]
    fn what_a_root_or_a_global_reaches_is_live() {
        let mut heap = ModelHeap::default();
        let (a, b, c, d) = (
            heap.allocate(Kind::Pair, 0),
            heap.allocate(Kind::Traced, 0),
            heap.allocate(Kind::Leaf, 0),
            heap.allocate(Kind::Leaf, 0),
        );
        linked(&mut heap, a, 0, b);
        linked(&mut heap, b, 1, c);
        heap.roots.push(Some(a));
        assert_eq!(heap.reachable(), [true, true, true, false]);
        heap.roots[0] = None;
        heap.globals.push(Some(b));
        assert_eq!(heap.reachable(), [false, true, true, false]);
        let _ = d;
    }

    #[test]
    fn counting_frees_a_chain_but_nothing_under_a_cycle() {
        let mut heap = ModelHeap::default();
        let ids: Vec<Id> = (0..5).map(|_| heap.allocate(Kind::Pair, 0)).collect();
        linked(&mut heap, ids[0], 0, ids[1]); // a chain of two
        linked(&mut heap, ids[2], 0, ids[3]); // a cycle of two with a tail
        linked(&mut heap, ids[3], 0, ids[2]);
        linked(&mut heap, ids[3], 1, ids[4]);
        let reachable = heap.reachable();
        assert_eq!(heap.countable_garbage(&reachable, true).countable, [ids[0], ids[1]]);
    }

    #[test]
    fn an_object_once_widely_shared_is_not_promised_to_counting() {
        let mut heap = ModelHeap::default();
        let shared = heap.allocate(Kind::Leaf, 0);
        let array = heap.allocate(Kind::Array, 200);
        for slot in 0..200 {
            linked(&mut heap, array, slot, shared);
        }
        let reachable = heap.reachable();
        assert_eq!(heap.countable_garbage(&reachable, true).countable, [array]);
        assert_eq!(heap.countable_garbage(&reachable, false).countable, [array, shared]);
    }

    #[test]
    fn overwriting_a_pair_with_a_number_ends_the_reference() {
        let mut heap = ModelHeap::default();
        let pair = heap.allocate(Kind::Traced, 0);
        let leaf = heap.allocate(Kind::Leaf, 0);
        linked(&mut heap, pair, 0, leaf);
        assert_eq!(heap.references(pair).collect::<Vec<_>>(), [leaf]);
        for (offset, word) in heap.stores_for(pair, 8, Word::Raw(7), false) {
            heap.store(pair, offset, word);
        }
        assert_eq!(heap.references(pair).count(), 0);
        assert_eq!(heap.load(pair, 0), Word::Raw(TRACE_NUMBER));
    }
}
