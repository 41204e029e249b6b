//! `cargo xtask bench counts`: how many instructions the fast paths take, under callgrind.
//!
//! The benches are in benches/ and run by iai-callgrind, which wants a runner of exactly its own version; the version
//! is read off Cargo.lock and the runner installed by cargo if it is not there. `counts` measures the runtime through
//! its Rust API; `compiled` measures what the lowering emits, in executables that are built here, one for each plan.
//! Arguments go to `cargo bench`. Without any, all is counted, and what each compiled operation costs is printed: its
//! count without that of the loop around it, by benches/compiled/limits.txt. `--bench compiled` leaves the runtime out.

use super::build::{DEFERRED, PROMPT};
use crate::failure::{Failure, Outcome};
use crate::{process, run, setup, tree};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const LIBRARY: &str = "iai-callgrind";
const RUNNER: &str = "iai-callgrind-runner";
/// The operations that are compiled and counted.
const COMPILED: &str = "benches/compiled";
/// Tells benches/compiled.rs where the executables are.
const FOLDER: &str = "TALLY_COMPILED_OPERATIONS";
/// The arguments that leave the runtime out.
const ONLY_COMPILED: [&str; 2] = ["--bench", "compiled"];
/// How often a measured function does its operation.
const TIMES: f64 = 1000.0;

/// `cargo xtask bench counts`
#[derive(clap::Args)]
pub struct Arguments {
    /// Arguments of `cargo bench`, such as `--bench compiled`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// Installs the runner if needed, builds the compiled operations and runs the benches.
pub fn counts(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::BUILD_AND_VALGRIND)?;
    let lock = read(&tree::root().join("Cargo.lock"))?;
    let version = locked_version(&lock, LIBRARY)
        .ok_or_else(|| Failure::step(format!("Cargo.lock has no {LIBRARY}; do the benches still use it?")))?;
    let installed = process::output_of(process::cargo().args(["install", "--list"]))?;
    if listed_version(&installed, RUNNER) != Some(version) {
        let exact = format!("={version}");
        process::must_succeed(process::cargo().args(["install", "--locked", RUNNER, "--version", &exact]))?;
    }
    let compiled = build_compiled()?;
    let home = tree::release()?.with_file_name("iai");
    let mut bench = process::cargo();
    bench.args(["bench", "-p", "tally-benches"]).args(&arguments.rest);
    process::must_succeed(bench.env(FOLDER, compiled).env("IAI_CALLGRIND_HOME", &home))?;
    if arguments.rest.is_empty() || arguments.rest == ONLY_COMPILED {
        let limits = read(&tree::root().join(COMPILED).join("limits.txt"))?;
        print!("{}", table(&limits, |operation| counted(&home, operation))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the executables `deferred` and `prompt`; the folder they are in.
fn build_compiled() -> Result<PathBuf, Failure> {
    let tally = run::build_tally()?;
    let folder = tree::release()?.join("compiled");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::step(format!("cannot make {}: {error}", folder.display())))?;
    for (plan, name) in [(DEFERRED, "deferred"), (PROMPT, "prompt")] {
        let mut build = process::command(&tally);
        build.args(["build", "--opt", "2", "--plan", plan.option]).args(tree::files(COMPILED, &["c"])?);
        process::must_succeed(build.arg("-o").arg(folder.join(name)))?;
    }
    Ok(folder)
}

/// What callgrind counted for `plan/operation` in the last run.
fn counted(home: &Path, operation: &str) -> Result<u64, Failure> {
    let name = operation.replace('/', ".");
    let path = home.join(format!("tally-benches/compiled/compiled/{name}/callgrind.{name}.out"));
    total(&read(&path)?)
        .ok_or_else(|| Failure::step(format!("{} has no line `summary:` with a number", path.display())))
}

/// The sum in callgrind's output.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("summary:")?.split_whitespace().next()?.parse().ok())
}

/// A line for each operation of `limits` that says what it costs; `count` looks up what was counted.
fn table(limits: &str, count: impl Fn(&str) -> Result<u64, Failure>) -> Result<String, Failure> {
    let mut text = format!("\n{:<34}{:>13}   over and above\n", "compiled operation", "instructions");
    let mut counts = HashMap::new();
    for line in limits.lines().filter_map(|line| line.split('#').next()) {
        let mut words = line.split_whitespace().skip(1);
        let Some(operation) = words.next() else {
            continue;
        };
        let mut measured = |name: &str| -> Result<f64, Failure> {
            if let Some(&known) = counts.get(name) {
                return Ok(known);
            }
            let found = count(name)? as f64;
            counts.insert(name.to_owned(), found);
            Ok(found)
        };
        let without = words.next();
        let each = (measured(operation)? - without.map_or(Ok(0.0), measured)?) / TIMES;
        if each < 0.5 {
            return Err(Failure::step(format!(
                "{operation} costs {each:.1} instructions over and above {}: something else was counted",
                without.unwrap_or("nothing")
            )));
        }
        text += &format!("{operation:<34}{each:>13.1}   {}\n", without.unwrap_or(""));
    }
    Ok(text)
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
    use super::{Arguments, COMPILED, ONLY_COMPILED, listed_version, locked_version, read, table, total};
    use crate::tree;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

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
    fn words_of_cargo_bench_are_handed_through() {
        let line = ["counts", "--bench", "compiled"];
        let line = Line::try_parse_from(line).expect("this is how CONTRIBUTING.md counts compiled code alone");
        assert_eq!(line.arguments.rest, ONLY_COMPILED);
        let line = ["counts", "--bench", "counts", "--", "--save-baseline=before"];
        let line = Line::try_parse_from(line).expect("words of iai-callgrind come after two dashes");
        assert_eq!(line.arguments.rest, ["--bench", "counts", "--", "--save-baseline=before"]);
    }

    #[test]
    fn total_is_what_callgrind_sums_up() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 22016\n\nfn=(1) main\n0 5\n"), Some(22_016));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }

    #[test]
    fn operation_costs_what_is_over_and_above_the_loop_without_it() {
        let limits = "# at most, name\n 5_050 p/loop\n\n 22_200 p/increment p/loop # an object\n";
        let text = table(limits, |name| Ok(if name == "p/loop" { 5_006 } else { 16_006 })).expect("both were counted");
        let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows, [vec!["p/loop", "5.0"], vec!["p/increment", "11.0", "p/loop"]]);
    }

    #[test]
    fn operation_that_costs_nothing_was_not_counted() {
        let limits = "5_050 p/loop\n22_200 p/increment p/loop\n";
        let failure = table(limits, |_| Ok(5_006)).expect_err("the increment was not there").to_string();
        assert!(failure.contains("p/increment costs 0.0 instructions over and above p/loop"), "{failure}");
    }

    #[test]
    fn every_operation_named_in_the_limits_is_one_of_the_program() {
        let folder = tree::root().join(COMPILED);
        let limits = read(&folder.join("limits.txt")).expect("the limits are there");
        let program = read(&folder.join("main.c")).expect("the program is there");
        let names: Vec<&str> = limits
            .lines()
            .filter_map(|line| line.split('#').next())
            .flat_map(|line| line.split_whitespace().skip(1))
            .collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            let (plan, operation) = name.split_once('/').expect("plan/operation");
            assert!(["deferred", "prompt"].contains(&plan), "{name}");
            assert!(program.contains(&format!("{{\"{operation}\", ")), "main.c has no {operation}");
        }
    }
}
