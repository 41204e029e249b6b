//! Trials and the backup mark beside a running program: what they may not conclude, and what they must find.
//!
//! The programs time their steps so that the interesting moment falls between two of them. They were found by making the
//! collector wrong in one place at a time: each of those errors is caught here, in `barriers.rs`, or by the random programs.

use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::op::parse_program;
use tally_tests::replay::Replay;
use tally_tests::setup::{Setup, check, check_in};
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

/// Runs the program up to its end without the final collection; the heap as it is then.
fn heap_after(setup: &str, program: &str) -> TallyHeap {
    let mut heap = TallyHeap::new(Setup::named(setup).expect("a setup of that name").options);
    let mut replay = Replay::new(&mut heap, None);
    for op in parse_program(program).expect("a program") {
        replay.perform(op).expect("heap and model agree");
    }
    heap
}

/// Runs the program in one setup and compares.
fn check_program(setup: &str, program: &str) {
    check_in(&Setup::named(setup).expect("a setup"), &parse_program(program).expect("a program"));
}

/// scenario 28: cyclic garbage goes without a collection and without a mark.
#[test]
fn trials_free_small_rings_in_ordinary_epochs() {
    let heap = heap_after(
        "sliced",
        &format!("{}set r0 = null\nepoch\nepoch\nepoch\n", "ring pair x 7 r0\nepoch\n".repeat(20)),
    );
    let statistics = heap.mutator.statistics();
    assert_eq!(statistics.cyclic_garbage_objects, 140, "{statistics:?}");
    assert_eq!((statistics.marks, statistics.live_objects), (0, 0), "{statistics:?}");
}

/// A trial does not free what hangs on a live object: counts from outside the subgraph are left over.
#[test]
fn trials_leave_rings_that_something_holds() {
    let heap = heap_after(
        "sliced",
        "allocate pair 0 r1\nring triple x 7 r0\nwrite r1.0 = r0\nepoch\nset r0 = null\nepoch\nepoch\nepoch\n",
    );
    let statistics = heap.mutator.statistics();
    assert!(statistics.trial_runs > 0, "{statistics:?}");
    assert_eq!((statistics.cyclic_garbage_objects, statistics.live_objects), (0, 8), "{statistics:?}");
}

/// Garbage cycles that no trial can decide (too large, through an array) are found by the mark.
#[test]
fn marks_free_what_trials_cannot_decide() {
    let heap = heap_after(
        "eager-marks",
        "ring pair x 500 r0\nhub x 3000 r1\nepoch\nset r0 = null\nset r1 = null\nepoch\nepoch\nepoch\n",
    );
    let statistics = heap.mutator.statistics();
    assert_eq!(statistics.live_objects, 0, "{statistics:?}");
    assert!(statistics.cyclic_garbage_objects >= 3502 && statistics.marks > 0, "{statistics:?}");
}

/// A candidate's words change between the flip and its trial: its count does not belong to them any more.
#[test]
fn candidate_written_between_flip_and_trial() {
    check(
        "allocate pair 0 r0
         allocate pair 0 r1
         allocate pair 0 r2
         allocate pair 0 r3
         write r0.0 = r1
         write r1.0 = r2
         write r3.0 = r2
         set r1 = null
         set r2 = null
         epoch
         epoch
         write r3.0 = null
         flip
         load r1 = r0.0
         load r2 = r1.0
         write r2.0 = r1
         set r1 = null
         set r2 = null
         step 10000
         epoch
         epoch",
    );
}

/// While the mark is busy elsewhere, what it has yet to visit is cut loose and dies, and the program keeps what hung under it.
#[test]
fn snapshot_dies_before_the_mark_comes_to_it() {
    for dying in ["ring pair", "list pair"] {
        for steps_before in 0..40 {
            let program = format!(
                "allocate pair 0 r0
                 {dying} x 2 r3
                 load r4 = r3.0
                 allocate-into r4.1 leaf 0
                 write r0.0 = r3
                 set r3 = null
                 set r4 = null
                 allocate pair 0 r1
                 list pair x 600 r5
                 write r1.0 = r5
                 set r5 = null
                 list pair x 900 r15
                 epoch
                 flip
                 {}
                 load r3 = r0.0
                 load r4 = r3.0
                 load r2 = r4.1
                 load r6 = r1.0
                 write r0.0 = null
                 write r1.0 = null
                 set r3 = null
                 set r4 = null
                 flip
                 {}
                 epoch
                 epoch",
                "step 40\n".repeat(steps_before),
                "step 40\n".repeat(40),
            );
            let ops = parse_program(&program).expect("a program");
            check_in(&Setup::named("eager-marks").expect("a setup"), &ops);
        }
    }
}

