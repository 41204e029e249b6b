//! Weak references, maps and handles of the real heap, for the driver.
//!
//! The inside of weak maps is read from memory, not by lookups: a lookup is an upgrade, and an upgrade keeps objects
//! alive for an epoch.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use tally_collector::Mutator;
use tally_heap::object::flag;
use tally_heap::services::builtin;
use tally_heap::services::weak::WeakKind;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{Heap, ObjectRef};

use super::deeds::called;
use super::{TallyHeap, object};
use crate::heap_under_test::{Refusal, Services};
use crate::op::deed::Event;
use crate::op::service::GLOBAL_HANDLES;
use crate::shape::Kind;

/// Whether the object belongs to a weak map or set: its directory, a bucket, a table, or an entry; or to a coroutine: its image. Every comparison asks it of every object.
pub(super) fn is_hidden(object: ObjectRef) -> bool {
    static PARTS: OnceLock<[u32; 7]> = OnceLock::new();
    let parts = PARTS.get_or_init(|| {
        let entries = [WeakMode::Keys, WeakMode::Values, WeakMode::Both].map(builtin::weak_map_entry);
        let [keys, values, both] = entries.map(|entry| entry.id);
        let tables =
            [builtin::weak_map_table(), builtin::weak_map_bucket(), builtin::weak_set_table()].map(|table| table.id);
        [tables[0], tables[1], tables[2], keys, values, both, builtin::frames().id]
    });
    parts.contains(&(object.meta() & !flag::ALL))
}

/// The segment of a map's bucket, and its place there: segment k has 2^k buckets, from number 2^k - 1 on.
fn segment_of(bucket: u64) -> (u64, u64) {
    let segment = u64::from((bucket + 1).ilog2());
    (segment, bucket + 1 - (1 << segment))
}

/// The entries of a map that are not dead: (key, value).
fn map_entries(load: impl Fn(u64, u64) -> u64, map: u64) -> Vec<(u64, u64)> {
    let (table, mode) = (load(map, 0), load(map, 16));
    if table == 0 {
        return Vec::new();
    }
    let buckets = (0..load(map, 32)).map(|number| {
        let (segment, place) = segment_of(number);
        load(load(table, 8 + 8 * segment), 8 + 8 * place)
    });
    let places = buckets.flat_map(|bucket| (1..=load(bucket, 0)).map(move |place| (bucket, 8 + 8 * place)));
    let entries = places.map(|(bucket, place)| load(bucket, place)).filter(|entry| *entry != 0);
    let sides = entries.map(|entry| match mode == WeakMode::Keys as u64 {
        true => (load(entry, 8), load(entry, 0)),
        false => (load(entry, 0), load(entry, 8)),
    });
    let dead = |(key, value): (u64, u64)| {
        (mode != WeakMode::Values as u64 && key == 0) || (mode != WeakMode::Keys as u64 && value == 0)
    };
    sides.filter(|sides| !dead(*sides)).collect()
}

impl Services for TallyHeap {
    fn take_events(&mut self) -> Vec<Event> {
        let events = self.deeds.take();
        if events.iter().any(|event| matches!(event, Event::Allocated { .. })) {
            self.note_class(Kind::Pair, 0);
        }
        events
    }

    fn register_finalizer(&mut self, address: u64) -> bool {
        self.mutator.register_finalizer(object(address))
    }

    fn forget_finalizer(&mut self, address: u64) {
        self.mutator.forget_finalizer(object(address));
    }

    fn new_weak(&mut self, target: u64, called: bool) -> Result<u64, Refusal> {
        self.new_weak_reference(object(target), called)
    }

    fn write_weak(&mut self, address: u64, offset: u64, target: Option<u64>, key: bool) {
        let kind = if key { WeakKind::Key } else { WeakKind::Reference };
        let (holder, target) = (object(address), target.map(object));
        self.mutator.heap().write_weak(holder, holder.slot(offset), target, kind);
    }

    fn read_weak(&mut self, address: u64, offset: u64) -> Option<u64> {
        self.mutator.read_weak(object(address).slot(offset)).map(ObjectRef::address)
    }

    fn new_ephemeron(&mut self, key: u64, value: Option<u64>) -> Result<u64, Refusal> {
        self.new_builtin_ephemeron(object(key), value.map(object))
    }

    fn new_map(&mut self, mode: WeakMode) -> Result<u64, Refusal> {
        self.new_weak_map(mode)
    }

    fn map_set(&mut self, map: u64, key: u64, value: u64) -> Result<(), Refusal> {
        self.weak_map_set(object(map), object(key), object(value))
    }

