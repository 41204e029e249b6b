//! `cargo xtask ablate`: heuristics of the collector are switched off, one at a time; what changes is what each has earned.
//!
//! `benches/ablations.toml` holds the rows ([`Ablation`]). Each is a change to one file, which is applied in a copy of the
//! tree. The runtime is built there, and the compiler if it is what changes; the programs of ablate/programs.rs are linked with it, and cachegrind counts their
//! instructions, in slices of fixed units of work, so that counts repeat. Printed are the best and the worst change of
//! instructions, and the changes of peak memory and of marks. Processor time is noted, too, and depends on what else runs.
//!
//! What was measured stands in `ablations/results.tsv` of the target folder. `--go-on` keeps that and the copy, and
//! measures what is missing.

mod programs;
mod results;

use crate::failure::{Failure, Outcome};
use crate::patch::{Patch, copy_tree};
use crate::{process, run, setup, tree};
use programs::{Mode, Program};
use results::Results;
use serde::Deserialize;
use std::path::Path;
use std::process::ExitCode;

/// Where the list stands, from the project's folder.
const PLACE: &str = "benches/ablations.toml";
/// What the results of the unchanged tree are called.
const UNCHANGED: &str = "unchanged";

/// `cargo xtask ablate`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only rows whose name holds this word; may be given more than once
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Say which rows there are, and build nothing
    #[arg(long)]
    list: bool,
    /// Keep the copy of the tree and the results of the run before, and measure what is missing
    #[arg(long)]
    go_on: bool,
    /// A further program: a C file and its arguments in one word; may be given more than once
    #[arg(long, value_name = "FILE.c ARGUMENTS")]
    program: Vec<String>,
    /// Only this mode: deferred, prompt, in-slices (the prompt plan with a pause goal), or default-epochs (the deferred plan
    /// with epochs that may grow, for rows that ask for it); may be given more than once
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Print the table as a row of Markdown each
    #[arg(long)]
    markdown: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "ablation")]
    ablations: Vec<Ablation>,
}

/// A heuristic that is switched off.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ablation {
    /// What the row is called.
    name: String,
    /// What the heuristic does.
    what: String,
    /// The plan that has it; without one, both.
    plan: Option<String>,
    /// The one mode that can show it.
    mode: Option<String>,
    /// The test that holds the bound for which it stays, whatever it earns.
    holds: Option<String>,
    /// The source file, from the project's folder.
    file: String,
    /// What stands there, exactly once.
    text: String,
    /// What stands there instead.
    becomes: String,
}

impl List {
    fn read(root: &Path) -> Result<Vec<Ablation>, Failure> {
        let text = std::fs::read_to_string(root.join(PLACE))
            .map_err(|error| Failure::unprepared(format!("{PLACE}: {error}")))?;
        let list: List = toml::from_str(&text).map_err(|error| Failure::step(format!("{PLACE}: {error}")))?;
        Ok(list.ablations)
    }
}

impl Ablation {
    fn patch(&self) -> Patch<'_> {
        Patch { name: &self.name, file: &self.file, text: &self.text, becomes: &self.becomes }
    }

    fn concerns(&self, mode: &Mode) -> bool {
        match &self.mode {
            Some(name) => name == mode.name,
            None => mode.is_common && self.plan.as_ref().is_none_or(|plan| plan == mode.plan),
        }
    }

    /// Whether the compiler is built anew, too, and not the runtime alone.
    fn changes_compiler(&self) -> bool {
        self.file.starts_with("frontend-glue/")
    }
}

/// Measures all rows, or those that were named.
pub fn ablate(arguments: &Arguments) -> Outcome {
    let folder = tree::release()?.with_file_name("ablations");
    let copy = folder.join("tree");
    let mut list = List::read(if arguments.go_on { &copy } else { tree::root() })?;
    if !arguments.only.is_empty() {
        list.retain(|row| arguments.only.iter().any(|name| row.name.contains(name)));
    }
    if list.is_empty() {
        return Err(Failure::unprepared(format!("no row of {PLACE} is called so; `--list` says which there are")));
    }
    if arguments.list {
        list.iter().for_each(|row| println!("{}: {}", row.name, row.what));
        return Ok(ExitCode::SUCCESS);
    }
    setup::ensure(setup::TEST_AND_VALGRIND)?;
    if !arguments.go_on {
        copy_tree(tree::root(), &copy)?;
        Results::forget(&folder)?;
    }
    let programs = programs::all(&arguments.program)?;
    let modes = programs::modes(&arguments.mode)?;
    let bench = Bench { tally: run::build_tally()?, folder: &folder, programs: &programs, modes };
    let mut results = Results::read(&folder)?;
    bench.measure(&mut results, UNCHANGED, false, &|_| true)?;
    let mut failed = Vec::new();
    for row in &list {
        if bench.is_measured(&results, &row.name, &|mode| row.concerns(mode)) {
            continue;
        }
        let measured = row.patch().with(&copy, PLACE, || {
            let compiles = row.changes_compiler();
            let measured = bench.measure(&mut results, &row.name, compiles, &|mode| row.concerns(mode));
            measured.map_err(|failure| failure.to_string())
        });
        match measured {
            Ok(()) => eprintln!("{}", results.summary(&row.name, UNCHANGED)),
            Err(problem) => {
                eprintln!("{}: {problem}", row.name);
                failed.push(row.name.as_str());
            }
        }
    }
    for row in list.iter().filter(|row| !failed.contains(&row.name.as_str())) {
        let summary = results.summary(&row.name, UNCHANGED);
        match arguments.markdown {
            true => println!("{}", summary.markdown(&row.what, row.holds.as_deref())),
            false => println!("{summary}\n    {}", row.what),
        }
    }
    match failed.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::step(format!("{} rows were not measured: {}", failed.len(), failed.join(", ")))),
    }
}

