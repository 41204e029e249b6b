//! LLVM's C API behind handles: the only module of the lowering that calls `llvm_sys`.
//!
//! inkwell covers most of LLVM, but the lowering needs parts that it lacks: bundles on invokes, calls rebuilt with
//! all their attributes and metadata, split blocks, and values of any type (inkwell panics on tokens and on metadata
//! operands, rejects invokes as calls, and crashes when a gc that is missing is read). So this module has its own
//! handles: [`Value`] (functions, globals, constants, instructions), [`Block`], [`Type`], [`Module`], plain copies of
//! LLVM's pointers that can be hashed and compared, as the analyses need.
//!
//! - `value.rs`   questions about one value
//! - `call.rs`    calls and invokes: callee, arguments, attributes, bundles; rebuilding one
//! - `linkage.rs` functions and variables as the linker sees them
//! - `builder.rs` making instructions and constants
//! - `passes.rs`  LLVM's own passes
//! - `processor.rs` names of processors
//! - `surgery.rs` splitting blocks, moving instructions, redirecting phis
//! - `tail.rs`    tail calls
//! - `handle_map.rs` maps and sets of handles
//!
//! [HANDLE] A handle is used only while its module lives and before the value that it names is erased. Code that
//! erases an instruction (`Value::erase`) drops its handle; the module is borrowed for the whole of a lowering, so no
//! other code erases meanwhile. Every unsafe call below relies on this; that is why `raw!` states it once.

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMStoreSizeOfType, LLVMTargetDataRef,
};
use inkwell::llvm_sys::{LLVMLinkage, LLVMModuleFlagBehavior, LLVMThreadLocalMode, LLVMTypeKind};
use smallvec::SmallVec;
use std::ffi::CStr;

/// One call into LLVM's C API.
macro_rules! raw {
    ($call:expr) => {{
        #[cfg(test)]
        $crate::llvm::work::count();
        // SAFETY: [HANDLE] every handle in the call names a live value of one live module (or is a null that this
        // function accepts), and the function is valid for its kind of value.
        unsafe { $call }
    }};
}

mod access;
pub(crate) mod builder;
mod bundles;
pub(crate) mod call;
mod constants;
pub(crate) mod handle_map;
pub(crate) mod linkage;
pub(crate) mod metadata;
pub(crate) mod offset;
mod parameter;
mod passes;
pub(crate) mod processor;
pub(crate) mod surgery;
mod tail;
pub(crate) mod value;
#[cfg(test)]
mod work;

pub(crate) use builder::Builder;
use call::Call;
pub(crate) use handle_map::{HandleMap, HandleSet};
pub(crate) use inkwell::llvm_sys::LLVMOpcode as Opcode;
pub(crate) use inkwell::llvm_sys::LLVMTypeKind as TypeKind;
pub(crate) use value::{Value, owned_message};

/// A basic block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Block(pub(super) LLVMBasicBlockRef);

/// A type; equal handles are equal types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Type(pub(super) LLVMTypeRef);

/// A module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Module(pub(super) LLVMModuleRef);

impl Block {
    pub(crate) fn instructions(self) -> impl Iterator<Item = Value> {
        let first = Value::from_raw(raw!(LLVMGetFirstInstruction(self.0)));
        std::iter::successors(first, |value| Value::from_raw(raw!(LLVMGetNextInstruction(value.0))))
    }

    /// Its calls and invokes, found without a copy of the list: for callers that change nothing meanwhile.
    pub(crate) fn calls(self) -> impl Iterator<Item = Call> {
        self.instructions().filter_map(Call::among_instructions)
    }

    /// `None` only while a block is being rebuilt.
    /// The block as the operand that branches have.
    pub(crate) fn as_value(self) -> Value {
        Value(raw!(LLVMBasicBlockAsValue(self.0)))
    }

