//! What the peers took, as tables in Markdown, as JSON, and as bars.
//!
//! A cell is the median of its runs. A peer that did not end in time has no number; one whose runs were cut short
//! because they took long has an asterisk. Ratios are of CPU time, to the first peer; the geometric mean is over the
//! workloads that the peer finished.

use super::peer::PEERS;
use crate::bench::chart::{self, Bar, Panel};
use crate::bench::measure::{Run, median};
use serde::Serialize;
use std::fmt::Write;

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Results {
    /// The processor, and how many of it.
    pub machine: String,
    /// How many runs each cell should have.
    pub rounds: u32,
    /// In the order of the columns.
    pub workloads: Vec<String>,
    /// In the order of the rows.
    pub peers: Vec<Row>,
}

/// What one peer took.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// One for each workload.
    pub cells: Vec<Cell>,
}

/// One peer on one workload.
#[derive(Debug, Default, Serialize)]
pub struct Cell {
    /// What was measured.
    pub runs: Vec<Run>,
    /// Why there are fewer runs than rounds, if there are.
    pub stopped: Option<Stopped>,
}

/// Why a peer was not run any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// A run took longer than a run may.
    TimedOut,
    /// The runs so far took as long as all may.
    TookLong,
    /// It failed, or computed something else; the message says what.
    Failed(String),
}

type Measure = fn(&Run) -> f64;

impl Results {
    /// The tables, one for each measure.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}; medians of {} interleaved rounds.\n", self.machine, self.rounds);
        text += &self.ratios();
        let tables: [(&str, Measure, usize); 4] = [
            ("CPU time, s", |run| run.cpu_s, 2),
            ("Time by the clock, s", |run| run.wall_s, 2),
            ("Peak memory, MiB", |run| run.resident_mib, 0),
            ("Longest gap between two ticks of the program, ms", |run| run.gap_ms, 1),
        ];
        for (title, measure, digits) in tables {
            let cell = |row: &Row, place: usize| row.cells[place].shown(measure, digits);
            text += &self.table(title, &self.workloads, cell);
        }
        text
    }

    /// Bars of the ratios.
    pub fn chart(&self) -> String {
        let panels: Vec<Panel> = self
            .workloads
            .iter()
            .enumerate()
            .map(|(place, workload)| Panel {
                title: workload.clone(),
                bars: self
                    .peers
                    .iter()
                    .filter_map(|row| {
                        let is_ours = row.name.starts_with("tally-");
                        Some(Bar { label: row.name.clone(), value: self.ratio(row, place)?, is_ours })
                    })
                    .collect(),
            })
            .collect();
        chart::bars("CPU time relative to C with malloc and free", &panels, 4.0)
    }

    fn ratios(&self) -> String {
        let mut columns = self.workloads.clone();
        columns.push("geometric mean".to_owned());
        let ratios = |row: &Row| (0..self.workloads.len()).map(|place| self.ratio(row, place)).collect::<Vec<_>>();
        self.table("CPU time relative to malloc", &columns, |row, place| {
            if place < self.workloads.len() {
                let digits = |ratio: f64| if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") };
                return self.ratio(row, place).map_or_else(|| row.cells[place].reason(), digits);
            }
            let known: Vec<f64> = ratios(row).into_iter().flatten().collect();
            let mean = (known.iter().map(|ratio| ratio.ln()).sum::<f64>() / known.len() as f64).exp();
            match known.len() {
                0 => "–".to_owned(),
                all if all == self.workloads.len() => format!("{mean:.2}"),
                some => format!("{mean:.2} of {some}"),
            }
        })
    }

    fn ratio(&self, row: &Row, place: usize) -> Option<f64> {
        let cpu = |row: &Row| row.cells[place].median(|run| run.cpu_s);
        Some(cpu(row)? / cpu(self.peers.first()?)?)
    }

    fn table(&self, title: &str, columns: &[String], cell: impl Fn(&Row, usize) -> String) -> String {
        let mut text = format!("\n**{title}**\n\n| |");
        for column in columns {
            let _ = write!(text, " {column} |");
        }
        text += &format!("\n|---|{}\n", "---|".repeat(columns.len()));
        for row in &self.peers {
            let cells: Vec<String> = (0..columns.len()).map(|place| cell(row, place)).collect();
            let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
        }
        text
    }
}

impl Cell {
    fn median(&self, measure: Measure) -> Option<f64> {
        let usable = !self.runs.is_empty() && !matches!(self.stopped, Some(Stopped::Failed(_)));
        usable.then(|| median(self.runs.iter().map(measure)))
    }

    fn shown(&self, measure: Measure, digits: usize) -> String {
        let mark = if self.stopped.is_some() { "\\*" } else { "" };
        self.median(measure).map_or_else(|| self.reason(), |value| format!("{value:.digits$}{mark}"))
    }

    fn reason(&self) -> String {
        match self.stopped {
            Some(Stopped::TimedOut) => "timeout".to_owned(),
            Some(Stopped::Failed(_)) => "failed".to_owned(),
            Some(Stopped::TookLong) | None => "–".to_owned(),
        }
    }
}

/// What the names in the first column mean.
pub fn legend(results: &Results) -> String {
    let known = PEERS.iter().filter(|peer| results.peers.iter().any(|row| row.name == peer.name));
    let words: Vec<String> = known.map(|peer| format!("*{}*: {}", peer.name, peer.what)).collect();
    format!("\n{}. \\*: fewer rounds, because each takes long.\n", words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{Cell, Results, Row, Run, Stopped};

    fn cell(seconds: &[f64]) -> Cell {
        let run = |&cpu_s: &f64| Run { sum: "1".to_owned(), cpu_s, wall_s: cpu_s, resident_mib: 12.0, gap_ms: 0.5 };
        Cell { runs: seconds.iter().map(run).collect(), stopped: None }
    }

    fn results() -> Results {
        let row = |name: &str, cells| Row { name: name.to_owned(), cells };
        let late = Cell { runs: Vec::new(), stopped: Some(Stopped::TimedOut) };
        Results {
            machine: "a machine".to_owned(),
            rounds: 3,
            workloads: vec!["list".to_owned(), "lru".to_owned()],
            peers: vec![
                row("malloc", vec![cell(&[0.2, 0.1, 0.3]), cell(&[0.4])]),
                row("tally-deferred", vec![cell(&[0.1]), cell(&[0.1])]),
                row("php", vec![cell(&[4.0]), late]),
            ],
        }
    }

    #[test]
    fn ratio_is_of_medians_and_mean_is_geometric() {
        let text = results().markdown();
        assert!(text.contains("| malloc | 1.00 | 1.00 | 1.00 |"), "{text}");
        assert!(text.contains("| tally-deferred | 0.50 | 0.25 | 0.35 |"), "{text}");
        assert!(text.contains("| php | 20 | timeout | 20.00 of 1 |"), "{text}");
    }

    #[test]
    fn chart_has_a_bar_for_each_that_finished() {
        let svg = results().chart();
        assert_eq!(svg.matches("text-anchor=\"end\"").count(), 5, "{svg}");
    }

    #[test]
    fn results_that_mean_nothing_are_not_shown() {
        let mut results = results();
        results.peers[1].cells[0].stopped = Some(Stopped::Failed("the sums differ".to_owned()));
        let text = results.markdown();
        assert!(text.contains("| tally-deferred | failed | 0.25 | 0.25 of 1 |"), "{text}");
    }
}
