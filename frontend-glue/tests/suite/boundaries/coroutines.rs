//! Stacks of the program's own where they meet the rest: native frames and exceptions on them, deep ones, full ones, other
//! threads, the ends of thread and process, and all that must not be done. `tally.h` and `docs/use/coroutines.md` promise it.
//! What they do to objects is in `tests/tests/suite/coroutines.rs`.

mod refused;

use crate::boundaries::program::{Folder, of_nodes};
use crate::boundaries::{native_code, prints, runs, runs_in};

/// Frames of native code, with and without frame pointers, stand between those of a stack that sleeps, and between those of one
/// that waits; and a frame that finds its roots by rbx.
#[test]
fn native_frames_lie_between_those_of_stopped_stacks() {
    let native = r#"
#include <stdlib.h>
long through(long (*call)(void *), void *value) { volatile char room[100]; room[0] = 1; return call(value) + room[0] - 1; }
"#;
    let main = r#"
#include <dlfcn.h>
static long (*through)(long (*)(void *), void *);
static void *to;
static long inner(void *value);
__attribute__((noinline)) static long middle(Node *list, int bytes) {
    char room[bytes];
    _Alignas(64) Node *aligned = NULL;
    TALLY_ROOT(list, aligned);
    aligned = push(list, bytes);
    room[0] = room[bytes - 1] = 1;
    long sum = through(inner, aligned);
    garbage(20);
    return sum + sum_of(aligned) + room[0] + room[bytes - 1] - 2;
}
static long inner(void *value) {
    Node *list = value;
    TALLY_ROOT(list);
    if (list->value > 3) return middle(list, (int)list->value - 1);
    Node *got = tally_stack_switch(to, list);
    TALLY_ROOT(got);
    garbage(20);
    return sum_of(list) + sum_of(got);
}
static void *entry(void *value) {
    Node *list = value;
    TALLY_ROOT(list);
    list = push(NULL, middle(push(list, 10), 9));
    return list;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    through = dlsym(library, "through");
    void *stack = NULL;
    Node *got = NULL;
    TALLY_ROOT(stack, got);
    for (int i = 0; i < 30; i++) {
        to = NULL;
        stack = tally_stack_new(entry, 0);
        got = tally_stack_switch(stack, push(NULL, 1));
        if (sum_of(got) != 1 + 10 + 9 + 8 + 7 + 6 + 5 + 4 + 3) printf("%ld\n", sum_of(got));
        tally_collect();
        to = stack;
        // The thread's own stack waits in native frames for the end of the other.
        long sum = middle(got, 6);
        if (tally_stack_status(stack) != TALLY_STACK_FINISHED) puts("not finished");
        if (i == 0) printf("%ld\n", sum);
    }
}
"#;
    let folder = Folder::with(&[("native.c", native), ("program.c", &of_nodes(main))]);
    for options in [&["-fomit-frame-pointer"][..], &["-fno-omit-frame-pointer", "-O0"]] {
        native_code::library(&folder, "cc", "native.c", options);
        runs_in(&folder, "730\n");
    }
}

/// Exceptions are caught on the stack on which they were thrown, past native and managed frames, while others
/// are stopped.
#[test]
fn exceptions_are_caught_on_their_own_stack() {
    let library = r#"
extern "C" void throw_it(int value) { throw value; }
extern "C" int caught(void (*managed)(int), int value) {
    try { managed(value); } catch (int thrown) { return thrown; }
    return -1;
}
"#;
    let main = r#"
#include <dlfcn.h>
static void (*throw_it)(int);
static int (*caught)(void (*)(int), int);
static void descend(int depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    tally_stack_switch(NULL, mine);
    garbage(20);
    if (depth == 0) throw_it(7);
    descend(depth - 1);
    if (mine->value != depth) puts("lost");
}
static void *entry(void *value) {
    Node *kept = value;
    TALLY_ROOT(kept);
    int thrown = caught(descend, 5);
    garbage(20);
    return push(kept, thrown);
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    throw_it = dlsym(library, "throw_it"), caught = dlsym(library, "caught");
    void *stacks[2] = {NULL, NULL}, *one = NULL, *other = NULL;
    Node *got = NULL;
    TALLY_ROOT(one, other, got);
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        one = tally_stack_new(entry, 0), other = tally_stack_new(entry, 0);
        while (tally_stack_status(one) != TALLY_STACK_FINISHED) {
            got = tally_stack_switch(one, push(NULL, 100));
            sum += got->value;
            got = tally_stack_switch(other, push(NULL, 100));
            sum += got->value;
        }
        sum += sum_of(got);
    }
    printf("%ld\n", sum);
}
"#;
    let folder = Folder::with(&[("native.cpp", library), ("program.c", &of_nodes(main))]);
    native_code::library(&folder, "clang++-22", "native.cpp", &["-fexceptions"]);
    // 2 × (5 + 4 + 3 + 2 + 1 + 0 + 7) + 7 + 100, twenty times.
    runs_in(&folder, "3020\n");
}

