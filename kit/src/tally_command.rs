//! The `tally` command for tests: builds it once in a test process, finds it, runs it with a time limit.
//!
//! `cargo test` builds no binaries or static libraries of other packages, so the first call here runs
//! `cargo build -p tally-llvm -p aot-runtime` with the profile and the target directory of the running test (read off
//! the test's own path, `target/<profile>/deps/<test>`). In a warm tree that takes a fraction of a second. Set
//! `TALLY_COMMAND` to the path of a `tally` to test that one instead.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A run is ended after this many seconds; the exit status is then 124.
const SECONDS_MAX: &str = "300";

/// The variable that names the command to test.
const COMMAND: &str = "TALLY_COMMAND";

/// The variable that names the command of the tests' own profile: `kit/emulated.sh`.
const CHECKED_COMMAND: &str = "TALLY_CHECKED_COMMAND";

/// The folder for the output of `clang_once` (`kit/src/bin/clang_once.rs`); without one, each run of a C program compiles it anew.
const CLANG_ONCE: &str = "CLANG_ONCE";

/// The clang that does not compile anything twice, if there is a folder for its output.
pub fn clang_once() -> Option<PathBuf> {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    std::env::var_os(CLANG_ONCE)?;
    let place = PLACE.get_or_init(|| {
        let place = profile_folder().join("clang_once");
        // `cargo xtask test` has built it in the tests' own profile.
        if !place.is_file() {
            build(&["-p", "tally-kit", "--bin", "clang_once"]);
        }
        place
    });
    Some(place.clone())
}

/// The root of the source tree.
pub fn source_tree() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the kit is a folder of the workspace")
}

/// The path of `tally`, built if need be; `libtally.a` is next to it.
pub fn tally() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| match std::env::var_os(COMMAND) {
        Some(named) => PathBuf::from(named),
        None => {
            build(&["-p", "tally-llvm", "-p", "aot-runtime"]);
            profile_folder().join("tally")
        }
    })
}

/// The `tally` of the running test's own profile, with its `libtally.a`: unless that is the release profile, command
/// and runtime check their own assertions, by which some programs show that they have lost a root. For tests of the
/// command's own crate cargo has built the command; for those of others it is built here, or they would run one from before
/// the change that they test.
pub fn checked_tally() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        if let Some(named) = std::env::var_os(CHECKED_COMMAND) {
            return PathBuf::from(named);
        }
        // `cargo xtask test` has built the library of this profile, too.
        if std::env::var_os(COMMAND).is_none() {
            let is_built = std::env::var_os("CARGO_PKG_NAME").is_none_or(|tested| tested == "tally-llvm");
            let of_others = if is_built { &[][..] } else { &["-p", "tally-llvm"] };
            build(&[&["-p", "aot-runtime"], of_others].concat());
        }
        profile_folder().join("tally")
    })
}

/// A shared library of the running test's own profile, for programs that are not of Rust.
pub fn library(package: &str, file: &str) -> PathBuf {
    static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    // `cargo xtask test` has built them all.
    if std::env::var_os(COMMAND).is_none() && built.insert(package.to_owned()) {
        build(&["-p", package]);
    }
    profile_folder().join(file)
}

/// An example of a package, of the running test's own profile.
pub fn example(package: &str, name: &str) -> PathBuf {
    let place = profile_folder().join("examples").join(name);
    // `cargo xtask test` has built them all, unless it tests one package.
    if std::env::var_os(COMMAND).is_none() || !place.is_file() {
        build(&["-p", package, "--example", name]);
    }
    place
}

/// The command as a word of a shell's command line.
pub fn tally_word() -> &'static str {
    checked_tally().to_str().expect("the tree lies in a folder whose name is text")
}

/// Runs `tally` with these arguments in the root of the source tree.
pub fn run_tally<A: AsRef<OsStr>>(arguments: &[A], environment: &[(&str, &str)]) -> Output {
    run(tally(), arguments, environment)
}

/// Runs any program with a time limit in the root of the source tree. `TALLY_*` variables of the caller do not reach
/// it.
pub fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new("timeout");
    command.arg(SECONDS_MAX).arg(program).args(arguments).current_dir(source_tree());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TALLY_") {
            command.env_remove(name);
        }
    }
    if let Some(clang) = clang_once() {
        command.env("TALLY_CLANG", clang);
    }
    command.envs(environment.iter().copied()).output().expect("`timeout` of coreutils can be run")
}

/// A failed run as text for a test's message.
pub fn describe(output: &Output) -> String {
    let tail = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    };
    format!("{}\n--- stdout\n{}\n--- stderr\n{}\n---", output.status, tail(&output.stdout), tail(&output.stderr))
}

/// `target/<profile>`, in which the running test lies.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    test.parent().and_then(Path::parent).expect("a test lies in target/<profile>/deps").to_owned()
}

fn build(packages: &[&str]) {
    let folder = profile_folder();
    let target = folder.parent().expect("a profile's folder lies in the target directory");
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", profile]).args(packages).arg("--target-dir").arg(target);
    let status = cargo.current_dir(source_tree()).status().expect("cargo can be run");
    assert!(status.success(), "`cargo build {}` failed", packages.join(" "));
}
