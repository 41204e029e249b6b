//! The part of Rust's library that executables do without: the names of functions in a panic's backtrace.
//!
//! Rust's panic handler can always print a backtrace, so a linker must keep its reader of debug information, 220 KB of code. The runtime has a function
//! that prints addresses (`tally_compiled::abi::panic_frames`), and lld is told that it is the one by which a backtrace is printed. Its
//! name is looked up among the symbols of the runtime library, because it contains the compiler's version. If there is not exactly one such
//! symbol, the executable keeps the standard library's: it is larger, and nothing else changes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tally_compiled::abi::panic_frames::PANIC_FRAMES;

/// The word for lld, or none.
pub(super) fn without_names(runtime: &Path) -> Option<String> {
    let index = symbol_index(runtime)?;
    let mut printers = index.split(|&byte| byte == 0).filter(|name| prints_backtraces(name));
    let printer = std::str::from_utf8(printers.next()?).ok()?;
    printers.next().is_none().then(|| format!("-Wl,--defsym={printer}={PANIC_FRAMES}"))
}

/// Whether a symbol is that of `<std::sys::backtrace::BacktraceLock::print::DisplayBacktrace as core::fmt::Display>::fmt`. Each word has its
/// length in front of it.
fn prints_backtraces(name: &[u8]) -> bool {
    let words = ["3std3sys9backtrace", "13BacktraceLock5print", "16DisplayBacktrace", "4core3fmt7Display3fmt"];
    std::str::from_utf8(name).is_ok_and(|name| name.starts_with("_R") && words.iter().all(|word| name.contains(word)))
}

/// The names of an archive's symbols, which its first member has: `/`, numbers in front of them.
fn symbol_index(archive: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(archive).ok()?;
    let mut head = [0; 68];
    file.read_exact(&mut head).ok()?;
    let is_index = head.starts_with(b"!<arch>\n/ ");
    let size = std::str::from_utf8(head.get(56..66)?).ok()?.trim_end().parse::<u64>().ok().filter(|_| is_index)?;
    let mut index = Vec::new();
    file.take(size).read_to_end(&mut index).ok()?;
    let count = u32::from_be_bytes(*index.first_chunk()?) as usize;
    index.drain(..count.checked_mul(4)?.checked_add(4).filter(|&names| names <= index.len())?);
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_without_the_symbol_are_linked_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let word = |bytes: &[u8]| {
            let archive = folder.path().join("libtally.a");
            std::fs::write(&archive, bytes).unwrap();
            without_names(&archive)
        };
        let printer = "_RNvXNvMNtNtCsjr_3std3sys9backtraceNtB5_13BacktraceLock5printNtB2_16DisplayBacktraceNtNtCsgE_4core3fmt7Display3fmt";
        let archive = |names: &[&str]| {
            let mut index = (names.len() as u32).to_be_bytes().to_vec();
            index.extend(vec![0; 4 * names.len()]);
            names.iter().for_each(|name| index.extend([name.as_bytes(), b"\0"].concat()));
            let head = format!("!<arch>\n{:<16}{:<32}{:<10}`\n", "/", "", index.len());
            [head.as_bytes(), &index].concat()
        };
        assert_eq!(word(&archive(&["main", printer])), Some(format!("-Wl,--defsym={printer}=tally_panic_frames")));
        assert_eq!(word(&archive(&["main", "_R3std"])), None);
        assert_eq!(word(&archive(&[printer, &format!("{printer}2")])), None);
        let cut = archive(&["main", printer]);
        assert!(
            (0..cut.len()).all(|length| word(&cut[..length]).is_none_or(|word| word.ends_with("=tally_panic_frames")))
        );
        assert_eq!(word(b"not an archive"), None);
    }
}
