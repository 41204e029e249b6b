//! Properties of one value: its kind, its operands, its users, and its place in the source.
//!
//! Only `erase`, `replace_all_uses` and the setters of a global change the module. All functions rely on the
//! invariant [HANDLE] of `llvm.rs`.

use super::call::{AttributeKind, Call, Position};
use super::{Block, Module, Opcode, Type};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMIntPredicate, LLVMValueKind};
use std::ffi::CString;

/// A function, global, constant, argument or instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Value(pub(in crate::llvm) LLVMValueRef);

/// The place of an instruction in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Value {
    pub(in crate::llvm) fn from_raw(value: LLVMValueRef) -> Option<Value> {
        (!value.is_null()).then_some(Value(value))
    }

    /// The opcode of an instruction.
    pub(crate) fn opcode(self) -> Option<Opcode> {
        self.is_instruction().then(|| raw!(LLVMGetInstructionOpcode(self.0)))
    }

    /// The word that begins an instruction: `load`, `landingpad`.
    pub(crate) fn opcode_name(self) -> String {
        let text = self.print();
        let assigned = text.split_once(" = ").map_or(text.as_str(), |(_, after)| after);
        assigned.split_whitespace().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn is(self, opcode: Opcode) -> bool {
        self.opcode() == Some(opcode)
    }

    /// Whether an instruction is a phi.
    pub(crate) fn is_phi(self) -> bool {
        raw!(LLVMGetInstructionOpcode(self.0)) == Opcode::LLVMPHI
    }

    pub(crate) fn is_terminator(self) -> bool {
        self.is_instruction() && !raw!(LLVMIsATerminatorInst(self.0)).is_null()
    }

    pub(crate) fn is_instruction(self) -> bool {
        !raw!(LLVMIsAInstruction(self.0)).is_null()
    }

    pub(crate) fn is_function(self) -> bool {
        !raw!(LLVMIsAFunction(self.0)).is_null()
    }

    pub(crate) fn is_global_variable(self) -> bool {
        !raw!(LLVMIsAGlobalVariable(self.0)).is_null()
    }

    /// The address of a block of a function, which is one of its operands.
    pub(crate) fn is_block_address(self) -> bool {
        !raw!(LLVMIsABlockAddress(self.0)).is_null()
    }

    pub(crate) fn is_inline_asm(self) -> bool {
        !raw!(LLVMIsAInlineAsm(self.0)).is_null()
    }

    /// A constant, which a global's address is too.
    pub(crate) fn is_constant(self) -> bool {
        raw!(LLVMIsConstant(self.0)) != 0
    }

    pub(crate) fn is_undef(self) -> bool {
        raw!(LLVMIsUndef(self.0)) != 0
    }

    /// The all-zero constant of its type.
    pub(crate) fn is_null(self) -> bool {
        self.is_constant() && raw!(LLVMIsNull(self.0)) != 0
    }

    /// Whether this is an argument or instruction: a value that exists only inside a function.
    pub(crate) fn is_local(self) -> bool {
        matches!(
            raw!(LLVMGetValueKind(self.0)),
            LLVMValueKind::LLVMInstructionValueKind | LLVMValueKind::LLVMArgumentValueKind
        )
    }

    pub(crate) fn is_argument(self) -> bool {
        !raw!(LLVMIsAArgument(self.0)).is_null()
    }

    pub(crate) fn type_of(self) -> Type {
        Type(raw!(LLVMTypeOf(self.0)))
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        let text = raw!(LLVMGetValueName2(self.0, &mut length));
        owned_text(text, length)
    }

    pub(crate) fn set_name(self, name: &str) {
        raw!(LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()));
    }

    /// As LLVM prints it.
    pub(crate) fn print(self) -> String {
        owned_message(raw!(LLVMPrintValueToString(self.0)))
    }

    pub(crate) fn operand(self, index: u32) -> Value {
        Value(raw!(LLVMGetOperand(self.0, index)))
    }

    pub(crate) fn set_operand(self, index: u32, value: Value) {
        raw!(LLVMSetOperand(self.0, index, value.0));
    }

    /// The operands that are values (a phi's incoming blocks and a branch's targets are none).
    pub(crate) fn operands(self) -> impl Iterator<Item = Value> {
        let count = raw!(LLVMGetNumOperands(self.0)).max(0) as u32;
        (0..count)
            .filter_map(move |index| Value::from_raw(raw!(LLVMGetOperand(self.0, index))))
            .filter(|value| raw!(LLVMGetValueKind(value.0)) != LLVMValueKind::LLVMBasicBlockValueKind)
    }

    /// The operands that are arguments or instructions.
    pub(crate) fn local_operands(self) -> impl Iterator<Item = Value> {
        let count = raw!(LLVMGetNumOperands(self.0)).max(0) as u32;
        (0..count)
            .filter_map(move |index| Value::from_raw(raw!(LLVMGetOperand(self.0, index))))
            .filter(|it| it.is_local())
    }

    /// The end of the chain that `step` leads along; `None` if the chain has no end. In code that is never reached a
    /// value may be computed from itself, and LLVM's verifier accepts that. Brent's method: a value that was seen 2^n
    /// steps ago is met again.
    pub(crate) fn follow(self, mut step: impl FnMut(Value) -> Option<Value>) -> Option<Value> {
        let (mut value, mut seen, mut steps, mut renewed_after) = (self, self, 0usize, 1usize);
        while let Some(next) = step(value) {
            if next == seen {
                return None;
            }
            value = next;
            steps += 1;
            if steps == renewed_after {
                (seen, steps, renewed_after) = (value, 0, renewed_after * 2);
            }
        }
        Some(value)
    }

    /// The pointer that a derived one was computed from, without offsets and casts. A value that is computed from
    /// itself is its own base.
    pub(crate) fn base(self) -> Value {
        let step = |value: Value| {
            let is_derived = matches!(
                value.opcode(),
                Some(
                    Opcode::LLVMGetElementPtr
                        | Opcode::LLVMBitCast
                        | Opcode::LLVMAddrSpaceCast
                        | Opcode::LLVMFreeze
                        | Opcode::LLVMPtrToInt
                )
            );
            is_derived.then(|| value.operand(0))
        };
        self.follow(step).unwrap_or(self)
    }

    /// The users of this value, once per use.
    pub(crate) fn users(self) -> impl Iterator<Item = Value> {
        let first = raw!(LLVMGetFirstUse(self.0));
        std::iter::successors((!first.is_null()).then_some(first), |&current| {
            let next = raw!(LLVMGetNextUse(current));
            (!next.is_null()).then_some(next)
        })
        .map(|current| Value(raw!(LLVMGetUser(current))))
    }

    pub(crate) fn replace_all_uses(self, with: Value) {
        raw!(LLVMReplaceAllUsesWith(self.0, with.0));
    }

    /// Removes an instruction without uses; its handle is dead afterwards.
    pub(crate) fn erase(self) {
        raw!(LLVMInstructionEraseFromParent(self.0));
    }

    pub(crate) fn previous_instruction(self) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetPreviousInstruction(self.0)))
    }

    pub(crate) fn next_instruction(self) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetNextInstruction(self.0)))
    }

    pub(crate) fn block(self) -> Block {
        Block(raw!(LLVMGetInstructionParent(self.0)))
    }

    /// The function around an instruction.
    pub(crate) fn function(self) -> Value {
        self.block().function()
    }

    /// The module of a function or global.
    pub(crate) fn module(self) -> Module {
        Module(raw!(LLVMGetGlobalParent(self.0)))
    }

    pub(crate) fn debug_place(self) -> Option<Place> {
        if !self.is_instruction() {
            return None;
        }
        let mut length = 0;
        let text = raw!(LLVMGetDebugLocFilename(self.0, &mut length));
        let line = raw!(LLVMGetDebugLocLine(self.0));
        (!text.is_null() && length > 0 && line > 0).then(|| Place {
            file: owned_text(text, length as usize),
            line,
            column: raw!(LLVMGetDebugLocColumn(self.0)),
        })
    }

    /// The folder from which the file of an instruction's [`debug_place`](Self::debug_place) is named; empty if it is
    /// not known.
    pub(crate) fn debug_folder(self) -> String {
        let mut length = 0;
        let text = raw!(LLVMGetDebugLocDirectory(self.0, &mut length));
        if text.is_null() { String::new() } else { owned_text(text, length as usize) }
    }

    /// Of an alloca, load, store or global.
    pub(crate) fn alignment(self) -> u32 {
        raw!(LLVMGetAlignment(self.0))
    }

    /// Whether an instruction has metadata of this kind.
    pub(crate) fn has_mark(self, kind: &str) -> bool {
        let context = self.function().module().context();
        let kind = raw!(LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32));
        !raw!(LLVMGetMetadata(self.0, kind)).is_null()
    }

    /// Removes metadata of this kind.
    pub(crate) fn forget_mark(self, kind: &str) {
        let context = self.function().module().context();
        let kind = raw!(LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32));
        raw!(LLVMSetMetadata(self.0, kind, std::ptr::null_mut()));
    }

    /// Whether this is an alloca marked `swifterror`.
    ///
    /// Only LLVM's printer tells, which numbers the whole module first. So it is asked about variables that may be marked: those that
    /// are only loaded, stored to, and passed to parameters with that mark.
    pub(crate) fn is_swifterror(self) -> bool {
        let kind = AttributeKind::named("swifterror");
        let is_register = |call: Call| {
            let passes = (0..call.argument_count()).filter(|&index| call.argument(index) == self);
            passes
                .map(Position::Parameter)
                .all(|at| call.has_own_attribute(at, kind) || call.callee().has_attribute_at(at, kind))
        };
        let may_use = |user: Value| match user.opcode() {
            Some(Opcode::LLVMLoad | Opcode::LLVMStore) => true,
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => user.as_call().is_some_and(is_register),
            _ => false,
        };
        self.is(Opcode::LLVMAlloca) && self.users().all(may_use) && self.print().contains(" = alloca swifterror ")
    }

    pub(crate) fn allocated_type(self) -> Type {
        Type(raw!(LLVMGetAllocatedType(self.0)))
    }

    /// The value of an integer constant of at most 64 bits.
    pub(crate) fn constant_integer(self) -> Option<u64> {
        let is_integer = !raw!(LLVMIsAConstantInt(self.0)).is_null();
        (is_integer && self.type_of().integer_bits()? <= 64).then(|| raw!(LLVMConstIntGetZExtValue(self.0)))
    }

    /// Whether a comparison of integers or pointers tests for equality (true) or for inequality (false).
    pub(crate) fn asks_for_equality(self) -> Option<bool> {
        match raw!(LLVMGetICmpPredicate(self.0)) {
            LLVMIntPredicate::LLVMIntEQ => Some(true),
            LLVMIntPredicate::LLVMIntNE => Some(false),
            _ => None,
        }
    }

    /// Whether this is an integer constant, however wide.
    pub(crate) fn is_integer_constant(self) -> bool {
        !raw!(LLVMIsAConstantInt(self.0)).is_null()
    }

    /// The target of a switch whose operand is the constant `value`; its first successor is for values that no case
    /// names. LLVM has each constant once, so that they are compared however wide they are.
    pub(crate) fn switch_target(self, value: Value) -> Block {
        let successors = self.block().successors();
        let names_it = |index: &usize| Value(raw!(LLVMGetSwitchCaseValue(self.0, *index as u32))) == value;
        successors[(1..successors.len()).find(names_it).unwrap_or(0)]
    }

    /// Member of a constant struct or array.
    pub(crate) fn constant_member(self, index: u32) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetAggregateElement(self.0, index)))
    }

    /// A constant address, in the address space of `of`.
    pub(crate) fn constant_cast_of_space(self, of: Type) -> Value {
        Value(raw!(LLVMConstAddrSpaceCast(self.0, of.0)))
    }

    /// Whether this is a global variable that is never written.
    pub(crate) fn is_constant_variable(self) -> bool {
        self.is_global_variable() && raw!(LLVMIsGlobalConstant(self.0)) != 0
    }

    /// The opcode of a constant expression.
    pub(crate) fn constant_opcode(self) -> Option<Opcode> {
        (!raw!(LLVMIsAConstantExpr(self.0)).is_null()).then(|| raw!(LLVMGetConstOpcode(self.0)))
    }

    /// The global that this is another name of, if it is an alias.
    pub(crate) fn aliasee(self) -> Option<Value> {
        (!raw!(LLVMIsAGlobalAlias(self.0)).is_null()).then(|| Value(raw!(LLVMAliasGetAliasee(self.0))))
    }

    /// The type that a getelementptr counts in.
    pub(crate) fn source_element_type(self) -> Type {
        Type(raw!(LLVMGetGEPSourceElementType(self.0)))
    }

    /// The value of a global variable if it is defined here and no other definition can replace it.
    pub(crate) fn definitive_initializer(self) -> Option<Value> {
        if !self.is_global_variable() || raw!(LLVMIsGlobalConstant(self.0)) == 0 {
            return None;
        }
        (!self.may_be_overridden()).then(|| Value::from_raw(raw!(LLVMGetInitializer(self.0)))).flatten()
    }

    pub(crate) fn has_personality(self) -> bool {
        raw!(LLVMHasPersonalityFn(self.0)) != 0
    }

    /// The personality of a function, which handles its exceptions.
    pub(crate) fn personality(self) -> Value {
        Value(raw!(LLVMGetPersonalityFn(self.0)))
    }

    pub(crate) fn set_personality(self, personality: Value) {
        raw!(LLVMSetPersonalityFn(self.0, personality.0));
    }

    pub(crate) fn initializer(self) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetInitializer(self.0)))
    }

    pub(crate) fn set_initializer(self, value: Value) {
        raw!(LLVMSetInitializer(self.0, value.0));
    }

    pub(crate) fn set_global_constant(self) {
        raw!(LLVMSetGlobalConstant(self.0, 1));
    }

    pub(crate) fn set_alignment(self, bytes: u32) {
        raw!(LLVMSetAlignment(self.0, bytes));
    }

    pub(crate) fn set_section(self, name: &str) {
        let name = c_text(name);
        raw!(LLVMSetSection(self.0, name.as_ptr()));
    }

    pub(crate) fn is_thread_local(self) -> bool {
        raw!(LLVMIsThreadLocal(self.0)) != 0
    }

    /// The type behind a global's address.
    pub(crate) fn value_type(self) -> Type {
        Type(raw!(LLVMGlobalGetValueType(self.0)))
    }

    pub(crate) fn incoming(self) -> Vec<(Value, Block)> {
        let count = raw!(LLVMCountIncoming(self.0));
        (0..count)
            .map(|index| {
                (Value(raw!(LLVMGetIncomingValue(self.0, index))), Block(raw!(LLVMGetIncomingBlock(self.0, index))))
            })
            .collect()
    }
}

