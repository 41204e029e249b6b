//! A program with garbage of every kind beside something that lives.

use std::cell::Cell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{FinalizeOrder, TraceVisit, TypeDescriptor};
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, type_of};

unsafe extern "C-unwind" fn close(_: *mut c_void) {
    CLOSED.set(CLOSED.get() + 1);
}

unsafe extern "C" fn trace(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
    for place in 0..count as usize {
        // SAFETY: an image of so many words.
        let word = unsafe { *words.wrapping_add(place) };
        // SAFETY: every word of the type is a reference, and the context came with `visit`.
        unsafe { visit(word as *mut c_void, context) };
    }
}

thread_local! {
    static CLOSED: Cell<u64> = const { Cell::new(0) };
}

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);
// SAFETY: `close` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(close) };
// SAFETY: `close` takes any object of the type.
static LAST_FIRST: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"LastFirst", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::Reverse) };
// SAFETY: `close` takes any object of the type.
static OWNER: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Owner", 24, &[0, 8]).finalized(close).finalized_in(FinalizeOrder::OwnerFirst) };
// SAFETY: `trace` reads only the words that it is given, and reports references.
static TRACED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Traced", 1600, &[]).traced(trace) };
static WATCHER: TypeDescriptor = TypeDescriptor::plain(c"Watcher", 16, &[]);

pub fn options(plan: Plan) -> HeapOptions {
    HeapOptions { plan, epoch_bytes: 1 << 20, ..HeapOptions::default() }
}

/// See the file's first lines.
pub struct Program {
    m: Mutator,
    /// Objects that live on, as far as they were there at the beginning.
    kept: u64,
    /// Holds them: a large array.
    holder: RootIndex,
    watcher: ObjectRef,
    finalizable: u64,
}

impl Program {
    pub fn new(options: HeapOptions, nodes: u64) -> Program {
        CLOSED.set(0);
        let mut m = new_mutator(options).expect("address space");
        let holder = m.allocate_array(type_of(&ARRAY), 4000).expect("room");
        let root = m.push_root(Some(holder));
        let watcher = m.allocate(type_of(&WATCHER)).expect("room");
        m.push_root(Some(watcher));
        let mut program = Program { m, kept: 0, holder: root, watcher, finalizable: 0 };
        program.build_what_lives(holder);
        program.m.collect();
        program.kept = program.m.live_objects().len() as u64;
        program.build_garbage(nodes);
        program
    }

    fn build_what_lives(&mut self, holder: ObjectRef) {
        for place in 0..1000 {
            let pair = self.ring(&NODE, 2);
            self.set(holder, 8 + place * 8, Some(pair));
        }
        let key = self.ring(&NODE, 2);
        self.set(holder, 8 + 8 * 1000, Some(key));
        let value = self.list(&NODE, 3);
        let ephemeron = self.m.new_ephemeron(key, Some(value)).expect("room");
        self.set(holder, 8 + 8 * 1001, Some(ephemeron));
        self.m.write_weak(self.watcher, self.watcher.slot(0), Some(key));
    }

    /// Each kind hangs on a root.
    fn build_garbage(&mut self, nodes: u64) {
        let tree = self.tree(nodes.ilog2());
        self.m.push_root(Some(tree));
        self.m.write_weak(self.watcher, self.watcher.slot(8), Some(tree));
        let list = self.list(&NODE, nodes);
        self.m.push_root(Some(list));
        let ring = self.ring(&NODE, nodes);
        self.m.push_root(Some(ring));
        let array = self.m.allocate_array(type_of(&ARRAY), nodes).expect("room");
        self.m.push_root(Some(array));
        for place in 0..nodes {
            // Rings of three and single nodes, which an array that dies lets go of.
            let element = if place % 4 == 0 { self.ring(&NODE, 3) } else { self.node(&NODE) };
            self.set(array, 8 + place * 8, Some(element));
        }
        for descriptor in [&FILE, &LAST_FIRST, &OWNER] {
            // An object that holds another goes first: each of a list would take an epoch.
            let list = self.list(descriptor, 4);
            self.m.push_root(Some(list));
            let array = self.m.allocate_array(type_of(&ARRAY), nodes / 50).expect("room");
            self.m.push_root(Some(array));
            for place in 0..nodes / 50 {
                let file = self.node(descriptor);
                self.set(array, 8 + place * 8, Some(file));
            }
            let ring = self.ring(descriptor, 20);
            self.m.push_root(Some(ring));
            self.finalizable += 4 + nodes / 50 + 20;
        }
        for _ in 0..20 {
            let traced = self.node(&TRACED);
            self.m.push_root(Some(traced));
            for place in 0..200 {
                let ring = self.ring(&NODE, 2);
                self.set(traced, place * 8, Some(ring));
            }
        }
        for _ in 0..nodes / 100 {
            let key = self.ring(&NODE, 3);
            self.m.push_root(Some(key));
            let ephemeron = self.m.new_ephemeron(key, Some(key)).expect("room");
            self.m.push_root(Some(ephemeron));
            let weak = self.m.new_weak(ephemeron).expect("room");
            self.m.push_root(Some(weak));
        }
    }

