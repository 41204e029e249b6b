//! A heap so simple that it is right by inspection, and ways to make it wrong.
//!
//! Mark and sweep over a hash map, at made-up addresses. It tests the oracle: the driver must accept it as it is, and
//! must reject each [`Fault`] within a few random programs, which `shrink.rs` then makes short. A kind of bug that is
//! missed here would be missed on the real heap too. Its services, and their faults, are in `toy_heap/services.rs`, its stacks in `toy_heap/stacks.rs`.

mod services;
mod stacks;

use std::collections::{BTreeMap, HashSet};

use crate::heap_under_test::{Deaths, HeapUnderTest, Refusal, Totals};
use crate::shape::{Encoding, Kind};

/// A fault of the toy heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every fiftieth barriered store is lost.
    LosesStores,
    /// The last reference of an object is not marked.
    OverlooksLastSlot,
    /// Globals are no roots.
    OverlooksGlobals,
    /// Only unreachable objects that nothing refers to are freed, as if there were no cycle detector.
    KeepsCycles,
    /// Nothing is freed before a collection.
    KeepsEverything,
    /// An overlapping copy goes word by word upwards.
    CopiesUpwards,
    /// A number that looks like an address counts as a reference.
    BelievesNumbers,
    /// Freed objects are not subtracted.
    Miscounts,
    /// New objects keep the old words at their address.
    LeavesWordsUncleared,
    /// Prompt: polls free nothing.
    IgnoresPolls,
    /// Prompt: every third object that reaches zero is forgotten until the next epoch.
    OverlooksDeaths,
    /// Prompt: polls free cycles, too, although cycle detection is off.
    LooksForCyclesAtPolls,
    /// Weak slots go on referring to objects that are gone.
    LeavesWeakSlots,
    /// Every fourth weak slot is cleared although its target lives.
    ClearsTooMuch,
    /// Objects go without their finalizers.
    ForgetsFinalizers,
    /// Finalizers run again and again.
    FinalizesAgain,
    /// Owners are finalized last.
    FinalizesOwnersLast,
    /// Exceptions that escape a finalizer are not reported.
    SwallowsPanics,
    /// An ephemeron keeps its value even when its key is dead.
    EphemeronsAreStrong,
    /// An ephemeron loses its value when nothing else holds the value.
    EphemeronsAreWeak,
    /// Weak sets keep their members.
    KeepsMembers,
    /// Weak maps keep their entries.
    KeepsEntries,
    /// Callbacks are not called.
    NeverCalls,
    /// Handles are no roots.
    OverlooksHandles,
    /// Open objects are not held.
    OverlooksOpenObjects,
    /// Writes to open objects are lost.
    LosesOpenStores,
    /// A scope leaves its handles behind when a panic unwinds through it.
    LeaksScopes,
    /// An allocation that must fail does not.
    NeverFails,
    /// Prompt: polls free although the collector is stopped.
    GoesOnWhenStopped,
    /// A collection in parts is complete before it has begun.
    CompletesAtOnce,
    /// Frames of the running stack hold nothing.
    OverlooksFrames,
    /// Frames of stopped stacks hold nothing.
    OverlooksStoppedFrames,
    /// Stacks that have run are never dropped.
    KeepsStacks,
    /// What a closed stack's frames held is kept.
    KeepsClosedFrames,
    /// The oldest slot of a stack that stops is cleared.
    ClearsOldestSlot,
    /// Stacks that wait are no roots.
    OverlooksWaitingStacks,
}

/// Faults of services.
pub const SERVICE_FAULTS: [Fault; 17] = [
    Fault::LeavesWeakSlots,
    Fault::ClearsTooMuch,
    Fault::ForgetsFinalizers,
    Fault::FinalizesAgain,
    Fault::FinalizesOwnersLast,
    Fault::SwallowsPanics,
    Fault::EphemeronsAreStrong,
    Fault::EphemeronsAreWeak,
    Fault::KeepsEntries,
    Fault::KeepsMembers,
    Fault::NeverCalls,
    Fault::OverlooksHandles,
    Fault::OverlooksOpenObjects,
    Fault::LosesOpenStores,
    Fault::LeaksScopes,
    Fault::NeverFails,
    Fault::CompletesAtOnce,
];

