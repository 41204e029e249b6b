//! Calls and invokes: their callees, attributes and bundles, and how to rebuild one.
//!
//! LLVM cannot add a bundle to a call; the call is built anew and all parts of the old one are carried over:
//! arguments, calling convention, attributes, fast-math flags, metadata, debug location, the other bundles, the name.
//! A call built by [`Call::rebuild`] is never marked `tail`: its bundle names slots of this very frame.

use super::{Block, Builder, Opcode, Type, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex, LLVMTailCallKind};
use smallvec::SmallVec;

/// Tag of the bundle that names roots.
pub(crate) const DEOPT: &str = "deopt";

/// Metadata that LLVM's verifier refuses on an invoke. All of it permits something to the optimiser, and may be
/// dropped.
const ONLY_ON_CALLS: [&str; 2] = ["tbaa", "noalias.addrspace"];
/// Metadata of which an invoke may have more than a call: the weights of both ways out.
const ONLY_ON_INVOKES: [&str; 1] = ["prof"];

/// A value known to be a call or an invoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Call(Value);

/// The place of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Function,
    Result,
    Parameter(u32),
}

impl Position {
    fn index(self) -> u32 {
        match self {
            Position::Function => LLVMAttributeFunctionIndex,
            Position::Result => LLVMAttributeReturnIndex,
            Position::Parameter(index) => index + 1,
        }
    }
}

/// The kind of an enum attribute, looked up once for the test of many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeKind(u32);

impl AttributeKind {
    pub(crate) fn named(name: &str) -> AttributeKind {
        AttributeKind(attribute_kind(name))
    }
}

/// An attribute; equal handles are equal attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Attribute(LLVMAttributeRef);

impl Value {
    pub(crate) fn as_call(self) -> Option<Call> {
        matches!(self.opcode(), Some(Opcode::LLVMCall | Opcode::LLVMInvoke)).then_some(Call(self))
    }

    /// The calls of this function, as LLVM lists uses: in no order to rely on.
    pub(crate) fn calls_of_it(self) -> impl Iterator<Item = Call> {
        self.users().filter_map(Value::as_call).filter(move |call| call.callee() == self)
    }
}

impl Call {
    /// As [`Value::as_call`], of a value that is known to be an instruction.
    pub(crate) fn among_instructions(instruction: Value) -> Option<Call> {
        let opcode = raw!(LLVMGetInstructionOpcode(instruction.0));
        matches!(opcode, Opcode::LLVMCall | Opcode::LLVMInvoke).then_some(Call(instruction))
    }

    pub(crate) fn value(self) -> Value {
        self.0
    }

    pub(crate) fn callee(self) -> Value {
        Value(raw!(LLVMGetCalledValue(self.0.0)))
    }

    /// Calls another function of the same type; the callee is the last operand.
    pub(crate) fn set_callee(self, callee: Value) {
        let count = raw!(LLVMGetNumOperands(self.0.0)) as u32;
        raw!(LLVMSetOperand(self.0.0, count - 1, callee.0));
    }

    pub(crate) fn function_type(self) -> Type {
        Type(raw!(LLVMGetCalledFunctionType(self.0.0)))
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        (0..raw!(LLVMGetNumArgOperands(self.0.0))).map(|index| self.0.operand(index)).collect()
    }

    pub(crate) fn argument(self, index: u32) -> Value {
        self.0.operand(index)
    }

    pub(crate) fn set_argument(self, index: u32, value: Value) {
        raw!(LLVMSetOperand(self.0.0, index, value.0));
    }

    pub(crate) fn is_invoke(self) -> bool {
        self.0.is(Opcode::LLVMInvoke)
    }

    pub(crate) fn normal_destination(self) -> Block {
        Block(raw!(LLVMGetNormalDest(self.0.0)))
    }

    pub(crate) fn convention(self) -> u32 {
        raw!(LLVMGetInstructionCallConv(self.0.0))
    }

