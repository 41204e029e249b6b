//! Unusual ways in which a process or a thread of it ends, goes on as two, or is interrupted.

use crate::boundaries::prints;
use crate::boundaries::program::{Folder, of_nodes};
use tally_kit::folder::Outcome;

/// Both ways, at both ends of optimisation, with an epoch every 64 KiB and these variables.
fn ran(main: &str, variables: &[(&str, &str)], check: impl Fn(&str, Outcome)) {
    let folder = Folder::with(&[("program.c", &of_nodes(main))]);
    let variables = [&[("TALLY_EPOCH_BYTES", "64KiB")], variables].concat();
    for level in ["0", "2"] {
        let jit = folder.tally_with(&variables, &["run", "--opt", level, "program.c"]);
        check(&format!("tally run --opt {level}"), jit);
        folder.build(&["--opt", level, "program.c"]);
        check(&format!("tally build --opt {level}"), folder.program(&variables, &[]));
    }
}

#[test]
fn exit_on_a_thread_without_a_heap_reports_mains_heap_and_checks_nothing() {
    let main = r#"
static void *run(void *unused) { exit(7); }
int main(void) {
    Node *kept = push(NULL, 1);
    TALLY_ROOT(kept);
    work(3000);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    for (;;) pause();
    return (int)kept->value;
}
"#;
    ran(main, &[], |name, ran| assert_eq!(ran, Outcome { status: Some(7), ..prints("") }, "{name}"));
    ran(main, &[("TALLY_STATS", "1"), ("TALLY_LEAK_CHECK", "1")], |name, ran| {
        assert_eq!(ran.status, Some(7), "{name}: {ran:?}");
        assert!(ran.stderr.contains("tally: no leak check: `exit` was called on another thread"), "{name}: {ran:?}");
        assert!(ran.stderr.contains("allocated_objects"), "{name}: {ran:?}");
    });
}

#[test]
fn exit_from_deep_inside_counts_the_frames_as_gone() {
    let main = r#"
static void descend(long depth) {
    Node *mine = push(push(NULL, depth), depth);
    TALLY_ROOT(mine);
    work(20);
    if (depth == 0) exit(9);
    descend(depth - 1);
    if (mine->value != depth) abort();
}
static void late(void) { printf("%ld\n", work(1000)); }
int main(void) { atexit(late); descend(500); }
"#;
    ran(main, &[("TALLY_LEAK_CHECK", "1")], |name, ran| {
        assert_eq!(ran, Outcome { status: Some(9), ..prints("499500\n") }, "{name}");
    });
}

/// The C library has them in the part that is linked into every executable.
#[test]
fn handlers_of_quick_exit_and_of_forks_are_found_however_a_program_runs() {
    let main = r#"
static void late(void) {
    printf("%ld\n", work(1000));
    fflush(stdout);
}
static void before_fork(void) {
    printf("fork\n");
    fflush(stdout);
}
int main(void) {
    at_quick_exit(late);
    pthread_atfork(before_fork, NULL, NULL);
    if (fork() == 0) _exit(0);
    quick_exit(3);
}
"#;
    ran(main, &[], |name, ran| assert_eq!(ran, Outcome { status: Some(3), ..prints("fork\n499500\n") }, "{name}"));
}

#[test]
fn main_that_leaves_by_pthread_exit_while_frames_hold_roots_is_checked_for_leaks() {
    let main = r#"
static Node *kept;
static void leave(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth == 0) pthread_exit(NULL);
    leave(depth - 1);
    if (mine->value != depth) abort();
}
static void *run(void *unused) {
    usleep(20000);
    printf("%ld\n", work(1000));
    return NULL;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    work(1000);
    leave(100);
}
"#;
    ran(main, &[("TALLY_LEAK_CHECK", "1")], |name, ran| assert_eq!(ran, prints("499500\n"), "{name}"));
    let leaks = main.replace("leave(100);", "TALLY_WRITE_GLOBAL(kept, push(NULL, 1)); leave(100);");
    ran(&leaks, &[("TALLY_LEAK_CHECK", "1")], |name, ran| {
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(3), "499500\n"), "{name}: {ran:?}");
        assert!(ran.stderr.contains("1 objects (32 bytes) are still reachable at exit"), "{name}: {ran:?}");
    });
}

