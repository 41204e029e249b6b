//! Stacks beside the real heap: frames in Rust, and what `compiled-code/src/stack/coroutine` does with those of compiled code.
//!
//! ```text
//!   coroutine { counted, copied, record: number } ── Ticket, dropped with it ──► Table: number → Record { state, frames }
//! ```
//!
//! The frames of a stack own a count for what each slot holds, if the plan has such. A stack that stops has run, and the
//! collector's next look at roots lays it down (`stacks/source.rs`); one that goes on is taken up. A walk of a deep stack leaves
//! frames that wait, to none of which the program comes back before it has been visited. `[WATERMARK]`
//!
//! Roots of complex shape are counted by a shadow: of each frame slot 1 is such, so an image has what it holds twice.

mod source;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use tally_heap::services::builtin;
use tally_heap::services::coroutine::{COPIED, COUNTED, RECORD};
use tally_heap::{Heap, ObjectRef};

use super::{TallyHeap, object};
use crate::heap_under_test::{Refusal, Stacks};
use crate::model_heap::{FrameSlot, StackState};

pub(super) use source::Source;

thread_local! {
    /// Those of the heap that runs a program on this thread: the runtime calls `on_death` with an object alone.
    static TABLE: RefCell<Weak<Table>> = const { RefCell::new(Weak::new()) };
}

/// A frame.
#[derive(Debug)]
struct Frame {
    slots: Vec<Option<ObjectRef>>,
    lends: bool,
}

impl Frame {
    fn held(&self) -> impl DoubleEndedIterator<Item = ObjectRef> + '_ {
        self.slots.iter().flatten().copied()
    }
}

/// A coroutine.
#[derive(Debug)]
struct Record {
    object: ObjectRef,
    state: StackState,
    /// None while it runs: they are the table's then.
    frames: Vec<Frame>,
    /// It has run since it was laid down.
    has_run: bool,
    is_laid_down: bool,
}

/// The stacks of one heap.
#[derive(Debug)]
pub(super) struct Table {
    /// The frames of the stack that runs, the oldest first.
    running: RefCell<Vec<Frame>>,
    records: RefCell<BTreeMap<u64, Record>>,
    /// The number of the stack that runs; `None` before the first is made.
    current: Cell<Option<u64>>,
    numbers: Cell<u64>,
    /// Frames of the running stack below this one wait for a visit.
    waits: Cell<Option<usize>>,
    /// The program has left some of those by a jump.
    is_cut: Cell<bool>,
    at_once: Cell<usize>,
    /// Objects that images were made of, and the size classes of those. `None` once there was no memory for an image: some may have
    /// been made and given up.
    pub(super) images: Cell<Option<u64>>,
    pub(super) classes: RefCell<BTreeSet<u32>>,
}

/// Owned by a coroutine: its record goes with it.
struct Ticket {
    table: Rc<Table>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.table.records.borrow_mut().remove(&self.number);
    }
}

/// What frames of a stopped stack hold: by roots that own a count, if the plan has such, and by others.
#[derive(Debug, Default)]
struct Held {
    counted: Vec<ObjectRef>,
    copied: Vec<ObjectRef>,
    lends: bool,
}

impl Record {
    fn held(&self, heap: &Heap) -> Held {
        let mut held = Held::default();
        for frame in self.frames.iter().rev() {
            held.lends |= frame.lends;
            held.counted.extend(frame.held());
            let shadowed = frame.slots.get(1).copied().flatten();
            if heap.frames_count() { &mut held.copied } else { &mut held.counted }.extend(shadowed);
        }
        held
    }
}

impl Table {
    /// Those of a heap that will run on this thread.
    pub(super) fn begin() -> Rc<Table> {
        let table = Rc::new(Table {
            running: RefCell::default(),
            records: RefCell::default(),
            current: Cell::new(None),
            numbers: Cell::new(0),
            waits: Cell::new(None),
            is_cut: Cell::new(false),
            at_once: Cell::new(2),
            images: Cell::new(Some(0)),
            classes: RefCell::default(),
        });
        TABLE.set(Rc::downgrade(&table));
        table
    }

    fn with<T>(&self, number: u64, run: impl FnOnce(&mut Record) -> T) -> T {
        run(self.records.borrow_mut().get_mut(&number).expect("the record of a coroutine that lives"))
    }

