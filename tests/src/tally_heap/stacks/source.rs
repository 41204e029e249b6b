//! The collector's questions, answered from the frames of a test: `compiled-code/src/stack/roots/source.rs` answers them by walks.

use std::rc::Rc;

use tally_collector::root_source::{Headway, RootList, RootSource};
use tally_heap::memory::size_class::class_of;
use tally_heap::services::builtin;
use tally_heap::{Heap, ObjectRef};

use super::{Frame, Table};
use crate::model_heap::StackState;

/// References in one part of an image, as `rc-runtime/src/services/coroutine/image.rs` has it.
const PART_MAX: usize = 1024;

/// The roots in frames.
#[derive(Debug)]
pub(in crate::tally_heap) struct Source(pub(in crate::tally_heap) Rc<Table>);

impl Source {
    fn push(&self, heap: &mut Heap, frames: &[Frame], into: &mut RootList) {
        let before = into.len();
        for object in frames.iter().rev().flat_map(Frame::held) {
            into.push(heap, object, &|| "a slot of a frame".to_owned());
        }
        heap.statistics.roots_walked += (into.len() - before) as u64;
    }

    /// Visits frames from the newest that waits down to `to`, and leaves those below.
    fn walk(&self, heap: &mut Heap, from: usize, to: usize, into: &mut RootList) -> Headway {
        self.push(heap, &self.0.running.borrow()[to..from], into);
        heap.statistics.frames_walked += (from - to) as u64;
        self.0.waits.set((to > 0).then_some(to));
        if to > 0 { Headway::Some } else { Headway::Done }
    }

    /// The frame down to which a walk goes that may visit so many.
    fn end_of(&self, from: usize, frames: usize) -> usize {
        match frames {
            usize::MAX => 0,
            frames => from.saturating_sub(frames.min(self.0.at_once.get())),
        }
    }

    fn note_image(&self, heap: &Heap, objects: &[ObjectRef]) {
        for part in objects.chunks(PART_MAX) {
            self.0.images.set(self.0.images.get().map(|made| made + 1));
            if let Some(cell) = builtin::frames().cell_bytes(part.len() as u64).filter(|_| heap.frames_count()) {
                self.0.classes.borrow_mut().insert(class_of(cell));
            }
        }
    }
}

impl RootSource for Source {
    fn lay_down(&mut self, heap: &mut Heap) {
        let records = self.0.records.borrow();
        let ran = records.iter().filter(|(_, record)| record.has_run);
        let ran: Vec<_> =
            ran.map(|(number, record)| (*number, record.object, record.state, record.held(heap))).collect();
        drop(records);
        for (number, object, state, held) in ran {
            let may_change = held.lends && state == StackState::Waiting && !heap.frames_count();
            if may_change {
                continue;
            }
            if heap.lay_down(object, &held.counted, &held.copied) {
                self.note_image(heap, &held.counted);
                self.note_image(heap, &held.copied);
                self.0.with(number, |record| (record.has_run, record.is_laid_down) = (false, true));
            } else {
                self.0.images.set(None);
            }
        }
    }

    fn begin(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        assert_eq!(self.0.waits.get(), None, "a walk begins while frames wait for another");
        self.0.records.borrow().values().filter(|record| record.has_run).for_each(|record| {
            self.push(heap, &record.frames, into);
        });
        let may_pause = heap.zeal.is_none() && !heap.options().stop_the_world;
        let count = self.0.running.borrow().len();
        let lending = self.0.running.borrow().iter().position(|frame| frame.lends).unwrap_or(count);
        let to = if may_pause { self.end_of(count, frames).min(lending) } else { 0 };
        self.walk(heap, count, to, into)
    }

    fn go_on(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        let Some(waits) = self.0.waits.take() else { return Headway::Done };
        if self.0.is_cut.take() {
            return Headway::Cut;
        }
        self.walk(heap, waits, self.end_of(waits, frames), into)
    }

    fn has_rest(&self) -> bool {
        self.0.waits.get().is_some()
    }

    fn units_walked(&self, heap: &Heap) -> u64 {
        heap.statistics.frames_walked + heap.statistics.roots_walked
    }

    fn end(&self) -> u64 {
        0
    }
}
