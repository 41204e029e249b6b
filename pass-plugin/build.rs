//! Compiles the C++ part, and hides all symbols of the plugin but its entry.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/passes.cpp");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX").map_or_else(|| "/usr/lib/llvm-22".into(), PathBuf::from);
    let header = prefix.join("include/llvm/Plugins/PassPlugin.h");
    assert!(header.is_file(), "{} is not there; install llvm-22-dev, or name LLVM's folder", header.display());
    let mut build = cc::Build::new();
    if let Some(compiler) = compiler(&prefix) {
        build.compiler(compiler);
    }
    // As LLVM's own passes are compiled: no exception leaves them, and no type information is needed.
    build.cpp(true).std("c++17").flag("-fno-exceptions").flag("-fno-rtti").opt_level(1).debug(false);
    build.flag("-isystem").flag(prefix.join("include")).define("_GNU_SOURCE", None);
    build.file("src/passes.cpp").compile("tally_passes");
    // The runtime is in the plugin, because the lowering is; the program's is another.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
}

/// The compiler that is named, or clang++ of this LLVM, which is installed wherever the plugin is of use; else cc's choice.
fn compiler(prefix: &Path) -> Option<PathBuf> {
    if std::env::var_os("CXX").is_some() {
        return None;
    }
    let own = prefix.join("bin/clang++");
    [own, "clang++-22".into()].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}
