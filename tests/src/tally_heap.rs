//! The real heap for the driver: a [`Mutator`] with the types of `descriptors.rs` and, as a compiled module would
//! have, a module record with global root slots.
//!
//! Addresses become `ObjectRef`s in one place, `object` below. The driver only passes addresses of objects that are
//! reachable in its model, or that were allocated since the last safepoint. If such an object has been freed all the
//! same, the read shows wrong words, the difference that the test is looking for.
//!
//! The heap's services are in `tally_heap/services.rs`, the deeds of its finalizers in `tally_heap/deeds.rs`, stacks and their frames
//! in `tally_heap/stacks.rs`.

pub mod deeds;
mod services;
mod stacks;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_char;
use std::rc::Rc;

use tally_collector::Mutator;
use tally_compiled::module::record::{GlobalRoot, MODULE_VERSION, ModuleRecord};
use tally_compiled::module::registry;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};
use tally_heap::memory::size_class::{LARGEST_CELL, aligned_class_of, class_of};
use tally_heap::object::prompt_flag;
use tally_heap::plan::Plan;
use tally_heap::services::builtin;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{Heap, HeapOptions, ObjectRef, TypeId, type_registry};
use tally_kit::nodes::new_mutator_with;

use crate::descriptors::descriptor;
use crate::heap_under_test::{Deaths, HeapUnderTest, Refusal, Services, Totals};
use crate::op::GLOBALS;
use crate::op::deed::Event;
use crate::recount::recount;
use crate::shape::{BOX_MASK, BOX_PATTERN, Kind};

/// The global that holds NaN-boxed words, as its descriptor says.
const BOXED_GLOBAL: usize = 3;

static BOXED_ROOT: TypeDescriptor =
    TypeDescriptor::plain(c"boxed root", 8, &[0]).tagged(SlotKind::NanBoxed, BOX_MASK, BOX_PATTERN, !BOX_MASK);

/// A heap of its own, with its own globals.
pub struct TallyHeap {
    /// Before the heap, since fields are dropped in order: once its blocks belong to another heap, an address left in a
    /// global would be taken for an object of that one.
    globals: Globals,
    /// The heap and its collector.
    pub mutator: Mutator,
    types: [TypeId; Kind::ALL.len()],
    plan: Plan,
    deaths: Deaths,
    zeal: bool,
    logs_whole_blocks: bool,
    classes: BTreeSet<u32>,
    deeds: Rc<deeds::Doer>,
    handles: services::Handles,
    stacks: Rc<stacks::Table>,
}

/// Bytes that each size class that was ever used may keep for its next cell.
const BLOCK_BYTES: u64 = 32 << 10;

impl TallyHeap {
    /// An empty heap.
    pub fn new(mut options: HeapOptions) -> TallyHeap {
        let (plan, zeal) = (options.plan, options.zeal);
        let register = |kind| type_registry::register(descriptor(kind)).expect("a sound descriptor");
        let deaths = match plan {
            Plan::Deferred | Plan::Trace => Deaths::Deferred,
            Plan::Prompt if options.pause_goal_ns.is_some() => Deaths::AtEpochs,
            Plan::Prompt if options.trials || options.eager_marks || zeal => Deaths::AtSafepoints,
            Plan::Prompt => Deaths::AtSafepointsExactly,
        };
        let types = Kind::ALL.map(register);
        let logs_whole_blocks = options.block_log_after <= 1;
        // Set later, the goal is that of collections alone: finalizers of a set run together, as the model has it.
        let goal = if plan == Plan::Trace { options.pause_goal_ns.take() } else { None };
        let stacks = stacks::Table::begin();
        let source = Box::new(stacks::Source(Rc::clone(&stacks)));
        let mut mutator = new_mutator_with(options, source).expect("the heap's range can be reserved");
        if goal.is_some() {
            mutator.heap().options_mut().pause_goal_ns = goal;
        }
        let globals = Globals::register();
        let deeds = deeds::Doer::begin(globals.slots.as_ptr(), types[Kind::Pair as usize]);
        let listener = Rc::clone(&deeds);
        mutator.on_finalizer_error(move |error| listener.note(Event::Escaped(error.object.address())));
        TallyHeap {
            mutator,
            types,
            plan,
            deaths,
            zeal,
            logs_whole_blocks,
            classes: BTreeSet::new(),
            globals,
            deeds,
            handles: services::Handles::default(),
            stacks,
        }
    }

    /// The runtime's type of a kind.
    pub fn type_of(&self, kind: Kind) -> TypeId {
        self.types[kind as usize]
    }

