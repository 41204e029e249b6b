//! `cargo xtask bench counts`: how many instructions each path takes, under callgrind, against what was approved.
//!
//! The benches are in benches/ and run by iai-callgrind, which wants a runner of exactly its own version; the version
//! is read off Cargo.lock and the runner installed by cargo if it is not there. `counts` measures the runtime through
//! its Rust API; `compiled` measures what the lowering emits, whole programs and the lowering, in executables that are
//! built here. Afterwards what callgrind counted is compared with benches/approved.txt (counts/approved.rs), and what
//! one operation costs is printed: its count without that of the loop around it, by benches/paths.txt.
//! `--only-compiled` leaves the runtime out.
//!
//! Equal sources give equal counts in any folder, but for about a hundred instructions where `malloc` is called. For that,
//! incremental compilation is switched off: it cuts crates into other units, and some paths were 7 in a hundred longer.

mod approved;

use super::build::{self, BOTH_PLANS, DEFERRED, PROMPT};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, run, setup, tree};
use approved::Approved;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const LIBRARY: &str = "iai-callgrind";
const RUNNER: &str = "iai-callgrind-runner";
/// The operations that are compiled and counted.
const COMPILED: &str = "benches/compiled";
/// What is counted, and what that may cost.
const PATHS: &str = "benches/paths.txt";
const APPROVED: &str = "benches/approved.txt";
/// Tells benches/compiled.rs where the executables are.
const FOLDER: &str = "TALLY_COMPILED_OPERATIONS";
/// The family of paths that benches/counts.rs counts; the others are compiled.rs's.
const RUNTIME: &str = "runtime/";

/// `cargo xtask bench counts`
#[derive(clap::Args)]
pub struct Arguments {
    /// Approve what is counted, for this reason: one sentence, which stands beside each figure that changes
    #[arg(long, value_name = "WHY")]
    approve: Option<String>,
    /// Leave the runtime's own operations out
    #[arg(long)]
    only_compiled: bool,
}

/// Installs the runner if needed, builds what is counted, runs the benches, and compares.
pub fn counts(arguments: &Arguments) -> Outcome {
    if let Some(why) = &arguments.approve {
        approved::check_reason(why)?;
    }
    setup::ensure(setup::TEST_AND_VALGRIND)?;
    let lock = read(&tree::root().join("Cargo.lock"))?;
    let version = locked_version(&lock, LIBRARY)
        .ok_or_else(|| Failure::step(format!("Cargo.lock has no {LIBRARY}; do the benches still use it?")))?;
    let installed = process::output_of(process::cargo().args(["install", "--list"]))?;
    if listed_version(&installed, RUNNER) != Some(version) {
        let exact = format!("={version}");
        process::must_succeed(process::cargo().args(["install", "--locked", RUNNER, "--version", &exact]))?;
    }
    let mut paths = approved::read_paths(&read(&tree::root().join(PATHS))?)?;
    paths.retain(|path| !(arguments.only_compiled && path.name.starts_with(RUNTIME)));
    let compiled = build_compiled()?;
    let home = tree::release()?.with_file_name("iai");
    // What an earlier run counted must not be taken for this one's.
    let _ = std::fs::remove_dir_all(&home);
    let benches = if arguments.only_compiled { &["compiled"][..] } else { &["compiled", "counts"] };
    let bench = |names: &[&str], more: &[&str]| {
        let mut bench = process::cargo();
        bench.args(["bench", "-p", "tally-benches", "--features", "tally-benches/counts"]);
        // The packages that `build_tally` builds, so that what both use is built once.
        bench
            .args(["-p", "tally-llvm", "-p", "aot-runtime"])
            .args(names.iter().flat_map(|name| ["--bench", name]))
            .args(more);
        bench.env(FOLDER, &compiled).env("IAI_CALLGRIND_HOME", &home).env("CARGO_INCREMENTAL", "0");
        // Its own report is long and says nothing that the table below does not.
        process::output_of(&mut bench)
    };
    bench(benches, &["--no-run"])?;
    // Counts do not depend on what else the machine does: both executables are counted at a time.
    let done = || paths.iter().filter(|path| output_file(&home, &path.name).is_file()).count();
    Progress::watching(paths.len(), done, || process::side_by_side(benches, |name| bench(&[name], &[])))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    for path in &mut paths {
        path.counted = counted(&home, &path.name)?;
    }
    let file = tree::root().join(APPROVED);
    let mut approved = Approved::read(&std::fs::read_to_string(&file).unwrap_or_default())?;
    print!("{}", approved::table(&paths, &approved)?);
    if let Some(why) = &arguments.approve {
        let changed = approved.approve(&paths, why, arguments.only_compiled);
        std::fs::write(&file, approved.to_string())
            .map_err(|error| Failure::step(format!("cannot write {APPROVED}: {error}")))?;
        println!("{APPROVED}: {changed} approved");
        return Ok(ExitCode::SUCCESS);
    }
    let grown = approved.grown(&paths);
    if grown.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::step(format!(
        "{}\nif it must be so: cargo xtask bench counts --approve \"why, in a sentence\"",
        grown.join("\n")
    )))
}

