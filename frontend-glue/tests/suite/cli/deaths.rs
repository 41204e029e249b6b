//! When objects die under the prompt plan, as their destructors see it: exceptions let roots go, locals die in their order,
//! and the remarks say which counts were saved.

use std::path::Path;
use tally_kit::folder::{Folder, Outcome};

const LEVELS: [&str; 4] = ["0", "1", "2", "3"];

/// A type with a destructor, which adds the object's number to the digits of `@seen`, and counts.
const GUARD: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [6 x i8] c"Guard\00"
@Guard = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null,
    i64 0, i64 0, ptr null, ptr @name, ptr @die, ptr null, ptr null, ptr null }
@died = global i64 0
@seen = global i64 0
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr) nounwind
declare void @throw()
declare i32 @__gcc_personality_v0(...)
define void @die(ptr %o) nounwind {
  %n = load i64, ptr %o
  %died = load i64, ptr @died
  %more = add i64 %died, 1
  store i64 %more, ptr @died
  %seen = load i64, ptr @seen
  %shifted = mul i64 %seen, 10
  %sum = add i64 %shifted, %n
  store i64 %sum, ptr @seen
  ret void
}
define ptr @guard(i64 %n) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @Guard)
  store i64 %n, ptr %o
  ret ptr %o
}
"#;

fn run_at_all_levels(program: &str) {
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hazards/native.c");
    let folder = Folder::with(&[("program.ll", &format!("{GUARD}{program}"))]);
    for level in LEVELS {
        let outcome = folder.tally(&["run", "--opt", level, "program.ll", native.to_str().unwrap()]);
        assert_eq!(outcome, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() }, "--opt {level}");
    }
}

/// scenario 124.
#[test]
fn two_thousand_exceptions_let_the_roots_of_ten_frames_go() {
    run_at_all_levels(
        r#"
define void @deep(i64 %n) noinline gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %o = call ptr @guard(i64 %n)
  store ptr %o, ptr %root
  %last = icmp eq i64 %n, 0
  br i1 %last, label %bottom, label %inner
bottom:
  call void @throw()
  unreachable
inner:
  %less = sub i64 %n, 1
  call void @deep(i64 %less)
  %again = load ptr, ptr %root
  %x = load i64, ptr %again
  ret void
}
define void @stop() noinline gc "refcount-prompt" personality ptr @__gcc_personality_v0 {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %o = call ptr @guard(i64 1)
  store ptr %o, ptr %root
  invoke void @deep(i64 8) to label %never unwind label %landing
never:
  unreachable
landing:
  %pad = landingpad { ptr, i32 } cleanup
  ret void
}
define i32 @main() nounwind gc "refcount-prompt" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @stop()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 2000
  br i1 %more, label %loop, label %end
end:
  %died = load i64, ptr @died
  %right = icmp eq i64 %died, 20000
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
"#,
    );
}

/// scenario 120: what was made for an argument list that never became a call is let go where the exception arrives.
#[test]
fn half_an_argument_list_is_let_go_when_the_rest_of_it_throws() {
    run_at_all_levels(
        r#"
define void @both(ptr %a, ptr %b) noinline gc "refcount-prompt" {
  ret void
}
define ptr @other_argument(i1 %fails) noinline gc "refcount-prompt" {
  br i1 %fails, label %fail, label %succeed
fail:
  call void @throw()
  unreachable
succeed:
  %o = call ptr @guard(i64 2)
  ret ptr %o
}
define void @call(i1 %fails) noinline gc "refcount-prompt" personality ptr @__gcc_personality_v0 {
  %first = alloca ptr
  call void @llvm.gcroot(ptr %first, ptr null)
  %a = call ptr @guard(i64 1)
  store ptr %a, ptr %first
  %b = invoke ptr @other_argument(i1 %fails) to label %complete unwind label %landing
complete:
  call void @both(ptr %a, ptr %b)
  ret void
landing:
  %pad = landingpad { ptr, i32 } cleanup
  ret void
}
define i32 @main() nounwind gc "refcount-prompt" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %odd = trunc i64 %i to i1
  call void @call(i1 %odd)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %loop, label %end
end:
  %died = load i64, ptr @died
  %right = icmp eq i64 %died, 1500
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
"#,
    );
}

