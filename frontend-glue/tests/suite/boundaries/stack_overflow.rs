//! A stack that is full: a sentence, then the signal; and faults that are none of ours.

use crate::boundaries::prints;
use crate::boundaries::program::{Folder, plan};
use tally_kit::folder::Outcome;
use tally_llvm::lower::Plan;

/// Runs a program in both ways at both ends of optimisation; it must print `before` and end by a signal.
fn dies(program: &str, arguments: &[&str], check: impl Fn(&str, &Outcome)) {
    dies_with(&[], program, arguments, check);
}

/// The same with options.
fn dies_with(options: &[&str], program: &str, arguments: &[&str], check: impl Fn(&str, &Outcome)) {
    let folder = Folder::with(&[("program.c", program)]);
    for level in ["0", "2"] {
        folder.build(&[options, &["--opt", level, "program.c"]].concat());
        let run = [&["run", "--opt", level][..], options, &["program.c", "--"], arguments].concat();
        for (name, ran) in [("run", folder.tally(&run)), ("build", folder.program(&[], arguments))] {
            let name = format!("tally {name} --opt {level}");
            assert_eq!((ran.status, ran.stdout.as_str()), (None, "before\n"), "{name}: {ran:?}");
            check(&name, &ran);
        }
    }
}

/// `descend` calls itself; `odd` and `even` call each other; `allocating` overflows as a rule in the runtime's frames, since
/// those are larger than its own. On main's thread or another.
const OVERFLOWS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tally.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
__attribute__((noinline)) static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, list);
    node->value = depth;
    long below = descend(node, depth + 1);
    return below + list->value;
}
static long even(Node *list, long depth);
__attribute__((noinline)) static long odd(Node *list, long depth) {
    TALLY_ROOT(list);
    return even(list, depth + 1) + list->value;
}
__attribute__((noinline)) static long even(Node *list, long depth) {
    TALLY_ROOT(list);
    return odd(list, depth + 1) - list->value;
}
__attribute__((noinline)) static long collecting(Node *list, long depth) {
    TALLY_ROOT(list);
    if (depth > 300) tally_collect();
    return collecting(list, depth + 1) + list->value;
}
__attribute__((noinline)) static long in_a_leaf(Node *list, long depth) {
    TALLY_ROOT(list);
    tally_global_free(tally_global_new(list));
    return in_a_leaf(list, depth + 1) + list->value;
}
__attribute__((noinline)) static long ended_root(long depth) {
    long sum;
    {
        Node *node = TALLY_NEW(Node);
        TALLY_ROOT(node);
        node->value = depth;
        TALLY_NEW(Node);
        sum = node->value;
        node = NULL;
    }
    return sum + ended_root(depth + 1) * 3 + depth;
}
static void *run(void *what) {
    Node *list = TALLY_NEW(Node);
    TALLY_ROOT(list);
    if (!strcmp(what, "itself")) descend(list, 0);
    if (!strcmp(what, "mutual")) odd(list, 0);
    if (!strcmp(what, "runtime")) collecting(list, 0);
    if (!strcmp(what, "ended")) ended_root(0);
    if (!strcmp(what, "leaf")) in_a_leaf(list, 0);
    return NULL;
}
int main(int argc, char **argv) {
    puts("before");
    fflush(stdout);
    if (argc == 2) return run(argv[1]), 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, argv[1][0] == 'r' ? 1 << 16 : 1 << 20);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, argv[1]);
    pthread_join(thread, NULL);
}
"#;

