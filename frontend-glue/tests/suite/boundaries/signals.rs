//! Signals at any time, and the end of the stack.

use crate::boundaries::program::Folder;
use crate::boundaries::{prints, runs};

#[test]
fn timer_signals_arrive_during_everything() {
    runs(
        r#"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <tally_gc.h>
typedef struct Node { struct Node *left, *right; } Node;
TALLY_TYPE(Node, left, right);
static volatile sig_atomic_t ticks;
static void tick(int signal) { ticks++; }
static Node *tree(int depth) {
    Node *made = NULL, *left = NULL;
    TALLY_ROOT(made, left);
    left = depth ? tree(depth - 1) : NULL;
    made = depth ? tree(depth - 1) : NULL;
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, left, left);
    TALLY_WRITE(node, right, made);
    if (left) TALLY_WRITE(left, left, node);
    return node;
}
int main(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &every, NULL);
    Node *kept = NULL;
    TALLY_ROOT(kept);
    for (int i = 0; i < 200 || ticks < 1000; i++) kept = tree(8);
    tally_collect();
    every = (struct itimerval){0};
    setitimer(ITIMER_REAL, &every, NULL);
    printf("%d\n", kept && ticks >= 1000);
}
"#,
        "1\n",
    );
}

/// The thread's stack lies right above memory that is not its own; the guard page between them is smaller than a frame.
const LARGE_FRAMES: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
enum { OTHERS = 1 << 20, GUARD = 4096, STACK = 1 << 18 };
static char *memory;
static char alternate[1 << 16];
static void overflowed(int signal) {
    for (int i = 0; i < OTHERS; i++) if (memory[i] != 7) _exit(1);
    static const char text[] = "stopped at the guard page\n";
    write(1, text, sizeof text - 1);
    _exit(0);
}
__attribute__((noinline)) static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    volatile char large[70000];
    large[0] = (char)depth;
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, list);
    return descend(node, depth + 1) + large[0] + (list != NULL);
}
static void *run(void *unused) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    return (void *)descend(NULL, 0);
}
int main(void) {
    memory = mmap(NULL, OTHERS + GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, OTHERS);
    mprotect(memory + OTHERS, GUARD, PROT_NONE);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + OTHERS + GUARD, STACK);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, NULL);
    pthread_join(thread, NULL);
    return 2;
}
"#;

#[test]
fn frames_larger_than_the_guard_page_do_not_step_over_it() {
    let folder = Folder::with(&[("program.c", LARGE_FRAMES)]);
    for level in ["0", "2"] {
        let expected = prints("stopped at the guard page\n");
        assert_eq!(folder.tally(&["run", "--opt", level, "program.c"]), expected, "tally run --opt {level}");
        folder.build(&["--opt", level, "program.c"]);
        assert_eq!(folder.program(&[], &[]), expected, "tally build --opt {level}");
    }
}
