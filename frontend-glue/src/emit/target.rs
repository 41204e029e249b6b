//! The machine that code is for: x86-64, AArch64 or RISC-V 64 Linux, any processor of that kind.
//!
//! Fixed addresses, the way to the thread's context and the frames that the stack walker knows are those of one machine. So
//! [`adopt`] refuses a module for any other, by name, before a pass could be confused by it. A module that names no target
//! (most hand-written IR) is given the one that is compiled for: that of `--target`, else the host.
//!
//! Code is position independent always: the same objects go into an executable and into the JIT. GlobalISel stays
//! off, since it silently drops the operand bundles that carry the roots; on AArch64 LLVM would use it at `-O0`.

use std::fmt;
use std::path::Path;

use inkwell::llvm_sys::target_machine::LLVMSetTargetMachineGlobalISel;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target as Processor, TargetMachine, TargetTriple};
use tally_heap::memory::layout::Layout;
use thiserror::Error;

use crate::emit::data_layout;
use crate::emit::level::Level;

/// A machine that code can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// 64-bit x86 under Linux.
    X86_64,
    /// 64-bit Arm under Linux.
    AArch64,
    /// 64-bit RISC-V under Linux, with the extensions that distributions are compiled for (rv64gc, lp64d).
    RiscV64,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 3] = [Target::X86_64, Target::AArch64, Target::RiscV64];

    /// The machine that this process runs on. (The runtime below compiles for no others.)
    pub fn host() -> Target {
        match std::env::consts::ARCH {
            "aarch64" => Target::AArch64,
            "riscv64" => Target::RiscV64,
            _ => Target::X86_64,
        }
    }

    /// The triple of modules that name none.
    pub fn triple(self) -> &'static str {
        match self {
            Target::X86_64 => "x86_64-pc-linux-gnu",
            Target::AArch64 => "aarch64-unknown-linux-gnu",
            Target::RiscV64 => "riscv64-unknown-linux-gnu",
        }
    }

    /// The triple by which Rust's tools name the machine, and folders of the runtime library are called.
    pub fn folder(self) -> &'static str {
        match self {
            Target::X86_64 => "x86_64-unknown-linux-gnu",
            Target::AArch64 => "aarch64-unknown-linux-gnu",
            Target::RiscV64 => "riscv64gc-unknown-linux-gnu",
        }
    }

    /// The triple in the names of Debian's cross compilers.
    pub(crate) fn gnu_triple(self) -> &'static str {
        match self {
            Target::X86_64 => "x86_64-linux-gnu",
            Target::AArch64 => "aarch64-linux-gnu",
            Target::RiscV64 => "riscv64-linux-gnu",
        }
    }

    /// The processor whose instructions code may use.
    fn processor(self) -> &'static str {
        match self {
            Target::X86_64 => "x86-64",
            Target::AArch64 => "generic",
            Target::RiscV64 => "generic-rv64",
        }
    }

    /// Features beyond the processor's own. On RISC-V the linker must not shorten code behind return addresses.
    fn features(self) -> &'static str {
        match self {
            Target::X86_64 | Target::AArch64 => "",
            Target::RiscV64 => "+m,+a,+f,+d,+c,+zicsr,+zifencei,-relax",
        }
    }

    /// The target's name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::X86_64 => "x86-64",
            Target::AArch64 => "AArch64",
            Target::RiscV64 => "RISC-V",
        }
    }

    /// The fixed addresses of heap and tables, which code has in it.
    pub(crate) fn layout(self) -> Layout {
        match self {
            Target::X86_64 => Layout::X86_64,
            Target::AArch64 => Layout::AARCH64,
            Target::RiscV64 => Layout::RISCV64,
        }
    }

    /// How its frames look.
    pub(crate) fn frames(self) -> stack_roots::Machine {
        match self {
            Target::X86_64 => stack_roots::Machine::X86_64,
            Target::AArch64 => stack_roots::Machine::AArch64,
            Target::RiscV64 => stack_roots::Machine::RiscV64,
        }
    }

    /// The target of a triple that names processor and system.
    fn of_triple(triple: &str) -> Option<Target> {
        let is_linux = triple.split('-').any(|part| part.starts_with("linux"));
        Target::of_processor(triple).filter(|_| is_linux && !["x32", "_ilp32"].iter().any(|end| triple.ends_with(end)))
    }

    /// The target of a triple that names our processor and no system: `x86_64`, `aarch64-unknown-unknown`.
    fn of_bare_triple(triple: &str) -> Option<Target> {
        let names_no_system = triple.split('-').skip(1).all(|part| matches!(part, "" | "unknown" | "pc" | "elf"));
        Target::of_processor(triple).filter(|_| names_no_system)
    }

    fn of_processor(triple: &str) -> Option<Target> {
        match triple.split('-').next()? {
            "x86_64" | "amd64" | "x86_64h" => Some(Target::X86_64),
            "aarch64" | "arm64" => Some(Target::AArch64),
            "riscv64" | "riscv64gc" => Some(Target::RiscV64),
            _ => None,
        }
    }

    /// The target that a module is for; the host where it names none.
    pub(crate) fn of(module: crate::llvm::Module) -> Target {
        let triple = module.triple();
        Target::of_processor(&triple).unwrap_or_else(Target::host)
    }
}

