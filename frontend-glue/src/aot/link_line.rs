//! The command line of a link: clang as the driver, with words for each shape of an image.
//!
//! Executables are position independent by default, and text relocations are an error (`-z text`) instead
//! of a warning: the stack maps are writable data by then ([`crate::emit::object_file`]). Sections that nothing
//! refers to are dropped, which takes most of the Rust standard library out again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::aot::std_backtrace;
use crate::emit::target::Target;
use crate::load::clang;
use tally_compiled::abi::debugger::DEBUGGER_VIEW;

/// No text relocations. Functions of libraries are found at the start, and the table of them is read-only from then
/// on: a wrong write, by the program or into it, cannot redirect its calls. No executable stack.
const HARDENING: [&str; 4] = ["-Wl,-z,text", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,noexecstack"];

/// The libraries that the Rust standard library and C programs need.
pub(crate) const LIBRARIES: [&str; 5] = ["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"];
/// The same where nothing is loaded at the start.
pub(crate) const STATIC_LIBRARIES: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lgcc_eh", "-lc"];

/// The form in which an image is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An executable that is loaded at any address.
    PositionIndependent,
    /// An executable that is loaded where it was linked for.
    FixedAddress,
    /// A shared library, without a runtime of its own.
    SharedLibrary,
}

/// An image to be linked.
#[derive(Clone, Debug)]
pub struct Image {
    /// The machine that it is for.
    pub target: Target,
    /// Its form.
    pub shape: Shape,
    /// Whether all libraries are in it, and nothing is loaded at the start.
    pub is_static: bool,
    /// Whether the library of C++ is linked.
    pub is_cpp: bool,
    /// Whether libraries that are loaded later find what it defines.
    pub exports: bool,
    /// Whether gdb finds how to print objects in it.
    pub debugger: bool,
    /// Archives and shared libraries, by their files or as `-lNAME`.
    pub libraries: Vec<OsString>,
    /// More words for the driver, in front of the libraries.
    pub words: Vec<OsString>,
}

impl Image {
    /// A position independent executable of the program's modules alone.
    pub fn executable(target: Target) -> Image {
        Image {
            target,
            shape: Shape::PositionIndependent,
            is_static: false,
            is_cpp: false,
            exports: false,
            debugger: false,
            libraries: Vec::new(),
            words: Vec::new(),
        }
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.shape != Shape::SharedLibrary
    }

    /// The driver's name, and its command line.
    pub(crate) fn line(&self, inputs: &[PathBuf], runtime: Option<&Path>, output: &Path) -> (String, Command) {
        let (driver, mut command, is_lld) = self.driver();
        command
            .arg(match (self.shape, self.is_static) {
                (Shape::PositionIndependent, false) => "-pie",
                (Shape::PositionIndependent, true) => "-static-pie",
                (Shape::FixedAddress, false) => "-no-pie",
                (Shape::FixedAddress, true) => "-static",
                (Shape::SharedLibrary, _) => "-shared",
            })
            .args(HARDENING)
            .arg("-Wl,--gc-sections");
        if self.exports {
            command.arg("-rdynamic");
        }
        if self.debugger {
            command.arg(format!("-Wl,-u,{DEBUGGER_VIEW}"));
        }
        if is_lld {
            command.args(runtime.and_then(std_backtrace::without_names));
        }
        command.args(inputs).args(&self.words);
        if !self.libraries.is_empty() {
            // They may need each other, in any order.
            command.arg("-Wl,--start-group").args(&self.libraries).arg("-Wl,--end-group");
        }
        command.args(runtime).args(if self.is_static { STATIC_LIBRARIES } else { LIBRARIES }).arg("-o").arg(output);
        (driver, command)
    }

    /// Clang with lld if they are installed, else the system's compiler. Says whether it is lld.
    fn driver(&self) -> (String, Command, bool) {
        let target = self.target;
        match clang::find() {
            Ok(clang) => {
                let mut command = Command::new(&clang);
                if self.is_cpp {
                    command.arg("--driver-mode=g++");
                }
                command.args(clang::target_words(target));
                let is_lld = clang::has_lld(&clang);
                if is_lld {
                    command.args(["-fuse-ld=lld", "-Wl,--error-limit=0"]);
                }
                (clang.to_string_lossy().into_owned(), command, is_lld)
            }
            Err(_) => {
                let tool = if self.is_cpp { ("c++", "g++") } else { ("cc", "gcc") };
                let driver = match target == Target::host() {
                    true => tool.0.to_owned(),
                    false => format!("{}-{}", target.gnu_triple(), tool.1),
                };
                (driver.clone(), Command::new(driver), false)
            }
        }
    }
}
