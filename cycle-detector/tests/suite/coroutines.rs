//! A stack that stops is laid down as an image, and taken up again when it goes on, whatever the rules of its heap are meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally_collector::mutator::new_heap;
use tally_collector::root_source::{Headway, RootList, RootSource};
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::{HeapEntry, MARK_NS_PER_UNIT, Traces};
use tally_heap::plan::{Plan, Rules};
use tally_heap::{Heap, HeapOptions, ObjectRef};
use tally_kit::nodes::type_of;

static NUMBER: TypeDescriptor = TypeDescriptor::plain(c"Number", 24, &[0]);

/// A coroutine whose frames hold objects. The thread's own stack refers to it.
#[derive(Debug, Default, Clone)]
struct Stack {
    coroutine: Rc<Cell<Option<ObjectRef>>>,
    frames: Rc<RefCell<Vec<ObjectRef>>>,
    is_laid_down: Rc<Cell<bool>>,
    /// Nothing refers to it.
    is_dropped: Rc<Cell<bool>>,
}

impl Stack {
    /// The program switches to it.
    fn goes_on(&self, heap: &mut Heap) {
        if self.is_laid_down.replace(false) {
            heap.take_up(self.coroutine.get().expect("was laid down"));
        }
    }
}

impl RootSource for Stack {
    fn lay_down(&mut self, heap: &mut Heap) {
        if let Some(coroutine) = self.coroutine.get()
            && !self.is_laid_down.get()
        {
            assert!(heap.lay_down(coroutine, &self.frames.borrow(), &[]), "no memory for an image");
            self.is_laid_down.set(true);
        }
    }

    fn begin(&mut self, heap: &mut Heap, _frames: usize, into: &mut RootList) -> Headway {
        let name = || "the test's".to_owned();
        let referred = self.coroutine.get().filter(|_| !self.is_dropped.get());
        referred.into_iter().for_each(|coroutine| into.push(heap, coroutine, &name));
        if !self.is_laid_down.get() {
            self.frames.borrow().iter().for_each(|&object| into.push(heap, object, &name));
        }
        Headway::Done
    }

    fn end(&self) -> u64 {
        0
    }
}

fn number(heap: &mut Heap, number: u64) -> ObjectRef {
    let object = heap.allocate_cell(type_of(&NUMBER).info(), 0).expect("room");
    object.slot(16).store(number);
    object
}

/// The objects of each list of the frames are numbered from the last.
#[track_caller]
fn must_be_whole(stack: &Stack) {
    for &first in stack.frames.borrow().iter() {
        let (mut at, mut number) = (first, first.slot(16).read());
        // SAFETY: [HEADER] a reference word of an object.
        while let Some(next) = unsafe { ObjectRef::of_word(at.slot(0).read()) } {
            number -= 1;
            assert_eq!(next.slot(16).read(), number, "of {first:?}");
            at = next;
        }
        assert_eq!(number, 0, "of {first:?}");
    }
}

/// Makes one more object of a list.
fn extend(heap: &mut Heap, stack: &Stack, list: usize) {
    let object = number(heap, 0);
    let mut frames = stack.frames.borrow_mut();
    match frames.get_mut(list) {
        Some(last) => {
            object.slot(16).store(last.slot(16).read() + 1);
            heap.write(object, object.slot(0), last.address());
            *last = object;
        }
        None => frames.push(object),
    }
}

