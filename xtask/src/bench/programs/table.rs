//! What the programs took, as rows for a terminal and as tables in Markdown.
//!
//! A figure is the median of its runs. Ratios are to the first way, freed by hand with glibc's malloc. The geometric
//! mean is over all programs that were measured: none weighs more than another.

use super::way::Way;
use crate::bench::utilisation::Least;
use std::fmt::Write;

/// All that was measured.
pub struct Table {
    /// The processor, and how many of it.
    pub machine: String,
    /// How many runs each median is of.
    pub rounds: u32,
    /// In the order of the columns; the first is what the others are compared with.
    pub ways: Vec<&'static Way>,
    /// In the order of the rows.
    pub programs: Vec<Measured>,
}

/// What one program took, in each of the ways.
pub struct Measured {
    /// Its name.
    pub name: &'static str,
    /// In the order of the ways.
    pub ways: Vec<Medians>,
}

/// What a program took in one way.
pub struct Medians {
    /// User and system time, in seconds.
    pub cpu_s: f64,
    /// The longest time between two ticks.
    pub gap_ms: f64,
    /// Peak of the memory in use.
    pub resident_mib: f64,
    /// What the program had of its worst windows, on Tally.
    pub least: Option<Least>,
}

type Measure = fn(&Medians) -> f64;

/// How many of the windows are shown: 5 and 20 ms.
const WINDOWS_SHOWN: usize = 2;

/// What stands above the rows.
pub fn head(rounds: u32) -> String {
    format!(
        "CPU and peak memory (medians of {rounds} interleaved rounds) with their ratios to malloc, longest gap, and \
         which part of its worst 5 and 20 ms the program had\n{:<11}{:<16}{:>9}{:>8}{:>13}{:>8}{:>13}{:>8}{:>8}",
        "program", "heap", "CPU", "ratio", "memory", "ratio", "gap", "5 ms", "20 ms"
    )
}

impl Table {
    /// A row for each way of a program.
    pub fn rows(&self, measured: &Measured) -> String {
        let base = &measured.ways[0];
        let mut text = String::new();
        for (place, (way, medians)) in self.ways.iter().zip(&measured.ways).enumerate() {
            let label = if place == 0 { measured.name } else { "" };
            let least =
                medians.least.map(|least| least[..WINDOWS_SHOWN].iter().map(|part| format!("{part:>8.2}")).collect());
            let _ = writeln!(
                text,
                "{label:<11}{:<16}{:>7.3} s{:>8.2}{:>9.1} MiB{:>8.2}{:>10.2} ms{}",
                way.name,
                medians.cpu_s,
                medians.cpu_s / base.cpu_s,
                medians.resident_mib,
                medians.resident_mib / base.resident_mib,
                medians.gap_ms,
                least.unwrap_or_else(String::new),
            );
        }
        text
    }

    /// The geometric means, a line for each way.
    pub fn means(&self) -> String {
        let mut text =
            format!("geometric means of {} programs, relative to {}\n", self.programs.len(), self.ways[0].name);
        for way in &self.ways[1..] {
            let shown = |measure| self.mean_of(way.name, measure).map_or("–".to_owned(), |mean| format!("{mean:.2}"));
            let (cpu, memory) = (shown(|medians| medians.cpu_s), shown(|medians| medians.resident_mib));
            let _ = writeln!(text, "{:<11}{:<16}CPU {cpu}, memory {memory}", "", way.name);
        }
        text
    }

    /// The geometric mean of a way's ratios; nothing if no program was measured, or the way was left out.
    pub fn mean_of(&self, way: &str, measure: Measure) -> Option<f64> {
        let place = self.ways.iter().position(|known| known.name == way)?;
        let logarithms = self.programs.iter().map(|program| ratio(program, place, measure).ln());
        (!self.programs.is_empty()).then(|| (logarithms.sum::<f64>() / self.programs.len() as f64).exp())
    }

