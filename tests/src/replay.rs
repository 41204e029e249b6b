//! The driver: runs an op program on the model heap and on a heap under test, side by side, and compares.
//!
//! Each op is resolved against the model into a few primitive effects (this object, this offset, this word), which
//! are then performed on both sides; so the two cannot disagree about the meaning of a program, only about its
//! results. Unrooted references are kept across no safepoint, as the contract for native code requires.
//!
//! After every `epoch` and `collect` ([`Replay::compare`]): the heap's own verification and the independent recount
//! are clean; every reachable object is listed as live, where it was, overlapping no other, with every word as the
//! model has it; all other listed objects are garbage that the model knows, and none of it garbage that plain
//! counting should have found [`EPOCHS_TO_FREE`] epochs ago; the figures add up. After a `collect` no other object is
//! listed. At the end all roots are dropped, and a collection must leave nothing (`QUIET`).
//!
//! For a heap that promises prompt deaths ([`Deaths`]) the live set is compared at every `poll`, too: garbage that
//! plain counting frees must be gone; without trials and marks, nothing else may be gone.
//!
//! Finalizers and callbacks run inside the heap's safepoints and leave events, which are applied to the model as soon
//! as the heap has returned (`replay/finalizers.rs`). So the model follows the order in which they happened.

mod builders;
mod compare;
mod control;
mod effects;
mod finalizers;
mod handles;
mod resize;
mod services;
mod stacks;
mod weak_sets;
mod weak_state;

use std::collections::{HashMap, HashSet};

use crate::heap_under_test::{Deaths, HeapUnderTest};
use crate::model_heap::{Id, ModelHeap, Word};
use crate::op::service::{GLOBAL_HANDLES, OPEN_OBJECTS};
use crate::op::{GLOBALS, Op, Place, REGISTERS, ROOT_STACK_MAX, Register, Value};
use crate::shape::{Encoding, Kind};

/// Garbage that counting can find is gone when it has been seen unreachable at this many epochs' ends.
pub const EPOCHS_TO_FREE: u32 = 3;

/// The unit in which the heap under test returns memory to the system.
const BLOCK_BYTES: u64 = 32 << 10;

/// Targets of immortal references: static data, outside any heap.
static IMMORTALS: [[u64; 2]; 4] = [[0x1111; 2], [0x2222; 2], [0x3333; 2], [0x4444; 2]];

/// A difference between model and heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The op after which it was found; `None` in the final collection.
    pub op_index: Option<usize>,
    /// The expected and the actual result.
    pub what: String,
}

/// The work of a run, so that a test can check that there was some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects allocated with a model object beside them.
    pub objects: u64,
    /// Comparisons made.
    pub comparisons: u64,
    /// Objects compared word by word, summed over all comparisons.
    pub objects_compared: u64,
    /// Allocations that failed because the heap was full.
    pub out_of_memory: u64,
    /// Finalizers that ran.
    pub finalized: u64,
    /// Callbacks of weak references that were called.
    pub called: u64,
    /// Upgrades, and lookups in weak maps, that yielded an object.
    pub upgraded: u64,
    /// Those that did not, since the object was dead.
    pub refused: u64,
    /// Switches between stacks.
    pub switches: u64,
}

impl Summary {
    /// All counts, in the order of the fields.
    pub fn counts(self) -> [u64; 9] {
        let Summary {
            objects,
            comparisons,
            objects_compared,
            out_of_memory,
            finalized,
            called,
            upgraded,
            refused,
            switches,
        } = self;
        [objects, comparisons, objects_compared, out_of_memory, finalized, called, upgraded, refused, switches]
    }

    /// The inverse.
    pub fn of_counts(counts: [u64; 9]) -> Summary {
        let [objects, comparisons, objects_compared, out_of_memory, finalized, called, upgraded, refused, switches] =
            counts;
        Summary {
            objects,
            comparisons,
            objects_compared,
            out_of_memory,
            finalized,
            called,
            upgraded,
            refused,
            switches,
        }
    }

    /// The sum of two runs.
    pub fn plus(self, other: Summary) -> Summary {
        let (mine, others) = (self.counts(), other.counts());
        Summary::of_counts(std::array::from_fn(|place| mine[place] + others[place]))
    }
}

