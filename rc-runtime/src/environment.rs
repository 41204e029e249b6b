//! Variables of the environment, read only where the user who set them is trusted.
//!
//! A set-user-id, set-group-id or capability-raising program runs with more rights than the user that starts it, and that user
//! sets its environment. The kernel marks such a start by `AT_SECURE` in the auxiliary vector. Then no `TALLY_*` variable is
//! read: `TALLY_STATS` would let any user write files with the program's rights. The C library ignores `LD_PRELOAD` and the
//! like for the same reason. Everything here that reads the environment goes through [`variable`]. `[ENVIRONMENT]`

use std::ffi::OsString;

/// The variable's value; `None` also where the environment is not trusted. What is no UTF-8 in it becomes U+FFFD, which no option
/// has in its value: a variable that cannot be read is a mistake, and not one that is not there.
pub fn variable(name: &str) -> Option<String> {
    Some(raw_variable(name)?.to_string_lossy().into_owned())
}

/// The same for values that are names of files.
pub fn raw_variable(name: &str) -> Option<OsString> {
    if is_trusted(auxiliary) { std::env::var_os(name) } else { None }
}

/// A number of bytes: a number and an optional unit B, K/KB/KiB, M/MB/MiB, G/GB/GiB, T/TB/TiB (all powers of 1024).
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The digits that a text begins with, and what comes after them.
pub fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Whether the environment was set by a user with the process's own rights. `auxiliary` reads the auxiliary vector.
fn is_trusted(auxiliary: impl Fn(u64) -> u64) -> bool {
    auxiliary(libc::AT_SECURE) == 0
}

fn auxiliary(key: u64) -> u64 {
    // SAFETY: reads a word of the vector that the kernel gave the process; 0 for a key that is not there.
    unsafe { libc::getauxval(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_started_with_more_rights_trusts_no_variable() {
        let vector = |secure| move |key| if key == libc::AT_SECURE { secure } else { 1 };
        assert!(is_trusted(vector(0)));
        assert!(!is_trusted(vector(1)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it reads the auxiliary vector")]
    fn this_process_reads_its_own_environment() {
        assert_eq!(variable("PATH"), std::env::var("PATH").ok());
    }
}
