//! The frames of a stopped stack: walked, laid down, taken up again. `[ROOT]` `[EXACT]`
//!
//! The walk is that of the running stack, from the registers with which the stack stopped. Under the prompt plan a root
//! owns a count at every safepoint, and a switch is one. Roots of complex shape are counted by their shadows
//! (`SHADOW_ROOT`), and those of code that Tally has not lowered not at all: their references are copied.
//!
//! A stack that waits while other frames may have the address of one of its roots is not laid down under the deferred
//! and the trace plan, since they may store there; it stays a root. (A stack that is suspended must not be stored to.)
//! Under the prompt plan it is laid down when it is left: no drain may overlook what such a store has put there.

use super::{Record, State, deep, memory, stopped};
use crate::module::record::ADDRESS_TAKEN_ROOT;
use crate::module::root_table::How;
use crate::stack::roots::{StackRoots, anchor, is_ours, walk_stopped};
use crate::stack::shadow_stack::{self, ChainEnd};
use stack_roots::Registers;
use tally_collector::root_source::{RootList, must_be_live};
use tally_heap::memory::list::List;
use tally_heap::{Heap, ObjectRef};

/// What the frames of a stopped stack hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// By roots that own a count, if the plan has such; else by all.
    pub(super) counted: List<ObjectRef>,
    /// By others.
    pub(super) copied: List<ObjectRef>,
    /// Whether other frames may have the address of a root.
    lends: bool,
}

/// What the frames of a stopped stack hold.
pub(super) fn held(heap: &mut Heap, record: &Record) -> Held {
    StackRoots::default().held_by(heap, record, record.registers())
}

/// Lays down the stacks that have run.
pub(crate) fn lay_down_all(roots: &mut StackRoots, heap: &mut Heap) {
    if super::current().is_some() {
        memory::cool_some();
    }
    Record::for_each_that_ran(|record| {
        if record.state.get() == State::Running || !record.is_of(heap) {
            return;
        }
        let held = roots.held_by(heap, record, record.registers());
        let may_change = held.lends && record.state.get() == State::Waiting && !heap.frames_count();
        if !may_change && heap.lay_down(record.its_object(), &held.counted, &held.copied) {
            is_laid_down(record);
            trim(record);
        }
    });
}

fn is_laid_down(record: &Record) {
    record.is_laid_down.set(true);
    record.forget_ran();
}

/// The pages that the collector has touched below the frames of a stopped stack go back, once it has run on as many other stacks: it
/// often runs on the same few.
fn trim(record: &Record) {
    let Some(before) = record.is_deep.get().then(|| deep::note(record)).flatten() else { return };
    before.is_deep.set(false);
    let memory = before.memory.take();
    memory.iter().for_each(|memory| memory.trim(before.sp.get()));
    before.memory.set(memory);
}

/// Adds the roots of stacks that have run and are not laid down.
pub(crate) fn push_those_not_laid_down(roots: &mut StackRoots, heap: &mut Heap, into: &mut RootList) {
    Record::for_each_that_ran(|record| {
        if record.state.get() != State::Running && record.is_of(heap) {
            let held = roots.held_by(heap, record, record.registers());
            for &object in held.counted.iter().chain(held.copied.iter()) {
                into.push(heap, object, &|| "a frame of a coroutine".to_owned());
            }
        }
    });
}

/// The slots, and the ids, of roots on stacks that have run and are not laid down.
pub(crate) fn slots_not_laid_down(roots: &mut StackRoots, heap: &Heap) -> Vec<(u64, u64)> {
    let mut slots = vec![];
    Record::for_each_that_ran(|record| {
        if record.state.get() != State::Running && record.is_of(heap) {
            roots.for_each_slot(record.registers(), record, |slot, _, id| slots.push((slot, id)));
        }
    });
    slots
}

/// Prompt plan: the stack is left while other frames may have stored to its roots, and counted nothing.
#[cold]
pub(super) fn lay_down_address_taken(heap: &mut Heap, record: &Record) {
    if !heap.frames_count() {
        return;
    }
    let mut roots = StackRoots::default();
    let registers = anchor(heap.context_mut());
    let held = roots.held_by(heap, record, registers);
    if !heap.lay_down(record.its_object(), &held.counted, &held.copied) {
        super::refuse("no memory to note what a stack holds that is left");
    }
    heap.end_address_taken_stores();
    record.lends.set(true);
    // It has not stopped yet: its stack pointer is that of the last time.
    is_laid_down(record);
}

/// The stack goes on: its roots are on the stack again.
#[cold]
pub(super) fn take_up(heap: &mut Heap, record: &Record) {
    record.is_laid_down.set(false);
    if record.lends.replace(false) {
        // SAFETY: it stopped there, and has not gone on yet.
        let registers = unsafe { stopped::registers(record.sp.get()) };
        let sp = registers.map_or(0, |registers| registers.sp);
        let (mut roots, mut slots) = (StackRoots::default(), vec![]);
        roots.for_each_slot(registers, record, |slot, is_counted, id| {
            if !is_counted {
                slots.push((slot, id));
            }
        });
        for (slot, id) in slots {
            let bytes = match roots.snapshot.roots.how(id) {
                Some(How::Type(how)) => how.size,
                Some(How::Metadata(_)) | None => 8,
            };
            // Of each word: a function that has the address may have stored to any before it left the stack.
            (slot..slot + bytes).step_by(8).for_each(|word| heap.note_address_taken_store(word, sp));
        }
    }
    heap.take_up(record.its_object());
}

impl StackRoots {
    /// Calls `visit` with the slot of each root of a stopped stack, whether the frame owns a count for what it holds, and
    /// its id.
    fn for_each_slot(&mut self, registers: Option<Registers>, record: &Record, mut visit: impl FnMut(u64, bool, u64)) {
        let Some(registers) = registers else { return };
        self.refresh();
        let names = &self.snapshot.roots;
        walk_stopped(registers, record.bounds(), &self.snapshot, |root| {
            visit(root.slot_address, names.is_counted(root.id), root.id);
        });
    }

    /// What the frames of a stopped stack hold.
    fn held_by(&mut self, heap: &mut Heap, record: &Record, registers: Option<Registers>) -> Held {
        let mut held = Held::default();
        let mut slots = vec![];
        self.for_each_slot(registers, record, |slot, is_counted, id| slots.push((slot, is_counted, id)));
        heap.statistics.roots_walked += slots.len() as u64;
        let all_alike = !heap.frames_count();
        for (slot, is_counted, id) in slots {
            held.lends |= id & ADDRESS_TAKEN_ROOT != 0;
            let into = if is_counted || all_alike { &mut held.counted } else { &mut held.copied };
            let name = || match self.snapshot.roots.get(id) {
                Some(named) => format!("root `{}` of function `{}` on a stopped stack", named.name, named.function),
                None => format!("a root of a stopped stack, at {slot:#x}"),
            };
            self.snapshot.visit_slot(slot, id, |object| {
                if is_ours(heap, object, &name) {
                    must_be_live(heap, object, &name);
                    into.push(object);
                }
            });
        }
        let shadow = record.shadow.get();
        if shadow != 0 {
            let into = if all_alike { &mut held.counted } else { &mut held.copied };
            let visit = |slot: u64, meta| self.shadow_types.visit_root(slot, meta, |object| into.push(object));
            // SAFETY: the entries lie on that stack, whose frames have stopped.
            let end = unsafe { shadow_stack::visit_from(shadow, record.bounds().start, record.bounds(), visit) };
            if end == ChainEnd::Gone {
                shadow_stack::stop_at_lost_frames();
            }
        }
        held
    }
}
