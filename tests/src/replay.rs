//! The driver: runs an op program on the model heap and on a heap under test, side by side, and compares.
//!
//! Each op is resolved against the model into a few primitive effects (this object, this offset, this word), which are
//! then performed on both sides; so the two cannot disagree about what a program means, only about what became of it.
//! Unrooted references are kept across no safepoint, exactly as the contract for native code demands.
//!
//! After every `epoch` and `collect` ([`Replay::compare`]):
//! the heap's own verification and the independent recount are clean; every reachable object is listed as live, where
//! it was, overlapping no other, with every word as the model has it; everything else that is listed is garbage the model
//! knows, and none of it garbage that plain counting should have found [`EPOCHS_TO_FREE`] epochs ago; the figures add up.
//! After a `collect` nothing else is listed at all. At the end all roots go, and a collection must leave nothing [QUIET].

use std::collections::{BTreeSet, HashMap};

use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::{Id, ModelHeap, Word};
use crate::op::{GLOBALS, Op, Place, REGISTERS, ROOT_STACK_MAX, Register, Value};
use crate::shape::{Encoding, Kind, TRACE_TAG};

/// Garbage that counting can find is gone when it has been seen unreachable at this many epochs' ends.
pub const EPOCHS_TO_FREE: u32 = 3;

/// What the heap under test gives back to the system at a time.
const BLOCK_BYTES: u64 = 32 << 10;

/// Targets of immortal references: static data, outside any heap.
static IMMORTALS: [[u64; 2]; 4] = [[0x1111; 2], [0x2222; 2], [0x3333; 2], [0x4444; 2]];

/// A difference between model and heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The op after which it showed; `None` in the final collection.
    pub op_index: Option<usize>,
    /// What was expected, and what was found.
    pub what: String,
}

/// What a run did, so that a test can see that it was no empty exercise.
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
}

impl Summary {
    /// Two runs together.
    pub fn plus(self, other: Summary) -> Summary {
        Summary {
            objects: self.objects + other.objects,
            comparisons: self.comparisons + other.comparisons,
            objects_compared: self.objects_compared + other.objects_compared,
            out_of_memory: self.out_of_memory + other.out_of_memory,
        }
    }
}