    /// The objects listed as live; under the prompt plan also objects at zero that wait for a drain.
    fn present(&mut self) -> Vec<ObjectRef> {
        match self.plan {
            Plan::Deferred | Plan::Trace => return self.mutator.live_objects(),
            Plan::Prompt => {}
        }
        let mut objects = Vec::new();
        self.mutator.heap().for_each_known(|_, object| objects.push(object));
        objects.retain(|object| !object.has(prompt_flag::DEAD));
        objects
    }

    fn note_class(&mut self, kind: Kind, length: u64) {
        self.note_class_of(self.type_of(kind).info(), length);
    }

    /// Notes the size class: objects of that type and length may leave a block that is kept for the next.
    fn note_class_of(&mut self, info: &tally_heap::type_registry::TypeInfo, length: u64) {
        if let Some(cell) = info.cell_bytes(length).filter(|cell| *cell <= LARGEST_CELL) {
            self.classes.insert(if info.align > 8 { aligned_class_of(cell, info.align) } else { class_of(cell) });
        }
    }
}

/// Stores another reference in a global, with the counted exchange of compiled code under the prompt plan.
fn exchange_global(slot: &Cell<u64>, index: usize, address: Option<u64>, heap: &mut Heap) {
    let word = match address {
        Some(address) if index == BOXED_GLOBAL => address | BOX_PATTERN,
        Some(address) => address,
        None => 0,
    };
    let old = slot.replace(word) & !BOX_MASK;
    if heap.plan() == Plan::Prompt {
        address.into_iter().for_each(|new| heap.hold(object(new)));
        if old != 0 {
            heap.decrement_exact(object(old));
        }
    }
}

fn object(address: u64) -> ObjectRef {
    // SAFETY: [HEADER] the driver passes reachable objects of this heap only; see the file's first lines.
    unsafe { ObjectRef::from_address(address) }
}

impl HeapUnderTest for TallyHeap {
    fn deaths(&self) -> Deaths {
        self.deaths
    }

    fn allocate(&mut self, kind: Kind, length: u64) -> Result<u64, Refusal> {
        let allocated = match kind.has_tail() {
            true => self.mutator.allocate_array(self.type_of(kind), length),
            false => self.mutator.allocate(self.type_of(kind)),
        };
        self.note_class(kind, length);
        Ok(allocated?.address())
    }

    fn load(&self, address: u64, offset: u64) -> u64 {
        object(address).slot(offset).read()
    }

    fn store(&mut self, address: u64, offset: u64, word: u64) {
        self.mutator.write(object(address), object(address).slot(offset), word);
    }

    fn store_pair(&mut self, address: u64, offset: u64, pair: [u64; 2]) {
        self.mutator.heap().write_pair(object(address), object(address).slot(offset), pair);
    }

    fn store_data(&mut self, address: u64, offset: u64, word: u64) {
        object(address).slot(offset).store(word);
    }

    fn copy_refs(&mut self, to: (u64, u64), from: (u64, u64), words: u64) {
        let target = object(to.0);
        // SAFETY: the driver names words inside two reachable objects.
        unsafe { self.mutator.copy_refs(target, target.slot(to.1), from.0 + from.1, words) };
    }

    fn fill_refs(&mut self, address: u64, offset: u64, word: u64, words: u64) {
        let target = object(address);
        // SAFETY: the driver names words inside a reachable object.
        unsafe { self.mutator.fill_refs(target, target.slot(offset), word, words) };
    }

    fn resize(&mut self, address: u64, offset: u64, length: u64) -> Result<Option<u64>, Refusal> {
        let (owner, slot) = (object(address), object(address).slot(offset));
        if self.mutator.heap().resize_refuses(owner, slot).is_some() {
            return Ok(None);
        }
        let resized = self.mutator.heap().resize(owner, slot, length)?;
        self.note_class_of(resized.type_info(), length);
        Ok(Some(resized.address()))
    }

    fn push_root(&mut self, address: Option<u64>) {
        self.mutator.push_root(address.map(object));
    }

    fn set_root(&mut self, index: usize, address: Option<u64>) {
        self.mutator.set_root(RootIndex(index), address.map(object));
    }

    fn truncate_roots(&mut self, count: usize) {
        self.mutator.truncate_roots(count);
    }

    fn set_global(&mut self, index: usize, address: Option<u64>) {
        exchange_global(&self.globals.slots[index], index, address, self.mutator.heap());
    }

    fn poll(&mut self) {
        self.mutator.poll();
    }

    fn step(&mut self, units: u32) {
        match self.plan {
            Plan::Deferred => _ = self.mutator.step(u64::from(units)),
            Plan::Prompt | Plan::Trace => self.mutator.poll(),
        }
    }

