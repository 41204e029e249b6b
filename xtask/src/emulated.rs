//! `cargo xtask aarch64` and `cargo xtask riscv64`: programs compiled for another machine, run by an **emulator**.
//!
//! Builds `tally`, and the runtime for that machine, and runs programs under qemu's user mode, which needs
//! neither a machine nor an image of that kind: a few examples and workloads under every plan and zeal. `--quick`, which the gate runs,
//! leaves workloads and zeal out. `--all` runs every example and the
//! programs about coroutines in more ways, and all workloads against their hand-freed twins. What
//! tests expect of the command itself is the same on every machine and is not asked again; the compiler runs on the host. The JIT needs a
//! host of that kind.
//!
//! The suites of `frontend-glue` and `tests` can run their programs there as well (`kit/emulated.sh`).

use crate::bench::build::{HAND_FREED_WORKLOADS, WORKLOADS};
use crate::bench::compare;
use crate::failure::{Failure, Outcome};
use crate::setup::Need;
use crate::{process, run, setup, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// `cargo xtask aarch64`, `cargo xtask riscv64`
#[derive(clap::Args)]
pub struct Arguments {
    /// Run all programs in all ways: an hour of processor time
    #[arg(long)]
    all: bool,
    /// Run three examples under every plan, and no more
    #[arg(long, conflicts_with = "all")]
    quick: bool,
}

/// A machine that an emulator stands for.
pub struct Emulated {
    /// Its name in messages.
    name: &'static str,
    /// As Rust's tools call it, and `tally build`.
    triple: &'static str,
    /// The folder of the C library and dynamic linker for it.
    root: &'static str,
    qemu: &'static str,
    needs: &'static [Need],
}

pub const AARCH64: Emulated = Emulated {
    name: "AArch64",
    triple: "aarch64-unknown-linux-gnu",
    root: "/usr/aarch64-linux-gnu",
    qemu: "qemu-aarch64-static",
    needs: setup::AARCH64,
};

pub const RISCV64: Emulated = Emulated {
    name: "RISC-V",
    triple: "riscv64gc-unknown-linux-gnu",
    root: "/usr/riscv64-linux-gnu",
    qemu: "qemu-riscv64-static",
    needs: setup::RISCV64,
};

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];

/// Programs for every change: what compiled code, walks, destructors, coroutines and weak references need of the machine.
const SMOKE: [&str; 3] = ["rings", "generators", "weak_cache"];
const SMOKE_WORKLOADS: [&str; 3] = ["gcbench", "list", "havlak"];
/// A run is ended after this many.
const SECONDS_MAX: &str = "600";

/// A way to run an executable: variables for it.
type Way = &'static [(&'static str, &'static str)];
const PLAIN: Way = &[("TALLY_LEAK_CHECK", "1")];
const BOUNDED: Way = &[("TALLY_PAUSE_GOAL", "1ms"), ("TALLY_EPOCH_BYTES", "64KiB")];

/// Builds and runs the programs.
pub fn emulated(machine: &'static Emulated, arguments: &Arguments) -> Outcome {
    let triple = machine.triple;
    setup::ensure(machine.needs)?;
    _ = Command::new("rustup").args(["target", "add", triple]).current_dir(tree::root()).status();
    let tally = run::build_tally()?;
    let mut library = process::cargo();
    library.args(["build", "--release", "-p", "aot-runtime", "--target", triple]).env("CARGO_INCREMENTAL", "0");
    process::must_succeed(&mut library)?;
    let folder = tree::release()?.with_file_name(format!("on-{triple}"));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::step(format!("cannot make {}: {error}", folder.display())))?;
    let bench = Bench { machine, tally, folder, all: arguments.all, quick: arguments.quick };
    let mut faults = bench.examples()?;
    if !arguments.quick {
        faults.extend(bench.workloads()?);
    }
    for fault in &faults {
        eprintln!("xtask: {fault}");
    }
    if faults.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::step(format!("{} runs on {} differ", faults.len(), machine.name)))
    }
}

struct Bench {
    machine: &'static Emulated,
    tally: PathBuf,
    folder: PathBuf,
    all: bool,
    quick: bool,
}

