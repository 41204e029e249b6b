//! Proportional effort and bounded garbage: what the cycle detector may cost on inputs that were made to ruin it, and
//! how much cyclic garbage there may be before it is found. Effort under the deferred plan, garbage under both.
//!
//! All programs are deterministic: slices are given in units of work, and nothing here looks at a clock. Effort is what
//! the statistics say was followed and visited, compared with what the program allocated and logged.

mod adversaries;
mod ageing;
mod garbage;
mod garbage_shapes;
mod memory;
mod slices;
mod turns;

use tally_collector::budget::{BYTES_PER_EDGE, EDGES_MAX};
use tally_collector::plan::deferred::trial::EDGES_OVERDRAWN;
use tally_heap::plan::Plan;
use tally_heap::report::statistics::Statistics;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Units of work in a slice.
const SLICE_UNITS: u32 = 2000;
/// Bytes between two epochs.
const EPOCH_BYTES: u64 = 256 << 10;

fn options() -> HeapOptions {
    HeapOptions {
        epoch_bytes: EPOCH_BYTES,
        log_entries: 8 << 10,
        slice_units: Some(SLICE_UNITS),
        ..HeapOptions::default()
    }
}

/// A heap with what the programs have in common: a root per structure, and numbers that look random.
struct World {
    heap: TallyHeap,
    random: u64,
}

impl World {
    fn new() -> World {
        World::with(options())
    }

    fn with(options: HeapOptions) -> World {
        World { heap: TallyHeap::new(options), random: 12345 }
    }

    /// A number below `limit`, the next one of a fixed sequence.
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) % limit
    }

    fn statistics(&self) -> Statistics {
        self.heap.mutator.statistics()
    }

    fn root(&self, index: usize) -> u64 {
        self.heap.mutator.root(RootIndex(index)).map_or(0, ObjectRef::address)
    }

    /// Enough roots that `index` is one.
    fn set_root(&mut self, index: usize, object: u64) {
        while self.heap.mutator.root_count() <= index {
            self.heap.push_root(None);
        }
        self.heap.set_root(index, Some(object).filter(|&object| object != 0));
    }

    fn allocate(&mut self, kind: Kind, length: u64) -> u64 {
        self.heap.allocate(kind, length).expect("room")
    }

    fn new_ephemeron(&mut self, key: u64, value: u64) -> u64 {
        // SAFETY: [HEADER] the programs pass objects that they hold.
        let [key, value] = [key, value].map(|address| unsafe { ObjectRef::from_address(address) });
        self.heap.mutator.new_ephemeron(key, Some(value)).expect("room").address()
    }

    fn get(&self, object: u64, kind: Kind, slot: u64) -> u64 {
        self.heap.load(object, kind.slot_offset(slot))
    }

    fn set(&mut self, object: u64, kind: Kind, slot: u64, target: u64) {
        self.heap.store(object, kind.slot_offset(slot), target);
    }

    /// An array of so many arrays of so many words each, which the root holds; the outer one.
    fn arrays_at_root(&mut self, root: usize, count: u64, words: u64) -> u64 {
        let all = self.allocate(Kind::Array, count);
        self.set_root(root, all);
        for index in 0..count {
            let one = self.allocate(Kind::Array, words);
            let all = self.root(root);
            self.set(all, Kind::Array, index, one);
        }
        self.root(root)
    }

    /// An array of so many rings of so many nodes each, which the root holds. The root after it is null then.
    fn rings_at_root(&mut self, root: usize, count: u64, length: u64) {
        let all = self.allocate(Kind::Array, count);
        self.set_root(root, all);
        for index in 0..count {
            self.ring_at_root(root + 1, length);
            let (all, first) = (self.root(root), self.root(root + 1));
            self.set(all, Kind::Array, index, first);
        }
        self.set_root(root + 1, 0);
    }

    /// A ring of pairs by slot 0 and, backwards, by slot 1, held by a root.
    fn ring_at_root(&mut self, root: usize, length: u64) {
        let first = self.allocate(Kind::Pair, 0);
        self.set_root(root, first);
        let last = root + 1;
        self.set_root(last, first);
        for _ in 1..length {
            let next = self.allocate(Kind::Pair, 0);
            let previous = self.root(last);
            self.set(previous, Kind::Pair, 0, next);
            self.set(next, Kind::Pair, 1, previous);
            self.set_root(last, next);
        }
        let (first, previous) = (self.root(root), self.root(last));
        self.set(previous, Kind::Pair, 0, first);
        self.set(first, Kind::Pair, 1, previous);
        self.set_root(last, 0);
    }

    /// A list of pairs by slot 0, whose head a root holds.
    fn list_at_root(&mut self, root: usize, length: u64) {
        self.set_root(root, 0);
        for _ in 0..length {
            let node = self.allocate(Kind::Pair, 0);
            let head = self.root(root);
            self.set(node, Kind::Pair, 0, head);
            self.set_root(root, node);
        }
    }

    /// A large array, held by a root, of pairs that each refer to two others of them at random.
    fn graph_at_root(&mut self, root: usize, nodes: u64) {
        let array = self.allocate(Kind::Array, nodes);
        self.set_root(root, array);
        for index in 0..nodes {
            let node = self.allocate(Kind::Pair, 0);
            let array = self.root(root);
            self.set(array, Kind::Array, index, node);
        }
        for index in 0..nodes {
            let (array, one, two) = (self.root(root), self.below(nodes), self.below(nodes));
            let node = self.get(array, Kind::Array, index);
            let targets = [one, two].map(|place| self.get(array, Kind::Array, place));
            self.set(node, Kind::Pair, 0, targets[0]);
            self.set(node, Kind::Pair, 1, targets[1]);
        }
    }

    /// The passes of an epoch in slices, as a program would get them, with polls in between.
    fn epoch_in_slices(&mut self) {
        self.heap.flip();
        if self.heap.mutator.heap().plan() == Plan::Prompt {
            return self.heap.poll();
        }
        while self.heap.mutator.step(SLICE_UNITS.into()) {}
    }
}

/// What a program has cost since `before`.
struct Effort {
    edges: u64,
    mark_units: u64,
    bytes: u64,
    entries: u64,
}

impl Effort {
    fn since(before: &Statistics, now: &Statistics) -> Effort {
        Effort {
            edges: now.trial_edges - before.trial_edges,
            mark_units: now.mark_units - before.mark_units,
            bytes: now.allocated_bytes - before.allocated_bytes,
            entries: now.log_entries - before.log_entries,
        }
    }

    /// `[BOUND]` What trials may follow, whatever the program.
    fn check_trials(&self) {
        let limit = EDGES_MAX * self.bytes;
        assert!(
            self.edges <= limit,
            "{} references followed, {} bytes and {} entries",
            self.edges,
            self.bytes,
            self.entries
        );
    }

    /// The same for trials that free nothing: they have what was allocated and logged, and what they saved before.
    fn check_trials_in_vain(&self, saved: u64) {
        let paid = 2 * self.bytes / BYTES_PER_EDGE;
        let limit = paid + saved + EDGES_OVERDRAWN;
        assert!(self.edges <= limit, "{} references followed, {limit} paid for", self.edges);
    }

    /// Marks that find nothing do as much work as a few allocations each: see `Mark::is_due`.
    fn check_marks_in_vain(&self, units_per_object: f64) {
        let objects = self.bytes / 32 + self.entries;
        let limit = units_per_object * objects as f64;
        assert!(self.mark_units as f64 <= limit, "{} units marked for {objects} objects and entries", self.mark_units);
    }
}