/// Runs a program from an empty heap to an empty heap. `heap_limit` is what the heap was told, if anything.
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
    epochs_as_garbage: HashMap<Id, u32>,
    summary: Summary,
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
            epochs_as_garbage: HashMap::new(),
            summary: Summary::default(),
        }
    }

    /// Performs one op; an error is a difference.
    pub fn perform(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Allocate { kind, length, into } => self.build(kind, length, into).map(|_| ()),
            Op::AllocateInto { kind, length, place } => self.allocate_into(kind, length, place),
            Op::Garbage { kind, length, count } => self.garbage(kind, length, count),
            Op::Load { place, into } => {
                if let Some((id, offset)) = self.resolve(place) {
                    let target = match self.model.load(id, offset) {
                        Word::Reference(target) => Some(target),
                        Word::Raw(_) => None,
                    };
                    self.set_root(usize::from(into), target);
                }
                Ok(())
            }
            Op::Write { place, value } => {
                self.write_place(place, value);
                Ok(())
            }
            Op::Swap { a, b } => {
                self.swap(a, b);
                Ok(())
            }
            Op::Copy { to, from, count } => {
                self.copy(to, from, count);
                Ok(())
            }
            Op::Fill { place, count, value } => {
                self.fill(place, count, value);
                Ok(())
            }
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
                    self.write_place(place, Value::Object(with));
                    self.heap.poll();
                    self.write_place(place, Value::Null);
                    self.heap.poll();
                }
                Ok(())
            }
            Op::Poll => {
                self.heap.poll();
                Ok(())
            }
            Op::Step { units } => {
                self.heap.step(units);
                Ok(())
            }
            Op::Flip => {
                self.heap.flip();
                Ok(())
            }
            Op::Epoch => {
                self.heap.epoch();
                self.compare(false)
            }
            Op::Collect => {
                self.heap.collect();
                self.compare(true)
            }
        }
    }

    /// Drops every root and collects: nothing may be left.
    pub fn finish(&mut self) -> Result<(), String> {
        self.heap.epoch();
        self.compare(false)?;
        self.model.roots.truncate(0);
        self.heap.truncate_roots(0);
        for global in 0..GLOBALS {
            self.set_global(global, None);
        }
        self.heap.collect();
        self.compare(true)?;
        let totals = self.heap.totals();
        if totals.live_objects != 0 || totals.live_bytes != 0 {
            return Err(format!("without roots a collection leaves {totals:?} [QUIET]"));
        }
        Ok(())
    }

    /// Compares the two heaps; `collected` says that garbage of every sort must be gone.
    pub fn compare(&mut self, collected: bool) -> Result<(), String> {
        self.heap.verify().map_err(|what| format!("the heap's own verification: {what}"))?;
        self.heap.recount().map_err(|what| format!("the independent recount: {what}"))?;
        let reachable = self.model.reachable();
        self.compare_contents(&reachable)?;
        self.compare_live_set(&reachable, collected)?;
        self.compare_totals(&reachable, collected)?;
        self.summary.comparisons += 1;
        Ok(())
    }

    fn compare_contents(&mut self, reachable: &[bool]) -> Result<(), String> {
        let mut extents = Vec::new();
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            let object = self.model.object(id);
            let address = self.addresses[id as usize];
            extents.push((address, address + object.kind.payload_bytes(object.length), id));
            for (index, word) in object.words.iter().enumerate() {
                let offset = 8 * index as u64;
                let (expected, found) = (self.bits(object.kind, *word), self.heap.load(address, offset));
                if expected != found {
                    let meaning = self.describe_word(*word);
                    return Err(format!(
                        "{} is reachable, but its word at offset {offset} is {found:#x}, not {expected:#x} ({meaning})",
                        self.describe(id)
                    ));
                }
            }
            self.summary.objects_compared += 1;
        }
        extents.sort_unstable();
        match extents.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            None => Ok(()),
            Some(pair) => Err(format!("{} and {} overlap", self.describe(pair[0].2), self.describe(pair[1].2))),
        }
    }

    fn compare_live_set(&mut self, reachable: &[bool], collected: bool) -> Result<(), String> {
        let mut listed = self.heap.live_objects();
        listed.sort_unstable();
        if let Some(pair) = listed.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the heap walk lists {:#x} twice", pair[0]));
        }
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            if listed.binary_search(&self.addresses[id as usize]).is_err() {
                return Err(format!("{} is reachable, but the heap does not list it as live", self.describe(id)));
            }
        }
        let mut kept = vec![false; reachable.len()];
        for address in listed {
            match self.newest_at.get(&address) {
                Some(id) if reachable[*id as usize] => {}
                Some(id) if self.model.knows(*id) && !collected => kept[*id as usize] = true,
                Some(id) if self.model.knows(*id) => {
                    return Err(format!("{} is unreachable, but a collection left it", self.describe(*id)));
                }
                _ => return Err(format!("the heap lists {address:#x}, which no program object can be")),
            }
        }
        for id in self.model.countable_garbage(reachable) {
            let epochs = self.epochs_as_garbage.entry(id).or_insert(0);
            *epochs += 1;
            if kept[id as usize] && *epochs >= EPOCHS_TO_FREE {
                let epochs = *epochs;
                return Err(format!(
                    "{} is unreachable since {epochs} epochs and in no cycle, but counting has not freed it",
                    self.describe(id)
                ));
            }
        }
        let gone: Vec<Id> = self.model.known().filter(|id| !reachable[*id as usize] && !kept[*id as usize]).collect();
        for id in gone {
            self.model.forget(id);
            self.epochs_as_garbage.remove(&id);
        }
        Ok(())
    }

    fn compare_totals(&self, reachable: &[bool], collected: bool) -> Result<(), String> {
        let totals = self.heap.totals();
        if totals.allocated_objects != totals.freed_objects + totals.live_objects {
            return Err(format!("allocated objects are not freed plus live ones: {totals:?}"));
        }
        let reachable_objects = reachable.iter().filter(|is| **is).count() as u64;
        if collected && totals.live_objects != reachable_objects {
            return Err(format!("after a collection {reachable_objects} objects are reachable, but {totals:?}"));
        }
        let bytes = self.reachable_bytes(reachable);
        if totals.live_bytes < bytes {
            return Err(format!("{bytes} bytes are reachable, but {totals:?}"));
        }
        Ok(())
    }

    fn reachable_bytes(&self, reachable: &[bool]) -> u64 {
        let ids = (0..reachable.len() as Id).filter(|id| reachable[*id as usize]);
        ids.map(|id| self.model.object(id)).map(|object| 8 + object.kind.payload_bytes(object.length)).sum()
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
    fn resolve(&self, place: Place) -> Option<(Id, u64)> {
        let (id, slot) = self.resolve_slot(place)?;
        Some((id, self.model.object(id).kind.slot_offset(slot)))
    }

    fn resolve_slot(&self, place: Place) -> Option<(Id, u64)> {
        let id = self.register(place.object)?;
        let object = self.model.object(id);
        let count = object.kind.slot_count(object.length);
        (count > 0).then(|| (id, u64::from(place.slot) % count))
    }

    fn bits(&self, holder: Kind, word: Word) -> u64 {
        match word {
            Word::Raw(bits) => bits,
            Word::Reference(id) => holder.shape().encode(self.addresses[id as usize]),
        }
    }

    /// What storing `value` in a slot of `holder` puts there.
    fn word_for(&self, holder: Kind, value: Value) -> Loaded {
        let shape = holder.shape();
        let (word, refers) = match value {
            Value::Null => (Word::Raw(shape.encode(0)), false),
            Value::Object(register) => match self.register(register) {
                Some(id) if self.fits(holder, id) => (Word::Reference(id), true),
                _ => (Word::Raw(shape.encode(0)), false),
            },
            Value::Immortal(number) => {
                let target = &raw const IMMORTALS[usize::from(number) % IMMORTALS.len()];
                (Word::Raw(shape.encode(target as u64)), true)
            }
            Value::Integer(number) => match shape.encoding {
                Encoding::Pointer => (Word::Raw(0), false),
                Encoding::LowBits => (Word::Raw(u64::from(number) << 3 | 2), false),
                Encoding::NanBox => (Word::Raw(f64::from(number).to_bits()), false),
                Encoding::Pairs => (Word::Raw(u64::from(number)), false),
            },
            Value::Address(register) => match (shape.encoding, self.register(register)) {
                (Encoding::Pointer, _) | (_, None) => (Word::Raw(0), false),
                (_, Some(id)) => (Word::Raw(self.addresses[id as usize]), false),
            },
        };
        Loaded { word, refers, encoding: shape.encoding }
    }

    /// A label holds nothing but texts, as its descriptor says.
    fn fits(&self, holder: Kind, id: Id) -> bool {
        holder != Kind::Label || self.model.object(id).kind == Kind::Text
    }

    fn store(&mut self, id: Id, offset: u64, word: Word) {
        let bits = self.bits(self.model.object(id).kind, word);
        self.model.store(id, offset, word);
        self.heap.store(self.addresses[id as usize], offset, bits);
    }

    fn store_slot(&mut self, id: Id, offset: u64, loaded: Loaded) {
        for (offset, word) in self.model.stores_for(id, offset, loaded.word, loaded.refers) {
            self.store(id, offset, word);
        }
    }

    fn write_place(&mut self, place: Place, value: Value) {
        if let Some((id, offset)) = self.resolve(place) {
            let loaded = self.word_for(self.model.object(id).kind, value);
            self.store_slot(id, offset, loaded);
        }
    }

    fn link(&mut self, from: Id, slot: u64, to: Id) {
        let kind = self.model.object(from).kind;
        let loaded = Loaded { word: Word::Reference(to), refers: true, encoding: kind.shape().encoding };
        self.store_slot(from, kind.slot_offset(slot), loaded);
    }

    fn load_slot(&self, id: Id, offset: u64) -> Loaded {
        let encoding = self.model.object(id).kind.shape().encoding;
        let word = self.model.load(id, offset);
        let refers = encoding != Encoding::Pairs || self.model.load(id, offset - 8) == Word::Raw(TRACE_TAG);
        Loaded { word, refers, encoding }
    }

    fn swap(&mut self, a: Place, b: Place) {
        let (Some((a, a_offset)), Some((b, b_offset))) = (self.resolve(a), self.resolve(b)) else { return };
        let (from_a, from_b) = (self.load_slot(a, a_offset), self.load_slot(b, b_offset));
        self.store_loaded(b, b_offset, from_a);
        self.store_loaded(a, a_offset, from_b);
    }

    /// Stores a word read elsewhere; what the slot cannot express becomes null.
    fn store_loaded(&mut self, id: Id, offset: u64, loaded: Loaded) {
        let kind = self.model.object(id).kind;
        let encoding = kind.shape().encoding;
        let fits = match loaded.word {
            Word::Reference(target) => self.fits(kind, target),
            Word::Raw(_) => loaded.encoding == encoding,
        };
        let null = Loaded { word: Word::Raw(kind.shape().encode(0)), refers: false, encoding };
        self.store_slot(id, offset, if fits { loaded } else { null });
    }

    fn copy(&mut self, to: Place, from: Place, count: u32) {
        let (Some((to, to_slot)), Some((from, from_slot))) = (self.resolve_slot(to), self.resolve_slot(from)) else {
            return;
        };
        let (to_object, from_object) = (self.model.object(to), self.model.object(from));
        let (to_kind, from_kind) = (to_object.kind, from_object.kind);
        let run = if matches!(to_kind, Kind::Records | Kind::TracedArray) && to_kind == from_kind {
            copy_elements(to_kind, (to_slot, to_object.length), (from_slot, from_object.length), count)
        } else if to_kind.shape().encoding == from_kind.shape().encoding
            && to_kind.shape().encoding != Encoding::Pairs
            && to_kind != Kind::Label
        {
            let words = u64::from(count)
                .min(to_kind.contiguous_slots(to_slot, to_object.length))
                .min(from_kind.contiguous_slots(from_slot, from_object.length));
            Some((to_kind.slot_offset(to_slot), from_kind.slot_offset(from_slot), words))
        } else {
            None
        };
        let Some((to_offset, from_offset, words)) = run else { return };
        let moved: Vec<Word> = (0..words).map(|word| self.model.load(from, from_offset + 8 * word)).collect();
        for (index, word) in moved.into_iter().enumerate() {
            self.model.store(to, to_offset + 8 * index as u64, word);
        }
        let (to, from) = (self.addresses[to as usize], self.addresses[from as usize]);
        self.heap.copy_refs((to, to_offset), (from, from_offset), words);
    }

    fn fill(&mut self, place: Place, count: u32, value: Value) {
        let Some((id, slot)) = self.resolve_slot(place) else { return };
        let object = self.model.object(id);
        let kind = object.kind;
        if kind.shape().encoding == Encoding::Pairs {
            return;
        }
        let words = u64::from(count).min(kind.contiguous_slots(slot, object.length));
        let word = self.word_for(kind, value).word;
        let offset = kind.slot_offset(slot);
        for index in 0..words {
            self.model.store(id, offset + 8 * index, word);
        }
        self.heap.fill_refs(self.addresses[id as usize], offset, self.bits(kind, word), words);
    }

    fn scribble(&mut self, register: Register, data: u32) {
        let Some(id) = self.register(register) else { return };
        for (index, offset) in data_offsets(self.model.object(id)).into_iter().enumerate() {
            let bits = u64::from(data) ^ ((index as u64) << 32);
            self.model.store(id, offset, Word::Raw(bits));
            self.heap.store_data(self.addresses[id as usize], offset, bits);
        }
    }

    /// A new object, checked to be null and filled with its data; `None` when the heap is full with good reason.
    fn allocate(&mut self, kind: Kind, length: u32) -> Result<Option<Id>, String> {
        let length = if kind.has_tail() { u64::from(length) } else { 0 };
        let Some(address) = self.allocate_bare(kind, length)? else { return Ok(None) };
        let id = self.model.allocate(kind, length);
        self.addresses.push(address);
        self.newest_at.insert(address, id);
        self.summary.objects += 1;
        for offset in data_offsets(self.model.object(id)) {
            let Word::Raw(bits) = self.model.load(id, offset) else { unreachable!("data is no reference") };
            self.heap.store_data(address, offset, bits);
        }
        Ok(Some(id))
    }

    fn allocate_bare(&mut self, kind: Kind, length: u64) -> Result<Option<u64>, String> {
        let shape = kind.shape();
        let address = match self.heap.allocate(kind, length) {
            Ok(address) => address,
            Err(why) => return self.out_of_memory(kind, length, &why).map(|()| None),
        };
        if !address.is_multiple_of(u64::from(shape.align.max(8))) {
            return Err(format!("a new {} at {address:#x} is not aligned to {}", kind.word(), shape.align.max(8)));
        }
        for slot in 0..kind.slot_count(length) {
            let offset = kind.slot_offset(slot);
            let word = self.heap.load(address, offset);
            if word != 0 {
                return Err(format!("a new {} at {address:#x} has {word:#x} at offset {offset}", kind.word()));
            }
        }
        if kind.has_tail() && self.heap.load(address, shape.length_offset) != length {
            return Err(format!("a new {} at {address:#x} has not its length {length}", kind.word()));
        }
        Ok(Some(address))
    }

    /// A full heap is in order only if it was given a limit, and what is reachable pins nearly all of its blocks: a block
    /// stays in use as long as anything in it lives, and objects do not move.
    fn out_of_memory(&mut self, kind: Kind, length: u64, why: &str) -> Result<(), String> {
        let reachable = self.model.reachable();
        let mut blocks = BTreeSet::new();
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            let (object, address) = (self.model.object(id), self.addresses[id as usize]);
            let end = address + object.kind.payload_bytes(object.length);
            blocks.extend((address - 8) / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES));
        }
        let pinned = blocks.len() as u64 * BLOCK_BYTES;
        let wanted = (kind.payload_bytes(length) + 64).next_multiple_of(BLOCK_BYTES);
        match self.heap_limit {
            Some(limit) if pinned + wanted + BLOCK_BYTES > limit => {
                self.summary.out_of_memory += 1;
                Ok(())
            }
            limit => Err(format!("{wanted} bytes not to be had with {pinned} bytes pinned, limit {limit:?}: {why}")),
        }
    }

    fn build(&mut self, kind: Kind, length: u32, into: Register) -> Result<Option<Id>, String> {
        let id = self.allocate(kind, length)?;
        if id.is_some() {
            self.set_root(usize::from(into), id);
        }
        Ok(id)
    }

    fn allocate_into(&mut self, kind: Kind, length: u32, place: Place) -> Result<(), String> {
        if let Some((holder, offset)) = self.resolve(place)
            && let Some(id) = self.allocate(kind, length)?
        {
            let encoding = self.model.object(holder).kind.shape().encoding;
            self.store_loaded(holder, offset, Loaded { word: Word::Reference(id), refers: true, encoding });
        }
        Ok(())
    }

    fn garbage(&mut self, kind: Kind, length: u32, count: u32) -> Result<(), String> {
        let length = if kind.has_tail() { u64::from(length) } else { 0 };
        for _ in 0..count {
            let address = self.allocate_bare(kind, length)?;
            if let Some(address) = address {
                self.newest_at.remove(&address);
            }
        }
        Ok(())
    }

    fn chain(&mut self, kind: Kind, count: u32, into: Register, closed: bool) -> Result<(), String> {
        if kind.slot_count(0) == 0 || kind == Kind::Label || count == 0 {
            return Ok(());
        }
        let Some(head) = self.build(kind, 0, into)? else { return Ok(()) };
        let mut last = head;
        for _ in 1..count {
            let Some(next) = self.allocate(kind, 0)? else { return Ok(()) };
            self.link(last, 0, next);
            last = next;
        }
        if closed {
            self.link(last, 0, head);
        }
        Ok(())
    }

    fn hub(&mut self, count: u32, into: Register) -> Result<(), String> {
        let Some(array) = self.build(Kind::Array, count.max(1), into)? else { return Ok(()) };
        let Some(hub) = self.allocate(Kind::Pair, 0)? else { return Ok(()) };
        self.link(array, 0, hub);
        self.link(hub, 0, array);
        for index in 0..u64::from(count) {
            let Some(spoke) = self.allocate(Kind::Pair, 0)? else { return Ok(()) };
            self.link(spoke, 0, hub);
            self.link(array, index, spoke);
        }
        Ok(())
    }

    fn tree(&mut self, depth: u8, into: Register) -> Result<(), String> {
        let Some(root) = self.build(Kind::Triple, 0, into)? else { return Ok(()) };
        let mut work = vec![(root, depth.min(12))];
        while let Some((parent, depth)) = work.pop() {
            for slot in 0..if depth > 0 { 2 } else { 0 } {
                let Some(child) = self.allocate(Kind::Triple, 0)? else { return Ok(()) };
                self.link(parent, slot, child);
                self.link(child, 2, parent);
                work.push((child, depth - 1));
            }
        }
        Ok(())
    }

    fn describe(&self, id: Id) -> String {
        let address = self.addresses[id as usize];
        format!("object #{id} ({} at {address:#x})", self.model.object(id).kind.word())
    }

    fn describe_word(&self, word: Word) -> String {
        match word {
            Word::Raw(_) => "no reference".into(),
            Word::Reference(id) => format!("a reference to {}", self.describe(id)),
        }
    }

    /// The model beside the heap, for pictures and reports.
    pub fn model(&self) -> &ModelHeap {
        &self.model
    }
}

