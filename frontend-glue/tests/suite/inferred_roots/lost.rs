//! References that had no root, or no barrier, each in its situation.

use super::{EITHER, PLANS, TEXTS, prints, typed};
use tally_kit::folder::Folder;

const HEADER: &str = "#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { REF(struct Node) next; long value; } Node;
REF(Node) make(long value);
long sum(void);
";

/// It has no gc function of its own, and nothing but calls said that there are references.
const CALLS_ONLY: &str = "#include \"n.h\"
long sum(void) {
    REF(Node) one = make(1);
    REF(Node) two = make(2);
    return one->value + two->value;
}
";

const MAKES: &str = "#include \"n.h\"
TALLY_SHARED_TYPE(Node, next);
REF(Node) make(long value) {
    for (int i = 0; i < 100; i++) NEW(Node)->value = 1000;
    tally_collect();
    REF(Node) node = NEW(Node);
    node->value = value;
    return node;
}
int main(void) { printf(\"%ld\\n\", sum()); }
";

#[test]
fn file_that_only_calls_functions_of_another_has_roots() {
    let header = format!("{EITHER}{HEADER}");
    for (header, options) in [(&header, &["--roots", "auto"][..]), (&typed(&header), &[])] {
        let folder = Folder::with(&[("n.h", header), ("calls.c", CALLS_ONLY), ("makes.c", MAKES)]);
        let words = [options, &["calls.c", "makes.c"]].concat();
        folder.prints_under_all_plans(&["--leak-check", "--zeal"], &words, "3\n");
    }
}

/// Modules of IR in which no function has a strategy.
const IR_THAT_MAKES: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@box = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0,
                              ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @tally_collect()
define ptr @make(i64 %value) {
  %box = call ptr @tally_new(ptr @box)
  %place = getelementptr i8, ptr %box, i64 8
  store i64 %value, ptr %place
  call void @tally_collect()
  ret ptr %box
}
"#;
const IR_THAT_ONLY_CALLS: &str = r#"
@format = private constant [6 x i8] c"%lld\0A\00"
declare ptr @make(i64)
declare i32 @printf(ptr, ...)
define i32 @main() {
  %first = call ptr @make(i64 2)
  %in_first = getelementptr i8, ptr %first, i64 8
  %second = call ptr @make(i64 40)
  %other = call ptr @make(i64 1000)
  %in_second = getelementptr i8, ptr %second, i64 8
  %one = load i64, ptr %in_first
  %two = load i64, ptr %in_second
  %sum = add i64 %one, %two
  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 %sum)
  ret i32 0
}
"#;

#[test]
fn ir_in_which_no_function_has_a_strategy_keeps_what_it_uses() {
    let folder = Folder::with(&[("makes.ll", IR_THAT_MAKES), ("main.ll", IR_THAT_ONLY_CALLS)]);
    let words = ["--roots", "auto", "main.ll", "makes.ll"];
    folder.prints_under_all_plans(&["--leak-check", "--zeal"], &words, "42\n");
}

#[test]
fn helper_that_stores_a_typed_reference_and_calls_nothing_has_a_barrier() {
    let program = "#include \"n.h\"
TALLY_TYPE(Node, next);
static void set_next(REF(Node) node, REF(Node) next) { node->next = next; }
REF(Node) make(long value) { REF(Node) node = NEW(Node); node->value = value; return node; }
int main(void) {
    REF(Node) head = make(1);
    set_next(head, make(5));
    tally_collect();
    for (int i = 0; i < 100; i++) make(2000 + i);
    printf(\"%ld\\n\", head->next->value);
}
";
    let header = typed(&format!("{EITHER}{HEADER}"));
    prints(&Folder::with(&[("n.h", &header), ("program.c", program)]), "program.c", &[], "5\n");
}

/// A program of IR in which `make(next, value)` makes a node and `churn()` collects and makes others.
fn prints_of_ir(main: &str, expected: &str) {
    let text = format!(
        r#"
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()
declare i32 @printf(ptr, ...)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
@Node = external constant i8
@number = private constant [5 x i8] c"%ld\0A\00"
!tally.types = !{{!0}}
!0 = !{{ptr @Node, !"size", i64 24, !"refs", !{{i32 0, i32 16}}}}
define ptr addrspace(1) @make(ptr addrspace(1) %next, i64 %value) noinline gc "refcount" {{
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  store ptr addrspace(1) %next, ptr addrspace(1) %node
  %at = getelementptr i8, ptr addrspace(1) %node, i64 8
  store i64 %value, ptr addrspace(1) %at
  ret ptr addrspace(1) %node
}}
define void @churn() noinline gc "refcount" {{
  call void @tally_collect()
  %x = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 77)
  %y = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 78)
  ret void
}}
define void @print(ptr addrspace(1) %node) gc "refcount" {{
  %at = getelementptr i8, ptr addrspace(1) %node, i64 8
  %value = load i64, ptr addrspace(1) %at
  call i32 (ptr, ...) @printf(ptr @number, i64 %value)
  ret void
}}
define internal void @clear(ptr addrspace(1) %node) gc "refcount" {{
  store ptr addrspace(1) null, ptr addrspace(1) %node
  ret void
}}
{main}"#
    );
    prints(&Folder::with(&[("m.ll", &text)]), "m.ll", &[], expected);
}