impl Default for Target {
    fn default() -> Target {
        Target::host()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.triple())
    }
}

/// A target by the triple of an option.
impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(triple: &str) -> Result<Target, String> {
        Target::of_triple(triple)
            .or_else(|| Target::of_bare_triple(triple))
            .ok_or_else(|| format!("\"{triple}\" is not supported: {}", reason_against(triple)))
    }
}

/// What works.
const SUPPORTED: &str = "x86_64, aarch64 and riscv64 Linux work (x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu, \
    riscv64gc-unknown-linux-gnu)";

/// Processors for which LLVM writes no stack maps, by how their names begin.
const WITHOUT_STACK_MAPS: [(&str, &str); 20] = [
    ("powerpc64le", "64-bit POWER"),
    ("ppc64le", "64-bit POWER"),
    ("powerpc64", "64-bit POWER"),
    ("ppc64", "64-bit POWER"),
    ("powerpc", "PowerPC"),
    ("ppc", "PowerPC"),
    ("s390x", "s390x"),
    ("systemz", "s390x"),
    ("arm64_32", "Arm with 32-bit pointers"),
    ("armv", "32-bit Arm"),
    ("armeb", "32-bit Arm"),
    ("arm-", "32-bit Arm"),
    ("thumb", "32-bit Arm"),
    ("wasm", "WebAssembly"),
    ("loongarch", "LoongArch"),
    ("i386", "32-bit x86"),
    ("i486", "32-bit x86"),
    ("i586", "32-bit x86"),
    ("i686", "32-bit x86"),
    ("mips", "MIPS"),
];

/// Why there is no code for a target, and what works.
fn reason_against(triple: &str) -> String {
    let has = |names: &[&str]| names.iter().any(|name| triple.contains(name));
    let processor =
        WITHOUT_STACK_MAPS.iter().find(|(name, _)| triple.starts_with(name) || triple == name.trim_end_matches('-'));
    let reason = if let Some((_, processor)) = processor {
        format!("LLVM writes no stack maps for {processor}, so roots on the stack could not be found")
    } else if has(&["darwin", "macos", "apple", "ios"]) {
        "the runtime is not ported to macOS (docs/port/platforms.md says what is missing)".to_owned()
    } else if has(&["windows", "win32", "mingw", "cygwin"]) {
        "the runtime is not ported to Windows (docs/port/platforms.md says what is missing)".to_owned()
    } else {
        "the runtime is not ported to it".to_owned()
    };
    format!("{reason}; {SUPPORTED}")
}

