//! Programs of LLVM's own strategies, compiled by stock `opt` and `llc` and linked by `tally build`.

use tally_kit::folder::{Folder, Outcome};

/// The pipelines in front of `llc`: its level, and what `opt` does before statepoints are put in.
pub(super) const LEVELS: [(&str, &str); 4] =
    [("-O0", ""), ("-O1", "default<O1>,"), ("-O2", "default<O2>,"), ("-O3", "default<O3>,")];

/// Runs a tool, which must succeed.
pub(super) fn tool(folder: &Folder, name: &str, arguments: &[&str]) {
    let outcome = folder.run(name, arguments);
    assert_eq!(outcome.status, Some(0), "{name} {arguments:?}: {}", outcome.stderr);
}

/// Compiles `NAME.ll` to `NAME.o` as it is.
pub(super) fn llc(folder: &Folder, name: &str, arguments: &[&str]) {
    let (source, object) = (format!("{name}.ll"), format!("{name}.o"));
    let fixed = ["-filetype=obj", "-relocation-model=pic", &source, "-o", &object];
    tool(folder, "llc-22", &[&fixed, arguments].concat());
}

/// Runs the executable with a collection every 4 KiB. It must print `output`, have collected, and have freed objects. Under zeal an
/// argument says that less garbage will do.
pub(super) fn collects(folder: &Folder, output: &str, what: &str) {
    let outcome = folder.program(&[("TALLY_EPOCH_BYTES", "4KiB"), ("TALLY_STATS", "1")], &[]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), output), "{what}: {}", outcome.stderr);
    assert!(counted(&outcome, "marks") > 3 && counted(&outcome, "freed_objects") > 1000, "{what}: {}", outcome.stderr);
    let under_zeal = folder.program(&[("TALLY_ZEAL", "1")], &["few"]);
    assert_eq!((under_zeal.status, under_zeal.stdout.as_str()), (Some(0), output), "{what}: {}", under_zeal.stderr);
}

/// A figure of the statistics on standard error.
pub(super) fn counted(outcome: &Outcome, name: &str) -> u64 {
    let line = outcome.stderr.lines().find(|line| line.starts_with(&format!("tally: {name} ")));
    line.and_then(|line| line.split(' ').next_back()?.parse().ok()).expect("the statistics have it")
}
