//! The stacks of the model: frames with slots, and the order in which stacks wait for one another.
//!
//! What the frames of the running stack hold is held by roots, and so are the stacks of the chain. What the frames of any
//! other stack hold, its coroutine refers to.

use std::collections::BTreeMap;

use super::{Id, ModelHeap};

/// What a stack does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackState {
    /// It is new, or has stopped, and no other waits for it.
    Suspended,
    /// It runs.
    Running,
    /// It goes on when the one to which it has switched ends.
    Waiting,
    /// It never goes on.
    Finished,
}

/// A frame.
#[derive(Clone, Debug)]
pub struct ModelFrame {
    /// Its slots.
    pub slots: Vec<Option<Id>>,
    /// Whether other frames may store to them.
    pub lends: bool,
}

/// A stack that does not run; of the one that does the frames are elsewhere.
#[derive(Clone, Debug)]
pub struct ModelStack {
    /// What it does.
    pub state: StackState,
    /// Its frames, the oldest first.
    pub frames: Vec<ModelFrame>,
}

/// All stacks.
#[derive(Debug, Default)]
pub struct ModelStacks {
    /// The frames of the stack that runs.
    pub running: Vec<ModelFrame>,
    /// By coroutine.
    pub all: BTreeMap<Id, ModelStack>,
    /// Those that run or wait, the running one last; none before the first coroutine is made.
    pub chain: Vec<Id>,
}

/// A slot of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSlot {
    /// The number of stacks between the running one and this one in the chain, the latter included.
    pub above: usize,
    /// The frame's number, from the oldest.
    pub frame: usize,
    /// The slot's number.
    pub slot: usize,
}

impl ModelStacks {
    /// What frames of stacks that do not run hold.
    pub fn held_by_frames_of(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let frames = self.all.get(&id).into_iter().flat_map(|stack| &stack.frames);
        frames.flat_map(|frame| frame.slots.iter().flatten().copied())
    }

    /// What the running stack's frames hold, and the stacks of the chain.
    pub fn held_as_roots(&self) -> impl Iterator<Item = Id> + '_ {
        let slots = self.running.iter().flat_map(|frame| frame.slots.iter().flatten().copied());
        slots.chain(self.chain.iter().copied())
    }

    /// The slots to which other frames may store: of the running stack, and of `waiting` ones if that is wished for.
    pub fn address_taken_slots(&self, waiting: bool) -> Vec<FrameSlot> {
        let mut found = Vec::new();
        let mut add = |above: usize, frames: &[ModelFrame]| {
            for (frame, lending) in frames.iter().enumerate().filter(|(_, frame)| frame.lends) {
                found.extend((0..lending.slots.len()).map(|slot| FrameSlot { above, frame, slot }));
            }
        };
        add(0, &self.running);
        if waiting {
            for (above, id) in self.chain.iter().rev().enumerate().skip(1) {
                add(above, &self.all[id].frames);
            }
        }
        found
    }

    /// The stack that waits for the running one.
    pub fn waiting_for_this(&self) -> Option<Id> {
        self.chain.len().checked_sub(2).map(|place| self.chain[place])
    }

    /// The running stack stops, and another goes on.
    pub fn switch(&mut self, to: Id) {
        let from = *self.chain.last().expect("a stack that runs");
        self.stack(from).frames = std::mem::take(&mut self.running);
        if self.stack(to).state == StackState::Suspended {
            self.stack(from).state = StackState::Waiting;
            self.chain.push(to);
        } else {
            while let Some(&last) = self.chain.last()
                && last != to
            {
                self.stack(last).state = StackState::Suspended;
                self.chain.pop();
            }
        }
        self.goes_on(to);
    }

    /// The running stack, which has no frames any more, ends, and the one that waits for it goes on.
    pub fn finish(&mut self) {
        let from = self.chain.pop().expect("a stack that runs");
        self.stack(from).state = StackState::Finished;
        if let Some(&to) = self.chain.last() {
            self.goes_on(to);
        }
    }

    fn goes_on(&mut self, to: Id) {
        let stack = self.stack(to);
        stack.state = StackState::Running;
        self.running = std::mem::take(&mut stack.frames);
    }

    fn stack(&mut self, id: Id) -> &mut ModelStack {
        self.all.get_mut(&id).expect("a coroutine")
    }
}

impl ModelHeap {
    /// Stores to a slot of a frame.
    pub fn store_in_frame(&mut self, at: FrameSlot, new: Option<Id>) {
        let stacks = &mut self.stacks;
        let frames = match at.above {
            0 => &mut stacks.running,
            above => {
                let id = stacks.chain[stacks.chain.len() - 1 - above];
                &mut stacks.all.get_mut(&id).expect("a coroutine").frames
            }
        };
        let old = std::mem::replace(&mut frames[at.frame].slots[at.slot], new);
        new.into_iter().for_each(|new| self.hold(new));
        old.into_iter().for_each(|old| self.release(old));
    }

    /// The running stack keeps its oldest `depth` frames.
    pub fn cut_frames(&mut self, depth: usize) {
        let depth = depth.min(self.stacks.running.len());
        let gone: Vec<Id> =
            self.stacks.running.drain(depth..).flat_map(|frame| frame.slots.into_iter().flatten()).collect();
        gone.into_iter().for_each(|id| self.release(id));
    }

    /// A suspended stack never goes on.
    pub fn close_stack(&mut self, id: Id) {
        let held: Vec<Id> = self.stacks.held_by_frames_of(id).collect();
        let stack = self.stacks.stack(id);
        stack.state = StackState::Finished;
        stack.frames.clear();
        held.into_iter().for_each(|id| self.release(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_heap::Word;
    use crate::shape::Kind;

    fn coroutine(heap: &mut ModelHeap, state: StackState) -> Id {
        let id = heap.allocate(Kind::Coroutine, 0);
        heap.stacks.all.insert(id, ModelStack { state, frames: Vec::new() });
        id
    }

    #[test]
    fn frames_are_roots_while_they_run_or_wait_and_fields_of_their_coroutine_while_it_is_suspended() {
        let mut heap = ModelHeap::default();
        let [own, other] = [StackState::Running, StackState::Suspended].map(|state| coroutine(&mut heap, state));
        let pair = heap.allocate(Kind::Pair, 0);
        heap.stacks.chain.push(own);
        heap.stacks.switch(other);
        heap.stacks.running.push(ModelFrame { slots: vec![None], lends: false });
        heap.store_in_frame(FrameSlot { above: 0, frame: 0, slot: 0 }, Some(pair));
        assert_eq!(heap.reachable(), [true, true, true]);
        // Its stack, which a pair in its frame holds.
        heap.store(pair, 0, Word::Reference(other));
        heap.stacks.switch(own);
        assert_eq!(heap.reachable(), [true, false, false]);
        let reachable = heap.reachable();
        assert_eq!(heap.countable_garbage(&reachable, false).countable, [] as [Id; 0], "a cycle");
        heap.close_stack(other);
        assert_eq!(heap.countable_garbage(&reachable, false).countable, [pair, other]);
    }
}