#[test]
fn longjmp_stays_on_its_stack() {
    let main = r#"
static jmp_buf out[2];
static void descend(int depth, int which) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    garbage(5);
    if (depth == 0) {
        tally_stack_switch(NULL, mine);
        longjmp(out[which], 1);
    }
    descend(depth - 1, which);
    if (mine->value != depth) puts("lost");
}
static void *entry(void *value) {
    Node *kept = value;
    TALLY_ROOT(kept);
    int which = (int)kept->value;
    for (volatile int i = 0; i < 10; i++)
        if (setjmp(out[which]) == 0) descend(20, which);
    garbage(20);
    return kept;
}
int main(void) {
    void *one = tally_stack_new(entry, 0), *other = NULL;
    Node *got = NULL;
    TALLY_ROOT(one, other, got);
    other = tally_stack_new(entry, 0);
    long switches = 0;
    for (; tally_stack_status(other) != TALLY_STACK_FINISHED; switches++) {
        tally_stack_switch(one, push(NULL, 0));
        got = tally_stack_switch(other, push(NULL, 1));
    }
    printf("%ld %ld\n", switches, got->value);
}
"#;
    runs(&of_nodes(main), "11 1\n");
}

/// A walk of a deep stack has paused in the middle when the program leaves that stack; both go on and return.
#[test]
fn deep_stacks_are_left_while_a_walk_over_them_waits() {
    let main = r#"
static void *main_stack;
static long descend(long depth, Node *above) {
    Node *mine = NULL, *got = NULL;
    TALLY_ROOT(above, mine, got);
    mine = push(NULL, depth);
    long sum = 0;
    if (depth % 5000 == 0) {
        garbage(2000);
        got = tally_stack_switch(NULL, mine);
        sum = got ? got->value : 0;
    }
    if (depth > 0) sum += descend(depth - 1, mine);
    if (mine->value != depth || (above && above->value != depth + 1)) puts("lost");
    return sum;
}
static void *entry(void *value) {
    Node *first = value;
    TALLY_ROOT(first);
    return push(first, descend(40000, NULL));
}
int main(void) {
    void *one = tally_stack_new(entry, 64 << 20), *other = NULL;
    Node *got = NULL;
    TALLY_ROOT(one, other, got);
    other = tally_stack_new(entry, 64 << 20);
    long sum = 0;
    while (tally_stack_status(other) != TALLY_STACK_FINISHED) {
        got = tally_stack_switch(one, push(NULL, 1));
        garbage(500);
        got = tally_stack_switch(other, push(NULL, 1));
    }
    printf("%ld\n", sum_of(got));
}
"#;
    runs(&of_nodes(main), "10\n");
}

