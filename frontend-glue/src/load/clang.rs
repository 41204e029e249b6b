//! Finds clang 22: the compiler for `.c` files and the driver for links.
//!
//! The bitcode that clang writes must be read by the LLVM in this process, so its major version has to be ours.
//! `TALLY_CLANG` names one explicitly, without a check; otherwise `clang-22` is looked for on the path, then in the folder
//! of Debian's packages, then a plain `clang`, which must be of that version.
//!
//! Files are looked at where that is enough: to start clang and ask it takes as long as to compile a small file.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::emit::target::Target;

/// The major version whose bitcode this process reads.
pub const VERSION: u32 = 22;

/// The environment variable that names the clang to use, without a search.
pub(crate) const OVERRIDE: &str = "TALLY_CLANG";

/// Why there is no clang.
#[derive(Debug, Error)]
pub enum ClangMissing {
    /// Nothing suitable is installed.
    #[error(
        "clang {VERSION} was not found; install it (Debian: apt install clang-{VERSION}) or name one in {OVERRIDE}"
    )]
    NotFound,
    /// The variable names something that does not run.
    #[error("{OVERRIDE} names \"{name}\", which cannot be run: {error}", name = .0.to_string_lossy(), error = .1)]
    Override(OsString, std::io::Error),
}

/// A clang that runs, of the right version.
pub fn find() -> Result<OsString, ClangMissing> {
    if let Some(name) = tally_heap::environment::raw_variable(OVERRIDE).filter(|name| !name.is_empty()) {
        return match Command::new(&name).arg("--version").output() {
            Ok(_) => Ok(name),
            Err(error) => Err(ClangMissing::Override(name, error)),
        };
    }
    let by_name = on_path(OsStr::new(&format!("clang-{VERSION}")));
    let by_folder =
        || Some(PathBuf::from(format!("/usr/lib/llvm-{VERSION}/bin/clang"))).filter(|path| is_program(path));
    let found = by_name.or_else(by_folder).map(PathBuf::into_os_string);
    found.or_else(|| Some(OsString::from("clang")).filter(is_right_version)).ok_or(ClangMissing::NotFound)
}

/// The first program of that name in the folders of `PATH`.
fn on_path(name: &OsStr) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| is_program(place))
}

fn is_program(place: &Path) -> bool {
    place.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether `clang` has an lld to link with (`-fuse-ld=lld` fails if it has none).
pub(crate) fn has_lld(clang: &OsString) -> bool {
    // Clang takes the one beside itself, or else one of the path.
    let beside = Path::new(clang).canonicalize().is_ok_and(|clang| is_program(&clang.with_file_name("ld.lld")));
    beside
        || on_path(OsStr::new("ld.lld")).is_some()
        || Command::new(clang).arg("-print-prog-name=ld.lld").output().is_ok_and(|answer| {
            let path = String::from_utf8_lossy(&answer.stdout);
            let path = Path::new(path.trim_end());
            path.is_absolute() && path.exists()
        })
}

/// The words by which clang compiles or links for `target`; none for the host.
pub(crate) fn target_words(target: Target) -> Vec<String> {
    let named = (target != Target::host()).then(|| format!("--target={}", target.triple()));
    // The linker would shorten code behind return addresses. (`emit::target` says the same of code that is made here.)
    let relaxed = (target == Target::RiscV64).then(|| "-mno-relax".to_owned());
    named.into_iter().chain(relaxed).collect()
}

fn is_right_version(name: &OsString) -> bool {
    Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|answer| major_version(&String::from_utf8_lossy(&answer.stdout)) == Some(VERSION))
}

/// The major version in the first line of `clang --version`.
fn major_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major_version;

    #[test]
    fn versions_are_read_as_distributions_write_them() {
        assert_eq!(major_version("Debian clang version 22.1.8 (++2026)\nTarget: x"), Some(22));
        assert_eq!(major_version("clang version 19.1.7"), Some(19));
        assert_eq!(major_version("gcc (Debian 12) 12.2.0"), None);
    }
}