    fn map_get(&mut self, map: u64, key: u64) -> Option<u64> {
        self.mutator.weak_map_get(object(map), object(key)).map(ObjectRef::address)
    }

    fn map_remove(&mut self, map: u64, key: u64) -> bool {
        self.mutator.weak_map_remove(object(map), object(key))
    }

    fn map_entries(&self, map: u64) -> Vec<(u64, u64)> {
        map_entries(|address, offset| object(address).slot(offset).read(), map)
    }

    fn map_count(&self, map: u64) -> u64 {
        self.mutator.weak_map_count(object(map))
    }

    fn new_set(&mut self) -> Result<u64, Refusal> {
        let set = self.mutator.heap().new_weak_set(0);
        self.note_class_of(builtin::weak_set(), 0);
        Ok(set?.address())
    }

    fn set_takes(&mut self, set: u64, member: u64) -> bool {
        self.mutator.heap().weak_set_refuses(object(set), object(member)).is_none()
    }

    fn set_add(&mut self, set: u64, member: u64) -> Result<(), Refusal> {
        let done = self.mutator.heap().weak_set_add(object(set), object(member));
        let table = object(set).slot(0).read();
        if table != 0 {
            self.note_class_of(builtin::weak_set_table(), object(table).slot(0).read());
        }
        Ok(done?)
    }

    fn set_probe(&mut self, set: u64, hash: u32) -> Vec<u64> {
        let (heap, mut at) = (self.mutator.heap(), 0);
        let next = || heap.weak_set_probe(object(set), hash, &mut at).map(ObjectRef::address);
        std::iter::from_fn(next).collect()
    }

    fn set_remove(&mut self, set: u64, member: u64) -> bool {
        self.mutator.heap().weak_set_remove(object(set), object(member))
    }

    fn set_count(&mut self, set: u64) -> u64 {
        self.mutator.heap().weak_set_count(object(set))
    }

    fn open_scope(&mut self) {
        self.handles.open(self.mutator.heap());
    }

    fn push_handle(&mut self, address: Option<u64>) {
        self.handles.push(self.mutator.heap(), address);
    }

    fn close_scope(&mut self) {
        self.handles.close(self.mutator.heap());
    }

    fn abandon_scope(&mut self) {
        self.handles.abandon();
    }

    fn close_all_scopes(&mut self) {
        self.handles.close_all(self.mutator.heap());
    }

    fn raise(&mut self, address: Option<u64>, count: u32) {
        unwind_through_scope(&mut self.mutator, address, count);
    }

    fn set_global_handle(&mut self, handle: usize, address: Option<u64>) {
        self.handles.set_global(self.mutator.heap(), handle, address);
    }

    fn free_global_handle(&mut self, handle: usize) {
        self.handles.free_global(self.mutator.heap(), handle);
    }

    fn open_object(&mut self, address: u64) {
        self.mutator.heap().open_object(object(address));
        self.handles.of_open.push(address);
    }

    fn close_object(&mut self, address: u64) {
        let place = self.handles.of_open.iter().position(|&open| open == address).expect("the program has opened it");
        self.handles.of_open.swap_remove(place);
        assert!(self.mutator.heap().close_object(object(address)), "an open object was not open");
    }

    fn store_open(&mut self, address: u64, offset: u64, word: u64) {
        self.mutator.heap().write_open(object(address), object(address).slot(offset), word);
    }

    fn stop(&mut self) {
        self.mutator.stop();
    }

    fn restart(&mut self) {
        self.mutator.restart();
    }

    fn set_limit(&mut self, bytes: Option<u64>) {
        self.mutator.set_limits(None, bytes);
    }

    fn fail_allocation(&mut self, number: u64) {
        self.mutator.heap().fail_allocation(number);
    }

    fn part(&mut self) -> bool {
        self.mutator.collect_for(0)
    }

    /// False if garbage may stay: in a block that is logged as a whole while the mark runs, it counts as named by the
    /// log.
    fn parts_find_all(&self) -> bool {
        !self.logs_whole_blocks
    }

    fn hidden_objects(&mut self) -> Vec<u64> {
        self.present().into_iter().filter(|object| is_hidden(*object)).map(ObjectRef::address).collect()
    }
}

impl TallyHeap {
    fn new_weak_reference(&mut self, target: ObjectRef, with_callback: bool) -> Result<u64, Refusal> {
        let weak = match with_callback {
            true => self.mutator.new_weak_with(target, called),
            false => self.mutator.new_weak(target),
        };
        self.note_class_of(if with_callback { builtin::weak_with_callback() } else { builtin::weak() }, 0);
        Ok(weak?.address())
    }

