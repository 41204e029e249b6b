//! `cargo xtask bench scaling`: what garbage and epochs cost beside live heaps of a thousand to ten million objects.
//!
//! Three questions. *Does a dead ring cost more beside a larger heap?* bigheap (rings die at once) and fifo (they die
//! old) make a million rings beside N live objects; what the same takes with a quarter of the rings is taken off, so
//! that the making of the heap does not count. *Does an epoch?* fifo has the same survivors, log and roots whatever N
//! is; the time of all stops is divided by the epochs, again without those of the shorter run. *Do the ratios to
//! hand-written frees hold?* mutate, bigheap, fifo and havlak at a million objects and more.
//!
//! The first is answered in instructions, too, for heaps of up to a million objects (scaling/instructions.rs).
//!
//! Medians of interleaved rounds. Reading a live object misses the cache on a larger heap, with hand-written frees too:
//! their line is what to compare with. Tables go to standard output, plots to a folder, with `--document` both into
//! docs/use/performance.md.

mod instructions;

use super::build::{self, BOTH_PLANS, DEFERRED, Executable};
use super::chart::{self, Line};
use super::document;
use super::measure::{self, Run, median};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, setup, tree};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `cargo xtask bench scaling`
#[derive(clap::Args)]
pub struct Arguments {
    /// Runs of each program at each size
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Live objects of the largest heap; 100000000 takes some minutes and ten GiB
    #[arg(long, value_name = "OBJECTS", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1000..))]
    up_to: u64,
    /// Folder for the plots and scaling.md (default: target/release/scaling)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write tables and plots into docs/use/performance.md, too
    #[arg(long)]
    document: bool,
}

