//! Tells gdb of code in this process: its interface for just-in-time compilers ("JIT Compilation Interface" in gdb's manual).
//!
//! gdb reads a list of ELF objects in memory, whose section headers say where the code lies. It stops at
//! `__jit_debug_register_code` whenever an entry comes or goes. The list's head and that function are LLVM's, exported by its shared library:
//! a process has one list, and code that the host registers through LLVM is in it, too.
//!
//! ```text
//!   __jit_debug_descriptor { version 1, action, relevant, first }  ->  { next, previous, object, size }  ->  …
//! ```
//!
//! LLVM's own plugin for this (`LLVMOrcLLJITEnableDebugSupport`) adds entries and never takes one out: after a module's removal the
//! list would lead to memory that was given back. So the entries are ours, and a [`Registration`] that is dropped takes its
//! entry out.

use std::sync::{Mutex, PoisonError};

use object::elf::SectionHeader64;
use object::{LittleEndian, Object, ObjectSection, SectionIndex, SectionKind};

use super::placed::Placed;

/// An object that gdb knows, until this is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    entry: *mut Entry,
    /// What the entry leads to.
    _object: Box<[u8]>,
}

/// `struct jit_code_entry` of gdb's manual.
#[repr(C)]
#[derive(Debug)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    object: *const u8,
    size: u64,
}

/// `struct jit_descriptor` of gdb's manual.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

const PAGE: u64 = 4096;

const REGISTERED: u32 = 1;
const UNREGISTERED: u32 = 2;

unsafe extern "C" {
    static mut __jit_debug_descriptor: Descriptor;
    fn __jit_debug_register_code();
}

/// Held by the thread that changes the list. LLVM's lock for its own entries is hidden in it: a host that makes LLVM register code
/// must not do so while another thread adds or removes modules here.
static LIST: Mutex<()> = Mutex::new(());

impl Registration {
    /// Puts an object into gdb's list.
    pub(super) fn of(placed: &Placed) -> Registration {
        let object = with_addresses(placed).into_boxed_slice();
        let (bytes, size) = (object.as_ptr(), object.len() as u64);
        let entry = Box::into_raw(Box::new(Entry {
            next: std::ptr::null_mut(),
            previous: std::ptr::null_mut(),
            object: bytes,
            size,
        }));
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let head = &raw mut __jit_debug_descriptor;
        // SAFETY: LLVM's variable; this thread holds the list.
        let first = unsafe { (*head).first };
        // SAFETY: just made.
        unsafe { (*entry).next = first };
        if !first.is_null() {
            // SAFETY: entries in the list are live.
            unsafe { (*first).previous = entry };
        }
        // SAFETY: LLVM's variable; this thread holds the list.
        unsafe { (*head).first = entry };
        tell(REGISTERED, entry);
        Registration { entry, _object: object }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let head = &raw mut __jit_debug_descriptor;
        // SAFETY: made by `of`, freed below; this thread holds the list.
        let Entry { next, previous, .. } = *unsafe { &*self.entry };
        if previous.is_null() {
            // SAFETY: LLVM's variable; this thread holds the list.
            unsafe { (*head).first = next };
        } else {
            // SAFETY: entries in the list are live.
            unsafe { (*previous).next = next };
        }
        if !next.is_null() {
            // SAFETY: entries in the list are live.
            unsafe { (*next).previous = previous };
        }
        tell(UNREGISTERED, self.entry);
        // SAFETY: made by `of` from a box, and in no list any more.
        drop(unsafe { Box::from_raw(self.entry) });
    }
}

/// Stops in gdb, if there is one. The caller holds the list.
fn tell(action: u32, entry: *mut Entry) {
    let head = &raw mut __jit_debug_descriptor;
    // SAFETY: LLVM's variable; the caller holds the list.
    unsafe { (*head).action = action };
    // SAFETY: as above.
    unsafe { (*head).relevant = entry };
    // SAFETY: does nothing but be there for gdb's breakpoint.
    unsafe { __jit_debug_register_code() };
    // SAFETY: as above. An entry that went is named no longer.
    unsafe { (*head).relevant = std::ptr::null_mut() };
}

/// The object with the addresses of its sections in their headers.
///
/// The unwind table gets one right before the code, where the linker has the module's constants. Its own is not known, as no symbol
/// is in it. gdb reads the bytes of the object, in which the table refers to the code by a distance of 32 bits.
fn with_addresses(placed: &Placed) -> Vec<u8> {
    let mut bytes = placed.bytes.to_vec();
    let headers = placed.file.elf_header().e_shoff.get(LittleEndian) as usize;
    let field = std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_addr);
    let is_code =
        |section: SectionIndex| placed.file.section_by_index(section).is_ok_and(|it| it.kind() == SectionKind::Text);
    let code = placed.addresses.iter().filter(|(section, _)| is_code(**section)).map(|(_, address)| *address).min();
    let table = placed.file.section_by_name(".eh_frame").zip(code).map(|(table, code)| {
        let end = code & !(PAGE - 1);
        (table.index(), end.wrapping_sub(table.size().next_multiple_of(PAGE)))
    });
    for (section, address) in placed.addresses.iter().map(|(section, address)| (*section, *address)).chain(table) {
        let at = headers + section.0 * size_of::<SectionHeader64<LittleEndian>>() + field;
        // The headers were read, so they are there.
        bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
    }
    bytes
}
