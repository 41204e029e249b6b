//! Heaps stay as small as what lives in them, however short the stops that a program asks for.

use std::ffi::OsString;
use tally_kit::tally_command::{describe, run_tally, source_tree};

/// The garbage was made faster than slices of a short pause goal found it, and each collection allowed for what was made during the last.
#[test]
fn garbage_of_services_is_found_with_a_short_pause_goal() {
    let program = source_tree().join("tests/programs/growth/garbage_of_services.c");
    for plan in ["refcount", "refcount-prompt", "trace"] {
        for goal in ["100us", "400us"] {
            let words = ["run", "--opt", "2", "--plan", plan, "--pause-goal", goal];
            let words: Vec<OsString> =
                words.into_iter().map(OsString::from).chain([program.clone().into_os_string()]).collect();
            let output = run_tally(&words, &[]);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said == "1 1 1\n", "{plan} {goal}: {}", describe(&output));
        }
    }
}
