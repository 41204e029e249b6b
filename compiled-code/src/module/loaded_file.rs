//! The file that an address of this process was loaded from: its path, and how far it was moved.
//!
//! `foreign_frames` needs it for tables that are in the file and not in memory. The dynamic linker tells.

use libc::{c_int, c_void, dl_phdr_info, size_t};
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A loaded executable or shared library.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoadedFile {
    pub(crate) path: PathBuf,
    /// The distance from the file's addresses to those in memory.
    pub(crate) bias: u64,
    /// The memory that it was loaded into.
    pub(crate) ranges: Vec<Range<u64>>,
}

impl LoadedFile {
    /// The file that `address` lies in.
    pub(crate) fn of(address: u64) -> Option<LoadedFile> {
        let mut search = Search { address, found: None };
        // SAFETY: the callback gets this very pointer, while `search` is not otherwise used.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
        search.found
    }

    /// The bytes of its section `name`; `None` if it has none.
    pub(crate) fn section(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", self.path.display());
        let file = File::open(&self.path).map_err(|error| wrong(&error))?;
        let size = file.metadata().map_err(|error| wrong(&error))?.len();
        let read = |offset: u64, length: usize| {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(length).ok()?;
            bytes.resize(length, 0);
            file.read_exact_at(&mut bytes, offset).ok()?;
            Some(bytes)
        };
        stack_roots::elf_section::find(size, read, name).map_err(|error| wrong(&error))
    }
}

struct Search {
    address: u64,
    found: Option<LoadedFile>,
}

/// # Safety
/// `search` is a `Search`, and `info` describes a loaded file.
unsafe extern "C" fn look(info: *mut dl_phdr_info, _: size_t, search: *mut c_void) -> c_int {
    // SAFETY: by the caller's promise.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: by the caller's promise.
    let info = unsafe { &*info };
    // SAFETY: the dynamic linker counts the headers of the file.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let holds = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        header.p_type == libc::PT_LOAD && search.address.wrapping_sub(start) < header.p_memsz
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: a name of the dynamic linker's.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    // The program itself has no name.
    let path = if name.is_empty() { OsStr::new("/proc/self/exe") } else { OsStr::from_bytes(name.to_bytes()) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let ranges = loaded.map(|header| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    });
    search.found = Some(LoadedFile { path: path.into(), bias: info.dlpi_addr, ranges: ranges.collect() });
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_and_the_c_library_are_found_and_nothing_else() {
        let own = LoadedFile::of(&raw const DATA as u64).unwrap();
        assert_eq!(own.path, PathBuf::from("/proc/self/exe"));
        let text = own.section(".rodata").unwrap().unwrap();
        assert!(text.windows(DATA.len()).any(|window| window == DATA));
        assert_eq!(own.section(".no.such.section"), Ok(None));
        let library = LoadedFile::of(libc::getpid as *const () as u64).unwrap();
        assert!(library.path.to_string_lossy().contains("libc"), "{library:?}");
        assert_eq!(LoadedFile::of(8), None);
    }

    static DATA: [u8; 24] = *b"bytes that only this has";
}