    /// What roots in frames hold that no image does.
    pub(super) fn held_as_roots(&self) -> Vec<ObjectRef> {
        let (running, records) = (self.running.borrow(), self.records.borrow());
        let stopped = records.values().filter(|record| record.has_run).flat_map(|record| &record.frames);
        running.iter().chain(stopped).flat_map(Frame::held).collect()
    }

    /// Lets the walk go on that waits for the newest frame.
    fn reach(&self, heap: &mut Heap) {
        heap.with_driver(|driver, heap| driver.frame_is_reached(heap));
    }

    /// The program is about to come back to the newest frame but one.
    fn comes_back(&self, heap: &mut Heap) {
        let below = self.running.borrow().len().saturating_sub(1);
        while !self.is_cut.get() && self.waits.get().is_some_and(|waits| below != 0 && waits >= below) {
            self.reach(heap);
        }
    }

    fn make_ready_to_leave(&self, heap: &mut Heap) {
        while self.waits.get().is_some() {
            self.reach(heap);
        }
    }

    /// The running stack has stopped.
    fn stops(&self, state: StackState) {
        let (number, frames) = (self.current.get().expect("a stack that runs"), self.running.take());
        self.with(number, |record| (record.state, record.frames, record.has_run) = (state, frames, true));
    }

    fn goes_on(&self, heap: &mut Heap, number: u64) {
        let (object, frames, was_laid_down) = self.with(number, |record| {
            (record.state, record.has_run) = (StackState::Running, false);
            (record.object, std::mem::take(&mut record.frames), std::mem::take(&mut record.is_laid_down))
        });
        self.running.replace(frames);
        self.current.set(Some(number));
        if was_laid_down {
            heap.take_up(object);
        }
    }

    /// The frames of a suspended stack are given up.
    fn end(&self, heap: &mut Heap, number: u64) {
        let release = self.with(number, |record| {
            let counted = record.held(heap).counted;
            let has_run = std::mem::take(&mut record.has_run);
            (record.state, record.is_laid_down) = (StackState::Finished, false);
            record.frames.clear();
            if has_run && heap.frames_count() { counted } else { vec![] }
        });
        release.into_iter().for_each(|object| heap.release_of_frame(object));
    }

    fn new_coroutine(self: &Rc<Self>, heap: &mut Heap, state: StackState) -> Result<u64, Refusal> {
        let number = self.numbers.get() + 1;
        self.numbers.set(number);
        let ticket = Box::new(Ticket { table: Rc::clone(self), number });
        let object = heap.new_coroutine(ticket, number)?;
        let record = Record { object, state, frames: vec![], has_run: false, is_laid_down: false };
        self.records.borrow_mut().insert(number, record);
        Ok(object.address())
    }
}

/// A coroutine is being taken apart: what its frames have counted is released. It may be called more than once.
fn on_death(heap: &mut Heap, coroutine: ObjectRef) {
    let table = TABLE.with_borrow(Weak::upgrade).expect("a heap under test is running");
    let number = number_of(coroutine);
    if table.with(number, |record| record.state) == StackState::Suspended {
        table.end(heap, number);
    }
}

fn number_of(coroutine: ObjectRef) -> u64 {
    coroutine.slot(RECORD).read()
}

/// The references in the image of a coroutine.
fn image(coroutine: ObjectRef, place: u64) -> Vec<u64> {
    let (mut found, mut at) = (Vec::new(), coroutine.slot(place).read());
    while at != 0 {
        let part = object(at);
        found.extend((0..part.slot(0).read()).map(|index| part.slot(16 + 8 * index).read()));
        at = part.slot(8).read();
    }
    found.sort_unstable();
    found
}

impl Stacks for TallyHeap {
    fn begin_stacks(&mut self) -> Result<u64, Refusal> {
        self.note_class_of(builtin::coroutine(), 0);
        let heap = self.mutator.heap();
        let address = self.stacks.new_coroutine(heap, StackState::Running)?;
        heap.on_coroutine_death(on_death);
        heap.enter_coroutine(object(address));
        self.stacks.current.set(Some(number_of(object(address))));
        Ok(address)
    }

    fn new_stack(&mut self) -> Result<u64, Refusal> {
        self.stacks.new_coroutine(self.mutator.heap(), StackState::Suspended)
    }

