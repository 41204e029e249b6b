//! What the machine must have beside Rust, and how it gets it.
//!
//! `run`, `test` and the others call [`ensure`] before they build; `cargo xtask setup` is the same by hand, for
//! everything at once. What is looked for are the files that are going to be used, not package names, so LLVM built
//! by hand and named by LLVM_SYS_221_PREFIX is as good as Debian's. What is missing is installed by apt: directly as
//! root, through `sudo -n` otherwise (it never asks for a password, a build must not hang on one). Where neither
//! works, the message names the packages and the exit status is 2.
//!
//! The list is what a Debian 12 with nothing but Rust was found to lack. LLVM is linked as one shared library, so
//! none of LLVM's own dependencies (zlib, zstd, libxml2) are asked for by the linker.

use crate::failure::{Failure, Outcome};
use crate::process;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// `cargo xtask setup`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only say what is missing; install nothing (exit status 2 if something is)
    #[arg(long)]
    check: bool,
}

/// One thing that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A C compiler driver: Rust links through it, and the hand-freed workloads are compiled by it.
    Compiler,
    /// LLVM 22: the library, its headers and llvm-config.
    Llvm,
    /// clang-22, which `tally run prog.c` and `tally build` call.
    Clang,
    /// lld-22, the linker of `tally build`.
    Linker,
    /// LLVM's FileCheck, which holds lowered modules against what the tests expect.
    FileCheck,
    /// gdb, which a test has print objects.
    Debugger,
    /// valgrind, for `cargo xtask valgrind` and `cargo xtask bench counts`.
    Valgrind,
    /// llvm-profdata and llvm-cov, for `cargo xtask coverage`.
    CoverageTools,
    /// A C library for AArch64, to link with.
    Aarch64Library,
    /// qemu's user mode, which runs AArch64 programs.
    Aarch64Emulator,
    /// A C library for RISC-V, to link with.
    Riscv64Library,
    /// qemu's user mode, which runs RISC-V programs.
    Riscv64Emulator,
}

/// What building Tally, running programs and testing it needs.
pub const BUILD: &[Need] = &[Need::Compiler, Need::Llvm, Need::Clang, Need::Linker, Need::FileCheck];

/// What testing it needs.
pub const TEST: &[Need] = &[Need::Compiler, Need::Llvm, Need::Clang, Need::Linker, Need::FileCheck, Need::Debugger];

/// What is needed to run programs under valgrind as well.
pub const TEST_AND_VALGRIND: &[Need] =
    &[Need::Compiler, Need::Llvm, Need::Clang, Need::Linker, Need::FileCheck, Need::Debugger, Need::Valgrind];

/// What measuring the coverage of the crates without LLVM needs.
pub const COVERAGE: &[Need] = &[Need::Compiler, Need::CoverageTools];

/// What compiling for AArch64, and running that, needs as well.
pub const AARCH64: &[Need] =
    &[Need::Compiler, Need::Llvm, Need::Clang, Need::Linker, Need::Aarch64Library, Need::Aarch64Emulator];

/// What compiling for RISC-V, and running that, needs as well.
pub const RISCV64: &[Need] =
    &[Need::Compiler, Need::Llvm, Need::Clang, Need::Linker, Need::Riscv64Library, Need::Riscv64Emulator];

impl Need {
    fn packages(self) -> &'static [&'static str] {
        match self {
            Need::Compiler => &["gcc", "libc6-dev"],
            Need::Llvm => &["llvm-22-dev"],
            Need::Clang => &["clang-22"],
            Need::Linker => &["lld-22"],
            Need::FileCheck => &["llvm-22-tools"],
            Need::Debugger => &["gdb"],
            // Memcheck redirects functions inside the dynamic linker and finds them by its debug symbols.
            Need::Valgrind => &["valgrind", "libc6-dbg"],
            Need::CoverageTools => &["llvm-22"],
            Need::Aarch64Library => &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
            Need::Riscv64Library => &["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"],
            Need::Aarch64Emulator | Need::Riscv64Emulator => &["qemu-user-static"],
        }
    }

    fn is_met(self) -> bool {
        match self {
            Need::Compiler => process::is_on_path("cc"),
            Need::Llvm => {
                let prefix = llvm_prefix();
                prefix.join("bin/llvm-config").is_file() && prefix.join("lib/libLLVM-22.so").exists()
            }
            Need::Clang => process::is_on_path("clang-22") || llvm_prefix().join("bin/clang").is_file(),
            Need::Linker => process::is_on_path("ld.lld-22") || llvm_prefix().join("bin/ld.lld").is_file(),
            Need::FileCheck => process::is_on_path("FileCheck-22") || llvm_tool("FileCheck").is_file(),
            Need::Debugger => process::is_on_path("gdb"),
            Need::Valgrind => process::is_on_path("valgrind"),
            Need::Aarch64Library => has_cross_library("aarch64-linux-gnu"),
            Need::Riscv64Library => has_cross_library("riscv64-linux-gnu"),
            Need::Aarch64Emulator => process::is_on_path("qemu-aarch64-static"),
            Need::Riscv64Emulator => process::is_on_path("qemu-riscv64-static"),
            Need::CoverageTools => ["llvm-profdata", "llvm-cov"].iter().all(|tool| llvm_tool(tool).is_file()),
        }
    }
}

