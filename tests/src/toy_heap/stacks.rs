//! The stacks of the toy heap: frames in tables, as simple as the rest of it, and as easily made wrong.

use std::collections::{BTreeMap, HashSet};

use super::{Fault, ToyHeap};
use crate::heap_under_test::{HeapUnderTest, Refusal, Stacks};
use crate::model_heap::{FrameSlot, StackState};
use crate::shape::Kind;

type Frames = Vec<Vec<Option<u64>>>;

#[derive(Default)]
pub(super) struct ToyStacks {
    running: Frames,
    /// Those that do not run, with their frames.
    all: BTreeMap<u64, (StackState, Frames)>,
    chain: Vec<u64>,
}

impl ToyStacks {
    pub(super) fn end(&mut self, dead: &HashSet<u64>) {
        self.all.retain(|stack, _| !dead.contains(stack));
    }

    fn set_state(&mut self, stack: u64, state: StackState) {
        self.all.get_mut(&stack).expect("a coroutine").0 = state;
    }

    fn goes_on(&mut self, stack: u64) {
        let entry = self.all.get_mut(&stack).expect("a coroutine");
        entry.0 = StackState::Running;
        self.running = std::mem::take(&mut entry.1);
    }
}

fn slots(frames: &Frames) -> impl Iterator<Item = u64> + '_ {
    frames.iter().flatten().flatten().copied()
}

impl ToyHeap {
    /// What frames of the running stack hold, and the stacks that run or wait.
    pub(super) fn held_by_stacks(&self) -> Vec<u64> {
        let stacks = &self.stacks;
        let waits =
            if self.fault == Some(Fault::OverlooksWaitingStacks) { stacks.chain.len().saturating_sub(1) } else { 0 };
        let mut held = stacks.chain.get(waits..).unwrap_or_default().to_vec();
        if self.fault != Some(Fault::OverlooksFrames) {
            held.extend(slots(&stacks.running));
        }
        if self.fault == Some(Fault::KeepsStacks) {
            held.extend(stacks.all.iter().filter(|(_, (_, frames))| !frames.is_empty()).map(|(stack, _)| *stack));
        }
        held
    }

    pub(super) fn held_by_frames_of(&self, stack: u64) -> Vec<u64> {
        match self.stacks.all.get(&stack) {
            Some((_, frames)) if self.fault != Some(Fault::OverlooksStoppedFrames) => slots(frames).collect(),
            _ => Vec::new(),
        }
    }

    fn new_coroutine(&mut self, state: StackState) -> Result<u64, Refusal> {
        let stack = self.allocate(Kind::Coroutine, 0)?;
        self.stacks.all.insert(stack, (state, Frames::new()));
        Ok(stack)
    }
}

impl Stacks for ToyHeap {
    fn begin_stacks(&mut self) -> Result<u64, Refusal> {
        let stack = self.new_coroutine(StackState::Running)?;
        self.stacks.chain.push(stack);
        Ok(stack)
    }

    fn new_stack(&mut self) -> Result<u64, Refusal> {
        self.new_coroutine(StackState::Suspended)
    }

    fn switch(&mut self, to: u64) {
        let (fault, stacks) = (self.fault, &mut self.stacks);
        let from = *stacks.chain.last().expect("a stack that runs");
        let mut frames = std::mem::take(&mut stacks.running);
        if fault == Some(Fault::ClearsOldestSlot) {
            frames.first_mut().and_then(|frame| frame.first_mut()).into_iter().for_each(|slot| *slot = None);
        }
        stacks.all.get_mut(&from).expect("a coroutine").1 = frames;
        if stacks.all[&to].0 == StackState::Suspended {
            stacks.set_state(from, StackState::Waiting);
            stacks.chain.push(to);
        } else {
            while let Some(last) = stacks.chain.pop_if(|last| *last != to) {
                stacks.set_state(last, StackState::Suspended);
            }
        }
        stacks.goes_on(to);
    }

    fn finish_stack(&mut self) {
        let from = self.stacks.chain.pop().expect("a stack that runs");
        self.stacks.set_state(from, StackState::Finished);
        if let Some(&to) = self.stacks.chain.last() {
            self.stacks.goes_on(to);
        }
    }

    fn close_stack(&mut self, stack: u64) {
        self.stacks.set_state(stack, StackState::Finished);
        if self.fault != Some(Fault::KeepsClosedFrames) {
            self.stacks.all.get_mut(&stack).expect("a coroutine").1.clear();
        }
    }

    fn push_frame(&mut self, slots: usize, _: bool) {
        self.stacks.running.push(vec![None; slots]);
    }

    fn pop_frame(&mut self) {
        self.stacks.running.pop();
    }

    fn jump(&mut self, depth: usize) {
        self.stacks.running.truncate(depth);
    }

    fn frame_slot(&self, slot: usize) -> Option<u64> {
        self.stacks.running.last()?[slot]
    }

    fn set_frame_slot(&mut self, at: FrameSlot, object: Option<u64>) {
        let stacks = &mut self.stacks;
        let frames = match at.above {
            0 => &mut stacks.running,
            above => {
                let waits = stacks.chain[stacks.chain.len() - 1 - above];
                &mut stacks.all.get_mut(&waits).expect("a coroutine").1
            }
        };
        frames[at.frame][at.slot] = object;
    }

    fn stack_state(&self, stack: u64) -> Result<StackState, String> {
        self.stacks.all.get(&stack).map(|(state, _)| *state).ok_or_else(|| "it is gone".to_owned())
    }
}
