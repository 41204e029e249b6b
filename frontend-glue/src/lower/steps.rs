//! A function reduced to its roots: for each block the few instructions that root liveness must read.
//!
//! Liveness goes over every block several times, forwards and backwards. Most instructions have nothing to do with
//! any root, and reading the operands of each of them from LLVM, each time, was a third of the whole lowering. So the
//! facts are gathered once, from the uses of the values that depend on roots ([`Influence`]), and the instructions
//! are walked once to order them. Values are numbered: those that matter beyond the block that makes them come first.

use super::influence::{Influence, SlotAccess};
use super::roots::slot_bytes;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, Opcode, Value};
use smallvec::SmallVec;

/// An instruction, as far as roots are concerned; its effects happen in the order of the fields, last first.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Values on roots that it uses at this place: a phi has taken its values before; lifetime markers, and a store
    /// to the whole variable, do not read the old content.
    pub(super) uses: SmallVec<[usize; 2]>,
    /// The variable whose whole content it replaces.
    pub(super) refills: Option<usize>,
    pub(super) accesses: SmallVec<[SlotAccess; 1]>,
    /// If it is a safepoint: its place in [`Steps::safepoints`].
    pub(super) safepoint: Option<usize>,
    /// The value that it makes.
    pub(super) begins: Option<usize>,
}

/// The steps of one function.
#[derive(Debug)]
pub(super) struct Steps {
    /// For each block of the flow, in the order of its instructions.
    pub(super) of_blocks: Vec<Vec<Step>>,
    /// For each block the values that the phis of the next take at its end.
    pub(super) taken_at_end: Vec<Vec<usize>>,
    pub(super) safepoints: Vec<Call>,
    /// The values that depend on roots.
    pub(super) values: Vec<Value>,
    /// The number of them, at the start, that can matter outside the block that makes them.
    pub(super) crossing: usize,
}

impl Steps {
    pub(super) fn of(callees: &Callees, flow: &Flow, influence: &Influence) -> Steps {
        let (mut values, inside): (Vec<Value>, Vec<Value>) = influence.hanging().partition(|&value| crosses(value));
        let crossing = values.len();
        values.extend(inside);
        let mut steps = Steps {
            of_blocks: Vec::with_capacity(flow.blocks.len()),
            taken_at_end: vec![Vec::new(); flow.blocks.len()],
            safepoints: Vec::new(),
            values,
            crossing,
        };
        let mut concerned = steps.concerned(callees, flow, influence);
        for block in &flow.blocks {
            let mut of_block = Vec::new();
            for instruction in block.instructions() {
                let step = concerned.remove(&instruction);
                let call = Call::among_instructions(instruction).filter(|&call| callees.is_safepoint(call));
                if step.is_none() && call.is_none() {
                    continue;
                }
                let mut step = step.unwrap_or_default();
                step.safepoint = call.map(|call| {
                    steps.safepoints.push(call);
                    steps.safepoints.len() - 1
                });
                of_block.push(step);
            }
            steps.of_blocks.push(of_block);
        }
        steps
    }

    /// The instructions that make or use values on roots, or access slots.
    fn concerned(&mut self, callees: &Callees, flow: &Flow, influence: &Influence) -> HandleMap<Value, Step> {
        let mut concerned: HandleMap<Value, Step> = HandleMap::default();
        for (instruction, accesses) in influence.accesses() {
            concerned.entry(instruction).or_default().accesses.extend_from_slice(accesses);
        }
        for (number, &value) in self.values.iter().enumerate() {
            if value.is_instruction() {
                concerned.entry(value).or_default().begins = Some(number);
            }
            let is_variable = value.is(Opcode::LLVMAlloca);
            for user in value.users() {
                if user.is(Opcode::LLVMPHI) {
                    let taken = user.incoming().into_iter().filter(|(incoming, _)| *incoming == value);
                    for (_, from) in taken {
                        self.taken_at_end[flow.number(from)].push(number);
                    }
                } else if is_variable && refilled_variable(callees, user) == Some(value) {
                    concerned.entry(user).or_default().refills = Some(number);
                } else if !(is_variable && is_lifetime_marker(callees, user)) {
                    concerned.entry(user).or_default().uses.push(number);
                }
            }
        }
        concerned
    }
}

fn crosses(value: Value) -> bool {
    value.is_argument()
        || value.is(Opcode::LLVMAlloca)
        || value.users().any(|user| user.is(Opcode::LLVMPHI) || user.block() != value.block())
}

fn refilled_variable(callees: &Callees, instruction: Value) -> Option<Value> {
    let (variable, whole) = match instruction.opcode()? {
        Opcode::LLVMStore => {
            let (module, variable) = (instruction.function().module(), instruction.operand(1));
            let of = instruction.operand(0).type_of();
            let is_variable = variable.is(Opcode::LLVMAlloca);
            (
                variable,
                is_variable && slot_bytes(module, variable).is_some_and(|bytes| module.store_size_of(of) >= bytes),
            )
        }
        Opcode::LLVMCall => {
            let call = instruction.as_call()?;
            let starts = callees.of_call(call) == Callee::LifetimeStart;
            (call.arguments().last().copied()?, starts)
        }
        _ => return None,
    };
    (whole && variable.is(Opcode::LLVMAlloca)).then_some(variable)
}

fn is_lifetime_marker(callees: &Callees, user: Value) -> bool {
    let is_marker = |call| matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd);
    user.as_call().is_some_and(is_marker)
}
