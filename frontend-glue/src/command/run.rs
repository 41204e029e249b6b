//! `tally run`: compile in memory and run in this process. A program with objects in it, which stock tools compiled, is linked as `tally
//! build` does it, and takes this process over: only a loader knows all that they may ask for.

use std::ffi::{CString, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use super::failure::Failure;
use super::linking;
use super::messages::Messages;
use super::options::{Compiling, Running};
use super::remarks::Remarks;
use crate::aot::link_line::Image;
use crate::emit::target::Target;
use crate::guard::crash_net::CrashNet;
use crate::jit::{Observers, Program};
use crate::pipeline::{self, Destination};
use tally_compiled::program::options::{RunOptions, StatsTarget};

/// Compile in memory and run
///
/// Each FILE is a module; together they are the program, and one of them defines `main`. FILEs may be
/// objects, too, as for `tally build`: then the program is linked first. The arguments after `--` are the program's. The exit status is the program's own, or:
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
    /// Write the names and addresses of compiled functions to /tmp/perf-PID.map, where perf looks for them
    #[arg(long)]
    perf_map: bool,
    /// The program's modules: .ll, .bc or .c; and objects that stock llc or clang compiled
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

const EPILOGUE: &str = "\
Options of the heap can also be given as TALLY_STATS, TALLY_HEAP_LIMIT, TALLY_EPOCH_BYTES,
TALLY_PAUSE_GOAL, TALLY_ZEAL=1, TALLY_LEAK_CHECK=1, TALLY_LOG=collections, TALLY_WHY=TYPE and
TALLY_ALLOC_SITES, as for built executables; --perf-map as TALLY_PERF_MAP=1.

Examples:
  tally run program.ll
  tally run main.ll list.ll -- 1000 fast
  tally run --opt 3 --stats=costs.json program.c";

impl Run {
    pub(super) fn execute(self, net: CrashNet) -> Result<(), Failure> {
        let run_options = self.running.run_options(self.zeal)?;
        let (target, host) = (self.compiling.target(), Target::host());
        if target != host {
            let message =
                format!("code for {target} does not run in this process, which is one of {host}; use `tally build`");
            return Err(Failure(message));
        }
        let observers = Observers { perf_map: self.perf_map || Observers::from_env()?.perf_map };
        if linking::any_object(&self.files)? {
            return self.run_linked(run_options, net);
        }
        let mut compile_options = self.compiling.compile_options(run_options.zeal, Destination::ThisProcess);
        compile_options.names |= run_options.asks_for_names();
        let objects = pipeline::compile(&self.files, &compile_options).map_err(|error| self.messages.failure(error))?;
        self.remarks.report(objects.iter().flat_map(|object| &object.remarks))?;
        super::warnings::report(&objects, &self.messages);
        let program = Program::link(&objects, observers)?;
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

    fn run_linked(self, run_options: RunOptions, net: CrashNet) -> Result<(), Failure> {
        let mut compile_options = self.compiling.compile_options(run_options.zeal, Destination::Executable);
        compile_options.names |= run_options.asks_for_names();
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("program");
        let image = Image::executable(compile_options.target);
        linking::link(&self.files, compile_options, image, &output, (&self.messages, &self.remarks))?;
        let program = std::fs::File::open(&output)?;
        // The file goes with the folder; what was opened can be run for all that.
        drop((folder, net));
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.arg0(&self.files[0]).args(self.arguments).envs(variables(run_options));
        Err(Failure(format!("the linked program cannot be run: {}", command.exec())))
    }
}

/// The options of a run as the variables that a built executable reads.
fn variables(options: RunOptions) -> impl Iterator<Item = (&'static str, OsString)> {
    let switch = |is_on: bool| OsString::from(if is_on { "1" } else { "0" });
    let number = |number: Option<u64>, unit: &str| number.map(|number| OsString::from(format!("{number}{unit}")));
    let log = logged(&options);
    let sites = options.alloc_sites.map(|bytes| if bytes == 0 { "all".into() } else { format!("{bytes}B").into() });
    let stats = match options.stats {
        None => OsString::from("0"),
        Some(StatsTarget::Stderr) => OsString::from("1"),
        Some(StatsTarget::File(file)) => file.into_os_string(),
    };
    let all = [
        ("TALLY_HEAP_LIMIT", number(options.heap_limit, "")),
        ("TALLY_EPOCH_BYTES", number(options.epoch_bytes, "")),
        ("TALLY_PAUSE_GOAL", number(options.pause_goal_ns, "ns")),
        ("TALLY_STATS", Some(stats)),
        ("TALLY_ZEAL", Some(switch(options.zeal))),
        ("TALLY_LEAK_CHECK", Some(switch(options.leak_check))),
        ("TALLY_LOG", log),
        ("TALLY_WHY", options.why.map(OsString::from)),
        ("TALLY_ALLOC_SITES", sites),
        ("TALLY_FAIL_ALLOCATION", number(options.fail_allocation, "")),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

fn logged(options: &RunOptions) -> Option<OsString> {
    let words = [(options.log_collections, "collections"), (options.log_cycles, "cycles")];
    let words: Vec<&str> = words.into_iter().filter_map(|(is_on, word)| is_on.then_some(word)).collect();
    (!words.is_empty()).then(|| words.join(",").into())
}

/// Arguments come from the system as C strings: there is no NUL in them.
fn c_string(argument: OsString) -> CString {
    CString::new(argument.into_vec()).expect("an argument has no NUL inside")
}
