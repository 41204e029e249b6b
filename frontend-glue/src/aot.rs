//! Linking an executable: `tally build` after its modules were compiled.
//!
//! The objects and the one runtime library, `libtally.a`, go through clang as the link driver, to lld if it is
//! installed ([`link_line`]). A shared library has no runtime: it finds that of the executable.

pub(crate) mod debugger;
pub(crate) mod foreign_object;
pub mod link_line;
pub mod output_file;
mod std_backtrace;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use thiserror::Error;

use crate::aot::foreign_object::ForeignObject;
use crate::aot::link_line::Image;
use crate::aot::output_file::{OutputError, OutputFile};
use crate::emit::target::Target;
use crate::emit::undefined_symbols;
use crate::load::clang;
use crate::pipeline::Object;

/// The environment variable that names the runtime library, or the directory it is in.
pub(crate) const RUNTIME_OVERRIDE: &str = "TALLY_RUNTIME";

const RUNTIME: &str = "libtally.a";

/// What to do where a part of Tally is missing beside the command, as `cargo install` leaves it.
pub(crate) const WHOLE: &str = "in Tally's sources `cargo xtask install --prefix DIR` installs the command with all its parts, and `cargo build --release` makes them";

/// That none of these files, which are those with code to compile, defines `main`.
pub(crate) fn no_main(files: &[String]) -> String {
    match files.join(", ") {
        none if none.is_empty() => {
            "no file of C, C++ or IR is given; a program needs one that defines `main`".to_owned()
        }
        files => format!("no function `main` in {files}; a program needs one"),
    }
}

/// Why there is no executable.
#[derive(Debug, Error)]
pub enum AotError {
    /// The runtime library is nowhere.
    #[error(
        "the runtime library {RUNTIME} was not found (looked at {}); {WHOLE}; or name it in {RUNTIME_OVERRIDE}", places.join(", ")
    )]
    NoRuntime {
        /// The places that were searched.
        places: Vec<String>,
    },
    /// There is none for another machine than this one.
    #[error(
        "the runtime library {RUNTIME} for {target} was not found (looked at {places}); build it with `cargo build --release -p aot-runtime --target {triple}` (after `rustup target add {triple}`), or name it in {RUNTIME_OVERRIDE}",
        places = places.join(", "), triple = target.folder()
    )]
    NoRuntimeFor {
        /// The machine.
        target: Target,
        /// The places that were searched.
        places: Vec<String>,
    },
    /// An object of another machine.
    #[error("{}: an object for {object}, and the executable is one for {target}", file.display())]
    OtherMachine {
        /// The object.
        file: PathBuf,
        /// Its machine.
        object: Target,
        /// The executable's.
        target: Target,
    },
    /// Something else has its name.
    #[error("{}: is no static library; name the {RUNTIME} of this tally in {RUNTIME_OVERRIDE}", .0.display())]
    NoLibrary(PathBuf),
    /// Neither clang nor cc can be run.
    #[error("cannot run a linker ({driver}): {error}; install clang-22 and lld-22")]
    NoLinker {
        /// The command that was tried.
        driver: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// Symbols are missing.
    #[error(
        "cannot link {}: {sentence}; name the .ll, .bc or .c file with the definition, too, or the library by -l",
        place.display()
    )]
    Undefined {
        /// The executable that was to be made.
        place: PathBuf,
        /// The symbols, and the functions that need them.
        sentence: String,
    },
    /// The linker refused; its message is already printed.
    #[error("linking {} failed{}", .0.display(), advice(*.1))]
    Refused(PathBuf, Target),
    /// Nothing to start.
    #[error("{}", no_main(.0))]
    NoMain(Vec<String>),
    /// The executable cannot be moved to its place.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Links `objects`, those of other tools and the runtime into the executable `place`.
pub fn link(objects: &[Object], foreign: &[ForeignObject], image: &Image, place: &Path) -> Result<(), AotError> {
    let target = image.target;
    let mains =
        objects.iter().map(|object| object.defines_main).chain(foreign.iter().map(|object| object.defines_main));
    if image.is_executable() && !mains.into_iter().any(|defines_main| defines_main) {
        let files = objects.iter().map(|object| &object.file).chain(foreign.iter().map(|object| &object.file));
        return Err(AotError::NoMain(files.map(|file| file.display().to_string()).collect()));
    }
    if let Some(other) = foreign.iter().find(|object| object.target != target) {
        return Err(AotError::OtherMachine { file: other.file.clone(), object: other.target, target });
    }
    let runtime = image.is_executable().then(|| find_runtime(target)).transpose()?;
    if let Some(other) = runtime.iter().find(|runtime| !is_archive(runtime)) {
        return Err(AotError::NoLibrary(other.clone()));
    }
    let output = OutputFile::for_executable(place)?;
    let mut inputs = Vec::new();
    let own = objects.iter().map(|object| (&object.file, &object.bytes));
    let all = own.chain(foreign.iter().map(|object| (&object.file, &object.bytes)));
    for (index, (file, bytes)) in all.enumerate() {
        // The linker names inputs in its messages: keep the module's name in the file's.
        let stem = file.file_stem().unwrap_or(OsStr::new("module"));
        let mut name = OsString::from(format!("{index}-"));
        name.push(stem);
        name.push(".o");
        let input = output.folder().join(name);
        std::fs::write(&input, bytes).map_err(|error| OutputError::System { path: input.clone(), error })?;
        inputs.push(input);
    }
    let (driver, mut command) = image.line(&inputs, runtime.as_deref(), &output.temporary());
    let linked = command.stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let linked = linked.map_err(|error| AotError::NoLinker { driver, error })?;
    let said = String::from_utf8_lossy(&linked.stderr);
    let undefined = undefined_in(&said);
    if undefined.is_empty() {
        tally_heap::tell!("{said}");
    }
    match (linked.status.success() && output.temporary().exists(), undefined.is_empty()) {
        (true, _) => Ok(output.finish()?),
        (false, true) => Err(AotError::Refused(place.to_owned(), target)),
        (false, false) => {
            let sentence = undefined_symbols::sentence(&undefined, objects);
            Err(AotError::Undefined { place: place.to_owned(), sentence })
        }
    }
}