/// clang marks its functions so without optimisation: variables stayed variables, and one that held a pointer into an object a root.
#[test]
fn pointer_into_an_object_in_a_variable_of_a_function_that_is_not_optimised() {
    let main = r#"
define i32 @main() noinline optnone gc "refcount" {
  %place = alloca ptr addrspace(1)
  %o = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 5)
  %v = getelementptr i8, ptr addrspace(1) %o, i64 8
  store ptr addrspace(1) %v, ptr %place
  call void @churn()
  %again = load ptr addrspace(1), ptr %place
  %back = getelementptr i8, ptr addrspace(1) %again, i64 -8
  call void @print(ptr addrspace(1) %back)
  ret i32 0
}
"#;
    prints_of_ir(main, "5\n");
}

/// Under the prompt plan: the leaf's body used the plain pointer that the reference had been cast from, and the root ended before it.
#[test]
fn reference_that_is_used_as_the_plain_pointer_it_was_cast_from() {
    let main = r#"
define i32 @main() gc "refcount" {
  %a = call ptr addrspace(1) @tally_new(ptr @Node)
  %b = call ptr addrspace(1) @tally_new(ptr @Node)
  %c = call ptr addrspace(1) @tally_new(ptr @Node)
  call void @clear(ptr addrspace(1) %b)
  call void @print(ptr addrspace(1) %a)
  ret i32 0
}
"#;
    prints_of_ir(main, "0\n");
}

/// A place behind `freeze` was not seen to be a word of the object.
#[test]
fn copy_to_an_object_behind_a_freeze_has_a_barrier() {
    let main = r#"
define i32 @main() gc "refcount" {
  %to = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 1)
  %leaf = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 5)
  %from = call ptr addrspace(1) @make(ptr addrspace(1) %leaf, i64 2)
  %frozen = freeze ptr addrspace(1) %to
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %frozen, ptr addrspace(1) %from, i64 24, i1 false)
  call void @churn()
  %kept = load ptr addrspace(1), ptr addrspace(1) %to
  call void @print(ptr addrspace(1) %kept)
  ret i32 0
}
"#;
    prints_of_ir(main, "5\n");
}

/// As frontends that give variables a size and no type have them.
#[test]
fn typed_reference_in_a_variable_of_a_number_is_a_root() {
    for of in ["i64", "[16 x i8]"] {
        let main = format!(
            r#"
define i32 @main() gc "refcount" {{
  %variable = alloca {of}, align 8
  %o = call ptr addrspace(1) @make(ptr addrspace(1) null, i64 5)
  store ptr addrspace(1) %o, ptr %variable
  call void @churn()
  %again = load ptr addrspace(1), ptr %variable
  call void @print(ptr addrspace(1) %again)
  ret i32 0
}}
"#
        );
        prints_of_ir(&main, "5\n");
    }
}

/// Frontends that build SSA as they go leave phis that choose one object: the copy had no barrier.
const THROUGH_A_PHI: &str = r#"
@P = external constant i8
!tally.types = !{!0}
!0 = !{ptr @P, !"size", i64 16, !"refs", !{i32 0}}
@fmt = private constant [5 x i8] c"%ld\0A\00"
declare i32 @printf(ptr, ...)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()
define ptr addrspace(1) @make(i64 %v) noinline gc "refcount" {
  %o = call ptr addrspace(1) @tally_new(ptr @P)
  %f = getelementptr i8, ptr addrspace(1) %o, i64 8
  store i64 %v, ptr addrspace(1) %f
  ret ptr addrspace(1) %o
}
define void @fill(ptr addrspace(1) %p, i64 %n) noinline gc "refcount" {
entry:
  %y = call ptr addrspace(1) @make(i64 1)
  %c = call ptr addrspace(1) @make(i64 4242)
  store ptr addrspace(1) %c, ptr addrspace(1) %y
  br label %l
l:
  %x = phi ptr addrspace(1) [ %p, %entry ], [ %x, %l ]
  %i = phi i64 [ 0, %entry ], [ %i2, %l ]
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %x, ptr addrspace(1) %y, i64 8, i1 false)
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, %n
  br i1 %more, label %l, label %e
