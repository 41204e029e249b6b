//! Op programs about stacks: each stands for a bug that one like it has found, or for a rule that whole programs seldom reach.

use tally_tests::setup::{check, check_taste_in_every_setup};
use tally_tests::strategies::Taste;

/// scenarios 109, 112: every setup, with programs that do little else than to call and to switch.
#[test]
fn stacks_agree_with_the_model_in_every_setup() {
    let switches = check_taste_in_every_setup(Taste::Stacks).switches;
    assert!(switches > 1000, "{switches} switches are next to nothing");
}

/// The image of the stack that stopped last was laid over objects that had become young.
#[test]
fn image_of_a_stopped_stack_is_laid_down_when_a_heap_counts_again() {
    check(
        "generator x 3 r15\nresume 0\nring-generator x 0 r4\ngenerator x 280 r2\nfail 1\nset r2 = r15\nring medium x 1 r4\n\
         allocate huge 0 r0\nstack r2\nyield\ntoggle r7.0 r4 x 2\n",
    );
}

/// A cycle through a stack that had run since the last look at roots was left.
#[test]
fn collection_in_parts_takes_a_cycle_through_a_stack_that_has_just_run() {
    check(&format!("ring-generator x 1 r4\nset r4 = null\n{}", "part\n".repeat(40)));
}

/// Without memory the frames of a stopped stack stay roots, with a cycle through them, until there is some.
#[test]
fn cycle_through_a_stack_waits_for_memory_to_lay_it_down() {
    check("limit 1789\nhub x 3 r3\nlist medium x 351 r9\nring-generator x 8 r3\nallocate leaf 0 r3\ncollect\n");
}

/// The frames that a flip has left for later are visited before the program comes back to them, leaves the stack, or jumps.
#[test]
fn frames_that_wait_are_returned_to_left_behind_and_jumped_over() {
    let deep = "allocate pair 0 r0\nallocate pair 0 r1\nwrite r0.0 = r1\nepoch\nstack r2\nrecurse x 30 r0\nset r0 = null\nflip\n";
    for then in
        ["return x 28\nframe-write 0 = null\n", "switch r2\nyield\nreturn x 29\n", "jump 4\nframe-write 0 = null\n"]
    {
        check(&format!("at-once 3\n{deep}{then}poll\nstep 50\nepoch\nepoch\ncollect\n"));
    }
}

/// A walk waits at the oldest frame, to which a jump leads: what that held at the flip, a register alone holds afterwards.
#[test]
fn frame_that_waits_is_changed_after_a_jump() {
    check(
        "allocate pair 0 r0\ncall 1\nframe-write 0 = r0\nset r0 = null\nepoch\nepoch\nrecurse x 10 r5\nflip\njump 1\n\
         frame-read r4 = 0\nframe-write 0 = null\nepoch\nepoch\ncollect\n",
    );
}

/// After the jump all that was logged counted as held: members of a list that was being taken apart, too, and those died twice.
#[test]
fn jump_over_frames_that_wait_while_a_list_dies_in_a_block_that_is_logged() {
    check(
        "recurse x 7 r11\nstack r4\nlist aligned-16 x 290 r0\nresume 0\nepoch\nwrite r0.0 = r3\nlist boxed x 470 r3\nyield\n\
         toggle r0.0 r8 x 11\njump 0\nstep 0\nallocate triple 0 r3\npoll\n",
    );
}

/// A frame that lends its slots is visited at once, and a stack that waits with one is not laid down where others may store to it.
#[test]
fn slots_of_waiting_stacks_are_stored_to_by_others() {
    check(
        "allocate pair 0 r0\nstack r1\ncall-lending 2\nframe-write 0 = r0\nswitch r1\nset r0 = null\nepoch\nallocate pair 0 r3\n\
         lent-write 0 = r3\nset r3 = null\nepoch\nepoch\nyield\nframe-read r4 = 0\ncollect\n",
    );
}

/// More references than one part of an image has.
#[test]
fn image_of_a_wide_frame_has_several_parts() {
    check(
        "allocate pair 0 r0\nstack r1\nswitch r1\ncall 1500\nrecurse x 500 r0\nframe-write 0 = r1\nyield\nepoch\nset r1 = null\ncollect\n",
    );
}

/// A thousand frames hold one object: its count is stuck under the deferred plan, and exact under the prompt plan.
#[test]
fn object_that_many_stopped_frames_hold_dies_with_them() {
    check(
        "allocate pair 0 r0\nstack r1\nswitch r1\nrecurse x 400 r0\nyield\nset r0 = null\nepoch\nresume 0\npoll\nyield\nepoch\n\
         close-stack r1\nepoch\ncollect\n",
    );
}

/// The key was young when the collection began, and the value was held as if by a root while increments were pending: the mark of the
/// same flip found it alive.
#[test]
fn stack_that_an_ephemeron_with_a_dead_young_key_holds_is_collected() {
    let program = "generator x 32 r7\nflip\nallocate leaf 0 r2\nresume 0\nring-generator x 1 r1\nephemeron r0 = r2 r1\n\
                   generator x 0 r2\nstack r1\n";
    check(&format!("{program}collect\n"));
    check(&format!("{program}{}", "part\n".repeat(40)));
}

/// A heap at its limit had no memory for the image of a stack that had just stopped, so the cycle through it, which held nearly all of the
/// heap, was not found: the program was told that the limit was reached.
#[test]
fn stack_that_holds_a_full_heap_and_itself_is_collected() {
    check(
        "stack r0\nglobal-handle 1 = r0\ngenerator x 1 r1\nlist medium x 421 r0\nswitch r1\nhub x 4 r15\nframe-write 0 = r1\nrecurse x 3 r0\n\
         yield\nfind-stack r1 = 6\ntree 4 r3\nstack r0\nhub x 5 r0\n",
    );
}
