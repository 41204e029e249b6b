//! Zeal: the paranoid heap that finds forgotten roots.
//!
//! Every allocation is registered here, dead memory is poisoned and never used again, and compiled code lowered for zeal
//! asks about each address before it touches it. So the first touch of an object that the collector has proved dead is
//! reported with the function and line that did it, the object's type, and when it died: nearly always the frontend
//! forgot to put a reference into a root across a safepoint.
//!
//! Before each epoch the heap is looked over (`inspection`): a reference that is no object's address, and a header that the
//! program has written over, are reported there, not where counting would stumble over them.
//!
//! Cost: an ordered map per heap, and an epoch and a look at every object per safepoint; meant for small programs.

mod inspection;

use crate::object::{HEADER_BYTES, ObjectRef};
use crate::type_registry::TypeInfo;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char};

/// What dead payload bytes are overwritten with.
pub const POISON: u8 = 0xdb;

/// A registered allocation.
#[derive(Debug, Clone, Copy)]
pub struct Birth {
    /// One past the last payload byte.
    pub end: u64,
    /// Header meta without flags.
    pub type_meta: u32,
    /// Epoch in which it was found dead.
    pub died: Option<u32>,
}

/// All allocations of a heap.
#[derive(Debug, Default)]
pub struct Zeal {
    objects: BTreeMap<u64, Birth>,
    /// Those of `objects` that have not died. The dead are kept for good, and a recount must not go through them each time.
    living: BTreeSet<u64>,
    young: Vec<ObjectRef>,
}

/// The source position that zeal lowering passes with each access.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// Name of the function, a C string.
    pub function: *const c_char,
    /// Source file, a C string or null.
    pub file: *const c_char,
    /// Line, 0 when unknown.
    pub line: u32,
    /// Column, 0 when unknown.
    pub column: u32,
}

impl Zeal {
    /// Registers a new object.
    pub fn birth(&mut self, object: ObjectRef, cell: u64) {
        self.birth_counted(object, cell);
        self.young.push(object);
    }

    /// Registers a new object of a prompt heap, in which nothing is young.
    pub fn birth_counted(&mut self, object: ObjectRef, cell: u64) {
        let end = object.address() + cell - HEADER_BYTES;
        let type_meta = object.meta() & !crate::object::flag::ALL;
        self.objects.insert(object.address(), Birth { end, type_meta, died: None });
        self.living.insert(object.address());
    }

    /// Notes an object's death, in the header too, and poisons it.
    pub fn bury(&mut self, object: ObjectRef, cell: u64, epoch: u32) {
        if let Some(birth) = self.objects.get_mut(&object.address()) {
            birth.died = Some(epoch);
        }
        self.living.remove(&object.address());
        object.add_flags(crate::object::flag::DEAD);
        // SAFETY: a dead object of this heap, whose memory is quarantined.
        unsafe { std::ptr::write_bytes(object.address() as *mut u8, POISON, (cell - HEADER_BYTES) as usize) };
    }

    /// After the increments of a flip: what was young then and was not promoted is dead. Large objects are buried by
    /// their own list.
    pub fn bury_young(&mut self, epoch: u32) {
        let (dead, young): (Vec<_>, Vec<_>) = std::mem::take(&mut self.young)
            .into_iter()
            .filter(|object| !object.is_mature() && !object.has(crate::object::flag::DEAD))
            .partition(|object| object.stamp() != epoch);
        self.young = young;
        for object in dead.into_iter().filter(|object| !object.has(crate::object::flag::LARGE)) {
            self.bury(object, object.type_info().cell_bytes_of(object), epoch);
        }
    }

    /// What was not buried, by address.
    pub fn living(&self) -> Vec<ObjectRef> {
        // SAFETY: [HEADER] registered objects that have not died.
        self.living.iter().map(|&address| unsafe { ObjectRef::from_address(address) }).collect()
    }

    /// The allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<(u64, Birth)> {
        let (&start, &birth) = self.objects.range(..=address).next_back()?;
        (address < birth.end.max(start + 8)).then_some((start, birth))
    }

    /// The live object that starts at exactly `address`.
    pub fn live_object(&self, address: u64) -> Option<ObjectRef> {
        let birth = self.objects.get(&address)?;
        // SAFETY: [HEADER] a registered object that has not died.
        birth.died.is_none().then(|| unsafe { ObjectRef::from_address(address) })
    }

    /// Whether an object was ever made there.
    pub fn has_seen(&self, object: ObjectRef) -> bool {
        self.objects.contains_key(&object.address())
    }

    /// Stops the program if `address` lies in a dead object; `site` says who is about to touch it. Returns whether it lies
    /// in a live one.
    pub fn check_access(&self, address: u64, site: &Site, epoch: u32) -> bool {
        let Some((start, birth)) = self.find(address) else { return false };
        if let Some(died) = birth.died {
            let info = TypeInfo::of_meta(birth.type_meta);
            crate::fatal::stop(
                crate::fatal::STATUS_VIOLATION,
                &format!(
                    "{site}: use of a dead object: `{}` at {start:#x}, byte {} of {}, died in epoch {died} (now {epoch}). \
                     No root held it at a safepoint between its last use and here; put the reference into a root \
                     (llvm.gcroot, TALLY_ROOT) before the call or allocation that comes before this line.",
                    info.name,
                    address - start,
                    birth.end - start,
                ),
            );
        }
        true
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |pointer: *const c_char| {
            // SAFETY: the lowering emits C string constants.
            (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
        };
        if let (Some(file), line @ 1..) = (text(self.file), self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "in function `{}`", text(self.function).unwrap_or("?".into()))
    }
}
