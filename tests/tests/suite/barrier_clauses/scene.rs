//! A heap with a few objects of one kind, each in a root of its own, and what can be asked about it.

use proptest::prelude::*;
use tally_heap::memory::range::UNLOGGED;
use tally_heap::plan::Plan;
use tally_heap::plan::deferred::log::LogCursor;
use tally_heap::visit::Part;
use tally_heap::{HeapOptions, ObjectRef};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Objects of a scene.
pub const OBJECTS: usize = 6;

/// A write: object, slot, and the object to refer to.
pub type Write = (usize, u64, Option<usize>);

/// Up to `max` writes to slots below `slots`.
pub fn writes(slots: u64, max: usize) -> impl Strategy<Value = Vec<Write>> {
    prop::collection::vec((0..OBJECTS, 0..slots, prop::option::weighted(0.8, 0..OBJECTS)), 1..max)
}

/// Few enough cases that every `cargo test` can afford them.
pub fn cases() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }
}

/// See the file's first lines.
pub struct Scene {
    /// The heap.
    pub heap: TallyHeap,
    /// The objects.
    pub objects: Vec<ObjectRef>,
    kind: Kind,
    length: u64,
}

/// An entry of the log: object, chunk of a large object, words.
pub type Logged = (ObjectRef, Option<u64>, Vec<u64>);

impl Scene {
    /// A heap of the plan that logs single objects, and counts work in units.
    pub fn new(plan: Plan, kind: Kind, length: u64) -> Scene {
        Scene::with(HeapOptions { plan, block_log_after: u16::MAX, ..HeapOptions::default() }, kind, length)
    }

    /// The same with options of the caller's.
    pub fn with(options: HeapOptions, kind: Kind, length: u64) -> Scene {
        let mut heap = TallyHeap::new(HeapOptions { slice_units: Some(100), ..options });
        let objects = (0..OBJECTS).map(|_| allocate(&mut heap, kind, length)).collect();
        Scene { heap, objects, kind, length }
    }

    /// The objects are held by an array, and that by the only root: none of them is met at a flip, all of them behind it.
    pub fn hold_by_an_array(&mut self) {
        let array = self.heap.allocate(Kind::Array, OBJECTS as u64).expect("there is room");
        for (slot, object) in self.objects.iter().enumerate() {
            self.heap.store(array, Kind::Array.slot_offset(slot as u64), object.address());
        }
        self.heap.truncate_roots(0);
        self.heap.push_root(Some(array));
    }

    /// What was young is mature, clean, and counted.
    pub fn settle(&mut self) {
        self.heap.epoch();
    }

    /// Offset of the slot in its object.
    pub fn offset(&self, slot: u64) -> u64 {
        self.kind.slot_offset(slot)
    }

    /// The word that refers to the object.
    pub fn word(&self, target: Option<usize>) -> u64 {
        target.map_or(0, |target| self.kind.shape().encoding.encode(self.objects[target].address()))
    }

    /// Writes through the barrier.
    pub fn write(&mut self, (object, slot, target): Write) {
        let word = self.word(target);
        self.write_word(object, slot, word);
    }

    /// The same with any word.
    pub fn write_word(&mut self, object: usize, slot: u64, word: u64) {
        let (address, offset) = (self.objects[object].address(), self.offset(slot));
        self.heap.store(address, offset, word);
    }

    /// The reference words of an object.
    pub fn words(&self, object: usize) -> Vec<u64> {
        let slots = self.kind.slot_count(self.length);
        (0..slots).map(|slot| self.heap.load(self.objects[object].address(), self.offset(slot))).collect()
    }

    /// The reference words of all objects.
    pub fn all_words(&self) -> Vec<Vec<u64>> {
        (0..OBJECTS).map(|object| self.words(object)).collect()
    }

    /// The byte counts of the deferred plan.
    pub fn counts(&self) -> Vec<u8> {
        self.objects.iter().map(|object| object.count()).collect()
    }

    /// The exact counts of the prompt plan.
    pub fn exact_counts(&self) -> Vec<u32> {
        self.objects.iter().map(|object| object.exact_count()).collect()
    }

    /// How often the words refer to each object.
    pub fn references_in(&self, words: &[Vec<u64>]) -> Vec<u64> {
        let refer = |target| words.iter().flatten().filter(|&&word| word == self.word(Some(target))).count();
        (0..OBJECTS).map(|target| refer(target) as u64).collect()
    }

    /// Whether the next write must log the object.
    pub fn is_unlogged(&self, object: usize) -> bool {
        UNLOGGED.get(self.objects[object].granule())
    }

    /// The running log. An entry of a plain object that has no words says that all were null; one that has some, that
    /// not all were.
    pub fn log(&mut self) -> Vec<Logged> {
        let heap = self.heap.mutator.heap();
        let (mut log, mut at, mut entries) = (std::mem::take(&mut heap.deferred.log), LogCursor::default(), vec![]);
        while let Some(entry) = log.next(&mut at) {
            let chunk = match entry.part {
                Part::Whole => None,
                Part::Chunk(chunk) => Some(chunk),
            };
            let info = entry.object.type_info();
            let mut words = entry.words.to_vec();
            if info.simple && chunk.is_none() {
                assert!(words.is_empty() || words.iter().any(|&word| word != 0), "an entry of nulls has none of them");
                words.resize(info.snapshot_words(entry.object, Part::Whole), 0);
            }
            entries.push((entry.object, chunk, words));
        }
        heap.deferred.log = log;
        entries
    }

    /// The passes are run to their end: the heap recounted twice over.
    pub fn assert_sound(&mut self) {
        self.heap.epoch();
        self.heap.verify().expect("the heap's own recount");
        self.heap.recount().expect("the tests' recount");
    }
}

/// A new object in a new root.
pub fn allocate(heap: &mut TallyHeap, kind: Kind, length: u64) -> ObjectRef {
    let address = heap.allocate(kind, length).expect("there is room");
    heap.push_root(Some(address));
    // SAFETY: [HEADER] an object that was just allocated, and is in a root.
    unsafe { ObjectRef::from_address(address) }
}