#[test]
fn full_stack_of_a_coroutine_is_reported_as_such() {
    let main = r#"
__attribute__((noinline)) static long descend(Node *list, long depth) {
    TALLY_ROOT(list);
    Node *node = push(list, depth);
    long below = descend(node, depth + 1);
    return below + list->value;
}
static void *entry(void *value) {
    Node *list = value;
    TALLY_ROOT(list);
    return push(NULL, descend(list, 0));
}
int main(void) {
    puts("before");
    fflush(stdout);
    void *stack = tally_stack_new(entry, 100000);
    TALLY_ROOT(stack);
    tally_stack_switch(stack, push(NULL, 1));
}
"#;
    let folder = Folder::with(&[("program.c", &of_nodes(main))]);
    for level in ["0", "2"] {
        let ran = folder.tally(&["run", "--opt", level, "program.c"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (None, "before\n"), "{ran:?}");
        let says = "managed frames deep on a coroutine's stack of 112 KiB; recurse less deeply, or give the coroutine a \
                    larger stack (tally_stack_new)\n";
        assert!(ran.stderr.starts_with("tally: stack overflow in ") && ran.stderr.ends_with(says), "{}", ran.stderr);
    }
}

/// Each thread has stacks of its own, some of them stopped when it ends.
#[test]
fn threads_have_stacks_of_their_own() {
    let main = r#"
static void *entry(void *value) {
    Node *kept = value, *got = NULL;
    TALLY_ROOT(kept, got);
    for (int i = 0; i < 100; i++) {
        kept = push(kept, i);
        garbage(3);
        got = tally_stack_switch(NULL, kept);
    }
    return kept;
}
static void *run(void *how) {
    void *stack = NULL;
    Node *got = NULL;
    TALLY_ROOT(stack, got);
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        stack = tally_stack_new(entry, 0);
        for (int j = 0; j < 50; j++) got = tally_stack_switch(stack, push(NULL, 1000));
        sum += sum_of(got);
    }
    if (how) pthread_exit((void *)sum);
    return (void *)sum;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, (void *)(i % 2));
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld\n", sum);
}
"#;
    // 1000 and 0 to 49, 80 times.
    runs(&of_nodes(main), "178000\n");
}

/// The process ends on a coroutine's stack: what frames held is gone, and finalizers that run then may make stacks.
#[test]
fn process_ends_on_a_stack_of_its_own() {
    let main = r#"
typedef struct File { struct Node *node; } File;
static void *ended(void *value) {
    Node *node = value;
    TALLY_ROOT(node);
    printf("closed %ld\n", node->value);
    fflush(stdout);
    return NULL;
}
static void *entry(void *value) {
    Node *kept = value;
    TALLY_ROOT(kept);
    garbage(100);
    printf("%ld\n", kept->value);
    exit(0);
}
int main(void) {
    void *stack = tally_stack_new(ended, 0), *other = NULL;
    TALLY_ROOT(stack, other);
    other = tally_stack_new(entry, 0);
    tally_stack_switch(stack, push(NULL, 4));
    tally_stack_switch(other, push(NULL, 5));
}
"#;
    runs(&of_nodes(main), "closed 4\n5\n");
}

/// Stacks leave in any order: the stacks between the one that is left and the one that goes on are suspended, and go on later.
#[test]
fn stacks_between_are_suspended_and_go_on() {
    let main = r#"
static void *stacks[4];
static void *entry(void *value) {
    Node *mine = value, *got = NULL;
    TALLY_ROOT(mine, got);
    long number = mine->value;
    garbage(10);
    if (number < 3) got = tally_stack_switch(stacks[number + 1], push(NULL, number + 1));
    else got = tally_stack_switch(stacks[1], push(NULL, 30));
    printf("%ld: %ld %ld, %d%d%d\n", number, mine->value, got->value, tally_stack_status(stacks[1]), tally_stack_status(stacks[2]),
           tally_stack_status(stacks[3]));
    return push(NULL, number * 10);
}
int main(void) {
    void *own = tally_stack_current(), *one = NULL, *two = NULL, *three = NULL;
    Node *got = NULL;
    TALLY_ROOT(own, one, two, three, got);
    one = stacks[1] = tally_stack_new(entry, 0), two = stacks[2] = tally_stack_new(entry, 0), three = stacks[3] = tally_stack_new(entry, 0);
    got = tally_stack_switch(one, push(NULL, 1));
    printf("main: %ld %d\n", got->value, tally_stack_status(own));
    got = tally_stack_switch(three, got);
    printf("main: %ld\n", got->value);
    got = tally_stack_switch(two, got);
    printf("main: %ld %d%d%d\n", got->value, tally_stack_status(one), tally_stack_status(two), tally_stack_status(three));
    if (own != tally_stack_current()) puts("another");
}
"#;
    let says = "1: 1 30, 100\nmain: 10 1\n3: 3 10, 301\nmain: 30\n2: 2 30, 313\nmain: 20 333\n";
    runs(&of_nodes(main), says);
}
