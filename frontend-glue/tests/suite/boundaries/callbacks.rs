//! Managed, native, managed again, to any depth; and what is thrown through all of them.

use crate::boundaries::program::{Folder, of_nodes};
use crate::boundaries::{prints, runs};

/// scenario 179.
#[test]
fn collections_run_inside_qsort_and_bsearch_inside_it() {
    runs(
        &of_nodes(
            r#"
static const long *table;
static int found(const void *a, const void *b) {
    garbage(20);
    return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}
static int compare(const void *a, const void *b) {
    Node *mine = push(push(NULL, *(const long *)a), *(const long *)b);
    TALLY_ROOT(mine);
    long wanted = *(const long *)a % 16;
    if (!bsearch(&wanted, table, 16, sizeof(long), found)) abort();
    tally_collect();
    return mine->next->value < mine->value ? -1 : 1;
}
int main(void) {
    Node *outer = push(push(NULL, 3), 4);
    TALLY_ROOT(outer);
    long sorted[16], numbers[64];
    for (int i = 0; i < 16; i++) sorted[i] = i;
    for (int i = 0; i < 64; i++) numbers[i] = i * 37 % 64;
    table = sorted;
    qsort(numbers, 64, sizeof(long), compare);
    for (int i = 0; i < 64; i++) if (numbers[i] != i) printf("%d: %ld\n", i, numbers[i]);
    printf("%ld\n", sum_of(outer));
}
"#,
        ),
        "7\n",
    );
}

/// scenario 50.
#[test]
fn deep_stack_of_a_million_managed_frames_is_walked() {
    runs(
        &of_nodes(
            r#"
#include <pthread.h>
static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    if (depth == 0) {
        tally_collect();
        garbage(10000);
        return sum_of(list);
    }
    Node *mine = push(depth % 1000 == 0 ? list : NULL, depth);
    TALLY_ROOT(mine);
    long below = descend(depth % 1000 == 0 ? mine : list, depth - 1);
    return below + (mine->value - depth) + (list ? 0 : depth < 999000);
}
static void *run(void *unused) { return (void *)descend(NULL, 1000000); }
int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1L << 30);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, NULL)) return 1;
    void *result;
    pthread_join(thread, &result);
    printf("%ld\n", (long)result);
}
"#,
        ),
        "500500000\n",
    );
}

#[test]
fn main_that_is_called_again_from_another_module_keeps_the_roots_of_both() {
    let main = of_nodes(
        r#"
int again(int);
int main(int argc, char **argv) {
    Node *mine = push(NULL, argc);
    TALLY_ROOT(mine);
    garbage(5000);
    if (argc < 5) again(argc + 1);
    printf("%ld ", mine->value);
    return 0;
}
"#,
    );
    let folder = Folder::with(&[
        ("main.c", &main),
        ("again.c", "int main(int, char **);\nint again(int n) { return main(n, (char **)0) + 1; }\n"),
    ]);
    let ran = folder.tally(&["run", "--leak-check", "--epoch-bytes", "64KiB", "main.c", "again.c"]);
    assert_eq!(ran, prints("5 4 3 2 1 "));
}

#[test]
fn longjmp_over_managed_frames_drops_their_roots_and_nothing_else() {
    runs(
        &of_nodes(
            r#"
static jmp_buf back;
static int compare(const void *a, const void *b) {
    Node *mine = push(NULL, 1);
    TALLY_ROOT(mine);
    garbage(500);
    longjmp(back, (int)mine->value);
}
static void descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    garbage(3);
    if (depth == 0) {
        int two[2] = {1, 0};
        qsort(two, 2, sizeof(int), compare);
    }
    descend(depth - 1);
    printf("%ld\n", mine->value);
}
static long attempt(long round) {
    Node *kept = push(push(NULL, round), round);
    TALLY_ROOT(kept);
    if (setjmp(back) == 0) {
        descend(100);
        return -1;
    }
    garbage(500);
    return sum_of(kept);
}
int main(void) {
    long total = 0;
    for (long round = 0; round < 200; round++) total += attempt(round);
    tally_collect();
    printf("%ld\n", total);
}
"#,
        ),
        "39800\n",
    );
}

#[test]
fn longjmp_out_of_a_signal_handler_that_interrupted_no_runtime_code() {
    runs(
        &of_nodes(
            r#"
#include <signal.h>
static sigjmp_buf back;
static void handler(int signal) { siglongjmp(back, 1); }
static long attempt(void) {
    Node *kept = push(NULL, 1);
    TALLY_ROOT(kept);
    if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
    garbage(500);
    return kept->value;
}
int main(void) {
    signal(SIGUSR1, handler);
    long total = 0;
    for (int i = 0; i < 100; i++) total += attempt();
    printf("%ld\n", total);
}
"#,
        ),
        "100\n",
    );
}
