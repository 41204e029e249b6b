//! The real heap as the driver sees it: a [`Mutator`] with the types of `descriptors.rs` and, as a compiled module would
//! have, a module record with global root slots.
//!
//! Addresses become `ObjectRef`s in one place, `object` below. The driver passes nothing but addresses of objects that
//! its model holds to be reachable, or that were allocated since the last safepoint; if such an object has been freed all the
//! same, the read shows wrong words, which is the difference we are looking for.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_char;

use cycle_detector::Mutator;
use rc_runtime::descriptor::{SlotKind, TypeDescriptor};
use rc_runtime::host_roots::RootIndex;
use rc_runtime::module_record::{GlobalRoot, MODULE_VERSION, ModuleRecord};
use rc_runtime::plan::Plan;
use rc_runtime::size_class::{LARGEST_CELL, aligned_class_of, class_of};
use rc_runtime::{HeapOptions, ObjectRef, TypeId, module_registry, type_registry};

use crate::descriptors::descriptor;
use crate::heap_under_test::{Deaths, HeapUnderTest, Totals};
use crate::op::GLOBALS;
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
    classes: BTreeSet<u32>,
}

/// What each size class that was ever used may keep for its next cell.
const BLOCK_BYTES: u64 = 32 << 10;

impl TallyHeap {
    /// An empty heap.
    pub fn new(options: HeapOptions) -> TallyHeap {
        let (plan, zeal) = (options.plan, options.zeal);
        let register = |kind| type_registry::register(descriptor(kind)).expect("a sound descriptor");
        let deaths = match plan {
            Plan::Deferred => Deaths::Deferred,
            Plan::Prompt if options.pause_goal_ns.is_some() => Deaths::AtEpochs,
            Plan::Prompt if options.trials || options.eager_marks || zeal => Deaths::AtSafepoints,
            Plan::Prompt => Deaths::AtSafepointsExactly,
        };
        let types = Kind::ALL.map(register);
        let mutator = Mutator::new(options).expect("the heap's range can be reserved");
        TallyHeap { mutator, types, plan, deaths, zeal, classes: BTreeSet::new(), globals: Globals::register() }
    }

    /// The runtime's type of a kind.
    pub fn type_of(&self, kind: Kind) -> TypeId {
        self.types[kind as usize]
    }

    fn note_class(&mut self, kind: Kind, length: u64) {
        let info = self.type_of(kind).info();
        if let Some(cell) = info.cell_bytes(length).filter(|cell| *cell <= LARGEST_CELL) {
            self.classes.insert(if info.align > 8 { aligned_class_of(cell, info.align) } else { class_of(cell) });
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

    fn allocate(&mut self, kind: Kind, length: u64) -> Result<u64, String> {
        let allocated = match kind.has_tail() {
            true => self.mutator.allocate_array(self.type_of(kind), length),
            false => self.mutator.allocate(self.type_of(kind)),
        };
        self.note_class(kind, length);
        allocated.map(ObjectRef::address).map_err(|error| error.to_string())
    }

    fn load(&self, address: u64, offset: u64) -> u64 {
        object(address).slot(offset).read()
    }

    fn store(&mut self, address: u64, offset: u64, word: u64) {
        self.mutator.write(object(address), object(address).slot(offset), word);
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
        let word = match address {
            Some(address) if index == BOXED_GLOBAL => address | BOX_PATTERN,
            Some(address) => address,
            None => 0,
        };
        let old = self.globals.slots[index].replace(word) & !BOX_MASK;
        if self.plan == Plan::Prompt {
            // The counted exchange that compiled code does.
            address.into_iter().for_each(|new| self.mutator.heap().hold(object(new)));
            if old != 0 {
                self.mutator.heap().decrement_exact(object(old));
            }
        }
    }

    fn poll(&mut self) {
        self.mutator.poll();
    }

    fn step(&mut self, units: u32) {
        match self.plan {
            Plan::Deferred => _ = self.mutator.step(u64::from(units)),
            Plan::Prompt => self.mutator.poll(),
        }
    }

    fn flip(&mut self) {
        match self.plan {
            Plan::Deferred => self.mutator.flip(),
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
        self.mutator.live_objects().into_iter().map(ObjectRef::address).collect()
    }

    fn verify(&mut self) -> Result<(), String> {
        self.mutator.verify().map_err(|violation| violation.to_string())
    }

    fn recount(&mut self) -> Result<(), String> {
        let roots = (0..self.mutator.root_count()).filter_map(|index| self.mutator.root(RootIndex(index)));
        let globals = self.globals.slots.iter().map(|slot| slot.get() & !BOX_MASK).filter(|address| *address != 0);
        let held: Vec<u64> = roots.map(ObjectRef::address).chain(globals).collect();
        let listed = self.live_objects();
        recount(&mut self.mutator, &listed, &held)
    }

    fn kept_bytes(&self) -> u64 {
        self.classes.len() as u64 * BLOCK_BYTES
    }

    fn totals(&mut self) -> Totals {
        let statistics = self.mutator.statistics();
        Totals {
            allocated_objects: statistics.allocated_objects,
            freed_objects: statistics.freed_objects(),
            live_objects: statistics.live_objects,
            live_bytes: statistics.live_bytes,
            used_bytes: match self.plan {
                // Zeal never uses the memory of the dead again.
                _ if self.zeal => 0,
                Plan::Deferred => self.mutator.heap().used_bytes(),
                Plan::Prompt => self.mutator.heap().used_bytes().saturating_sub(self.kept_bytes()),
            },
        }
    }
}

/// Global root slots and the module record that names them; both stay where they are while registered.
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
        });
        // SAFETY: record, roots and slots live in boxes until `drop` has taken the registration back.
        unsafe { module_registry::register(&raw const *record) }.expect("a module of globals only is in order");
        Globals { slots, roots, record }
    }
}

impl Drop for Globals {
    fn drop(&mut self) {
        module_registry::unregister(&raw const *self.record);
        debug_assert_eq!(self.roots.len(), GLOBALS);
    }
}
