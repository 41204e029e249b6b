//! A host in C, not lowered itself: it links the runtime and loads managed code from a shared library.

use std::path::Path;
use std::process::Command;
use tally_kit::tally_command::checked_tally;

use crate::boundaries::prints;
use crate::boundaries::program::Folder;

const MANAGED: &str = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static Node *kept;
long managed(long count, void (*back)(void)) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < count; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    TALLY_WRITE_GLOBAL(kept, list);
    list = list->next;
    TALLY_WRITE_GLOBAL(kept, (Node *)NULL);
    back();
    long sum = count - 1;
    for (Node *n = list; n; n = n->next) sum += n->value;
    return sum;
}
"#;

/// The library is loaded, called on two threads and unloaded, five times.
const HOST: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <tally.h>
static long (*managed)(long, void (*)(void));
static void *run(void *count) { return (void *)managed((long)count, tally_collect); }
int main(void) {
    long sum = 0;
    for (int turn = 0; turn < 5; turn++) {
        void *library = dlopen("./managed.so", RTLD_NOW);
        if (!library) return puts(dlerror()), 1;
        managed = (long (*)(long, void (*)(void)))dlsym(library, "managed");
        pthread_t thread;
        void *other;
        pthread_create(&thread, NULL, run, (void *)5000);
        sum += managed(10000, tally_safepoint);
        pthread_join(thread, &other);
        sum += (long)other;
        dlclose(library);
    }
    tally_collect();
    printf("%ld\n", sum);
}
"#;

/// Makes the host and its library.
fn built(managed: &str, host: &str) -> Folder {
    let folder = Folder::with(&[("managed.c", managed), ("host.c", host)]);
    assert_eq!(folder.tally(&["lower", "managed.c", "-o", "managed.bc"]), prints(""));
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(folder.path(".")).status();
        assert!(status.unwrap().success(), "{program} {arguments:?}");
    };
    run("clang-22", &["-O2", "-fPIC", "-c", "managed.bc", "-o", "managed.o"]);
    run("llvm-objcopy-22", &["--set-section-flags", ".llvm_stackmaps=alloc,data", "managed.o"]);
    run("clang-22", &["-shared", "-Wl,-z,text", "managed.o", "-o", "managed.so"]);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../aot-runtime/include");
    let runtime = checked_tally().with_file_name("libtally.a");
    let (include, runtime) = (include.to_str().unwrap(), runtime.to_str().unwrap());
    let whole = ["-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive", "-rdynamic"];
    let libraries = ["-lgcc_s", "-lpthread", "-ldl", "-lm", "-o", "program"];
    run("clang-22", &[&["-I", include, "host.c"][..], &whole, &libraries].concat());
    folder
}

/// scenarios 154, 160.
#[test]
fn shared_libraries_of_managed_code_come_and_go_in_a_native_program() {
    let folder = built(MANAGED, HOST);
    let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "64KiB")];
    assert_eq!(folder.program(&variables, &[]), prints("312462500\n"));
}

/// A type whose references only its trace function knows; `make` returns an object of it.
const TRACED: &str = r#"
#include <tally_gc.h>
typedef struct Boxed { unsigned long is_reference; void *word; } Boxed;
static void trace(const uint64_t *words, uint64_t count, tally_visit visit, void *context) {
    if (count == 2 && words[0]) visit((void *)words[1], context);
}
const tally_type boxed = {.version = TALLY_TYPE_VERSION, .size = sizeof(Boxed), .slot_kind = TALLY_SLOT_TRACE, .name = "Boxed",
                          .trace = trace};
void *make(void) { return tally_new(&boxed); }
"#;

/// An object is kept by a handle while its library is closed, or let go of before. A collection visits what is left.
const KEEPING_HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <tally.h>
static void *loaded(void **library) {
    *library = dlopen("./managed.so", RTLD_NOW);
    void *(*make)(void) = *library ? (void *(*)(void))dlsym(*library, "make") : NULL;
    return make ? make() : NULL;
}
int main(int count, char **arguments) {
    void *library, *again;
    tally_handle *handle = tally_handle_new(loaded(&library));
    if (count > 1 && arguments[1][0] == 'l') tally_handle_set(handle, NULL);
    tally_collect();
    dlclose(library);
    if (count > 1 && arguments[1][0] == 'o') loaded(&again);
    tally_collect();
    puts("collected");
}
"#;

/// Without the check it is a jump to where the code was.
#[test]
fn object_of_a_traced_type_whose_library_is_closed_is_named() {
    let folder = built(TRACED, KEEPING_HOST);
    let kept = folder.program(&[], &[]);
    let said = "tally: an object of type `Boxed` is left, and its trace function is gone: module `managed.c` was unloaded; let go \
                of such objects and call tally_collect() before\n";
    assert_eq!((kept.status, kept.stderr.as_str()), (Some(5), said), "{kept:?}");
    assert_eq!(folder.program(&[], &["let go"]), prints("collected\n"));
    assert_eq!(folder.program(&[], &["opened again"]), prints("collected\n"), "at the same place");
}
