//! `cargo xtask bench programs`: whole programs under both of Tally's plans, freed by hand, and on Boehm's collector.
//!
//! benches/programs has a file a program, which benches/programs/heap.h makes one for each heap; so all do the same,
//! and the frees are those that a C programmer would write. Each is built in up to five ways (`programs/way.rs`) by the
//! same compiler at the same level. A way whose library is not installed is named and left out (`--setup` installs it).
//! They run in turn (`rounds`). Printed are CPU time, peak memory, the longest gap, and what the program had of its
//! worst windows; then the geometric means of all programs' ratios, which `--limit` may hold. A program that fails, or
//! that computes another sum in one of the ways, is a failure; the others are still run.

mod table;
mod way;

use super::document;
use super::measure;
use super::rounds::{self, Contender, Series};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, run, setup, tree};
use std::process::ExitCode;
use table::{Measured, Table};
use way::{WAYS, Way};

/// Where the programs are.
pub(crate) const FOLDER: &str = "benches/programs";

/// The programs, in the order of the tables: those of "Are We Fast Yet", small ones first, then those that users write.
const PROGRAMS: [&str; 20] = [
    "bounce",
    "list",
    "permute",
    "queens",
    "sieve",
    "storage",
    "towers",
    "cd",
    "deltablue",
    "havlak",
    "json",
    "richards",
    "dom",
    "editor",
    "graph",
    "lua",
    "map",
    "server",
    "simplify",
    "words",
];

/// `cargo xtask bench programs`
#[derive(clap::Args)]
pub struct Arguments {
    /// Runs of each program in each way
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Programs to run, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(PROGRAMS))]
    only: Vec<String>,
    /// Size of the programs instead of their usual one; for most, how much they do, for graph, how much lives
    #[arg(long, requires = "only", value_parser = clap::value_parser!(u32).range(1..))]
    size: Option<u32>,
    /// Fail if a geometric mean of CPU time relative to malloc is higher, as deferred=0.9,prompt=1.5
    #[arg(long, value_delimiter = ',', value_name = "WAY=RATIO", value_parser = limit)]
    limit: Vec<Limit>,
    /// Install mimalloc and Boehm's collector where they are missing, by apt
    #[arg(long)]
    setup: bool,
    /// Write the tables into docs/use/performance.md, too
    #[arg(long, conflicts_with = "only")]
    document: bool,
}

/// The highest geometric mean that a way may have.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    way: &'static str,
    ratio_max: f64,
}

/// Builds, runs and prints the tables.
pub fn programs(arguments: &Arguments) -> Outcome {
    let ways = ways_at_hand(arguments.setup)?;
    let unknown = arguments.limit.iter().find(|limit| !ways.iter().any(|way| way.name == limit.way));
    if let Some(limit) = unknown {
        return Err(Failure::unprepared(format!(
            "--limit {}: it is left out, so that nothing holds the limit",
            limit.way
        )));
    }
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let programs: Vec<&'static str> = PROGRAMS.into_iter().filter(|name| chosen(name)).collect();
    let all_contenders = build_all(&programs, &ways, arguments.size)?;
    println!("{}", table::head(arguments.rounds));
    let progress = Progress::new(programs.len() * arguments.rounds as usize * ways.len());
    let mut table = Table { machine: measure::machine(), rounds: arguments.rounds, ways, programs: Vec::new() };
    let mut failures = Vec::new();
    for (name, contenders) in programs.iter().zip(&all_contenders) {
        match rounds::measure_in_turn(contenders, name, arguments.rounds, &progress) {
            Ok(all) => {
                let measured = Measured { name, ways: all.iter().map(table::Medians::of).collect() };
                progress.print(&table.rows(&measured));
                table.programs.push(measured);
            }
            Err(failure) => {
                progress.print(&format!("{name:<11}failed: see the end\n"));
                failures.push(failure.to_string());
            }
        }
    }
    drop(progress);
    print!("{}", table.means());
    failures.extend(above_limits(&arguments.limit, &table));
    if !failures.is_empty() {
        return Err(Failure::step(failures.join("\nxtask: ")));
    }
    if arguments.document {
        document::replace_part("programs", &table.markdown())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The ways whose libraries are installed.
fn ways_at_hand(may_install: bool) -> Result<Vec<&'static Way>, Failure> {
    setup::ensure(setup::BUILD)?;
    let missing: Vec<&str> = WAYS.iter().filter_map(Way::missing_package).collect();
    if may_install && !missing.is_empty() {
        setup::install(&missing)?;
    }
    let is_at_hand = |way: &&Way| match way.missing_package() {
        None => true,
        Some(package) => {
            eprintln!("xtask: {} is left out: install {package} (--setup does)", way.name);
            false
        }
    };
    Ok(WAYS.iter().filter(is_at_hand).collect())
}

/// Builds each program in each way; of each program those that will take turns, in the order of the ways.
fn build_all(
    programs: &[&'static str],
    ways: &[&'static Way],
    size: Option<u32>,
) -> Result<Vec<Vec<Contender>>, Failure> {
    let folder = tree::release()?.join("programs");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::unprepared(format!("cannot make the folder {}: {error}", folder.display())))?;
    let tally = run::build_tally()?;
    let build = |program: &&'static str| {
        let source = tree::root().join(FOLDER).join(program).with_extension("c");
        let contender = |way: &&'static Way| {
            let path = folder.join(format!("{program}-{}", way.name));
            process::must_succeed(way.command(&tally, &source).arg("-o").arg(&path).args(way.libraries))?;
            let arguments = size.iter().map(u32::to_string).collect();
            Ok(Contender { name: way.name, path, arguments, is_tally: way.is_tally() })
        };
        ways.iter().map(contender).collect::<Result<Vec<Contender>, Failure>>()
    };
    process::side_by_side(programs, build).into_iter().collect()
}

