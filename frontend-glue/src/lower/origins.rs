//! The origins of a value: the values from which a value stored to a root was made.
//!
//! ```text
//!   %base = phi ptr [ %a, %one ], [ %b, %other ]     ; the root holds %a or %b,
//!   store ptr %base, ptr %root                       ; so it protects what was derived from either
//! ```
//!
//! A value's origins are the values that it may equal or be computed from, as long as it is the same reference:
//! operands of phis, selects, casts, freezes, aggregates and integer arithmetic (an untagged word is the tagged one),
//! the base of an address, values stored to the variable that it was read from, and arguments of calls whose result
//! may be an argument: intrinsics, inline assembly, leaves, and arguments marked `returned`. The result of an opaque
//! call is an object of its own: if each argument counted as its origin, the root of a result would keep garbage for
//! as long as an argument is used.

use super::influence::bits;
use crate::analysis::callee::{Callee, Callees, LEAF};
use crate::llvm::call::{AttributeKind, Call};
use crate::llvm::{HandleSet, Opcode, Value};

/// Finds origins in one module.
#[derive(Debug)]
pub(super) struct Origins<'a> {
    callees: &'a Callees,
    returned: AttributeKind,
}

impl Origins<'_> {
    pub(super) fn among(callees: &Callees) -> Origins<'_> {
        Origins { callees, returned: AttributeKind::named("returned") }
    }

    /// The origins of a value, one step back; those of an alloca are the values stored to it.
    ///
    /// An alloca among them stands for its content.
    pub(super) fn of(&self, value: Value) -> Vec<Value> {
        let Some(opcode) = value.opcode() else { return Vec::new() };
        let mut origins = match opcode {
            Opcode::LLVMPHI => value.incoming().into_iter().map(|(incoming, _)| incoming).collect(),
            Opcode::LLVMSelect => vec![value.operand(1), value.operand(2)],
            // The index of an address is no reference.
            Opcode::LLVMGetElementPtr | Opcode::LLVMExtractElement => vec![value.operand(0)],
            Opcode::LLVMInsertElement => vec![value.operand(0), value.operand(1)],
            Opcode::LLVMLoad => return containers(value.operand(0)),
            Opcode::LLVMAlloca => return self.of_content(value),
            Opcode::LLVMCall | Opcode::LLVMInvoke => self.of_result(value.as_call().expect("a call or invoke")),
            Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg | Opcode::LLVMICmp | Opcode::LLVMFCmp => Vec::new(),
            _ => value.operands().collect(),
        };
        // The address of a variable is not its content.
        origins.retain(|origin| origin.is_local() && !origin.is(Opcode::LLVMAlloca) && bits(origin.type_of()) >= 32);
        origins
    }

    fn of_result(&self, call: Call) -> Vec<Value> {
        let arguments = call.arguments();
        match self.callees.of_call(call) {
            Callee::OtherIntrinsic | Callee::InlineAsm => arguments,
            Callee::Ordinary if call.has_string_attribute(LEAF) => arguments,
            Callee::Ordinary => call.returned_argument(self.returned).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The values stored to a variable.
    fn of_content(&self, alloca: Value) -> Vec<Value> {
        let mut origins = Vec::new();
        let (mut seen, mut addresses) = (HandleSet::default(), vec![alloca]);
        while let Some(address) = addresses.pop() {
            if !seen.insert(address) {
                continue;
            }
            for user in address.users() {
                match user.opcode() {
                    Some(Opcode::LLVMStore) if user.operand(1) == address => origins.push(user.operand(0)),
                    Some(Opcode::LLVMAtomicRMW) if user.operand(0) == address => origins.push(user.operand(1)),
                    Some(Opcode::LLVMAtomicCmpXchg) if user.operand(0) == address => origins.push(user.operand(2)),
                    Some(Opcode::LLVMCall) => {
                        let call = user.as_call().expect("a call");
                        if self.callees.of_call(call) == Callee::Copy && call.argument(0) == address {
                            origins.extend(containers(call.argument(1)));
                        }
                    }
                    _ if is_address_of(user, address) => addresses.push(user),
                    _ => {}
                }
            }
        }
        origins.retain(|origin| origin.is_local());
        origins
    }
}

/// Whether `user` is an address made of `address`.
fn is_address_of(user: Value, address: Value) -> bool {
    match user.opcode() {
        Some(Opcode::LLVMGetElementPtr) => user.operand(0) == address,
        Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze) => true,
        Some(Opcode::LLVMPHI) => true,
        Some(Opcode::LLVMSelect) => user.operand(0) != address,
        _ => false,
    }
}

/// The allocas that an address may lie in, as far as they are known.
pub(super) fn containers(address: Value) -> Vec<Value> {
    let mut allocas = Vec::new();
    let (mut seen, mut pending) = (HandleSet::default(), vec![address]);
    while let Some(address) = pending.pop() {
        match address.opcode() {
            Some(Opcode::LLVMAlloca) => allocas.push(address),
            Some(Opcode::LLVMPHI) if seen.insert(address) => {
                pending.extend(address.incoming().into_iter().map(|(incoming, _)| incoming));
            }
            Some(Opcode::LLVMSelect) if seen.insert(address) => {
                pending.extend([address.operand(1), address.operand(2)]);
            }
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze)
                if seen.insert(address) =>
            {
                pending.push(address.operand(0))
            }
            _ => {}
        }
    }
    allocas
}