/// Faults of stacks.
pub const STACK_FAULTS: [Fault; 6] = [
    Fault::OverlooksFrames,
    Fault::OverlooksStoppedFrames,
    Fault::KeepsStacks,
    Fault::KeepsClosedFrames,
    Fault::ClearsOldestSlot,
    Fault::OverlooksWaitingStacks,
];

/// Further faults of a heap with prompt deaths.
pub const PROMPT_FAULTS: [Fault; 4] =
    [Fault::IgnoresPolls, Fault::OverlooksDeaths, Fault::LooksForCyclesAtPolls, Fault::GoesOnWhenStopped];

/// All faults.
pub const FAULTS: [Fault; 9] = [
    Fault::LosesStores,
    Fault::OverlooksLastSlot,
    Fault::OverlooksGlobals,
    Fault::KeepsCycles,
    Fault::KeepsEverything,
    Fault::CopiesUpwards,
    Fault::BelievesNumbers,
    Fault::Miscounts,
    Fault::LeavesWordsUncleared,
];

struct ToyObject {
    kind: Kind,
    length: u64,
    words: Vec<u64>,
}

/// The heap.
pub struct ToyHeap {
    objects: BTreeMap<u64, ToyObject>,
    roots: Vec<Option<u64>>,
    globals: [Option<u64>; crate::op::GLOBALS],
    next: u64,
    fault: Option<Fault>,
    prompt: bool,
    stores: u64,
    allocated: u64,
    freed: u64,
    services: services::ToyServices,
    stacks: stacks::ToyStacks,
}

impl ToyHeap {
    /// An empty heap with that fault.
    pub fn new(fault: Option<Fault>) -> Self {
        let (objects, roots, globals) = (BTreeMap::new(), Vec::new(), [None; crate::op::GLOBALS]);
        ToyHeap {
            objects,
            roots,
            globals,
            next: 0x2000_0000_0040,
            fault,
            prompt: false,
            stores: 0,
            allocated: 0,
            freed: 0,
            services: services::ToyServices::default(),
            stacks: stacks::ToyStacks::default(),
        }
    }

    /// A heap in which objects without references die at every poll.
    pub fn prompt(fault: Option<Fault>) -> Self {
        ToyHeap { prompt: true, ..ToyHeap::new(fault) }
    }

    /// Frees objects without references, and those that have none after that.
    fn peel(&mut self) {
        loop {
            let mut held: HashSet<u64> = self.roots.iter().chain(&self.globals).flatten().copied().collect();
            held.extend(self.held_by_handles());
            held.extend(self.held_by_stacks());
            held.extend(self.objects.keys().flat_map(|address| self.references(*address)));
            held.extend(self.held_by_entries());
            let overlooks = self.fault == Some(Fault::OverlooksDeaths);
            let dead = |address: &&u64| !(held.contains(address) || overlooks && address.is_multiple_of(48));
            let dead: HashSet<u64> = self.objects.keys().filter(dead).copied().collect();
            if dead.is_empty() {
                return;
            }
            self.end(&dead);
        }
    }

    fn references(&self, address: u64) -> Vec<u64> {
        let object = &self.objects[&address];
        let mut slots = object.kind.slot_count(object.length);
        if self.fault == Some(Fault::OverlooksLastSlot) && slots > 1 {
            slots -= 1;
        }
        let mut found = Vec::new();
        for slot in 0..slots {
            let offset = object.kind.slot_offset(slot);
            let (index, encoding) = ((offset / 8) as usize, object.kind.encoding_at(offset));
            let tag = if encoding == Encoding::Pairs { object.words[index - 1] } else { 0 };
            match encoding.decode(tag, object.words[index]) {
                Some(target) => found.push(target),
                None if self.fault == Some(Fault::BelievesNumbers) => found.push(object.words[index]),
                None => {}
            }
        }
        found.extend(self.held_by_frames_of(address));
        found.retain(|target| self.objects.contains_key(target));
        found
    }

    fn reachable(&self) -> HashSet<u64> {
        let globals = if self.fault == Some(Fault::OverlooksGlobals) { &[][..] } else { &self.globals[..] };
        let mut work: Vec<u64> = self.roots.iter().chain(globals).flatten().copied().collect();
        work.extend(self.held_by_handles());
        work.extend(self.held_by_stacks());
        let mut seen = HashSet::new();
        while !work.is_empty() {
            while let Some(address) = work.pop() {
                if seen.insert(address) && !self.has_key(address) {
                    work.extend(self.references(address));
                }
            }
            work.extend(self.held_on_condition(&seen));
            work.retain(|address| !seen.contains(address));
        }
        seen
    }