    fn flip(&mut self) {
        match self.plan {
            Plan::Deferred | Plan::Trace => self.mutator.flip(),
            Plan::Prompt => self.mutator.poll(),
        }
    }

    fn epoch(&mut self) {
        self.mutator.epoch();
    }

    fn collect(&mut self) {
        self.mutator.collect();
    }

    fn live_objects(&mut self) -> Vec<u64> {
        self.present().into_iter().filter(|object| !services::is_hidden(*object)).map(ObjectRef::address).collect()
    }

    fn verify(&mut self) -> Result<(), String> {
        self.mutator.verify().map_err(|violation| violation.to_string())
    }

    fn recount(&mut self) -> Result<(), String> {
        let roots = (0..self.mutator.root_count()).filter_map(|index| self.mutator.root(RootIndex(index)));
        let globals = self.globals.slots.iter().map(|slot| slot.get() & !BOX_MASK).filter(|address| *address != 0);
        let handles = self.handles.held();
        let mut held: Vec<u64> = roots.map(ObjectRef::address).chain(globals).chain(handles).collect();
        held.extend(self.stacks.held_as_roots().into_iter().map(ObjectRef::address));
        // Objects that wait for their finalizer, and those that an upgrade has yielded since the flip, are held by a
        // count, too.
        let heap = self.mutator.heap();
        let services = heap.services.finalizers.held().chain(heap.services.specials.upgraded.iter().copied());
        let services = services.chain(heap.services.coroutines.chain().iter().copied());
        held.extend(services.map(ObjectRef::address));
        let listed: Vec<u64> = self.present().into_iter().map(ObjectRef::address).collect();
        recount(&mut self.mutator, &listed, &held)
    }

    fn kept_bytes(&self) -> u64 {
        // Zeal never uses the memory of the dead again.
        let classes = self.classes.union(&self.stacks.classes.borrow()).count();
        if self.zeal { u64::MAX / 4 } else { classes as u64 * BLOCK_BYTES }
    }

    fn totals(&mut self) -> Totals {
        let hidden = self.hidden_objects();
        let images =
            hidden.iter().filter(|address| builtin::frames().id == object(**address).type_info().id).count() as u64;
        let hidden = hidden.len() as u64;
        let statistics = self.mutator.statistics();
        Totals {
            allocated_objects: statistics.allocated_objects - hidden,
            freed_objects: statistics.freed_objects(),
            // Between two collections young ones are not counted as alive yet.
            live_objects: statistics.live_objects.saturating_sub(hidden),
            live_bytes: statistics.live_bytes,
            hidden_dead: self.stacks.images.get().map(|made| made - images),
            used_bytes: match self.plan {
                // Zeal never uses the memory of the dead again.
                _ if self.zeal => 0,
                Plan::Deferred | Plan::Trace => self.mutator.heap().used_bytes(),
                Plan::Prompt => self.mutator.heap().used_bytes().saturating_sub(self.kept_bytes()),
            },
        }
    }
}

/// Global root slots and the module record that names them; neither moves while registered.
struct Globals {
    slots: Box<[Cell<u64>; GLOBALS]>,
    roots: Box<[GlobalRoot]>,
    record: Box<ModuleRecord>,
}

impl Globals {
    fn register() -> Globals {
        const NAME: *const c_char = c"globals of a test".as_ptr();
        let slots: Box<[Cell<u64>; GLOBALS]> = Box::default();
        let how = |index| if index == BOXED_GLOBAL { &raw const BOXED_ROOT } else { std::ptr::null() };
        let root = |(index, slot): (usize, &Cell<u64>)| GlobalRoot { slot: slot.as_ptr(), how: how(index), name: NAME };
        let roots: Box<[GlobalRoot]> = slots.iter().enumerate().map(root).collect();
        let record = Box::new(ModuleRecord {
            version: MODULE_VERSION,
            flags: 0,
            name: NAME,
            stack_maps: std::ptr::null(),
            stack_maps_size: 0,
            type_count: 0,
            types: std::ptr::null_mut(),
            global_count: roots.len() as u64,
            globals: roots.as_ptr(),
            root_count: 0,
            roots: std::ptr::null(),
            names: std::ptr::null(),
        });
        // SAFETY: record, roots and slots live in boxes until `drop` has undone the registration.
        unsafe { registry::register(&raw const *record) }.expect("a module of globals only is in order");
        Globals { slots, roots, record }
    }
}

impl Drop for Globals {
    fn drop(&mut self) {
        // SAFETY: the module goes away now, with its code.
        unsafe { registry::unregister(&raw const *self.record) };
        debug_assert_eq!(self.roots.len(), GLOBALS);
    }
}