/// scenario 155.
#[test]
fn both_processes_go_on_after_a_fork_with_heaps_of_their_own() {
    let main = r#"
static void *run(void *unused) { return (void *)work(2000); }
int main(void) {
    Node *kept = push(push(NULL, 40), 2);
    TALLY_ROOT(kept);
    work(5000);
    long children = 0;
    for (int generation = 0; generation < 3; generation++) {
        pid_t child = fork();
        if (child == 0) {
            TALLY_WRITE(kept, next, push(kept->next, generation));
            long sum = work(5000);
            pthread_t thread;
            void *others;
            pthread_create(&thread, NULL, run, NULL);
            pthread_join(thread, &others);
            tally_collect();
            exit(sum == 12497500 && (long)others == 1999000 && kept->next->value == generation ? 50 + generation : 1);
        }
        work(5000);
        int status;
        waitpid(child, &status, 0);
        children = children * 100 + WEXITSTATUS(status);
    }
    printf("%ld %ld\n", children, kept->value + kept->next->value);
}
"#;
    ran(main, &[("TALLY_LEAK_CHECK", "1")], |name, ran| assert_eq!(ran, prints("505152 42\n"), "{name}"));
}

/// scenario 155: the threads take blocks of the process and give them back all the time: a child that finds that lock
/// taken would wait for ever.
#[test]
fn child_of_a_fork_beside_threads_that_take_blocks_waits_for_none_of_them() {
    let main = r#"
typedef struct Large { uint64_t length; Node *at[]; } Large;
TALLY_ARRAY_TYPE(Large, length, at);
static int stop;
static void *run(void *unused) {
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
        TALLY_NEW_ARRAY(Large, 8000);
        if (i % 4 == 3) tally_collect();
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, NULL);
    long sum = 0;
    for (int round = 0; round < 500; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            TALLY_NEW_ARRAY(Large, 8000);
            _exit(work(20) == 190 ? 5 : 6);
        }
        int status;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status)) return 1;
        sum += WEXITSTATUS(status);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", sum);
}
"#;
    ran(main, &[], |name, ran| assert_eq!(ran, prints("2500\n"), "{name}"));
}

/// The handler runs on the stack of what it interrupts, and on the alternate stack of the thread; it fills plenty of it.
#[test]
fn signal_handlers_with_large_frames_run_in_the_middle_of_epochs_on_either_stack() {
    let main = r#"
static volatile sig_atomic_t ticks, wrong;
static void tick(int signal) {
    volatile char large[20000];
    int mine = ticks & 127; /* another thread may be in here, too */
    memset((char *)large, mine, sizeof large);
    for (unsigned i = 0; i < sizeof large; i += 997) if (large[i] != mine) wrong = 1;
    ticks++;
}
static void *run(void *unused) {
    while (ticks < 600) if (work(300) != 44850) abort();
    return NULL;
}
int main(void) {
    work(10);
    for (int on_alternate = 0; on_alternate < 2; on_alternate++) {
        ticks = 0;
        struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART | (on_alternate ? SA_ONSTACK : 0)};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval every = {{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &every, NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        run(NULL);
        pthread_join(thread, NULL);
        every = (struct itimerval){0};
        setitimer(ITIMER_REAL, &every, NULL);
    }
    printf("%d\n", wrong);
}
"#;
    ran(main, &[("TALLY_LEAK_CHECK", "1")], |name, ran| assert_eq!(ran, prints("0\n"), "{name}"));
}

/// Its constructors and destructors have the lowest priorities there are.
const BEFORE_ALL_OTHERS: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare i32 @puts(ptr)
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
@list = global ptr null
@text.first = constant [6 x i8] c"first\00"
@text.second = constant [7 x i8] c"second\00"
@text.main = constant [5 x i8] c"main\00"
@text.last = constant [5 x i8] c"last\00"
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 5, ptr @second, ptr null }, { i32, ptr, ptr } { i32 0, ptr @first, ptr null }]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @last, ptr null }]
define void @push(ptr %text) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %node = call ptr @tally_new(ptr @Node)
  store ptr %node, ptr %root
  %rest = load ptr, ptr @list
  call void @llvm.gcwrite(ptr %rest, ptr %node, ptr %node)
  call void @llvm.gcwrite(ptr %node, ptr @list, ptr @list)
  call void @tally_collect()
  %printed = call i32 @puts(ptr %text)
  ret void
}
define void @first() gc "refcount" {
  call void @push(ptr @text.first)
  ret void
}
define void @second() gc "refcount" {
  call void @push(ptr @text.second)
  ret void
}
define void @last() gc "refcount" {
  call void @push(ptr @text.last)
  ret void
}
define i32 @main() gc "refcount" {
  call void @push(ptr @text.main)
  %main = load ptr, ptr @list
  %second = load ptr, ptr %main
  %first = load ptr, ptr %second
  %end = load ptr, ptr %first
  %is.whole = icmp eq ptr %end, null
  %status = select i1 %is.whole, i32 0, i32 1
  ret i32 %status
}
"#;

