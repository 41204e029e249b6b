//! Promotion in bulk: young objects that were counted become mature, and what they refer to is counted. `[COUNT]`

use super::{Shape, cell_start, for_field_count, make_room, push, reference};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::{LIVE, MARK};
use crate::object::{ObjectRef, flag};
use crate::visit::Part;

/// Shapes at hand where objects of several are mixed.
const SHAPES: usize = 8;
/// Objects pushed later than the one that comes next: their headers are on the way to the cache.
const DELAY: usize = 3;

/// Brings an object to the end of the queue that has been there for a while, for the newest, and returns it.
#[inline(always)]
fn delay_newest(queue: &mut List<ObjectRef>) -> ObjectRef {
    let last = queue.len() - 1;
    queue.swap(last, last.saturating_sub(DELAY));
    queue[last]
}

impl Heap {
    /// Promotes what is queued while `units` last; returns the units left.
    pub fn promote_queued(&mut self, mut units: i64) -> i64 {
        let mut queue = std::mem::take(&mut self.deferred.promotion_queue);
        let mut shapes = [Shape::NONE; SHAPES];
        let mut last = Shape::NONE.meta;
        while units > 0 && !queue.is_empty() {
            let object = delay_newest(&mut queue);
            let meta = object.meta();
            let shape = &mut shapes[meta as usize % SHAPES];
            if !shape.fits(object, meta, 0) {
                queue.pop();
                std::mem::swap(&mut queue, &mut self.deferred.promotion_queue);
                units -= self.promote_one(object);
                std::mem::swap(&mut queue, &mut self.deferred.promotion_queue);
            } else if std::mem::replace(&mut last, meta) == meta {
                units = for_field_count!(
                    shape,
                    self.promote_alike(&mut queue, shape, units),
                    self.promote_wide(&mut queue, shape, units)
                );
            } else {
                units = self.promote_wide(&mut queue, shape, units);
            }
        }
        self.deferred.promotion_queue = queue;
        units
    }

    /// Promotes objects of one shape until another comes, or the units are used up.
    #[inline(never)]
    fn promote_alike<const N: usize>(&mut self, queue: &mut List<ObjectRef>, shape: &Shape, units: i64) -> i64 {
        self.promote_with(queue, shape, units, &shape.offsets::<N>(), false)
    }

    /// Promotes one object: where shapes are mixed, or have many fields, what was pushed last is not looked at yet.
    #[inline(never)]
    fn promote_wide(&mut self, queue: &mut List<ObjectRef>, shape: &Shape, units: i64) -> i64 {
        self.promote_with(queue, shape, units, shape.fields, true)
    }

    #[inline(always)]
    fn promote_with(
        &mut self,
        queue: &mut List<ObjectRef>,
        shape: &Shape,
        mut units: i64,
        offsets: &[u32],
        one: bool,
    ) -> i64 {
        let Shape { meta, cell, .. } = *shape;
        let marking = self.mark_phase().keeps_the_dead();
        let mut promoted = 0;
        while units > 0
            && let Some(&object) = queue.last()
        {
            if object.meta() != meta {
                break;
            }
            queue.pop();
            make_room(queue, offsets.len());
            object.set_header(meta | flag::MATURE, 0);
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_cell(cell_start(object), cell_start(object) + cell) };
            if marking {
                MARK.set(object.granule());
            }
            promoted += 1;
            units -= 2 + offsets.len() as i64;
            for &offset in offsets {
                if let Some(target) = reference(object, offset.into()) {
                    let count = target.count();
                    if count == 0 {
                        // Young, or mature and about to die, which `promote_one` sees: its header is needed then in any case.
                        target.prefetch_header();
                        if one {
                            target.prefetch_next_line();
                        }
                        push(queue, target);
                    }
                    target.set_count(count.saturating_add(1));
                }
            }
            if one {
                break;
            }
        }
        self.statistics.promoted_objects += promoted;
        self.statistics.live_objects += promoted;
        self.statistics.live_bytes += promoted * cell;
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
}