/// What is to be said of each mean that is above its limit.
fn above_limits(limits: &[Limit], table: &Table) -> Vec<String> {
    let mut complaints = Vec::new();
    for limit in limits {
        let mean = table.mean_of(limit.way, |medians| medians.cpu_s);
        if mean.is_none_or(|mean| mean > limit.ratio_max) {
            let mean = mean.map_or_else(|| "unknown".to_owned(), |mean| format!("{mean:.3}"));
            complaints.push(format!("{}: the geometric mean is {mean}, and may be {}", limit.way, limit.ratio_max));
        }
    }
    complaints
}

/// Reads `deferred=0.9`; `tally-deferred` is the same way.
fn limit(text: &str) -> Result<Limit, String> {
    let names = || WAYS[1..].iter().map(|way| way.name.trim_start_matches("tally-")).collect::<Vec<_>>().join(", ");
    let (name, ratio) = text.split_once('=').ok_or("a limit is WAY=RATIO")?;
    let is_named = |way: &&Way| way.name == name || way.name.strip_prefix("tally-") == Some(name);
    let way =
        WAYS[1..].iter().find(is_named).ok_or_else(|| format!("there is no way {name}; there are {}", names()))?;
    let ratio_max = ratio.parse().ok().filter(|&ratio: &f64| ratio > 0.0);
    Ok(Limit { way: way.name, ratio_max: ratio_max.ok_or_else(|| format!("{ratio} is no positive number"))? })
}

impl table::Medians {
    fn of(series: &Series) -> table::Medians {
        table::Medians {
            cpu_s: series.median(|run| run.cpu_s),
            gap_ms: series.median(|run| run.gap_ms),
            resident_mib: series.median(|run| run.resident_mib),
            least: super::utilisation::middle(&series.least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FOLDER, Limit, PROGRAMS, Table, above_limits, limit};
    use crate::bench::programs::table::{Measured, Medians};
    use crate::bench::programs::way::WAYS;
    use crate::tree;

    #[test]
    fn every_program_of_the_folder_has_its_place_in_the_tables() {
        let files = tree::files(FOLDER, &["c"]).expect("the folder is there");
        let stem = |path: &std::path::PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut found: Vec<String> = files.iter().map(stem).collect();
        let mut listed = PROGRAMS.map(str::to_owned).to_vec();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
    }

    #[test]
    fn limit_names_a_way_and_a_ratio() {
        assert_eq!(limit("deferred=0.9"), Ok(Limit { way: "tally-deferred", ratio_max: 0.9 }));
        assert_eq!(limit("boehm=2"), Ok(Limit { way: "boehm", ratio_max: 2.0 }));
        assert!(limit("java=1").is_err_and(|text| text.contains("deferred, prompt, trace, mimalloc, boehm")));
        assert!(limit("deferred").is_err() && limit("deferred=-1").is_err() && limit("deferred=x").is_err());
        assert!(limit("malloc=1").is_err(), "the others are compared with it");
    }

    #[test]
    fn mean_above_its_limit_is_named_and_mean_of_nothing_too() {
        let of = |cpu_s| Medians { cpu_s, gap_ms: 1.0, resident_mib: 2.0, least: None };
        let measured = |ours| Measured { name: "json", ways: vec![of(1.0), of(ours)] };
        let ways = WAYS[..2].iter().collect();
        let mut table =
            Table { machine: "m".to_owned(), rounds: 1, ways, programs: vec![measured(0.5), measured(2.0)] };
        let limits = ["deferred=1.01", "deferred=0.9"].map(|text| limit(text).expect("it is one"));
        let complaints = above_limits(&limits, &table);
        assert_eq!(complaints, ["tally-deferred: the geometric mean is 1.000, and may be 0.9"]);
        table.programs.clear();
        assert_eq!(above_limits(&limits, &table).len(), 2);
    }
}
