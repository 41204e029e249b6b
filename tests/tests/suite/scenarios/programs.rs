//! Compiled programs in heaps that hold far less than they allocate: `tests/programs/limited/`.

use std::ffi::OsString;
use tally_kit::tally_command::{describe, run_tally, source_tree};

/// Runs a program under either plan, optimised and not, in a heap of that size.
fn runs_within(heap_limit: &str, name: &str, expected: &str) {
    for plan in ["refcount", "refcount-prompt"] {
        for level in ["0", "2"] {
            let options = ["run", "--plan", plan, "--opt", level, "--heap-limit", heap_limit, "--leak-check"];
            let mut arguments: Vec<OsString> = options.iter().map(OsString::from).collect();
            arguments.push(source_tree().join("tests/programs/limited").join(name).into());
            let output = run_tally(&arguments, &[]);
            let right = output.status.success() && output.stdout == expected.as_bytes();
            assert!(right, "{plan}, --opt {level}: {}", describe(&output));
        }
    }
}

/// scenario 23: thirteen megabytes of a list without end go through a heap of one.
#[test]
fn endless_list_that_closures_unfold() {
    let expected = "2125764000\n".repeat(4) + "50837316566580\n";
    runs_within("1MiB", "endless_list.c", &expected);
}

/// scenario 50: collections while thirty thousand frames wait, each with roots that are read on the way back.
#[test]
fn recursion_of_the_program_with_collections_in_it() {
    runs_within("4MiB", "deep_recursion.c", "7 collections, 0 lost, sum 450015000\n");
}

/// scenario 49: a collection and a hundred finalizers when little is left of the stack.
#[test]
fn finalizers_run_with_little_stack_left() {
    runs_within("8MiB", "finalizers_with_little_stack.c", "1 100 closed, sum 6225, 0 lost\n");
}
