//! Stacks so deep that a flip leaves most of their frames for later, and what may happen before they have been visited:
//! the program comes back to them, by a return or an exception, or passes them by with a jump; they change by way of a
//! pointer; native frames stand between them. `docs/port/ir-contract.md` promises nothing of it in particular: all is as if
//! each flip had visited them all.
//!
//! Each situation runs epochs of 64 KiB: `flip()` in these programs allocates until there was one, and frames then return by the
//! thousand without allocating, so that the walk has no slice in which to go on by itself.

mod jumps;

use crate::boundaries::program::{Folder, of_nodes, plan};
use crate::boundaries::{native_code, prints, runs, runs_in, runs_on_the_heap};
use tally_llvm::lower::Plan;

/// `flip` allocates until an epoch has begun, and not much longer; `check_pauses` prints how many frames were walked at
/// once if those are more than a flip walks.
const FLIPS: &str = r#"
static void flip(void) {
    tally_statistics before, now;
    tally_get_statistics(&before);
    do {
        push(NULL, 0);
        tally_get_statistics(&now);
    } while (now.epochs == before.epochs && now.allocated_objects - before.allocated_objects < 40000);
}
static void check_pauses(void) {
    tally_statistics now;
    tally_get_statistics(&now);
    if (now.frames_at_once_max > 4100) printf("%ld frames at once\n", (long)now.frames_at_once_max);
}
static void on_a_large_stack(void *(*run)(void *)) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1L << 30);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, NULL)) exit(1);
    pthread_join(thread, NULL);
}
"#;

fn program(main: &str) -> String {
    of_nodes(&format!("{FLIPS}{main}"))
}

/// Runs a program beside a native library.
fn runs_beside(library: (&str, &str, &str), main: &str, stdout: &str) {
    let (compiler, name, source) = library;
    let folder = Folder::with(&[(name, source), ("program.c", &program(main))]);
    native_code::library(&folder, compiler, name, &["-fexceptions"]);
    runs_in(&folder, stdout);
}

/// Young objects that only waiting frames hold live; a root that is moved into the heap, or overwritten, as the first thing after
/// the return does not take its object with it. Ten times as deep it is the same, one way being enough to see it.
#[test]
fn frames_that_wait_are_visited_before_the_program_comes_back_to_them() {
    let at_depth = |depth: i64| {
        let main = r#"
static long lost;
static Node *descend(long depth, Node *above) {
    TALLY_ROOT(above);
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth == 1) {
        flip();
        return mine;
    }
    Node *below = descend(depth - 1, mine);
    TALLY_WRITE(mine, next, below);
    if (depth % 5000 == 0) {
        TALLY_ROOT(below);
        flip();
    }
    /* As the first thing after the return the frame above lets go of it: now the heap alone holds it. */
    Node *result = mine;
    mine = NULL;
    if (above && above->value != depth + 1) lost = depth;
    return result;
}
static void *run(void *unused) {
    Node *all = descend(DEPTH, NULL);
    TALLY_ROOT(all);
    if (lost) printf("%ld: lost\n", lost);
    garbage(20000);
    printf("%ld\n", sum_of(all));
    check_pauses();
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
        let main = main.replace("DEPTH", &depth.to_string());
        (program(&main), format!("{}\n", depth * (depth + 1) / 2))
    };
    let (source, stdout) = at_depth(100_000);
    runs(&source, &stdout);
    let (source, stdout) = at_depth(1_000_000);
    let folder = Folder::with(&[("program.c", &source)]);
    folder.build(&["--opt", "2", "program.c"]);
    let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "64KiB")];
    assert_eq!(folder.program(&variables, &[]), prints(&stdout));
}

/// Slices go on with the walk while the program goes deeper, or stays where it is.
#[test]
fn slices_visit_what_waits_while_the_program_goes_deeper() {
    let main = r#"
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth % 10000 == 0) garbage(3000);
    long below = depth ? descend(depth - 1) : 0;
    return below + mine->value;
}
static void *run(void *unused) {
    printf("%ld\n", descend(200000));
    check_pauses();
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(main), "20000100000\n");
}

/// A root of the outermost frame is stored to by the innermost while the frames between wait, and what it held is moved on.
#[test]
fn address_taken_root_is_stored_to_while_frames_wait() {
    let main = r#"
static void descend(long depth, Node **lent, Node *holder) {
    TALLY_ROOT(holder);
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth) {
        descend(depth - 1, lent, holder);
    } else {
        for (int i = 0; i < 50; i++) {
            flip();
            TALLY_WRITE(holder, other, *lent);
            *lent = NULL;
            garbage(3000);
            if (holder->other->value != 7 + i) printf("%d: lost\n", i);
            *lent = push(NULL, 8 + i);
        }
    }
    if (mine->value != depth) printf("%ld: lost\n", depth);
}
static __attribute__((noinline)) void lends(long depth) {
    Node *root = push(NULL, 7);
    TALLY_ROOT(root);
    descend(depth, &root, push(NULL, 1));
    printf("%ld\n", root->value);
}
static void *run(void *unused) {
    lends(30000);
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    // Nothing waits under the prompt plan, where each drain visits all frames while one lends.
    let main = if plan() == Plan::Prompt { main.replace("30000", "3") } else { main.to_owned() };
    runs(&program(&main), "57\n");
}

/// The second time, nothing older than the frames that the flip visits lends any more: the walk pauses again. The nodes on the way down
/// bring that second time.
#[test]
fn frame_that_lent_and_is_gone_does_not_keep_walks_from_pausing() {
    let main = r#"
static __attribute__((noinline)) void fill(Node **lent) { *lent = push(NULL, 3); }
static __attribute__((noinline)) void lends(void) {
    Node *root = NULL;
    TALLY_ROOT(root);
    fill(&root);
    flip();
    flip();
}
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth == 0) flip();
    long below = depth ? descend(depth - 1) : 0;
    return below + mine->value;
}
static void *run(void *unused) {
    lends();
    printf("%ld\n", descend(100000));
    check_pauses();
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs_on_the_heap(&program(main), "5000050000\n");
}