fn managed_frames(stderr: &str) -> u64 {
    let (before, _) = stderr.split_once(" managed frames deep").unwrap_or_else(|| panic!("{stderr}"));
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn function_that_calls_itself_without_end_is_named() {
    for (thread, size) in [(&[][..], "8192 KiB"), (&["thread"], "1024 KiB")] {
        dies(OVERFLOWS, &[&["itself"], thread].concat(), |name, ran| {
            let head = "tally: stack overflow in function `descend` (called from `descend`, from `descend`, from `descend`, …), ";
            // Each of its calls looks there for what has died, in frames larger than its own.
            let in_the_runtime = head.replace("function `descend`", "the runtime");
            let is_named =
                ran.stderr.starts_with(head) || plan() == Plan::Prompt && ran.stderr.starts_with(&in_the_runtime);
            let tail = "give the thread a larger stack (ulimit -s, pthread_attr_setstacksize)\n";
            assert!(is_named && ran.stderr.ends_with(tail), "{name}: {}", ran.stderr);
            let frames = managed_frames(&ran.stderr);
            assert!((4_000..500_000).contains(&frames), "{name}: {}", ran.stderr);
            // The size of main's stack is the machine's affair.
            assert!(thread.is_empty() || ran.stderr.contains(size), "{name}: {}", ran.stderr);
        });
    }
}

#[test]
fn functions_that_call_each_other_without_end_are_named() {
    dies(OVERFLOWS, &["mutual"], |name, ran| {
        let [one, two] =
            ["function `odd` (called from `even`, from `odd`", "function `even` (called from `odd`, from `even`"];
        // A count that is full is taken over by a leaf.
        let [by_odd, by_even] =
            ["the runtime (called from `odd`, from `even`", "the runtime (called from `even`, from `odd`"];
        let is_counting = plan() == Plan::Prompt && (ran.stderr.contains(by_odd) || ran.stderr.contains(by_even));
        // Names are those of roots. Here the only ones borrow what the first caller's holds, and are optimised away.
        let without = "in function the one at 0x";
        let is_saved = plan() == Plan::Prompt && name.ends_with('2') && ran.stderr.contains(without);
        assert!(
            is_saved || is_counting || ran.stderr.contains(one) || ran.stderr.contains(two),
            "{name}: {}",
            ran.stderr
        );
    });
}

/// Its calls of itself name no roots, since none is alive there.
#[test]
fn function_is_named_by_the_roots_of_its_other_calls() {
    // An object on the stack would have no root.
    dies_with(&["--stack-objects=off"], OVERFLOWS, &["ended"], |name, ran| {
        let callers = "(called from `ended_root`, from `ended_root`, from `ended_root`, …), ";
        let [own, runtime] =
            ["function `ended_root`", "the runtime"].map(|at| format!("tally: stack overflow in {at} {callers}"));
        assert!(ran.stderr.starts_with(&own) || ran.stderr.starts_with(&runtime), "{name}: {}", ran.stderr);
    });
}

#[test]
fn overflow_inside_a_collection_is_that_of_the_runtime_and_its_caller() {
    dies(OVERFLOWS, &["runtime", "thread"], |name, ran| {
        let callers = "(called from `collecting`, from `collecting`, from `collecting`, …), ";
        let [own, runtime] =
            ["function `collecting`", "the runtime"].map(|at| format!("tally: stack overflow in {at} {callers}"));
        let is_named = ran.stderr.starts_with(&own) || ran.stderr.starts_with(&runtime);
        assert!(is_named || is_without_roots(name, &ran.stderr), "{name}: {}", ran.stderr);
        assert!(managed_frames(&ran.stderr) > 300, "{name}: {}", ran.stderr);
    });
}

/// It takes more of the stack than the frames that call it, so it meets the end first.
#[test]
fn overflow_inside_a_leaf_of_the_runtime_is_not_that_of_code_at_some_address() {
    dies(OVERFLOWS, &["leaf"], |name, ran| {
        let head =
            "tally: stack overflow in the runtime (called from `in_a_leaf`, from `in_a_leaf`, from `in_a_leaf`, …), ";
        let is_named = ran.stderr.starts_with(head);
        assert!(is_named || is_without_roots(name, &ran.stderr), "{name}: {}", ran.stderr);
    });
}

/// Functions are named by their roots. Under the prompt plan a parameter that its callers hold is none at -O2.
fn is_without_roots(name: &str, said: &str) -> bool {
    plan() == Plan::Prompt && name.ends_with('2') && said.contains("the runtime (called from the one at 0x")
}

const NULL_POINTER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
int main(int argc, char **argv) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    puts("before");
    fflush(stdout);
    if (argc > 1) raise(SIGSEGV);
    return (int)*(volatile long *)&node->next->value;
}
"#;