/// Functions.
impl Value {
    /// The name of the collector strategy.
    pub(crate) fn gc(self) -> Option<String> {
        let text = raw!(LLVMGetGC(self.0));
        (!text.is_null()).then(|| owned_text(text, raw!(libc::strlen(text))))
    }

    pub(crate) fn set_gc(self, strategy: &str) {
        let strategy = c_text(strategy);
        raw!(LLVMSetGC(self.0, strategy.as_ptr()));
    }

    pub(crate) fn clear_gc(self) {
        raw!(LLVMSetGC(self.0, std::ptr::null()));
    }

    pub(crate) fn has_body(self) -> bool {
        self.is_function() && !raw!(LLVMGetFirstBasicBlock(self.0)).is_null()
    }

    pub(crate) fn intrinsic_id(self) -> u32 {
        if self.is_function() { raw!(LLVMGetIntrinsicID(self.0)) } else { 0 }
    }

    pub(crate) fn blocks(self) -> impl Iterator<Item = Block> {
        let first = raw!(LLVMGetFirstBasicBlock(self.0));
        let first = (!first.is_null()).then_some(Block(first));
        std::iter::successors(first, |block| {
            let next = raw!(LLVMGetNextBasicBlock(block.0));
            (!next.is_null()).then_some(Block(next))
        })
    }

