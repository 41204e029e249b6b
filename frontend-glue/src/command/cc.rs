//! `tally cc` and `tally c++`: clang with the pass plugin, the headers and the runtime, in the place of a compiler.
//!
//! Builds call a compiler a thousand times, with options that only clang understands. So clang gets the whole command line, and words
//! of ours behind it: the plugin lowers what it compiles, and what it links gets the runtime. Clang is told not to mind words that it
//! does not need. The process becomes clang's: its status and signals are those that the build sees.

mod link;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::failure::Failure;
use super::words;
use crate::aot::link_line::{LIBRARIES, STATIC_LIBRARIES};
use crate::aot::{self, WHOLE};
use crate::emit::target::Target;
use crate::load::clang;
use link::Link;

/// Compile or link by clang, as a build's CC
///
/// Everything but --tally=… goes to clang-22, with the pass plugin (libtally_pass.so), the folder of
/// tally_gc.h and, where an executable is linked, the runtime (libtally.a).
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, disable_help_flag = true, after_help = EPILOGUE)]
pub(super) struct Cc {
    /// What clang would be given; and --tally=OPTIONS, options of the lowering between semicolons, as in the variable TALLY_PASS
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

const EPILOGUE: &str = "\
Examples:
  tally cc -O2 main.c list.c -o program
  CC=\"tally cc\" ./configure && make
  make CC=\"tally cc --tally=plan=refcount-prompt\"";

const PLUGIN: &str = "libtally_pass.so";
const HEADER: &str = "tally_gc.h";
/// Options of the lowering for the plugin (`pass-plugin/src/steps.rs`).
const OPTIONS: &str = "TALLY_PASS";

/// The language that the driver links for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    C,
    Cpp,
}

impl Cc {
    /// Becomes clang.
    pub(super) fn execute(self, driver: Driver) -> Result<(), Failure> {
        let clang = clang::find()?;
        let (plugin, include) =
            (beside(PLUGIN, &["", "../lib"])?, beside(HEADER, &["../include", "../../aot-runtime/include"])?);
        let (ours, words): (Vec<OsString>, Vec<OsString>) = self.words.into_iter().partition(is_ours);
        let mut command = Command::new(&clang);
        if driver == Driver::Cpp {
            command.arg("--driver-mode=g++");
        }
        command.arg("--start-no-unused-arguments").arg(joined("-fpass-plugin=", &plugin));
        command.arg("-fno-discard-value-names").arg("-isystem").arg(include.parent().expect("a file lies in a folder"));
        command.arg("--end-no-unused-arguments");
        // Clang reads response files itself.
        let read = words::expanded(words.clone()).unwrap_or_else(|_| words.clone());
        if read.iter().any(is_ours) {
            return Err(Failure("--tally=… stands in a response file; give it on the command line".to_owned()));
        }
        let link = Link::of(&read);
        if link.is_by_lld(&read, || clang::has_lld(&clang))? {
            // Before the build's own words, of which one may name another linker.
            command.args(["--start-no-unused-arguments", "-fuse-ld=lld", "--end-no-unused-arguments"]);
            command.args(&words).arg(joined("-Wl,--load-pass-plugin=", &plugin));
        } else {
            command.args(&words);
        }
        if link == Link::Executable {
            command.arg("--start-no-unused-arguments").arg(joined("-Wl,", &aot::find_runtime(target(&read)?)?));
            command.arg("-Wl,--push-state,--as-needed");
            command.args(if is_static(&read) { STATIC_LIBRARIES } else { LIBRARIES });
            command.args(["-Wl,--pop-state", "--end-no-unused-arguments"]);
        }
        if !ours.is_empty() {
            command.env(OPTIONS, options(&ours));
        }
        let error = command.exec();
        Err(Failure(format!("cannot run {}: {error}", clang.to_string_lossy())))
    }
}

/// The machine that clang compiles for: `--target=TRIPLE` or `-target TRIPLE`, the last of them.
fn target(words: &[OsString]) -> Result<Target, Failure> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let joined = |word: &OsString| text(word).strip_prefix("--target=").map(str::to_owned);
    let named = words.iter().enumerate().rev().find_map(|(place, word)| {
        let follows = place.checked_sub(1).is_some_and(|before| words[before] == "-target");
        joined(word).or_else(|| follows.then(|| text(word)))
    });
    named.map_or(Ok(Target::host()), |triple| triple.parse().map_err(Failure))
}

/// Whether all libraries go into the executable: then the unwinder is another library.
fn is_static(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "-static" || word == "--static" || word == "-static-pie")
}

/// The options of the environment and those of the command line, which come later and win.
fn options(ours: &[OsString]) -> OsString {
    let mut all = std::env::var_os(OPTIONS).unwrap_or_default();
    for word in ours {
        all.push(";");
        all.push(word.to_string_lossy().trim_start_matches("--tally="));
    }
    all
}

fn is_ours(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"--tally=")
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// A file in one of the folders beside the command.
fn beside(file: &str, folders: &[&str]) -> Result<PathBuf, Failure> {
    let command = std::env::current_exe().unwrap_or_default();
    let own = command.parent().unwrap_or(Path::new("."));
    let places: Vec<PathBuf> = folders.iter().map(|folder| own.join(folder).join(file)).collect();
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| {
        let looked = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
        Failure(format!("{file} was not found (looked at {looked}); {WHOLE}"))
    })
}
