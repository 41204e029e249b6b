//! The executable of a command: modules that Tally compiles, objects that stock tools compiled, and the runtime.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::messages::Messages;
use super::remarks::Remarks;
use crate::aot::foreign_object::{self, ForeignObject};
use crate::aot::{self, Shape};
use crate::load::source_file;
use crate::pipeline::{self, CompileOptions};

/// Whether one of the files is an object.
pub(super) fn any_object(files: &[PathBuf]) -> Result<bool, Failure> {
    for file in files {
        if source_file::read_object(file)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compiles `files`, but for those that are objects, and links all to `output`.
pub(super) fn link(
    files: &[PathBuf],
    options: CompileOptions,
    shape: Shape,
    output: &Path,
    (messages, remarks): (&Messages, &Remarks),
) -> Result<(), Failure> {
    let target = options.target;
    let (mut foreign, mut modules) = (Vec::new(), Vec::new());
    for file in files {
        match source_file::read_object(file)? {
            Some(bytes) => foreign.push(object_of(file, bytes)?),
            None => modules.push(file.clone()),
        }
    }
    let described = foreign.iter().find(|object| !object.tables.is_empty()).map(|object| object.file.clone());
    let options = CompileOptions { beside: described, ..options };
    let mut objects = pipeline::compile(&modules, &options).map_err(|error| messages.failure(error))?;
    remarks.report(objects.iter().flat_map(|object| &object.remarks))?;
    super::warnings::report(&objects, messages);
    if let Some(registrar) = foreign_object::registrar(&foreign) {
        objects.push(pipeline::compile_own("registrar", &registrar, target).map_err(|error| messages.failure(error))?);
    }
    aot::link(&objects, &foreign, (target, shape), output)?;
    Ok(())
}

fn object_of(file: &Path, bytes: Vec<u8>) -> Result<ForeignObject, Failure> {
    ForeignObject::read(file, bytes).map_err(|error| Failure(format!("{}: {error}", file.display())))
}
