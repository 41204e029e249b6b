//! Native libraries between managed frames: C++ that throws, C without unwind tables.

use std::process::Command;

use crate::boundaries::program::Folder;
use crate::boundaries::{prints, runs_in};
use tally_kit::folder::{self, Outcome};

const CPP: &str = r#"
extern "C" void throw_it(int value) { throw value; }
extern "C" int caught(void (*managed)(int), int value) {
    try { managed(value); } catch (int thrown) { return thrown; }
    return -1;
}
struct Note { int *at; ~Note() { ++*at; } };
extern "C" void noted(void (*managed)(int), int value, int *at) { Note note{at}; managed(value); }
"#;

const THROWN_AT: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static void (*throw_it)(int);
static int (*caught)(void (*)(int), int);
static void (*noted)(void (*)(int), int, int *);
static int unwound;
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void descend(int depth) {
    Node *mine = node(depth);
    TALLY_ROOT(mine);
    for (int i = 0; i < 50; i++) node(i);
    if (depth % 10 == 0) throw_it(depth);
    if (depth % 10 == 5) {
        int thrown = caught(descend, depth - 1);
        if (thrown != depth - 5) printf("%d: caught %d\n", depth, thrown);
        tally_collect();
        if (mine->value != depth) printf("%d: lost\n", depth);
        return;
    }
    noted(descend, depth - 1, &unwound);
    if (mine->value != depth) printf("%d: lost\n", depth);
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    throw_it = dlsym(library, "throw_it"), caught = dlsym(library, "caught"), noted = dlsym(library, "noted");
    for (int i = 0; i < 300; i++) {
        descend(9);
        if (caught(descend, 34) != 30) puts("not thrown");
    }
    printf("%d\n", unwound);
}
"#;

/// Compiles `source` to `native.so` in the folder.
pub fn library(folder: &folder::Folder, compiler: &str, source: &str, options: &[&str]) {
    let status = Command::new(compiler)
        .args(["-O2", "-shared", "-fPIC", source, "-o", "native.so"])
        .args(options)
        .current_dir(folder.path("."))
        .status();
    assert!(status.unwrap().success());
}

/// scenario 124.
#[test]
fn cpp_exceptions_unwind_managed_frames_and_their_roots_are_gone() {
    let folder = Folder::with(&[("native.cpp", CPP), ("program.c", THROWN_AT)]);
    library(&folder, "clang++-22", "native.cpp", &[]);
    runs_in(&folder, "3600\n");
}

/// A list that lives, so that zeal looks over the heap now and then, and exceptions that native code catches meanwhile.
const THROWN_OFTEN: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
void thrower(long value);
long attempt(long depth, long value);
__attribute__((noinline)) long middle(long depth, long value) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->value = depth;
    if (depth == 0) thrower(value); else middle(depth - 1, value);
    return node->value;
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < 400; i++) {
        Node *node = TALLY_NEW(Node);
        TALLY_WRITE(node, next, list);
        list = node;
    }
    long caught = 0;
    for (long i = 0; i < 300; i++) {
        caught += attempt(i % 60, i);
        TALLY_NEW(Node);
    }
    printf("%ld\n", caught);
}
"#;

const CATCHES: &str = r#"
extern "C" long middle(long depth, long value);
extern "C" void thrower(long value) { if (value % 3) throw value; }
extern "C" long attempt(long depth, long value) {
    try { return middle(depth, value) == depth ? 0 : 1000000; } catch (long thrown) { return thrown == value ? 1 : 1000000; }
}
"#;

/// What frames of the prompt plan leave behind that an exception has skipped, between two of zeal's recounts.
#[test]
fn cpp_exceptions_that_are_caught_between_two_recounts_of_zeal() {
    let folder = Folder::with(&[("native.cpp", CATCHES), ("program.c", THROWN_OFTEN)]);
    for level in ["0", "2"] {
        let ran = folder.tally(&["run", "--opt", level, "--zeal", "program.c", "native.cpp"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "200\n"), "{}", ran.stderr);
    }
}