/// Live objects, from small to large.
const SIZES: [u64; 6] = [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// From here on the ratios are shown.
const LARGE: u64 = 1_000_000;
/// What makes rings beside a live heap.
const RING_WORKLOADS: [&str; 2] = ["bigheap", "fifo"];
/// The same, and how its rings die.
const WAYS: [(&str, &str); 2] = [("bigheap", "at once"), ("fifo", "old")];
/// Rings of a long run, and of a short one.
const RINGS: [u64; 2] = [2 << 20, 1 << 19];
/// What is compared with hand-written frees on large heaps.
const RATIO_WORKLOADS: [&str; 4] = ["mutate", "bigheap", "fifo", "havlak"];
/// What one run took, and what the runtime counted.
#[derive(Clone)]
struct Sample {
    run: Run,
    counters: HashMap<&'static str, f64>,
}

/// The statistics that are read.
const COUNTERS: [&str; 4] = ["epochs", "pause_ns_total", "promoted_objects", "log_entries"];

/// An executable, a workload, its live objects, and rings if it is told how many to make.
type Key = (&'static str, &'static str, u64, Option<u64>);
type Samples = HashMap<Key, Vec<Sample>>;

/// Builds, runs, and writes tables and plots.
pub fn scaling(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::TEST_AND_VALGRIND)?;
    let folder = tree::release()?.join("scaling");
    let executables = build::build_into(&folder, &BOTH_PLANS)?;
    let sizes: Vec<u64> = SIZES.into_iter().filter(|&size| size <= arguments.up_to).collect();
    let samples = sample(&executables, &sizes, arguments.rounds, &folder)?;
    let names: Vec<&'static str> = executables.iter().map(|executable| executable.name).collect();
    let counted = instructions::of_rings(&executables, &WAYS, &sizes, &folder)?;
    let count_plot =
        chart::lines("Instructions of a ring that is made and dies", "live objects", "instructions", &counted);
    let rings = lines_of_rings(&samples, &names, &sizes);
    let ring_plot = chart::lines("CPU time of a ring that is made and dies", "live objects", "ns", &rings);
    let epochs = lines_of_epochs(&samples, &sizes);
    let epoch_plot = chart::lines("Time of an epoch, same survivors, log and roots", "live objects", "µs", &epochs);
    let tables =
        format!("{}; medians of {} rounds, of which counts need none.\n", measure::machine(), arguments.rounds)
            + &table("Instructions of a ring that is made and dies", &counted, &sizes)
            + "\n![Instructions of a ring against live objects](performance/scaling-instructions.svg)\n"
            + &table("CPU time of a ring that is made and dies, ns", &rings, &sizes)
            + "\n![CPU time of a ring against live objects](performance/scaling-rings.svg)\n"
            + &table("Time of an epoch of the deferred plan, µs", &epochs, &sizes)
            + &epoch_contents(&samples, &sizes)
            + "\n![Time of an epoch against live objects](performance/scaling-epochs.svg)\n"
            + &ratios(&samples, &names, &sizes);
    print!("{tables}");
    let out = arguments.out.clone().unwrap_or(folder);
    document::write(&out.join("scaling.md"), &tables)?;
    let plots = [("instructions", count_plot), ("rings", ring_plot), ("epochs", epoch_plot)];
    if arguments.document {
        document::replace_part("scaling", &tables)?;
    }
    for (name, plot) in plots {
        let name = format!("scaling-{name}.svg");
        document::write(&out.join(&name), &plot)?;
        if arguments.document {
            document::write_picture(&name, &plot)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs all, in turn. Sums are compared as in `bench compare`.
fn sample(executables: &[Executable], sizes: &[u64], rounds: u32, folder: &Path) -> Result<Samples, Failure> {
    let mut samples = Samples::new();
    let progress = Progress::new(
        sizes.iter().map(|&size| runs(size).count()).sum::<usize>() * rounds as usize * executables.len(),
    );
    for _ in 0..rounds {
        for &size in sizes {
            for (workload, rings) in runs(size) {
                let mut right: Option<String> = None;
                for executable in executables {
                    progress.begin(&format!("{workload} {size} {}", executable.name));
                    let sample = sample_once(executable, workload, size, rings, folder)?;
                    progress.end();
                    let sum = &sample.run.sum;
                    if right.get_or_insert_with(|| sum.clone()) != sum {
                        return Err(Failure::step(format!(
                            "{workload} {size}: the sums differ: {} computes {sum}, and {} {}",
                            executable.name,
                            executables[0].name,
                            right.unwrap_or_default()
                        )));
                    }
                    samples.entry((executable.name, workload, size, rings)).or_default().push(sample);
                }
            }
        }
    }
    Ok(samples)
}

/// The workloads beside a heap of that size, each with the rings that it makes if it is told how many.
fn runs(size: u64) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    let rings = RING_WORKLOADS.into_iter().flat_map(|name| RINGS.map(|rings| (name, Some(rings))));
    rings.chain(RATIO_WORKLOADS.into_iter().filter(move |_| size >= LARGE).map(|name| (name, None)))
}

fn sample_once(
    executable: &Executable,
    workload: &str,
    size: u64,
    rings: Option<u64>,
    folder: &Path,
) -> Result<Sample, Failure> {
    let statistics = folder.join("statistics.json");
    let mut command = process::command(&executable.path);
    command
        .arg(workload)
        .arg(size.to_string())
        .args(rings.map(|rings| rings.to_string()))
        .env("TALLY_STATS", &statistics);
    let is_ours = executable.name != build::HAND_FREED;
    let run = measure::run(command, workload)?;
    let mut counters = HashMap::new();
    if is_ours {
        counters.extend(COUNTERS.into_iter().zip(measure::counters(&statistics, COUNTERS)?));
    }
    Ok(Sample { run, counters })
}

fn middle(samples: &Samples, key: Key, of: impl Fn(&Sample) -> f64) -> f64 {
    median(samples[&key].iter().map(of))
}

/// What the long run has more than the short one.
fn difference(
    samples: &Samples,
    name: &'static str,
    workload: &'static str,
    size: u64,
    of: impl Fn(&Sample) -> f64,
) -> f64 {
    let [long, short] = RINGS.map(|rings| middle(samples, (name, workload, size, Some(rings)), &of));
    long - short
}

/// A line for each executable and each way to die.
fn lines_of_rings(samples: &Samples, names: &[&'static str], sizes: &[u64]) -> Vec<Line> {
    let lines = WAYS.into_iter().flat_map(|(workload, way)| names.iter().map(move |&name| (workload, way, name)));
    lines
        .map(|(workload, way, name)| {
            let rings = (RINGS[0] - RINGS[1]) as f64;
            let each = |size| difference(samples, name, workload, size, |sample| sample.run.cpu_s) / rings * 1e9;
            Line {
                label: format!("{name}, dies {way}"),
                points: sizes.iter().map(|&size| (size as f64, each(size))).collect(),
            }
        })
        .collect()
}

/// The deferred plan's epochs while rings die, at once and old.
fn lines_of_epochs(samples: &Samples, sizes: &[u64]) -> Vec<Line> {
    let line = |workload, way: &str| Line {
        label: format!("rings die {way}"),
        points: sizes
            .iter()
            .map(|&size| (size as f64, per_epoch(samples, workload, size, "pause_ns_total") / 1e3))
            .collect(),
    };
    WAYS.map(|(workload, way)| line(workload, way)).into()
}

/// What a counter grows by in an epoch.
fn per_epoch(samples: &Samples, workload: &'static str, size: u64, counter: &'static str) -> f64 {
    let of = |counter| difference(samples, DEFERRED.executable, workload, size, |sample| sample.counters[counter]);
    of(counter) / of("epochs").max(1.0)
}

/// What those epochs had to do, to show that it is the same at all sizes.
fn epoch_contents(samples: &Samples, sizes: &[u64]) -> String {
    let line = |counter, what: &str| Line {
        label: what.to_owned(),
        points: sizes.iter().map(|&size| (size as f64, per_epoch(samples, "fifo", size, counter))).collect(),
    };
    let lines = [line("promoted_objects", "survivors"), line("log_entries", "log entries")];
    table("What an epoch of these has to do where rings die old", &lines, sizes)
}

fn ratios(samples: &Samples, names: &[&'static str], sizes: &[u64]) -> String {
    let mut text =
        "\n**CPU time relative to hand-written frees; peak memory relative to them; longest gap, ms**\n\n| |"
            .to_owned();
    let large: Vec<u64> = sizes.iter().copied().filter(|&size| size >= LARGE).collect();
    for size in &large {
        text += &format!(" {} objects |", in_words(*size));
    }
    text += &format!("\n|---|{}\n", "---|".repeat(large.len()));
    for workload in RATIO_WORKLOADS {
        for &name in names.iter().filter(|&&name| name != build::HAND_FREED) {
            text += &format!("| {workload}, {name} |");
            for &size in &large {
                let ratio = |of: fn(&Sample) -> f64| {
                    middle(samples, (name, workload, size, None), of)
                        / middle(samples, (build::HAND_FREED, workload, size, None), of)
                };
                let gap = middle(samples, (name, workload, size, None), |sample| sample.run.gap_ms);
                let (cpu, memory) = (ratio(|sample| sample.run.cpu_s), ratio(|sample| sample.run.resident_mib));
                text += &format!(" {cpu:.2}; {memory:.2}; {gap:.1} |");
            }
            text += "\n";
        }
    }
    text
}

/// A row for each line, a column for each size.
fn table(title: &str, lines: &[Line], sizes: &[u64]) -> String {
    let mut text = format!("\n**{title}**\n\n| live objects |");
    for &size in sizes {
        text += &format!(" {} |", in_words(size));
    }
    text += &format!("\n|---|{}\n", "---|".repeat(sizes.len()));
    for line in lines {
        let cells: Vec<String> = (0..sizes.len())
            .map(|place| line.points.get(place).map_or(String::new(), |(_, y)| format!("{y:.0}")))
            .collect();
        text += &format!("| {} | {} |\n", line.label, cells.join(" | "));
    }
    text
}

fn in_words(size: u64) -> String {
    match size {
        1_000_000.. => format!("{} M", size / 1_000_000),
        1000.. => format!("{} k", size / 1000),
        _ => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        COUNTERS, DEFERRED, RING_WORKLOADS, RINGS, Run, Sample, Samples, in_words, lines_of_rings, per_epoch, table,
    };

    fn sample(cpu_s: f64, epochs: f64, pause_ns: f64) -> Sample {
        let run = Run { sum: "1".to_owned(), cpu_s, wall_s: cpu_s, resident_mib: 1.0, gap_ms: 0.0 };
        Sample { run, counters: COUNTERS.into_iter().zip([epochs, pause_ns, 0.0, 0.0]).collect() }
    }

    /// A ring costs 100 ns, an epoch 200 µs, and the heap half a second and two epochs.
    fn samples() -> Samples {
        let with = |rings: u64| {
            let sample =
                sample(0.5 + rings as f64 * 1e-7, 2.0 + (rings >> 16) as f64, 1e6 + (rings >> 16) as f64 * 2e5);
            RING_WORKLOADS.map(|name| ((DEFERRED.executable, name, 1000, Some(rings)), vec![sample.clone()]))
        };
        RINGS.into_iter().flat_map(with).collect()
    }

    #[test]
    fn cost_of_the_live_heap_is_taken_off() {
        let lines = lines_of_rings(&samples(), &[DEFERRED.executable], &[1000]);
        assert!((lines[0].points[0].1 - 100.0).abs() < 1e-6, "{:?}", lines[0].points);
        assert!((per_epoch(&samples(), "bigheap", 1000, "pause_ns_total") - 2e5).abs() < 1e-6);
    }

    #[test]
    fn table_has_a_column_for_each_size() {
        let lines = lines_of_rings(&samples(), &[DEFERRED.executable], &[1000]);
        let text = table("T", &lines, &[1000]);
        assert!(text.contains("| live objects | 1 k |\n|---|---|\n| tally-deferred, dies at once | 100 |"), "{text}");
        assert_eq!(in_words(10_000_000), "10 M");
    }
}
