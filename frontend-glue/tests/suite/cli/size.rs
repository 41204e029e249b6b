//! What is in an executable of ten lines, and what is not.

use tally_kit::folder::Folder;
use tally_kit::tally_command::{describe, run_tally, tally};

/// That of README.md.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 1; i <= 3; i++) list = push(list, i * i);
    for (Node *node = list; node; node = node->next) printf("%ld\n", node->value);
}
"#;

/// Bytes of a stripped executable: 1.25 MiB.
const BYTES_MAX: u64 = 1_310_720;

#[test]
fn executable_has_the_collector_of_its_plan_and_what_it_calls() {
    let folder = Folder::with(&[("program.c", PROGRAM)]);
    let collectors = ["DeferredDriver>::epoch", "PromptDriver>::epoch", "TraceDriver>::epoch"];
    for (plan, own) in [
        ("refcount", &collectors[..1]),
        ("refcount-prompt", &collectors[..2]),
        ("trace", &["DeferredDriver>::epoch", "TraceDriver>::epoch"]),
    ] {
        folder.build(&["-O2", "--plan", plan, "program.c"]);
        let symbols = folder.inspect("nm", &["-C"]);
        let has = |word: &str| symbols.contains(word);
        // The deferred plan is that of a heap without a module.
        let others = collectors.iter().filter(|collector| !own.contains(collector));
        let unwanted =
            [&"tally_weak_map_new", &"tally_zeal_write", &"tally_register_frames", &"gimli::Cache>::with_global"]
                .into_iter()
                .chain(others);
        let unwanted: Vec<_> = unwanted.filter(|word| has(word)).collect();
        assert!(unwanted.is_empty() && has(own[own.len() - 1]) && has("tally_panic_frames"), "{plan}: {unwanted:?}");
    }
    // The runtime as it is released, without its assertions.
    if tally().components().any(|part| part.as_os_str() == "release") {
        let [source, program] = ["program.c", "program"].map(|file| folder.path(file).into_os_string());
        let built = run_tally(&["build".into(), "-O2".into(), source, "-o".into(), program.clone()], &[]);
        assert!(built.status.success(), "{}", describe(&built));
        folder.inspect("strip", &[]);
        let bytes = std::fs::metadata(program).unwrap().len();
        assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    }
}
