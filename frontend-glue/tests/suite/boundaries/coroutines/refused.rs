//! What must not be done with a stack ends the process with a sentence.

use super::{Folder, native_code, of_nodes, prints};
use tally_kit::folder::Outcome;

/// Status of a use that is wrong.
const USAGE: i32 = 2;

/// A program that ends so at both ends of optimisation.
fn ends(main: &str, says: &str) {
    let folder = Folder::with(&[("program.c", &of_nodes(main))]);
    for level in ["0", "2"] {
        is_refused(&folder.tally(&["run", "--opt", level, "program.c"]), says);
    }
}

fn is_refused(ran: &Outcome, says: &str) {
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(USAGE), ""), "{ran:?}");
    assert!(ran.stderr.starts_with("tally: ") && ran.stderr.contains(says), "{}", ran.stderr);
}

const ENTRIES: &str = r#"
static void *returns(void *value) { return value; }
static void *closes_itself(void *value) { tally_stack_close(tally_stack_current()); return value; }
"#;

#[test]
fn switches_to_what_cannot_go_on() {
    let rows = [
        (
            "void *stack = tally_stack_new(returns, 0); TALLY_ROOT(stack); tally_stack_switch(stack, NULL); tally_stack_switch(stack, NULL);",
            "this stack has finished",
        ),
        ("tally_stack_switch(NULL, NULL);", "for which no other waits"),
        (
            "Node *node = push(NULL, 1); TALLY_ROOT(node); tally_stack_switch(node, NULL);",
            "is no object that tally_stack_new has made",
        ),
        ("tally_stack_switch(&returns, NULL);", "is no object that tally_stack_new has made"),
        ("tally_stack_switch(tally_stack_new(closes_itself, 0), NULL);", "only a suspended stack can be closed"),
        ("tally_stack_close(tally_stack_current());", "only a suspended stack can be closed"),
        ("printf(\"%d\", tally_stack_status(push(NULL, 1)));", "is no object that tally_stack_new has made"),
    ];
    for (body, says) in rows {
        ends(&format!("{ENTRIES}int main(void) {{ {body} }}"), says);
    }
}

#[test]
fn stack_of_another_thread() {
    let main = r#"
static void *given;
static void *run(void *unused) {
    tally_stack_switch(given, NULL);
    return NULL;
}
int main(void) {
    void *stack = tally_stack_new(returns, 0);
    TALLY_ROOT(stack);
    given = stack;
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}
"#;
    ends(&format!("{ENTRIES}{main}"), "is a stack of another thread's heap");
}

/// scenario 77
#[test]
fn switch_in_a_finalizer() {
    let main = r#"
typedef struct File { struct File *next; } File;
static void finalize(File *file) { tally_stack_switch(tally_stack_new(returns, 0), NULL); }
TALLY_FINALIZED_TYPE(File, finalize, next);
int main(void) {
    TALLY_NEW(File);
    tally_collect();
}
"#;
    ends(&format!("{ENTRIES}{main}"), "tally_stack_switch in a finalizer");
}

#[test]
fn scope_of_handles_that_is_left_open() {
    let main = r#"
static void *entry(void *value) {
    void *scope = tally_handles_open();
    tally_handle_new(value);
    tally_stack_switch(NULL, NULL);
    tally_handles_close(scope);
    return NULL;
}
int main(void) {
    Node *node = push(NULL, 1);
    TALLY_ROOT(node);
    tally_stack_switch(tally_stack_new(entry, 0), node);
}
"#;
    ends(main, "a stack is left while a scope of handles is open");
}

#[test]
fn exception_that_leaves_the_entry() {
    let library = "extern \"C\" void throw_it(int value) { throw value; }";
    let main = r#"
#include <dlfcn.h>
static void (*throw_it)(int);
static void *entry(void *value) {
    throw_it(1);
    return NULL;
}
int main(void) {
    void *library = dlopen("./native.so", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    throw_it = dlsym(library, "throw_it");
    tally_stack_switch(tally_stack_new(entry, 0), NULL);
}
"#;
    let folder = Folder::with(&[("native.cpp", library), ("program.c", &of_nodes(main))]);
    native_code::library(&folder, "clang++-22", "native.cpp", &["-fexceptions"]);
    for level in ["0", "2"] {
        let ran = folder.tally(&["run", "--opt", level, "program.c"]);
        is_refused(&ran, "an exception leaves the entry function of a stack");
    }
}

/// No memory for a stack is no error: null is returned.
#[test]
fn stack_that_is_too_large_is_null() {
    let main = "static void *entry(void *value) { return value; }\nint main(void) { printf(\"%d\\n\", tally_stack_new(entry, ~0ull) == NULL); }";
    let folder = Folder::with(&[("program.c", &of_nodes(main))]);
    assert_eq!(folder.tally(&["run", "program.c"]), prints("1\n"));
}
