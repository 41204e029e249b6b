//! Stacks, op by op: frames come and go, stacks are made, switched between and closed.
//!
//! A stack that runs or waits is alive, with what its frames hold; a suspended one lives while something refers to it. No frame
//! of one that was closed or has finished runs again, and what it held is let go of.

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::{FrameSlot, Id, ModelFrame, ModelStack, StackState};
use crate::op::stack::{FRAMES_MAX, SLOTS_MAX};
use crate::op::{Register, StackOp};
use crate::shape::Kind;

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Performs one op.
    pub(super) fn stack_op(&mut self, op: StackOp) -> Result<(), String> {
        match op {
            StackOp::New { into } => {
                if let Some(id) = self.new_stack()? {
                    self.set_root(usize::from(into), Some(id));
                }
            }
            StackOp::Current { into } => {
                if self.begin_stacks()? {
                    self.set_root(usize::from(into), self.model.stacks.chain.last().copied());
                }
            }
            StackOp::Switch { to } => {
                if let Some(id) = self.stack_in(to) {
                    self.switch(id)?;
                }
            }
            StackOp::Yield => {
                if let Some(waits) = self.model.stacks.waiting_for_this() {
                    self.switch(waits)?;
                }
            }
            StackOp::Finish => {
                if self.model.stacks.waiting_for_this().is_some() {
                    self.return_from(usize::MAX);
                    self.heap.finish_stack();
                    self.model.stacks.finish();
                }
            }
            StackOp::Close { stack } => {
                if let Some(id) = self.stack_in(stack)
                    && self.compare_stack(id)? == StackState::Suspended
                {
                    self.heap.close_stack(self.addresses[id as usize]);
                    self.model.close_stack(id);
                }
            }
            StackOp::Call { slots, lends } => self.call(slots, lends),
            StackOp::Return { count } => self.return_from(count as usize),
            StackOp::Jump { depth } => {
                if (depth as usize) < self.model.stacks.running.len() {
                    self.heap.jump(depth as usize);
                    self.model.cut_frames(depth as usize);
                }
            }
            StackOp::Write { slot, from } => {
                let target = from.and_then(|from| self.register(from));
                self.write_frame(slot, target);
            }
            StackOp::Read { into, slot } => {
                if let Some(at) = self.newest_slot(slot) {
                    let target = self.model.stacks.running[at.frame].slots[at.slot];
                    let (found, expected) =
                        (self.heap.frame_slot(at.slot), target.map(|id| self.addresses[id as usize]));
                    if found != expected {
                        return Err(format!("slot {} of the newest frame has {found:x?}, not {expected:x?}", at.slot));
                    }
                    self.set_root(usize::from(into), target);
                }
            }
            StackOp::Lent { slot, from } => {
                let address_taken = self.model.stacks.address_taken_slots(self.heap.stores_to_waiting());
                if !address_taken.is_empty() {
                    let target = from.and_then(|from| self.register(from));
                    self.store_in_frame(address_taken[slot as usize % address_taken.len()], target);
                }
            }
            StackOp::Recurse { count, object } => {
                for _ in 0..count {
                    self.call(1, false);
                    let target = self.register(object);
                    self.write_frame(0, target);
                }
            }
            StackOp::AtOnce { frames } => self.heap.visit_at_once(frames.max(1) as usize),
            StackOp::Generator { count, closed, into } => self.generator(count, closed, into)?,
            StackOp::Find { into, number } => {
                if let Some(id) = self.reachable_stack(number) {
                    self.set_root(usize::from(into), Some(id));
                }
            }
            StackOp::Resume { number } => self.resume(number)?,
            StackOp::Turns { count } => self.turns(count)?,
        }
        Ok(())
    }

    /// The thread's own stack is a coroutine; false if there is no room for it.
    fn begin_stacks(&mut self) -> Result<bool, String> {
        if self.model.stacks.chain.is_empty() {
            let made = self.heap.begin_stacks();
            let Some(id) = self.enter_stack(made, StackState::Running)? else { return Ok(false) };
            self.model.stacks.chain.push(id);
        }
        Ok(true)
    }

    fn new_stack(&mut self) -> Result<Option<Id>, String> {
        if !self.begin_stacks()? {
            return Ok(None);
        }
        let made = self.heap.new_stack();
        self.enter_stack(made, StackState::Suspended)
    }

    fn enter_stack(
        &mut self,
        made: Result<u64, crate::heap_under_test::Refusal>,
        state: StackState,
    ) -> Result<Option<Id>, String> {
        let Some(address) = self.after_allocation(made, Kind::Coroutine, 0)? else { return Ok(None) };
        let id = self.enter(Kind::Coroutine, 0, address);
        self.model.stacks.all.insert(id, ModelStack { state, frames: Vec::new() });
        Ok(Some(id))
    }

    fn stack_in(&self, register: Register) -> Option<Id> {
        self.register(register).filter(|id| self.model.stacks.all.contains_key(id))
    }

    /// One of the stacks that roots reach, and that does not run.
    fn reachable_stack(&self, number: u32) -> Option<Id> {
        let reachable = self.model.reachable();
        let stacks = self.model.stacks.all.iter().filter(|(id, stack)| {
            reachable[**id as usize] && matches!(stack.state, StackState::Suspended | StackState::Waiting)
        });
        let stacks: Vec<Id> = stacks.map(|(id, _)| *id).collect();
        (!stacks.is_empty()).then(|| stacks[number as usize % stacks.len()])
    }

    fn resume(&mut self, number: u32) -> Result<(), String> {
        match self.reachable_stack(number) {
            Some(id) => self.switch(id),
            None => Ok(()),
        }
    }

    fn switch(&mut self, to: Id) -> Result<(), String> {
        if matches!(self.compare_stack(to)?, StackState::Suspended | StackState::Waiting) {
            self.heap.switch(self.addresses[to as usize]);
            self.model.stacks.switch(to);
            self.summary.switches += 1;
        }
        Ok(())
    }

    fn call(&mut self, slots: u32, lends: bool) {
        if self.model.stacks.running.len() < FRAMES_MAX {
            let slots = slots.min(SLOTS_MAX) as usize;
            self.heap.push_frame(slots, lends);
            self.model.stacks.running.push(ModelFrame { slots: vec![None; slots], lends });
        }
    }

    /// So many frames return, or all there are.
    fn return_from(&mut self, count: usize) {
        for _ in 0..count.min(self.model.stacks.running.len()) {
            self.heap.pop_frame();
            self.model.cut_frames(self.model.stacks.running.len() - 1);
        }
    }

    fn newest_slot(&self, slot: u32) -> Option<FrameSlot> {
        let frame = self.model.stacks.running.len().checked_sub(1)?;
        let count = self.model.stacks.running[frame].slots.len();
        (count > 0).then(|| FrameSlot { above: 0, frame, slot: slot as usize % count })
    }

    fn write_frame(&mut self, slot: u32, target: Option<Id>) {
        if let Some(at) = self.newest_slot(slot) {
            self.store_in_frame(at, target);
        }
    }

    fn store_in_frame(&mut self, at: FrameSlot, target: Option<Id>) {
        self.heap.set_frame_slot(at, target.map(|id| self.addresses[id as usize]));
        self.model.store_in_frame(at, target);
    }

    fn generator(&mut self, count: u32, closed: bool, into: Register) -> Result<(), String> {
        let Some(stack) = self.new_stack()? else { return Ok(()) };
        self.set_root(usize::from(into), Some(stack));
        self.switch(stack)?;
        let mut last = None;
        for number in 0..count {
            if number % 3 == 0 {
                self.call(2, false);
            }
            // The pairs lie apart.
            self.garbage(Kind::Leaf, 0, number % 8)?;
            let Some(pair) = self.allocate(Kind::Pair, 0)? else { break };
            if let Some(last) = last.or(Some(stack).filter(|_| closed)) {
                self.link(pair, 0, last);
            }
            self.write_frame(number % 2, Some(pair));
            last = Some(pair);
        }
        let waits = self.model.stacks.waiting_for_this().expect("the one that has made it");
        self.switch(waits)
    }

    fn turns(&mut self, count: u32) -> Result<(), String> {
        for number in 0..count {
            self.resume(number)?;
            match number % 4 {
                0 | 1 => {
                    self.call(2, false);
                    let target = self.model.stacks.chain.last().copied();
                    self.write_frame(number / 4, target);
                }
                _ => self.return_from(1),
            }
            self.poll()?;
        }
        Ok(())
    }

    /// What a reachable stack does, which the heap knows as well.
    fn compare_stack(&self, id: Id) -> Result<StackState, String> {
        let expected = self.model.stacks.all[&id].state;
        match self.heap.stack_state(self.addresses[id as usize]) {
            Ok(found) if found == expected => Ok(found),
            Ok(found) => Err(format!("{} is {found:?}, not {expected:?}", self.describe(id))),
            Err(what) => Err(format!("{}: {what}", self.describe(id))),
        }
    }

    /// After an epoch or a collection: what reachable stacks do.
    pub(super) fn compare_stacks(&self, reachable: &[bool]) -> Result<(), String> {
        let mut stacks = self.model.stacks.all.keys().filter(|id| reachable[**id as usize]);
        stacks.try_for_each(|id| self.compare_stack(*id).map(|_| ()))
    }

    /// The program ends on its own stack, whose frames return. All others are suspended, and nothing refers to them.
    pub(super) fn end_stacks(&mut self) -> Result<(), String> {
        if self.model.stacks.waiting_for_this().is_some() {
            self.switch(self.model.stacks.chain[0])?;
        }
        self.return_from(usize::MAX);
        if !self.model.stacks.chain.is_empty() {
            self.heap.finish_stack();
            self.model.stacks.finish();
        }
        Ok(())
    }
}
