//! `cargo xtask bench peers`: other heaps and other languages on the same workloads, against C that is freed by hand.
//!
//! All run in turn, round after round, so that a machine that slows down slows all. What is not installed is named and
//! left out (`--setup` installs it). A peer that takes longer than a run may is not run again on that workload, and one
//! whose runs add up to much has fewer rounds: both are results, and shown. A sum that differs from that of `malloc`,
//! and a program that fails, are failures (status 1); the others are still run. The tables go to standard output,
//! the progress to a terminal, and tables, JSON and bars to a folder; with `--document` into docs/use/performance.md as
//! well.

mod peer;
mod table;

use super::build::{self, BOTH_PLANS};
use super::compare::WORKLOADS;
use super::document;
use super::measure::{self, Ending, Run};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{setup, tree};
use peer::{PEERS, Peer, Program};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use table::{Cell, Results, Row, Stopped};

/// `cargo xtask bench peers`
#[derive(clap::Args)]
pub struct Arguments {
    /// Two rounds of some short workloads, ten seconds a run at most
    #[arg(long)]
    quick: bool,
    /// Peers and workloads to run, separated by commas (default: all; of what is not named, all)
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Install the peers that are missing, by apt
    #[arg(long)]
    setup: bool,
    /// Runs of each peer on each workload (default: 5, or 2 with --quick)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// The longest that a run may take, in seconds (default: 60, or 10 with --quick)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Folder for peers.md, peers.json and peers.svg (default: target/release/peers)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write tables and bars into docs/use/performance.md, too
    #[arg(long)]
    document: bool,
}

/// What --quick runs.
const QUICK: [&str; 5] = ["bintrees16", "cycles", "mutate", "bigheap", "lru"];

/// All runs of a peer on a workload together: no further rounds after that.
const ENOUGH_S: f64 = 20.0;

/// Builds, runs, and writes the tables.
pub fn peers(arguments: &Arguments) -> Outcome {
    let (peers, workloads) = chosen(&arguments.only, arguments.quick)?;
    if arguments.setup {
        let mut packages: Vec<&str> = peers.iter().flat_map(|peer| peer.missing_packages()).collect();
        packages.dedup();
        if !packages.is_empty() {
            setup::install(&packages)?;
        }
    }
    let folder = tree::release()?.join("peers");
    build::build_into(&folder, &BOTH_PLANS)?;
    let mut failures = Vec::new();
    let mut built: Vec<(&Peer, Program)> = Vec::new();
    for peer in peers {
        let missing = peer.missing_packages();
        if !missing.is_empty() {
            eprintln!("xtask: {} is left out: install {} (--setup does)", peer.name, missing.join(" "));
            continue;
        }
        match peer.build(&folder) {
            Ok(program) => built.push((peer, program)),
            Err(failure) => failures.push(format!("{} is left out: {failure}", peer.name)),
        }
    }
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 2 } else { 5 });
    let limit = Duration::from_secs(arguments.limit.unwrap_or(if arguments.quick { 10 } else { 60 }));
    let results = measure_in_turn(&built, &workloads, rounds, limit);
    let tables = results.markdown() + &table::legend(&results);
    print!("{tables}");
    let out = arguments.out.clone().unwrap_or(folder);
    document::write(&out.join("peers.md"), &tables)?;
    let json = serde_json::to_string_pretty(&results).expect("numbers and strings can always be written");
    document::write(&out.join("peers.json"), &json)?;
    document::write(&out.join("peers.svg"), &results.chart())?;
    if arguments.document {
        document::replace_part("peers", &tables)?;
        document::write_picture("peers.svg", &results.chart())?;
    }
    for row in &results.peers {
        let failed = row.cells.iter().filter_map(|cell| match &cell.stopped {
            Some(Stopped::Failed(what)) => Some(what.clone()),
            _ => None,
        });
        failures.extend(failed);
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::step(failures.join("\nxtask: "))) }
}

/// The peers and workloads that are asked for. The first peer is always there: it is what the others are compared with.
fn chosen(only: &[String], is_quick: bool) -> Result<(Vec<&'static Peer>, Vec<&'static str>), Failure> {
    let peers = PEERS.iter().map(|peer| peer.name);
    if let Some(wrong) = only.iter().find(|name| !peers.clone().chain(WORKLOADS).any(|known| known == **name)) {
        return Err(Failure::unprepared(format!(
            "--only {wrong}: there is no such peer or workload\npeers: {}\nworkloads: {}",
            peers.collect::<Vec<_>>().join(", "),
            WORKLOADS.join(", ")
        )));
    }
    let is_named = |name: &str| only.iter().any(|only| only == name);
    let all_peers = !PEERS.iter().any(|peer| is_named(peer.name));
    let all_workloads = !WORKLOADS.into_iter().any(is_named);
    let peers = PEERS.iter().enumerate().filter(|(place, peer)| *place == 0 || all_peers || is_named(peer.name));
    let workloads = WORKLOADS
        .into_iter()
        .filter(|name| if all_workloads { !is_quick || QUICK.contains(name) } else { is_named(name) });
    Ok((peers.map(|(_, peer)| peer).collect(), workloads.collect()))
}