/// Offsets and words of a copy of whole elements, from the element of one slot to that of another.
fn copy_elements(kind: Kind, to: (u64, u64), from: (u64, u64), count: u32) -> Option<(u64, u64, u64)> {
    let shape = kind.shape();
    let element =
        |slot: u64| slot.checked_sub(shape.refs.len() as u64).map(|slot| slot / shape.element_refs.len() as u64);
    let (to_element, from_element) = (element(to.0)?, element(from.0)?);
    let elements = u64::from(count).min(to.1 - to_element).min(from.1 - from_element);
    let offset = |element: u64| shape.size + element * shape.stride;
    Some((offset(to_element), offset(from_element), elements * shape.stride / 8))
}

/// Offsets of the words that are neither references, nor their tags, nor the length.
fn data_offsets(object: &crate::model_heap::ModelObject) -> Vec<u64> {
    let shape = object.kind.shape();
    let mut is_data = vec![true; object.words.len()];
    for slot in 0..object.kind.slot_count(object.length) {
        let index = (object.kind.slot_offset(slot) / 8) as usize;
        is_data[index] = false;
        if shape.encoding == Encoding::Pairs {
            is_data[index - 1] = false;
        }
    }
    if object.kind.has_tail() {
        is_data[(shape.length_offset / 8) as usize] = false;
    }
    (0..is_data.len()).filter(|index| is_data[*index]).map(|index| 8 * index as u64).collect()
}