    pub(crate) fn terminator(self) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetBasicBlockTerminator(self.0)))
    }

    /// The first instruction of an entry block that is no alloca.
    pub(crate) fn behind_allocas(self) -> Value {
        let first = self.instructions().find(|value| !value.is(Opcode::LLVMAlloca));
        first.expect("a block ends in a terminator")
    }

    /// The first place for an instruction: after phis and a landing pad.
    pub(crate) fn first_insertion_point(self) -> Value {
        let fixed = |value: &Value| matches!(value.opcode(), Some(Opcode::LLVMPHI | Opcode::LLVMLandingPad));
        self.instructions().find(|value| !fixed(value)).expect("a block ends in a terminator")
    }

    /// Whether exceptions arrive here.
    pub(crate) fn is_landing_pad(self) -> bool {
        self.instructions()
            .find(|value| !value.is(Opcode::LLVMPHI))
            .is_some_and(|value| value.is(Opcode::LLVMLandingPad))
    }

    /// Removes a block that nothing leads to from its function. In code that is never reached its values may be used all the same.
    pub(crate) fn delete(self) {
        for instruction in self.instructions().filter(|instruction| !instruction.type_of().is_void()) {
            instruction.replace_all_uses(Value(raw!(LLVMGetPoison(instruction.type_of().0))));
        }
        raw!(LLVMDeleteBasicBlock(self.0));
    }

    /// The number of edges that enter it.
    pub(crate) fn predecessor_count(self) -> usize {
        let users = Value(raw!(LLVMBasicBlockAsValue(self.0))).users();
        users.filter(|user| user.is_terminator()).count()
    }

    pub(crate) fn successors(self) -> SmallVec<[Block; 2]> {
        let Some(terminator) = self.terminator() else { return SmallVec::new() };
        let count = raw!(LLVMGetNumSuccessors(terminator.0));
        (0..count).map(|index| Block(raw!(LLVMGetSuccessor(terminator.0, index)))).collect()
    }

    pub(crate) fn function(self) -> Value {
        Value(raw!(LLVMGetBasicBlockParent(self.0)))
    }

    /// A new, empty block in front of this one.
    pub(crate) fn insert_before(self, module: Module) -> Block {
        Block(raw!(LLVMInsertBasicBlockInContext(module.context(), self.0, c"".as_ptr())))
    }
}

impl Type {
    pub(crate) fn kind(self) -> TypeKind {
        raw!(LLVMGetTypeKind(self.0))
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    pub(crate) fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }

    /// The address space of a pointer type.
    pub(crate) fn address_space(self) -> u32 {
        raw!(LLVMGetPointerAddressSpace(self.0))
    }

    /// Whether these are pointers of address space 0.
    pub(crate) fn is_plain_pointer(self) -> bool {
        self.is_pointer() && raw!(LLVMGetPointerAddressSpace(self.0)) == 0
    }

    pub(crate) fn is_structure(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMStructTypeKind
    }

    /// Bits of an integer type.
    pub(crate) fn integer_bits(self) -> Option<u32> {
        (self.kind() == LLVMTypeKind::LLVMIntegerTypeKind).then(|| raw!(LLVMGetIntTypeWidth(self.0)))
    }

    /// Whether values of this type consist of others.
    pub(crate) fn has_members(self) -> bool {
        use LLVMTypeKind::{LLVMArrayTypeKind, LLVMScalableVectorTypeKind, LLVMStructTypeKind, LLVMVectorTypeKind};
        matches!(self.kind(), LLVMStructTypeKind | LLVMArrayTypeKind | LLVMVectorTypeKind | LLVMScalableVectorTypeKind)
    }

    /// The members of a struct, array or vector with how often each occurs; empty for scalars.
    pub(crate) fn members(self) -> Vec<(Type, u64)> {
        match self.kind() {
            LLVMTypeKind::LLVMStructTypeKind => (0..raw!(LLVMCountStructElementTypes(self.0)))
                .map(|index| (Type(raw!(LLVMStructGetTypeAtIndex(self.0, index))), 1))
                .collect(),
            LLVMTypeKind::LLVMArrayTypeKind => vec![(self.element(), raw!(LLVMGetArrayLength2(self.0)))],
            LLVMTypeKind::LLVMVectorTypeKind => vec![(self.element(), u64::from(raw!(LLVMGetVectorSize(self.0))))],
            _ => Vec::new(),
        }
    }

    fn element(self) -> Type {
        Type(raw!(LLVMGetElementType(self.0)))
    }

    /// An array of `count` of these.
    pub(crate) fn array(self, count: u64) -> Type {
        Type(raw!(LLVMArrayType2(self.0, count)))
    }

    pub(crate) fn return_type(self) -> Type {
        Type(raw!(LLVMGetReturnType(self.0)))
    }

    pub(crate) fn is_variadic(self) -> bool {
        raw!(LLVMIsFunctionVarArg(self.0)) != 0
    }

    pub(crate) fn parameters(self) -> Vec<Type> {
        let mut types = vec![std::ptr::null_mut(); raw!(LLVMCountParamTypes(self.0)) as usize];
        raw!(LLVMGetParamTypes(self.0, types.as_mut_ptr()));
        types.into_iter().map(Type).collect()
    }

    /// As LLVM prints it.
    pub(crate) fn print(self) -> String {
        value::owned_message(raw!(LLVMPrintTypeToString(self.0)))
    }

    pub(crate) fn null(self) -> Value {
        Value(raw!(LLVMConstNull(self.0)))
    }

    pub(crate) fn constant(self, value: u64) -> Value {
        Value(raw!(LLVMConstInt(self.0, value, 0)))
    }

