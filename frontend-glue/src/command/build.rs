//! `tally build`: link an executable.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::linking;
use super::messages::Messages;
use super::options::Compiling;
use super::remarks::Remarks;
use crate::aot::{Shape, output_file};
use crate::pipeline::Destination;

/// Link an executable
///
/// Each FILE becomes an object; they are linked with Tally's runtime (libtally.a) by clang and
/// lld. FILEs may be objects, too: what stock llc or clang made of a module with one of LLVM's own
/// strategies (shadow-stack, ocaml, erlang, statepoint-example, coreclr). The executable is position independent and has no text relocations.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Build {
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    remarks: Remarks,
    #[command(flatten)]
    messages: Messages,
    /// Link for a fixed address
    #[arg(long)]
    no_pie: bool,
    /// Lower for zeal: an epoch at every safepoint, a check at every access
    #[arg(long)]
    zeal: bool,
    /// The program's modules: .ll, .bc or .c; and objects that stock llc or clang compiled
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The executable to write
    #[arg(short, long, value_name = "EXE")]
    output: PathBuf,
}

const EPILOGUE: &str = "\
When it runs, the executable reads TALLY_HEAP_LIMIT=64MiB, TALLY_EPOCH_BYTES=8MiB, TALLY_PAUSE_GOAL=500us,
TALLY_STATS=1 (or a file for JSON), TALLY_LEAK_CHECK=1, TALLY_LOG=collections, TALLY_WHY=TYPE and TALLY_ZEAL=1.
TALLY_RUNTIME names another libtally.a, TALLY_CLANG another clang.

Examples:
  tally build program.c -o program
  tally build --opt 3 --no-pie main.ll list.ll -o program";

impl Build {
    pub(super) fn execute(self) -> Result<(), Failure> {
        output_file::spare_inputs(&self.output, &self.files)?;
        let options = self.compiling.compile_options(self.zeal, Destination::Executable);
        let shape = if self.no_pie { Shape::FixedAddress } else { Shape::PositionIndependent };
        linking::link(&self.files, options, shape, &self.output, (&self.messages, &self.remarks))
    }
}
