//! `tally build` in the place of a compiler: its words, all kinds of inputs, the forms in which it stops.

use std::path::Path;

use tally_kit::folder::{Folder, Outcome};
use tally_kit::tally_command::checked_tally;

/// Holds objects across a collection, in a frame of its own and in those of its callers.
const LIST: &str = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
long sum(long n) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 1; i <= n; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    tally_collect();
    long sum = 0;
    for (Node *node = list; node; node = node->next) sum += node->value;
    return sum;
}
"#;

const MAIN: &str = r#"
#include <stdio.h>
#include "sizes.h"
extern double length(double, double);
extern long sum(long);
int main(void) { printf("%ld %g %ld %ld\n", sum(COUNT), length(3, 4), SIZE, __STDC_VERSION__); }
"#;

/// Has code of C++'s library that is only there to be inlined, throws, and needs the library of mathematics.
const LENGTH: &str = r#"
#include <cmath>
#include <string>
extern "C" double length(double x, double y) {
    try { throw std::string("thrown"); } catch (std::string &thrown) { return std::hypot(x, y) + thrown.size() - 6; }
}
"#;

const PRINTED: &str = "5050 5 7 201112\n";

fn folder() -> Folder {
    let folder = Folder::with(&[("list.c", LIST), ("main.c", MAIN), ("length.cpp", LENGTH)]);
    std::fs::create_dir_all(folder.path("include")).unwrap();
    std::fs::write(folder.path("include/sizes.h"), "#define SIZE 7L\n").unwrap();
    folder
}

fn printed(text: &str) -> Outcome {
    Outcome { status: Some(0), stdout: text.into(), stderr: String::new() }
}

/// Runs `tally` with a file as its standard input.
fn with_input(folder: &Folder, file: &str, arguments: &[&str]) -> Outcome {
    let mut command = folder.command(Path::new("sh"));
    command.args(["-c", "file=$1; shift; exec \"$0\" \"$@\" < \"$file\""]).arg(checked_tally()).arg(file);
    Outcome::of(command.args(arguments).output().unwrap())
}

#[test]
fn words_of_compilers_and_inputs_of_all_kinds_make_a_program() {
    let folder = folder();
    let words = "-std=c11 -std=c++17 -Wall -Werror -I include '-DCOUNT=100L' -Wl,-z,separate-code";
    std::fs::write(folder.path("words"), words).unwrap();
    assert_eq!(folder.tally(&["build", "--emit", "obj", "list.c", "-o", "list.o"]), printed(""));
    folder.run("ar", &["rc", "liblist.a", "list.o"]);
    // C++ without optimisation, an archive by its file, a later level that wins.
    folder.build(&["-O2", "@words", "main.c", "length.cpp", "liblist.a", "-O0"]);
    assert_eq!(folder.program(&[], &[]), printed(PRINTED));
    assert_eq!(folder.tally(&["build", "--shared", "list.c", "-o", "liblist.so"]), printed(""));
    folder.build(&["@words", "main.c", "length.cpp", "-L.", "-llist", "-Wl,-rpath,."]);
    assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), printed(PRINTED));
    assert!(folder.inspect("readelf", &["-d"]).contains("Shared library: [liblist.so]"));
}

const RAISES: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct File { struct File *next; long number; } File;
static void closed(File *file) { printf("%ld closed\n", file->number); }
TALLY_FINALIZED_TYPE(File, closed, next);
extern void raise_error(void);
extern int caught(void (*run)(void));
static void work(void) {
    File *file = TALLY_NEW(File);
    TALLY_ROOT(file);
    file->number = 1;
    raise_error();
    file->number = 2;
}
int main(void) {
    int error = caught(work);
    tally_safepoint();
    printf("caught %d\n", error);
}
"#;

const CATCHES: &str = r#"
extern "C" void raise_error() { throw 7; }
extern "C" int caught(void (*run)()) {
    try { run(); } catch (int error) { return error; }
    return 0;
}
"#;

/// clang says of functions in C that nothing leaves them by unwinding, and then no pad of theirs releases what they hold.
#[test]
fn exceptions_release_what_frames_of_c_hold_if_clang_is_told_of_them() {
    let folder = Folder::with(&[("raises.c", RAISES), ("catches.cpp", CATCHES)]);
    for level in ["-O0", "-O2"] {
        folder.build(&[level, "-fexceptions", "--plan", "refcount-prompt", "raises.c", "catches.cpp"]);
        assert_eq!(folder.program(&[], &[]), printed("1 closed\ncaught 7\n"), "{level}");
    }
}

#[test]
fn each_form_in_which_a_build_stops_can_be_taken_up_again() {
    let folder = folder();
    for (form, file, plan, level) in [
        ("asm", "list.s", "refcount", "2"),
        ("asm", "list.s", "refcount-prompt", "0"),
        ("bc", "list.bc", "refcount-prompt", "2"),
        ("ll", "list.ll", "refcount", "0"),
        ("obj", "list.o", "refcount-prompt", "3"),
    ] {
        let plan = ["--plan", plan, "-O", level];
        assert_eq!(folder.tally(&[&["build", "--emit", form, "list.c", "-o", file][..], &plan].concat()), printed(""));
        folder.build(&[&["main.c", "length.cpp", file, "-Iinclude", "-DCOUNT=100L", "-std=c11"][..], &plan].concat());
        assert_eq!(folder.program(&[], &[]), printed(PRINTED), "{form} {plan:?}");
        let sections = folder.inspect("readelf", &["-SW"]);
        assert!(sections.contains("tally_stackmaps") && !sections.contains(".llvm_stackmaps"), "{form}: {sections}");
    }
}