/// Runs a program from an empty heap to an empty heap. `heap_limit` is the limit that the heap has, if any.
pub fn run<H: HeapUnderTest>(heap: &mut H, heap_limit: Option<u64>, ops: &[Op]) -> Result<Summary, Failure> {
    let mut replay = Replay::new(heap, heap_limit);
    for (index, op) in ops.iter().enumerate() {
        replay.perform(*op).map_err(|what| Failure { op_index: Some(index), what })?;
    }
    replay.finish().map_err(|what| Failure { op_index: None, what })?;
    Ok(replay.summary)
}

/// A program under way.
pub struct Replay<'h, H> {
    heap: &'h mut H,
    heap_limit: Option<u64>,
    model: ModelHeap,
    addresses: Vec<u64>,
    newest_at: HashMap<u64, Id>,
    /// Addresses at which there may be objects that the model has never known.
    anonymous: HashSet<u64>,
    epochs_as_garbage: HashMap<Id, u32>,
    summary: Summary,
    /// The state of finalizers, beyond the model.
    finalizing: finalizers::Finalizing,
    /// The state of the collector's control by the program.
    control: control::Control,
}

/// A word read from a slot, on its way to another.
#[derive(Clone, Copy)]
struct Loaded {
    word: Word,
    refers: bool,
    encoding: Encoding,
}

impl<'h, H: HeapUnderTest> Replay<'h, H> {
    /// Begins with empty registers and globals.
    pub fn new(heap: &'h mut H, heap_limit: Option<u64>) -> Self {
        for _ in 0..REGISTERS {
            heap.push_root(None);
        }
        let mut model = ModelHeap::default();
        model.roots = vec![None; REGISTERS];
        model.globals = vec![None; GLOBALS];
        Replay {
            heap,
            heap_limit,
            model,
            addresses: Vec::new(),
            newest_at: HashMap::new(),
            anonymous: HashSet::new(),
            epochs_as_garbage: HashMap::new(),
            summary: Summary::default(),
            finalizing: finalizers::Finalizing::default(),
            control: control::Control::default(),
        }
    }