    pub(crate) fn set_convention(self, convention: u32) {
        raw!(LLVMSetInstructionCallConv(self.0.0, convention));
    }

    /// Whether call or callee carries this string attribute.
    pub(crate) fn has_string_attribute(self, name: &str) -> bool {
        self.has_own_string_attribute(name) || self.callee().has_string_attribute(name)
    }

    /// Whether the call itself carries this string attribute; its callee may.
    pub(crate) fn has_own_string_attribute(self, name: &str) -> bool {
        let (text, length) = (name.as_ptr().cast(), name.len() as u32);
        !raw!(LLVMGetCallSiteStringAttribute(self.0.0, LLVMAttributeFunctionIndex, text, length)).is_null()
    }

    /// Whether the call itself carries an attribute of this kind there; its callee may.
    pub(crate) fn has_own_attribute(self, position: Position, kind: AttributeKind) -> bool {
        !raw!(LLVMGetCallSiteEnumAttribute(self.0.0, position.index(), kind.0)).is_null()
    }

    /// Whether call or callee carries this enum attribute.
    pub(crate) fn has_attribute(self, kind: AttributeKind) -> bool {
        let callee = self.callee();
        self.has_own_attribute(Position::Function, kind) || (callee.is_function() && callee.has_attribute_kind(kind))
    }

    pub(crate) fn argument_count(self) -> u32 {
        raw!(LLVMGetNumArgOperands(self.0.0))
    }

    pub(crate) fn attributes(self, position: Position) -> Vec<Attribute> {
        let count = raw!(LLVMGetCallSiteAttributeCount(self.0.0, position.index()));
        let mut list = vec![std::ptr::null_mut(); count as usize];
        raw!(LLVMGetCallSiteAttributes(self.0.0, position.index(), list.as_mut_ptr()));
        list.into_iter().map(Attribute).collect()
    }

    pub(crate) fn add_attribute(self, position: Position, attribute: Attribute) {
        raw!(LLVMAddCallSiteAttribute(self.0.0, position.index(), attribute.0));
    }

    /// Passes arguments and result as the callee declares them: by value, extended, in which registers.
    pub(crate) fn pass_as_declared(self) {
        let callee = self.callee();
        let parameters = (0..self.argument_count()).map(Position::Parameter);
        for position in parameters.chain([Position::Result]) {
            let count = raw!(LLVMGetAttributeCountAtIndex(callee.0, position.index()));
            let mut list = vec![std::ptr::null_mut(); count as usize];
            raw!(LLVMGetAttributesAtIndex(callee.0, position.index(), list.as_mut_ptr()));
            list.into_iter().for_each(|attribute| self.add_attribute(position, Attribute(attribute)));
        }
    }

    /// Gives the call an attribute without a value.
    pub(crate) fn set_attribute(self, name: &str) {
        let context = self.0.function().module().context();
        let attribute = raw!(LLVMCreateEnumAttribute(context, attribute_kind(name), 0));
        raw!(LLVMAddCallSiteAttribute(self.0.0, LLVMAttributeFunctionIndex, attribute));
    }

    pub(crate) fn remove_attribute(self, position: Position, name: &str) {
        raw!(LLVMRemoveCallSiteEnumAttribute(self.0.0, position.index(), attribute_kind(name)));
    }

    /// The memory that the callee writes its result to, if an `sret` argument names it, and the result's type.
    pub(crate) fn result_in_memory(self) -> Option<(Value, Type)> {
        let of = |index| self.attributes(Position::Parameter(index)).into_iter().find(|it| it.is("sret"));
        let count = self.arguments().len() as u32;
        let (index, attribute) = (0..count.min(2)).find_map(|index| Some((index, of(index)?)))?;
        Some((self.argument(index), Type(raw!(LLVMGetTypeAttributeValue(attribute.0)))))
    }