/// Why a module or this machine is not supported.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The module is for a machine that Tally makes no code for.
    #[error(
        "{file}: compiled for target \"{triple}\", which is not supported: {reason}; remove the `target triple` line of portable IR"
    )]
    ForeignTriple {
        /// The module's file.
        file: String,
        /// The triple it names.
        triple: String,
        /// Why not.
        reason: String,
    },
    /// The module is for another machine than the one that is compiled for.
    #[error(
        "{file}: compiled for target \"{triple}\", and code is made for {target}: say --target {other}, or compile it for {target}"
    )]
    OtherTarget {
        /// The module's file.
        file: String,
        /// The triple it names.
        triple: String,
        /// What code is made for.
        target: Target,
        /// The module's target.
        other: Target,
    },
    /// The module's idea of sizes and alignments differs from the machine's.
    #[error(
        "{file}: its `target datalayout` \"{found}\" says \"{part}\", and the one of {target} is \"{expected}\"; remove or correct the line"
    )]
    ForeignLayout {
        /// The module's file.
        file: String,
        /// The layout it names.
        found: String,
        /// What of it is not so here.
        part: String,
        /// The target.
        target: Target,
        /// The layout of the target.
        expected: String,
    },
    /// This LLVM cannot generate code for the target.
    #[error("this LLVM cannot generate code for {0}: {1}")]
    Unavailable(Target, String),
}

/// Makes LLVM know a target; twice is as good as once.
pub(crate) fn initialize(target: Target) {
    match target {
        Target::X86_64 => Processor::initialize_x86(&InitializationConfig::default()),
        Target::AArch64 => Processor::initialize_aarch64(&InitializationConfig::default()),
        Target::RiscV64 => Processor::initialize_riscv(&InitializationConfig::default()),
    }
}

/// A code generator of the host's for `level`.
pub fn machine(level: Level) -> Result<TargetMachine, TargetError> {
    machine_of(Target::host(), level)
}

/// A code generator for `level`.
pub(crate) fn machine_of(target: Target, level: Level) -> Result<TargetMachine, TargetError> {
    initialize(target);
    let triple = TargetTriple::create(target.triple());
    let unavailable = |why: String| TargetError::Unavailable(target, why);
    let (reloc, model) = (RelocMode::PIC, CodeModel::Small);
    let machine = Processor::from_triple(&triple)
        .map_err(|error| unavailable(error.to_string()))?
        .create_target_machine(&triple, target.processor(), target.features(), level.code_generation(), reloc, model)
        .ok_or_else(|| unavailable("no such target machine".into()))?;
    // SAFETY: the machine was just made and nothing else uses it.
    unsafe { LLVMSetTargetMachineGlobalISel(machine.as_mut_ptr(), 0) };
    Ok(machine)
}

/// A code generator for the target that a module names, else the host.
///
/// # Errors
/// There is no code for it.
pub(crate) fn machine_for(module: &Module, level: Level) -> Result<TargetMachine, TargetError> {
    machine_of(Target::of(crate::llvm::Module::of(module)), level)
}

/// The target of a code generator of ours.
pub(crate) fn of_machine(machine: &TargetMachine) -> Target {
    Target::of_processor(&machine.get_triple().as_str().to_string_lossy()).unwrap_or_default()
}

