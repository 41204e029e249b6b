//! The results of `ablate`: a line for each row and run in a file, and what a row has changed.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What one run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub instructions: u64,
    pub peak_kib: u64,
    pub marks: u64,
    pub cpu_us: u64,
}

/// All that were measured, by row and run.
#[derive(Debug)]
pub struct Results {
    file: PathBuf,
    of_rows: BTreeMap<String, BTreeMap<String, Measured>>,
}

fn place(folder: &Path) -> PathBuf {
    folder.join("results.tsv")
}

impl Results {
    /// Forgets those of the run before.
    pub fn forget(folder: &Path) -> Result<(), Failure> {
        match std::fs::remove_file(place(folder)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::step(format!("{}: {error}", place(folder).display())))
            }
            _ => Ok(()),
        }
    }

    pub fn read(folder: &Path) -> Result<Results, Failure> {
        let mut results = Results { file: place(folder), of_rows: BTreeMap::new() };
        let text = std::fs::read_to_string(&results.file).unwrap_or_default();
        for line in text.lines() {
            let (row, run, measured) =
                parsed(line).ok_or_else(|| Failure::step(format!("{}: `{line}`", results.file.display())))?;
            results.of_rows.entry(row.to_owned()).or_default().insert(run.to_owned(), measured);
        }
        Ok(results)
    }

    pub fn has(&self, row: &str, run: &str) -> bool {
        self.of_rows.get(row).is_some_and(|runs| runs.contains_key(run))
    }

    pub fn note(&mut self, row: &str, run: &str, measured: &Measured) -> Result<(), Failure> {
        let Measured { instructions, peak_kib, marks, cpu_us } = *measured;
        let failed = |error: std::io::Error| Failure::step(format!("cannot write the results: {error}"));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.file).map_err(failed)?;
        writeln!(file, "{row}\t{run}\t{instructions}\t{peak_kib}\t{marks}\t{cpu_us}").map_err(failed)?;
        self.of_rows.entry(row.to_owned()).or_default().insert(run.to_owned(), *measured);
        Ok(())
    }

    /// What `row` has changed against `base`, over the runs that both have.
    pub fn summary<'name>(&self, row: &'name str, base: &str) -> Summary<'name> {
        let none = BTreeMap::new();
        let (changed, unchanged) = (self.of_rows.get(row).unwrap_or(&none), self.of_rows.get(base).unwrap_or(&none));
        let pairs: Vec<Pair<'_>> =
            changed.iter().filter_map(|(run, after)| Some((run.as_str(), *unchanged.get(run)?, *after))).collect();
        let (real, workloads): (Vec<Pair<'_>>, Vec<_>) = pairs.into_iter().partition(|(run, ..)| run.ends_with(".c"));
        Summary { name: row, real: Changes::of(&real), workloads: Changes::of(&workloads) }
    }
}

/// A run, what it cost before the change, and what after.
type Pair<'run> = (&'run str, Measured, Measured);

fn parsed(line: &str) -> Option<(&str, &str, Measured)> {
    let mut fields = line.split('\t');
    let (row, run) = (fields.next()?, fields.next()?);
    let mut number = || fields.next()?.parse().ok();
    let (instructions, peak_kib, marks, cpu_us) = (number()?, number()?, number()?, number()?);
    Some((row, run, Measured { instructions, peak_kib, marks, cpu_us }))
}

fn percent(before: u64, after: u64) -> f64 {
    (after as f64 / before.max(1) as f64 - 1.0) * 100.0
}

/// A change of one figure of one run.
#[derive(Debug, Clone)]
struct Change {
    run: String,
    percent: f64,
}

impl Change {
    fn between(run: &str, before: u64, after: u64) -> Change {
        Change { run: run.to_owned(), percent: percent(before, after) }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format!("{:+.1}", self.percent).as_str() {
            "+0.0" | "-0.0" => write!(f, "0 %"),
            rounded => write!(f, "{rounded} % {}", self.run),
        }
    }
}

/// What a row has changed.
#[derive(Debug)]
pub struct Summary<'name> {
    name: &'name str,
    /// In real programs, which stand in files of their own.
    real: Changes,
    workloads: Changes,
}

/// Changes of some runs, the least first.
#[derive(Debug)]
struct Changes {
    instructions: Vec<Change>,
    peak: Vec<Change>,
    marks: (u64, u64),
    cpu_percent: f64,
}