    /// The arguments that are passed as copies of memory (`byval`, said by the call or its callee), with what lies
    /// there.
    pub(crate) fn arguments_by_value(self) -> Vec<(Value, Type)> {
        let callee = self.callee();
        let said_by_callee = |index: u32| {
            let attribute = raw!(LLVMGetEnumAttributeAtIndex(
                callee.0,
                Position::Parameter(index).index(),
                attribute_kind("byval")
            ));
            (!attribute.is_null()).then_some(Attribute(attribute))
        };
        let by_value = |index: u32| {
            let own = self.attributes(Position::Parameter(index)).into_iter().find(|attribute| attribute.is("byval"));
            let attribute = own.or_else(|| if callee.is_function() { said_by_callee(index) } else { None })?;
            Some((self.argument(index), Type(raw!(LLVMGetTypeAttributeValue(attribute.0)))))
        };
        (0..self.argument_count()).filter_map(by_value).collect()
    }

    /// Builds the call anew with a `deopt` bundle of `roots`, and what its own such bundle has, and removes this one.
    pub(crate) fn rebuild(self, builder: &Builder, roots: &[Value]) -> Call {
        builder.before(self.0);
        let mut bundles = self.bundles_but(DEOPT);
        bundles.push(builder.bundle(DEOPT, &self.with_state(roots)));
        let arguments = self.arguments();
        let new = self.build(builder, self.function_type(), self.callee(), &arguments, bundles, self.destinations());
        self.carry_over(new);
        self.replace_by(new);
        new
    }

    /// Builds the call anew without its bundle of this tag, and removes this one.
    pub(crate) fn without_bundle(self, builder: &Builder, tag: &str) -> Call {
        builder.before(self.0);
        let bundles = self.bundles_but(tag);
        let arguments = self.arguments();
        let new = self.build(builder, self.function_type(), self.callee(), &arguments, bundles, self.destinations());
        self.carry_over(new);
        self.replace_by(new);
        new
    }

    /// Replaces a call by one of another function, whose type differs in address spaces alone.
    pub(crate) fn replace_by_call_of(self, builder: &Builder, of: Type, callee: Value, arguments: &[Value]) {
        let new = self.build(builder, of, callee, arguments, self.own_bundles(), None);
        self.carry_over(new);
        let wanted = self.0.type_of();
        if !wanted.is_void() {
            let name = self.0.name();
            let result =
                if new.0.type_of() == wanted { new.0 } else { builder.cast(Opcode::LLVMAddrSpaceCast, new.0, wanted) };
            self.0.replace_all_uses(result);
            self.0.set_name("");
            result.set_name(&name);
        }
        self.0.erase();
    }

    /// A call or invoke of something else where this one stands (before it), with a `deopt` bundle of `roots` and of what
    /// its own such bundle has. This one stays, for its uses to be redirected.
    pub(crate) fn emit_instead(
        self,
        builder: &Builder,
        function_type: Type,
        callee: Value,
        arguments: &[Value],
        roots: &[Value],
    ) -> Call {
        builder.before(self.0);
        let bundles = vec![builder.bundle(DEOPT, &self.with_state(roots))];
        self.build(builder, function_type, callee, arguments, bundles, self.destinations())
    }

    /// Turns a call, the last instruction of `block`, which lacks a terminator, into an invoke.
    pub(crate) fn make_invoke(self, builder: &Builder, block: Block, normal: Block, unwind: Block) -> Call {
        builder.at_end(block, Some(self.0));
        let (bundles, arguments) = (self.own_bundles(), self.arguments());
        let destinations = Some((normal, unwind));
        let new = self.build(builder, self.function_type(), self.callee(), &arguments, bundles, destinations);
        self.carry_over(new);
        self.replace_by(new);
        new
    }

    /// Removes a call whose result is no longer used.
    pub(crate) fn remove(self) {
        debug_assert!(!self.is_invoke(), "an invoke also ends its block");
        self.0.erase();
    }

