//! Signals at any time, and the end of the stack.

use crate::runs;
use crate::tally::Folder;

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

const OVERFLOW: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, list);
    node->value = depth;
    long below = descend(node, depth + 1);
    return below + list->value;
}
int main(void) {
    puts("before");
    fflush(stdout);
    printf("%ld\n", descend(NULL, 0));
}
"#;

#[test]
fn stack_overflow_of_managed_code_ends_by_a_signal() {
    let folder = Folder::with(&[("program.c", OVERFLOW)]);
    let ran = folder.tally(&["run", "program.c"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (None, "before\n"), "{ran:?}");
    folder.build(&["program.c"]);
    let ran = folder.program(&[], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (None, "before\n"), "{ran:?}");
}
