//! The counters that a program may ask for while it runs are exact without any option, and agree with each other.

use std::ffi::OsString;
use std::path::Path;
use tally_kit::tally_command::{describe, run, run_tally, source_tree};

/// A list of 500 of 1000 nodes, whose figures are asked for twice.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static void show(void) {
    tally_statistics s;
    tally_get_statistics(&s);
    printf("%lu objects of %lu bytes: %d, %d\n", s.allocated_objects, s.allocated_bytes,
           s.live_objects + s.freed_objects == s.allocated_objects, s.live_bytes == 24 * s.live_objects);
    printf("%lu left\n", s.live_objects);
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (int i = 0; i < 1000; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        if (i % 2) {
            TALLY_WRITE(node, next, list);
            list = node;
        }
    }
    tally_collect();
    show();
    long last = list->value;
    list = NULL;
    tally_collect();
    show();
    return last != 999;
}
"#;

#[test]
fn figures_of_a_running_program_need_no_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.c");
    std::fs::write(&file, PROGRAM).expect("room");
    for plan in ["refcount", "refcount-prompt"] {
        for more in [&[][..], &["--zeal"], &["--pause-goal", "1ms"]] {
            let arguments: Vec<OsString> =
                [&["run", "--plan", plan], more].concat().into_iter().map(OsString::from).collect();
            let output = run_tally(&[&arguments[..], &[file.clone().into()]].concat(), &[]);
            let expected = "1000 objects of 24000 bytes: 1, 1\n500 left\n1000 objects of 24000 bytes: 1, 1\n0 left\n";
            let right = output.status.success() && output.stdout == expected.as_bytes();
            assert!(right, "{plan} {more:?}: {}", describe(&output));
        }
    }
}

/// Times differ from run to run; whatever is counted does not.
#[test]
fn runs_with_slices_of_units_repeat_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    for (program, plan) in ["binary_trees.c", "gcbench.c", "rings.c"]
        .into_iter()
        .flat_map(|name| ["refcount", "refcount-prompt"].map(|plan| (name, plan)))
    {
        let executable = folder.path().join(plan);
        let mut arguments: Vec<OsString> = ["build", "--plan", plan].map(OsString::from).to_vec();
        arguments.extend([
            source_tree().join("examples").join(program).into(),
            OsString::from("-o"),
            executable.clone().into(),
        ]);
        let built = run_tally(&arguments, &[]);
        assert!(built.status.success(), "{}", describe(&built));
        let figures: Vec<String> = (0..3).map(|_| counters(&executable)).collect();
        assert!(figures[0].contains("\"slices\"") && figures[0].contains("\"allocated_objects\""), "{}", figures[0]);
        assert!(figures.iter().all(|other| *other == figures[0]), "{program}, {plan}: {figures:#?}");
    }
}

/// What a run with slices of 2,000 units counted, as text.
fn counters(executable: &Path) -> String {
    let output = executable.with_extension("json");
    let name = output.display().to_string();
    let variables = [("TALLY_STATS", name.as_str()), ("TALLY_SLICE_UNITS", "2000"), ("TALLY_EPOCH_BYTES", "64KiB")];
    let ran = run::<&str>(executable, &[], &variables);
    assert!(ran.status.success(), "{}", describe(&ran));
    let read = std::fs::read_to_string(&output).expect("the statistics were written");
    let serde_json::Value::Object(mut figures) = serde_json::from_str(&read).expect("JSON") else { panic!("{read}") };
    figures.retain(|name, _| !name.contains("_ns") && !name.contains("utilisation") && name != "pause_histogram");
    serde_json::to_string_pretty(&figures).expect("JSON")
}
