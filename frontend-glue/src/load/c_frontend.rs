//! C as a frontend: a `.c` file over `tally_gc.h` becomes bitcode with gc functions in it. A `.cpp` file has none, and becomes bitcode
//! like any other: it calls functions of those in C.
//!
//! Clang emits IR that is not optimised but may be (`-O1`, passes off): the lowering must see every root before
//! anything is inlined. Its verifier is off too, because a C function that declares roots has no gc attribute yet,
//! which C cannot express. `mark_rooting_functions` adds it for C; after that the module is like any other, and is
//! verified like any other. (LLVM's readers verify modules with debug information while they upgrade it, and abort;
//! clang's needs no upgrade, so [`compile`] turns that off, with LLVM's own option for it.)
//!
//! The two headers are part of this binary and clang gets them in a directory of its own, so that
//! `#include <tally_gc.h>` always means the version that belongs to this `tally`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::module::Module;
use inkwell::values::FunctionValue;
use tally_compiled::symbols::RUNTIME_SYMBOLS;
use thiserror::Error;

use crate::analysis::callers;
use crate::emit::target::Target;
use crate::llvm;
use crate::load::clang::{self, ClangMissing};
use crate::load::source_file::Kind;
use crate::lower::{STRATEGY, inferred};

/// The headers a C program may include.
const HEADERS: [(&str, &str); 2] =
    [("tally.h", include_str!("../../include/tally.h")), ("tally_gc.h", include_str!("../../include/tally_gc.h"))];

/// The name in debug information for the directory with the headers, whose real name differs every time.
const HEADERS_IN_DEBUG_INFO: &str = "<tally>";

/// A function that calls one of these, or a service that returns references, holds references, and follows the
/// contract of gc functions.
const ROOTING: [&str; 10] = [
    "llvm.gcroot",
    "llvm.gcwrite",
    "llvm.gcread",
    "tally_gcwrite_i64",
    "tally_write_pair",
    "tally_write_open",
    "tally_write_open_i64",
    "tally_new",
    "tally_new_array",
    "tally_safepoint",
];

/// Why a C file did not become bitcode.
#[derive(Debug, Error)]
pub enum ClangError {
    /// There is no clang.
    #[error("{}: cannot compile C: {missing}", path.display())]
    Missing {
        /// The C file.
        path: PathBuf,
        /// Why.
        missing: ClangMissing,
    },
    /// Clang has refused it, and has printed its reasons itself.
    #[error("{}: clang found errors, or made no module of it", .0.display())]
    Refused(PathBuf),
    /// Files or processes failed around clang.
    #[error("{}: cannot run clang: {error}", path.display())]
    System {
        /// The C file.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
}

/// A program in C or C++.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The file, or `-`.
    pub path: &'a Path,
    /// Its language.
    pub kind: Kind,
    /// The text that came by standard input.
    pub standard_input: Option<&'a Vec<u8>>,
}

/// Compiles a file to bitcode for `target`, with more words for clang; clang's diagnostics go straight to standard error.
pub(crate) fn compile(source: Source, target: Target, words: &[OsString]) -> Result<Vec<u8>, ClangError> {
    let path = source.path;
    let clang = clang::find().map_err(|missing| ClangError::Missing { path: path.to_owned(), missing })?;
    let run = || -> std::io::Result<Option<Vec<u8>>> {
        let folder = tempfile::tempdir()?;
        for (name, text) in HEADERS {
            std::fs::write(folder.path().join(name), text)?;
        }
        let output = folder.path().join("module.bc");
        let mut child = Command::new(&clang)
            // DWARF 4: gdb reads it as well, and the valgrind of today's distributions reads no later one.
            .args(["-c", "-emit-llvm", "-gdwarf-4", "-O1", "-fPIC", "-fno-discard-value-names"])
            .args(clang::target_words(target))
            .args(["-Xclang", "-disable-llvm-passes"])
            .args(["-Xclang", "-disable-llvm-verifier"])
            .arg("-I")
            .arg(folder.path())
            .arg(format!("-ffile-prefix-map={}={HEADERS_IN_DEBUG_INFO}", folder.path().display()))
            .args(words)
            .args(["-x", if source.kind == Kind::Cpp { "c++" } else { "c" }])
            .arg(if source.standard_input.is_some() { "-".into() } else { as_operand(path) })
            .arg("-o")
            .arg(&output)
            .stdin(if source.standard_input.is_some() { Stdio::piped() } else { Stdio::inherit() })
            .spawn()?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), source.standard_input) {
            // Clang may end before it has read all; then its status says so.
            let _ = pipe.write_all(text);
        }
        let status = child.wait()?;
        if !status.success() || !output.exists() {
            return Ok(None);
        }
        std::fs::read(output).map(Some)
    };
    match run() {
        Ok(Some(bitcode)) => {
            leave_debug_info_alone();
            Ok(bitcode)
        }
        Ok(None) => Err(ClangError::Refused(path.to_owned())),
        Err(error) => Err(ClangError::System { path: path.to_owned(), error }),
    }
}

/// Makes LLVM's readers neither upgrade debug information nor verify modules that have some.
fn leave_debug_info_alone() {
    static ONCE: Once = Once::new();
    let arguments = [c"tally".as_ptr(), c"-disable-auto-upgrade-debug-info".as_ptr()];
    // SAFETY: two C strings, as announced; LLVM accepts an option once, and `Once` ensures that.
    ONCE.call_once(|| unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) });
}

/// Gives `gc "refcount"` to every function that roots, reads, writes or allocates objects, and to those that call
/// one: they may hold its result, and `tally verify` must check them; and to every function that has typed references. A module
/// without such functions is not changed.
pub(crate) fn mark_rooting_functions(module: &Module) {
    let services = RUNTIME_SYMBOLS.iter().filter(|symbol| symbol.returns_reference()).map(|symbol| symbol.name);
    let rooting = ROOTING.into_iter().chain(services);
    let mut waiting: Vec<FunctionValue> = rooting.flat_map(|name| callers::of_name(module, name)).collect();
    while let Some(function) = waiting.pop() {
        if !callers::has_gc(function) {
            function.set_gc(STRATEGY);
            waiting.extend(callers::of(function));
        }
    }
    let typed = inferred::functions_with_typed_references(llvm::Module::of(module));
    typed.filter(|function| function.gc().is_none()).for_each(|function| function.set_gc(STRATEGY));
}

/// The path in a form that clang cannot take for an option.
pub(crate) fn as_operand(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") { Path::new(".").join(path) } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn functions_that_touch_objects_and_their_callers_are_marked() {
        let text = "declare void @llvm.gcroot(ptr, ptr)\ndeclare ptr @tally_new(ptr)\n\
            define void @roots() gc \"mine\" {\n  %r = alloca ptr\n  call void @llvm.gcroot(ptr %r, ptr null)\n  ret void\n}\n\
            define ptr @allocates() {\n  %o = call ptr @tally_new(ptr null)\n  ret ptr %o\n}\n\
            define void @calls() {\n  %o = call ptr @allocates()\n  ret void\n}\n\
            define void @plain() {\n  ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        mark_rooting_functions(&module);
        let printed = module.print_to_string().to_string();
        assert!(printed.contains("define void @roots() gc \"mine\""), "{printed}");
        assert!(printed.contains("define ptr @allocates() gc \"refcount\""), "{printed}");
        assert!(printed.contains("define void @calls() gc \"refcount\""), "{printed}");
        assert!(printed.contains("define void @plain() {"), "{printed}");
    }
}
