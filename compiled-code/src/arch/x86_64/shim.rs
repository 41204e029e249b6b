//! The shims of entry points on x86-64.

/// The instructions by which a shim notes where compiled code was left: return address, stack pointer, rbp and rbx go to
/// the thread's context, whose address stays in rax; r10 is lost.
#[macro_export]
macro_rules! note_exit {
    () => {
        concat!(
            "mov rax, qword ptr [rip + tally_context@GOTTPOFF]\n",
            "add rax, qword ptr fs:[0]\n",
            "mov r10, qword ptr [rsp]\n",
            "mov qword ptr [rax + 32], r10\n",
            "lea r10, [rsp + 8]\n",
            "mov qword ptr [rax + 40], r10\n",
            "mov qword ptr [rax + 48], rbp\n",
            "mov qword ptr [rax + 56], rbx",
        )
    };
}

/// Defines a naked shim that writes the exit anchor and jumps to `$target`.
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
                "jmp {target}",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}

/// Defines a naked shim with calling convention `preserve_most` (every general register but r11 comes back unchanged)
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
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 72",
                "call {target}",
                "add rsp, 8",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                ".cfi_adjust_cfa_offset -72",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
pub(crate) use preserving_shim;
