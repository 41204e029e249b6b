//! Garbage cycles of every shape (scenarios, group A), and candidates before their trial (group B).
//!
//! Each situation is an op program that is run in every setup of the heap; the driver compares against the model after
//! every epoch and collection, so that the programs only have to create the situation. [QUIET] is checked at each end.

use tally_tests::setup::check;

/// scenario 1: an object that refers to itself is reclaimed.
#[test]
fn self_reference() {
    check(
        "allocate pair 0 r0
         write r0.0 = r0
         epoch
         set r0 = null
         collect",
    );
}

/// scenarios 1, 133: a container that contains itself.
#[test]
fn array_that_contains_itself() {
    check(
        "allocate array 3 r0
         write r0.1 = r0
         epoch
         write r0.2 = r0
         flip
         set r0 = null
         collect",
    );
}

/// scenario 2: two objects that refer to each other.
#[test]
fn two_object_cycle() {
    check(
        "ring pair x 2 r0
         epoch
         epoch
         set r0 = null
         epoch
         collect",
    );
}

/// scenario 3: a cycle through a boxed cell.
#[test]
fn cycle_through_a_box() {
    check(
        "allocate boxed 0 r0
         allocate-into r0.1 pair 0
         load r1 = r0.1
         write r1.0 = r0
         set r1 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 4: a cycle of an array and an object; scenario 5: whose container was made before its contents.
#[test]
fn cycle_of_different_containers() {
    check(
        "allocate array 40 r0
         allocate triple 0 r1
         write r0.20 = r1
         epoch
         allocate records 4 r2
         write r1.1 = r2
         write r2.3 = r0
         set r1 = null
         set r2 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenarios 6, 7, 136: a cycle through every encoding of references.
#[test]
fn cycle_through_tagged_boxed_and_traced_words() {
    check(
        "allocate tagged 0 r0
         allocate boxed 0 r1
         allocate traced 0 r2
         allocate traced-array 5 r3
         write r0.2 = r1
         write r1.0 = r2
         write r2.1 = r3
         write r3.4 = r0
         set r1 = null
         set r2 = null
         set r3 = null
         epoch
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 10: parallel edges.
#[test]
fn parallel_edges_between_two_objects() {
    check(
        "allocate triple 0 r0
         allocate triple 0 r1
         fill r0.0 x 3 = r1
         fill r1.0 x 3 = r0
         epoch
         write r0.1 = null
         epoch
         set r0 = null
         epoch
         set r1 = null
         collect",
    );
}

/// scenario 11: four objects, each referring to all others.
#[test]
fn complete_graph_of_four() {
    let mut program: String = (0..4).map(|node| format!("allocate triple 0 r{node}\n")).collect();
    for node in 0..4 {
        for (slot, other) in (0..4).filter(|other| *other != node).enumerate() {
            program.push_str(&format!("write r{node}.{slot} = r{other}\n"));
        }
    }
    program.push_str("epoch\nset r0 = null\nset r1 = null\nepoch\nset r2 = null\nepoch\nset r3 = null\ncollect\n");
    check(&program);
}

/// scenario 12: one object with 10,001 references to itself.
#[test]
fn ten_thousand_self_references() {
    check(
        "allocate array 10001 r0
         fill r0.0 x 10001 = r0
         epoch
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 13: hundreds of small loops.
#[test]
fn hundreds_of_small_loops() {
    let mut program = String::from("allocate array 400 r0\n");
    for index in 0..400 {
        program.push_str(&format!("ring pair x {} r1\nwrite r0.{index} = r1\n", 1 + index % 4));
    }
    program.push_str("set r1 = null\nepoch\nepoch\nfill r0.0 x 400 = null\nepoch\ncollect\n");
    check(&program);
}

/// scenario 15: a live object hanging off a dead strongly connected component.
#[test]
fn live_object_under_a_dead_component() {
    check(
        "ring triple x 3 r0
         allocate leaf 0 r1
         write r0.1 = r1
         load r2 = r0.0
         write r2.1 = r1
         write r2.2 = r0
         set r2 = null
         epoch
         set r0 = null
         epoch
         collect
         scribble r1 7
         epoch",
    );
}

/// scenario 16: a dead cycle that only another dead cycle refers to.
#[test]
fn dead_cycle_under_a_dead_cycle() {
    check(
        "ring triple x 3 r0
         ring triple x 3 r1
         write r0.1 = r1
         set r1 = null
         epoch
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 17: objects on several overlapping cycles.
#[test]
fn overlapping_cycles() {
    check(
        "ring triple x 6 r0
         load r1 = r0.0
         load r2 = r1.0
         write r2.1 = r0
         write r2.2 = r1
         load r3 = r2.0
         write r3.1 = r1
         set r1 = null
         set r2 = null
         epoch
         set r3 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 18: a reference to a reference whose box is a candidate.
#[test]
fn double_indirection_through_a_candidate() {
    check(
        "allocate pair 0 r0
         allocate-into r0.0 pair 0
         load r1 = r0.0
         allocate-into r1.0 leaf 0
         epoch
         set r1 = null
         epoch
         load r1 = r0.0
         epoch
         set r1 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 19: a diamond below a live candidate is restored once.
#[test]
fn diamond_below_a_live_candidate() {
    check(
        "allocate pair 0 r0
         allocate-into r0.0 pair 0
         allocate-into r0.1 pair 0
         load r1 = r0.0
         load r2 = r0.1
         allocate-into r1.0 pair 0
         load r3 = r1.0
         write r2.0 = r3
         write r3.0 = r0
         allocate pair 0 r4
         write r4.0 = r0
         epoch
         set r0 = null
         set r1 = null
         set r2 = null
         set r3 = null
         epoch
         epoch
         load r0 = r4.0
         write r4.0 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 20: a cycle that hangs off a live environment does not take it along.
#[test]
fn dead_closure_of_a_live_environment() {
    check(
        "allocate array 4 r0
         ring triple x 2 r1
         write r1.1 = r0
         write r0.0 = r1
         epoch
         set r1 = null
         write r0.0 = null
         epoch
         collect
         allocate-into r0.1 leaf 0
         epoch",
    );
}

/// scenario 21: an acyclic object held by many dead cycles is freed once.
#[test]
fn shared_acyclic_leaf_of_many_dead_cycles() {
    let mut program = String::from("allocate text 50 r0\nallocate array 60 r1\n");
    for index in 0..60 {
        program.push_str(&format!("ring triple x 2 r2\nwrite r2.1 = r0\nwrite r1.{index} = r2\n"));
    }
    program.push_str("set r2 = null\nepoch\nset r1 = null\nepoch\nepoch\ncollect\nset r0 = null\nepoch\ncollect\n");
    check(&program);
}

/// scenario 24: doubly linked structures built and dropped again and again.
#[test]
fn structures_with_parent_pointers_built_and_dropped() {
    check(&"tree 6 r0\nepoch\ntree 5 r1\npoll\nset r1 = null\nflip\nstep 20\n".repeat(12));
}

/// scenario 25: a tree with parent pointers whose branch is moved.
#[test]
fn branch_of_a_tree_with_parent_pointers_moves() {
    check(
        "tree 5 r0
         epoch
         load r1 = r0.0
         write r0.0 = null
         load r2 = r0.1
         write r2.0 = r1
         write r1.2 = r2
         epoch
         set r1 = null
         set r0 = null
         epoch
         set r2 = null
         collect",
    );
}

/// scenario 26: a candidate dies by plain decrements before its trial.
#[test]
fn candidate_dies_by_counting_while_buffered() {
    check(
        "allocate pair 0 r0
         allocate pair 0 r1
         allocate pair 0 r2
         write r0.0 = r2
         write r1.0 = r2
         set r2 = null
         epoch
         write r0.0 = null
         flip
         step 1
         write r1.0 = null
         epoch
         garbage pair 0 x 200
         epoch
         collect",
    );
}

/// scenario 27: count goes up, comes down to more than zero: nothing is freed.
#[test]
fn clone_drop_collect_frees_nothing() {
    check(
        "allocate triple 0 r0
         allocate pair 0 r1
         write r0.0 = r1
         epoch
         write r0.1 = r1
         epoch
         write r0.1 = null
         epoch
         collect
         write r0.0 = null
         collect",
    );
}

/// scenario 28: more than ten thousand candidates.
#[test]
fn ten_thousand_candidates() {
    check(
        "hub x 12000 r0
         list pair x 12000 r1
         epoch
         copy r0.0 = r0.1 x 11999
         epoch
         set r1 = null
         epoch
         fill r0.0 x 12000 = null
         epoch
         set r0 = null
         collect",
    );
}

/// scenario 33: a second collection has nothing to do and changes nothing.
#[test]
fn collect_twice() {
    check(
        "ring pair x 10 r0
         list triple x 10 r1
         set r0 = null
         collect
         collect
         collect",
    );
}

/// scenario 156: a cycle whose last outside reference is moved through no root while an epoch is under way.
#[test]
fn only_reference_moves_while_an_epoch_is_under_way() {
    let moves: String = (0..40).map(|units| format!("flip\nstep {units}\nswap r0.0 r1.0\nstep 1\n")).collect();
    check(&format!(
        "allocate pair 0 r0
         allocate pair 0 r1
         ring pair x 5 r2
         write r0.0 = r2
         set r2 = null
         epoch
         {moves}
         epoch
         write r0.0 = null
         write r1.0 = null
         collect"
    ));
}

/// A cycle is cut open and closed again around a trial.
#[test]
fn ring_cut_and_closed_again_while_it_is_a_candidate() {
    check(
        "ring triple x 8 r0
         allocate pair 0 r1
         write r1.0 = r0
         epoch
         load r2 = r0.0
         set r0 = null
         flip
         step 3
         load r3 = r2.0
         write r2.0 = null
         step 3
         write r2.0 = r3
         set r3 = null
         set r2 = null
         epoch
         write r1.0 = null
         epoch
         epoch
         collect",
    );
}
