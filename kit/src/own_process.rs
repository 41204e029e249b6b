//! A process of its own for a test that changes the process, or ends it: limits, variables read once, a range of a
//! chosen size.
//!
//! All tests of a crate share an executable, and `cargo test` runs them in one process. Such a test starts its
//! executable again with itself as the only test. This works under any runner, also under one that has a process for
//! each test anyway.

use std::process::{Command, Output};

/// Tells the new process that it is one, and which case it must run.
const CASE: &str = "TALLY_TEST_CASE";

/// Runs `body` in a process of its own, which must succeed. `test` is the calling test's name, as the executable
/// lists it.
pub fn own_process(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if case().is_some() {
        return body();
    }
    let output = start(test, "", variables);
    let shown = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{}\n{}\n{}", output.status, shown[0], shown[1]);
}

/// The case that this process was started for; `None` in the process that starts the others.
pub fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

/// Starts the test again as the process of one case, and waits for its end, which the caller judges.
pub fn start(test: &str, case: &str, variables: &[(&str, &str)]) -> Output {
    let this = std::env::current_exe().expect("a test knows its own path");
    let mut command = Command::new(this);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CASE, case).envs(variables.iter().copied());
    let output = command.output().expect("a test can be started again");
    let begun = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    assert!(begun, "there is no test `{test}` here: nothing was run");
    output
}
