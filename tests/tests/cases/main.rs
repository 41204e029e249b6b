//! Whole programs, each a trial or a few by its name: `cargo xtask test -p tally-tests --test cases -- gcbench` tries one in all
//! ways, `mistakes::` those of a folder.

mod bench_programs;
mod examples;
mod mistakes;
mod programs;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let trials = [examples::trials(), bench_programs::trials(), mistakes::trials(), programs::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit();
}

/// A trial that fails for the reason that it returns.
fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, || check().map_err(Failed::from))
}
