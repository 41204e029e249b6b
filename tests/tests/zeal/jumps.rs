//! Prompt plan, zeal: `longjmp` leaves counts of the frames behind that it skips. Those are allowed for, and no others.

use super::run;
use tally_tests::tally_command::describe;

const JUMPS: &str = r#"#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static jmp_buf back;
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void work(void) {
    for (int i = 0; i < 3; i++) node(i);
}
static void leave(Node *held, int depth) {
    TALLY_ROOT(held);
    Node *own = node(depth), *more = held;
    TALLY_ROOT(own, more);
    work();
    TALLY_WRITE(own, next, more);
    if (depth == 0) longjmp(back, 1);
    leave(own, depth - 1);
    work();
    printf("%ld %ld %ld\n", own->value, more->value, held->value);
}
int main(void) {
    Node *first = node(1);
    TALLY_ROOT(first);
    for (int i = 0; i < 4; i++) {
        if (!setjmp(back)) leave(first, i);
        work();
    }
    Node *later = node(2);
    TALLY_ROOT(later);
    for (int i = 0; i < 30; i++) work();
    WRONG
    work();
    TALLY_WRITE(later, next, first);
    first = NULL;
    for (int i = 0; i < 30; i++) work();
    printf("%ld %ld\n", later->value, later->next->value);
}
"#;

#[test]
fn frames_that_are_jumped_over_leave_counts_behind() {
    for level in ["0", "1", "2", "3"] {
        let output = run("refcount-prompt", level, "program.c", &JUMPS.replace("WRONG", ""));
        assert!(output.status.success() && output.stdout == b"2 1\n", "--opt {level}: {}", describe(&output));
    }
}

#[test]
fn count_taken_up_once_too_often_after_a_jump() {
    let once = "tally_increment((uint64_t)(uintptr_t)later);";
    // What a root held at the landing may have been left behind once.
    let twice = "tally_increment((uint64_t)(uintptr_t)first); tally_increment((uint64_t)(uintptr_t)first);";
    for wrong in [once, twice] {
        for level in ["0", "2"] {
            let output = run("refcount-prompt", level, "program.c", &JUMPS.replace("WRONG", wrong));
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let right = output.status.code() == Some(5)
                && message.contains("invariant EXACT violated")
                && message.contains("references in objects, and at most");
            assert!(right, "{wrong} --opt {level}: {}", describe(&output));
        }
    }
}