    fn sweep(&mut self) {
        loop {
            let mut kept = self.reachable();
            if self.fault == Some(Fault::KeepsCycles) {
                kept.extend(self.objects.keys().flat_map(|address| self.references(*address)));
            }
            let let_go = self.let_entries_go(&kept);
            let dead: HashSet<u64> = self.objects.keys().filter(|address| !kept.contains(address)).copied().collect();
            if !self.end(&dead) && !let_go {
                return;
            }
        }
    }
}

impl HeapUnderTest for ToyHeap {
    fn deaths(&self) -> Deaths {
        if self.prompt { Deaths::AtSafepointsExactly } else { Deaths::Deferred }
    }

    fn allocate(&mut self, kind: Kind, length: u64) -> Result<u64, Refusal> {
        if self.is_to_fail() {
            return Err(Refusal::asked_for("as was asked for"));
        }
        let shape = kind.shape();
        let address = self.next.next_multiple_of(u64::from(shape.align.max(16)));
        let bytes = kind.payload_bytes(length);
        self.next = address + bytes + 8;
        self.allocated += 1;
        let mut words = vec![0; (bytes / 8) as usize];
        if kind.has_tail() {
            words[(shape.length_offset / 8) as usize] = length;
        }
        if self.fault == Some(Fault::LeavesWordsUncleared) && self.allocated.is_multiple_of(20) {
            words.iter_mut().for_each(|word| *word = 0xdbdb);
        }
        self.objects.insert(address, ToyObject { kind, length, words });
        self.note_birth(address, kind);
        Ok(address)
    }

    fn load(&self, object: u64, offset: u64) -> u64 {
        self.objects.get(&object).map_or(0xdbdb_dbdb_dbdb_dbdb, |object| object.words[(offset / 8) as usize])
    }

    fn store(&mut self, object: u64, offset: u64, word: u64) {
        self.stores += 1;
        if self.fault == Some(Fault::LosesStores) && self.stores.is_multiple_of(50) {
            return;
        }
        self.store_data(object, offset, word);
    }

    fn store_data(&mut self, object: u64, offset: u64, word: u64) {
        if let Some(object) = self.objects.get_mut(&object) {
            object.words[(offset / 8) as usize] = word;
        }
    }

    fn copy_refs(&mut self, to: (u64, u64), from: (u64, u64), words: u64) {
        let order: Vec<u64> = if to.1 > from.1 && self.fault != Some(Fault::CopiesUpwards) {
            (0..words).rev().collect()
        } else {
            (0..words).collect()
        };
        for index in order {
            let word = self.load(from.0, from.1 + 8 * index);
            self.store_data(to.0, to.1 + 8 * index, word);
        }
    }

    fn fill_refs(&mut self, object: u64, offset: u64, word: u64, words: u64) {
        (0..words).for_each(|index| self.store_data(object, offset + 8 * index, word));
    }

    fn resize(&mut self, object: u64, offset: u64, length: u64) -> Result<Option<u64>, Refusal> {
        let word = self.load(object, offset);
        let encoding = self.objects[&object].kind.encoding_at(offset);
        let tag = if encoding == Encoding::Pairs { self.load(object, offset - 8) } else { 0 };
        let old = encoding.decode(tag, word).expect("the driver names a reference");
        if self.has_identity(old) {
            return Ok(None);
        }
        let kind = self.objects[&old].kind;
        let new = self.allocate(kind, length)?;
        let mut words = self.objects[&old].words.clone();
        words.resize((kind.payload_bytes(length) / 8) as usize, 0);
        words[(kind.shape().length_offset / 8) as usize] = length;
        self.objects.get_mut(&new).expect("just made").words = words;
        self.store(object, offset, word - old + new);
        Ok(Some(new))
    }

    fn push_root(&mut self, object: Option<u64>) {
        self.roots.push(object);
    }

    fn set_root(&mut self, index: usize, object: Option<u64>) {
        self.roots[index] = object;
    }

    fn truncate_roots(&mut self, count: usize) {
        self.roots.truncate(count);
    }

    fn set_global(&mut self, index: usize, object: Option<u64>) {
        self.globals[index] = object;
    }

