//! Programs end as documented where standard error cannot be written: on a full disk, or when nobody reads the pipe any more.

use crate::boundaries::program::{Folder, of_nodes};
use std::fs::File;
use std::process::Command;
use tally_kit::folder::Outcome;
use tally_kit::tally_command::checked_tally;

/// It prints a line that stays in C's buffer, and ends in the way that its argument names.
const MAIN: &str = r#"
static Node *lost;
int main(int count, char **words) {
    printf("out");
    const char *way = count > 1 ? words[1] : "";
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < 1000; i++) list = push(list, i);
    if (!strcmp(way, "leaks")) TALLY_WRITE_GLOBAL(lost, list);
    for (long i = 0; !strcmp(way, "grows"); i++) list = push(list, i);
    return 0;
}
"#;

fn on_a_full_disk(mut command: Command, variables: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let outcome =
        Outcome::of(command.args(words).envs(variables.iter().copied()).stderr(full).output().expect("it starts"));
    (outcome.status, outcome.stdout)
}

#[test]
fn standard_error_that_is_full_changes_no_status() {
    let folder = Folder::with(&[("program.c", &of_nodes(MAIN))]);
    folder.build(&["program.c"]);
    for (variable, way, status) in [
        (("TALLY_LEAK_CHECK", "1"), "leaks", 3),
        (("TALLY_HEAP_LIMIT", "4MiB"), "grows", 4),
        (("TALLY_STATS", "1"), "", 0),
        (("TALLY_LOG", "cycles"), "", 0),
        (("TALLY_LOG", "collections"), "", 0),
        (("TALLY_WHY", "Node"), "leaks", 0),
    ] {
        let built = on_a_full_disk(folder.command(&folder.path("program")), &[variable], &[way]);
        assert_eq!(built, (Some(status), "out".to_owned()), "{variable:?}");
        let run = on_a_full_disk(folder.command(checked_tally()), &[variable], &["run", "program.c", "--", way]);
        assert_eq!(run, (Some(status), "out".to_owned()), "tally run, {variable:?}");
    }
    let wrong = [("TALLY_HEAP_LIMIT", "1x")];
    assert_eq!(on_a_full_disk(folder.command(&folder.path("program")), &wrong, &[]).0, Some(2));
    assert_eq!(on_a_full_disk(folder.command(checked_tally()), &[], &["run", "missing.c"]).0, Some(2));
    assert_eq!(on_a_full_disk(folder.command(checked_tally()), &[], &["nothing"]).0, Some(2));
}