e:
  ret void
}
define i32 @main() gc "refcount" {
  %p = call ptr addrspace(1) @make(i64 7)
  call void @tally_collect()
  call void @fill(ptr addrspace(1) %p, i64 3)
  call void @tally_collect()
  %a = call ptr addrspace(1) @make(i64 1)
  %b = call ptr addrspace(1) @make(i64 2)
  %d = call ptr addrspace(1) @make(i64 3)
  %c = load ptr addrspace(1), ptr addrspace(1) %p
  %f = getelementptr i8, ptr addrspace(1) %c, i64 8
  %v = load i64, ptr addrspace(1) %f
  %r = call i32 (ptr, ...) @printf(ptr @fmt, i64 %v)
  ret i32 0
}
"#;

#[test]
fn bytes_that_are_copied_through_a_phi_of_one_object_have_a_barrier() {
    let phi = "%x = phi ptr addrspace(1) [ %p, %entry ], [ %x, %l ]";
    assert!(THROUGH_A_PHI.contains(phi));
    let select = "%first = icmp eq i64 %i, 0\n  %x = select i1 %first, ptr addrspace(1) %p, ptr addrspace(1) %p";
    let chosen = THROUGH_A_PHI.replace(phi, "").replace("[ %i2, %l ]", &format!("[ %i2, %l ]\n  {select}"));
    let folder = Folder::with(&[("phi.ll", THROUGH_A_PHI), ("select.ll", &chosen)]);
    for (plan, file) in PLANS.into_iter().flat_map(|plan| ["phi.ll", "select.ll"].map(|file| (plan, file))) {
        for way in [&["--epoch-bytes", "4KiB"][..], &["--zeal"]] {
            let run = [&["run", "--plan", plan], way, &[file]].concat();
            let outcome = folder.tally(&run);
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "4242\n"), "{run:?}: {outcome:?}");
        }
    }
}