impl Bench {
    fn levels(&self) -> &'static [&'static str] {
        if self.all { &["0", "1", "2", "3", "s"] } else { &["2"] }
    }

    /// The faults of examples, and with `--all` of the programs about coroutines.
    fn examples(&self) -> Result<Vec<String>, Failure> {
        let (prompt_only, small) = (listed("examples/prompt.txt")?, listed("examples/zeal.txt")?);
        let mut programs = Vec::new();
        for file in tree::files("examples", &["c", "ll"])? {
            let name = stem(&file);
            let expected = Path::new("examples/expected").join(&name).with_extension("txt");
            if self.all || SMOKE.contains(&name.as_str()) {
                programs.push((file, expected));
            }
        }
        if self.all {
            // Those that measure memory or take arguments are left out.
            for name in ["cycles", "held_by_frames", "why_alive", "random"] {
                let file = Path::new("tests/programs/coroutines").join(name);
                programs.push((file.with_extension("c"), file.with_extension("txt")));
            }
        }
        let mut faults = Vec::new();
        for (file, expected) in &programs {
            let name = stem(file);
            let right = read(expected)?;
            let is_prompt_only = prompt_only.contains(&name);
            for plan in PLANS.iter().filter(|&&plan| !is_prompt_only || plan == "refcount-prompt") {
                for level in self.levels() {
                    // With a pause goal destructors may run later where one takes long, and by an emulator all do.
                    let ways: &[Way] = if self.all && !is_prompt_only { &[PLAIN, BOUNDED] } else { &[PLAIN] };
                    faults.extend(self.differs(
                        std::slice::from_ref(file),
                        plan,
                        &["--opt", level],
                        ways,
                        &[],
                        &right,
                    )?);
                }
                let has_zeal = small.contains(&name) && !self.quick && (self.all || *plan != "trace");
                if has_zeal && !is_prompt_only {
                    faults.extend(self.differs(
                        std::slice::from_ref(file),
                        plan,
                        &["--zeal"],
                        &[PLAIN],
                        &[],
                        &right,
                    )?);
                }
            }
            println!("{name}: {}", if faults.is_empty() { "as expected" } else { "differs" });
        }
        Ok(faults)
    }

    /// The faults of workloads, by what their twins print.
    fn workloads(&self) -> Result<Vec<String>, Failure> {
        let twin = self.folder.join("hand-freed");
        let mut compile = process::command("cc");
        compile.args(["-O2", "-I", WORKLOADS, "-o"]).arg(&twin).args(tree::files(HAND_FREED_WORKLOADS, &["c"])?);
        process::must_succeed(&mut compile)?;
        let names: &[&str] = if self.all { &compare::WORKLOADS } else { &SMOKE_WORKLOADS };
        let files = tree::files(WORKLOADS, &["c"])?;
        let mut faults = Vec::new();
        for plan in PLANS {
            let program = self.build(&files, plan, &["--opt", "3"])?;
            for name in names {
                let right = process::output_of(process::command(&twin).args([name, "small"]))?;
                for way in [PLAIN, BOUNDED] {
                    let said = self.output(&program, &[name, "small"], way);
                    if sum(&said) != sum(&right) {
                        faults.push(format!("workload {name}, {plan}, {way:?}: {said}, and by hand {right}"));
                    }
                }
            }
        }
        println!("{} workloads: {}", names.len(), if faults.is_empty() { "as freed by hand" } else { "differ" });
        Ok(faults)
    }

    fn differs(
        &self,
        files: &[PathBuf],
        plan: &str,
        options: &[&str],
        ways: &[Way],
        arguments: &[&str],
        right: &str,
    ) -> Result<Vec<String>, Failure> {
        let program = self.build(files, plan, options)?;
        let outputs = ways.iter().map(|way| (way, self.output(&program, arguments, way)));
        let wrong = outputs.filter(|(_, said)| said != right);
        Ok(wrong.map(|(way, said)| format!("{files:?}, {plan}, {options:?}, {way:?} prints:\n{said}")).collect())
    }

    fn build(&self, files: &[PathBuf], plan: &str, options: &[&str]) -> Result<PathBuf, Failure> {
        let program = self.folder.join("program");
        let mut build = process::command(&self.tally);
        build
            .args(["build", "--no-warnings", "--target", self.machine.triple, "--plan", plan])
            .args(options)
            .args(files);
        process::must_succeed(build.arg("-o").arg(&program))?;
        Ok(program)
    }

    /// What a run prints; with its status, and what it complains of, if it ends badly.
    fn output(&self, program: &Path, arguments: &[&str], way: Way) -> String {
        let mut run = process::command("timeout");
        run.args([SECONDS_MAX, self.machine.qemu, "-L", self.machine.root])
            .arg(program)
            .args(arguments)
            .envs(way.iter().copied());
        match run.output() {
            Err(error) => error.to_string(),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let complaint = String::from_utf8_lossy(&output.stderr);
                if output.status.success() { said } else { format!("{said}{} {complaint}", output.status) }
            }
        }
    }
}

/// The words of a list beside the examples.
fn listed(list: &str) -> Result<Vec<String>, Failure> {
    let lines = read(Path::new(list))?;
    Ok(lines
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect())
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(tree::root().join(path))
        .map_err(|error| Failure::step(format!("{}: {error}", path.display())))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A workload's line without its time.
fn sum(line: &str) -> &str {
    line.split(" gap_us").next().unwrap_or(line).trim()
}
