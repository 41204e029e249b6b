//! Finalizers under both plans: found dead by counting, in rings, young, by the mark; their orders, and whatever they do.

mod company;
mod deaths;
mod deeds;
mod end;
mod endless;
mod garbage;
mod order;
mod random;
mod turns;

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{FinalizeOrder, TypeDescriptor};
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{in_finalizer, new_mutator, set, type_of};

/// What the finalizer does besides noting the object's number.
type Action = fn(&mut Mutator, ObjectRef);

thread_local! {
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
    static ACTION: Cell<Option<Action>> = const { Cell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    // SAFETY: the heap calls with an object of the type.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(16).read()));
    if let Some(action) = ACTION.get() {
        in_finalizer(|m| action(m, object)).expect("inside a finalizer");
    }
}

/// Two references and a number that says which it is.
// SAFETY: `close` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(close) };
// SAFETY: `close` takes any object of the type.
static REVERSE: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Reverse", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::Reverse) };
// SAFETY: `close` takes any object of the type.
static OWNER: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Owner", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::OwnerFirst) };
// SAFETY: `close` takes any object of the type.
static ON_REQUEST: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"OnRequest", 24, &[0, 8]).finalized(close).finalized_on_request() };
// SAFETY: `close` takes any object of the type.
static LARGE: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Large", 24, &[0, 8]).with_tail(16, 8, &[0]).finalized(close) };
static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn mutator_with(options: HeapOptions, action: Option<Action>) -> Mutator {
    ACTION.set(action);
    SEEN.take();
    DEPTH.set(0);
    new_mutator(options).expect("address space")
}

fn mutator(plan: Plan, action: Option<Action>) -> Mutator {
    mutator_with(HeapOptions { plan, ..HeapOptions::default() }, action)
}

/// A new object, rooted.
fn new(m: &mut Mutator, descriptor: &'static TypeDescriptor, number: u64) -> ObjectRef {
    let object = m.allocate(type_of(descriptor)).expect("room");
    object.slot(16).store(number);
    m.push_root(Some(object));
    object
}

/// Rooted, with the numbers from `first` on.
fn ring(m: &mut Mutator, descriptor: &'static TypeDescriptor, first: u64, length: u64) -> Vec<ObjectRef> {
    let objects: Vec<ObjectRef> = (first..first + length).map(|number| new(m, descriptor, number)).collect();
    for (place, &object) in objects.iter().enumerate() {
        set(m, object, 0, Some(objects[(place + 1) % objects.len()]));
    }
    objects
}

/// A list at root 0, of these types in turn; the last made is the first.
fn list(m: &mut Mutator, types: &[&'static TypeDescriptor], length: u64) {
    m.push_root(None);
    for number in 0..length {
        let object = new(m, types[number as usize % types.len()], number);
        let rest = m.root(RootIndex(0));
        set(m, object, 0, rest);
        m.set_root(RootIndex(0), Some(object));
        m.truncate_roots(1);
    }
}

fn live(m: &mut Mutator) -> u64 {
    m.verify().expect("sound");
    m.statistics().live_objects
}

fn seen() -> Vec<u64> {
    SEEN.take()
}

fn seen_sorted() -> Vec<u64> {
    let mut seen = seen();
    seen.sort_unstable();
    seen
}

/// Where objects are found dead.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Age {
    Young,
    Mature,
    /// Trials are off: the mark finds them.
    Marked,
}

const AGES: [Age; 3] = [Age::Young, Age::Mature, Age::Marked];

fn each(test: impl Fn(&mut Mutator, Age), action: Option<Action>) {
    for plan in Plan::ALL {
        for age in AGES {
            for slice_units in [None, Some(3)] {
                let options = HeapOptions { plan, trials: age != Age::Marked, slice_units, ..HeapOptions::default() };
                let mut m = mutator_with(options, action);
                test(&mut m, age);
                m.verify().unwrap_or_else(|violation| panic!("{plan:?}, {age:?}: {violation}"));
            }
        }
    }
}

/// Objects become as old as they shall be, and are let go of.
fn drop_all(m: &mut Mutator, age: Age) {
    if age != Age::Young {
        m.epoch();
    }
    m.truncate_roots(0);
}
