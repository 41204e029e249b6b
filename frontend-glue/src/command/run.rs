//! `tally run`: compile in memory and run in this process.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::messages::Messages;
use super::options::{Compiling, Running};
use super::remarks::Remarks;
use crate::guard::crash_net::CrashNet;
use crate::jit::Program;
use crate::pipeline::{self, Destination};

/// Compile in memory and run
///
/// Each FILE is a module; together they are the program, and one of them defines `main`. The
/// arguments after `--` are the program's. The exit status is the program's own, or:
///
///   2  bad usage, input that cannot be compiled, a wrong type descriptor
///   3  --leak-check found objects that are left
///   4  out of memory: the heap limit was reached
///   5  --zeal found a use of a dead object, or a broken invariant
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Run {
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    remarks: Remarks,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    running: Running,
    /// Run an epoch at every safepoint, verify the heap, and stop at the first touch of a dead object
    #[arg(long)]
    zeal: bool,
    /// The program's modules: .ll, .bc or .c
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

const EPILOGUE: &str = "\
Options of the heap can also be given as TALLY_STATS, TALLY_HEAP_LIMIT, TALLY_EPOCH_BYTES,
TALLY_PAUSE_GOAL, TALLY_ZEAL=1, TALLY_LEAK_CHECK=1, TALLY_LOG=collections and TALLY_WHY=TYPE,
as for built executables.

Examples:
  tally run program.ll
  tally run main.ll list.ll -- 1000 fast
  tally run --opt 3 --stats=costs.json program.c";

impl Run {
    pub(super) fn execute(self, net: CrashNet) -> Result<(), Failure> {
        let run_options = self.running.run_options(self.zeal)?;
        let mut compile_options = self.compiling.compile_options(run_options.zeal, Destination::ThisProcess);
        compile_options.names |= run_options.why.is_some();
        let objects = pipeline::compile(&self.files, &compile_options).map_err(|error| self.messages.failure(error))?;
        self.remarks.report(objects.iter().flat_map(|object| &object.remarks))?;
        super::warnings::report(&objects, &self.messages);
        let program = Program::link(&objects)?;
        let name = self.files[0].clone().into_os_string();
        let arguments = std::iter::once(name).chain(self.arguments).map(c_string).collect();
        tally_compiled::program::configure(run_options);
        // From here on a crash is the program's own.
        drop(net);
        // So is a stack overflow: the runtime reports it, not the Rust library of this process.
        // SAFETY: a fault has the same effect as in an executable.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        program.run(arguments)
    }
}

/// Arguments come from the system as C strings: there is no NUL in them.
fn c_string(argument: OsString) -> CString {
    CString::new(argument.into_vec()).expect("an argument has no NUL inside")
}