/// Read literally, a fresh object waits on the pending list from its birth on: the second was there first.
#[test]
fn locals_die_in_reverse_order_of_their_declaration_whatever_was_made_first() {
    run_at_all_levels(
        r#"
define void @locals() noinline nounwind gc "refcount-prompt" {
  %first = alloca ptr
  %second = alloca ptr
  call void @llvm.gcroot(ptr %first, ptr null)
  call void @llvm.gcroot(ptr %second, ptr null)
  %b = call ptr @guard(i64 2)
  store ptr %b, ptr %second
  %a = call ptr @guard(i64 1)
  store ptr %a, ptr %first
  ret void
}
define void @other_way_round() noinline nounwind gc "refcount-prompt" {
  %first = alloca ptr
  %second = alloca ptr
  call void @llvm.gcroot(ptr %first, ptr null)
  call void @llvm.gcroot(ptr %second, ptr null)
  %a = call ptr @guard(i64 3)
  store ptr %a, ptr %first
  %b = call ptr @guard(i64 4)
  store ptr %b, ptr %second
  ret void
}
define i32 @main() nounwind gc "refcount-prompt" {
  call void @locals()
  call void @other_way_round()
  %seen = load i64, ptr @seen
  %right = icmp eq i64 %seen, 2143
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
"#,
    );
}

/// Between the two calls of setjmp and longjmp a root was stored to: it is let go once, and what it held before, too.
#[test]
fn a_root_that_was_stored_to_before_a_longjmp_is_let_go() {
    run_at_all_levels(
        r#"
declare i32 @_setjmp(ptr) returns_twice nounwind
declare void @longjmp(ptr, i32) noreturn nounwind
define void @jumps() noinline nounwind gc "refcount-prompt" {
  %buffer = alloca [64 x i64], align 16
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %jumped = call i32 @_setjmp(ptr %buffer)
  %first = icmp eq i32 %jumped, 0
  br i1 %first, label %on, label %back
on:
  %o = call ptr @guard(i64 5)
  store ptr %o, ptr %root
  call void @longjmp(ptr %buffer, i32 1)
  unreachable
back:
  %p = call ptr @guard(i64 6)
  store ptr %p, ptr %root
  ret void
}
define i32 @main() nounwind gc "refcount-prompt" {
  call void @jumps()
  %seen = load i64, ptr @seen
  %right = icmp eq i64 %seen, 56
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
"#,
    );
}

#[test]
fn remarks_say_which_counts_were_saved() {
    let program = "define void @one() nounwind gc \"refcount-prompt\" {\n  %r = alloca ptr\n  \
        call void @llvm.gcroot(ptr %r, ptr null)\n  %o = call ptr @guard(i64 1)\n  store ptr %o, ptr %r\n  ret void\n}\n";
    let folder = Folder::with(&[("one.ll", &format!("{GUARD}{program}"))]);
    let shown = folder.tally(&["lower", "--remarks", "one.ll", "-o", "one.bc"]);
    assert_eq!(shown.status, Some(0), "{shown:?}");
    let line = "in @one: remark: no count: the value's own count moves to root `r` [-Rpass=tally-count]\n";
    assert!(shown.stderr.contains(line), "{}", shown.stderr);
    let silent = folder.tally(&["lower", "--remarks=one.yaml", "one.ll", "-o", "one.bc"]);
    assert_eq!((silent.status, silent.stderr.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(folder.path("one.yaml")).unwrap();
    assert!(text.starts_with("--- !Passed\nPass:            tally-count\nName:"), "{text}");
    let read = folder.run("llvm-remarkutil-22", &["yaml2bitstream", "one.yaml", "-o", "one.opt"]);
    assert_eq!(read.status, Some(0), "{read:?}");
}

/// A structure passed as a copy may be all that means an object: nothing may die between its last count and the callee, which
/// roots what it finds in the copy.
#[test]
fn what_only_a_copied_argument_means_survives_the_drain_before_the_call() {
    let program = r#"
%copied = type { i64, ptr, i64 }
define internal i64 @use(ptr byval(%copied) %s) noinline gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %f = getelementptr %copied, ptr %s, i32 0, i32 1
  %o = load ptr, ptr %f
  store ptr %o, ptr %root
  %other = call ptr @guard(i64 1)
  %k = load ptr, ptr %root
  %v = load i64, ptr %k
  ret i64 %v
}
define i32 @main() gc "refcount-prompt" {
  %s = alloca %copied
  %o = call ptr @guard(i64 42)
  %f = getelementptr %copied, ptr %s, i32 0, i32 1
  store ptr %o, ptr %f
  %v = call i64 @use(ptr byval(%copied) %s)
  %w = trunc i64 %v to i32
  ret i32 %w
}
"#;
    let folder = Folder::with(&[("copied.ll", &format!("{GUARD}{program}"))]);
    for level in ["0", "1", "2", "3", "s"] {
        let outcome = folder.tally(&["run", "--zeal", "--opt", level, "copied.ll"]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(42), ""), "--opt {level}");
    }
}
