//! The record of a lowered module for the runtime: its stack maps, types, global roots and named roots.
//!
//! The lowering emits one [`ModuleRecord`] per module (symbol `tally.module`, internal) with three tables behind it,
//! and a constructor that hands it to `tally_register_module`. Field by field the layout is the C view in `tally.h`.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};
use tally_heap::descriptor::TypeDescriptor;

/// The version of the layouts below.
pub const MODULE_VERSION: u32 = 3;

/// One module's record.
#[repr(C)]
#[derive(Debug)]
pub struct ModuleRecord {
    /// [`MODULE_VERSION`].
    pub version: u32,
    /// `plan::MODULE_FLAG_PROMPT` or `MODULE_FLAG_TRACE`, [`MODULE_FLAG_LENDS`], [`MODULE_FLAG_COUNTS`],
    /// [`MODULE_FLAG_STATEPOINTS`], [`MODULE_FLAG_METADATA`], [`MODULE_FLAG_BARRIERS`].
    pub flags: u32,
    /// The module's name, a C string.
    pub name: *const c_char,
    /// The module's stack map blob, or null.
    pub stack_maps: *const u8,
    /// Bytes of the blob's section; 0 when the emitter did not say (the blob's own header is trusted then).
    pub stack_maps_size: u64,
    /// Entries in `types`.
    pub type_count: u64,
    /// One handle per descriptor that the module allocates.
    pub types: *mut TypeHandle,
    /// Entries in `globals`.
    pub global_count: u64,
    /// Slots outside the heap that hold references.
    pub globals: *const GlobalRoot,
    /// Entries in `roots`.
    pub root_count: u64,
    /// Names and descriptors of the stack roots.
    pub roots: *const RootInfo,
    /// Names of fields and lines of roots, a C string or null: `names` says how it reads.
    pub names: *const c_char,
}

impl ModuleRecord {
    /// The record of a module of the deferred plan without types, roots and stack maps.
    pub const fn empty(name: &'static CStr) -> ModuleRecord {
        ModuleRecord {
            version: MODULE_VERSION,
            flags: 0,
            name: name.as_ptr(),
            stack_maps: null(),
            stack_maps_size: 0,
            type_count: 0,
            types: null_mut(),
            global_count: 0,
            globals: null(),
            root_count: 0,
            roots: null(),
            names: null(),
        }
    }
}

/// A type's header word and cell size for inline allocation; filled at registration.
#[repr(C)]
#[derive(Debug)]
pub struct TypeHandle {
    /// The descriptor.
    pub descriptor: *const TypeDescriptor,
    /// Header meta of a fresh object: the type id; under the prompt plan with flags.
    pub meta: u32,
    /// Bytes of a cell without tail elements, header included; 0 until registered.
    pub cell: u32,
}

/// One registered root outside heap and stack.
#[repr(C)]
#[derive(Debug)]
pub struct GlobalRoot {
    /// The slot.
    pub slot: *mut u64,
    /// The descriptor by which it is read: null = one plain reference.
    pub how: *const TypeDescriptor,
    /// Its name for reports, a C string or null.
    pub name: *const c_char,
}

/// Prefix of the names of roots that the lowering added: they are no variables of the program.
pub const OWN_ROOT: &str = "tally.";

/// Prefix of the names of roots that have the counted words of another, whose name follows (prompt plan).
pub const SHADOW_ROOT: &str = "tally.counted.";

/// Bit of a root's id: other functions than its own may have its address, and store to it.
pub const ADDRESS_TAKEN_ROOT: u64 = 1;

/// Bit of a root's id: its `how` is no descriptor, but what a callback of `tally_trace_with` understands.
pub const METADATA_ROOT: u64 = 2;

/// Bit of a module record's flags: bit 1 of its roots' ids is [`METADATA_ROOT`].
pub const MODULE_FLAG_METADATA: u32 = 32;

/// Bit of a module record's flags: bit 0 of its roots' ids is [`ADDRESS_TAKEN_ROOT`], and frames with such roots record
/// themselves in `Context::address_taken_high`.
pub const MODULE_FLAG_LENDS: u32 = 2;

/// Bit of a module record's flags: the module calls `tally_get_statistics`, so heaps count their allocations from the
/// start.
pub const MODULE_FLAG_COUNTS: u32 = 4;

/// Bit of a module record's flags: the stack maps are those of statepoints, whose roots are the bases of pointers.
pub const MODULE_FLAG_STATEPOINTS: u32 = 16;

/// Bit of a module record's flags, of the trace plan: the module writes references into objects with the barrier, so that a mark may
/// go in slices beside it.
pub const MODULE_FLAG_BARRIERS: u32 = 64;

/// One stack root that stack maps name by `id`. A module's table is sorted by it.
#[repr(C)]
#[derive(Debug)]
pub struct RootInfo {
    /// Non-zero, unique in the process.
    pub id: u64,
    /// The descriptor by which the slot is read, or the metadata of a [`METADATA_ROOT`]: null = one plain reference.
    pub how: *const TypeDescriptor,
    /// The variable's name, a C string or null.
    pub name: *const c_char,
    /// The function's name, a C string or null.
    pub function: *const c_char,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<ModuleRecord>() == 88);
    assert!(offset_of!(ModuleRecord, name) == 8);
    assert!(offset_of!(ModuleRecord, stack_maps) == 16);
    assert!(offset_of!(ModuleRecord, stack_maps_size) == 24);
    assert!(offset_of!(ModuleRecord, type_count) == 32);
    assert!(offset_of!(ModuleRecord, types) == 40);
    assert!(offset_of!(ModuleRecord, global_count) == 48);
    assert!(offset_of!(ModuleRecord, globals) == 56);
    assert!(offset_of!(ModuleRecord, root_count) == 64);
    assert!(offset_of!(ModuleRecord, roots) == 72);
    assert!(offset_of!(ModuleRecord, names) == 80);
    assert!(size_of::<TypeHandle>() == 16 && offset_of!(TypeHandle, meta) == 8 && offset_of!(TypeHandle, cell) == 12);
    assert!(size_of::<GlobalRoot>() == 24);
    assert!(size_of::<RootInfo>() == 32 && offset_of!(RootInfo, how) == 8 && offset_of!(RootInfo, name) == 16);
};
