//! Loads a file as a module: `.ll`, `.bc`, `.c` and `.cpp`, or returns a message that says why not.
//!
//! The bytes come from `load::source_file`, C goes through `load::c_frontend`. Every module is
//! checked against the target before anything else sees it. The rules of LLVM's verifier for the gc intrinsics are
//! checked before it runs: it refuses the same things, but names neither function nor remedy. Its own findings come
//! with their function. The result is valid IR for this machine.
//!
//! IR and bitcode of older LLVMs are read as far as LLVM reads them: typed pointers (up to LLVM 14) become plain
//! ones, text from before 3.7 does not parse, and the message names the reason.

pub(crate) mod assembler;
pub(crate) mod c_frontend;
pub(crate) mod c_header;
pub mod clang;
pub mod reading;
pub(crate) mod source_file;

use std::path::{Path, PathBuf};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use thiserror::Error;

use crate::diagnostic::{self, Diagnostic};
use crate::emit::target::{self, TargetError};
use crate::guard::crash_net::WorkingOn;
use crate::guard::memory_limit::MemoryLimit;
use crate::guard::messages;
use crate::llvm;
use crate::load::c_frontend::{ClangError, Source};
use crate::load::reading::Reading;
use crate::load::source_file::{Kind, SourceError};
use crate::lower::own_copy;
use crate::lower::type_description::metadata;
use crate::verify::source::intrinsics;

/// Why a file did not become a module.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file has no bytes of a program in it, or they cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// LLVM could not parse it; the text has file, line and column.
    #[error("{}", .0.trim_end())]
    Parse(String),
    /// An intrinsic is used wrongly.
    #[error("{}", diagnostic::lines(.0))]
    Intrinsics(Vec<Diagnostic>),
    /// A type is described wrongly in `!tally.types`.
    #[error("{}", diagnostic::lines(.0))]
    Types(Vec<Diagnostic>),
    /// It parses but breaks a rule of LLVM IR.
    #[error("{}: {}not valid LLVM IR: {message}", path.display(), in_function(function))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The first function that is wrong, if it is in one.
        function: Option<String>,
        /// The message of LLVM's verifier.
        message: String,
    },
    /// It is for another machine.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// clang refused it.
    #[error(transparent)]
    Clang(#[from] ClangError),
}

/// Reads `path` into a valid module for the target of `machine`.
pub fn load<'ctx>(
    context: &'ctx Context,
    path: &Path,
    machine: &TargetMachine,
    reading: &Reading,
) -> Result<Module<'ctx>, LoadError> {
    let is_standard_input = source_file::is_standard_input(path);
    let name = if is_standard_input { Path::new(source_file::STANDARD_INPUT) } else { path };
    let _working = WorkingOn::file(name);
    let (kind, bytes) = source_file::read(path, reading.language)?;
    let module = match kind {
        Kind::Text | Kind::Bitcode => parse(context, name, &bytes)?,
        Kind::C | Kind::Cpp => {
            let source = Source { path, kind, standard_input: is_standard_input.then_some(&bytes) };
            let bitcode = c_frontend::compile(source, target::of_machine(machine), &reading.words(kind))?;
            let module = parse(context, name, &bitcode)?;
            // It may use the intrinsics without the header.
            c_frontend::mark_rooting_functions(&module);
            module
        }
    };
    accept(&module, name, machine)?;
    Ok(module)
}

/// Loads a module of IR or bitcode that a host has in memory; messages call it `name`.
pub fn load_from_memory<'ctx>(
    context: &'ctx Context,
    name: &Path,
    bytes: &[u8],
    machine: &TargetMachine,
) -> Result<Module<'ctx>, LoadError> {
    let _working = WorkingOn::file(name);
    let module = parse(context, name, bytes)?;
    accept(&module, name, machine)?;
    Ok(module)
}

/// Checks that the module is valid, and for this machine; what C cannot say is said for it.
pub(crate) fn accept(module: &Module, path: &Path, machine: &TargetMachine) -> Result<(), LoadError> {
    c_header::resolve(module);
    target::adopt(module, path, machine)?;
    let wrong = metadata::define(llvm::Module::of(module), &path.to_string_lossy());
    if !wrong.is_empty() {
        return Err(LoadError::Types(wrong));
    }
    let misused = intrinsics::misused(llvm::Module::of(module), &path.to_string_lossy());
    if !misused.is_empty() {
        return Err(LoadError::Intrinsics(misused));
    }
    own_copy::of_rooted_parameters(llvm::Module::of(module));
    module.verify().map_err(|message| LoadError::Invalid {
        path: path.to_owned(),
        function: first_invalid_function(module),
        message: message.to_string().trim_end().to_owned(),
    })
}

