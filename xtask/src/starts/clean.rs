//! The starts in a Debian that has nothing but Tally's package and what the page's tools need.
//!
//! debootstrap makes it, apt installs the package with what it depends on, and each start runs by `chroot`. Rust does not come from Debian, whose is too
//! old: the toolchain and the crates of this machine are mounted there, and so is the tree.

use super::{Start, Took};
use crate::failure::{Failure, Outcome};
use crate::process::{self, command, must_succeed};
use crate::{install, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the starts call, beside what Tally's package depends on.
const PACKAGES: [&str; 8] = ["clang-22", "lld-22", "llvm-22-dev", "cmake", "make", "pkg-config", "gcc", "libc6-dev"];
/// LLVM 22 comes by the second.
const SOURCES: &str = "deb http://deb.debian.org/debian bookworm main\n\
    deb http://deb.debian.org/debian-security bookworm-security main\n";

/// Makes the Debian if it is not there, and runs the starts in it.
pub(super) fn run(folder: &Path, starts: &[Start]) -> Outcome {
    let folder = std::path::absolute(folder).map_err(|error| cannot("find", folder, &error))?;
    if !folder.join("etc/debian_version").exists() {
        let mut bootstrap = command("debootstrap");
        must_succeed(bootstrap.args(["--variant=minbase", "bookworm"]).arg(&folder)).map_err(|failure| {
            Failure::unprepared(format!(
                "no Debian in {}: {failure}; this needs root and debootstrap",
                folder.display()
            ))
        })?;
    }
    let sources = folder.join("etc/apt/sources.list");
    std::fs::write(&sources, SOURCES).map_err(|error| cannot("write", &sources, &error))?;
    install::make_package(&folder.join("srv/tally.deb"))?;
    let mounts = Mounts::new(&folder)?;
    must_succeed(inside(&folder).args(["apt-get", "update", "-q"]))?;
    let install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "/srv/tally.deb"];
    must_succeed(inside(&folder).args(install).args(PACKAGES))?;
    let mut took = Took::default();
    for (number, start) in starts.iter().enumerate() {
        let place = format!("/srv/starts/{number}");
        must_succeed(inside(&folder).args(["rm", "-rf", &place]))?;
        must_succeed(inside(&folder).args(["mkdir", "-p", &place]))?;
        took.run(start, inside(&folder).args(["env", "-C", &place, "bash"]))?;
    }
    took.print();
    drop(mounts);
    Ok(ExitCode::SUCCESS)
}

/// A command in the Debian, with the variables of the page.
fn inside(folder: &Path) -> Command {
    let mut chroot = command("chroot");
    chroot.arg(folder).args([
        "env",
        "-i",
        "HOME=/srv",
        "DEBIAN_FRONTEND=noninteractive",
        "PREFIX=/usr",
        "TALLY=/opt/tally",
    ]);
    // The crates are those that this machine has fetched.
    chroot.args([
        "CARGO_NET_OFFLINE=true",
        "CARGO_TARGET_DIR=/srv/target",
        "PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ]);
    chroot
}

/// Folders of this machine that are seen in the Debian too, until this is dropped.
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn new(folder: &Path) -> Result<Mounts, Failure> {
        let sysroot = process::output_of(command("rustc").args(["--print", "sysroot"]))?;
        let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home().join(".cargo"), PathBuf::from);
        let seen = [
            // By which programs find the libraries beside them.
            (PathBuf::from("/proc"), "proc"),
            (PathBuf::from(sysroot.trim()), "opt/rust"),
            (tree::root().to_owned(), "opt/tally"),
            (cargo_home.join("registry"), "srv/.cargo/registry"),
        ];
        let mut mounts = Mounts(Vec::new());
        for (from, to) in seen {
            let to = folder.join(to);
            std::fs::create_dir_all(&to).map_err(|error| cannot("make", &to, &error))?;
            must_succeed(command("mount").arg("--bind").args([&from, &to]))?;
            mounts.0.push(to);
        }
        Ok(mounts)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for place in self.0.iter().rev() {
            // What is still mounted is told by umount itself.
            _ = must_succeed(command("umount").arg(place));
        }
    }
}

fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| "/".into(), PathBuf::from)
}

fn cannot(what: &str, place: &Path, error: &std::io::Error) -> Failure {
    Failure::unprepared(format!("cannot {what} {}: {error}", place.display()))
}
