//! What a command links: modules that Tally compiles, objects that stock tools compiled, libraries, and the runtime.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::messages::Messages;
use super::remarks::Remarks;
use crate::aot;
use crate::aot::debugger;
use crate::aot::foreign_object::{self, ForeignObject};
use crate::aot::link_line::Image;
use crate::load::{assembler, source_file};
use crate::pipeline::{self, CompileOptions};

/// Whether one of the files is for the linker alone.
pub(super) fn any_object(files: &[PathBuf]) -> Result<bool, Failure> {
    for file in files {
        let is_linked = source_file::is_library(file) || source_file::is_assembly(file);
        if is_linked || source_file::read_object(file)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compiles `files`, but for objects and libraries, and links all to `output`.
pub(super) fn link(
    files: &[PathBuf],
    options: CompileOptions,
    mut image: Image,
    output: &Path,
    (messages, remarks): (&Messages, &Remarks),
) -> Result<(), Failure> {
    let (mut foreign, mut modules) = (Vec::new(), Vec::new());
    for file in files {
        if source_file::is_library(file) {
            image.libraries.push(file.into());
        } else if source_file::is_assembly(file) {
            let bytes = assembler::assemble(file, options.target, &options.reading.clang)?;
            foreign.push(object_of(file, bytes)?);
        } else if let Some(bytes) = source_file::read_object(file)? {
            foreign.push(object_of(file, bytes)?);
        } else {
            modules.push(file.clone());
        }
    }
    let described = foreign.iter().find(|object| !object.tables.is_empty()).map(|object| object.file.clone());
    let options = CompileOptions { beside: described, ..options };
    let mut objects = pipeline::compile(&modules, &options).map_err(|error| messages.failure(error))?;
    remarks.report(objects.iter().flat_map(|object| &object.remarks))?;
    super::warnings::report(&objects, messages);
    let mut own = |name: &str, ir: &str| {
        let object = pipeline::compile_own(name, ir, options.target).map_err(|error| messages.failure(error))?;
        objects.push(object);
        Ok::<(), Failure>(())
    };
    if let Some(registrar) = foreign_object::registrar(&foreign) {
        own("registrar", &registrar)?;
    }
    if image.debugger {
        own("debugger", &debugger::module())?;
    }
    aot::link(&objects, &foreign, &image, output)?;
    Ok(())
}

fn object_of(file: &Path, bytes: Vec<u8>) -> Result<ForeignObject, Failure> {
    ForeignObject::read(file, bytes).map_err(|error| Failure(format!("{}: {error}", file.display())))
}
