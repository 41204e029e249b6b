//! Jumps over frames that wait for their visit: nothing tells the walk of them but the functions that call `setjmp`, if
//! they are managed.

use super::{program, runs_beside};
use crate::boundaries::runs;

/// `deeper` goes so many frames down, flips, and jumps back to `landing`.
const DEEPER: &str = r#"
static jmp_buf landing;
static __attribute__((noinline)) void deeper(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth) {
        deeper(depth - 1);
    } else {
        flip();
        longjmp(landing, 1);
    }
    if (mine->value != depth) printf("%ld: lost\n", depth);
}
"#;

/// A jump lands in a frame that waits; it and those below change what they hold before the next slice.
#[test]
fn longjmp_over_frames_that_wait() {
    let main = r#"
static jmp_buf landing;
static __attribute__((noinline)) void deeper(long depth, int jump) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth) {
        deeper(depth - 1, jump);
    } else {
        flip();
        if (jump) longjmp(landing, 1);
    }
    if (mine->value != depth) printf("%ld: lost\n", depth);
}
static __attribute__((noinline)) void lands(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    Node *holder = push(NULL, 1);
    TALLY_ROOT(holder);
    if (setjmp(landing) == 0) deeper(10000, 1);
    /* The young node was held by this frame only; from here on by the heap. */
    TALLY_WRITE(holder, other, mine);
    mine = NULL;
    if (depth % 2) deeper(9990, 0);
    garbage(3000);
    if (holder->other->value != depth) printf("%ld: lost\n", depth);
}
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    long below = 0;
    if (depth % 1000 == 0) lands(depth);
    if (depth % 1000 == 501) lands(depth);
    if (depth) below = descend(depth - 1);
    return below + mine->value;
}
static void *run(void *unused) {
    printf("%ld\n", descend(20000));
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(main), "200010000\n");
}

/// A jump lands in a frame that waits; what that writes to is garbage before the next slice. The write was logged, so the next
/// flip reads the object, and counts what it holds.
#[test]
fn garbage_that_was_written_to_after_a_longjmp_over_frames_that_wait() {
    let main = r#"
static __attribute__((noinline)) void lands(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    Node *holder = push(NULL, 1);
    TALLY_ROOT(holder);
    if (setjmp(landing) == 0) deeper(10000);
    TALLY_WRITE(holder, other, mine);
}
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    long below = 0;
    if (depth % 1000 == 0) {
        lands(depth);
        garbage(20000);
    }
    if (depth) below = descend(depth - 1);
    return below + mine->value;
}
static void *run(void *unused) {
    printf("%ld\n", descend(10000));
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(&format!("{DEEPER}{main}")), "50005000\n");
}

/// The thread ends behind such a jump, before the next slice: what was written to since is garbage then, which the last epochs
/// take with all that it holds.
#[test]
fn a_thread_ends_after_a_longjmp_over_frames_that_wait() {
    let main = r#"
static __attribute__((noinline)) void lands(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    Node *holder = push(NULL, 1);
    TALLY_ROOT(holder);
    flip();
    if (setjmp(landing) == 0) deeper(10000);
    TALLY_WRITE(holder, other, mine);
}
static long descend(long depth) {
    if (depth == 0) return lands(depth), 0;
    return descend(depth - 1) + 1;
}
static void *run(void *unused) {
    printf("%ld\n", descend(100));
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(&format!("{DEEPER}{main}")), "100\n");
}

/// A native function catches such a jump: nothing tells of it but what the next slice finds.
#[test]
fn native_code_catches_a_longjmp_over_frames_that_wait() {
    let library = r#"
#include <setjmp.h>
static jmp_buf landing;
void jump(void) { longjmp(landing, 1); }
int protected(void (*managed)(long, int), long depth) {
    if (setjmp(landing)) return 1;
    managed(depth, 1);
    return 0;
}
"#;
    let main = r#"
#include <dlfcn.h>
static void (*jump)(void);
static int (*protected)(void (*)(long, int), long);
static __attribute__((noinline)) void deeper(long depth, int jumps) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth) {
        deeper(depth - 1, jumps);
    } else {
        flip();
        if (jumps) jump();
    }
    if (mine->value != depth) printf("%ld: lost\n", depth);
}
static __attribute__((noinline)) Node *lands(long depth, Node *holder) {
    TALLY_ROOT(holder);
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (!protected(deeper, 10000)) puts("no jump");
    TALLY_WRITE(holder, other, mine);
    return holder;
}
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth % 1000 == 0) {
        Node *holder = lands(depth, push(NULL, 1));
        TALLY_ROOT(holder);
        mine = NULL;
        if (depth % 2000) deeper(9990, 0);
        garbage(3000);
        if (holder->other->value != depth) printf("%ld: lost\n", depth);
        mine = holder->other;
    }
    long below = depth ? descend(depth - 1) : 0;
    return below + mine->value;
}
static void *run(void *unused) {
    printf("%ld\n", descend(20000));
    return NULL;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    jump = dlsym(library, "jump"), protected = dlsym(library, "protected");
    on_a_large_stack(run);
}
"#;
    runs_beside(("clang-22", "native.c", library), main, "200010000\n");
}

/// And where what it calls next covers the frames that are gone with a buffer of which only a part is written to: the
/// diverted return is still there to be read, but no frame's, and the frames behind it are not what they were.
#[test]
fn native_code_catches_a_longjmp_and_covers_what_is_gone() {
    covers_what_is_gone("garbage(30000);");
}

/// And where the program then goes so deep that looking for the diverted return takes many steps.
#[test]
fn native_code_catches_a_longjmp_covers_what_is_gone_and_goes_deep() {
    covers_what_is_gone("deep(20000, NULL);");
}

fn covers_what_is_gone(then: &str) {
    let library = r#"
#include <setjmp.h>
static jmp_buf landing;
void jump(void) { longjmp(landing, 1); }
static __attribute__((noinline)) void cover(void (*managed)(void)) {
    volatile char buffer[4 << 20];
    for (long i = sizeof buffer - (1 << 19); i < sizeof buffer; i++) buffer[i] = 0x55;
    managed();
    buffer[0] = buffer[sizeof buffer - 1];
}
int protected(void (*managed)(long), long depth, void (*then)(void)) {
    if (setjmp(landing)) return cover(then), 1;
    managed(depth);
    return 0;
}
"#;
    let main = r#"
#include <dlfcn.h>
static void (*jump)(void);
static int (*protected)(void (*)(long), long, void (*)(void));
static __attribute__((noinline)) void deeper(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth) {
        deeper(depth - 1);
    } else {
        flip();
        jump();
    }
    if (mine->value != depth) printf("%ld: lost\n", depth);
}
static __attribute__((noinline)) void deep(long depth, Node *mine) {
    TALLY_ROOT(mine);
    if (depth) deep(depth - 1, mine); else garbage(30000);
    if (mine) puts("no longer null");
}
static void then(void) {
    THEN
    tally_collect();
}
static void *run(void *unused) {
    for (long round = 0; round < 20; round++) {
        Node *mine = push(NULL, round);
        TALLY_ROOT(mine);
        if (!protected(deeper, 20000 + round * 7, then)) puts("no jump");
        garbage(3000);
        if (mine->value != round) puts("lost");
    }
    puts("landed");
    return NULL;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    jump = dlsym(library, "jump"), protected = dlsym(library, "protected");
    on_a_large_stack(run);
}
"#;
    runs_beside(("clang-22", "native.c", library), &main.replace("THEN", then), "landed\n");
}
