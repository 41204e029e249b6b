//! Folders in which each file is a situation, and a trial by its name: `cargo xtask test -p tally-llvm --test cases --
//! hazards::inline_asm` tries one file, `lowering::` those of a folder.

mod hazards;
mod lowering;
mod refused;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let trials = [hazards::trials(), lowering::trials(), refused::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit();
}

/// A trial that fails for the reason that it returns.
fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, || check().map_err(Failed::from))
}
