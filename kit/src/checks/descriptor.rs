//! Any bytes as a type descriptor: refused in a sentence, or read without looking outside an object.
//!
//! The first 128 bytes are the descriptor, except for its pointers: bit 0 of each says whether it is null. The rest
//! are the offsets. An accepted descriptor is used on a payload of words that all look like references. Each visited
//! slot must lie inside it, and no two may be the same.

use std::ffi::c_void;
use std::sync::OnceLock;
use tally_heap::descriptor::{RawDescriptor, SlotKind, TraceVisit, TypeDescriptor};
use tally_heap::memory::range;
use tally_heap::object::ObjectRef;
use tally_heap::type_registry::{self, TypeInfo};
use tally_heap::visit::Part;

/// Larger objects are not made.
const CELL_MAX: u64 = 1 << 16;
/// Tail elements of an object.
const LENGTH: u64 = 3;
const HEADER_BYTES: u64 = 8;

/// True when the descriptor was accepted and an object visited.
pub fn check(bytes: &[u8]) -> bool {
    let (head, rest) = bytes.split_at(bytes.len().min(128));
    let mut image = [0u64; 16];
    for (word, bytes) in image.iter_mut().zip(head.chunks(8)) {
        bytes.iter().rev().for_each(|&byte| *word = *word << 8 | u64::from(byte));
    }
    let mut offsets: Vec<u32> = rest.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
    // The count is made true: it is the only property of offsets that the reader cannot check.
    let [fixed, element] = [image[6] as u32, (image[6] >> 32) as u32].map(|count| count.min(4096));
    image[6] = u64::from(fixed) | u64::from(element) << 32;
    offsets.resize(offsets.len().max((fixed + element) as usize), 0);
    let element_offsets = offsets.split_off(fixed as usize);
    for (place, pointer) in [
        (7, offsets.as_ptr().cast::<c_void>()),
        (10, element_offsets.as_ptr().cast()),
        (11, c"fuzzed".as_ptr().cast()),
        (12, finalize as *const c_void),
        (13, trace as *const c_void),
        (14, std::ptr::null()),
        (15, std::ptr::null()),
    ] {
        image[place] = if image[place] & 1 == 0 { 0 } else { pointer as u64 };
    }
    // SAFETY: `repr(C)`, 128 bytes without padding; integers of any value.
    let raw: RawDescriptor = unsafe { std::mem::transmute(image) };
    // SAFETY: [DESCRIPTOR] pointers are null or lead where they should.
    let descriptor = unsafe { TypeDescriptor::from_raw(raw) };
    let info = match type_registry::describe(&descriptor) {
        Ok(info) => info,
        Err(error) => {
            let said = error.to_string();
            assert!(said.starts_with("type descriptor `") && !said.contains('\n') && said.len() < 300, "{said}");
            return false;
        }
    };
    visit(&info, &descriptor)
}

fn visit(info: &TypeInfo, descriptor: &TypeDescriptor) -> bool {
    let length = if descriptor.stride == 0 { 0 } else { LENGTH };
    let Some(cell) = info.cell_bytes(length).filter(|&cell| cell <= CELL_MAX) else { return false };
    assert!(cell % 8 == 0 && cell >= HEADER_BYTES + descriptor.size + length * descriptor.stride, "{descriptor:?}");
    let end = memory() + CELL_MAX;
    let payload = end - cell + HEADER_BYTES;
    for at in (payload..end).step_by(8) {
        // SAFETY: inside `memory`.
        unsafe { *(at as *mut u64) = memory() + 8 };
    }
    // SAFETY: a payload as the descriptor says, in the range where objects lie.
    let object = unsafe { ObjectRef::from_address(payload) };
    if descriptor.stride != 0 {
        object.slot(descriptor.length_offset).store(length);
    }
    assert_eq!(info.length(object), length);
    let mut references = 0;
    info.for_each_reference(object, Part::Whole, |_| references += 1);
    assert!(references <= (cell / 8 + length) as usize, "{references} references in {cell} bytes: {descriptor:?}");
    if descriptor.slot_kind != SlotKind::Trace as u32 {
        let mut last = payload;
        for slot in info.reference_slots(object) {
            let at = slot.address();
            assert!(
                at % 8 == 0 && at >= last && at + 8 <= end,
                "a slot at {} of {cell} bytes: {descriptor:?}",
                at - payload
            );
            last = at + 8;
        }
    }
    true
}

/// Room for one object, in the range where objects lie; the memory behind it may not be read.
fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let wanted = (range::HEAP_BASE + (1 << 30)) as *mut c_void;
        let (bytes, kind) = (CELL_MAX as usize + 4096, kind | libc::MAP_FIXED_NOREPLACE);
        // SAFETY: fresh memory at an address where there is none.
        let got = unsafe { libc::mmap(wanted, bytes, access, kind, -1, 0) };
        assert_eq!(got, wanted);
        // SAFETY: its last page, which nothing uses.
        unsafe { libc::mprotect(got.wrapping_byte_add(CELL_MAX as usize), 4096, libc::PROT_NONE) };
        wanted as u64
    })
}

extern "C" fn finalize(_: *mut c_void) {}

unsafe extern "C" fn trace(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
    for index in 0..count as usize {
        // SAFETY: the runtime passes that many words.
        let word = unsafe { *words.wrapping_add(index) };
        // SAFETY: the runtime passes a function that takes any word.
        unsafe { visit(word as *mut c_void, context) };
    }
}
