//! The interface of a heap on which the driver can run op programs.
//!
//! Implemented for the real heap in `tally_heap.rs` and for a deliberately simple one in `toy_heap.rs`, which exists
//! to test the oracle itself: an oracle that cannot fail proves nothing. Objects are addresses here, words are raw
//! bits; only kinds are common to both sides.

use tally_heap::OutOfMemory;
use tally_heap::services::weak_map::WeakMode;

use crate::model_heap::{FrameSlot, StackState};
use crate::op::deed::Event;
use crate::shape::Kind;

/// Figures every heap keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Objects ever allocated.
    pub allocated_objects: u64,
    /// Objects reclaimed.
    pub freed_objects: u64,
    /// Live objects.
    pub live_objects: u64,
    /// Bytes of live objects, headers included.
    pub live_bytes: u64,
    /// Bytes of memory that cannot be used otherwise; without memory that is kept for the next objects of sizes that
    /// were in use.
    pub used_bytes: u64,
    /// Objects of the heap's own among those that were ever allocated, which are gone; `None` if they are not known.
    pub hidden_dead: Option<u64>,
}

/// The time at which garbage that plain counting finds is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaths {
    /// After a few epochs; except garbage under an object whose count once came near saturation.
    Deferred,
    /// After one epoch.
    AtEpochs,
    /// After every poll.
    AtSafepoints,
    /// After every poll, and a poll frees nothing else.
    AtSafepointsExactly,
}

/// The reason why an object could not be allocated.
#[derive(Debug)]
pub struct Refusal {
    why: String,
    /// This allocation had to fail, whether there is room or not.
    pub asked_for: bool,
}

impl Refusal {
    /// The refusal of an allocation that had to fail.
    pub fn asked_for(why: &str) -> Refusal {
        Refusal { why: why.to_owned(), asked_for: true }
    }
}

