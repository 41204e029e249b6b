//! The shims of entry points on AArch64.
//!
//! A shim of a safepoint keeps a frame of its own, since a call pushes nothing here: the walk finds the return address and the
//! frame pointer of compiled code where x86-64 has them, just below its stack pointer.

/// The instructions by which a shim notes where compiled code was left: return address, stack pointer, x29 and x19 go to
/// the thread's context, whose address stays in x16; x17 is lost.
#[macro_export]
macro_rules! note_exit {
    () => {
        concat!(
            "adrp x16, :gottprel:tally_context\n",
            "ldr x16, [x16, :gottprel_lo12:tally_context]\n",
            "mrs x17, tpidr_el0\n",
            "add x16, x16, x17\n",
            "mov x17, sp\n",
            "stp x30, x17, [x16, #32]\n",
            "stp x29, x19, [x16, #48]",
        )
    };
}

/// Defines a naked shim that writes the exit anchor and calls `$target`.
#[macro_export]
macro_rules! safepoint_shim {
    ($(#[$doc:meta])* $name:ident => $target:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by compiled code with the arguments that `tally.h` states.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                $crate::note_exit!(),
                "stp x29, x30, [sp, #-16]!",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset x29, -16",
                ".cfi_offset x30, -8",
                "mov x29, sp",
                "bl {target}",
                "ldp x29, x30, [sp], #16",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}

/// Defines a naked shim with calling convention `preserve_most` (every general register but x0 to x8 and x16 to x18 comes
/// back unchanged) that calls `$target`.
macro_rules! preserving_shim {
    ($(#[$doc:meta])* $name:ident($($parameter:ident),*) => $target:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: u64),*) {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                leaf_row!($name),
                "stp x29, x30, [sp, #-80]!",
                ".cfi_def_cfa_offset 80",
                ".cfi_offset x29, -80",
                ".cfi_offset x30, -72",
                "mov x29, sp",
                "stp x9, x10, [sp, #16]",
                "stp x11, x12, [sp, #32]",
                "stp x13, x14, [sp, #48]",
                "str x15, [sp, #64]",
                "bl {target}",
                "ldr x15, [sp, #64]",
                "ldp x13, x14, [sp, #48]",
                "ldp x11, x12, [sp, #32]",
                "ldp x9, x10, [sp, #16]",
                "ldp x29, x30, [sp], #80",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
pub(crate) use preserving_shim;