/// A stack whose frames hold so many lists goes on now and then, and its heap changes its rules several times. All objects stay as they are.
/// They lie apart, with holes between them.
fn frames_keep_theirs(lists: u64, length: u64, options: HeapOptions, changes: u32) {
    let stack = Stack::default();
    // SAFETY: [HELD] the stack's frames hold what is used after a safepoint.
    let mut heap = unsafe { new_heap(options, Box::new(stack.clone())) }.expect("address space");
    for list in 0..lists as usize {
        for _ in 0..length {
            extend(&mut heap, &stack, list);
            (0..8).for_each(|_| _ = number(&mut heap, 0));
        }
    }
    // It lies nowhere: the record is not looked at.
    stack.coroutine.set(Some(heap.new_coroutine(Box::new(()), 0).expect("room")));
    let (mut rules, mut seen, mut rounds) = (heap.rules(), 0, 0);
    while seen < changes {
        rounds += 1;
        assert!(rounds < 4_000_000, "the rules have changed {seen} times");
        number(&mut heap, rounds);
        if rules == Rules::Marking && rounds % 8 == 0 {
            // More and more, until no mark suffices.
            stack.goes_on(&mut heap);
            extend(&mut heap, &stack, 0);
        }
        // SAFETY: [ALONE] the heap is borrowed by nobody else.
        Heap::poll_if_asked(unsafe { HeapEntry::of(&raw mut *heap) });
        if rounds % 64 == 0 {
            stack.goes_on(&mut heap);
        }
        if heap.rules() != rules {
            (rules, seen) = (heap.rules(), seen + 1);
            must_be_whole(&stack);
        }
    }
    (0..100_000).for_each(|_| _ = number(&mut heap, 0));
    must_be_whole(&stack);
    stack.goes_on(&mut heap);
    stack.frames.borrow_mut().clear();
    stack.coroutine.set(None);
    // SAFETY: [ALONE] the heap is borrowed by nobody else.
    Heap::collect(unsafe { HeapEntry::of(&raw mut *heap) });
    let mut left = 0;
    // SAFETY: [ALONE] the heap is borrowed by nobody else.
    Heap::for_each_object(unsafe { HeapEntry::of(&raw mut *heap) }, |_, _| left += 1);
    assert_eq!(left, 0, "{:?}", heap.statistics);
}

fn options(traces: Traces) -> HeapOptions {
    HeapOptions {
        epoch_bytes: 64 << 10,
        slice_units: Some(1024),
        traces,
        stop_the_world: false,
        ..HeapOptions::default()
    }
}

/// The flip at which a heap counts again lays stacks down first. Their images lay in the block in which the program had allocated last, over
/// objects that had become young, and young objects have no live bits.
#[test]
fn image_is_laid_down_where_a_heap_counts_again_that_has_traced() {
    for lists in [1, 5, 100] {
        frames_keep_theirs(lists, 10_000 / lists, options(Traces::ByTurns(1)), 12);
    }
}

#[test]
fn image_is_laid_down_where_a_heap_counts_that_has_marked() {
    for lists in [1, 5, 100] {
        let options = HeapOptions { mark_ns: 6_000 * MARK_NS_PER_UNIT, ..options(Traces::Never) };
        frames_keep_theirs(lists, 200 / lists, options, 1);
    }
}

/// The mark laid the stack down when it looked at the roots, and took the image for an object that the program had made since.
#[test]
fn collection_in_parts_frees_a_cycle_through_a_stack_that_has_run_before() {
    for slice_units in [None, Some(7)] {
        let stack = Stack::default();
        let options = HeapOptions { plan: Plan::Prompt, slice_units, ..HeapOptions::default() };
        // SAFETY: [HELD] the stack's frames hold what is used after a safepoint.
        let mut heap = unsafe { new_heap(options, Box::new(stack.clone())) }.expect("address space");
        let object = number(&mut heap, 0);
        heap.hold(object);
        stack.frames.borrow_mut().push(object);
        let coroutine = heap.new_coroutine(Box::new(()), 0).expect("room");
        heap.write(object, object.slot(0), coroutine.address());
        stack.coroutine.set(Some(coroutine));
        stack.is_dropped.set(true);
        // SAFETY: [ALONE] the heap is borrowed by nobody else.
        let parts = (0..1000).find(|_| Heap::step(unsafe { HeapEntry::of(&raw mut *heap) }, 0));
        assert!(parts.is_some(), "no part is the last");
        heap.refresh_statistics();
        assert_eq!(heap.statistics.live_objects, 0, "after {parts:?} parts");
    }
}
