//! The attributes of parameters: whether one points to memory that the caller made for the call, the type and
//! alignment of that memory, and which parameter is also the result.

use super::call::{AttributeKind, Call, Position, attribute_kind};
use super::{Module, Type, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::LLVMABIAlignmentOfType;

impl Value {
    /// The function that this is a parameter of.
    pub(crate) fn function_of_parameter(self) -> Value {
        Value(raw!(LLVMGetParamParent(self.0)))
    }

    /// The number of this parameter in its function; `None` if this is no parameter.
    pub(crate) fn parameter_index(self) -> Option<u32> {
        let function = self.is_argument().then(|| self.function_of_parameter())?;
        (0..function.parameter_count()).find(|&index| function.parameter(index) == self)
    }

    /// The type in the memory of a parameter that carries this attribute (`byval`, `sret`).
    pub(crate) fn type_in_memory(self, attribute: &str) -> Option<Type> {
        let attribute = self.parameter_attribute(attribute)?;
        Some(Type(raw!(LLVMGetTypeAttributeValue(attribute))))
    }

    /// The alignment of a parameter's memory, as its attribute says; 1 if none does.
    pub(crate) fn alignment_of_parameter(self) -> u32 {
        self.parameter_attribute("align").map_or(1, |attribute| raw!(LLVMGetEnumAttributeValue(attribute)) as u32)
    }

    fn parameter_attribute(self, name: &str) -> Option<LLVMAttributeRef> {
        let (index, function) = (self.parameter_index()?, self.function_of_parameter());
        let attribute = raw!(LLVMGetEnumAttributeAtIndex(function.0, index + 1, attribute_kind(name)));
        (!attribute.is_null()).then_some(attribute)
    }
}

impl Call {
    /// The alignment of an argument's memory, as the call says; 1 if it does not.
    pub(crate) fn alignment_of_argument(self, index: u32) -> u64 {
        let attribute = raw!(LLVMGetCallSiteEnumAttribute(self.value().0, index + 1, attribute_kind("align")));
        if attribute.is_null() { 1 } else { raw!(LLVMGetEnumAttributeValue(attribute)) }
    }

    /// The argument that is the result, too (`returned`, said by the call or its callee); `kind` is that attribute's.
    pub(crate) fn returned_argument(self, kind: AttributeKind) -> Option<Value> {
        let callee = self.callee();
        let is_returned = |index: u32| {
            let position = Position::Parameter(index);
            self.has_own_attribute(position, kind) || callee.has_attribute_at(position, kind)
        };
        (0..self.argument_count()).find(|&index| is_returned(index)).map(|index| self.argument(index))
    }
}

impl Module {
    /// The alignment that variables of this type have at least.
    pub(crate) fn alignment_of(self, of: Type) -> u32 {
        raw!(LLVMABIAlignmentOfType(self.layout(), of.0))
    }
}
