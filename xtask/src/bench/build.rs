//! `cargo xtask bench build DIR`: the same workloads as two executables.
//!
//! `tally-deferred` is benches/workloads through `tally build --opt 3`; `hand-freed` is the same programs with
//! `malloc` and with `free` written where a person would write it, through the system's C compiler at -O3. Each takes
//! the name of a workload and prints `NAME sum=S gap_us=G`: the sum proves that both did the same work, the gap is
//! the longest time between two ticks inside the program. Neither tears down at exit.

use crate::failure::{Failure, Outcome};
use crate::{process, run, setup, tree};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the workloads over Tally are written.
pub const WORKLOADS: &str = "benches/workloads";
/// Where the same workloads with hand-written frees are.
const HAND_FREED: &str = "benches/workloads/hand_freed";

/// `cargo xtask bench build`
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder to leave the executables in (made if missing)
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The two executables.
pub struct Executables {
    /// The workloads on Tally's heap, deferred plan.
    pub tally_deferred: PathBuf,
    /// The workloads on malloc and free.
    pub hand_freed: PathBuf,
}

/// Builds both and says where they are.
pub fn build(arguments: &Arguments) -> Outcome {
    let built = build_into(&arguments.folder)?;
    for executable in [&built.tally_deferred, &built.hand_freed] {
        println!("{}", executable.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds both into `folder`.
pub fn build_into(folder: &Path) -> Result<Executables, Failure> {
    setup::ensure(setup::BUILD)?;
    let folder =
        std::path::absolute(folder).map_err(|error| Failure::unprepared(format!("{}: {error}", folder.display())))?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::unprepared(format!("cannot make the folder {}: {error}", folder.display())))?;
    let built = Executables { tally_deferred: folder.join("tally-deferred"), hand_freed: folder.join("hand-freed") };
    let tally = run::build_tally()?;
    let mut ours = process::command(tally);
    ours.args(["build", "--opt", "3"]).args(tree::files(WORKLOADS, &["c", "ll"])?);
    process::must_succeed(ours.arg("-o").arg(&built.tally_deferred))?;
    let mut theirs = process::command("cc");
    theirs.arg("-O3").args(tree::files(HAND_FREED, &["c"])?);
    process::must_succeed(theirs.arg("-o").arg(&built.hand_freed))?;
    Ok(built)
}
