//! What a user of a program may not make it do: `docs/use/security.md`.
//!
//! Reports go where they are told and harm nothing there; a program that runs with more rights than the user who starts it
//! takes no orders from that user's environment; executables are linked so that a wrong write cannot redirect their calls.

use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tally_kit::tally_command::{describe, run, run_tally};
use tempfile::TempDir;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < 3; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    printf("%ld\n", list->next->value);
}
"#;

/// A folder that any user may enter, with the program built in it.
fn built(options: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("our folder");
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, PROGRAM).expect("room");
    let files = [source.to_str().expect("text"), "-o", program.to_str().expect("text")];
    let output = run_tally(&[&["build"], options, &files].concat(), &[]);
    assert!(output.status.success(), "{}", describe(&output));
    (folder, program)
}

fn with_stats(program: &Path, place: &str) -> Output {
    run(program, &[] as &[&str], &[("TALLY_STATS", place)])
}

#[test]
fn statistics_go_to_standard_output_behind_what_the_program_printed() {
    let (folder, program) = built(&[]);
    for place in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = with_stats(&program, place);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.starts_with("1\n{\n  \"epochs\""), "{place}: {}", describe(&output));
        assert!(text.contains("\"allocated_objects\": 3,") && text.contains("\"live_objects\": 3,"), "{text}");
    }
    let file = folder.path().join("both");
    let status = Command::new(&program)
        .env("TALLY_STATS", "/dev/stdout")
        .stdout(std::fs::File::create(&file).expect("room"))
        .status()
        .expect("it runs");
    let text = std::fs::read_to_string(&file).expect("text");
    assert!(status.success() && text.starts_with("1\n{"), "the program's output is not written over: {text}");
}

#[test]
fn statistics_replace_no_device_and_no_link() {
    let (folder, program) = built(&[]);
    let output = with_stats(&program, "/dev/null");
    assert!(output.status.success(), "{}", describe(&output));
    assert!(std::fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    let (target, link) = (folder.path().join("target.json"), folder.path().join("link.json"));
    std::fs::write(&target, "old").expect("room");
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    let output = with_stats(&program, link.to_str().expect("text"));
    assert!(output.status.success(), "{}", describe(&output));
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(std::fs::read_to_string(&target).expect("text").starts_with('{'));
}

/// Another user of a shared folder may have put links at every name that a process number makes.
#[test]
fn statistics_follow_no_link_at_a_temporary_name() {
    let (folder, program) = built(&[]);
    let (stats, precious) = (folder.path().join("stats.json"), folder.path().join("precious"));
    std::fs::write(&precious, "precious").expect("room");
    // The shell that puts the link there becomes the program, with the same number.
    let script =
        format!("ln -s '{0}' '{1}'.$$.tmp && exec '{2}'", precious.display(), stats.display(), program.display());
    let output = run(Path::new("sh"), &["-c", &script], &[("TALLY_STATS", stats.to_str().expect("text"))]);
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(std::fs::read_to_string(&precious).expect("text"), "precious");
    assert!(std::fs::symlink_metadata(&stats).expect("written").is_file());
}

#[test]
fn statistics_of_no_place_are_an_error() {
    let (_folder, program) = built(&[]);
    let output = with_stats(&program, "yes");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
    assert!(message.contains("TALLY_STATS: `yes` is no place for statistics"), "{message}");
    let output = run_tally(&["run", "--stats=yes", "examples/list.c"], &[]);
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
    assert!(!Path::new("yes").exists());
}

#[test]
fn a_result_goes_to_standard_output_by_any_of_its_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.c");
    std::fs::write(&source, PROGRAM).expect("room");
    let lower = |place: &str| run_tally(&["lower", source.to_str().expect("text"), "-o", place], &[]);
    let expected = lower("-");
    assert!(expected.status.success() && expected.stdout.starts_with(b"; ModuleID"), "{}", describe(&expected));
    for place in ["/dev/stdout", "/dev/fd/1"] {
        let named = lower(place);
        assert!(named.status.success() && named.stdout == expected.stdout, "{place}: {}", describe(&named));
    }
}

#[test]
fn executables_find_functions_at_the_start_and_make_their_table_read_only() {
    for options in [&[][..], &["--no-pie"]] {
        let (_folder, program) = built(options);
        let read = |what: &str| {
            let output = Command::new("readelf").args([what, "-W"]).arg(&program).output().expect("readelf");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let dynamic = read("-d");
        assert!(dynamic.contains("BIND_NOW") || dynamic.contains("Flags: NOW"), "{options:?}: {dynamic}");
        let segments = read("-l");
        assert!(segments.contains("GNU_RELRO"), "{options:?}: {segments}");
        let stack = segments.lines().find(|line| line.contains("GNU_STACK")).expect("it says how its stack is");
        assert!(!stack.contains("RWE"), "{options:?}: {stack}");
    }
}

/// A program of root's with the set-user-id bit, which another user starts with variables of their choice.
#[test]
fn a_program_with_more_rights_than_its_user_reads_no_variables() {
    if std::fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        eprintln!("NOT TESTED: only root can make a program of another user's; run this test as root");
        return;
    }
    let (folder, program) = built(&[]);
    let place = folder.path().join("stats.json");
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(program)
            .env("TALLY_HEAP_LIMIT", "nonsense");
        command.env("TALLY_STATS", &place).output().expect("setpriv of util-linux")
    };
    let plain = as_nobody(&program);
    assert_eq!(plain.status.code(), Some(2), "without the bit the variable is read: {}", describe(&plain));
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).expect("our program");
    let privileged = as_nobody(&program);
    assert!(privileged.status.success() && privileged.stdout == b"1\n", "{}", describe(&privileged));
    assert!(!place.exists(), "the user had root write a file");
}

#[test]
fn code_of_the_jit_is_never_writable_and_executable_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.c");
    let look = r#"
    char line[512], rights[8] = "";
    unsigned long from, to, both = 0, readable = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3) return 1;
        both += rights[1] == 'w' && rights[2] == 'x';
        if ((unsigned long)&main >= from && (unsigned long)&main < to) readable += rights[1] == '-' && rights[2] == 'x';
    }
    printf("%lu %lu\n", both, readable);
}
"#;
    let (head, _) = PROGRAM.rsplit_once('}').expect("main ends");
    std::fs::write(&source, format!("{head}{look}")).expect("room");
    for level in ["0", "2"] {
        let output = run_tally(&["run", "--opt", level, source.to_str().expect("text")], &[]);
        assert!(output.status.success() && output.stdout == b"1\n0 1\n", "--opt {level}: {}", describe(&output));
    }
}