/// Whether Debian's cross compiler and C library are there.
fn has_cross_library(triple: &str) -> bool {
    process::is_on_path(&format!("{triple}-gcc")) && Path::new("/usr").join(triple).join("lib/libc.so.6").exists()
}

/// Where one of LLVM's tools should be.
pub fn llvm_tool(name: &str) -> PathBuf {
    llvm_prefix().join("bin").join(name)
}

fn llvm_prefix() -> PathBuf {
    std::env::var_os("LLVM_SYS_221_PREFIX").map_or_else(|| "/usr/lib/llvm-22".into(), PathBuf::from)
}

/// Installs what is missing, or with `--check` says what is.
pub fn setup(arguments: &Arguments) -> Outcome {
    if arguments.check {
        let packages = missing_packages(TEST_AND_VALGRIND);
        if !packages.is_empty() {
            return Err(Failure::unprepared(format!(
                "missing: {}\nrun `cargo xtask setup`, or install these Debian packages yourself",
                packages.join(" ")
            )));
        }
    } else {
        ensure(TEST_AND_VALGRIND)?;
    }
    if !crate::test::has_nextest() {
        eprintln!(
            "cargo-nextest is not here; `cargo test` runs the tests then. To get it: cargo install --locked cargo-nextest"
        );
    }
    eprintln!("everything is there");
    Ok(ExitCode::SUCCESS)
}

/// Makes sure that `needs` are met, by installing what is missing where that is possible.
pub fn ensure(needs: &[Need]) -> Result<(), Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Failure::unprepared(
            "this version of Tally runs on x86-64 Linux only: the stack walk and the entry points are written for it",
        ));
    }
    let packages = missing_packages(needs);
    if packages.is_empty() {
        return Ok(());
    }
    install(&packages)?;
    let left = missing_packages(needs);
    if left.is_empty() {
        return Ok(());
    }
    Err(by_hand(&left, &format!("apt installed them, but they are not found under {}", llvm_prefix().display())))
}

/// Has apt install packages.
pub fn install(packages: &[&'static str]) -> Result<(), Failure> {
    let Some(privilege) = privilege() else {
        return Err(by_hand(packages, "this needs root, and `sudo -n` does not work here"));
    };
    if !Path::new("/usr/bin/apt-get").is_file() {
        return Err(by_hand(packages, "this machine has no apt-get"));
    }
    eprintln!("installing what is missing: {}", packages.join(" "));
    let install = || -> Result<(), Failure> {
        process::must_succeed(apt(privilege).args(["update", "-q"]))?;
        process::must_succeed(apt(privilege).args(["install", "-q", "-y", "--no-install-recommends"]).args(packages))
    };
    install().map_err(|failure| by_hand(packages, &failure.to_string()))
}

fn missing_packages(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().filter(|need| !need.is_met()).flat_map(|need| need.packages()).copied().collect()
}

#[derive(Clone, Copy)]
enum Privilege {
    Root,
    Sudo,
}

fn privilege() -> Option<Privilege> {
    // SAFETY: geteuid reads one number of this process and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return Some(Privilege::Root);
    }
    let sudo = process::is_on_path("sudo") && process::output_of(Command::new("sudo").args(["-n", "true"])).is_ok();
    sudo.then_some(Privilege::Sudo)
}

fn apt(privilege: Privilege) -> Command {
    let mut command = match privilege {
        Privilege::Root => Command::new("env"),
        Privilege::Sudo => {
            let mut command = Command::new("sudo");
            command.args(["-n", "env"]);
            command
        }
    };
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    command
}

fn by_hand(packages: &[&str], why: &str) -> Failure {
    let list = packages.join(" ");
    let mut text = format!(
        "missing on this machine: {list}\n{why}\non Debian 12, as root: apt-get update && apt-get install {list}"
    );
    if Need::Llvm.packages().iter().any(|package| packages.contains(package)) {
        text += "\nelsewhere: install LLVM 22 with clang and lld, and set LLVM_SYS_221_PREFIX to where it is";
    }
    Failure::unprepared(text)
}

#[cfg(test)]
mod tests {
    use super::{COVERAGE, Need, TEST_AND_VALGRIND, by_hand};

    #[test]
    fn every_need_names_a_package() {
        assert!(TEST_AND_VALGRIND.iter().chain(COVERAGE).all(|need| !need.packages().is_empty()));
    }

    #[test]
    fn message_for_the_hand_names_packages_and_command() {
        let text = by_hand(Need::Llvm.packages(), "no root").to_string();
        assert!(text.contains("apt-get install llvm-22-dev") && text.contains("LLVM_SYS_221_PREFIX"), "{text}");
    }
}