    /// Performs one op; an error is a difference.
    pub fn perform(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Allocate { kind, length, into } => self.build(kind, length, into).map(|_| ()),
            Op::AllocateInto { kind, length, place } => self.allocate_into(kind, length, place),
            Op::Garbage { kind, length, count } => self.garbage(kind, length, count),
            Op::Load { place, into } => {
                if let Some((id, offset)) = self.resolve(place)? {
                    let target = match self.model.load(id, offset) {
                        Word::Reference(target) => Some(target),
                        Word::Raw(_) | Word::Weak { .. } => None,
                    };
                    self.set_root(usize::from(into), target);
                }
                Ok(())
            }
            Op::Write { place, value } => self.write_place(place, value),
            Op::Swap { a, b } => self.swap(a, b),
            Op::Copy { to, from, count } => self.copy(to, from, count),
            Op::Fill { place, count, value } => self.fill(place, count, value),
            Op::Resize { place, length } => self.resize(place, length),
            Op::Scribble { object, data } => {
                self.scribble(object, data);
                Ok(())
            }
            Op::Set { register, from } => {
                let target = from.and_then(|from| self.register(from));
                self.set_root(usize::from(register), target);
                Ok(())
            }
            Op::Push { register } => {
                if self.model.roots.len() < REGISTERS + ROOT_STACK_MAX {
                    let target = self.register(register);
                    self.model.roots.push(target);
                    self.heap.push_root(target.map(|id| self.addresses[id as usize]));
                }
                Ok(())
            }
            Op::Peek { index, into } => {
                let depth = self.model.roots.len() - REGISTERS;
                if depth > 0 {
                    let target = self.model.roots[REGISTERS + usize::from(index) % depth];
                    self.set_root(usize::from(into), target);
                }
                Ok(())
            }
            Op::Truncate { depth } => {
                let count = (REGISTERS + usize::from(depth)).min(self.model.roots.len());
                self.model.roots.truncate(count);
                self.heap.truncate_roots(count);
                Ok(())
            }
            Op::Global { global, from } => {
                let target = from.and_then(|from| self.register(from));
                self.set_global(usize::from(global) % GLOBALS, target);
                Ok(())
            }
            Op::Ring { kind, count, into } => self.chain(kind, count, into, true),
            Op::List { kind, count, into } => self.chain(kind, count, into, false),
            Op::Hub { count, into } => self.hub(count, into),
            Op::Tree { depth, into } => self.tree(depth, into),
            Op::Toggle { place, with, count } => {
                for _ in 0..count {
                    self.write_place(place, Value::Object(with))?;
                    self.poll()?;
                    self.write_place(place, Value::Null)?;
                    self.poll()?;
                }
                Ok(())
            }
            Op::Poll => {
                self.poll()?;
                match self.heap.deaths() {
                    Deaths::Deferred | Deaths::AtEpochs => Ok(()),
                    Deaths::AtSafepoints | Deaths::AtSafepointsExactly => self.compare_after_poll(),
                }
            }
            Op::Step { units } => {
                self.heap.step(units);
                self.after_work()
            }
            Op::Flip => {
                self.heap.flip();
                self.after_work()
            }
            Op::Epoch => {
                self.heap.epoch();
                self.after_work()?;
                self.compare(false)
            }
            Op::Collect => {
                self.collect()?;
                self.compare(true)
            }
            Op::Service(service) => self.service(service),
            Op::Stack(stack) => self.stack_op(stack),
        }
    }

    /// Drops every root and collects: nothing may be left. Objects that finalizers store in globals meanwhile are
    /// dropped, too.
    pub fn finish(&mut self) -> Result<(), String> {
        self.go_on_as_usual();
        self.heap.epoch();
        self.after_work()?;
        self.compare(false)?;
        self.model.roots.truncate(0);
        self.heap.truncate_roots(0);
        self.close_all_scopes();
        self.end_stacks()?;
        (0..GLOBAL_HANDLES).for_each(|handle| self.free_global_handle(handle));
        (0..OPEN_OBJECTS).for_each(|number| self.open(number, None));
        loop {
            for global in 0..GLOBALS {
                self.set_global(global, None);
            }
            let before = self.summary.finalized;
            self.collect()?;
            if self.summary.finalized == before {
                break;
            }
        }
        self.compare(true)?;
        let totals = self.heap.totals();
        if totals.live_objects != 0 || totals.live_bytes != 0 || totals.used_bytes != 0 {
            return Err(format!("without roots a collection leaves {totals:?} [QUIET]"));
        }
        Ok(())
    }

    fn register(&self, register: Register) -> Option<Id> {
        self.model.roots[usize::from(register)]
    }

    fn set_root(&mut self, index: usize, target: Option<Id>) {
        self.model.roots[index] = target;
        self.heap.set_root(index, target.map(|id| self.addresses[id as usize]));
    }

    fn set_global(&mut self, index: usize, target: Option<Id>) {
        self.model.globals[index] = target;
        self.heap.set_global(index, target.map(|id| self.addresses[id as usize]));
    }

    /// The object in the register and the offset of the slot.
    fn resolve(&mut self, place: Place) -> Result<Option<(Id, u64)>, String> {
        let found = self.resolve_slot(place)?;
        Ok(found.map(|(id, slot)| (id, self.model.object(id).kind.slot_offset(slot))))
    }

    /// The same with the number of the slot. An ephemeron's slot may only be used with its key: without the key there
    /// is none.
    fn resolve_slot(&mut self, place: Place) -> Result<Option<(Id, u64)>, String> {
        let Some(id) = self.register(place.object) else { return Ok(None) };
        let object = self.model.object(id);
        let count = object.kind.slot_count(object.length);
        if count == 0 || !self.may_use(id)? {
            return Ok(None);
        }
        Ok(Some((id, u64::from(place.slot) % count)))
    }

    fn bits(&self, (holder, offset): (Kind, u64), word: Word) -> u64 {
        match word {
            Word::Raw(bits) => bits,
            Word::Reference(id) => holder.encoding_at(offset).encode(self.addresses[id as usize]),
            Word::Weak { target, .. } => self.addresses[target as usize],
        }
    }

    /// The model beside the heap, for pictures and reports.
    pub fn model(&self) -> &ModelHeap {
        &self.model
    }
}
