//! Names of processors, as LLVM knows them.
//!
//! The C API has no function for this, and a name that LLVM does not know ends in a fatal error of the code
//! generator. So LLVM's list is read by the C++ function, which LLVM exports and llvm-sys fixes to one version.

unsafe extern "C" {
    /// `X86::CPUKind llvm::X86::parseArchX86(StringRef, bool Only64Bit)`: a `StringRef` is an address and a length,
    /// and is passed as these two; 0 is `CK_None`.
    #[link_name = "_ZN4llvm3X8612parseArchX86ENS_9StringRefEb"]
    fn parse_arch_x86(name: *const u8, length: usize, only_64_bit: bool) -> u32;
}

/// A processor of the x86 family, as LLVM knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processor {
    Unknown,
    /// One without 64-bit code.
    Of32Bits,
    Of64Bits,
}

impl Processor {
    pub(crate) fn named(name: &str) -> Processor {
        // SAFETY: LLVM reads `length` bytes of the name, and keeps nothing.
        let is_known = |only_64_bit| unsafe { parse_arch_x86(name.as_ptr(), name.len(), only_64_bit) } != 0;
        match name {
            "" | "generic" => Processor::Of64Bits,
            _ if is_known(true) => Processor::Of64Bits,
            _ if is_known(false) => Processor::Of32Bits,
            _ => Processor::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Processor;

    #[test]
    fn processors_are_known_by_name() {
        for name in
            ["", "generic", "x86-64", "x86-64-v3", "znver4", "skylake-avx512", "k8-sse3", "nocona", "sapphirerapids"]
        {
            assert_eq!(Processor::named(name), Processor::Of64Bits, "{name}");
        }
        for name in ["i386", "pentium4", "geode", "athlon-xp"] {
            assert_eq!(Processor::named(name), Processor::Of32Bits, "{name}");
        }
        for name in ["pentium99", "native", "cortex-a53", "x86"] {
            assert_eq!(Processor::named(name), Processor::Unknown, "{name}");
        }
    }
}
