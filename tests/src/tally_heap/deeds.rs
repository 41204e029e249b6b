//! The finalizers of a test's objects on the real heap, and the callback of its weak references.
//!
//! The runtime calls them with only an object, inside a safepoint. They find the events, and the globals of the heap
//! under test, through a thread-local: a thread runs one program at a time. The deed is in the object (`op/deed.rs`).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;

use tally_collector::Mutator;
use tally_heap::{ObjectRef, TypeId};
use tally_kit::nodes::in_finalizer;

use super::{exchange_global, object};
use crate::op::GLOBALS;
use crate::op::deed::{Deed, Event, hang_offset};
use crate::shape::{BOX_MASK, DEED, Kind};

thread_local! {
    static DOER: RefCell<Option<Rc<Doer>>> = const { RefCell::new(None) };
}

/// Does deeds, and notes them.
pub(super) struct Doer {
    events: RefCell<Vec<Event>>,
    globals: *const Cell<u64>,
    pair: TypeId,
}

impl Doer {
    /// Makes finalizers of this thread work on these globals, and allocate pairs of that type.
    pub(super) fn begin(globals: *const Cell<u64>, pair: TypeId) -> Rc<Doer> {
        let doer = Rc::new(Doer { events: RefCell::default(), globals, pair });
        DOER.set(Some(Rc::clone(&doer)));
        doer
    }

    /// Notes an event.
    pub(super) fn note(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    /// Returns the events since the last call.
    pub(super) fn take(&self) -> Vec<Event> {
        self.events.take()
    }

    fn global(&self, index: u8) -> (usize, &Cell<u64>) {
        let index = usize::from(index) % GLOBALS;
        // SAFETY: one of the GLOBALS slots in the box of the heap under test, which outlives its mutator and so all
        // finalizers.
        (index, unsafe { &*self.globals.wrapping_add(index) })
    }

    fn held_by(&self, index: u8) -> Option<u64> {
        Some(self.global(index).1.get() & !BOX_MASK).filter(|address| *address != 0)
    }

    fn set_global(&self, mutator: &mut Mutator, index: u8, address: Option<u64>) {
        let (index, slot) = self.global(index);
        exchange_global(slot, index, address, mutator.heap());
    }

    fn perform(&self, mutator: &mut Mutator, dead: ObjectRef, deed: Deed) {
        match deed {
            Deed::Nothing | Deed::Panic => {}
            Deed::Keep(global) => self.set_global(mutator, global, Some(dead.address())),
            Deed::Hang(global) => {
                let holder = self.held_by(global).map(object);
                let kind = holder.and_then(|holder| Kind::from_type_name(&holder.type_info().name));
                if let (Some(holder), Some(offset)) = (holder, kind.and_then(hang_offset)) {
                    mutator.write(holder, holder.slot(offset), dead.address());
                }
            }
            Deed::Write(global) => mutator.write(dead, dead.slot(0), self.held_by(global).unwrap_or(0)),
            Deed::Clear => [0, 8].into_iter().for_each(|offset| mutator.write(dead, dead.slot(offset), 0)),
            Deed::Allocate => {
                let pair = mutator.allocate(self.pair).ok();
                self.note(Event::Allocated { object: dead.address(), pair: pair.map(ObjectRef::address) });
                if let Some(pair) = pair {
                    mutator.write(dead, dead.slot(8), pair.address());
                }
            }
            Deed::Drop(global) => self.set_global(mutator, global, None),
            Deed::Again(times) if times > 0 => _ = mutator.register_finalizer(dead),
            Deed::Again(_) => {}
            Deed::Collect => _ = mutator.collect(),
            Deed::Poll => mutator.poll(),
        }
    }
}

/// The finalizer of all kinds that have one.
pub(crate) unsafe extern "C-unwind" fn finalize(dead: *mut c_void) {
    let doer = DOER.with_borrow(Clone::clone).expect("a heap under test is running");
    let dead = object(dead as u64);
    doer.note(Event::Finalized(dead.address()));
    let deed = Deed::decode(dead.slot(DEED).read()).expect("an object that is finalized carries its deed");
    dead.slot(DEED).store(deed.after().encode());
    in_finalizer(|mutator| doer.perform(mutator, dead, deed)).expect("inside a finalizer");
    if deed == Deed::Panic {
        std::panic::resume_unwind(Box::new("as its deed says"));
    }
}

/// The callback of weak references.
pub(super) unsafe extern "C-unwind" fn called(weak: *mut c_void) {
    let doer = DOER.with_borrow(Clone::clone).expect("a heap under test is running");
    doer.note(Event::Called(weak as u64));
}
