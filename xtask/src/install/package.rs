//! A Debian package of an installation, by `dpkg-deb`, which every Debian has.

use super::cannot;
use crate::failure::Failure;
use crate::process;
use std::path::Path;

/// Makes the package `file` of what is in `folder`.
pub(super) fn make(folder: &Path, file: &Path) -> Result<(), Failure> {
    let control = folder.join("DEBIAN");
    std::fs::create_dir_all(&control).map_err(|error| cannot("make", &control, &error))?;
    let place = control.join("control");
    std::fs::write(&place, text(size_kib(folder)?)).map_err(|error| cannot("write", &place, &error))?;
    let file = std::path::absolute(file).map_err(|error| cannot("find", file, &error))?;
    process::must_succeed(process::command("dpkg-deb").args(["--root-owner-group", "--build"]).arg(folder).arg(file))
}

fn text(size_kib: u64) -> String {
    format!(
        "Package: tally-gc\nVersion: {}\nArchitecture: amd64\nMaintainer: the maintainers of Tally <tally@localhost>\n\
         Section: devel\nPriority: optional\nInstalled-Size: {size_kib}\n\
         Depends: libllvm22, clang-22, lld-22, libc6 (>= 2.36), libgcc-s1\n\
         Description: Reference counting with a cycle collector, for languages that compile to LLVM\n \
         The command tally lowers, verifies, runs and links programs; libtally.a is what they link.\n \
         With it come a pass plugin for clang, opt, llc and lld, and a library for compilers over LLVM's C API.\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn size_kib(folder: &Path) -> Result<u64, Failure> {
    let listed = process::output_of(process::command("du").arg("-sk").arg(folder))?;
    let number = listed.split_whitespace().next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| Failure::step(format!("`du` says no size of {}: {listed}", folder.display())))
}