    fn poll(&mut self) {
        match self.fault {
            _ if !self.prompt => {}
            fault if self.is_stopped() && fault != Some(Fault::GoesOnWhenStopped) => {}
            Some(Fault::IgnoresPolls) => {}
            Some(Fault::LooksForCyclesAtPolls) => self.sweep(),
            _ => self.peel(),
        }
    }

    fn step(&mut self, _units: u32) {}

    fn flip(&mut self) {}

    fn epoch(&mut self) {
        if self.fault != Some(Fault::KeepsEverything) {
            self.sweep();
        }
    }

    fn collect(&mut self) {
        self.sweep();
    }

    fn live_objects(&mut self) -> Vec<u64> {
        self.objects.keys().copied().collect()
    }

    fn verify(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn totals(&mut self) -> Totals {
        let bytes: u64 = self.objects.values().map(|object| 8 + 8 * object.words.len() as u64).sum();
        Totals {
            allocated_objects: self.allocated,
            freed_objects: self.freed,
            live_objects: self.objects.len() as u64,
            live_bytes: bytes,
            used_bytes: bytes,
            hidden_dead: Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Op, parse_program, program_text};
    use crate::replay;
    use crate::shrink::shrink;
    use crate::strategies::nth_program;

    fn programs(seed: u64) -> impl Iterator<Item = Vec<Op>> {
        (0..).map(move |number| nth_program(seed, number, 300))
    }

    /// The driver accepts a heap without a fault.
    fn accepts(heap: fn(Option<Fault>) -> ToyHeap, ops: &[Op]) {
        let run = |ops: &[Op]| replay::run(&mut heap(None), None, ops);
        if run(ops).is_err() {
            let ops = shrink(ops, |ops| run(ops).is_err());
            panic!("{:?}\n{}", run(&ops), program_text(&ops));
        }
    }

    /// The driver rejects each fault in one of so many programs, and the shrunk program of a few ops, too.
    fn objects_to_each(faults: &[Fault], heap: fn(Option<Fault>) -> ToyHeap, seed: u64, count: usize) {
        for &fault in faults {
            let fails = |ops: &[Op]| replay::run(&mut heap(Some(fault)), None, ops).is_err();
            let found = programs(seed).take(count).find(|ops| fails(ops));
            let found = found.unwrap_or_else(|| panic!("{fault:?} was not noticed in {count} programs"));
            let ops = shrink(&found, fails);
            assert!(fails(&ops), "{fault:?}: the shrunk program no longer fails");
            assert!(ops.len() <= 8, "{fault:?} shrinks only to\n{}", program_text(&ops));
        }
    }

    #[test]
    fn the_driver_accepts_a_heap_that_is_right() {
        for ops in programs(1).take(40) {
            accepts(ToyHeap::new, &ops);
        }
    }

    #[test]
    fn the_driver_objects_to_every_fault_and_shrinks_it_to_a_few_ops() {
        objects_to_each(&FAULTS, ToyHeap::new, 2, 200);
    }

    #[test]
    fn the_driver_objects_to_every_fault_of_services_and_shrinks_it_to_a_few_ops() {
        objects_to_each(&SERVICE_FAULTS, ToyHeap::new, 10, 400);
    }

    #[test]
    fn the_driver_objects_to_every_fault_of_stacks_and_shrinks_it_to_a_few_ops() {
        objects_to_each(&STACK_FAULTS, ToyHeap::new, 2, 400);
    }

    #[test]
    fn the_driver_accepts_prompt_deaths_and_objects_to_every_fault_of_theirs() {
        for ops in programs(3).take(20) {
            accepts(ToyHeap::prompt, &ops);
        }
        objects_to_each(&PROMPT_FAULTS, ToyHeap::prompt, 4, 60);
    }

    #[test]
    fn a_ring_is_garbage_that_only_a_cycle_detector_frees() {
        let ops = parse_program("ring pair x 3 r0\nset r0 = null\nepoch\nepoch\nepoch\n").unwrap();
        assert!(replay::run(&mut ToyHeap::new(None), None, &ops).is_ok());
        let failure = replay::run(&mut ToyHeap::new(Some(Fault::KeepsCycles)), None, &ops).unwrap_err();
        assert_eq!(failure.op_index, None, "three epochs may keep a cycle, the last collection may not: {failure:?}");
    }
}
