//! Assembly becomes an object by clang, which preprocesses `.S` first.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::emit::target::Target;
use crate::load::c_frontend::{ClangError, as_operand};
use crate::load::clang;

/// Assembles a file for `target`; clang's diagnostics go straight to standard error.
pub(crate) fn assemble(path: &Path, target: Target, words: &[OsString]) -> Result<Vec<u8>, ClangError> {
    let clang = clang::find().map_err(|missing| ClangError::Missing { path: path.to_owned(), missing })?;
    let run = || -> std::io::Result<Option<Vec<u8>>> {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("module.o");
        let mut command = Command::new(&clang);
        command.arg("-c").args(clang::target_words(target)).arg("-Wno-unused-command-line-argument").args(words);
        let status = command.arg(as_operand(path)).arg("-o").arg(&output).status()?;
        if status.success() { std::fs::read(&output).map(Some) } else { Ok(None) }
    };
    match run() {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(ClangError::Refused(path.to_owned())),
        Err(error) => Err(ClangError::System { path: path.to_owned(), error }),
    }
}