#[test]
fn exception_that_nobody_catches_ends_in_the_words_of_cpp() {
    let thrown = THROWN_AT.replace("descend(9);", "descend(30);");
    let folder = Folder::with(&[("native.cpp", CPP), ("program.c", thrown.as_str())]);
    library(&folder, "clang++-22", "native.cpp", &[]);
    folder.build(&["program.c"]);
    for ran in [folder.tally(&["run", "program.c"]), folder.program(&[], &[])] {
        assert_eq!(ran.status, None, "{ran:?}");
        assert!(ran.stderr.starts_with("terminate called after throwing an instance of 'int'"), "{}", ran.stderr);
    }
}

/// It keeps no frame pointer and has no unwind table: nothing can find its caller.
const CALLS_BACK: &str = r#"
int call_back(int (*managed)(int), int value) { return managed(value) + 1; }
"#;

const CALLED_BACK: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static int collects(int value) { tally_collect(); return value; }
static int counts(int value) { return value; }
int main(int argc, char **argv) {
    void *library = dlopen("./native.so", RTLD_NOW);
    int (*call_back)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, "call_back");
    Node *node = TALLY_NEW(Node);
    node->value = 40;
    TALLY_ROOT(node);
    int value = call_back(argc > 1 ? counts : collects, 1);
    tally_collect();
    printf("%ld\n", node->value + value);
}
"#;

#[test]
fn native_code_without_unwind_tables_is_named_when_roots_lie_below_it() {
    let folder = Folder::with(&[("native.c", CALLS_BACK), ("program.c", CALLED_BACK)]);
    let bare = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"];
    library(&folder, "clang-22", "native.c", &bare);
    folder.build(&["program.c"]);
    let ran = |arguments: &[&str]| -> [Outcome; 2] {
        let run: Vec<&str> = ["run", "program.c"].into_iter().chain(arguments.iter().copied()).collect();
        let built: Vec<&str> = arguments.iter().skip(1).copied().collect();
        [folder.tally(&run), folder.program(&[], &built)]
    };
    for outcome in ran(&[]) {
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(5), ""), "{outcome:?}");
        for words in ["`call_back`", "native.so+0x", "no unwind table", "-fasynchronous-unwind-tables"] {
            assert!(outcome.stderr.contains(words), "{words} is missing in {}", outcome.stderr);
        }
    }
    for outcome in ran(&["--", "leaf"]) {
        assert_eq!(outcome, prints("42\n"), "no collection while it is on the stack");
    }
    library(&folder, "clang-22", "native.c", &["-fasynchronous-unwind-tables", "-fomit-frame-pointer"]);
    for outcome in ran(&[]) {
        assert_eq!(outcome, prints("42\n"));
    }
}

/// Defines again what the program defines, in front of the function that calls back. Records of its unwind table are of all lengths.
const DEFINES_TWICE: &str = r#"
$first = comdat any
$second = comdat any
define weak i64 @first(i64 %n) uwtable comdat {
  call void asm sideeffect "", "~{rbx}"()
  ret i64 %n
}
define i64 @between(i64 %n) uwtable {
  ret i64 %n
}
define weak i64 @second(i64 %n) uwtable comdat {
  call void asm sideeffect "", "~{rbx},~{r12},~{r13}"()
  ret i64 %n
}
define i32 @call_back(ptr %managed, i32 %value) uwtable {
  %result = call i32 %managed(i32 %value)
  %more = add i32 %result, 1
  ret i32 %more
}
"#;

#[test]
fn native_code_is_unwound_beside_a_function_that_two_modules_define() {
    let program = CALLED_BACK
        .replace("int main", "__attribute__((weak)) long first(long n) { return n; }\n__attribute__((weak)) long second(long n) { return n; }\nint call_back(int (*)(int), int);\nint main")
        .replace("    void *library = dlopen(\"./native.so\", RTLD_NOW);\n", "")
        .replace("    int (*call_back)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, \"call_back\");\n", "");
    let folder = Folder::with(&[("program.c", &program), ("native.ll", DEFINES_TWICE)]);
    for level in ["0", "2"] {
        assert_eq!(folder.tally(&["run", "--opt", level, "program.c", "native.ll"]), prints("42\n"), "level {level}");
        folder.build(&["--opt", level, "program.c", "native.ll"]);
        assert_eq!(folder.program(&[], &[]), prints("42\n"), "level {level}");
    }
}
