//! Asks the sampler about objects of the slow path, and limits what is handed out for inline allocation at its next point.

use crate::heap::Heap;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::type_registry::TypeId;

impl Heap {
    /// Of a plan that bumps a cursor: the next allocation comes to the slow path, which limits the cursor.
    pub(crate) fn count_from_cursor(&mut self) {
        let cursor = self.context_mut().cursor;
        if let Some(sites) = &mut self.services.alloc_sites {
            sites.sampler.counted_to = cursor;
        }
        self.context_mut().limit = 0;
    }

    /// Whether each allocation must come to the runtime for the sake of its site.
    #[inline(always)]
    pub(crate) fn records_all_sites(&self) -> bool {
        self.services.alloc_sites.as_ref().is_some_and(|sites| sites.sampler.takes_all())
    }

    /// The slow path has made an object.
    #[inline(always)]
    pub(crate) fn note_slow_allocation(&mut self, object: ObjectRef) {
        if self.services.alloc_sites.is_some() {
            self.sample_or_pass(object);
        }
    }

    #[cold]
    #[inline(never)]
    fn sample_or_pass(&mut self, object: ObjectRef) {
        let cell = object.type_info().cell_bytes_of(object);
        if self.is_sampled(object, cell) {
            self.record_site(object, cell);
        }
    }

    fn record_site(&mut self, object: ObjectRef, cell: u64) {
        let Some(sites) = &mut self.services.alloc_sites else { return };
        let site = sites.here();
        let number = sites.note(site, TypeId(object.type_info().id), cell);
        self.rest(object).site = number;
        if let Some(zeal) = &mut self.zeal {
            zeal.note_site(object, number);
        }
    }

    /// Of a plan that bumps a cursor: counts up to the object, and limits the cursor in the hole that it runs through at the next point.
    pub(crate) fn is_sampled_by_cursor(&mut self, object: ObjectRef, cell: u64, hole_end: u64) -> bool {
        let cursor = self.context_mut().cursor;
        let Some(sites) = &mut self.services.alloc_sites else { return false };
        let sampler = &mut sites.sampler;
        sampler.count_to(cursor);
        let is_elsewhere = object.address() - HEADER_BYTES + cell != cursor;
        let is_it = sampler.pass(if is_elsewhere { cell } else { 0 });
        let limit = sampler.limit(cursor, hole_end);
        if hole_end != 0 {
            self.context_mut().limit = limit;
        }
        is_it || self.records_all_sites()
    }

    /// A hole is entered: the limit of the cursor in it.
    pub(crate) fn limit_at_next_sample(&mut self, start: u64, end: u64) -> u64 {
        let Some(sites) = &mut self.services.alloc_sites else { return end };
        sites.sampler.counted_to = start;
        sites.sampler.limit(start, end)
    }

    /// A hole is left, at `cursor`.
    pub(crate) fn count_for_sample(&mut self, cursor: u64) {
        if let Some(sites) = &mut self.services.alloc_sites
            && cursor != 0
        {
            sites.sampler.count_to(cursor);
        }
    }

    /// Prompt plan: the same for an object with a cell of its class, or blocks of its own.
    pub(crate) fn is_sampled_by_list(&mut self, is_large: bool, cell: u64) -> bool {
        let Some(sites) = &mut self.services.alloc_sites else { return false };
        let is_it = std::mem::take(&mut sites.sampler.is_it);
        let is_it = if is_large { sites.sampler.pass(cell) } else { is_it };
        is_it || sites.sampler.takes_all()
    }

    /// Prompt plan: an object of the class is allocated for which there is no cell at hand.
    pub(crate) fn begin_refill(&mut self, class: u32) {
        if let Some(sites) = &mut self.services.alloc_sites {
            sites.sampler.is_it = sites.sampler.due >> class & 1 != 0;
            sites.sampler.due &= !(1 << class);
        }
    }

    /// Prompt plan: cells of the class to hand out before the next point.
    pub(crate) fn cells_to_next_sample(&self, cell: u64) -> u64 {
        match &self.services.alloc_sites {
            None => u64::MAX,
            Some(sites) => (sites.sampler.until.max(0) as u64).div_ceil(cell).max(1),
        }
    }

    /// Prompt plan: cells of the class were handed out. Where a point lies at their end, the next object of the class is sampled.
    pub(crate) fn note_handed_out(&mut self, class: u32, bytes: u64) {
        if let Some(sites) = &mut self.services.alloc_sites
            && sites.sampler.pass(bytes)
        {
            sites.sampler.due |= 1 << class;
        }
    }
}