fn measure_in_turn(peers: &[(&Peer, Program)], workloads: &[&str], rounds: u32, limit: Duration) -> Results {
    let row =
        |peer: &Peer| Row { name: peer.name.to_owned(), cells: workloads.iter().map(|_| Cell::default()).collect() };
    let mut rows: Vec<Row> = peers.iter().map(|(peer, _)| row(peer)).collect();
    let progress = Progress::new(rounds as usize * workloads.len() * peers.len());
    for _ in 0..rounds {
        for (place, workload) in workloads.iter().enumerate() {
            for number in 0..rows.len() {
                let right = rows[0].cells[place].runs.first().map(|run| run.sum.clone());
                let (peer, program) = &peers[number];
                let cell = &mut rows[number].cells[place];
                if cell.stopped.is_none() {
                    progress.begin(&format!("{workload} {}", peer.name));
                    cell.stopped = measure_once(peer, program, workload, limit, right.as_deref(), &mut cell.runs);
                    if let Some(Stopped::Failed(what)) = &cell.stopped {
                        progress.complain(what);
                    }
                }
                progress.end();
            }
        }
    }
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Results { machine: measure::machine(), rounds, workloads: names(workloads), peers: rows }
}

/// Adds a run, or says why there are no more.
fn measure_once(
    peer: &Peer,
    program: &Program,
    workload: &str,
    limit: Duration,
    right: Option<&str>,
    runs: &mut Vec<Run>,
) -> Option<Stopped> {
    let run = match measure::run_within(program.command(workload), workload, limit) {
        Ok(Ending::Finished(run)) => run,
        Ok(Ending::TimedOut) => return Some(Stopped::TimedOut),
        Ok(Ending::Unknown) => {
            return Some(Stopped::Failed(format!("{} does not know the workload {workload}", peer.name)));
        }
        Err(failure) => return Some(Stopped::Failed(failure.to_string())),
    };
    let wrong = right.filter(|right| **right != run.sum);
    let wrong = wrong.map(|right| format!("{workload}: {} computes {}, and malloc {right}", peer.name, run.sum));
    runs.push(run);
    let is_enough = runs.iter().map(|run| run.wall_s).sum::<f64>() > ENOUGH_S;
    wrong.map(Stopped::Failed).or(is_enough.then_some(Stopped::TookLong))
}

#[cfg(test)]
mod tests {
    use super::{PEERS, Program, QUICK, Stopped, WORKLOADS, chosen, measure_in_turn};
    use std::time::Duration;

    fn named(words: &[&str], is_quick: bool) -> (Vec<&'static str>, Vec<&'static str>) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let (peers, workloads) = chosen(&words, is_quick).expect("the names are known");
        (peers.iter().map(|peer| peer.name).collect(), workloads)
    }

    #[test]
    fn of_what_is_not_named_all_run() {
        assert_eq!(named(&[], false), (PEERS.iter().map(|peer| peer.name).collect(), WORKLOADS.to_vec()));
        assert_eq!(named(&["go", "lru"], false), (vec!["malloc", "go"], vec!["lru"]));
        assert_eq!(named(&["lru"], true).1, ["lru"], "what is named is run, quick or not");
        assert_eq!(named(&["go"], true), (vec!["malloc", "go"], QUICK.to_vec()));
    }

    #[test]
    fn unknown_name_is_refused_with_the_names_there_are() {
        let refusal = chosen(&["lru".to_owned(), "rust".to_owned()], false).err().expect("nobody is called so");
        let text = refusal.to_string();
        assert!(text.contains("--only rust") && text.contains("nim-orc") && text.contains("bigheap"), "{text}");
    }

    /// A program whose workloads are this line of shell.
    fn player(line: &str) -> Program {
        Program::of(["sh", "-c", line])
    }

    #[test]
    fn wrong_sum_and_failure_are_told_and_lateness_is_a_result() {
        let lines = ["echo lru sum=7 gap_us=5", "echo lru sum=8 gap_us=5", "exit 3", "exec sleep 60", "exit 2"];
        let built: Vec<_> = PEERS.iter().zip(lines.map(player)).collect();
        let results = measure_in_turn(&built, &["lru"], 2, Duration::from_secs(3));
        let stopped: Vec<_> = results.peers.iter().map(|row| row.cells[0].stopped.clone()).collect();
        assert_eq!((results.peers[0].cells[0].runs.len(), &stopped[0]), (2, &None));
        let failed = |place: usize| match &stopped[place] {
            Some(Stopped::Failed(what)) => what.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(failed(1), format!("lru: {} computes 8, and malloc 7", PEERS[1].name));
        assert!(failed(2).contains("ended with exit status: 3"), "{}", failed(2));
        assert_eq!(stopped[3], Some(Stopped::TimedOut));
        assert!(failed(4).contains("does not know the workload lru"), "{}", failed(4));
    }
}
