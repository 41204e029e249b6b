//! The frames of a panic as addresses, for executables.
//!
//! Rust's library names the functions of a panic's backtrace, for which it reads debug information: a seventh of a program of ten lines. A panic is a
//! fault of the runtime, its message says where, and `addr2line` names the rest. `tally build` puts this function in that one's place
//! (`frontend-glue/src/aot/std_backtrace.rs`); nothing else refers to it, and hosts in Rust keep theirs.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;

/// The name of the symbol.
pub const PANIC_FRAMES: &str = "tally_panic_frames";

/// Prints the frames of this thread, a line each. It is called as `<DisplayBacktrace as Display>::fmt` of Rust's library is, by the same compiler.
#[unsafe(no_mangle)]
fn tally_panic_frames(_backtrace: &u8, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: asks for a number.
    let own = unsafe { libc::getauxval(libc::AT_PHDR) } & !0xfff;
    writeln!(
        out,
        "stack backtrace (addr2line -f -e FILE ADDRESS names the functions; the executable is at {own:#x}):"
    )?;
    let mut frames = Frames { out, number: 0, result: Ok(()) };
    // SAFETY: the function is one for frames, and the argument is what it expects.
    unsafe { _Unwind_Backtrace(print, (&raw mut frames).cast()) };
    frames.result
}

/// Frames are printed up to here.
const FRAMES_MAX: u32 = 64;
const GO_ON: c_int = 0;
const END: c_int = 5;

struct Frames<'o, 'f> {
    out: &'o mut fmt::Formatter<'f>,
    number: u32,
    result: fmt::Result,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(of_frame: extern "C" fn(*mut c_void, *mut c_void) -> c_int, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

extern "C" fn print(context: *mut c_void, frames: *mut c_void) -> c_int {
    // SAFETY: what `tally_panic_frames` gave, and still waits for.
    let frames = unsafe { &mut *frames.cast::<Frames<'_, '_>>() };
    // SAFETY: the unwinder's context of this frame.
    let pc = unsafe { _Unwind_GetIP(context) };
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address, and a place for the answer.
    let is_found = unsafe { libc::dladdr(pc as *const c_void, &raw mut found) } != 0 && !found.dli_fname.is_null();
    let number = frames.number;
    frames.result = match is_found {
        false => writeln!(frames.out, "{number:4}: {pc:#x}"),
        true => {
            // SAFETY: a C string of the dynamic linker's.
            let file = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
            writeln!(frames.out, "{number:4}: {file} {:#x}", pc - found.dli_fbase as usize)
        }
    };
    frames.number += 1;
    if frames.result.is_ok() && frames.number < FRAMES_MAX { GO_ON } else { END }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panic;

    impl fmt::Display for Panic {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            tally_panic_frames(&0, out)
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it walks machine code")]
    fn frames_are_files_and_addresses_in_them() {
        let said = Panic.to_string();
        let lines: Vec<&str> = said.lines().collect();
        let own = std::env::current_exe().unwrap();
        let own = own.file_name().unwrap().to_str().unwrap();
        assert!(
            lines[0].starts_with(
                "stack backtrace (addr2line -f -e FILE ADDRESS names the functions; the executable is at 0x"
            )
        );
        assert!(lines[1].starts_with("   0: ") && lines[1].contains(own) && lines[1].contains(" 0x"), "{said}");
        assert!((3..=1 + FRAMES_MAX as usize).contains(&lines.len()), "{said}");
    }
}