#[test]
fn null_pointers_and_signals_that_were_sent_end_the_process_without_a_word_of_ours() {
    dies(NULL_POINTER, &[], |name, ran| assert_eq!(ran.stderr, "", "{name}"));
    dies(NULL_POINTER, &["raise"], |name, ran| assert_eq!(ran.stderr, "", "{name}"));
}

/// A program that has its own handler: `late` installs it in `main`, `early` before the first heap, `first` asks ours to come
/// before it, `off` has none and wants none.
const OWN_HANDLER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static char alternate[1 << 16];
static void overflowed(int signal) {
    write(1, "mine\n", 5);
    _exit(0);
}
static void own(void) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
}
#ifdef EARLY
__attribute__((constructor)) static void first_of_all(void) { own(); }
#endif
__attribute__((noinline)) static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, list);
    return descend(node, depth + 1) + list->value;
}
int main(int argc, char **argv) {
    puts("before");
    fflush(stdout);
    if (!strcmp(argv[1], "late")) own();
    if (!strcmp(argv[1], "first")) tally_report_overflows(1);
    if (!strcmp(argv[1], "off")) tally_report_overflows(0);
    return (int)descend(TALLY_NEW(Node), 0);
}
"#;

#[test]
fn handler_of_the_program_is_respected_and_comes_after_ours_on_request() {
    let early = OWN_HANDLER.replace("#ifdef EARLY", "#if 1");
    let folder = Folder::with(&[("program.c", OWN_HANDLER), ("early.c", &early)]);
    for (file, what) in [("program.c", "late"), ("early.c", "nothing"), ("early.c", "first")] {
        folder.build(&[file]);
        for ran in [folder.tally(&["run", file, "--", what]), folder.program(&[], &[what])] {
            assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "before\nmine\n"), "{file} {what}: {ran:?}");
            // The runtime may have the last frame: `descend` allocates.
            let places = ["in function `descend`", "in the runtime (called from `descend`"];
            let said = places.iter().any(|place| ran.stderr.starts_with(&format!("tally: stack overflow {place}")));
            assert_eq!((said, ran.stderr.is_empty()), (what == "first", what != "first"), "{file} {what}: {ran:?}");
        }
    }
    dies(OWN_HANDLER, &["off"], |name, ran| assert_eq!(ran.stderr, "", "{name}"));
}

/// Each thread has an alternate stack while it lives, and takes nothing along; the one that overflows is the last.
const MANY_THREADS: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static void *run(void *unused) {
    TALLY_NEW(Node);
    stack_t mine;
    sigaltstack(NULL, &mine);
    return (void *)(long)((mine.ss_flags & SS_DISABLE) == 0);
}
static long lines(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    long count = 0;
    for (int c; (c = fgetc(maps)) != EOF;) count += c == '\n';
    fclose(maps);
    return count;
}
int main(void) {
    long before = 0, have = 0;
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        void *has;
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, &has);
        have += (long)has;
        if (i == 20) before = lines();
    }
    printf("%ld %d\n", have, lines() - before < 20);
}
"#;

#[test]
fn alternate_stacks_go_with_their_threads() {
    let folder = Folder::with(&[("program.c", MANY_THREADS)]);
    folder.build(&["program.c"]);
    for ran in [folder.tally(&["run", "program.c"]), folder.program(&[], &[])] {
        assert_eq!(ran, prints("500 1\n"));
    }
}