    pub(crate) fn function(result: Type, parameters: &[Type], variadic: bool) -> Type {
        let mut raw_parameters: Vec<_> = parameters.iter().map(|parameter| parameter.0).collect();
        let count = raw_parameters.len() as u32;
        Type(raw!(LLVMFunctionType(result.0, raw_parameters.as_mut_ptr(), count, i32::from(variadic))))
    }
}

impl Module {
    pub(crate) fn of(module: &inkwell::module::Module) -> Module {
        Module(module.as_mut_ptr())
    }

    /// The machine that the module says it is for; empty where it names none.
    pub(crate) fn triple(self) -> String {
        let triple = raw!(LLVMGetTarget(self.0));
        // SAFETY: a C string of the module's.
        raw!(CStr::from_ptr(triple)).to_string_lossy().into_owned()
    }

    pub(crate) fn context(self) -> LLVMContextRef {
        raw!(LLVMGetModuleContext(self.0))
    }

    pub(crate) fn functions(self) -> impl Iterator<Item = Value> {
        let first = Value::from_raw(raw!(LLVMGetFirstFunction(self.0)));
        std::iter::successors(first, |value| Value::from_raw(raw!(LLVMGetNextFunction(value.0))))
    }

    /// The first function that a resolver chooses when the program starts.
    pub(crate) fn first_ifunc(self) -> Option<Value> {
        let first = Value(raw!(LLVMGetFirstGlobalIFunc(self.0)));
        (!first.0.is_null()).then_some(first)
    }

    pub(crate) fn function(self, name: &str) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetNamedFunctionWithLength(self.0, name.as_ptr().cast(), name.len())))
    }

    pub(crate) fn global(self, name: &str) -> Option<Value> {
        Value::from_raw(raw!(LLVMGetNamedGlobalWithLength(self.0, name.as_ptr().cast(), name.len())))
    }

    /// Its global variables.
    pub(crate) fn globals(self) -> impl Iterator<Item = Value> {
        let first = Value::from_raw(raw!(LLVMGetFirstGlobal(self.0)));
        std::iter::successors(first, |value| Value::from_raw(raw!(LLVMGetNextGlobal(value.0))))
    }

    pub(crate) fn add_function(self, name: &str, of: Type) -> Value {
        let name = value::c_text(name);
        Value(raw!(LLVMAddFunction(self.0, name.as_ptr(), of.0)))
    }

    pub(crate) fn add_global(self, name: &str, of: Type) -> Value {
        let name = value::c_text(name);
        Value(raw!(LLVMAddGlobal(self.0, of.0, name.as_ptr())))
    }

    pub(crate) fn delete_global(self, global: Value) {
        raw!(LLVMDeleteGlobal(global.0));
    }

    pub(crate) fn delete_function(self, function: Value) {
        raw!(LLVMDeleteFunction(function.0));
    }

    /// Whether a module flag of this name is set.
    pub(crate) fn has_flag(self, name: &str) -> bool {
        !raw!(LLVMGetModuleFlag(self.0, name.as_ptr().cast(), name.len())).is_null()
    }

    /// The value of a module flag that is a number.
    pub(crate) fn flag(self, name: &str) -> Option<u64> {
        let flag = raw!(LLVMGetModuleFlag(self.0, name.as_ptr().cast(), name.len()));
        if flag.is_null() {
            return None;
        }
        let mut constant = std::ptr::null_mut();
        raw!(LLVMGetMDNodeOperands(LLVMMetadataAsValue(self.context(), flag), &mut constant));
        Value(constant).constant_integer()
    }

    pub(crate) fn set_flag(self, name: &str, value: u64) {
        let value = raw!(LLVMValueAsMetadata(self.integer(32).constant(value).0));
        let behavior = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorOverride;
        raw!(LLVMAddModuleFlag(self.0, behavior, name.as_ptr().cast(), name.len(), value));
    }

    pub(crate) fn void(self) -> Type {
        Type(raw!(LLVMVoidTypeInContext(self.context())))
    }

    pub(crate) fn integer(self, bits: u32) -> Type {
        Type(raw!(LLVMIntTypeInContext(self.context(), bits)))
    }

    /// Pointers of address space 0.
    pub(crate) fn pointer(self) -> Type {
        self.pointer_in(0)
    }

    pub(crate) fn pointer_in(self, address_space: u32) -> Type {
        Type(raw!(LLVMPointerTypeInContext(self.context(), address_space)))
    }

    pub(crate) fn structure(self, members: &[Type]) -> Type {
        let mut members: Vec<_> = members.iter().map(|member| member.0).collect();
        Type(raw!(LLVMStructTypeInContext(self.context(), members.as_mut_ptr(), members.len() as u32, 0)))
    }

    pub(crate) fn structure_constant(self, members: &[Value]) -> Value {
        let mut members: Vec<_> = members.iter().map(|member| member.0).collect();
        Value(raw!(LLVMConstStructInContext(self.context(), members.as_mut_ptr(), members.len() as u32, 0)))
    }

    pub(crate) fn array_constant(self, element: Type, elements: &[Value]) -> Value {
        let mut elements: Vec<_> = elements.iter().map(|element| element.0).collect();
        Value(raw!(LLVMConstArray2(element.0, elements.as_mut_ptr(), elements.len() as u64)))
    }

    /// A private constant with the bytes of `text` and a zero.
    pub(crate) fn text_global(self, text: &str) -> Value {
        let bytes = self.text_constant(text);
        let global = self.add_global(".tally.text", bytes.type_of());
        global.set_initializer(bytes);
        global.set_global_constant();
        global.make_private();
        global.set_alignment(1);
        global
    }

    /// The module as text.
    pub(crate) fn print(self) -> String {
        owned_message(raw!(LLVMPrintModuleToString(self.0)))
    }

    /// The bytes of `text` and a zero.
    pub(crate) fn text_constant(self, text: &str) -> Value {
        Value(raw!(LLVMConstStringInContext2(self.context(), text.as_ptr().cast(), text.len(), 0)))
    }

    /// The address `bytes` behind a global.
    pub(crate) fn constant_offset(self, global: Value, bytes: u64) -> Value {
        let mut index = [self.integer(64).constant(bytes).0];
        Value(raw!(LLVMConstInBoundsGEP2(self.integer(8).0, global.0, index.as_mut_ptr(), 1)))
    }

    fn layout(self) -> LLVMTargetDataRef {
        raw!(LLVMGetModuleDataLayout(self.0))
    }

    /// Bytes that an alloca or array element of this type takes.
    pub(crate) fn size_of(self, of: Type) -> u64 {
        raw!(LLVMABISizeOfType(self.layout(), of.0))
    }

    /// Bytes that a store of this type writes.
    pub(crate) fn store_size_of(self, of: Type) -> u64 {
        raw!(LLVMStoreSizeOfType(self.layout(), of.0))
    }

    /// Byte offset of a struct's member.
    pub(crate) fn member_offset(self, of: Type, member: u32) -> u64 {
        raw!(LLVMOffsetOfElement(self.layout(), of.0, member))
    }

    /// The declaration of an intrinsic, overloaded on `types`.
    pub(crate) fn intrinsic(self, name: &str, types: &[Type]) -> Value {
        let id = raw!(LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()));
        debug_assert_ne!(id, 0, "no intrinsic {name}");
        let mut types: Vec<_> = types.iter().map(|of| of.0).collect();
        Value(raw!(LLVMGetIntrinsicDeclaration(self.0, id, types.as_mut_ptr(), types.len())))
    }
}