    pub(super) fn destinations(self) -> Option<(Block, Block)> {
        self.is_invoke().then(|| (self.normal_destination(), Block(raw!(LLVMGetUnwindDest(self.0.0)))))
    }

    pub(super) fn build(
        self,
        builder: &Builder,
        function_type: Type,
        callee: Value,
        arguments: &[Value],
        mut bundles: Vec<LLVMOperandBundleRef>,
        destinations: Option<(Block, Block)>,
    ) -> Call {
        let new = builder.call_or_invoke(function_type, callee, arguments, &mut bundles, destinations);
        for bundle in bundles {
            raw!(LLVMDisposeOperandBundle(bundle));
        }
        Call(new)
    }

    /// Carries over all parts of a call beside its operands.
    pub(super) fn carry_over(self, new: Call) {
        new.set_convention(self.convention());
        let parameters = (0..self.arguments().len() as u32).map(Position::Parameter);
        for position in [Position::Function, Position::Result].into_iter().chain(parameters) {
            for attribute in self.attributes(position) {
                new.add_attribute(position, attribute);
            }
        }
        if !self.is_invoke() && !new.is_invoke() && self.tail_kind() == LLVMTailCallKind::LLVMTailCallKindNoTail {
            raw!(LLVMSetTailCallKind(new.0.0, LLVMTailCallKind::LLVMTailCallKindNoTail));
        }
        self.copy_metadata(new);
        if raw!(LLVMCanValueUseFastMathFlags(self.0.0)) != 0 && raw!(LLVMCanValueUseFastMathFlags(new.0.0)) != 0 {
            raw!(LLVMSetFastMathFlags(new.0.0, LLVMGetFastMathFlags(self.0.0)));
        }
        raw!(LLVMInstructionSetDebugLoc(new.0.0, LLVMInstructionGetDebugLoc(self.0.0)));
    }

    /// Gives `new` this call's uses and name, and removes this one.
    pub(crate) fn replace_by(self, new: Call) {
        let name = self.0.name();
        self.0.replace_all_uses(new.0);
        self.0.erase();
        if !new.0.type_of().is_void() {
            new.0.set_name(&name);
        }
    }

    fn copy_metadata(self, new: Call) {
        let mut count = 0;
        let entries = raw!(LLVMInstructionGetAllMetadataOtherThanDebugLoc(self.0.0, &mut count));
        let context = self.0.function().module().context();
        let not_for_new: &[&str] = match (self.is_invoke(), new.is_invoke()) {
            (false, true) => &ONLY_ON_CALLS,
            (true, false) => &ONLY_ON_INVOKES,
            _ => &[],
        };
        let left_out = not_for_new.iter().map(|name| metadata_kind(context, name)).collect::<SmallVec<[u32; 2]>>();
        for index in 0..count as u32 {
            let kind = raw!(LLVMValueMetadataEntriesGetKind(entries, index));
            if left_out.contains(&kind) {
                continue;
            }
            let node = raw!(LLVMMetadataAsValue(context, LLVMValueMetadataEntriesGetMetadata(entries, index)));
            raw!(LLVMSetMetadata(new.0.0, kind, node));
        }
        raw!(LLVMDisposeValueMetadataEntries(entries));
    }
}

fn metadata_kind(context: LLVMContextRef, name: &str) -> u32 {
    raw!(LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32))
}