/// scenario 156: the only reference to an object moves from where the mark has not been to where it has been.
#[test]
fn reference_moves_behind_the_mark() {
    for steps_before in 0..30 {
        let program = format!(
            "allocate array 300 r0
             list pair x 300 r15
             allocate pair 0 r1
             allocate-into r1.0 pair 0
             load r2 = r1.0
             allocate-into r2.0 leaf 0
             set r2 = null
             epoch
             flip
             {}
             load r2 = r1.0
             load r3 = r2.0
             write r15.1 = r3
             write r2.0 = null
             set r2 = null
             set r3 = null
             {}
             epoch
             load r3 = r15.1
             epoch",
            "step 50\n".repeat(steps_before),
            "step 50\n".repeat(60),
        );
        check_program("eager-marks", &program);
    }
}

/// The same from far away: the mark comes to the end of a long list much later than to the other holder, and only the
/// log tells it what was there.
#[test]
fn reference_moves_from_the_end_of_a_long_list() {
    for steps_before in 0..30 {
        let program = format!(
            "allocate pair 0 r1
             allocate-into r1.1 leaf 0
             {}
             set r3 = null
             allocate pair 0 r15
             epoch
             flip
             {}
             load r2 = r1.0
             {}
             load r3 = r2.1
             write r15.1 = r3
             write r2.1 = null
             set r2 = null
             set r3 = null
             {}
             epoch
             load r3 = r15.1
             epoch",
            "allocate pair 0 r3\nwrite r3.0 = r1\nset r1 = r3\n".repeat(200),
            "step 50\n".repeat(steps_before),
            "load r2 = r2.0\n".repeat(199),
            "step 50\n".repeat(60),
        );
        check_program("eager-marks", &program);
    }
}

/// An object that was not there in the mark's snapshot survives a flip while the mark discovers: it is no garbage of that mark.
#[test]
fn object_promoted_while_a_mark_discovers() {
    for steps_before in 0..40 {
        let program = format!(
            "list pair x 900 r15
             allocate pair 0 r0
             epoch
             flip
             {}
             allocate pair 0 r1
             allocate-into r1.0 pair 0
             flip
             {}
             epoch
             epoch",
            "step 40\n".repeat(steps_before * 2),
            "step 40\n".repeat(60),
        );
        check_program("eager-marks", &program);
    }
}

/// An object that counting has released waits for the log that names it, when a mark starts: it is not condemned again.
#[test]
fn released_object_in_the_log_when_a_mark_starts() {
    check(
        "list pair x 2 r1
         list traced x 2 r4
         epoch
         write r1.0 = r3
         flip
         toggle r4.0 r0 x 1",
    );
}

/// Counting frees so much while a mark discovers that the mark is given up; nothing is lost by that, and nothing kept.
#[test]
fn mark_is_given_up_when_counting_frees_enough() {
    let options = HeapOptions { eager_marks: true, slice_units: Some(1000), ..HeapOptions::default() };
    let mut heap = TallyHeap::new(options);
    let count = 150_000;
    for root in 0..2 {
        heap.push_root(None);
        for _ in 0..count {
            let pair = heap.allocate(Kind::Pair, 0).expect("room");
            let head = heap.mutator.root(RootIndex(root)).map_or(0, ObjectRef::address);
            heap.store(pair, 0, head);
            heap.set_root(root, Some(pair));
        }
    }
    heap.epoch();
    heap.flip();
    heap.set_root(1, None);
    let marks = heap.mutator.statistics().marks;
    let mut steps = 0;
    while heap.mutator.statistics().marks == marks || steps < 1000 {
        heap.step(1000);
        heap.flip();
        steps += 1;
        assert!(steps < 10_000, "no mark was started");
    }
    assert!(heap.mutator.statistics().marks_aborted > 0, "{:?}", heap.mutator.statistics());
    heap.epoch();
    heap.verify().expect("in order");
    heap.recount().expect("in order");
    heap.collect();
    assert_eq!(heap.totals().live_objects, count);
    heap.set_root(0, None);
    heap.collect();
    assert_eq!((heap.totals().live_objects, heap.totals().used_bytes), (0, 0));
}

/// The statistics of a heap that has run down are consistent, and its memory is free.
#[test]
fn nothing_alive_uses_no_blocks() {
    let mut heap = heap_after(
        "sliced",
        "hub x 3000 r0\nlist medium x 50 r1\nring triple x 4000 r2\nallocate huge 0 r3\nepoch\nset r0 = null\nepoch
         set r1 = null\nset r2 = null\nset r3 = null\ncollect",
    );
    assert_eq!(heap.totals().live_objects, 0);
    assert_eq!(heap.mutator.heap().used_bytes(), 0);
}