#[test]
fn program_that_has_all_its_libraries_in_itself() {
    let folder = folder();
    for (shape, kind) in [(&["--static"][..], "DYN"), (&["-static", "-no-pie"], "EXEC")] {
        let files = ["main.c", "length.cpp", "list.c", "-Iinclude", "-DCOUNT=100L", "-std=c11"];
        folder.build(&[&files[..], shape].concat());
        assert!(!folder.inspect("readelf", &["-d"]).contains("NEEDED"));
        assert!(folder.inspect("readelf", &["-h"]).contains(kind));
        folder.run("strip", &["program"]);
        assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), printed(PRINTED), "{shape:?}");
    }
}

#[test]
fn program_that_comes_by_standard_input() {
    let folder = Folder::with(&[("main.c", "int main(void) { return ANSWER; }\n"), ("wrong.c", "int main(void) {\n")]);
    let outcome = with_input(&folder, "main.c", &["run", "-x", "c", "-DANSWER=42", "-"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(42), ""));
    let text = with_input(&folder, "main.c", &["build", "-x", "c", "-", "-DANSWER=43", "--emit", "ll", "-o", "-"]);
    assert!(text.stdout.contains("define") && text.stdout.contains("@main"), "{text:?}");
    std::fs::write(folder.path("main.ll"), &text.stdout).unwrap();
    assert_eq!(with_input(&folder, "main.ll", &["build", "-xir", "-", "-o", "program"]), printed(""));
    assert_eq!(folder.program(&[], &[]).status, Some(43));
    let wrong = with_input(&folder, "wrong.c", &["build", "-x", "c", "-", "-o", "program"]);
    assert!(wrong.stderr.starts_with("<stdin>:1:17: error: expected '}'"), "{}", wrong.stderr);
}

#[test]
fn words_that_cannot_be_followed_say_what_to_do() {
    let folder = Folder::with(&[("main.c", "int main(void) { return 0; }\n"), ("list.c", LIST)]);
    for (arguments, message) in [
        (&["main.c", "list.c", "--emit", "obj", "-o", "all.o"][..], "--emit makes one file of one: name one FILE"),
        (&["main.c", "--emit", "obj", "-o", "-"], "only text goes to standard output: --emit asm or --emit ll"),
        (&["main.c", "--emit", "obj", "--static", "-o", "p"], "cannot be used with"),
        (&["main.c", "--shared", "-static", "-o", "p"], "cannot be used with"),
        (&["main.c", "-llost", "-o", "p"], "unable to find library -llost"),
        (&["main.c", "lost.a", "-o", "p"], "lost.a: cannot be read: No such file"),
        (&["main.c", "lost.so", "-o", "p"], "lost.so"),
        (&["@lost", "-o", "p"], "the response file lost of the command line cannot be read: No such file"),
        (&["main.c", "-x", "fortran", "-o", "p"], "[possible values: c, c++, ir]"),
        (&["-", "-o", "p"], "<stdin>: is empty"),
    ] {
        let arguments = [&["build"], arguments].concat();
        let outcome = with_input(&folder, "/dev/null", &arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(message), "{arguments:?}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["list.c", "main.c"]);
}

/// It comes and goes with frames and types of its own, while the program holds objects; symbols do not matter.
#[test]
fn library_that_is_loaded_and_closed_while_a_program_runs() {
    const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Cell { struct Cell *next; long value; } Cell;
TALLY_TYPE(Cell, next);
static long by_library(long n) {
    void *library = dlopen("./liblist.so", RTLD_NOW);
    if (!library) { puts(dlerror()); return -1; }
    long got = ((long (*)(long))dlsym(library, "sum"))(n);
    if (dlclose(library) != 0 || dlopen("./liblist.so", RTLD_NOW | RTLD_NOLOAD)) return -2;
    return got;
}
int main(void) {
    Cell *mine = TALLY_NEW(Cell);
    TALLY_ROOT(mine);
    mine->value = 1;
    long all = 0;
    for (int i = 0; i < 3; i++) { all += by_library(100); tally_collect(); }
    printf("%ld\n", all + mine->value);
}
"#;
    let folder = Folder::with(&[("list.c", LIST), ("host.c", HOST)]);
    for plan in ["refcount", "refcount-prompt"] {
        assert_eq!(folder.tally(&["build", "--shared", "list.c", "--plan", plan, "-o", "liblist.so"]), printed(""));
        folder.build(&["-rdynamic", "host.c", "--plan", plan]);
        for file in ["program", "liblist.so"] {
            folder.run("objcopy", &["--only-keep-debug", file, "debug"]);
            folder.run("strip", &[file]);
            folder.run("objcopy", &["--add-gnu-debuglink=debug", file]);
        }
        assert_eq!(folder.program(&[], &[]), printed("15151\n"), "{plan}");
    }
}
