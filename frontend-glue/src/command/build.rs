//! `tally build`: link an executable or a shared library, or stop before that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::failure::{self, Failure};
use super::linking;
use super::messages::Messages;
use super::options::Compiling;
use super::remarks::Remarks;
use super::sources::joined;
use crate::aot::link_line::{Image, Shape};
use crate::aot::output_file;
use crate::emit::Form;
use crate::load::source_file;
use crate::pipeline::{self, CompileOptions, Destination, Identity};

/// Link an executable
///
/// Each FILE becomes an object; they are linked with Tally's runtime (libtally.a) by clang and
/// lld. FILEs may be objects, too: what stock llc or clang made of a module with one of LLVM's own
/// strategies (shadow-stack, ocaml, erlang, statepoint-example, coreclr); assembly; and libraries.
/// The executable is position independent and has no text relocations. @FILE in the place of
/// a word stands for the words in FILE. `tally cc` takes all options of clang.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE, args_override_self = true)]
pub(super) struct Build {
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    remarks: Remarks,
    #[command(flatten)]
    messages: Messages,
    /// Stop when FILE has become that, and write it
    #[arg(long, value_name = "FORM", value_enum, conflicts_with_all = ["shared", "is_static", "no_pie", "exports", "debugger"])]
    emit: Option<Emit>,
    /// Link a shared library; it finds the runtime in the executable that loads it
    #[arg(long)]
    shared: bool,
    /// Link all libraries into the executable, so that it needs none where it runs
    #[arg(long = "static", conflicts_with = "shared")]
    is_static: bool,
    /// Link for a fixed address
    #[arg(long, conflicts_with = "shared")]
    no_pie: bool,
    /// Let shared libraries that the program loads by dlopen find its symbols and the runtime's; also -rdynamic
    #[arg(long = "export-dynamic", alias = "rdynamic", conflicts_with = "shared")]
    exports: bool,
    /// Let gdb print objects by their types (it reads what is in the executable: `add-auto-load-safe-path EXE`)
    #[arg(short = 'g', conflicts_with = "shared")]
    debugger: bool,
    /// Look for libraries in DIR, too
    #[arg(short = 'L', value_name = "DIR", allow_hyphen_values = true)]
    folders: Vec<OsString>,
    /// Link with libNAME.so or libNAME.a
    #[arg(short = 'l', value_name = "NAME")]
    libraries: Vec<OsString>,
    /// Lower for zeal: an epoch at every safepoint, a check at every access
    #[arg(long)]
    zeal: bool,
    /// The program's modules: .ll, .bc, .c or .cpp, or - for standard input (with -x); objects that stock llc or clang compiled
    /// (.o), assembly (.s), and libraries (.a, .so)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file to write; with --emit asm and --emit ll, - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// Where `--emit` stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// An object (.o), for executables and shared libraries
    Obj,
    /// Assembly (.s), with LLVM's stack maps; tally build makes them compact
    Asm,
    /// The lowered and optimised module as bitcode
    Bc,
    /// The same as text
    Ll,
}

const EPILOGUE: &str = "\
When it runs, the executable reads TALLY_HEAP_LIMIT=64MiB, TALLY_EPOCH_BYTES=8MiB, TALLY_PAUSE_GOAL=500us,
TALLY_STATS=1 (or a file for JSON), TALLY_LEAK_CHECK=1, TALLY_LOG=collections, TALLY_WHY=TYPE, TALLY_ALLOC_SITES=1 and TALLY_ZEAL=1.
TALLY_RUNTIME names another libtally.a, TALLY_CLANG another clang.

Examples:
  tally build program.c -o program
  tally build --opt 3 --no-pie main.ll list.ll -o program
  tally build -std=c11 -Wall -Iinclude -DSIZE=64 main.c list.o libshapes.a -Llib -lpng -o program
  tally build --emit asm main.c -o - | less";

impl Build {
    pub(super) fn execute(self) -> Result<(), Failure> {
        output_file::spare_inputs(&self.output, &self.files)?;
        match self.emit {
            Some(emit) => self.emit(emit),
            None => self.link(),
        }
    }

    fn link(self) -> Result<(), Failure> {
        let destination = if self.shared { Destination::LinkedImage } else { Destination::Executable };
        let mut options = self.compiling.compile_options(self.zeal, destination);
        if self.shared {
            // The program's other modules are compiled on other command lines.
            options.identity = Identity::Content;
        }
        let sources = &self.compiling.gc_names.sources;
        let folders = self.folders.iter().map(|folder| joined("-L", folder));
        let image = Image {
            shape: match (self.shared, self.no_pie) {
                (true, _) => Shape::SharedLibrary,
                (false, true) => Shape::FixedAddress,
                (false, false) => Shape::PositionIndependent,
            },
            is_static: self.is_static,
            is_cpp: self.files.iter().any(|file| source_file::is_cpp(file, options.reading.language)),
            exports: self.exports,
            debugger: self.debugger,
            libraries: self.libraries.iter().map(|name| joined("-l", name)).collect(),
            words: sources.for_linker().chain(folders).collect(),
            ..Image::executable(options.target)
        };
        linking::link(&self.files, options, image, &self.output, (&self.messages, &self.remarks))
    }

    fn emit(self, emit: Emit) -> Result<(), Failure> {
        let [file] = &self.files[..] else {
            let message = "--emit makes one file of one: name one FILE, or leave --emit out to link all of them";
            return Err(Failure(message.into()));
        };
        if linking::any_object(&self.files)? {
            return Err(Failure(format!("{}: --emit takes a module: .ll, .bc, .c or .cpp", file.display())));
        }
        let (form, is_text) = match emit {
            Emit::Obj => (Form::Object, false),
            Emit::Asm => (Form::Assembly, true),
            Emit::Bc => (Form::Bitcode, false),
            Emit::Ll => (Form::Text, true),
        };
        let is_standard_output = self.output == Path::new("-");
        if is_standard_output && !is_text {
            return Err(Failure("-: only text goes to standard output: --emit asm or --emit ll".into()));
        }
        let options = self.compiling.compile_options(self.zeal, Destination::LinkedImage);
        let options = CompileOptions { form, identity: Identity::Content, ..options };
        let objects = pipeline::compile(&self.files, &options).map_err(|error| self.messages.failure(error))?;
        self.remarks.report(objects.iter().flat_map(|object| &object.remarks))?;
        super::warnings::report(&objects, &self.messages);
        for object in &objects {
            match is_standard_output {
                true => failure::print(&object.bytes)?,
                false => output_file::write(&self.output, &object.bytes)?,
            }
        }
        Ok(())
    }
}