    /// The tables of the document.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}; medians of {} interleaved rounds.\n", self.machine, self.rounds);
        text += &self.ratios("CPU time relative to malloc", "malloc, s", |medians| medians.cpu_s, 2);
        text += &self.ratios("Peak memory relative to malloc", "malloc, MiB", |medians| medians.resident_mib, 1);
        let names: Vec<&str> = self.ways.iter().map(|way| way.name).collect();
        text += &heading("Longest gap between two ticks of the program, ms", &names);
        for program in &self.programs {
            row(&mut text, program.name, program.ways.iter().map(|medians| format!("{:.1}", medians.gap_ms)));
        }
        let ours: Vec<usize> = (0..self.ways.len()).filter(|&place| self.ways[place].is_tally()).collect();
        let columns: Vec<String> = ours
            .iter()
            .flat_map(|&place| ["5 ms", "20 ms"].map(|window| format!("{}, {window}", self.ways[place].name)))
            .collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        text += &heading("The part that the program had of its worst 5 and 20 ms", &columns);
        for program in &self.programs {
            let least = ours.iter().filter_map(|&place| program.ways[place].least);
            row(
                &mut text,
                program.name,
                least.flat_map(|least| least.into_iter().take(WINDOWS_SHOWN)).map(|part| format!("{part:.2}")),
            );
        }
        let words: Vec<String> = self.ways.iter().map(|way| format!("*{}*: {}", way.name, way.what)).collect();
        text + &format!("\n{}.\n", words.join("; "))
    }

    /// A table of ratios behind the first way's own figure, with the geometric means below.
    fn ratios(&self, title: &str, unit: &str, measure: Measure, digits: usize) -> String {
        let columns: Vec<&str> = std::iter::once(unit).chain(self.ways[1..].iter().map(|way| way.name)).collect();
        let mut text = heading(title, &columns);
        for program in &self.programs {
            let base = format!("{:.digits$}", measure(&program.ways[0]));
            let others = (1..self.ways.len()).map(|place| format!("{:.2}", ratio(program, place, measure)));
            row(&mut text, program.name, std::iter::once(base).chain(others));
        }
        let mean =
            |way: &&Way| self.mean_of(way.name, measure).map_or_else(String::new, |mean| format!("**{mean:.2}**"));
        row(&mut text, "**geometric mean**", std::iter::once(String::new()).chain(self.ways[1..].iter().map(mean)));
        text
    }
}

fn ratio(program: &Measured, place: usize, measure: Measure) -> f64 {
    measure(&program.ways[place]) / measure(&program.ways[0])
}

fn heading(title: &str, columns: &[&str]) -> String {
    format!("\n**{title}**\n\n| | {} |\n|---|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

fn row(text: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::{Measured, Medians, Table};
    use crate::bench::programs::way::WAYS;

    fn table() -> Table {
        let of = |cpu_s, resident_mib, least| Medians { cpu_s, gap_ms: 0.5, resident_mib, least };
        let least = Some([0.25, 0.5, 0.75]);
        let program = |name, ours| Measured { name, ways: vec![of(0.5, 4.0, None), of(ours, 12.0, least)] };
        Table {
            machine: "a machine".to_owned(),
            rounds: 3,
            ways: WAYS[..2].iter().collect(),
            programs: vec![program("json", 0.25), program("cd", 4.0)],
        }
    }

    #[test]
    fn mean_is_geometric_and_of_all_programs() {
        let table = table();
        assert_eq!(table.mean_of("boehm", |medians| medians.cpu_s), None);
        assert!(table.means().contains("tally-deferred  CPU 2.00, memory 3.00"), "{}", table.means());
    }

    #[test]
    fn document_has_ratios_gaps_and_utilisation() {
        let text = table().markdown();
        for line in [
            "| json | 0.50 | 0.50 |",
            "| cd | 0.50 | 8.00 |",
            "| **geometric mean** |  | **2.00** |",
            "| json | 4.0 | 3.00 |",
            "| cd | 0.5 | 0.5 |",
            "| cd | 0.25 | 0.50 |",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn row_of_the_terminal_is_no_longer_than_its_line() {
        let table = table();
        let rows = table.rows(&table.programs[1]);
        assert_eq!(rows.lines().count(), 2);
        assert!(rows.lines().all(|row| row.len() <= 120), "{rows}");
    }
}