/// What measures a row.
struct Bench<'run> {
    tally: std::path::PathBuf,
    folder: &'run Path,
    programs: &'run [Program],
    modes: Vec<&'static Mode>,
}

impl Bench<'_> {
    /// The programs and modes that a row concerns.
    fn wanted(&self, concerns: &dyn Fn(&Mode) -> bool) -> Vec<(&Program, &'static Mode)> {
        let modes = self.modes.iter().copied().filter(|mode| concerns(mode));
        modes.flat_map(|mode| self.programs.iter().map(move |program| (program, mode))).collect()
    }

    fn is_measured(&self, results: &Results, row: &str, concerns: &dyn Fn(&Mode) -> bool) -> bool {
        self.wanted(concerns).iter().all(|(program, mode)| results.has(row, &mode.title(program)))
    }

    /// Builds the copy as it is now, its compiler, too, if that is asked for; links the programs, and runs them.
    fn measure(
        &self,
        results: &mut Results,
        row: &str,
        compiles: bool,
        concerns: &dyn Fn(&Mode) -> bool,
    ) -> Result<(), Failure> {
        let mut wanted = self.wanted(concerns);
        wanted.retain(|(program, mode)| !results.has(row, &mode.title(program)));
        if wanted.is_empty() {
            return Ok(());
        }
        let runtime = self.build("aot-runtime", "libtally.a")?;
        let tally = if compiles { self.build("tally-llvm", "tally")? } else { self.tally.clone() };
        let mut builds: Vec<(&Program, &str)> = wanted.iter().map(|(program, mode)| (*program, mode.plan)).collect();
        builds.sort_by_key(|(program, plan)| (program.executable(), *plan));
        builds.dedup_by_key(|(program, plan)| (program.executable(), *plan));
        let executables = self.folder.join("programs");
        std::fs::create_dir_all(&executables).map_err(|error| Failure::step(format!("{PLACE}: {error}")))?;
        process::side_by_side(&builds, |(program, plan)| program.build(&tally, &runtime, plan, &executables))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let runs = process::side_by_side(&wanted, |(program, mode)| program.run(mode, &executables));
        for ((program, mode), measured) in wanted.iter().zip(runs) {
            results.note(row, &mode.title(program), &measured?)?;
        }
        Ok(())
    }

    /// Debug information is left out: it costs half of the time and is not counted.
    fn build(&self, package: &str, product: &str) -> Result<std::path::PathBuf, Failure> {
        let target = self.folder.join("target");
        let mut cargo = process::cargo();
        cargo.current_dir(self.folder.join("tree")).args(["build", "--quiet", "--release", "-p", package]);
        cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        process::output_of(&mut cargo)?;
        Ok(target.join("release").join(product))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Cheap enough for every day: a change to a line that a row names changes the row, too.
    #[test]
    fn every_row_still_applies_and_changes_something() {
        let list = List::read(tree::root()).expect("the list can be read");
        let names: BTreeSet<&str> = list.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), list.len(), "two rows have one name");
        let mut complaints: Vec<String> =
            list.iter().filter_map(|row| row.patch().applied(tree::root(), PLACE).err()).collect();
        for row in list.iter().filter(|row| row.text == row.becomes || row.name == UNCHANGED) {
            complaints.push(format!("{}: changes nothing", row.name));
        }
        let folders = ["cycle-detector/tests", "tests/tests"].map(|folder| tree::root().join(folder));
        for test in list.iter().filter_map(|row| row.holds.as_deref()) {
            let function = format!("fn {}(", test.rsplit("::").next().expect("a name"));
            if !folders.iter().any(|folder| crate::patch::holds(folder, &function)) {
                complaints.push(format!("there is no test `{test}`"));
            }
        }
        for row in list.iter().filter(|row| !programs::MODES.iter().any(|mode| row.concerns(mode))) {
            complaints.push(format!("{}: there is no such plan or mode", row.name));
        }
        assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    }
}
