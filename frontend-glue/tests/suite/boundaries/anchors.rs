//! Native code without unwind tables and frame pointers between managed frames, which anchors lead around.

use std::path::Path;
use std::process::Command;
use tally_kit::tally_command::checked_tally;

use crate::boundaries::prints;
use crate::boundaries::program::Folder;
use tally_kit::folder::Outcome;

/// Compiles `native.c` to `native.so`, or an object, without tables and frame pointers.
fn native(folder: &Folder, compiler: &str, level: &str, how: &[&str]) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../aot-runtime/include");
    let bare = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer", "-fPIC"];
    let mut command = Command::new(compiler);
    command.args(bare).args([level, "-Wall", "-Werror", "-I"]).arg(include).arg("native.c").args(how);
    assert!(command.current_dir(folder.path(".")).status().unwrap().success());
}

/// `through` keeps every register busy, rbp as well, and goes down two native frames before it calls back.
const NATIVE: &str = r#"
#include <stdlib.h>
#include <tally.h>
typedef void *call_managed(const tally_anchor *, void *(*)(void *), void *);
__attribute__((noinline)) static long deeper(call_managed *call, const tally_anchor *here, void *(*back)(void *), void *with, long n) {
    volatile long large[100];
    large[n] = n;
    return (n ? deeper(call, here, back, with, n - 1) : (long)call(here, back, with)) + large[n] - n;
}
long through(call_managed *call, void *(*back)(void *), void *with, long n) {
    TALLY_ANCHOR(here);
    long a = n + 1, b = n * 3, c = n ^ 5, d = n << 2, e = n | 8, f = ~n, g = n - 9;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g) : : "memory");
    long result = deeper(call, &here, back, with, n % 7);
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g) : : "memory");
    if (a != n + 1 || b != n * 3 || c != (n ^ 5) || d != n << 2 || e != (n | 8) || f != ~n || g != n - 9) abort();
    return result;
}
"#;

/// Managed frames call `through`, `qsort`, and each other, and collect at the bottom of it all; `leave` ends some of it
/// by longjmp.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next, *other; long value; } Node;
TALLY_TYPE(Node, next, other);
static long (*through)(void *(*)(const tally_anchor *, void *(*)(void *), void *), void *(*)(void *), void *, long);
static jmp_buf back;
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void garbage(void) {
    for (int i = 0; i < 30; i++) {
        Node *ring = node(i);
        TALLY_ROOT(ring);
        TALLY_WRITE(ring, other, ring);
    }
}
static long descend(long depth);
static void *called_back(void *depth) {
    Node *mine = node((long)depth);
    TALLY_ROOT(mine);
    long below = descend((long)depth);
    return (void *)(below + mine->value - (long)depth);
}
static void *collect(void *unused) { tally_collect(); return (void *)1; }
static void *leave(void *unused) { garbage(); tally_collect(); longjmp(back, 1); }
static long sorting;
static int compare(const void *a, const void *b) {
    Node *mine = node(sorting);
    TALLY_ROOT(mine);
    long depth = sorting;
    if (descend(depth - 1) != depth - 1) abort();
    if (mine->value != depth) abort();
    return *(const int *)a - *(const int *)b;
}
static long descend(long depth) {
    Node *mine = node(depth);
    TALLY_ROOT(mine);
    garbage();
    if (depth <= 0) return tally_collect(), depth;
    long below;
    if (depth % 5 == 3) {
        int two[2] = {2, 1};
        sorting = depth;
        qsort(two, 2, sizeof(int), compare);
        below = depth - 1;
    } else if (depth % 5 == 1) {
        below = descend(depth - 1);
    } else {
        below = through(tally_call_managed, called_back, (void *)(depth - 1), depth);
    }
    if (depth % 4 == 0) tally_collect();
    if (mine->value != depth || below != depth - 1) abort();
    return depth;
}
static long jumps(long round) {
    Node *kept = node(round);
    TALLY_ROOT(kept);
    if (setjmp(back) == 0) return through(tally_call_managed, leave, NULL, round);
    garbage();
    tally_collect();
    return kept->value;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    through = (long (*)(void *(*)(const tally_anchor *, void *(*)(void *), void *), void *(*)(void *), void *, long))dlsym(library, "through");
    Node *outer = node(5);
    TALLY_ROOT(outer);
    long sum = 0;
    for (int depth = 0; depth < 40; depth++) sum += descend(depth) - depth;
    for (int round = 0; round < 50; round++) sum += jumps(round);
    sum += through(tally_call_managed, collect, NULL, 1);
    descend(2000);
    printf("%ld %ld\n", sum, outer->value);
}
"#;

