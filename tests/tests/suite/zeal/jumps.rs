//! Prompt plan, zeal: `longjmp` leaves counts of the frames behind that it skips. Those are allowed for, and no others.

use super::{run, run_with};
use tally_kit::tally_command::describe;

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

/// A module without managed functions is native code.
const NATIVE: &str = r#"
define void @native_run_thrice(ptr %function, i64 %depth) uwtable {
  call void @native_run(ptr %function, i64 %depth)
  call void @native_run(ptr %function, i64 %depth)
  call void @native_run(ptr %function, i64 %depth)
  ret void
}
@back = internal global [32 x i64] zeroinitializer
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
define void @native_run(ptr %function, i64 %depth) uwtable returns_twice {
  %again = call i32 @_setjmp(ptr @back) returns_twice
  %first = icmp eq i32 %again, 0
  br i1 %first, label %run, label %end
run:
  call void %function(i64 %depth)
  ret void
end:
  ret void
}
define void @native_leave() uwtable {
  call void @longjmp(ptr @back, i32 1)
  unreachable
}
"#;

const NATIVE_JUMPS: &str = r#"#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
extern void native_run(void (*)(long), long);
extern void native_leave(void);
static Node *kept;
static jmp_buf back;
static void leave(long depth) {
    Node *own = TALLY_NEW(Node), *more = NULL;
    TALLY_ROOT(own, more);
    more = TALLY_NEW(Node);
    own->value = depth;
    TALLY_WRITE(own, next, more);
    TALLY_WRITE_GLOBAL(kept, more);
    if (depth == 0) native_leave();
    leave(depth - 1);
    TALLY_NEW(Node);
    printf("%ld\n", own->value + more->value);
}
static void over(void) {
    Node *own = TALLY_NEW(Node);
    TALLY_ROOT(own);
    TALLY_NEW(Node);
    longjmp(back, 1);
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (int i = 0; i < 8; i++) {
        if (i % 3 == 1 && !setjmp(back)) over();
        native_run(leave, i % 4);
        list = TALLY_NEW(Node);
        TALLY_WRITE(list, next, kept);
        for (int k = 0; k < 10; k++) TALLY_NEW(Node);
    }
    Node *later = TALLY_NEW(Node);
    TALLY_ROOT(later);
    later->value = 4;
    list->value = 3;
    for (int k = 0; k < 10; k++) TALLY_NEW(Node);
    WRONG
    TALLY_NEW(Node);
    printf("%ld\n", later->value + list->value);
}
"#;

fn run_beside_native_code(level: &str, wrong: &str) -> std::process::Output {
    run_with_native_code(level, &NATIVE_JUMPS.replace("WRONG", wrong))
}

fn run_with_native_code(level: &str, program: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a folder");
    let native = folder.path().join("native.ll");
    std::fs::write(&native, NATIVE).expect("the folder can be written to");
    let native = native.display().to_string();
    let options = ["--zeal", "--plan", "refcount-prompt", "--opt", level, &native];
    run_with(&options, "program.c", program, &[])
}

#[test]
fn native_code_jumps_to_its_own_setjmp_over_managed_frames() {
    for level in ["0", "1", "2", "3"] {
        let output = run_beside_native_code(level, "");
        assert!(output.status.success() && output.stdout == b"7\n", "--opt {level}: {}", describe(&output));
    }
}

#[test]
fn count_taken_up_once_too_often_after_a_jump_of_native_code() {
    for level in ["0", "2"] {
        let output = run_beside_native_code(level, "tally_increment((uint64_t)(uintptr_t)later); TALLY_NEW(Node);");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let right = output.status.code() == Some(5) && message.contains("references in objects, and at most");
        assert!(right, "--opt {level}: {}", describe(&output));
    }
}

/// Protected calls as interpreters make them, one after the other from the same place: each look at the stack finds the same native frames.
const PROTECTED_CALLS: &str = r#"#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
extern void native_run_thrice(void (*)(long), long);
extern void native_leave(void);
static Node *node(long value, Node *next) {
    TALLY_ROOT(next);
    Node *made = TALLY_NEW(Node);
    made->value = value;
    TALLY_WRITE(made, next, next);
    return made;
}
static void leave(long depth) {
    Node *own = node(depth, NULL), *more = NULL;
    TALLY_ROOT(own, more);
    more = node(depth, own);
    own = node(depth, NULL);
    if (depth == 0) native_leave();
    leave(depth - 1);
    printf("%ld\n", own->value + more->value);
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (int i = 0; i < 4; i++) {
        native_run_thrice(leave, i % 3);
        for (int k = 0; k < 5; k++) list = node(k, node(i, NULL));
    }
    printf("%ld %ld\n", list->value, list->next->value);
}
"#;

#[test]
fn native_code_catches_again_and_again_from_the_same_place() {
    for level in ["0", "2"] {
        let output = run_with_native_code(level, PROTECTED_CALLS);
        assert!(output.status.success() && output.stdout == b"4 3\n", "--opt {level}: {}", describe(&output));
    }
}
