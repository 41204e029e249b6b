//! What examples do beyond what is expected of all of them (that is `cases/examples.rs`): destructors under the deferred plan,
//! statistics, and each program in `examples/wrong/`, which has a mistake on purpose and must be caught twice, by `tally verify`'s
//! warning and by zeal at the first touch of the dead object.

use std::ffi::OsString;

use tally_kit::situation::programs_in;
use tally_kit::tally_command::{describe, run_tally, source_tree};

/// The examples that `examples/prompt.txt` lists.
fn with_destructors() -> Vec<String> {
    let text = std::fs::read_to_string(source_tree().join("examples/prompt.txt")).expect("the list can be read");
    let names = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let files: Vec<String> = names.map(|name| format!("examples/{name}.c")).collect();
    assert!(!files.is_empty(), "the list is empty");
    files
}

#[test]
fn under_the_deferred_plan_destructors_run_later_and_for_all_objects() {
    for example in with_destructors() {
        let output = run_tally(&["run", "--leak-check", &example], &[]);
        assert!(output.status.success(), "{}", describe(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
        assert!(lines("open ") > 5, "{}", describe(&output));
        assert_eq!((lines("open "), lines("lock ")), (lines("close "), lines("unlock ")), "{}", describe(&output));
    }
}

#[test]
fn programs_with_a_mistake_are_warned_about_and_caught_under_zeal() {
    let files = programs_in(&source_tree().join("examples/wrong"));
    assert!(!files.is_empty(), "examples/wrong/ is empty");
    for file in files {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let verified = run_tally(&[OsString::from("verify"), file.clone().into()], &[]);
        let warning = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(warning.contains("warning") && warning.contains(&name), "{}", describe(&verified));
        let caught = run_tally(&[OsString::from("run"), "--zeal".into(), file.into()], &[]);
        assert_eq!(caught.status.code(), Some(5), "{}", describe(&caught));
        let message = String::from_utf8_lossy(&caught.stderr).into_owned();
        assert!(message.contains(&name), "the message should name the place: {}", describe(&caught));
    }
}

/// scenario 36.
#[test]
fn statistics_of_an_example_add_up() {
    // A heap that may not mark for long, and may not trace, counts, and tries what may be part of a ring; any other marks.
    let counting = ["epochs", "candidates", "cyclic_garbage_objects", "trial_runs", "frames_walked", "roots_walked"];
    for (options, tracing, keys) in [
        (&["--pause-goal", "1us"][..], "0", &counting[..]),
        (&[], "1", &["epochs", "marks", "mark_units", "frames_walked", "roots_walked"]),
    ] {
        let folder = tempfile::tempdir().expect("a folder for statistics");
        let place = folder.path().join("rings.json");
        let stats = format!("--stats={}", place.display());
        let output = run_tally(
            &[&["run", "--leak-check", &stats], options, &["examples/rings.c"]].concat(),
            &[("TALLY_TRACING", tracing)],
        );
        assert!(output.status.success(), "{}", describe(&output));
        let text = std::fs::read_to_string(&place).expect("the statistics were written");
        let statistics: serde_json::Value = serde_json::from_str(&text).expect("the statistics are JSON");
        let figure = |key: &str| statistics[key].as_u64().unwrap_or_else(|| panic!("`{key}` is no number in\n{text}"));
        for key in ["pause_ns_max", "pause_ns_total", "allocated_bytes", "live_bytes", "log_entries"] {
            figure(key);
        }
        for key in keys {
            assert!(figure(key) > 0, "rings.c should have some `{key}`\n{text}");
        }
        assert!(figure("trial_edges") >= figure("trial_runs"), "{text}");
        assert!(figure("pause_ns_max") <= figure("pause_ns_total"), "{text}");
        assert_eq!((figure("allocated_objects"), 0), (figure("freed_objects"), figure("live_objects")), "{text}");
    }
}