/// Builds the operations under both plans, and the workloads; the folder they are in.
fn build_compiled() -> Result<PathBuf, Failure> {
    let tally = run::build_tally()?;
    let folder = tree::release()?.join("compiled");
    build::build_into(&folder, &BOTH_PLANS)?;
    for (plan, name) in [(DEFERRED, "deferred"), (PROMPT, "prompt")] {
        let mut build = process::command(&tally);
        build.args(["build", "--opt", "2", "--plan", plan.option]).args(tree::files(COMPILED, &["c"])?);
        process::must_succeed(build.arg("-o").arg(folder.join(name)))?;
    }
    std::fs::copy(&tally, folder.join("tally"))
        .map_err(|error| Failure::step(format!("cannot copy {}: {error}", tally.display())))?;
    Ok(folder)
}

/// What callgrind counted for a path.
fn counted(home: &Path, name: &str) -> Result<u64, Failure> {
    let path = output_file(home, name);
    total(&read(&path)?)
        .ok_or_else(|| Failure::step(format!("{} has no line `summary:` or `totals:` with a number", path.display())))
}

fn output_file(home: &Path, name: &str) -> PathBuf {
    home.join("tally-benches").join(output_of(name))
}

/// Where the runner leaves callgrind's output of a path.
fn output_of(name: &str) -> String {
    let (folder, bench) = match name.strip_prefix(RUNTIME) {
        Some(bench) if bench.contains('.') => ("counts/runtime", bench.to_owned()),
        Some(bench) => ("counts/runtime", format!("{bench}.each")),
        None => ("compiled/compiled", name.replace('/', ".")),
    };
    format!("{folder}/{bench}/callgrind.{bench}.out")
}

/// The sum in callgrind's output.
pub fn total(text: &str) -> Option<u64> {
    let sum =
        |start: &str| text.lines().find_map(|line| line.strip_prefix(start)?.split_whitespace().next()?.parse().ok());
    sum("summary:").or_else(|| sum("totals:"))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::step(format!("cannot read {}: {error}", path.display())))
}

/// The version of `package` in what `cargo install --list` prints. (The runner itself does not tell its version.)
fn listed_version<'list>(list: &'list str, package: &str) -> Option<&'list str> {
    list.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix(" v")?.split([':', ' ']).next())
}

/// The version of `package` in the text of a Cargo.lock.
fn locked_version<'lock>(lock: &'lock str, package: &str) -> Option<&'lock str> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::{
        APPROVED, Approved, COMPILED, PATHS, approved, listed_version, locked_version, output_of, read, total,
    };
    use crate::tree;

    #[test]
    fn version_is_the_package_own_and_not_a_neighbours() {
        let lock = "[[package]]\nname = \"iai-callgrind-macros\"\nversion = \"0.6.1\"\n\n\
                    [[package]]\nname = \"iai-callgrind\"\nversion = \"0.16.1\"\n";
        assert_eq!(locked_version(lock, "iai-callgrind"), Some("0.16.1"));
        assert_eq!(locked_version(lock, "clap"), None);
    }

    #[test]
    fn installed_version_is_read_off_the_list_of_cargo() {
        let list = "cargo-fuzz v0.13.1:\n    cargo-fuzz\niai-callgrind-runner v0.16.1:\n    iai-callgrind-runner\n";
        assert_eq!(listed_version(list, "iai-callgrind-runner"), Some("0.16.1"));
        assert_eq!(listed_version(list, "iai-callgrind"), None);
        assert_eq!(listed_version("tally v0.1.0 (/home/me/tally):\n", "tally"), Some("0.1.0"));
    }

    #[test]
    fn total_is_what_callgrind_sums_up() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 22016\n\nfn=(1) main\n0 5\n"), Some(22_016));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }

    #[test]
    fn path_leads_to_the_output_of_its_bench() {
        assert_eq!(output_of("prompt/held"), "compiled/compiled/prompt.held/callgrind.prompt.held.out");
        assert_eq!(output_of("runtime/root"), "counts/runtime/root.each/callgrind.root.each.out");
        let with_id = "counts/runtime/weak_get.prompt/callgrind.weak_get.prompt.out";
        assert_eq!(output_of("runtime/weak_get.prompt"), with_id);
    }

    fn paths() -> Vec<approved::Path> {
        let text = read(&tree::root().join(PATHS)).expect("the paths are there");
        approved::read_paths(&text).expect("they can be read")
    }

    #[test]
    fn every_path_has_an_approved_count_and_no_other_has() {
        let text = read(&tree::root().join(APPROVED)).expect("the approved counts are there");
        let approved = Approved::read(&text).expect("they can be read");
        let mut paths: Vec<String> = paths().into_iter().map(|path| path.name).collect();
        let mut names: Vec<String> = approved.names().map(str::to_owned).collect();
        paths.sort();
        names.sort();
        assert_eq!(names, paths);
    }

    #[test]
    fn every_path_is_counted_by_a_bench() {
        let program = read(&tree::root().join(COMPILED).join("main.c")).expect("the program is there");
        let counts = read(&tree::root().join("benches/counts.rs")).expect("the benches are there");
        for path in paths() {
            let (family, operation) = path.name.split_once('/').expect("family/operation");
            match family {
                "deferred" | "prompt" => {
                    assert!(program.contains(&format!("{{\"{operation}\", ")), "main.c has no {operation}");
                }
                "runtime" => {
                    let function = operation.split('.').next().unwrap_or(operation);
                    assert!(counts.contains(&format!("fn {function}(")), "counts.rs has no {function}");
                }
                "deferred_program" | "prompt_program" | "lowering" => {}
                _ => panic!("{} is of no family", path.name),
            }
        }
    }
}
