//! What a ring costs in instructions, counted by callgrind: the same at any size of the live heap, or the collector
//! looks at too much.
//!
//! Time cannot show that, because a larger heap misses the cache more often. Two runs of each program differ in the
//! number of rings only; their difference is the rings'. No slice ends by the clock, or each run would be another one.

use crate::bench::build::{Executable, HAND_FREED};
use crate::bench::chart::Line;
use crate::failure::Failure;
use crate::process;
use crate::progress::Progress;
use std::path::Path;

/// Larger heaps take callgrind minutes to make.
const OBJECTS_MOST: u64 = 1_000_000;
/// Rings of a long run, and of a short one. Even of the short one's, most have left the queue of fifo.
const RINGS: [u64; 2] = [600_000, 200_000];

/// A line for each of ours and each way to die.
pub fn of_rings(
    executables: &[Executable],
    ways: &[(&'static str, &str)],
    sizes: &[u64],
    folder: &Path,
) -> Result<Vec<Line>, Failure> {
    let ours: Vec<&Executable> = executables.iter().filter(|executable| executable.name != HAND_FREED).collect();
    let sizes: Vec<u64> = sizes.iter().copied().filter(|&size| size <= OBJECTS_MOST).collect();
    let progress = Progress::new(ways.len() * ours.len() * sizes.len());
    let mut lines = Vec::new();
    for (workload, way) in ways {
        for executable in &ours {
            let mut points = Vec::new();
            for &size in &sizes {
                progress.begin(&format!("callgrind on {workload} {size} {}", executable.name));
                let [long, short] = RINGS.map(|rings| count(&executable.path, workload, size, rings, folder));
                let each = (long? as f64 - short? as f64) / (RINGS[0] - RINGS[1]) as f64;
                points.push((size as f64, each));
                progress.end();
            }
            lines.push(Line { label: format!("{}, dies {way}", executable.name), points });
        }
    }
    Ok(lines)
}

/// The instructions of one run, inside the workload's function.
fn count(executable: &Path, workload: &str, size: u64, rings: u64, folder: &Path) -> Result<u64, Failure> {
    let output = folder.join("callgrind.out");
    let mut command = process::command("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(format!("--toggle-collect={workload}"));
    command.arg(format!("--callgrind-out-file={}", output.display())).arg(executable);
    command
        .arg(workload)
        .args([size, rings].map(|number| number.to_string()))
        .envs([("TALLY_PAUSE_GOAL", "1000s"), ("TALLY_SLICE_UNITS", "4096")]);
    process::output_of(&mut command)?;
    let failed = |what: &str| Failure::step(format!("{}: {what}", output.display()));
    let text = std::fs::read_to_string(&output).map_err(|error| failed(&error.to_string()))?;
    let sum = crate::bench::counts::total(&text).ok_or_else(|| failed("has no line `summary:` or `totals:`"))?;
    if sum == 0 { Err(failed("nothing was counted")) } else { Ok(sum) }
}
