//! Destructors that collect after `exit`, or while a thread ends: the frames that were left are on the stack, but are not roots any more.

use crate::boundaries::prints;
use crate::boundaries::program::{of_nodes, plan};
use tally_kit::folder::{Folder, Outcome};
use tally_llvm::lower::Plan;

/// Runs a program under each plan: with and without a leak check, which frees what the frames held, and with and without
/// zeal, which looks at each root.
fn ends(file: &str, text: &str, expected: &Outcome) {
    if plan() != Plan::Deferred {
        // All plans have been tried in the process of that one.
        return;
    }
    let folder = Folder::compiling_once(&[(file, text)]);
    for (plan, level) in Plan::ALL.into_iter().flat_map(|plan| [(plan, "0"), (plan, "2")]) {
        let options = ["--plan", plan.strategy(), "--opt", level, file];
        folder.build(&options);
        for (leak_check, zeal) in [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")] {
            let variables = [("TALLY_LEAK_CHECK", leak_check), ("TALLY_ZEAL", zeal), ("TALLY_EPOCH_BYTES", "64KiB")];
            assert_eq!(&folder.program(&variables, &[]), expected, "{options:?}, {variables:?}");
            if leak_check != zeal {
                let jit = folder.tally_with(&variables, &[&["run"], &options[..]].concat());
                assert_eq!(&jit, expected, "tally run, {options:?}, {variables:?}");
            }
        }
    }
}

/// A destructor of the process. Its own roots must hold, also while another stack runs. `descend` calls `exit`.
const DESTRUCTOR: &str = r#"
static void *hold(void *unused) {
    Node *own = push(push(NULL, 40), 2);
    TALLY_ROOT(own);
    for (int i = 0; i < 3; i++) {
        work(60);
        tally_collect();
    }
    printf("%ld\n", sum_of(own));
    return NULL;
}
__attribute__((destructor)) static void last(void) {
    Node *own = push(push(NULL, 40), 2);
    void *stack = tally_stack_new(hold, 0);
    TALLY_ROOT(own, stack);
    tally_stack_switch(stack, NULL);
    hold(NULL);
    printf("%ld\n", sum_of(own));
}
static void descend(long depth) {
    Node *mine = push(push(NULL, depth), depth);
    TALLY_ROOT(mine);
    work(5);
    if (depth == 0) exit(9);
    descend(depth - 1);
    if (mine->value != depth) abort();
}
"#;

/// A type whose finalizer each program defines.
const FILE: &str = r#"
typedef struct File { Node *list; long number; } File;
static void close_file(File *file);
TALLY_FINALIZED_TYPE(File, close_file, list);
"#;

fn ends_with_the_destructor(main: &str) {
    let expected = Outcome { status: Some(9), ..prints("42\n42\n42\n") };
    ends("program.c", &of_nodes(&[DESTRUCTOR, main].concat()), &expected);
}

#[test]
fn destructor_collects_after_exit_from_deep_inside() {
    ends_with_the_destructor("int main(void) { descend(20); }");
}

#[test]
fn destructor_collects_after_exit_in_a_finalizer() {
    ends_with_the_destructor(
        &[
            FILE,
            r#"
static void close_file(File *file) {
    Node *mine = push(push(NULL, 1), 2);
    TALLY_ROOT(file, mine);
    work(10);
    descend(3);
    if (mine->value != 2 || file->number < 0) abort();
}
static void open_files(long depth) {
    Node *mine = push(NULL, depth);
    File *file = TALLY_NEW(File);
    TALLY_ROOT(mine, file);
    file->number = depth;
    TALLY_WRITE(file, list, mine);
    if (depth) {
        open_files(depth - 1);
    } else {
        file = NULL;
        tally_collect();
        work(300);
    }
    if (mine->value != depth || (file && file->number != depth)) abort();
}
int main(void) { open_files(20); }
"#,
        ]
        .concat(),
    );
}

