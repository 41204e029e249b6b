//! Promotion and death in bulk: the two loops in which the deferred plan spends most of its time.
//!
//! Nearly all objects are plain: references at fixed offsets, small, no flags. What such a type needs is kept at hand from one
//! object to the next, so that a step touches the object's header and fields, the count bytes of what it refers to, and its
//! own bits; counters are summed up at the end. Everything else takes the way of `count`, one object at a time. `[COUNT]` `[ORDER]`
//!
//! Called by the passes (`cycle-detector`), which say how much may be done.
//!
//! Expected cost of a plain object with two references: 45 instructions to promote it, 60 to release and free it.

use crate::count::STUCK;
use crate::heap::Heap;
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::range::{self, BUFFERED, LIVE, MARK, UNLOGGED};
use crate::visit::Part;

/// What the last plain object's type said.
struct Shape {
    /// Its meta word, as it stood in the header.
    meta: u32,
    fields: &'static [u32],
    cell: u64,
}

impl Shape {
    /// Equal to no object's.
    const NONE: Shape = Shape { meta: u32::MAX, fields: &[], cell: 0 };

    /// Whether an object with this meta word is plain, but for the flags in `expected`; then it is the shape from here on.
    #[inline(always)]
    fn fits(&mut self, object: ObjectRef, meta: u32, expected: u32) -> bool {
        meta == self.meta || self.learn(object, meta, expected)
    }

    #[inline(never)]
    fn learn(&mut self, object: ObjectRef, meta: u32, expected: u32) -> bool {
        let info = object.type_info();
        let plain = info.simple && meta == info.id | expected;
        if plain {
            *self = Shape { meta, fields: info.fixed.as_slice(), cell: info.fixed_cell };
        }
        plain
    }
}

impl Heap {
    /// Promotes young objects that were counted, and counts what they refer to, while `units` last; what is left of them.
    pub fn promote_queued(&mut self, mut units: i64) -> i64 {
        let mut queue = std::mem::take(&mut self.promotion_queue);
        let mut shape = Shape::NONE;
        let marking = self.marking;
        let (mut promoted, mut bytes) = (0, 0);
        while units > 0 {
            let Some(object) = queue.pop() else { break };
            let meta = object.meta();
            if !shape.fits(object, meta, 0) {
                std::mem::swap(&mut queue, &mut self.promotion_queue);
                units -= self.promote_one(object);
                std::mem::swap(&mut queue, &mut self.promotion_queue);
                continue;
            }
            object.set_header(meta | flag::MATURE, 0);
            let start = object.address() - HEADER_BYTES;
            LIVE.set_cell(start, start + shape.cell);
            if marking {
                MARK.set(object.address());
            }
            promoted += 1;
            bytes += shape.cell;
            units -= 2;
            for &offset in shape.fields {
                let word = object.slot(offset as u64).read();
                if range::in_heap(word) {
                    units -= 1;
                    // SAFETY: [HEADER] a reference word of an object.
                    let target = unsafe { ObjectRef::from_address(word) };
                    let count = target.count();
                    if count == 0 && !target.is_mature() {
                        queue.push(target);
                    }
                    target.set_count(count.saturating_add(1));
                }
            }
        }
        self.promotion_queue = queue;
        self.statistics.promoted_objects += promoted;
        self.statistics.live_objects += promoted;
        self.statistics.live_bytes += bytes;
        units
    }

    /// The same for one object of any shape; what it cost.
    fn promote_one(&mut self, object: ObjectRef) -> i64 {
        if object.is_mature() {
            return 1;
        }
        let info = object.type_info();
        self.promote(object, info);
        if object.has(flag::LARGE) {
            return 4;
        }
        2 + self.count_references(object, info, Part::Whole)
    }

    /// Releases what plain objects at the end of the free queue refer to, and gives their memory back, while `units` last. Stops
    /// at one that is not plain, or that the log names. What is left of the units, and how many objects were freed.
    ///
    /// Not while a mark is running, and not in zeal.
    pub fn free_queued(&mut self, mut units: i64) -> (i64, u64) {
        debug_assert!(!self.marking && !self.mark_discovers && self.zeal.is_none());
        let mut queue = std::mem::take(&mut self.free_queue);
        let mut shape = Shape::NONE;
        let (mut freed, mut bytes) = (0, 0);
        while units > 0
            && let Some(&object) = queue.last()
        {
            let header = object.header();
            let meta = (header >> 32) as u32;
            if header as u32 != 0 || !shape.fits(object, meta, flag::MATURE) {
                break;
            }
            queue.pop();
            units -= 2 + shape.fields.len() as i64;
            for &offset in shape.fields {
                let word = object.slot(offset as u64).read();
                if !range::in_heap(word) {
                    continue;
                }
                // SAFETY: [HEADER] a reference word of an object, which has not been let go of.
                let target = unsafe { ObjectRef::from_address(word) };
                let count = target.count();
                if count == 1 && !target.has(flag::DEAD) {
                    target.set_count(0);
                    queue.push(target);
                } else if count > 1 && count != STUCK && BUFFERED.get(word) {
                    target.set_count(count - 1);
                } else {
                    self.decrement(target);
                }
            }
            object.set_count(0);
            freed += 1;
            bytes += shape.cell;
            let address = object.address();
            if BUFFERED.get(address) {
                BUFFERED.clear(address);
            }
            let start = address - HEADER_BYTES;
            LIVE.clear_cell(start, start + shape.cell);
            UNLOGGED.clear(address);
            self.blocks.note_death(range::block_of(start));
        }
        // What went the long way.
        queue.append(&mut self.free_queue);
        self.free_queue = queue;
        self.statistics.live_objects -= freed;
        self.statistics.live_bytes -= bytes;
        self.statistics.freed_mature_objects += freed;
        (units, freed)
    }
}
