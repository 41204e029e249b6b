//! From a file to a module: `.ll`, `.bc` and `.c`, or a sentence that says why not.
//!
//! The kind of a file is read from its name, except that bitcode is recognised by its first bytes
//! whatever the name (a `.ll` that is bitcode loads as bitcode, as it does in LLVM's own tools).
//! C goes through [`crate::c_frontend`]. Every module is checked against the target before
//! anything else sees it, and LLVM's own verifier has the last word: what leaves this room is
//! valid IR for this machine. Reading is ours and not LLVM's, so that a directory, an empty file
//! or a missing permission is named as what it is.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use thiserror::Error;

use crate::c_frontend::{self, ClangError};
use crate::lower::STRATEGY;
use crate::target::{self, TargetError};
use crate::{callers, llvm_messages};

/// Why a file did not become a module.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The operating system did not hand it over.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// A directory was named.
    #[error("{}: is a directory; name the .ll, .bc or .c files in it", .0.display())]
    Directory(PathBuf),
    /// `-` was named.
    #[error("reading a program from standard input is not supported; name a .ll, .bc or .c file")]
    StandardInput,
    /// There is nothing in it.
    #[error("{}: is empty", .0.display())]
    Empty(PathBuf),
    /// Neither its name nor its content says what it is.
    #[error("{}: unknown kind of file; expected .ll (LLVM IR), .bc (bitcode) or .c", .0.display())]
    UnknownKind(PathBuf),
    /// LLVM could not parse it; the text has file, line and column.
    #[error("{}", .0.trim_end())]
    Parse(String),
    /// A function roots or writes objects but does not say whose they are.
    #[error("{}: in @{function}: {intrinsic} in a function without a gc strategy; add gc \"{STRATEGY}\" to the function", path.display())]
    NoStrategy {
        /// The file.
        path: PathBuf,
        /// The function.
        function: String,
        /// What it calls.
        intrinsic: &'static str,
    },
    /// It parses but breaks a rule of LLVM IR.
    #[error("{}: not valid LLVM IR: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What LLVM's verifier found.
        message: String,
    },
    /// It is for another machine.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// clang refused it.
    #[error(transparent)]
    Clang(#[from] ClangError),
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Bitcode,
    C,
}

/// Reads `path` into a valid module for the target of `machine`.
pub fn load<'ctx>(context: &'ctx Context, path: &Path, machine: &TargetMachine) -> Result<Module<'ctx>, LoadError> {
    let bytes = read(path)?;
    let module = match kind(path, &bytes)? {
        Kind::Text | Kind::Bitcode => parse(context, path, &bytes)?,
        Kind::C => {
            let bitcode = c_frontend::compile(path)?;
            let module = parse(context, path, &bitcode)?;
            c_frontend::mark_rooting_functions(&module);
            module
        }
    };
    target::adopt(&module, path, machine)?;
    require_strategy(&module, path)?;
    module.verify().map_err(|message| LoadError::Invalid {
        path: path.to_owned(),
        message: message.to_string().trim_end().to_owned(),
    })?;
    Ok(module)
}

/// LLVM's verifier refuses this too, but cannot say what to do.
fn require_strategy(module: &Module, path: &Path) -> Result<(), LoadError> {
    for intrinsic in ["llvm.gcroot", "llvm.gcwrite", "llvm.gcread"] {
        if let Some(function) =
            callers::of_name(module, intrinsic).into_iter().find(|&function| !callers::has_gc(function))
        {
            let function = function.get_name().to_string_lossy().into_owned();
            return Err(LoadError::NoStrategy { path: path.to_owned(), function, intrinsic });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    if path == Path::new("-") {
        return Err(LoadError::StandardInput);
    }
    let unreadable = |error| LoadError::Unreadable { path: path.to_owned(), error };
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(LoadError::Directory(path.to_owned()));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty(path.to_owned()));
    }
    Ok(bytes)
}

fn kind(path: &Path, bytes: &[u8]) -> Result<Kind, LoadError> {
    // Raw bitcode, and the wrapper that Darwin tools put around it.
    if bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(&0x0B17_C0DE_u32.to_le_bytes()) {
        return Ok(Kind::Bitcode);
    }
    match path.extension().and_then(OsStr::to_str) {
        Some("ll") => Ok(Kind::Text),
        Some("bc") => Ok(Kind::Bitcode),
        Some("c") => Ok(Kind::C),
        _ => Err(LoadError::UnknownKind(path.to_owned())),
    }
}

fn parse<'ctx>(context: &'ctx Context, path: &Path, bytes: &[u8]) -> Result<Module<'ctx>, LoadError> {
    let name = path.to_string_lossy();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, &name);
    let module = context.create_module_from_ir(buffer).map_err(|message| LoadError::Parse(message.to_string()))?;
    match llvm_messages::take_errors() {
        None => Ok(module),
        Some(message) => Err(LoadError::Parse(format!("{name}: {message}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;

    fn load_bytes(name: &str, bytes: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let context = Context::create();
        llvm_messages::listen(&context);
        let machine = target::machine(Level::O0).unwrap();
        match load(&context, &path, &machine) {
            Ok(module) => Ok(module.print_to_string().to_string()),
            Err(error) => Err(error.to_string().replace(&format!("{}/", folder.path().display()), "")),
        }
    }

    #[test]
    fn text_is_given_the_target() {
        let text = load_bytes("a.ll", b"define i32 @f() {\n  ret i32 1\n}\n").unwrap();
        assert!(text.contains(&format!("target triple = \"{}\"", target::TRIPLE)), "{text}");
        assert!(text.contains("target datalayout = \"e-m:e"), "{text}");
    }

    #[test]
    fn bitcode_is_known_by_content() {
        let context = Context::create();
        let module = context.create_module("m");
        let bitcode = module.write_bitcode_to_memory();
        for name in ["a.bc", "a.ll", "a.bin"] {
            load_bytes(name, bitcode.as_slice()).unwrap();
        }
    }

    #[test]
    fn a_parse_error_has_file_and_line() {
        let message = load_bytes("a.ll", b"define i32 @f() {\n  ret i32 %x\n}\n").unwrap_err();
        assert!(message.starts_with("a.ll:2:11: error: use of undefined value '%x'"), "{message}");
    }

    #[test]
    fn unusable_files_say_what_they_are() {
        let message = |name, bytes: &[u8]| load_bytes(name, bytes).unwrap_err();
        assert_eq!(message("a.ll", b" \n"), "a.ll: is empty");
        assert!(message("a.py", b"print(1)").starts_with("a.py: unknown kind of file"));
        assert!(message("a.bc", b"BC\xC0\xDEgarbage!").contains("a.bc"));
        assert!(message("a.bc", b"not bitcode").contains("a.bc"));
        let foreign = message("a.ll", b"target triple = \"aarch64-unknown-linux-gnu\"\n");
        assert!(foreign.contains("aarch64"), "{foreign}");
        let layout = message("a.ll", b"target datalayout = \"E-p:32:32\"\n");
        assert!(layout.contains("E-p:32:32"), "{layout}");
        let invalid = message(
            "a.ll",
            b"define void @f() {\na:\n  br label %b\nb:\n  %x = phi i32 [ 0, %a ], [ 1, %a ]\n  ret void\n}\n",
        );
        assert!(invalid.starts_with("a.ll"), "{invalid}");
    }
}
