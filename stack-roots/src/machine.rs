//! The processors whose frames are known: by which registers code addresses a frame, and how a frame leads to its caller.
//!
//! The rules are data, not `cfg`: tables of an object for another processor can be listed, and each walk can be tested anywhere.
//!
//! ```text
//! x86-64   saved pair at fp; the caller's sp = fp + 16
//! AArch64  saved pair at fp; the caller's sp = sp + size of the frame: the other saved registers lie above the pair
//! RISC-V   saved pair at fp - 16; the caller's sp = sp + size of the frame: saved variadic arguments lie above fp
//! ```
//!
//! A frame of AArch64 or RISC-V whose size varies (dynamic allocas, over-alignment) is left to the unwinder.
//!
//! Sources: System V ABI, AMD64 supplement, 3.2.2 and figure 3.36; Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6;
//! DWARF for the Arm 64-bit Architecture, 4.1; llvm/lib/Target/AArch64/AArch64FrameLowering.cpp; RISC-V ELF psABI, 2.2 and "DWARF
//! register numbers"; llvm/lib/Target/RISCV/RISCVFrameLowering.cpp.

use crate::arch;
use crate::root_records::BaseRegister;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    AArch64,
    /// 64-bit RISC-V.
    RiscV64,
}

impl Machine {
    /// The one that this process runs on.
    pub const NATIVE: Machine = match arch::ELF_MACHINE {
        183 => Machine::AArch64,
        243 => Machine::RiscV64,
        _ => Machine::X86_64,
    };

    /// The register that a DWARF number names, if code addresses frames by it.
    pub(crate) fn base_register(self, dwarf: u16) -> Option<BaseRegister> {
        match (self, dwarf) {
            (Machine::X86_64, 7) | (Machine::AArch64, 31) | (Machine::RiscV64, 2) => Some(BaseRegister::Rsp),
            (Machine::X86_64, 6) | (Machine::AArch64, 29) | (Machine::RiscV64, 8) => Some(BaseRegister::Rbp),
            (Machine::X86_64, 3) | (Machine::AArch64, 19) | (Machine::RiscV64, 9) => Some(BaseRegister::Rbx),
            _ => None,
        }
    }

    /// The name of a register.
    pub(crate) fn register_name(self, register: BaseRegister) -> &'static str {
        match (self, register) {
            (Machine::X86_64, BaseRegister::Rsp) => "rsp",
            (Machine::X86_64, BaseRegister::Rbp) => "rbp",
            (Machine::X86_64, BaseRegister::Rbx) => "rbx",
            (Machine::AArch64 | Machine::RiscV64, BaseRegister::Rsp) => "sp",
            (Machine::AArch64, BaseRegister::Rbp) => "x29",
            (Machine::AArch64, BaseRegister::Rbx) => "x19",
            (Machine::RiscV64, BaseRegister::Rbp) => "s0",
            (Machine::RiscV64, BaseRegister::Rbx) => "s1",
        }
    }

    /// Whether only the size of a frame leads to its caller's stack pointer.
    #[inline(always)]
    pub const fn needs_frame_size(self) -> bool {
        matches!(self, Machine::AArch64 | Machine::RiscV64)
    }

    /// The address of the pair that a frame saves, the caller's frame pointer and the return address above it, by the frame pointer.
    #[inline(always)]
    pub const fn saved_pair(self, fp: u64) -> u64 {
        match self {
            Machine::X86_64 | Machine::AArch64 => fp,
            Machine::RiscV64 => fp.wrapping_sub(16),
        }
    }

    /// Bytes that a call pushes.
    pub(crate) const fn pushed_by_call(self) -> u64 {
        match self {
            Machine::X86_64 => 8,
            Machine::AArch64 | Machine::RiscV64 => 0,
        }
    }
}