/// LLVM's verifier prints instructions without saying where they are.
fn first_invalid_function(module: &Module) -> Option<String> {
    let wrong = module.get_functions().find(|function| !function.verify(false))?;
    Some(wrong.get_name().to_string_lossy().into_owned())
}

fn in_function(function: &Option<String>) -> String {
    function.as_ref().map(|name| format!("in @{name}: ")).unwrap_or_default()
}

fn parse<'ctx>(context: &'ctx Context, path: &Path, bytes: &[u8]) -> Result<Module<'ctx>, LoadError> {
    let name = path.to_string_lossy();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, &name);
    let _limit = MemoryLimit::for_reading(bytes.len());
    let module =
        context.create_module_from_ir(buffer).map_err(|message| LoadError::Parse(explained(message.to_string())))?;
    match messages::take_errors() {
        None => Ok(module),
        Some(message) => Err(LoadError::Parse(format!("{name}: {message}"))),
    }
}

/// Before LLVM 3.7 a load said `load i32* %p` and an address `getelementptr i32* %p, i32 1`.
fn explained(message: String) -> String {
    let asks_for_type = message.contains("expected comma after load's type")
        || message.contains("expected comma after getelementptr's type");
    if asks_for_type {
        return format!(
            "{}\nthis is IR for an LLVM before 3.7; have an LLVM between 3.7 and 14 rewrite it",
            message.trim_end()
        );
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::level::Level;

    fn load_bytes(name: &str, bytes: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let context = Context::create();
        messages::listen(&context);
        let machine = target::machine(Level::O0).unwrap();
        match load(&context, &path, &machine, &Reading::default()) {
            Ok(module) => Ok(module.print_to_string().to_string()),
            Err(error) => Err(error.to_string().replace(&format!("{}/", folder.path().display()), "")),
        }
    }

    #[test]
    fn text_is_given_the_target() {
        let text = load_bytes("a.ll", b"define i32 @f() {\n  ret i32 1\n}\n").unwrap();
        assert!(text.contains(&format!("target triple = \"{}\"", target::Target::host().triple())), "{text}");
        assert!(text.contains("target datalayout = \"e-m:e"), "{text}");
    }

    #[test]
    fn a_parse_error_has_file_and_line() {
        let message = load_bytes("a.ll", b"define i32 @f() {\n  ret i32 %x\n}\n").unwrap_err();
        assert!(message.starts_with("a.ll:2:11: error: use of undefined value '%x'"), "{message}");
    }

    /// Many frontends have a layout and a triple in their source, as the LLVM that they were written for printed them.
    #[test]
    fn layouts_of_older_llvms_and_triples_without_a_system_become_ours() {
        const BODY: &str = "define i128 @f(i128 %x) {\n  ret i128 %x\n}\n";
        let loaded = |text: String| {
            let module = load_bytes("a.ll", text.as_bytes()).unwrap();
            module.split_once("target datalayout").unwrap().1.to_owned()
        };
        let of_today = loaded(BODY.into());
        for layout in [
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128",
            "e-m:e-i64:64-f80:128-n8:16:32:64-S128",
        ] {
            assert_eq!(loaded(format!("target datalayout = \"{layout}\"\n{BODY}")), of_today);
        }
        for triple in ["x86_64", "x86_64-unknown-unknown"] {
            assert_eq!(loaded(format!("target triple = \"{triple}\"\n{BODY}")), of_today);
        }
        let message = load_bytes("a.ll", b"target datalayout = \"e-m:e-i64:32-f80:128-n8:16:32:64-S128\"\n");
        assert!(message.unwrap_err().contains("i64:32"));
        let message = load_bytes("a.ll", b"target triple = \"x86_64-unknown-none\"\n").unwrap_err();
        assert!(message.contains("x86_64-unknown-none"), "{message}");
    }

    #[test]
    fn modules_that_cannot_be_used_say_why() {
        let message = |name, bytes: &[u8]| load_bytes(name, bytes).unwrap_err();
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
        assert!(invalid.starts_with("a.ll: in @f: not valid LLVM IR: "), "{invalid}");
    }
}
