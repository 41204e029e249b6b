//! Any bytes as a table of frames that another tool wrote: the first byte chooses the reader. Nothing may panic, or read
//! out of bounds.

use stack_roots::{Convention, FrameTable, Lookup, RootsIn, elf_section, gcroot_offsets, stack_map};

/// The readers, by the remainder of the first byte.
pub const READERS: u8 = 4;

/// Returns whether a table was made of the bytes, or a section found.
pub fn check(bytes: &[u8]) -> bool {
    let Some((&reader, bytes)) = bytes.split_first() else { return false };
    let table = match reader % READERS {
        0 => {
            let Ok(map) = stack_map::read(bytes) else { return false };
            let convention =
                Convention { roots: RootsIn::Statepoints, keeps_frame_pointer: false, ..Convention::LOWERED };
            FrameTable::build_as(convention, &map, |function| Some(function.address))
        }
        1 => gcroot_offsets::read_ocaml(bytes).map_or_else(|error| refused(&error), FrameTable::of_calls),
        2 => gcroot_offsets::read_erlang(bytes, 1 << 44).map_or_else(|error| refused(&error), FrameTable::of_calls),
        _ => {
            let read = |offset: u64, length: usize| bytes.get(offset as usize..)?.get(..length).map(<[u8]>::to_vec);
            let found = elf_section::find(bytes.len() as u64, read, ".note.gc");
            return found.is_ok_and(|section| section.is_some_and(|section| section.len() <= bytes.len()));
        }
    };
    let Ok(table) = table else { return false };
    for frame in table.frames() {
        assert!(frame.needs_unwinder && table.lookup(frame.pc) == Some(frame), "a frame that is listed is found");
    }
    !table.is_empty()
}

/// A table without calls in place of one that is refused; what is refused says where and why, on one line.
fn refused(error: &gcroot_offsets::OffsetsError) -> Result<FrameTable, stack_roots::TableError> {
    let said = error.to_string();
    assert!(said.len() < 300 && !said.contains('\n'), "{said}");
    FrameTable::of_calls([])
}
