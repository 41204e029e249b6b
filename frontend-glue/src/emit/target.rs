//! The target machine: x86-64 Linux, any CPU of that kind.
//!
//! The runtime's context is reached through `%fs`, its entry points save x86-64 registers, and the stack walker knows
//! this machine's frames, so [`adopt`] refuses a module for any other machine, by name, before a pass could be
//! confused by it. A module that names no target (most hand-written IR) is given this one.
//!
//! Code is position independent always: the same objects go into an executable and into the JIT. GlobalISel stays
//! off, since it silently drops the operand bundles that carry the roots.

use std::path::Path;

use inkwell::llvm_sys::target_machine::LLVMSetTargetMachineGlobalISel;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use thiserror::Error;

use crate::emit::data_layout;
use crate::emit::level::Level;

/// The target of every module.
pub const TRIPLE: &str = "x86_64-pc-linux-gnu";

/// Why a module or this machine is not supported.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The module is for another machine.
    #[error(
        "{file}: compiled for target \"{triple}\"; this version supports x86_64 Linux only (remove the `target triple` line of portable IR, or compile it for {TRIPLE})"
    )]
    ForeignTriple {
        /// The module's file.
        file: String,
        /// The triple it names.
        triple: String,
    },
    /// The module's idea of sizes and alignments differs from the machine's.
    #[error(
        "{file}: its `target datalayout` \"{found}\" says \"{part}\", and the one of {TRIPLE} is \"{expected}\"; remove or correct the line"
    )]
    ForeignLayout {
        /// The module's file.
        file: String,
        /// The layout it names.
        found: String,
        /// What of it is not so here.
        part: String,
        /// The layout of the target.
        expected: String,
    },
    /// This LLVM cannot generate code for x86-64.
    #[error("this LLVM cannot generate code for {TRIPLE}: {0}")]
    Unavailable(String),
}

/// Makes LLVM know x86-64; twice is as good as once.
pub(crate) fn initialize() {
    Target::initialize_x86(&InitializationConfig::default());
}

/// A code generator for `level`.
pub fn machine(level: Level) -> Result<TargetMachine, TargetError> {
    initialize();
    let triple = TargetTriple::create(TRIPLE);
    let target = Target::from_triple(&triple).map_err(|e| TargetError::Unavailable(e.to_string()))?;
    let machine = target
        .create_target_machine(&triple, "x86-64", "", level.code_generation(), RelocMode::PIC, CodeModel::Small)
        .ok_or_else(|| TargetError::Unavailable("no such target machine".into()))?;
    // SAFETY: the machine was just made and nothing else uses it.
    unsafe { LLVMSetTargetMachineGlobalISel(machine.as_mut_ptr(), 0) };
    Ok(machine)
}

/// Checks that `module` is for this target, and sets the target's layout, and its name in a module that names none, or only the
/// processor.
pub fn adopt(module: &Module, file: &Path, machine: &TargetMachine) -> Result<(), TargetError> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy();
    if triple.is_empty() || names_only_our_processor(&triple) {
        module.set_triple(&machine.get_triple());
    } else if !is_ours(&triple) {
        return Err(TargetError::ForeignTriple { file: file.display().to_string(), triple: triple.into_owned() });
    }
    let expected = machine.get_target_data().get_data_layout();
    let expected_text = expected.as_str().to_string_lossy();
    let found = module.get_data_layout().as_str().to_string_lossy().into_owned();
    if let Some(part) = data_layout::conflict(&found, &expected_text, |space| has_pointers_of(module, space)) {
        return Err(TargetError::ForeignLayout {
            file: file.display().to_string(),
            part: part.to_owned(),
            found: found.clone(),
            expected: expected_text.into_owned(),
        });
    }
    module.set_data_layout(&expected);
    Ok(())
}

fn has_pointers_of(module: &Module, space: u32) -> bool {
    module.print_to_string().to_string().contains(&format!("addrspace({space})"))
}

/// Whether a triple names 64-bit x86 Linux with the usual 64-bit pointers.
fn is_ours(triple: &str) -> bool {
    is_our_processor(triple) && triple.split('-').any(|part| part.starts_with("linux")) && !triple.ends_with("x32")
}

fn is_our_processor(triple: &str) -> bool {
    matches!(triple.split('-').next(), Some("x86_64" | "amd64" | "x86_64h"))
}

/// Whether a triple names 64-bit x86 and no system: `x86_64`, `x86_64-unknown-unknown`.
fn names_only_our_processor(triple: &str) -> bool {
    is_our_processor(triple) && triple.split('-').skip(1).all(|part| matches!(part, "" | "unknown" | "pc" | "elf"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_of_other_machines_are_told_apart() {
        for ours in ["x86_64-pc-linux-gnu", "x86_64-unknown-linux-musl", "x86_64-linux"] {
            assert!(is_ours(ours), "{ours}");
        }
        for ours in ["x86_64", "x86_64-unknown-unknown", "x86_64-unknown-unknown-elf", "amd64-pc-unknown"] {
            assert!(names_only_our_processor(ours), "{ours}");
        }
        for other in [
            "x86_64-unknown-none",
            "x86_64-unknown-freebsd",
            "aarch64-unknown-linux-gnu",
            "x86_64-apple-macosx",
            "x86_64-pc-windows-msvc",
            "x86_64-pc-linux-gnux32",
            "i686-pc-linux-gnu",
        ] {
            assert!(!is_ours(other) && !names_only_our_processor(other), "{other}");
        }
    }
}
