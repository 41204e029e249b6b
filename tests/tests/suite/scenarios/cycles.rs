//! Rings as programs in dynamic languages make them: classes, closures, environments, graphs of loops.

use crate::scenarios::{allocate_into, on_both};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::setup::check;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// scenario 6: a class, its dictionary, an instance and that one's dictionary, each of which leads to the others.
#[test]
fn class_instance_and_their_dictionaries() {
    check(
        "allocate triple 0 r0              # a class: dictionary, base, the last instance
         allocate records 6 r1
         write r0.0 = r1
         write r1.1 = r0
         allocate pair 0 r2                # an instance: class, dictionary
         write r2.0 = r0
         allocate-into r2.1 records 3
         load r3 = r2.1
         write r3.1 = r2
         write r0.2 = r2
         allocate triple 0 r4              # a class derived from it
         write r4.1 = r0
         set r0 = null
         set r1 = null
         set r3 = null
         epoch
         set r2 = null
         epoch
         load r0 = r4.1                    # all there, by way of the derived class
         write r0.2 = null                 # the instance alone is garbage now
         set r0 = null
         epoch
         epoch
         set r4 = null
         epoch
         collect",
    );
}

/// scenario 7: an object that keeps a closure over itself, and the code is no object of the heap.
#[test]
fn closure_stored_on_its_receiver() {
    check(
        "allocate triple 0 r0
         allocate-into r0.0 pair 0
         load r1 = r0.0
         write r1.0 = r0
         write r1.1 = immortal 2
         set r1 = null
         epoch
         load r1 = r0.0                    # called: the closure is held for a while
         epoch
         set r0 = null
         epoch
         load r0 = r1.0
         set r1 = null
         epoch
         set r0 = null
         epoch
         collect",
    );
}

/// scenario 8: a module's table of names holds its functions, and each of these the table that it looks names up in.
#[test]
fn functions_and_their_table_of_globals() {
    let define = |number: usize| {
        format!("allocate-into r0.{number} pair 0\nload r1 = r0.{number}\nwrite r1.0 = r0\nwrite r1.1 = immortal 1\n")
    };
    let all: String = (0..40).map(define).collect();
    let again: String = (0..40).step_by(3).map(|number| define(number) + "poll\n").collect();
    check(&format!(
        "allocate array 40 r0
         {all}epoch
         {again}epoch
         set r0 = null                     # one function is still called: the module lives
         epoch
         epoch
         load r0 = r1.0
         fill r0.0 x 20 = null
         set r1 = null
         epoch
         set r0 = null
         epoch
         collect"
    ));
}

/// scenario 9: an environment that its closures outlive, or not, when the call that made it returns.
#[test]
fn environment_of_a_call_that_has_returned() {
    check(
        "push r0                           # the frame: its root is the environment
         allocate array 4 r0
         push r0
         allocate-into r0.0 pair 0         # a closure over the environment that lies in it
         load r1 = r0.0
         write r1.0 = r0
         allocate-into r0.1 pair 0         # and one that escapes
         load r1 = r0.1
         write r1.0 = r0
         set r0 = null
         epoch
         truncate 0                        # the call returns
         epoch
         load r2 = r1.0
         allocate-into r2.2 leaf 0
         set r2 = null
         epoch
         set r1 = null
         epoch
         collect",
    );
}

/// Connects two blocks: an edge in the list of the first's successors, one in that of the second's predecessors.
fn connect(heap: &mut TallyHeap, from: u64, to: u64) {
    for (list, holder, target) in [(0, from, to), (1, to, from)] {
        let slot = Kind::Triple.slot_offset(list);
        let rest = heap.load(holder, slot);
        let edge = heap.allocate(Kind::Pair, 0).expect("room");
        heap.store(edge, Kind::Pair.slot_offset(0), rest);
        heap.store(edge, Kind::Pair.slot_offset(1), target);
        heap.store(holder, slot, edge);
    }
}

/// scenario 22: a loop finder's graphs, one after the other: blocks with edges both ways, in nests of loops that name their
/// headers. Each is garbage when the next is made, and memory stays what a few of them take.
#[test]
fn graphs_of_nested_loops_come_and_go_in_bounded_memory() {
    const BLOCKS: u64 = 60;
    on_both(|heap, plan| {
        heap.push_root(None);
        let mut used_max = 0;
        let mut expected = 0;
        for round in 0..400 {
            let blocks = heap.allocate(Kind::Array, BLOCKS).expect("room");
            heap.set_root(0, Some(blocks));
            let at = |heap: &TallyHeap, index: u64| heap.load(blocks, Kind::Array.slot_offset(index));
            for index in 0..BLOCKS {
                allocate_into(heap, blocks, Kind::Array.slot_offset(index), Kind::Triple);
            }
            for index in 1..BLOCKS {
                connect(heap, at(heap, index - 1), at(heap, index));
            }
            // Loops of 4, 16 and 64 blocks, each with its header's parent loop in the third field.
            for length in [4, 12, 60] {
                for start in (0..BLOCKS).step_by(length as usize) {
                    let (header, last) = (at(heap, start), at(heap, start + length - 1));
                    connect(heap, last, header);
                    let nest = allocate_into(heap, header, Kind::Triple.slot_offset(2), Kind::Triple);
                    heap.store(nest, Kind::Triple.slot_offset(0), header);
                    heap.store(nest, Kind::Triple.slot_offset(1), at(heap, start / 12 * 12));
                }
            }
            heap.poll();
            used_max = used_max.max(heap.mutator.heap().used_bytes());
            expected = heap.totals().allocated_objects / (round + 1);
        }
        assert!(used_max < 24 << 20, "{used_max} bytes in use for graphs of {expected} objects");
        heap.set_root(0, None);
        heap.collect();
        assert_eq!(heap.totals().live_objects, 0, "{plan:?}");
        heap.verify().expect("in order");
    });
}

/// scenario 24: a doubly linked list built and dropped again and again: no growth from the tenth time on.
#[test]
fn doubly_linked_lists_come_and_go_without_growth() {
    on_both(|heap, plan| {
        heap.push_root(None);
        heap.push_root(None);
        let (next, previous) = (Kind::Pair.slot_offset(0), Kind::Pair.slot_offset(1));
        let mut used = vec![];
        for _ in 0..2000 {
            let mut last = heap.allocate(Kind::Pair, 0).expect("room");
            heap.set_root(0, Some(last));
            for _ in 1..1000 {
                let node = heap.allocate(Kind::Pair, 0).expect("room");
                heap.store(last, next, node);
                heap.store(node, previous, last);
                last = node;
            }
            heap.poll();
            used.push(heap.mutator.heap().used_bytes());
        }
        let (early, late) = (used[..1000].iter().max().expect("some"), used[1000..].iter().max().expect("some"));
        assert!(late <= &(early + (1 << 20)), "{late} bytes in use late, {early} early: {plan:?}");
        heap.set_root(0, None);
        heap.collect();
        assert_eq!(heap.totals().live_objects, 0);
    });
}
