//! A function boiled down to what concerns its roots: per block the few instructions that root liveness must look at.
//!
//! Liveness goes over every block several times, forwards and backwards. Most instructions have nothing to do with any
//! root, and asking LLVM for the operands of each of them, each time, was a third of the whole lowering. So what there is
//! to know is gathered once, from the uses of the values that hang on roots ([`Influence`]), and the instructions are
//! walked once to put it in order. Values are numbered: those that matter beyond the block that makes them come first.

use super::influence::{Influence, SlotAccess};
use super::roots::slot_bytes;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, Opcode, Value};
use smallvec::SmallVec;

/// An instruction, as far as roots are concerned; what happens in it happens in the order of the fields, last first.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Values on roots that it uses there and then: a phi has taken its values before; lifetime markers, and the variable
    /// that is refilled, do not look at what is there.
    pub(super) uses: SmallVec<[usize; 2]>,
    /// The variable whose whole content it replaces.
    pub(super) refills: Option<usize>,
    pub(super) accesses: SmallVec<[SlotAccess; 1]>,
    /// It is a safepoint, by the place in [`Steps::safepoints`].
    pub(super) safepoint: Option<usize>,
    /// It makes this value.
    pub(super) begins: Option<usize>,
}

/// See the file's first lines.
#[derive(Debug)]
pub(super) struct Steps {
    /// For each block of the flow, in the order of its instructions.
    pub(super) of_blocks: Vec<Vec<Step>>,
    /// For each block what the phis of the next take at its end.
    pub(super) taken_at_end: Vec<Vec<usize>>,
    pub(super) safepoints: Vec<Call>,
    /// The values that hang on roots.
    pub(super) values: Vec<Value>,
    /// How many of them, the first, can matter in other blocks than the one that makes them.
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
                } else if !is_lifetime_marker(callees, user) {
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