    /// Its calls and invokes, found without a copy of the list: for callers that change nothing meanwhile.
    pub(crate) fn calls(self) -> impl Iterator<Item = Call> {
        self.blocks().flat_map(Block::calls)
    }

    /// A copy of the list of instructions: safe to change the function over.
    pub(crate) fn instructions(self) -> Vec<Value> {
        self.blocks().flat_map(Block::instructions).collect()
    }

    pub(crate) fn entry(self) -> Block {
        Block(raw!(LLVMGetEntryBasicBlock(self.0)))
    }

    pub(crate) fn parameter(self, index: u32) -> Value {
        Value(raw!(LLVMGetParam(self.0, index)))
    }

    pub(crate) fn parameter_count(self) -> u32 {
        raw!(LLVMCountParams(self.0))
    }

    pub(crate) fn append_block(self, name: &str) -> Block {
        let name = c_text(name);
        Block(raw!(LLVMAppendBasicBlockInContext(self.module().context(), self.0, name.as_ptr())))
    }
}

/// A Rust string from LLVM's pointer and length.
pub(in crate::llvm) fn owned_text(text: *const std::ffi::c_char, length: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: LLVM says that there are `length` bytes; they are copied at once.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A Rust string from a message that LLVM passes on; LLVM's copy is freed.
pub(crate) fn owned_message(text: *mut std::ffi::c_char) -> String {
    let owned = owned_text(text, raw!(libc::strlen(text)));
    raw!(LLVMDisposeMessage(text));
    owned
}

/// A C string; names with a zero byte inside end there.
pub(in crate::llvm) fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).expect("cut at the first zero")
}