    fn node(&mut self, descriptor: &'static TypeDescriptor) -> ObjectRef {
        self.m.allocate(type_of(descriptor)).expect("room")
    }

    fn set(&mut self, object: ObjectRef, offset: u64, target: Option<ObjectRef>) {
        self.m.write(object, object.slot(offset), target.map_or(0, ObjectRef::address));
    }

    fn list(&mut self, descriptor: &'static TypeDescriptor, length: u64) -> ObjectRef {
        let mut first = self.node(descriptor);
        for _ in 1..length {
            let root = self.m.push_root(Some(first));
            let before = self.node(descriptor);
            self.set(before, 0, Some(first));
            self.m.truncate_roots(root.0);
            first = before;
        }
        first
    }

    fn ring(&mut self, descriptor: &'static TypeDescriptor, length: u64) -> ObjectRef {
        let last = self.node(descriptor);
        let root = self.m.push_root(Some(last));
        let mut first = last;
        for _ in 1..length {
            let kept = self.m.push_root(Some(first));
            let before = self.node(descriptor);
            self.set(before, 0, Some(first));
            self.m.truncate_roots(kept.0);
            first = before;
        }
        self.set(last, 8, Some(first));
        self.m.truncate_roots(root.0);
        first
    }

    fn tree(&mut self, depth: u32) -> ObjectRef {
        if depth == 0 {
            return self.node(&NODE);
        }
        let left = self.tree(depth - 1);
        let root = self.m.push_root(Some(left));
        let right = self.tree(depth - 1);
        self.m.push_root(Some(right));
        let node = self.node(&NODE);
        self.set(node, 0, Some(left));
        self.set(node, 8, Some(right));
        self.m.truncate_roots(root.0);
        node
    }

    /// Lets go of the garbage, a root after the other, beside writes and allocations; collects, and goes on.
    pub fn drop_and_go_on(&mut self) {
        self.mutate(200);
        while self.m.root_count() > 2 {
            self.m.truncate_roots(self.m.root_count() - 1);
            if self.m.root_count().is_multiple_of(8) {
                self.mutate(20);
            }
        }
        self.m.poll();
        self.mutate(200);
        self.m.collect();
        self.mutate(700);
    }

    /// Writes to what lives, and makes short-lived objects and rings.
    fn mutate(&mut self, times: u64) {
        let holder = self.m.root(self.holder).expect("set");
        for time in 0..times {
            let place = 8 + time * 37 % 1000 * 8;
            // SAFETY: [HEADER] a reference of a live object.
            let pair = unsafe { ObjectRef::from_address(holder.slot(place).read()) };
            self.set(pair, 8, None);
            self.set(pair, 8, Some(pair));
            let ring = self.ring(&NODE, 2);
            self.set(holder, 8 + 8 * (2000 + time % 1000), Some(ring));
            self.set(holder, 8 + 8 * (2000 + (time + 500) % 1000), None);
            self.m.poll();
        }
    }

    /// With memory: the heap is sound, and what is garbage goes.
    pub fn check(mut self, what: &str) {
        self.m.verify().unwrap_or_else(|violation| panic!("{what}: {violation}"));
        let holder = self.m.root(self.holder).expect("set");
        for place in 2000..3000 {
            self.set(holder, 8 + place * 8, None);
        }
        for _ in 0..3 {
            self.m.collect();
        }
        self.m.verify().unwrap_or_else(|violation| panic!("{what}, at the end: {violation}"));
        assert_eq!(self.m.live_objects().len() as u64, self.kept, "{what}");
        assert_eq!(CLOSED.get(), self.finalizable, "{what}");
        let watched = [0, 8].map(|offset| self.m.read_weak(self.watcher.slot(offset)).is_some());
        assert_eq!(watched, [true, false], "{what}");
    }
}