/// Exceptions pass frames that wait, and native frames between them that clean up; handlers are native frames, some of them such
/// that the frame that catches is called by one that waits.
#[test]
fn exceptions_pass_frames_that_wait() {
    let library = r#"
extern "C" void throw_it(int value) { throw value; }
extern "C" int caught(void (*managed)(int), int value) {
    try { managed(value); } catch (int thrown) { return thrown; }
    return -1;
}
struct Note { int *at; ~Note() { ++*at; } };
extern "C" void noted(void (*managed)(int), int value, int *at) { Note note{at}; managed(value); }
"#;
    let main = r#"
#include <dlfcn.h>
static void (*throw_it)(int);
static int (*caught)(void (*)(int), int);
static void (*noted)(void (*)(int), int, int *);
static int unwound;
static void descend(int depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth % 7000 == 0) {
        flip();
        throw_it(depth);
    } else if (depth % 7000 == 6900) {
        int thrown = caught(descend, depth - 1);
        Node *next = push(mine, thrown);
        TALLY_ROOT(next);
        mine = NULL;
        flip();
        if (next->next->value != depth || thrown != depth - 6900) printf("%d: caught %d\n", depth, thrown);
        throw_it(depth);
    } else if (depth % 1000 == 500) {
        noted(descend, depth - 1, &unwound);
    } else {
        descend(depth - 1);
    }
    if (mine->value != depth) printf("%d: lost\n", depth);
}
static void *run(void *unused) {
    for (int i = 0; i < 5; i++) printf("%d ", caught(descend, 6900 + 7000 * (i + 1)));
    printf("%d\n", unwound);
    check_pauses();
    return NULL;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    throw_it = dlsym(library, "throw_it"), caught = dlsym(library, "caught"), noted = dlsym(library, "noted");
    on_a_large_stack(run);
}
"#;
    runs_beside(("clang++-22", "native.cpp", library), main, "13900 20900 27900 34900 41900 35\n");
}

/// Native frames stand between frames that wait, and return to them.
#[test]
fn callbacks_from_native_code_between_frames_that_wait() {
    let main = r#"
static long descend(long depth);
static long result, lost;
static int compare(const void *left, const void *right) {
    static long depth;
    if (*(long *)left < 0 || *(long *)right < 0) return 0;
    depth = *(long *)left < *(long *)right ? *(long *)left : *(long *)right;
    result = descend(depth - 1);
    return 0;
}
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    long below = 0;
    if (depth == 0) {
        flip();
    } else if (depth % 3000 == 0) {
        long pair[] = {depth, depth};
        qsort(pair, 2, sizeof(long), compare);
        below = result;
        flip();
    } else {
        below = descend(depth - 1);
    }
    Node *next = mine;
    mine = NULL;
    if (next->value != depth) lost = depth;
    return below + next->value;
}
static void *run(void *unused) {
    printf("%ld\n", descend(40000));
    if (lost) printf("%ld: lost\n", lost);
    check_pauses();
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(main), "800020000\n");
}

/// Results of every kind come through a return that waits: in general registers, in vector registers, on the x87 stack.
#[test]
fn results_come_through_returns_to_frames_that_wait() {
    let main = r#"
typedef struct Two { long a, b; } Two;
typedef struct Mixed { double a; long b; } Mixed;
#define DESCEND(name, type, leaf, step)                                                                                            \
    static __attribute__((noinline)) type name(long depth) {                                                                       \
        Node *mine = push(NULL, depth);                                                                                            \
        TALLY_ROOT(mine);                                                                                                          \
        type below;                                                                                                                \
        if (depth == 0) { flip(); return leaf; }                                                                                   \
        below = name(depth - 1);                                                                                                   \
        if (mine->value != depth) printf("%ld: lost\n", depth);                                                                    \
        step;                                                                                                                      \
        return below;                                                                                                              \
    }
DESCEND(of_double, double, 0.5, below += 1)
DESCEND(of_two, Two, ((Two){1, 2}), (below.a += 1, below.b += 2))
DESCEND(of_mixed, Mixed, ((Mixed){1.5, 2}), (below.a += 1, below.b += 2))
DESCEND(of_extended, long double, 0.25L, below += 1)
static void *run(void *unused) {
    printf("%.1f\n", of_double(20000));
    Two two = of_two(20000);
    printf("%ld %ld\n", two.a, two.b);
    Mixed mixed = of_mixed(20000);
    printf("%.1f %ld\n", mixed.a, mixed.b);
    printf("%.2Lf\n", of_extended(20000));
    check_pauses();
    return NULL;
}
int main(void) { on_a_large_stack(run); }
"#;
    runs(&program(main), "20000.5\n20001 40002\n20001.5 40002\n20000.25\n");
}

/// The thread ends, or the program does, while frames wait.
#[test]
fn thread_and_program_end_while_frames_wait() {
    let main = r#"
static int exits;
static long descend(long depth) {
    Node *mine = push(NULL, depth);
    TALLY_ROOT(mine);
    if (depth == 0) {
        flip();
        if (exits) exit(0);
        pthread_exit(NULL);
    }
    return descend(depth - 1) + mine->value;
}
static void *run(void *unused) { return (void *)descend(20000); }
int main(void) {
    on_a_large_stack(run);
    puts("ended");
    fflush(stdout);
    exits = 1;
    descend(20000);
}
"#;
    runs(&program(main), "ended\n");
}