/// The symbols that a linker misses: lld says `undefined symbol: f`, GNU's ld "undefined reference to `f'".
fn undefined_in(said: &str) -> Vec<String> {
    let name = |line: &str| {
        let after = |head: &str| line.split_once(head).map(|(_, rest)| rest.trim().to_owned());
        let by_lld = after("undefined symbol: ").or_else(|| after("undefined hidden symbol: "));
        by_lld.or_else(|| Some(after("undefined reference to `")?.trim_end_matches('\'').to_owned()))
    };
    let mut names: Vec<String> = said.lines().filter_map(name).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// What a link for another machine needs.
fn advice(target: Target) -> String {
    if target == Target::host() {
        return String::new();
    }
    let package = target.gnu_triple();
    format!("; clang needs a C library for {target} (Debian: apt install gcc-{package} lld-{})", clang::VERSION)
}

/// The runtime library that executables for `target` get.
///
/// It is the one that `TALLY_RUNTIME` names, or lies beside this command or library: for the host as cargo leaves it or in
/// the `lib` next to `bin`, for another machine in a folder there that is called by its triple.
pub(crate) fn find_runtime(target: Target) -> Result<PathBuf, AotError> {
    let places = match tally_heap::environment::raw_variable(RUNTIME_OVERRIDE).filter(|name| !name.is_empty()) {
        Some(named) => vec![PathBuf::from(&named).join(RUNTIME), PathBuf::from(named)],
        None => {
            let mut places = places_beside(&std::env::current_exe().unwrap_or_default(), target);
            // The name of an executable is what it was called by: a relative one means nothing.
            let library = Some(own_file()).filter(|file| file.is_absolute());
            let more: Vec<PathBuf> = library.iter().flat_map(|file| places_beside(file, target)).collect();
            places.extend(more.into_iter().filter(|place| !places.contains(place)).collect::<Vec<_>>());
            places
        }
    };
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places = places.iter().map(|place| place.display().to_string()).collect();
        if target == Target::host() {
            AotError::NoRuntime { places }
        } else {
            AotError::NoRuntimeFor { target, places }
        }
    })
}

/// Whether the file begins as archives do; for an unreadable file the linker has a message.
fn is_archive(path: &Path) -> bool {
    let mut beginning = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    let unreadable = read.is_err_and(|error| error.kind() != std::io::ErrorKind::UnexpectedEof);
    unreadable || [*b"!<arch>\n", *b"!<thin>\n"].contains(&beginning)
}

/// The file that this code is in, which is a library where a host is not of Rust.
fn own_file() -> PathBuf {
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: an address of this code, and a place for the answer.
    let is_found = unsafe { libc::dladdr(own_file as *const () as *const libc::c_void, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return PathBuf::new();
    }
    // SAFETY: a C string of the dynamic linker's.
    let name = unsafe { std::ffi::CStr::from_ptr(found.dli_fname) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Beside the executable or library, as cargo leaves it, or in the `lib` next to its `bin`.
fn places_beside(executable: &Path, target: Target) -> Vec<PathBuf> {
    let folder = executable.parent().unwrap_or(Path::new("."));
    if target == Target::host() {
        return vec![folder.join(RUNTIME), folder.join("../lib").join(RUNTIME)];
    }
    let triple = target.folder();
    // In cargo's folder: target/release/tally, target/TRIPLE/release/libtally.a.
    let by_cargo = folder.file_name().map(|profile| folder.join("..").join(triple).join(profile).join(RUNTIME));
    let installed = [folder.join(triple).join(RUNTIME), folder.join("../lib").join(triple).join(RUNTIME)];
    installed.into_iter().chain(by_cargo).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_symbols_are_read_from_what_linkers_say() {
        let lld =
            "ld.lld: error: undefined symbol: f\n>>> referenced by a.ll\n\nld.lld: error: undefined hidden symbol: g\n";
        assert_eq!(undefined_in(lld), ["f", "g"]);
        let gnu = "/usr/bin/ld: a.o: in function `main':\na.ll:(.text+0x5): undefined reference to `f'\n\
            /usr/bin/ld: a.ll:(.text+0xa): undefined reference to `f'\n";
        assert_eq!(undefined_in(gnu), ["f"]);
        assert_eq!(undefined_in("ld.lld: error: duplicate symbol: f\n"), [""; 0]);
    }

    #[test]
    fn the_runtime_is_looked_for_beside_the_executable() {
        let places = places_beside(Path::new("/opt/tally/bin/tally"), Target::host());
        assert_eq!(places[0], Path::new("/opt/tally/bin/libtally.a"));
        assert_eq!(places[1], Path::new("/opt/tally/bin/../lib/libtally.a"));
        let other = Target::ALL.into_iter().find(|&target| target != Target::host()).expect("two machines");
        let places = places_beside(Path::new("/src/target/release/tally"), other);
        let triple = other.folder();
        assert_eq!(places[1], PathBuf::from(format!("/src/target/release/../lib/{triple}/libtally.a")));
        assert_eq!(places[2], PathBuf::from(format!("/src/target/release/../{triple}/release/libtally.a")));
    }
}
