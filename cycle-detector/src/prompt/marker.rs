//! The marker: follows references from what is alive, at once or in parts. Both marks of the prompt plan have one.
//!
//! What it has marked and not visited is on a stack; large objects are visited by chunks. Between two parts the program runs, and what is on
//! the stack may die and be something else by then: what comes from an earlier part is looked at before it is visited.

use crate::soon::Soon;
use rc_runtime::object::prompt_flag;
use rc_runtime::range::MARK;
use rc_runtime::visit::Part;
use rc_runtime::{Heap, ObjectRef};

/// Objects that are fetched before it is their turn.
const AHEAD: usize = 16;
/// Objects from an earlier part that are looked at together.
const CONFIRMED_AT_ONCE: usize = 64;

/// See the file's first lines.
#[derive(Debug, Default)]
pub(super) struct Marker {
    stack: Vec<ObjectRef>,
    /// So many on the stack, from the first, were there when the program ran.
    doubtful: usize,
    /// Large objects, with the chunk to visit next.
    large: Vec<(ObjectRef, u64)>,
    /// Ephemerons that must not be followed, as far as is known.
    pub(super) held_back: Vec<ObjectRef>,
}

impl Marker {
    /// The object is alive.
    #[inline(always)]
    pub(super) fn show(&mut self, object: ObjectRef) {
        if !MARK.get(object.address()) {
            MARK.set(object.address());
            self.stack.push(object);
        }
    }

    /// The object has been marked, and is to be visited.
    pub(super) fn visit_later(&mut self, object: ObjectRef) {
        self.stack.push(object);
    }

    /// What is to be visited.
    pub(super) fn waiting(&self) -> u64 {
        (self.stack.len() + self.large.len()) as u64
    }

    /// The program has run since.
    pub(super) fn note_that_the_program_ran(&mut self) {
        self.doubtful = self.stack.len();
    }

    /// Follows everything; answers how many units that took.
    pub(super) fn finish(&mut self, heap: &mut Heap) -> i64 {
        let mut spent = 0;
        while self.waiting() != 0 {
            spent += self.advance(heap, i64::MAX);
        }
        spent
    }

    /// Does up to `units` of work, and a visit more at most; answers how many.
    pub(super) fn advance(&mut self, heap: &mut Heap, units: i64) -> i64 {
        let (mut spent, mut soon) = (0, Soon::<AHEAD>::default());
        while spent < units {
            while self.doubtful != 0 && self.stack.len() < self.doubtful + AHEAD {
                spent += self.leave_out_what_has_gone(heap);
            }
            let Some(object) = soon.next(|| self.stack.pop()) else { break };
            spent += self.visit(heap, object);
        }
        self.stack.extend(soon.drain());
        while spent < units
            && let Some((object, chunk)) = self.large.pop()
        {
            spent += self.visit_chunk(heap, object, chunk);
        }
        spent
    }

    /// Some of what was on the stack when the program ran, the topmost of that: who is no object any more is taken from it.
    #[cold]
    fn leave_out_what_has_gone(&mut self, heap: &Heap) -> i64 {
        let from = self.doubtful.saturating_sub(CONFIRMED_AT_ONCE);
        for place in (from..self.doubtful).rev() {
            if !heap.is_still_there(self.stack[place]) {
                self.stack.swap_remove(place);
            }
        }
        let looked_at = self.doubtful - from;
        self.doubtful = from;
        looked_at as i64
    }

    #[inline(always)]
    fn visit(&mut self, heap: &mut Heap, object: ObjectRef) -> i64 {
        let mut spent = 2;
        if object.has(prompt_flag::SPECIAL | prompt_flag::LARGE) {
            heap.for_each_value_of_key(object, |_, value| {
                spent += 1;
                self.show(value);
            });
            if heap.is_held_back(object) {
                self.held_back.push(object);
                return spent;
            }
            if object.has(prompt_flag::LARGE) {
                self.large.push((object, 0));
                return spent;
            }
        }
        Heap::for_each_counted_reference(object, |target| {
            spent += 1;
            self.show(target);
        });
        spent
    }

    fn visit_chunk(&mut self, heap: &Heap, object: ObjectRef, chunk: u64) -> i64 {
        let mut spent = 2;
        if !heap.is_still_there(object) {
            return spent;
        }
        let info = object.type_info();
        info.for_each_reference(object, Part::Chunk(chunk), |target| {
            spent += 1;
            self.show(target);
        });
        if chunk + 1 < info.chunk_count(info.length(object)) {
            self.large.push((object, chunk + 1));
        }
        spent
    }

    /// Ephemerons that were held back, and have another key, none, or one that is marked by now, are visited after all: true when there are any.
    /// Those that have gone are forgotten.
    pub(super) fn follow_released_ephemerons(&mut self, heap: &Heap) -> bool {
        let (held_back, released): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held_back)
            .into_iter()
            .filter(|&ephemeron| heap.is_still_there(ephemeron) && ephemeron.has(prompt_flag::SPECIAL))
            .partition(|&ephemeron| heap.is_held_back(ephemeron));
        self.held_back = held_back;
        let any = !released.is_empty();
        self.stack.extend(released);
        any
    }
}