impl Changes {
    fn of(pairs: &[Pair<'_>]) -> Changes {
        let changes = |of: fn(Measured) -> u64| {
            let each = pairs.iter().map(|(run, before, after)| Change::between(run, of(*before), of(*after)));
            let mut sorted: Vec<Change> = each.collect();
            sorted.sort_by(|one, other| one.percent.total_cmp(&other.percent));
            sorted
        };
        let sums = |of: fn(Measured) -> u64| {
            pairs.iter().fold((0, 0), |sums, (_, before, after)| (sums.0 + of(*before), sums.1 + of(*after)))
        };
        let cpu_us = sums(|run| run.cpu_us);
        Changes {
            instructions: changes(|run| run.instructions),
            peak: changes(|run| run.peak_kib),
            marks: sums(|run| run.marks),
            cpu_percent: percent(cpu_us.0, cpu_us.1),
        }
    }

    /// Cells of a table: more instructions, fewer, more memory, less, marks.
    fn cells(&self) -> String {
        let (before, after) = self.marks;
        let [(more, fewer), (larger, smaller)] =
            [&self.instructions, &self.peak].map(|changes| (most(changes, 1), least(changes, 1)));
        format!("{more} | {fewer} | {larger} | {smaller} | {before} → {after}")
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.marks;
        write!(f, "instructions {} … {}", most(&self.instructions, 4), least(&self.instructions, 3))?;
        write!(f, "; memory {} … {}", most(&self.peak, 2), least(&self.peak, 2))?;
        write!(f, "; marks {before} → {after}; time {:+.1} %", self.cpu_percent)
    }
}

/// The greatest changes of a sorted list, the greatest first.
fn most(changes: &[Change], count: usize) -> String {
    let shown: Vec<String> = changes.iter().rev().take(count).map(Change::to_string).collect();
    shown.join(", ")
}

fn least(changes: &[Change], count: usize) -> String {
    let shown: Vec<String> = changes.iter().take(count).map(Change::to_string).collect();
    shown.join(", ")
}

impl Summary<'_> {
    /// As a row of a table: the heuristic, what real programs and workloads are without it, and what it is kept for.
    pub fn markdown(&self, what: &str, holds: Option<&str>) -> String {
        let holds = holds.map_or(String::new(), |test| format!("`{test}`"));
        format!("| `{}`: {what} | {} | {} | {holds} |", self.name, self.real.cells(), self.workloads.cells())
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    programs: {}\n    workloads: {}", self.name, self.real, self.workloads)
    }
}

#[cfg(test)]
mod tests {
    use super::{Measured, Results};

    const RUN: Measured = Measured { instructions: 1000, peak_kib: 100, marks: 3, cpu_us: 10 };

    #[test]
    fn row_that_changes_nothing_prints_0_and_another_its_worst_and_best_of_programs_and_workloads() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::read(folder.path()).expect("an empty one");
        let mut note = |row: &str, run: &str, instructions| {
            results.note(row, run, &Measured { instructions, ..RUN }).expect("it can be written");
        };
        for run in ["a", "b", "c.c"] {
            note("unchanged", run, 1000);
            note("same", run, 1000);
        }
        note("other", "a", 1100);
        note("other", "b", 900);
        note("other", "c.c", 1050);
        note("other", "not measured before", 1);
        let same = results.summary("same", "unchanged").to_string();
        assert!(same.contains("workloads: instructions 0 %, 0 % … 0 %, 0 %"), "{same}");
        let other = results.summary("other", "unchanged").markdown("it", Some("a::test"));
        let (real, workloads) =
            ("+5.0 % c.c | +5.0 % c.c | 0 % | 0 % | 3 → 3", "+10.0 % a | -10.0 % b | 0 % | 0 % | 6 → 6");
        assert_eq!(other, format!("| `other`: it | {real} | {workloads} | `a::test` |"));
    }

    #[test]
    fn results_are_there_when_they_are_read_again_and_gone_when_they_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::read(folder.path()).expect("an empty one");
        results.note("row", "run", &RUN).expect("it can be written");
        let again = Results::read(folder.path()).expect("they can be read");
        assert_eq!(again.of_rows["row"]["run"], RUN);
        assert!(again.has("row", "run") && !again.has("row", "other"));
        Results::forget(folder.path()).expect("they can be removed");
        assert!(!Results::read(folder.path()).expect("none").has("row", "run"));
    }
}
