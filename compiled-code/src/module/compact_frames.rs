//! Frames of a module whose map is Tally's own: the map stays where it is, and its sections of code are found.
//!
//! Most maps name their code by its distance. Code in a section that the linker may drop, where another module has the
//! same function, is named through the global offset table. The pointer there may lead to another library, whose
//! module describes that function: then this one has nothing to say. `[MAP]` A pointer is read only where its file is in
//! memory.

use crate::module::loaded_file::LoadedFile;
use stack_roots::{CompactTable, FrameTable, compact_map};
use std::ops::Range;

/// Reads the map of a module, which stays until the module is unregistered.
pub(super) fn of(bytes: &'static [u8]) -> Result<FrameTable, String> {
    let address = bytes.as_ptr() as u64;
    let map = compact_map::read(bytes).map_err(|error| error.to_string())?;
    let has_pointers = map.groups().any(|group| group.is_through_pointer);
    let file = if has_pointers { LoadedFile::of(address) } else { None };
    let readable = match &file {
        Some(file) => file.ranges.clone(),
        None if has_pointers => readable_ranges(),
        None => vec![],
    };
    let mut fault = None;
    let table = CompactTable::new(map, |group| {
        let place = group.address(address);
        if !group.is_through_pointer {
            return Some(place);
        }
        if !place.is_multiple_of(8) || !holds(&readable, place) {
            fault =
                Some(format!("a pointer to code would be at {place:#x}; the section is damaged or was not relocated"));
            return None;
        }
        // SAFETY: a word of the module's file in memory, or of memory that can be read.
        let code = unsafe { *(place as *const u64) };
        (file.is_none() || holds(&readable, code)).then_some(code)
    });
    match fault {
        Some(fault) => Err(fault),
        None => table.map(FrameTable::in_place).map_err(|error| error.to_string()),
    }
}

fn holds(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

/// The memory that can be read. Code that was linked in this process has no file.
fn readable_ranges() -> Vec<Range<u64>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let range = |line: &str| {
        let (range, rights) = line.split_once(' ')?;
        let (start, end) = range.split_once('-').filter(|_| rights.starts_with('r'))?;
        Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stack_roots::Lookup;
    use std::sync::atomic::{AtomicU64, Ordering};

    use stack_roots::compact_map::writer::{GroupCalls, WrittenCall, write};

    static CODE: u64 = 0;

    /// A map whose only code is found through a pointer at `place`, in memory that stays.
    fn map_through(place: u64) -> &'static [u8] {
        let call = WrittenCall { return_offset: 5, function_offset: 0, frame_size: None, roots: vec![] };
        let mut written = write(&[GroupCalls { is_through_pointer: true, calls: vec![call] }], false).unwrap();
        let length = written.bytes.len();
        // SAFETY: mmap of fresh memory, near the executable's data: the distance has 32 bits.
        let memory = unsafe {
            static PAGES: AtomicU64 = AtomicU64::new(0);
            let page = PAGES.fetch_add(1, Ordering::Relaxed);
            let near = (&raw const CODE as u64 & !0xfff) - (1 << 26) - (page << 16);
            let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(near as *mut _, 4096, rights, flags, -1, 0)
        };
        assert_ne!(memory, libc::MAP_FAILED);
        let at = memory as u64;
        assert!(place.abs_diff(at) < 1 << 31);
        let distance = place.wrapping_sub(at + written.places[0] as u64) as u32;
        let field = written.places[0];
        written.bytes[field..field + 4].copy_from_slice(&distance.to_le_bytes());
        // SAFETY: the page was just made and is as long as that.
        unsafe { std::ptr::copy_nonoverlapping(written.bytes.as_ptr(), memory.cast(), length) };
        // SAFETY: the page holds the map.
        unsafe { std::slice::from_raw_parts(memory.cast(), length) }
    }

    #[test]
    fn code_behind_a_pointer_is_found() {
        static POINTER: &u64 = &CODE;
        let table = of(map_through(&raw const POINTER as u64)).unwrap();
        let code = &raw const CODE as u64;
        assert_eq!(table.range(), Some((code + 5, code + 5)));
        assert!(table.lookup(code + 5).is_some() && table.lookup(code).is_none());
    }

    #[test]
    fn pointer_that_cannot_be_read_is_refused() {
        let unmapped = (&raw const CODE as u64 & !0xfff) - (1 << 27);
        for place in [unmapped, &raw const CODE as u64 + 1] {
            let error = of(map_through(place)).unwrap_err();
            assert!(error.contains(&format!("{place:#x}")), "{error}");
        }
    }
}