/// The visibility of a new global or function from outside.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Visibility {
    /// Only in its module.
    Internal,
    /// Under its name, in the linked image; defined elsewhere.
    Hidden,
}

impl Value {
    pub(crate) fn set_visibility(self, visibility: Visibility) {
        let linkage = match visibility {
            Visibility::Internal => LLVMLinkage::LLVMInternalLinkage,
            Visibility::Hidden => LLVMLinkage::LLVMExternalLinkage,
        };
        raw!(LLVMSetLinkage(self.0, linkage));
        if let Visibility::Hidden = visibility {
            raw!(LLVMSetVisibility(self.0, inkwell::llvm_sys::LLVMVisibility::LLVMHiddenVisibility));
        }
    }

    /// The private form: no symbol at all.
    pub(crate) fn make_private(self) {
        raw!(LLVMSetLinkage(self.0, LLVMLinkage::LLVMPrivateLinkage));
        raw!(LLVMSetUnnamedAddress(self.0, inkwell::llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr));
    }

    /// Appending linkage, as LLVM wants it for `llvm.used` and its like.
    pub(crate) fn make_appending(self) {
        raw!(LLVMSetLinkage(self.0, LLVMLinkage::LLVMAppendingLinkage));
    }

    /// Thread-local, local-exec: found at a distance from the thread pointer that stands in the instruction.
    pub(crate) fn make_local_exec(self) {
        raw!(LLVMSetThreadLocalMode(self.0, LLVMThreadLocalMode::LLVMLocalExecTLSModel));
    }

    /// Thread-local, initial-exec: found through one load of its offset.
    pub(crate) fn make_initial_exec(self) {
        raw!(LLVMSetThreadLocalMode(self.0, LLVMThreadLocalMode::LLVMInitialExecTLSModel));
    }
}
