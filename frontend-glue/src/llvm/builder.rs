//! Making instructions: a thin IRBuilder that keeps the debug location of its position.
//!
//! Everything the lowering inserts before an instruction inherits that instruction's line, so a debugger and a
//! profile still show the source statement of the allocation or the write.

use super::{Block, Module, Opcode, Type, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::ir_reader::LLVMParseIRInContext2;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMInlineAsmDialect, LLVMIntPredicate};

/// A builder of instructions, which keeps the debug location. `before` and `at_end` set its position.
#[derive(Debug)]
pub(crate) struct Builder {
    raw: LLVMBuilderRef,
    module: Module,
}

impl Drop for Builder {
    fn drop(&mut self) {
        raw!(LLVMDisposeBuilder(self.raw));
    }
}

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// The branch weight of a likely branch; the other way has weight 1.
const LIKELY: u64 = 1 << 20;

impl Builder {
    pub(crate) fn new(module: Module) -> Builder {
        Builder { raw: raw!(LLVMCreateBuilderInContext(module.context())), module }
    }

    pub(crate) fn module(&self) -> Module {
        self.module
    }

    /// Moves before `instruction`, with its debug location.
    pub(crate) fn before(&self, instruction: Value) {
        raw!(LLVMPositionBuilderBefore(self.raw, instruction.0));
        raw!(LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(instruction.0)));
    }

    /// Moves to the end of `block`, with the debug location of `like` (or the one set before).
    pub(crate) fn at_end(&self, block: Block, like: Option<Value>) {
        raw!(LLVMPositionBuilderAtEnd(self.raw, block.0));
        if let Some(like) = like {
            raw!(LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(like.0)));
        }
    }

    /// As `before`, but inserted instructions belong to no line.
    pub(crate) fn before_unlocated(&self, instruction: Value) {
        raw!(LLVMPositionBuilderBefore(self.raw, instruction.0));
        self.forget_location();
    }

    /// As `before`, but with another instruction's line.
    pub(crate) fn before_with_location_of(&self, instruction: Value, like: Value) {
        raw!(LLVMPositionBuilderBefore(self.raw, instruction.0));
        raw!(LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(like.0)));
    }

    /// As `at_end`, but inserted instructions belong to no line.
    pub(crate) fn at_end_unlocated(&self, block: Block) {
        raw!(LLVMPositionBuilderAtEnd(self.raw, block.0));
        self.forget_location();
    }

    /// Inserts an instruction that was taken out, as it was: LLVM would give it the builder's line and no name.
    pub(super) fn insert(&self, instruction: Value) {
        let name = instruction.name();
        self.forget_location();
        raw!(LLVMInsertIntoBuilder(self.raw, instruction.0));
        if !name.is_empty() {
            instruction.set_name(&name);
        }
    }

    fn forget_location(&self) {
        raw!(LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()));
    }

    pub(crate) fn i32(&self, value: u64) -> Value {
        self.module.integer(32).constant(value)
    }

    pub(crate) fn i64(&self, value: u64) -> Value {
        self.module.integer(64).constant(value)
    }

    pub(crate) fn alloca(&self, of: Type, name: &str) -> Value {
        let name = super::value::c_text(name);
        Value(raw!(LLVMBuildAlloca(self.raw, of.0, name.as_ptr())))
    }

    /// A `swifterror` variable, which the C API cannot make: it is copied out of a module of text.
    pub(crate) fn alloca_swifterror(&self) -> Value {
        const TEXT: &str = "define void @f() {\n  %e = alloca swifterror ptr\n  ret void\n}\n\0";
        let (mut parsed, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (bytes, length) = (TEXT.as_ptr().cast(), TEXT.len() - 1);
        let buffer = raw!(LLVMCreateMemoryBufferWithMemoryRange(bytes, length, NO_NAME, 1));
        let failed = raw!(LLVMParseIRInContext2(self.module.context(), buffer, &mut parsed, &mut message));
        assert_eq!(failed, 0, "LLVM refuses {TEXT}");
        let original = raw!(LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(LLVMGetFirstFunction(parsed))));
        let copy = Value(raw!(LLVMInstructionClone(original)));
        self.insert(copy);
        raw!(LLVMDisposeModule(parsed));
        raw!(LLVMDisposeMemoryBuffer(buffer));
        copy
    }

    /// An alloca at the top of a function's entry block; the builder's position is after it, on no line.
    pub(crate) fn alloca_at_entry(&self, function: Value, of: Type, name: &str) -> Value {
        let first = function.entry().instructions().next().expect("a block ends in a terminator");
        self.before_unlocated(first);
        self.alloca(of, name)
    }

    pub(crate) fn load(&self, of: Type, address: Value) -> Value {
        Value(raw!(LLVMBuildLoad2(self.raw, of.0, address.0, NO_NAME)))
    }

    pub(crate) fn store(&self, value: Value, address: Value) -> Value {
        Value(raw!(LLVMBuildStore(self.raw, value.0, address.0)))
    }

    /// `bytes` zero bytes at `address`.
    pub(crate) fn clear(&self, address: Value, bytes: u64, alignment: u32) -> Value {
        self.clear_bytes(address, self.i64(bytes), alignment)
    }

    /// The same, where the number is only known when the program runs.
    pub(crate) fn clear_bytes(&self, address: Value, bytes: Value, alignment: u32) -> Value {
        let zero = self.module.integer(8).constant(0);
        Value(raw!(LLVMBuildMemSet(self.raw, address.0, zero.0, bytes.0, alignment)))
    }

    /// Copies `bytes` bytes; both ends are named with their alignment.
    pub(crate) fn copy(&self, (to, to_alignment): (Value, u32), (from, from_alignment): (Value, u32), bytes: u64) {
        raw!(LLVMBuildMemCpy(self.raw, to.0, to_alignment, from.0, from_alignment, self.i64(bytes).0));
    }

    /// `address` plus a constant number of bytes, within one object.
    pub(crate) fn offset(&self, address: Value, bytes: u64) -> Value {
        if bytes == 0 {
            return address;
        }
        let mut index = [self.i64(bytes).0];
        let byte = self.module.integer(8);
        Value(raw!(LLVMBuildInBoundsGEP2(self.raw, byte.0, address.0, index.as_mut_ptr(), 1, NO_NAME)))
    }

    /// The same, but the result may lie outside of any object.
    pub(crate) fn offset_anywhere(&self, address: Value, bytes: u64) -> Value {
        let mut index = [self.i64(bytes).0];
        let byte = self.module.integer(8);
        Value(raw!(LLVMBuildGEP2(self.raw, byte.0, address.0, index.as_mut_ptr(), 1, NO_NAME)))
    }

    /// The address of the `index`th `of` from `table` on; it may lie outside of any object.
    pub(crate) fn element_anywhere(&self, table: Value, of: Type, index: Value) -> Value {
        let mut index = [index.0];
        Value(raw!(LLVMBuildGEP2(self.raw, of.0, table.0, index.as_mut_ptr(), 1, NO_NAME)))
    }

    /// Integer arithmetic and bit operations.
    pub(crate) fn binary(&self, opcode: Opcode, left: Value, right: Value) -> Value {
        Value(raw!(LLVMBuildBinOp(self.raw, opcode, left.0, right.0, NO_NAME)))
    }

    /// Conversions between integers and pointers.
    pub(crate) fn cast(&self, opcode: Opcode, value: Value, to: Type) -> Value {
        Value(raw!(LLVMBuildCast(self.raw, opcode, value.0, to.0, NO_NAME)))
    }

    /// The value; where it is undefined, an arbitrary one that is always the same.
    pub(crate) fn freeze(&self, value: Value) -> Value {
        Value(raw!(LLVMBuildFreeze(self.raw, value.0, NO_NAME)))
    }

    /// The address `bytes` before `address`, in the same object.
    pub(crate) fn offset_back(&self, address: Value, bytes: u64) -> Value {
        self.offset_anywhere(address, bytes.wrapping_neg())
    }

    pub(crate) fn equal(&self, left: Value, right: Value) -> Value {
        Value(raw!(LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntEQ, left.0, right.0, NO_NAME)))
    }

    pub(crate) fn less_or_equal(&self, left: Value, right: Value) -> Value {
        Value(raw!(LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntULE, left.0, right.0, NO_NAME)))
    }

    pub(crate) fn is_zero(&self, value: Value) -> Value {
        let zero = value.type_of().null();
        Value(raw!(LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntEQ, value.0, zero.0, NO_NAME)))
    }

    pub(crate) fn branch(&self, to: Block) -> Value {
        Value(raw!(LLVMBuildBr(self.raw, to.0)))
    }

    /// A branch without weights.
    pub(crate) fn branch_if(&self, condition: Value, then: Block, otherwise: Block) -> Value {
        Value(raw!(LLVMBuildCondBr(self.raw, condition.0, then.0, otherwise.0)))
    }

    /// A branch that nearly always goes to `usual`, when `condition` holds.
    pub(crate) fn branch_usually(&self, condition: Value, usual: Block, rarely: Block) -> Value {
        self.weighted_branch(condition, usual, rarely, [LIKELY, 1])
    }

    /// A branch that goes to `rarely` when `condition` holds, which is seldom.
    pub(crate) fn branch_rarely(&self, condition: Value, rarely: Block, usual: Block) -> Value {
        self.weighted_branch(condition, rarely, usual, [1, LIKELY])
    }

    fn weighted_branch(&self, condition: Value, then: Block, otherwise: Block, weights: [u64; 2]) -> Value {
        let branch = self.branch_if(condition, then, otherwise);
        let context = self.module.context();
        let weight = |value| raw!(LLVMValueAsMetadata(self.i32(value).0));
        let title = b"branch_weights";
        let title = raw!(LLVMMDStringInContext2(context, title.as_ptr().cast(), title.len()));
        let mut parts = [title, weight(weights[0]), weight(weights[1])];
        let node = raw!(LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len()));
        self.set_metadata(branch, "prof", node);
        branch
    }

    /// A phi in front of `place` and of the debug records there, which may not precede a phi.
    pub(crate) fn phi_before(&self, place: Value, of: Type, incoming: &[(Value, Block)]) -> Value {
        raw!(LLVMPositionBuilderBeforeInstrAndDbgRecords(self.raw, place.0));
        raw!(LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(place.0)));
        let phi = Value(raw!(LLVMBuildPhi(self.raw, of.0, NO_NAME)));
        let mut values: Vec<_> = incoming.iter().map(|(value, _)| value.0).collect();
        let mut blocks: Vec<_> = incoming.iter().map(|(_, block)| block.0).collect();
        raw!(LLVMAddIncoming(phi.0, values.as_mut_ptr(), blocks.as_mut_ptr(), incoming.len() as u32));
        phi
    }

    pub(crate) fn select(&self, condition: Value, then: Value, otherwise: Value) -> Value {
        Value(raw!(LLVMBuildSelect(self.raw, condition.0, then.0, otherwise.0, NO_NAME)))
    }

    /// A member of a struct or array in a value.
    pub(crate) fn extract(&self, aggregate: Value, member: u32) -> Value {
        Value(raw!(LLVMBuildExtractValue(self.raw, aggregate.0, member, NO_NAME)))
    }

    /// A landing pad that catches what `like` catches, before it, of another type.
    pub(crate) fn landing_pad_like(&self, like: Value, of: Type) -> Value {
        raw!(LLVMPositionBuilderBefore(self.raw, like.0));
        let clauses = raw!(LLVMGetNumClauses(like.0));
        let pad = raw!(LLVMBuildLandingPad(self.raw, of.0, std::ptr::null_mut(), clauses, NO_NAME));
        (0..clauses).for_each(|clause| raw!(LLVMAddClause(pad, LLVMGetClause(like.0, clause))));
        raw!(LLVMSetCleanup(pad, LLVMIsCleanup(like.0)));
        Value(pad)
    }

    /// A landing pad that catches nothing and resumes the exception.
    pub(crate) fn cleanup_and_resume(&self, of: Type) {
        let pad = raw!(LLVMBuildLandingPad(self.raw, of.0, std::ptr::null_mut(), 0, NO_NAME));
        raw!(LLVMSetCleanup(pad, 1));
        raw!(LLVMBuildResume(self.raw, pad));
    }

    pub(crate) fn return_value(&self, value: Option<Value>) -> Value {
        Value(match value {
            Some(value) => raw!(LLVMBuildRet(self.raw, value.0)),
            None => raw!(LLVMBuildRetVoid(self.raw)),
        })
    }

    pub(crate) fn call(&self, function_type: Type, callee: Value, arguments: &[Value]) -> Value {
        self.call_or_invoke(function_type, callee, arguments, &mut [], None)
    }

    /// A call with a `deopt` bundle of `roots`.
    pub(crate) fn call_with_roots(&self, of: Type, callee: Value, arguments: &[Value], roots: &[Value]) -> Value {
        let mut bundles = [self.bundle(super::call::DEOPT, roots)];
        let call = self.call_or_invoke(of, callee, arguments, &mut bundles, None);
        raw!(LLVMDisposeOperandBundle(bundles[0]));
        call
    }

    /// The caller must dispose of the bundle.
    pub(super) fn bundle(&self, tag: &str, operands: &[Value]) -> LLVMOperandBundleRef {
        let mut operands: Vec<_> = operands.iter().map(|operand| operand.0).collect();
        let count = operands.len() as u32;
        raw!(LLVMCreateOperandBundle(tag.as_ptr().cast(), tag.len(), operands.as_mut_ptr(), count))
    }

    /// An invoke if `destinations` (normal, unwind) are given.
    pub(super) fn call_or_invoke(
        &self,
        function_type: Type,
        callee: Value,
        arguments: &[Value],
        bundles: &mut [LLVMOperandBundleRef],
        destinations: Option<(Block, Block)>,
    ) -> Value {
        let mut arguments: Vec<_> = arguments.iter().map(|argument| argument.0).collect();
        let (count, bundle_count) = (arguments.len() as u32, bundles.len() as u32);
        let (raw_arguments, raw_bundles) = (arguments.as_mut_ptr(), bundles.as_mut_ptr());
        let (of, callee) = (function_type.0, callee.0);
        Value(match destinations {
            None => raw!(LLVMBuildCallWithOperandBundles(
                self.raw,
                of,
                callee,
                raw_arguments,
                count,
                raw_bundles,
                bundle_count,
                NO_NAME
            )),
            Some((normal, unwind)) => raw!(LLVMBuildInvokeWithOperandBundles(
                self.raw,
                of,
                callee,
                raw_arguments,
                count,
                normal.0,
                unwind.0,
                raw_bundles,
                bundle_count,
                NO_NAME
            )),
        })
    }

    /// The same value, hidden from LLVM: inline assembly of no instruction.
    pub(crate) fn opaque_copy(&self, value: Value) -> Value {
        self.assembly(Type::function(value.type_of(), &[value.type_of()], false), "=r,0", false, value)
    }

    /// Inline assembly of no instruction.
    fn assembly(&self, of: Type, constraints: &str, has_effects: bool, argument: Value) -> Value {
        let text = "";
        let assembly = Value(raw!(LLVMGetInlineAsm(
            of.0,
            text.as_ptr().cast(),
            text.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            i32::from(has_effects),
            0,
            LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
            0,
        )));
        self.call(of, assembly, &[argument])
    }

    /// Lets LLVM take an address for one that other code knows: inline assembly of no instruction.
    pub(crate) fn expose(&self, address: Value) {
        let of = Type::function(self.module.void(), &[address.type_of()], false);
        self.assembly(of, "r", true, address);
    }

    /// Puts an opaque copy in the place of `instruction` wherever that is used.
    pub(crate) fn hide(&self, instruction: Value) {
        self.before_with_location_of(
            instruction.next_instruction().expect("a block ends in a terminator"),
            instruction,
        );
        let copy = self.opaque_copy(instruction);
        instruction.replace_all_uses(copy);
        raw!(LLVMSetOperand(copy.0, 0, instruction.0));
    }

    /// Marks an instruction, for as long as no pass makes it anew.
    pub(crate) fn mark(&self, instruction: Value, kind: &str) {
        let node = raw!(LLVMMDNodeInContext2(self.module.context(), std::ptr::null_mut(), 0));
        self.set_metadata(instruction, kind, node);
    }

    /// Promises that a load always finds the same value.
    pub(crate) fn mark_invariant(&self, load: Value) {
        self.mark(load, "invariant.load");
    }

    /// Gives a memory access, or a call with no other effect on memory that compiled code sees, a class of its own
    /// for type-based alias analysis: accesses of different classes touch different memory. Accesses without our tag
    /// belong to all classes.
    pub(crate) fn tag(&self, access: Value, class: &str) {
        let context = self.module.context();
        let text = |text: &str| raw!(LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len()));
        let node = |parts: &mut [LLVMMetadataRef]| raw!(LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len()));
        let zero = raw!(LLVMValueAsMetadata(self.i64(0).0));
        let root = node(&mut [text("Tally")]);
        let of = node(&mut [text(class), root, zero]);
        self.set_metadata(access, "tbaa", node(&mut [of, of, zero]));
    }

    /// Asks for a loop that begins at a multiple of `bytes`, beside what its metadata asks for. All its latches end in `ends`.
    pub(crate) fn align_loop(&self, ends: &[Value], bytes: u32) {
        let context = self.module.context();
        let title = b"llvm.loop.align";
        let mut align = [
            raw!(LLVMMDStringInContext2(context, title.as_ptr().cast(), title.len())),
            raw!(LLVMValueAsMetadata(self.i32(bytes.into()).0)),
        ];
        // The first operand of a loop's node is the node itself.
        let itself = raw!(LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0));
        let mut parts = vec![itself];
        parts.extend(ends.first().into_iter().flat_map(|end| end.loop_properties()));
        parts.push(raw!(LLVMMDNodeInContext2(context, align.as_mut_ptr(), align.len())));
        let node = raw!(LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len()));
        raw!(LLVMMetadataReplaceAllUsesWith(itself, node));
        for &end in ends {
            self.set_metadata(end, "llvm.loop", node);
        }
    }

    fn set_metadata(&self, value: Value, kind: &str, node: LLVMMetadataRef) {
        let context = self.module.context();
        let kind = raw!(LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32));
        raw!(LLVMSetMetadata(value.0, kind, LLVMMetadataAsValue(context, node)));
    }
}