impl From<OutOfMemory> for Refusal {
    fn from(error: OutOfMemory) -> Refusal {
        Refusal { why: error.to_string(), asked_for: matches!(error, OutOfMemory::AskedFor { .. }) }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// A heap that runs op programs.
pub trait HeapUnderTest: Services + Stacks {
    /// The heap's promise about garbage outside cycles.
    fn deaths(&self) -> Deaths {
        Deaths::Deferred
    }
    /// Allocates an object with null reference words and its length set; a safepoint. The error means out of memory.
    fn allocate(&mut self, kind: Kind, length: u64) -> Result<u64, Refusal>;
    /// Reads a payload word.
    fn load(&self, object: u64, offset: u64) -> u64;
    /// Writes a reference word (or the tag that belongs to one) with the barrier.
    fn store(&mut self, object: u64, offset: u64, word: u64);
    /// Writes a tag and the word behind it with the barrier.
    fn store_pair(&mut self, object: u64, offset: u64, pair: [u64; 2]) {
        self.store(object, offset, pair[0]);
        self.store(object, offset + 8, pair[1]);
    }
    /// Writes a data word without one.
    fn store_data(&mut self, object: u64, offset: u64, word: u64);
    /// memmove of `words` words with the barrier; `to` and `from` are (object, offset).
    fn copy_refs(&mut self, to: (u64, u64), from: (u64, u64), words: u64);
    /// Writes one word into `words` neighbouring words with the barrier.
    fn fill_refs(&mut self, object: u64, offset: u64, word: u64, words: u64);
    /// Gives the object in a slot another number of elements. Returns its address, `None` if the heap refuses it.
    fn resize(&mut self, object: u64, offset: u64, length: u64) -> Result<Option<u64>, Refusal>;
    /// Adds a host root.
    fn push_root(&mut self, object: Option<u64>);
    /// Changes a host root.
    fn set_root(&mut self, index: usize, object: Option<u64>);
    /// Drops the host roots from `count` on.
    fn truncate_roots(&mut self, count: usize);
    /// Changes a global root.
    fn set_global(&mut self, index: usize, object: Option<u64>);
    /// A safepoint poll.
    fn poll(&mut self);
    /// Does `units` units of pending work.
    fn step(&mut self, units: u32);
    /// Begins an epoch.
    fn flip(&mut self);
    /// Begins an epoch and runs it to its end.
    fn epoch(&mut self);
    /// Reclaims everything unreachable.
    fn collect(&mut self);
    /// The objects that count as live in the heap now, each once; young ones need not be listed.
    fn live_objects(&mut self) -> Vec<u64>;
    /// The heap's own check of its invariants.
    fn verify(&mut self) -> Result<(), String>;
    /// A check of the heap's counts that shares no code with it; called right after an epoch.
    fn recount(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Bytes that the heap may keep for more objects of sizes that are or were in use, and refuse to other sizes.
    fn kept_bytes(&self) -> u64 {
        0
    }
    /// The figures.
    fn totals(&mut self) -> Totals;
}

/// The services of such a heap, as docs/use/services.md promises them.
pub trait Services {
    /// Returns the events of finalizers and callbacks since the last call, in order.
    fn take_events(&mut self) -> Vec<Event>;
    /// Registers the object for its finalizer; returns false if its kind has none.
    fn register_finalizer(&mut self, object: u64) -> bool;
    /// Undoes the registration.
    fn forget_finalizer(&mut self, object: u64);
    /// A new weak reference, perhaps with a callback; a safepoint.
    fn new_weak(&mut self, target: u64, called: bool) -> Result<u64, Refusal>;
    /// Writes a weak slot, which may be the `key` of an ephemeron.
    fn write_weak(&mut self, object: u64, offset: u64, target: Option<u64>, key: bool);
    /// Returns the target of a weak slot.
    fn read_weak(&mut self, object: u64, offset: u64) -> Option<u64>;
    /// A new ephemeron of the runtime's; a safepoint.
    fn new_ephemeron(&mut self, key: u64, value: Option<u64>) -> Result<u64, Refusal>;
    /// A new weak map; a safepoint.
    fn new_map(&mut self, mode: WeakMode) -> Result<u64, Refusal>;
    /// Sets the value of a key in a weak map; a safepoint.
    fn map_set(&mut self, map: u64, key: u64, value: u64) -> Result<(), Refusal>;
    /// Returns the value of a key.
    fn map_get(&mut self, map: u64, key: u64) -> Option<u64>;
    /// Removes an entry; returns whether there was one.
    fn map_remove(&mut self, map: u64, key: u64) -> bool;
    /// The entries as they are in memory, without an upgrade: (key, value).
    fn map_entries(&self, map: u64) -> Vec<(u64, u64)>;
    /// The number of entries that the map reports.
    fn map_count(&self, map: u64) -> u64;
    /// A new weak set, whose members have their hash in the first word; a safepoint.
    fn new_set(&mut self) -> Result<u64, Refusal>;
    /// Whether the object can be a member of the set: it has a first word, and is in no other set.
    fn set_takes(&mut self, set: u64, member: u64) -> bool;
    /// Adds a member; a safepoint.
    fn set_add(&mut self, set: u64, member: u64) -> Result<(), Refusal>;
    /// The members that may have the hash.
    fn set_probe(&mut self, set: u64, hash: u32) -> Vec<u64>;
    /// Removes a member; returns whether it was one.
    fn set_remove(&mut self, set: u64, member: u64) -> bool;
    /// The number of members that the set reports.
    fn set_count(&mut self, set: u64) -> u64;
    /// Opens a scope of handles.
    fn open_scope(&mut self);
    /// A new handle in it.
    fn push_handle(&mut self, object: Option<u64>);
    /// Closes the innermost scope.
    fn close_scope(&mut self);
    /// Forgets the innermost scope without closing it.
    fn abandon_scope(&mut self);
    /// Closes everything.
    fn close_all_scopes(&mut self);
    /// Opens a scope with `count` handles on the object, polls in it, and panics through it; the panic is caught.
    fn raise(&mut self, object: Option<u64>, count: u32);
    /// Sets a global handle; it is made if it is free.
    fn set_global_handle(&mut self, handle: usize, object: Option<u64>);
    /// Frees a global handle.
    fn free_global_handle(&mut self, handle: usize);
    /// Opens an object, which is no ephemeron.
    fn open_object(&mut self, address: u64);
    /// Closes it.
    fn close_object(&mut self, address: u64);
    /// Writes to an open object.
    fn store_open(&mut self, address: u64, offset: u64, word: u64);
    /// Stops the collector.
    fn stop(&mut self);
    /// Restarts the collector.
    fn restart(&mut self);
    /// Sets the hard limit.
    fn set_limit(&mut self, bytes: Option<u64>);
    /// Makes the `number`-th allocation from now on fail; 0: none.
    fn fail_allocation(&mut self, number: u64);
    /// Does the smallest part of an explicit collection; returns true when that is complete.
    fn part(&mut self) -> bool;
    /// Whether a collection in parts finds all objects that were garbage when it began, whatever the program writes
    /// meanwhile.
    fn parts_find_all(&self) -> bool {
        true
    }
    /// Objects of the heap's own that belong to objects of the program, such as the entries of a weak map: the live
    /// ones.
    fn hidden_objects(&mut self) -> Vec<u64> {
        Vec::new()
    }
}

/// The stacks beside such a heap, as docs/use/coroutines.md promises them. A coroutine is an object.
pub trait Stacks {
    /// The thread's own stack becomes a coroutine, which runs; a safepoint. Once.
    fn begin_stacks(&mut self) -> Result<u64, Refusal>;
    /// A new coroutine, suspended and without frames; a safepoint.
    fn new_stack(&mut self) -> Result<u64, Refusal>;
    /// Stops the running stack, and lets one go on that is suspended or waits.
    fn switch(&mut self, to: u64);
    /// Ends the running stack, which has no frames any more: the one that waits for it goes on.
    fn finish_stack(&mut self);
    /// Closes a suspended stack.
    fn close_stack(&mut self, stack: u64);
    /// The running stack gets a frame with so many slots that are null.
    fn push_frame(&mut self, slots: usize, lends: bool);
    /// Its newest frame returns.
    fn pop_frame(&mut self);
    /// It has its oldest `depth` frames left, without returns of the others.
    fn jump(&mut self, depth: usize);
    /// Reads a slot of the running stack's newest frame.
    fn frame_slot(&self, slot: usize) -> Option<u64>;
    /// Stores to a slot of the running stack's newest frame, or to one that is lent.
    fn set_frame_slot(&mut self, at: FrameSlot, object: Option<u64>);
    /// Whether frames of other stacks may store to frames of one that waits.
    fn stores_to_waiting(&self) -> bool {
        true
    }
    /// Whether frames of a stopped stack are roots because there was no memory to note what they hold: a cycle through them stays.
    fn has_frames_for_want_of_memory(&self) -> bool {
        false
    }
    /// A look at the roots visits so many frames at once.
    fn visit_at_once(&mut self, _frames: usize) {}
    /// What a live stack does. If what the heap has noted of its frames is not what they hold, that is said.
    fn stack_state(&self, stack: u64) -> Result<StackState, String>;
}