#[test]
fn callbacks_through_native_code_without_tables_are_walked_by_their_anchors() {
    let folder = Folder::with(&[("native.c", NATIVE), ("program.c", PROGRAM)]);
    for level in ["0", "2"] {
        folder.build(&["--opt", level, "program.c"]);
        for (compiler, native_level) in [("clang-22", "-O0"), ("clang-22", "-O2"), ("gcc", "-O0"), ("gcc", "-O2")] {
            native(&folder, compiler, native_level, &["-shared", "-o", "native.so"]);
            let name = format!("--opt {level} against {compiler} {native_level}");
            let run = ["run", "--leak-check", "--epoch-bytes", "64KiB", "--opt", level, "program.c"];
            assert_eq!(folder.tally(&run), prints("1226 5\n"), "tally run {name}");
            let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "64KiB")];
            assert_eq!(folder.program(&variables, &[]), prints("1226 5\n"), "tally build {name}");
        }
    }
}

/// An anchor on the heap, where the walk does not look.
#[test]
fn anchor_that_is_not_on_the_stack_stops_the_program() {
    let elsewhere = NATIVE
        .replace("&here, back", "&elsewhere, back")
        .replace("long a = n", "static tally_anchor elsewhere;\n    elsewhere = here;\n    long a = n");
    let folder = Folder::with(&[("native.c", &elsewhere), ("program.c", PROGRAM)]);
    native(&folder, "clang-22", "-O2", &["-shared", "-o", "native.so"]);
    let Outcome { status, stderr, .. } = folder.tally(&["run", "program.c"]);
    assert_eq!(status, Some(5), "{stderr}");
    assert!(stderr.contains("the stack is not as compiled code leaves it"), "{stderr}");
}

/// A host that has no tables from its `main` on.
const HOST: &str = r#"
#include <stdio.h>
#include <tally.h>
void *managed(void *count);
int main(void) {
    long sum = 0;
    for (long i = 0; i < 100; i++) sum += (long)tally_call_managed(NULL, managed, (void *)i);
    printf("%ld\n", sum);
}
"#;

const MANAGED: &str = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
void *managed(void *count) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < (long)count; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    tally_collect();
    return (void *)(list ? list->value : 0);
}
"#;

#[test]
fn host_without_tables_enters_managed_code_with_no_anchor() {
    let folder = Folder::with(&[("native.c", HOST), ("managed.c", MANAGED)]);
    assert_eq!(folder.tally(&["lower", "managed.c", "-o", "managed.bc"]), prints(""));
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(folder.path(".")).status();
        assert!(status.unwrap().success(), "{program} {arguments:?}");
    };
    run("clang-22", &["-O2", "-c", "managed.bc", "-o", "managed.o"]);
    run("llvm-objcopy-22", &["--set-section-flags", ".llvm_stackmaps=alloc,data", "managed.o"]);
    let runtime = checked_tally().with_file_name("libtally.a");
    let libraries = ["-lgcc_s", "-lpthread", "-ldl", "-lm", "-o", "program"];
    native(&folder, "clang-22", "-O2", &["-c", "-o", "native.o"]);
    run("clang-22", &[&["native.o", "managed.o", runtime.to_str().unwrap()][..], &libraries].concat());
    let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "4KiB")];
    assert_eq!(folder.program(&variables, &[]), prints("4851\n"));
}
