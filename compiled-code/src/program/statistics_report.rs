//! Statistics at exit: a table on standard error, or JSON wherever the options say.
//!
//! `program` calls this once, when the program has ended. The keys, in this order, are those of
//! `docs/use/running.md`; a test of `xtask` compares the two.

pub(crate) mod sites;

use crate::program::destination;
use crate::program::options::StatsTarget;
use sites::Sites;
use std::ffi::c_int;
use tally_heap::fatal::STATUS_USAGE;
use tally_heap::report::statistics::Statistics;

/// Writes the statistics to `target`. Returns 0, or the exit status of a failure.
pub(crate) fn report(statistics: &Statistics, sites: &Sites, target: Option<&StatsTarget>) -> c_int {
    match target {
        None => {}
        Some(StatsTarget::Stderr) => tally_heap::tell!("{}{}", statistics_table(statistics), sites.table()),
        Some(StatsTarget::File(path)) => {
            if let Err(error) = destination::write(path, statistics_json(statistics, sites).as_bytes()) {
                tally_heap::tell_line!("tally: cannot write statistics to {}: {error}", path.display());
                return STATUS_USAGE;
            }
        }
    }
    0
}

/// The statistics with their keys, in the order of `docs/use/running.md`.
pub(crate) fn statistics_entries(statistics: &Statistics) -> Vec<(&'static str, u64)> {
    vec![
        ("epochs", statistics.epochs),
        ("slices", statistics.slices),
        ("pause_ns_max", statistics.pause_ns_max),
        ("pause_ns_total", statistics.pause_ns_total),
        ("allocated_objects", statistics.allocated_objects),
        ("allocated_bytes", statistics.allocated_bytes),
        ("promoted_objects", statistics.promoted_objects),
        ("freed_objects", statistics.freed_objects()),
        ("freed_mature_objects", statistics.freed_mature_objects),
        ("died_young_objects", statistics.died_young_objects),
        ("live_objects", statistics.live_objects),
        ("live_bytes", statistics.live_bytes),
        ("candidates", statistics.candidates),
        ("trial_runs", statistics.trial_runs),
        ("trial_edges", statistics.trial_edges),
        ("cyclic_garbage_objects", statistics.cyclic_garbage_objects),
        ("marks", statistics.marks),
        ("marks_aborted", statistics.marks_aborted),
        ("frames_walked", statistics.frames_walked),
        ("roots_walked", statistics.roots_walked),
        ("log_entries", statistics.log_entries),
        ("blocks_logged", statistics.blocks_logged),
        ("used_bytes", statistics.used_bytes),
        ("external_bytes", statistics.external_bytes),
        ("pauses", statistics.pauses),
        ("trial_ns", statistics.trial_ns),
        ("mark_ns", statistics.mark_ns),
        ("mark_units", statistics.mark_units),
        ("slice_units_max", statistics.slice_units_max),
        ("frames_at_once_max", statistics.frames_at_once_max),
        ("utilisation_5ms_min", statistics.utilisation_5ms_min),
        ("utilisation_20ms_min", statistics.utilisation_20ms_min),
        ("utilisation_100ms_min", statistics.utilisation_100ms_min),
    ]
}

/// The histograms with their keys and units.
fn histogram_entries(statistics: &Statistics) -> [(&'static str, &'static str, &[u64]); 2] {
    [
        ("pause_histogram", "ns", statistics.pause_histogram.used()),
        ("size_histogram", "bytes", statistics.size_histogram.used()),
    ]
}

fn statistics_json(statistics: &Statistics, sites: &Sites) -> String {
    let numbers = statistics_entries(statistics).into_iter().map(|(key, value)| format!("  \"{key}\": {value}"));
    let histograms =
        histogram_entries(statistics).into_iter().map(|(key, _, buckets)| format!("  \"{key}\": {buckets:?}"));
    let lines: Vec<String> = numbers.chain(histograms).chain(sites.json()).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn statistics_table(statistics: &Statistics) -> String {
    let line = |(key, value): (&str, u64)| format!("tally: {key:<24} {value:>16}\n");
    let mut table: String = statistics_entries(statistics).into_iter().map(line).collect();
    for (key, unit, buckets) in histogram_entries(statistics) {
        for (power, &count) in buckets.iter().enumerate().filter(|(_, count)| **count != 0) {
            table += &line((&format!("{key} {} {unit}", 1u64 << power), count));
        }
    }
    table
}