/// Attributes of functions.
impl Value {
    pub(crate) fn has_string_attribute(self, name: &str) -> bool {
        let (text, length) = (name.as_ptr().cast(), name.len() as u32);
        self.is_function()
            && !raw!(LLVMGetStringAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, text, length)).is_null()
    }

    /// The value of a string attribute of the function.
    pub(crate) fn string_attribute(self, name: &str) -> Option<String> {
        let (text, length) = (name.as_ptr().cast(), name.len() as u32);
        let attribute = raw!(LLVMGetStringAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, text, length));
        let mut length = 0;
        (!attribute.is_null()).then(|| {
            super::value::owned_text(raw!(LLVMGetStringAttributeValue(attribute, &mut length)), length as usize)
        })
    }

    pub(crate) fn has_attribute_kind(self, kind: AttributeKind) -> bool {
        !raw!(LLVMGetEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, kind.0)).is_null()
    }

    /// Whether this is a function that carries the attribute there.
    pub(crate) fn has_attribute_at(self, position: Position, kind: AttributeKind) -> bool {
        self.is_function() && !raw!(LLVMGetEnumAttributeAtIndex(self.0, position.index(), kind.0)).is_null()
    }

    pub(crate) fn has_attribute(self, name: &str) -> bool {
        self.is_function()
            && !raw!(LLVMGetEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, attribute_kind(name))).is_null()
    }

    /// Whether this is a parameter that carries it.
    pub(crate) fn is_parameter_with(self, name: &str) -> bool {
        let kind = attribute_kind(name);
        let carries =
            |function: LLVMValueRef, index| !raw!(LLVMGetEnumAttributeAtIndex(function, index, kind)).is_null();
        self.is_argument() && {
            let function = raw!(LLVMGetParamParent(self.0));
            let count = raw!(LLVMCountParams(function));
            (0..count).any(|index| raw!(LLVMGetParam(function, index)) == self.0 && carries(function, index + 1))
        }
    }

    /// Whether any parameter of the function carries it.
    pub(crate) fn has_parameter_attribute(self, name: &str) -> bool {
        let kind = attribute_kind(name);
        (1..=self.parameter_count()).any(|index| !raw!(LLVMGetEnumAttributeAtIndex(self.0, index, kind)).is_null())
    }

    pub(crate) fn set_string_attribute(self, name: &str, value: &str) {
        let attribute = Attribute::string(self, name, value);
        raw!(LLVMAddAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, attribute.0));
    }

    pub(crate) fn set_attribute(self, name: &str, value: u64) {
        let attribute = raw!(LLVMCreateEnumAttribute(self.module().context(), attribute_kind(name), value));
        raw!(LLVMAddAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, attribute));
    }

    pub(crate) fn add_attribute(self, position: Position, attribute: Attribute) {
        raw!(LLVMAddAttributeAtIndex(self.0, position.index(), attribute.0));
    }

    pub(crate) fn remove_attribute(self, position: Position, name: &str) {
        raw!(LLVMRemoveEnumAttributeAtIndex(self.0, position.index(), attribute_kind(name)));
    }

    pub(crate) fn remove_string_attribute(self, name: &str) {
        let (text, length) = (name.as_ptr().cast(), name.len() as u32);
        raw!(LLVMRemoveStringAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, text, length));
    }

    pub(crate) fn set_function_convention(self, convention: u32) {
        raw!(LLVMSetFunctionCallConv(self.0, convention));
    }

    pub(crate) fn function_convention(self) -> u32 {
        raw!(LLVMGetFunctionCallConv(self.0))
    }
}

impl Attribute {
    fn string(function: Value, name: &str, value: &str) -> Attribute {
        let context = function.module().context();
        Attribute(raw!(LLVMCreateStringAttribute(
            context,
            name.as_ptr().cast(),
            name.len() as u32,
            value.as_ptr().cast(),
            value.len() as u32,
        )))
    }

    /// Whether this is the enum or type attribute of that name.
    pub(crate) fn is(self, name: &str) -> bool {
        let by_kind = raw!(LLVMIsEnumAttribute(self.0)) != 0 || raw!(LLVMIsTypeAttribute(self.0)) != 0;
        by_kind && raw!(LLVMGetEnumAttributeKind(self.0)) == attribute_kind(name)
    }
}

pub(super) fn attribute_kind(name: &str) -> u32 {
    let kind = raw!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()));
    debug_assert_ne!(kind, 0, "no attribute {name}");
    kind
}