/// Beside `HEADER`: what `setjmp` returned to. A call between its two returns runs a collection; `node` is used behind the second one
/// only, and on one way to that call it was never made.
const RETURNS_TWICE: &str = "#include \"n.h\"
#include <setjmp.h>
TALLY_TYPE(Node, next);
static jmp_buf before;
__attribute__((noinline)) REF(Node) make(long value) {
    REF(Node) node = NEW(Node);
    node->value = value;
    return node;
}
__attribute__((noinline)) static void leave(long times) {
    tally_collect();
    for (int i = 0; i < 100; i++) make(2000 + i);
    if (times < 3) longjmp(before, 1);
}
__attribute__((noinline)) static long twice(int makes_one) {
    static long times;
    long value = 0;
    times = makes_one ? 0 : 3;
    if (makes_one) {
        REF(Node) node = make(7);
        REF(Node) other = make(8);
        if (setjmp(before)) {
            times++;
            value = node->value + other->value;
        }
    }
    leave(times);
    return value;
}
int main(void) { printf(\"%ld %ld\\n\", twice(1), twice(0)); }
";

#[test]
fn what_is_used_behind_the_second_return_of_setjmp_is_rooted_until_then() {
    let header = format!("{EITHER}{HEADER}");
    for (header, options) in [(&header, &["--roots", "auto"][..]), (&typed(&header), &[])] {
        let folder = Folder::with(&[("n.h", header), ("twice.c", RETURNS_TWICE)]);
        prints(&folder, "twice.c", options, "15 0\n");
    }
}

/// A coroutine goes on after the switch that entered it has returned: only the coroutine holds its argument. Its
/// entry is in another file, or in a table.
const ENTERED: &str = r#"
#include "n.h"
TALLY_SHARED_TYPE(Node, next);
void *entry(void *first);
static void *other(void *first) {
    REF(Node) node = (REF(Node))first;
    tally_stack_switch(NULL, NULL);
    long sum = node->value;
    tally_stack_switch(NULL, NULL);
    printf("%ld %ld\n", sum, node->value);
    return NULL;
}
static void *(*const entries[])(void *) = {entry, other};
static void begin(void *stack, long value) {
    REF(Node) node = NEW(Node);
    node->value = value;
    tally_stack_switch(stack, (void *)node);
}
int main(void) {
    for (long i = 0; i < 6; i++) {
        REF(void) stack = (REF(void))tally_stack_new(entries[i % 2], 0);
        begin((void *)stack, i);
        for (long turn = 0; turn < 2; turn++) {
            for (long n = 0; n < 500; n++) NEW(Node)->value = -1;
            tally_collect();
            tally_stack_switch((void *)stack, NULL);
        }
    }
}
"#;

const ENTRY: &str = r#"
#include "n.h"
void *entry(void *first) {
    REF(Node) node = (REF(Node))first;
    tally_stack_switch(NULL, NULL);
    tally_stack_switch(NULL, NULL);
    printf("%ld\n", node->value);
    return NULL;
}
"#;

#[test]
fn argument_of_a_coroutine_is_there_after_the_switch_that_handed_it_over_has_returned() {
    let header = format!("{EITHER}{HEADER}");
    for (header, options) in [(&header, &["--roots", "auto"][..]), (&typed(&header), &[])] {
        let folder = Folder::with(&[("n.h", header), ("entered.c", ENTERED), ("entry.c", ENTRY)]);
        prints(&folder, "entered.c", &[options, &["entry.c"]].concat(), "0\n1 1\n2\n3 3\n4\n5 5\n");
    }
}

/// The loop has no safepoint of its own, so its argument had no root, and then it was given a poll, since callers keep arguments. The
/// caller is gone.
const TAIL_CALLED: &str = r#"
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
@number = private constant [5 x i8] c"%ld\0A\00"
@kept = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare i32 @printf(ptr, ...)
define ptr @work(ptr %node, i64 %turns) noinline gc "refcount" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %holder = load ptr, ptr @kept
  call void @llvm.gcwrite(ptr %holder, ptr %holder, ptr %holder)
  call void @llvm.gcwrite(ptr null, ptr %holder, ptr %holder)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %turns
  br i1 %more, label %loop, label %done
done:
  %at = getelementptr i8, ptr %node, i64 8
  %value = load i64, ptr %at
  %x = inttoptr i64 %value to ptr
  ret ptr %x
}
define ptr @start(ptr %unused, i64 %turns) noinline gc "refcount" {
  %holder = call ptr @tally_new(ptr @Node)
  call void @llvm.gcwrite(ptr %holder, ptr @kept, ptr @kept)
  %node = call ptr @tally_new(ptr @Node)
  %at = getelementptr i8, ptr %node, i64 8
  store i64 42, ptr %at
  %r = musttail call ptr @work(ptr %node, i64 %turns)
  ret ptr %r
}
define i32 @main() gc "refcount" {
  %value = call ptr @start(ptr null, i64 100000)
  %n = ptrtoint ptr %value to i64
  call i32 (ptr, ...) @printf(ptr @number, i64 %n)
  call void @llvm.gcwrite(ptr null, ptr @kept, ptr @kept)
  ret i32 0
}
"#;

#[test]
fn argument_of_a_guaranteed_tail_call_is_there_behind_a_loop_that_is_polled() {
    prints(&Folder::with(&[("tail.ll", TAIL_CALLED)]), "tail.ll", &["--roots", "auto"], "42\n");
}

/// Whatever the type of the function, and whoever may call it: it is that of a coroutine's entry, too.
#[test]
fn a_pointer_into_an_object_is_the_argument_of_a_function_that_allocates() {
    const COPY: &str = r#"
char *copy_of(const char *bytes) {
    text_of("some garbage, and more");
    return text_of(bytes);
}
"#;
    const PROGRAM: &str = r#"
char *copy_of(const char *bytes);
int main(void) {
    Text *text = (Text *)text_of("01234567b");
    for (long i = 0; i < 3; i++) text = (Text *)copy_of(text->bytes);
    printf("%s\n", text->bytes);
}
"#;
    let copy = [TEXTS, COPY].concat();
    let folder = Folder::with(&[("copy.c", &copy), ("inner.c", &[TEXTS, PROGRAM].concat())]);
    prints(&folder, "inner.c", &["--roots", "auto", "copy.c"], "01234567b\n");
}
