//! The passes' loops over plain objects: where the deferred plan spends most of its time.
//!
//! Nearly all objects are plain: references at fixed offsets, small, no flags. A [`Shape`] is what the passes need to
//! know of such a type, kept at hand from one object to the next, so that a step touches the object's header and
//! fields, the count bytes of what it refers to, and its own bits. Each loop exists once for every small number of
//! fields (`for_field_count!`), so that offsets stand in registers and nothing is looped over; counters are summed up
//! at the end, queues grow in one place. Everything that is not plain takes the way of `count`, one object at a time.
//! `[COUNT]` `[ORDER]`
//!
//! | loop | file | instructions for an object with two references, as callgrind counts them |
//! |---|---|---|
//! | logging a block as a whole | `bulk/block_log.rs` | 95 |
//! | promotion: young objects that were counted | `bulk/promotion.rs` | 53 to 58 |
//! | reconciling what the log names | `bulk/reconciliation.rs` | 75 |
//! | releasing old values | `bulk/reconciliation.rs` | 37 a word |
//! | death: what has no references left | `bulk/death.rs` | 55 of garbage rings, 78 of lists |
//!
//! Called by the passes (`tally-collector`), which say how much may be done. A unit of work is about one reference.

mod block_log;
mod death;
mod promotion;
mod reconciliation;

use crate::memory::list::List;
use crate::memory::range;
use crate::object::{HEADER_BYTES, ObjectRef};

/// A plain type, as the loops see it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The meta word of the objects meant, as it stands in their headers.
    pub meta: u32,
    /// Whether the type may be part of a cycle.
    pub may_be_cyclic: bool,
    /// Offsets of its references.
    pub fields: &'static [u32],
    /// Bytes of a cell.
    pub cell: u64,
}

impl Shape {
    /// Equal to no object's.
    pub const NONE: Shape = Shape { meta: u32::MAX, may_be_cyclic: false, fields: &[], cell: 0 };

    /// Whether an object with this meta word is plain, but for the flags in `expected`; then it is the shape from here on.
    #[inline(always)]
    pub fn fits(&mut self, object: ObjectRef, meta: u32, expected: u32) -> bool {
        meta == self.meta || self.learn(object, meta, expected)
    }

    #[inline(never)]
    fn learn(&mut self, object: ObjectRef, meta: u32, expected: u32) -> bool {
        let info = object.type_info();
        let plain = info.simple && meta == info.id | expected;
        if plain {
            let (fields, cell) = (info.fixed.as_slice(), info.fixed_cell);
            *self = Shape { meta, may_be_cyclic: info.may_be_cyclic, fields, cell };
        }
        plain
    }

    /// The offsets in an array, for loops that are unrolled.
    #[inline(always)]
    fn offsets<const N: usize>(&self) -> [u32; N] {
        std::array::from_fn(|place| self.fields[place])
    }
}

/// The reference in a field of a plain object, if it holds one to a heap object.
#[inline(always)]
fn reference(object: ObjectRef, offset: u64) -> Option<ObjectRef> {
    let word = object.slot(offset).read();
    // SAFETY: [HEADER] a reference word of an object.
    range::in_heap(word).then(|| unsafe { ObjectRef::from_address(word) })
}

/// First byte of a plain object's cell.
#[inline(always)]
fn cell_start(object: ObjectRef) -> u64 {
    object.address() - HEADER_BYTES
}

/// Makes room for one push per field of an object, so that the pushes need not look.
#[inline(always)]
fn make_room(queue: &mut List<ObjectRef>, pushes: usize) {
    if queue.capacity() - queue.len() < pushes {
        grow(queue);
    }
}

#[cold]
#[inline(never)]
fn grow(queue: &mut List<ObjectRef>) {
    queue.reserve(queue.len().max(1024));
}

/// Pushes into room that `make_room` has made.
#[inline(always)]
fn push(queue: &mut List<ObjectRef>, object: ObjectRef) {
    debug_assert!(queue.len() < queue.capacity());
    // SAFETY: [LIST] there is room behind the last entry.
    unsafe { queue.push_within(object) };
}

/// Calls `$loop::<N>` with the number of the shape's fields as constant; `$other` for more than four.
macro_rules! for_field_count {
    ($shape:expr, $this:ident.$run:ident($($argument:expr),*), $other:expr) => {
        match $shape.fields.len() {
            0 => $this.$run::<0>($($argument),*),
            1 => $this.$run::<1>($($argument),*),
            2 => $this.$run::<2>($($argument),*),
            3 => $this.$run::<3>($($argument),*),
            4 => $this.$run::<4>($($argument),*),
            _ => $other,
        }
    };
}
use for_field_count;