    fn switch(&mut self, to: u64) {
        let (stacks, heap, to) = (&self.stacks, self.mutator.heap(), object(to));
        stacks.make_ready_to_leave(heap);
        if stacks.with(number_of(to), |record| record.state) == StackState::Suspended {
            stacks.stops(StackState::Waiting);
            heap.enter_coroutine(to);
        } else {
            stacks.stops(StackState::Suspended);
            heap.leave_coroutine();
            while let Some(&last) = heap.services.coroutines.chain().last()
                && last != to
            {
                stacks.with(number_of(last), |record| record.state = StackState::Suspended);
                heap.leave_coroutine();
            }
        }
        stacks.goes_on(heap, number_of(to));
    }

    fn finish_stack(&mut self) {
        let (stacks, heap) = (&self.stacks, self.mutator.heap());
        stacks.make_ready_to_leave(heap);
        let from = stacks.current.take().expect("a stack that runs");
        stacks.with(from, |record| record.state = StackState::Finished);
        heap.leave_coroutine();
        if let Some(&to) = heap.services.coroutines.chain().last() {
            stacks.goes_on(heap, number_of(to));
        }
    }

    fn close_stack(&mut self, stack: u64) {
        let heap = self.mutator.heap();
        self.stacks.end(heap, number_of(object(stack)));
        heap.forget_frames(object(stack));
    }

    fn push_frame(&mut self, slots: usize, lends: bool) {
        self.stacks.running.borrow_mut().push(Frame { slots: vec![None; slots], lends });
    }

    fn pop_frame(&mut self) {
        let heap = self.mutator.heap();
        self.stacks.comes_back(heap);
        let gone = self.stacks.running.borrow_mut().pop().expect("a frame");
        gone.held().rev().for_each(|object| heap.recount_root(None, Some(object)));
    }

    fn jump(&mut self, depth: usize) {
        let gone = self.stacks.running.borrow_mut().split_off(depth);
        if self.stacks.waits.get().is_some_and(|waits| depth <= waits) {
            self.stacks.is_cut.set(true);
        }
        // Where frames count, `longjmp` would leave counts behind: these are unwound.
        let heap = self.mutator.heap();
        gone.iter().rev().flat_map(Frame::held).for_each(|object| heap.recount_root(None, Some(object)));
    }

    fn frame_slot(&self, slot: usize) -> Option<u64> {
        self.stacks.running.borrow().last()?.slots[slot].map(ObjectRef::address)
    }

    fn set_frame_slot(&mut self, at: FrameSlot, address: Option<u64>) {
        let new = address.map(object);
        let heap = self.mutator.heap();
        let exchange = |frames: &mut [Frame]| std::mem::replace(&mut frames[at.frame].slots[at.slot], new);
        let old = match at.above {
            0 => exchange(&mut self.stacks.running.borrow_mut()),
            above => {
                let chain = heap.services.coroutines.chain();
                let waits = chain[chain.len() - 1 - above];
                self.stacks.with(number_of(waits), |record| exchange(&mut record.frames))
            }
        };
        heap.recount_root(new, old);
    }

    fn stores_to_waiting(&self) -> bool {
        self.plan != tally_heap::plan::Plan::Prompt
    }

    fn has_frames_for_want_of_memory(&self) -> bool {
        self.stacks.images.get().is_none()
            && self.stacks.records.borrow().values().any(|record| record.has_run && !record.frames.is_empty())
    }

    fn visit_at_once(&mut self, frames: usize) {
        self.stacks.at_once.set(frames);
    }

    fn stack_state(&self, stack: u64) -> Result<StackState, String> {
        let coroutine = object(stack);
        let records = self.stacks.records.borrow();
        let record = records.get(&number_of(coroutine)).ok_or("it has no record any more")?;
        let mut held = [vec![], vec![]];
        if record.is_laid_down {
            // Which plan counts, the length of the second says.
            let shadowed: Vec<u64> =
                record.frames.iter().filter_map(|frame| *frame.slots.get(1)?).map(ObjectRef::address).collect();
            let counted = record.frames.iter().flat_map(Frame::held).map(ObjectRef::address);
            held[0].extend(counted);
            held[usize::from(self.plan == tally_heap::plan::Plan::Prompt)].extend(shadowed);
        }
        for (place, mut expected) in [COUNTED, COPIED].into_iter().zip(held) {
            let found = image(coroutine, place);
            expected.sort_unstable();
            if found != expected {
                return Err(format!("its image at offset {place} has {found:x?}, and its frames hold {expected:x?}"));
            }
        }
        Ok(record.state)
    }
}
