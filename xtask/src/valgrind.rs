//! `cargo xtask valgrind`: built programs under memcheck, on sizes that finish.
//!
//! Each example that `examples/zeal.txt` calls small, and each workload at its small size, is built by `tally build`
//! and run under valgrind; any error that memcheck reports fails. A small heap range is asked for, because memcheck
//! keeps books on every byte that is mapped (a terabyte takes it seconds and a gigabyte of memory), and small epochs,
//! so that a short program still goes through many. As many programs run at a time as there are processors.

use crate::bench::build::WORKLOADS;
use crate::failure::{Failure, Outcome};
use crate::{process, run, setup, tree};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

/// Memcheck found something; no program of ours exits with this.
const FOUND_ERRORS: i32 = 97;
/// What the programs are told: a range that memcheck can keep books on, and many epochs.
const SMALL: [(&str, &str); 2] = [("TALLY_RESERVE", "512MiB"), ("TALLY_EPOCH_BYTES", "256KiB")];

/// `cargo xtask valgrind`
#[derive(clap::Args)]
pub struct Arguments {
    /// Names of examples or workloads to run (default: all the small ones)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// A built program and the arguments that make it small.
struct Program {
    name: String,
    executable: PathBuf,
    arguments: Vec<String>,
}

/// Builds the programs and runs each under memcheck.
pub fn valgrind(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::TEST_AND_VALGRIND)?;
    let tally = run::build_tally()?;
    let folder = tree::release()?.join("valgrind");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::step(format!("cannot make {}: {error}", folder.display())))?;
    let wanted = |name: &str| arguments.names.is_empty() || arguments.names.iter().any(|asked| asked == name);
    let mut programs = Vec::new();
    let examples: Vec<String> = small_examples()?.into_iter().filter(|name| wanted(name)).collect();
    let built = process::side_by_side(&examples, |name| {
        let executable = folder.join(name);
        build(&tally, &example_files(name)?, &executable)?;
        Ok(Program { name: name.clone(), executable, arguments: Vec::new() })
    });
    for program in built {
        programs.push(program?);
    }
    let workloads: Vec<&str> = crate::bench::compare::WORKLOADS.into_iter().filter(|name| wanted(name)).collect();
    if !workloads.is_empty() {
        let executable = folder.join("workloads");
        build(&tally, &tree::files(WORKLOADS, &["c", "ll"])?, &executable)?;
        for name in workloads {
            let arguments = vec![name.to_owned(), "small".to_owned()];
            programs.push(Program { name: name.to_owned(), executable: executable.clone(), arguments });
        }
    }
    if programs.is_empty() {
        return Err(Failure::unprepared(format!(
            "no small example or workload is named {}; examples/zeal.txt lists the examples",
            arguments.names.join(" or ")
        )));
    }
    let mut failed = Vec::new();
    for (program, is_clean) in programs.iter().zip(process::side_by_side(&programs, is_clean)) {
        if !is_clean? {
            failed.push(program.name.as_str());
        }
    }
    if failed.is_empty() {
        eprintln!("memcheck found nothing in {} programs", programs.len());
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::step(format!("{} of {} programs failed: {}", failed.len(), programs.len(), failed.join(", "))))
}

fn build(tally: &Path, files: &[PathBuf], executable: &Path) -> Result<(), Failure> {
    process::must_succeed(process::command(tally).arg("build").args(files).arg("-o").arg(executable))
}

/// Runs one program and says what memcheck or the program itself complained about.
fn is_clean(program: &Program) -> Result<bool, Failure> {
    let mut command = process::command("valgrind");
    command.args(["--quiet", "--error-exitcode=97", "--num-callers=30"]);
    command.arg(&program.executable).args(&program.arguments);
    command.envs(SMALL).stdout(Stdio::null()).stderr(Stdio::piped());
    eprintln!("+ {}", process::shown(&command));
    let output = command.output().map_err(|error| Failure::step(format!("cannot start valgrind: {error}")))?;
    // What several programs are told of stays together.
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {
            eprint!("{said}");
            return Ok(true);
        }
        Some(FOUND_ERRORS) => eprintln!("{said}xtask: {}: memcheck found the errors above", program.name),
        _ => eprintln!("{said}xtask: {}: ended with {} under valgrind", program.name, output.status),
    }
    Ok(false)
}

/// The examples that are small enough to run slowly.
fn small_examples() -> Result<Vec<String>, Failure> {
    let list = tree::root().join("examples/zeal.txt");
    let text = std::fs::read_to_string(&list)
        .map_err(|error| Failure::step(format!("cannot read {}: {error}", list.display())))?;
    Ok(names_in(&text))
}

fn names_in(list: &str) -> Vec<String> {
    let names = list.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The files of an example: one program file, or a folder with several.
fn example_files(name: &str) -> Result<Vec<PathBuf>, Failure> {
    let folder = tree::root().join("examples").join(name);
    if folder.is_dir() {
        return tree::files(&format!("examples/{name}"), &["c", "ll"]);
    }
    let mut files = tree::files("examples", &["c", "ll"])?;
    files.retain(|file| file.file_stem().is_some_and(|stem| stem == name));
    if files.is_empty() {
        return Err(Failure::step(format!("examples/zeal.txt lists `{name}`, but no such example is there")));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::names_in;

    #[test]
    fn comments_and_blank_lines_name_no_example() {
        assert_eq!(names_in("# small\nrings\n\n  lists # quick\n"), ["rings", "lists"]);
    }
}
