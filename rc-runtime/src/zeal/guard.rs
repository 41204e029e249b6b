//! Guards: the bytes behind an object, which nothing may write to until the next object is made there.
//!
//! At birth the bytes from the object's end are poisoned: the rest of its cell, and what lies free behind it, up to
//! [`GUARD_BYTES`] or the end of its block. Memory is handed out in ascending order in zeal, and never twice, so nothing else lies
//! there then; a later object clears its own cell. A look over the heap finds what has changed since, and names the
//! object before it: C's string functions and loops write on from an object's end.
//!
//! The dead lie where they have died, poisoned as a whole, and nothing may write to them either.
//!
//! An object's payload ends with its last element, not at the multiple of eight that its cell ends at. Under the deferred plan the
//! padding before a neighbour that asks for more alignment is zero: the allocator has cleared it.

use super::inspection::name;
use super::{Birth, POISON, Zeal};
use crate::memory::range::BLOCK_BYTES;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::plan::Plan;

/// Bytes behind an object that are poisoned and looked at, at most.
const GUARD_BYTES: u64 = 128;
/// Bytes that are compared at once, at most.
const MOST: usize = GUARD_BYTES as usize + 8;

/// Where the payload of the object at `address` ends, which has `length` elements.
fn payload_end(address: u64, birth: Birth, length: u64) -> u64 {
    let info = birth.info();
    address + info.size + info.stride * length
}

/// Where the guard ends behind a payload that ends at `end`, in a cell that ends at `cell_end`.
fn guard_end(end: u64, cell_end: u64) -> u64 {
    (end + GUARD_BYTES).min(cell_end.next_multiple_of(BLOCK_BYTES)).max(end)
}

impl Zeal {
    /// Poisons what lies behind a new object whose length is set.
    pub(super) fn guard(&self, object: ObjectRef, birth: Birth) {
        let end = payload_end(object.address(), birth, birth.info().length(object));
        let bytes = guard_end(end, birth.end) - end;
        // SAFETY: the rest of the object's cell, and memory of its block that is handed out later.
        unsafe { std::ptr::write_bytes(end as *mut u8, POISON, bytes as usize) };
    }

    /// The first object behind which something was written. Headers and lengths are right.
    pub(super) fn overflow(&self, plan: Plan) -> Option<String> {
        self.births(plan).find_map(|(address, birth)| {
            // SAFETY: [HEADER] a registered object that has not died.
            let object = unsafe { ObjectRef::from_address(address) };
            let end = payload_end(address, birth, birth.info().length(object));
            let next = self.objects.range(address + 1..).next().map(|(&next, &of)| (next, of));
            let limit = guard_end(end, birth.end).min(next.map_or(u64::MAX, |(next, _)| next - HEADER_BYTES));
            // Padding before a neighbour that asks for more alignment: the deferred plan's allocator clears most of it.
            let in_its_block = |next: u64| next - HEADER_BYTES < birth.end.next_multiple_of(BLOCK_BYTES);
            let is_padded = plan.clears_padding() && next.is_some_and(|(next, _)| in_its_block(next));
            let padded = if is_padded { birth.end.min(limit) } else { limit };
            let in_padding = || changed(padded, limit, POISON).and_then(|_| changed(padded, limit, 0));
            if let Some(at) = changed(end, padded, POISON).or_else(in_padding) {
                let (object, behind, byte) = (name(address, birth), at - end, read(at));
                let what = format!("{object} was written past its end: byte {behind} behind it is {byte:#04x} now");
                return Some(what + &self.history(birth));
            }
            self.overflow_into_dead(address, birth, next.filter(|(_, of)| of.died.is_some())?)
        })
    }

    /// Returns a message if the dead object behind a living one was written to, as far as a guard goes.
    fn overflow_into_dead(&self, address: u64, birth: Birth, (next, dead): (u64, Birth)) -> Option<String> {
        let end = dead.end.min(birth.end + GUARD_BYTES).max(next);
        let at = changed(next, end, POISON)?;
        let (gap, byte) = (next - birth.end, read(at));
        Some(format!(
            "{}, which is dead, was written to: its byte {} is {byte:#04x} now; {} lies before it and was written past its end, \
             {gap} bytes before, unless native code kept a pointer to the dead one{}",
            name(next, dead),
            at - next,
            name(address, birth),
            self.history(birth)
        ))
    }
}

/// The first byte of a guard that is not `expected`.
fn changed(from: u64, to: u64, expected: u8) -> Option<u64> {
    let bytes = to.saturating_sub(from).min(MOST as u64) as usize;
    // SAFETY: [OWNED] bytes of a guard: they lie in a block of this heap, and only the program may write to them, not
    // now.
    let found = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
    let all = if expected == POISON { &[POISON; MOST][..bytes] } else { &[0; MOST][..bytes] };
    // As a whole first: nearly always all are as they were.
    if found == all { None } else { found.iter().position(|&byte| byte != expected).map(|at| from + at as u64) }
}

fn read(at: u64) -> u8 {
    // SAFETY: [OWNED] a byte of a guard: it lies in a block of this heap.
    unsafe { *(at as *const u8) }
}