    fn new_builtin_ephemeron(&mut self, key: ObjectRef, value: Option<ObjectRef>) -> Result<u64, Refusal> {
        let ephemeron = self.mutator.new_ephemeron(key, value);
        self.note_class_of(builtin::ephemeron(), 0);
        Ok(ephemeron?.address())
    }

    fn new_weak_map(&mut self, mode: WeakMode) -> Result<u64, Refusal> {
        let map = self.mutator.new_weak_map(mode);
        self.note_class_of(builtin::weak_map(), 0);
        self.note_class_of(builtin::weak_map_entry(mode), 0);
        Ok(map?.address())
    }

    fn weak_map_set(&mut self, map: ObjectRef, key: ObjectRef, value: ObjectRef) -> Result<(), Refusal> {
        let done = self.mutator.weak_map_set(map, key, value);
        let table = map.slot(0).read();
        if table != 0 {
            self.note_class_of(builtin::weak_map_table(), object(table).slot(0).read());
            for bucket in 0..map.slot(32).read() {
                let (segment, place) = segment_of(bucket);
                let segment = object(object(table).slot(8 + 8 * segment).read());
                self.note_class_of(builtin::weak_map_table(), segment.slot(0).read());
                let bucket = object(segment.slot(8 + 8 * place).read());
                self.note_class_of(builtin::weak_map_bucket(), bucket.slot(0).read());
            }
        }
        Ok(done?)
    }
}

/// The handles that a program has made.
#[derive(Default)]
pub(super) struct Handles {
    scoped: Vec<u64>,
    /// The word that closes each open scope, and the number of handles before it.
    scopes: Vec<(u64, usize)>,
    globals: [Option<u64>; GLOBAL_HANDLES],
    /// The objects that are open, each with a handle of its own.
    of_open: Vec<u64>,
}

impl Handles {
    pub(super) fn open(&mut self, heap: &mut Heap) {
        self.scopes.push((heap.open_handles(), self.scoped.len()));
    }

    pub(super) fn push(&mut self, heap: &mut Heap, address: Option<u64>) {
        // SAFETY: [ROOT] the word is a reference or null.
        self.scoped.push(unsafe { heap.new_handle(address.unwrap_or(0)) });
    }

    pub(super) fn close(&mut self, heap: &mut Heap) {
        if let Some((mark, count)) = self.scopes.pop() {
            heap.close_handles(mark);
            self.scoped.truncate(count);
        }
    }

    pub(super) fn abandon(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn close_all(&mut self, heap: &mut Heap) {
        heap.close_handles(0);
        self.scopes.clear();
        self.scoped.clear();
    }

    pub(super) fn set_global(&mut self, heap: &mut Heap, at: usize, address: Option<u64>) {
        let word = address.unwrap_or(0);
        match self.globals[at] {
            // SAFETY: made below, and not freed since; the driver passes references.
            Some(global) => unsafe { heap.set_global(global, word) },
            // SAFETY: [ROOT] the word is a reference or null.
            None => self.globals[at] = Some(unsafe { heap.new_global(word) }),
        }
    }

    pub(super) fn free_global(&mut self, heap: &mut Heap, at: usize) {
        if let Some(global) = self.globals[at].take() {
            // SAFETY: [ROOT] the word is a reference or null.
            unsafe { heap.free_global(global) };
        }
    }

    /// The references that they hold now.
    pub(super) fn held(&self) -> Vec<u64> {
        let words = self.scoped.iter().chain(self.globals.iter().flatten());
        // SAFETY: words of handles that are in use.
        let held = words.map(|handle| unsafe { *(*handle as *const u64) }).filter(|word| *word != 0);
        held.chain(self.of_open.iter().copied()).collect()
    }
}

/// A scope of a host that closes itself, also when a panic unwinds through it.
struct Scope<'m> {
    mutator: &'m mut Mutator,
    mark: u64,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.mutator.heap().close_handles(self.mark);
    }
}

/// Handles, a safepoint that counts them, more handles, and a panic.
fn unwind_through_scope(mutator: &mut Mutator, address: Option<u64>, count: u32) {
    let through = catch_unwind(AssertUnwindSafe(|| {
        let mark = mutator.heap().open_handles();
        let scope = Scope { mutator, mark };
        for number in 0..count {
            if number == count / 2 {
                scope.mutator.poll();
            }
            // SAFETY: [ROOT] the word is a reference or null.
            unsafe { scope.mutator.heap().new_handle(address.unwrap_or(0)) };
        }
        resume_unwind(Box::new("through a scope"));
    }));
    assert!(through.is_err(), "the panic comes through");
}