#[test]
fn constructor_before_the_runtimes_allocates() {
    let folder = Folder::with(&[("program.ll", BEFORE_ALL_OTHERS)]);
    let expected = prints("first\nsecond\nmain\nlast\n");
    for level in ["0", "2"] {
        for zeal in [&[][..], &["--zeal"]] {
            let run = [&["run", "--opt", level], zeal, &["program.ll"]].concat();
            assert_eq!(folder.tally(&run), expected, "{run:?}");
            folder.build(&[&["--opt", level], zeal, &["program.ll"]].concat());
            assert_eq!(folder.program(&[], &[]), expected, "{run:?}, built");
        }
    }
}

/// It runs before the module that it calls was registered: the types there had no ids, and the program crashed.
#[test]
fn constructor_before_the_runtimes_calls_a_module_that_is_linked_later() {
    let early = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
long other(Node *node);
static long got, last;
__attribute__((constructor(0))) static void first(void) {
    Node *node = TALLY_NEW(Node);
    node->value = 11;
    got = other(node);
}
__attribute__((destructor(0))) static void end(void) {
    Node *node = TALLY_NEW(Node);
    node->value = 20;
    printf("%ld\n", other(node));
}
int main(void) { printf("%ld\n", got); }
"#;
    let late = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Pair { long one; Node *node; struct Pair *self; } Pair;
TALLY_TYPE(Pair, node, self);
static Pair *kept;
long other(Node *node) {
    TALLY_ROOT(node);
    Pair *pair = TALLY_NEW(Pair);
    pair->one = 1;
    TALLY_WRITE(pair, self, pair);
    TALLY_WRITE(pair, node, node);
    TALLY_WRITE_GLOBAL(kept, pair);
    for (int i = 0; i < 100; i++) TALLY_NEW(Pair)->one = -1;
    tally_collect();
    return kept->self->node->value + kept->one;
}
"#;
    let folder = Folder::with(&[("early.c", early), ("late.c", late)]);
    for files in [["early.c", "late.c"], ["late.c", "early.c"]] {
        for more in [&["--opt", "0"][..], &["--opt", "2"], &["--zeal"]] {
            let options = [more, &files].concat();
            assert_eq!(folder.tally(&[&["run"], &options[..]].concat()), prints("12\n21\n"), "{options:?}");
            folder.build(&options);
            assert_eq!(folder.program(&[], &[]), prints("12\n21\n"), "{options:?}, built");
        }
    }
}

/// Frames that called `exit` are still on the stack while the last finalizers run. Their roots counted as roots when one of those
/// allocated, although the objects had been freed between two rounds of finalizers.
#[test]
fn last_finalizers_find_no_roots_in_the_frames_that_called_exit() {
    let main = r#"
typedef struct File { struct File *next; long number; } File;
static void close_file(File *file);
TALLY_FINALIZED_TYPE(File, close_file, next);
static long closed;
static void close_file(File *file) {
    TALLY_ROOT(file);
    closed++;
    work(10);
    if (file->number < 100) TALLY_NEW(File)->number = 100 + file->number;
    if (closed == 7) exit(8);
    work(10);
}
static void descend(long depth) {
    File *mine = TALLY_NEW(File);
    TALLY_ROOT(mine);
    mine->number = depth;
    if (depth == 0) exit(9);
    descend(depth - 1);
    if (mine->number != depth) abort();
}
int main(void) { descend(20); }
"#;
    for zeal in ["0", "1"] {
        ran(main, &[("TALLY_ZEAL", zeal), ("TALLY_LEAK_CHECK", "1")], |name, ran| {
            assert_eq!(ran, Outcome { status: Some(8), ..prints("") }, "{name}, zeal {zeal}");
        });
    }
}
