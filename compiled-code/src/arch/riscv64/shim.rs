//! The shims of entry points on RISC-V.
//!
//! A shim of a safepoint keeps a frame of its own, since a call pushes nothing here: the walk finds the return address and the
//! frame pointer of compiled code where x86-64 has them, just below its stack pointer. Every RISC-V function saves them there.

/// The instructions by which a shim notes where compiled code was left: return address, stack pointer, s0 and s1 go to
/// the thread's context, whose address stays in t0.
#[macro_export]
macro_rules! note_exit {
    () => {
        concat!(
            "la.tls.ie t0, tally_context\n",
            "add t0, t0, tp\n",
            "sd ra, 32(t0)\n",
            "sd sp, 40(t0)\n",
            "sd s0, 48(t0)\n",
            "sd s1, 56(t0)",
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
                "addi sp, sp, -16",
                ".cfi_def_cfa_offset 16",
                "sd ra, 8(sp)",
                "sd s0, 0(sp)",
                ".cfi_offset ra, -8",
                ".cfi_offset s0, -16",
                "addi s0, sp, 16",
                "call {target}",
                "ld ra, 8(sp)",
                "ld s0, 0(sp)",
                "addi sp, sp, 16",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore ra",
                ".cfi_restore s0",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}

/// Defines a naked shim with calling convention `preserve_most` (every general register but t1, t2 and t3 comes back unchanged)
/// that calls `$target`.
macro_rules! preserving_shim {
    ($(#[$doc:meta])* $name:ident($($parameter:ident),*) => $target:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: u64),*) {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                leaf_row!($name),
                "addi sp, sp, -112",
                ".cfi_def_cfa_offset 112",
                "sd ra, 104(sp)",
                "sd s0, 96(sp)",
                ".cfi_offset ra, -8",
                ".cfi_offset s0, -16",
                "addi s0, sp, 112",
                "sd a0, 88(sp)",
                "sd a1, 80(sp)",
                "sd a2, 72(sp)",
                "sd a3, 64(sp)",
                "sd a4, 56(sp)",
                "sd a5, 48(sp)",
                "sd a6, 40(sp)",
                "sd a7, 32(sp)",
                "sd t0, 24(sp)",
                "sd t4, 16(sp)",
                "sd t5, 8(sp)",
                "sd t6, 0(sp)",
                "call {target}",
                "ld a0, 88(sp)",
                "ld a1, 80(sp)",
                "ld a2, 72(sp)",
                "ld a3, 64(sp)",
                "ld a4, 56(sp)",
                "ld a5, 48(sp)",
                "ld a6, 40(sp)",
                "ld a7, 32(sp)",
                "ld t0, 24(sp)",
                "ld t4, 16(sp)",
                "ld t5, 8(sp)",
                "ld t6, 0(sp)",
                "ld ra, 104(sp)",
                "ld s0, 96(sp)",
                "addi sp, sp, 112",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore ra",
                ".cfi_restore s0",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
pub(crate) use preserving_shim;