/// A whole block is logged while a mark lets go of what it has condemned: what is condemned is left out. Logged, it was
/// counted once more, and what it held was freed before the log let go of it.
#[test]
fn block_logged_while_a_mark_condemns() {
    let program = "list boxed x 200 r3
         collect
         epoch
         list medium x 158 r4
         hub x 14 r4
         epoch
         flip
         collect
         epoch
         hub x 0 r1
         epoch
         collect
         set r4 = r1
         epoch
         epoch
         epoch
         write r3.0 = r3
         hub x 100 r13
         epoch
         allocate triple 0 r4
         write r3.1 = r4
         allocate traced 0 r3
         hub x 92 r2
         allocate-into r4.0 huge 0
         allocate tagged 0 r4
         ring medium x 148 r2
         toggle r1.0 r2 x 7";
    check_program("marks-and-whole-blocks-logged", program);
}

/// Prompt plan: a young object that outlives its batch waits to be tried, dies by counting, and the next batch is
/// judged: it is no candidate any more. (Its free cell was marked as one.)
#[test]
fn survivor_of_a_batch_that_dies_before_it_is_tried() {
    let program = "hub x 100 r3
         hub x 176 r2
         hub x 326 r13
         hub x 125 r11
         hub x 137 r0
         hub x 164 r0
         hub x 17 r11
         allocate triple 0 r7
         allocate aligned-64 0 r13
         hub x 286 r2
         hub x 311 r1
         hub x 306 r0
         allocate pair 0 r2
         set r3 = r1
         hub x 217 r4
         write r13.0 = r4
         epoch
         write r7.0 = r1
         hub x 215 r4
         hub x 189 r2
         hub x 93 r3
         allocate pair 0 r2
         allocate leaf 0 r3
         hub x 50 r1
         epoch
         hub x 68 r2
         hub x 182 r0
         allocate pair 0 r0
         write r4.0 = r12
         list medium x 342 r4";
    check_program("prompt-marks", program);
}

/// An ephemeron's block is logged as a whole, then it dies, and its key before it lets go of its value itself. The log
/// alone knows of that reference then, and a mark that is about to discover condemned the value under it.
#[test]
fn ephemeron_that_the_log_names_dies_with_its_key() {
    let program = "allocate link 0 r0
         ring link x 1 r2
         flip
         ephemeron r14 = r0 r2
         epoch
         hub x 0 r4
         allocate link 0 r1
         weak-called r14 = r2
         allocate keyed 0 r2
         load r3 = r4.0
         weak r0 = r1
         flip
         swap r2.0 r3.0";
    check_program("marks-and-whole-blocks-logged", program);
}

/// An owner with more references than its count holds: that does not say whether anybody else in the set holds it, and
/// what it owns was finalized first.
#[test]
fn owner_whose_count_is_stuck_is_finalized_first() {
    for owns in ["fill r4.0 x 1 = r1", "fill r1.0 x 1 = r4"] {
        let program = format!(
            "finalizable owner nothing r1
             finalizable owner nothing r4
             allocate array 2047 r5
             fill r5.0 x 300 = r4
             {owns}
             epoch
             set r5 = null
             set r4 = null
             set r1 = null
             collect"
        );
        for setup in ["without-trials", "sliced", "eager-marks", "prompt", "stop-the-world"] {
            check_program(setup, &program);
        }
    }
}

/// Owners in a ring: none can be first, and all of their finalizers run. What the first of these leaves of the ring says
/// nothing of the others' order.
#[test]
fn ring_of_owners_that_the_first_finalizer_parts() {
    let orders = [[1, 2, 3], [3, 2, 1]];
    for (parts, [first, second, third], other) in
        (1..4).flat_map(|parts| orders.into_iter().flat_map(move |order| [(parts, order, 0), (parts, order, parts)]))
    {
        // One that parts the ring may be of a kind whose order does not matter.
        let made: Vec<String> = (1..4)
            .map(|number| {
                let kind = if number == other { "file" } else { "owner" };
                format!("finalizable {kind} {} r{number}", if number == parts { "clear" } else { "nothing" })
            })
            .collect();
        check(&format!(
            "{}
             write r{first}.0 = r{second}
             write r{second}.0 = r{third}
             write r{third}.0 = r{first}
             epoch
             set r1 = null
             set r2 = null
             set r3 = null
             collect",
            made.join("\n")
        ));
    }
}