#[test]
fn destructor_collects_after_exit_on_another_stack() {
    ends_with_the_destructor(
        r#"
static void *run(void *unused) {
    descend(20);
    return NULL;
}
int main(void) {
    Node *mine = push(NULL, 1);
    void *stack = tally_stack_new(run, 0);
    TALLY_ROOT(mine, stack);
    tally_stack_switch(stack, NULL);
    return (int)mine->value;
}
"#,
    );
}

/// The last finalizers run on the same stack, before anything is freed by the leak check.
#[test]
fn last_finalizers_collect_after_exit_from_deep_inside() {
    ends_with_the_destructor(
        &[
            FILE,
            r#"
static void close_file(File *file) {
    Node *mine = push(push(NULL, 1), 2);
    TALLY_ROOT(file, mine);
    for (int i = 0; i < 2; i++) {
        work(40);
        tally_collect();
    }
    if (sum_of(mine) != 3 || file->number != sum_of(file->list)) abort();
}
int main(void) {
    Node *list = NULL;
    File *file = NULL;
    TALLY_ROOT(list, file);
    for (long i = 0; i < 5; i++) {
        list = push(NULL, i);
        file = TALLY_NEW(File);
        file->number = i;
        TALLY_WRITE(file, list, list);
    }
    descend(20);
    if (file->list != list) abort();
}
"#,
        ]
        .concat(),
    );
}

/// The C library takes the frames off before it calls destructors of thread-specific data.
#[test]
fn destructors_of_threads_collect_after_pthread_exit_from_deep_inside() {
    let main = r#"
static pthread_key_t key;
static void end(void *rounds) {
    Node *own = push(push(NULL, 40), 2);
    TALLY_ROOT(own);
    for (int i = 0; i < 3; i++) {
        work(60);
        tally_collect();
    }
    if ((long)rounds > 1) pthread_setspecific(key, (void *)((long)rounds - 1));
    printf("%ld\n", sum_of(own));
}
static void leave(long depth) {
    Node *mine = push(push(NULL, depth), depth);
    TALLY_ROOT(mine);
    work(5);
    if (depth == 0) pthread_exit(NULL);
    leave(depth - 1);
    if (mine->value != depth) abort();
}
static void *run(void *unused) {
    pthread_setspecific(key, (void *)2);
    leave(20);
    return NULL;
}
__attribute__((destructor)) static void last(void) { end(NULL); }
int main(void) {
    work(10);
    pthread_key_create(&key, end);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    run(NULL);
}
"#;
    ends("program.c", &of_nodes(main), &prints("42\n42\n42\n42\n42\n"));
}

/// LLVM's own strategy: the roots of the frames hang on a chain.
const ON_THE_SHADOW_STACK: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare void @exit(i32) noreturn
declare i32 @puts(ptr)
@text = constant [5 x i8] c"kept\00"
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @last, ptr null }]
define void @descend(i32 %depth) noinline gc "shadow-stack" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  %is.last = icmp eq i32 %depth, 0
  br i1 %is.last, label %leave, label %further
leave:
  call void @exit(i32 9)
  unreachable
further:
  %less = sub i32 %depth, 1
  call void @descend(i32 %less)
  ret void
}
define void @last() gc "shadow-stack" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %own = call ptr @llvm_gc_allocate(i32 16)
  store ptr %own, ptr %root
  store i64 42, ptr %own
  call void @llvm_gc_collect()
  %other = call ptr @llvm_gc_allocate(i32 16)
  store i64 43, ptr %other
  call void @llvm_gc_collect()
  %kept = load ptr, ptr %root
  %value = load i64, ptr %kept
  %is.kept = icmp eq i64 %value, 42
  br i1 %is.kept, label %tell, label %done
tell:
  %printed = call i32 @puts(ptr @text)
  br label %done
done:
  ret void
}
define i32 @main() gc "shadow-stack" {
  call void @descend(i32 20)
  ret i32 0
}
"#;

#[test]
fn destructor_collects_after_exit_from_deep_inside_a_shadow_stack() {
    ends("program.ll", ON_THE_SHADOW_STACK, &Outcome { status: Some(9), ..prints("kept\n") });
}