/// Checks that `module` is for this target, and sets the target's layout, and its name in a module that names none, or only the
/// processor.
pub fn adopt(module: &Module, file: &Path, machine: &TargetMachine) -> Result<(), TargetError> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy();
    let (target, file) = (of_machine(machine), file.display().to_string());
    let named = match Target::of_bare_triple(&triple) {
        _ if triple.is_empty() => None,
        Some(bare) => (bare != target).then_some(bare),
        None => match Target::of_triple(&triple) {
            Some(named) => Some(named),
            None => {
                let reason = reason_against(&triple);
                return Err(TargetError::ForeignTriple { file, triple: triple.into_owned(), reason });
            }
        },
    };
    match named {
        None => module.set_triple(&machine.get_triple()),
        Some(named) if named == target => {}
        Some(other) => return Err(TargetError::OtherTarget { file, triple: triple.into_owned(), target, other }),
    }
    let expected = machine.get_target_data().get_data_layout();
    let expected_text = expected.as_str().to_string_lossy();
    let found = module.get_data_layout().as_str().to_string_lossy().into_owned();
    if let Some(part) = data_layout::conflict(&found, &expected_text, |space| has_pointers_of(module, space)) {
        let part = part.to_owned();
        let expected = expected_text.into_owned();
        return Err(TargetError::ForeignLayout { file, part, found: found.clone(), target, expected });
    }
    module.set_data_layout(&expected);
    Ok(())
}

fn has_pointers_of(module: &Module, space: u32) -> bool {
    module.print_to_string().to_string().contains(&format!("addrspace({space})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_of_other_machines_are_told_apart() {
        for ours in ["x86_64-pc-linux-gnu", "x86_64-unknown-linux-musl", "x86_64-linux"] {
            assert_eq!(Target::of_triple(ours), Some(Target::X86_64), "{ours}");
        }
        for ours in ["aarch64-unknown-linux-gnu", "aarch64-linux-gnu", "arm64-unknown-linux-musl"] {
            assert_eq!(Target::of_triple(ours), Some(Target::AArch64), "{ours}");
        }
        for ours in ["riscv64gc-unknown-linux-gnu", "riscv64-unknown-linux-gnu", "riscv64-linux-musl"] {
            assert_eq!(Target::of_triple(ours), Some(Target::RiscV64), "{ours}");
        }
        for ours in ["x86_64", "x86_64-unknown-unknown", "x86_64-unknown-unknown-elf", "amd64-pc-unknown"] {
            assert_eq!(Target::of_bare_triple(ours), Some(Target::X86_64), "{ours}");
        }
        for other in [
            "x86_64-unknown-none",
            "x86_64-unknown-freebsd",
            "x86_64-apple-macosx",
            "x86_64-pc-windows-msvc",
            "x86_64-pc-linux-gnux32",
            "aarch64-unknown-linux-gnu_ilp32",
            "aarch64_be-unknown-linux-gnu",
            "riscv64be-unknown-linux-gnu",
            "riscv32gc-unknown-linux-gnu",
            "riscv64gc-unknown-none-elf",
            "i686-pc-linux-gnu",
        ] {
            assert!(Target::of_triple(other).is_none() && Target::of_bare_triple(other).is_none(), "{other}");
        }
    }

    #[test]
    fn processors_without_stack_maps_are_refused_by_name() {
        for (triple, name) in [
            ("powerpc64le-unknown-linux-gnu", "64-bit POWER"),
            ("s390x-unknown-linux-gnu", "s390x"),
            ("armv7-unknown-linux-gnueabihf", "32-bit Arm"),
            ("arm-unknown-linux-gnueabi", "32-bit Arm"),
            ("wasm32-unknown-unknown", "WebAssembly"),
            ("loongarch64-unknown-linux-gnu", "LoongArch"),
            ("i686-unknown-linux-gnu", "32-bit x86"),
        ] {
            let refused = triple.parse::<Target>().expect_err(triple);
            let expected = format!("LLVM writes no stack maps for {name}");
            assert!(refused.contains(&expected) && refused.contains("aarch64 and riscv64 Linux work"), "{refused}");
        }
        for (triple, why) in [
            ("aarch64-apple-darwin", "not ported to macOS"),
            ("x86_64-pc-windows-msvc", "not ported to Windows"),
            ("riscv32gc-unknown-linux-gnu", "not ported to it"),
            ("x86_64-unknown-freebsd", "not ported to it"),
        ] {
            let refused = triple.parse::<Target>().expect_err(triple);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
