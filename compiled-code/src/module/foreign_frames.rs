//! Frames of code that other tools compiled: stock `llc` and `clang`, by one of LLVM's own strategies.
//!
//! The code of such a module does not name its roots to Tally, but to a table of LLVM's. A [`FrameRecord`] says which table and
//! where; `tally build FILE.ll FOREIGN.o` makes the records, and a host that links by itself writes them in C (`tally.h`).
//! The readers are in `stack-roots`. From there on such a frame is one of the frame table, and its roots are plain
//! references. Nothing counts them, so they are for the trace plan.
//!
//! | kind | the table |
//! |---|---|
//! | 1 | stack maps of statepoints (`statepoint-example`, `coreclr`), from `begin` to `end` |
//! | 2 | a module's frame table of `ocaml`, at `begin` |
//! | 3 | the section `.note.gc` of `erlang`, in the file that the record itself was loaded from |
//! | 4 | none: the roots of `shadow-stack` are in a chain (`stack::shadow_stack`) |

use crate::module::loaded::{self, readable_bytes_from};
use crate::module::loaded_file::LoadedFile;
use crate::module::registry::{self, ModuleError, text};
use stack_roots::{Convention, FrameTable, RootsIn, gcroot_offsets, stack_map};
use std::ffi::c_char;
use std::sync::atomic::Ordering;
use tally_heap::fatal::{self, STATUS_USAGE};

/// The version of [`FrameRecord`].
pub const FRAMES_VERSION: u32 = 1;

/// Stack maps of statepoints.
pub const FRAMES_STATEPOINTS: u32 = 1;
/// A frame table of OCaml's.
pub const FRAMES_OCAML: u32 = 2;
/// A section of Erlang's.
pub const FRAMES_ERLANG: u32 = 3;
/// LLVM's shadow stack.
pub const FRAMES_SHADOW_STACK: u32 = 4;

/// Where code that another tool compiled describes its roots. `tally_frames` in `tally.h`.
#[repr(C)]
#[derive(Debug)]
pub struct FrameRecord {
    /// [`FRAMES_VERSION`].
    pub version: u32,
    /// [`FRAMES_STATEPOINTS`] and so on.
    pub kind: u32,
    /// The name of the code for messages, a C string or null.
    pub name: *const c_char,
    /// The first byte of the table, or null.
    pub begin: *const u8,
    /// The byte behind it; null where the table says how long it is.
    pub end: *const u8,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<FrameRecord>() == 32);
    assert!(offset_of!(FrameRecord, kind) == 4 && offset_of!(FrameRecord, name) == 8);
    assert!(offset_of!(FrameRecord, begin) == 16 && offset_of!(FrameRecord, end) == 24);
};

/// `void tally_register_frames(const tally_frames *)`: the roots of this code are roots from now on. A table that
/// cannot be read ends the process with status 2.
///
/// # Safety
/// The record, its table and the code stay until they are unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_frames(frames: *const FrameRecord) {
    leaf!(tally_register_frames);
    if let Err(error) = tally_heap::memory::range::reserve() {
        fatal::stop(fatal::STATUS_MEMORY, &error);
    }
    // SAFETY: by the caller's promise.
    if let Err(error) = unsafe { register(frames) } {
        fatal::stop(STATUS_USAGE, &error.to_string());
    }
}

/// `void tally_unregister_frames(const tally_frames *)`: before the code goes away.
///
/// # Safety
/// No frame of the code is on any stack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_unregister_frames(frames: *const FrameRecord) {
    leaf!(tally_unregister_frames);
    if !crate::program::EXITING.load(Ordering::Acquire) {
        registry::unregister_uncounted(frames as u64);
        loaded::unregistered(frames as u64);
    }
}

/// Reads the table that a record names, and adds its frames.
///
/// # Errors
/// [`ModuleError`]; nothing is registered then.
///
/// # Safety
/// As for [`tally_register_frames`].
pub unsafe fn register(frames: *const FrameRecord) -> Result<(), ModuleError> {
    // SAFETY: by the caller's promise.
    let record = unsafe { &*frames };
    // SAFETY: the name is a C string, or null.
    let module = unsafe { text(record.name) }.unwrap_or_else(|| "(unnamed)".to_owned());
    if record.version != FRAMES_VERSION {
        let what = format!("version {} of tally_frames, and this runtime reads {FRAMES_VERSION}", record.version);
        return Err(ModuleError::Malformed { module, what });
    }
    // SAFETY: by the caller's promise.
    let table = unsafe { read(frames as u64, record) };
    let table = table.map_err(|what| ModuleError::StackMaps { module: module.clone(), what })?;
    registry::register_uncounted(frames as u64, module)?;
    loaded::registered_frames(frames as u64, table);
    Ok(())
}

/// # Safety
/// The record's table is in memory, as far as it says.
unsafe fn read(key: u64, record: &FrameRecord) -> Result<FrameTable, String> {
    let bytes = || {
        let begin = record.begin as u64;
        let length = match record.end as u64 {
            0 => readable_bytes_from(begin),
            end => end.checked_sub(begin).ok_or("its table ends before it begins")?,
        };
        if record.begin.is_null() || length == 0 {
            return Ok(&[][..]);
        }
        // SAFETY: the record says where the table ends, or the mapping that holds it does.
        Ok::<_, String>(unsafe { std::slice::from_raw_parts(record.begin, length as usize) })
    };
    let unreadable = |error: &dyn std::fmt::Display| format!("its frames cannot be read: {error}");
    let calls = match record.kind {
        FRAMES_STATEPOINTS => {
            let bytes = bytes()?;
            let map = if record.end.is_null() { stack_map::read_first(bytes) } else { stack_map::read(bytes) };
            let map = map.map_err(|error| unreadable(&error))?;
            let convention =
                Convention { roots: RootsIn::Statepoints, keeps_frame_pointer: false, ..Convention::LOWERED };
            let table = FrameTable::build_as(convention, &map, |function| Some(function.address));
            return table.map_err(|error| unreadable(&error));
        }
        FRAMES_OCAML => gcroot_offsets::read_ocaml(bytes()?).map_err(|error| unreadable(&error))?,
        FRAMES_ERLANG => {
            let file = LoadedFile::of(key).ok_or("the file that its record was loaded from is not known")?;
            let section = file.section(ERLANG_SECTION)?.ok_or_else(|| {
                format!(
                    "{} has no section {ERLANG_SECTION}, where gc \"erlang\" describes its frames; it was stripped: strip with \
                     --keep-section={ERLANG_SECTION}",
                    file.path.display()
                )
            })?;
            gcroot_offsets::read_erlang(&section, file.bias).map_err(|error| unreadable(&error))?
        }
        FRAMES_SHADOW_STACK => vec![],
        other => return Err(format!("its record is of kind {other}, and 1 to 4 are known")),
    };
    FrameTable::of_calls(calls).map_err(|error| unreadable(&error))
}

/// The section that LLVM's strategy `erlang` writes.
const ERLANG_SECTION: &str = ".note.gc";
