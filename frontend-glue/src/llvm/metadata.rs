//! Named metadata, read and added to: `!name = !{!0, !1}` and the operands of the nodes.

use super::value::owned_text;
use super::{Module, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMMetadataRef;
use std::ffi::c_char;

/// An operand of a node.
#[derive(Debug, Clone)]
pub(crate) enum Metadata {
    Text(String),
    /// A number, or an address.
    Constant(Value),
    Node(Vec<Metadata>),
    /// `null`, or metadata of another kind.
    Nothing,
}

impl Module {
    /// The nodes of a named list; none where there is no such list.
    pub(crate) fn named_metadata(self, name: &str) -> Vec<Metadata> {
        let name = super::value::c_text(name);
        let count = raw!(LLVMGetNamedMetadataNumOperands(self.0, name.as_ptr()));
        let mut nodes = vec![std::ptr::null_mut(); count as usize];
        raw!(LLVMGetNamedMetadataOperands(self.0, name.as_ptr(), nodes.as_mut_ptr()));
        nodes.into_iter().map(|node| Metadata::of(Value(node), 0)).collect()
    }
}

impl Module {
    /// Appends a node of one text to a named list.
    pub(crate) fn append_named_text(self, name: &str, text: &str) {
        let (name, context) = (super::value::c_text(name), self.context());
        let mut text = raw!(LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len()));
        let node = raw!(LLVMMDNodeInContext2(context, &mut text, 1));
        raw!(LLVMAddNamedMetadataOperand(self.0, name.as_ptr(), LLVMMetadataAsValue(context, node)));
    }
}

impl Value {
    /// What the metadata of a loop's latch asks for.
    pub(crate) fn loop_properties(self) -> Vec<LLVMMetadataRef> {
        let name = "llvm.loop";
        let context = self.function().module().context();
        let node =
            raw!(LLVMGetMetadata(self.0, LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32)));
        if node.is_null() {
            return Vec::new();
        }
        let mut operands = vec![std::ptr::null_mut(); raw!(LLVMGetMDNodeNumOperands(node)) as usize];
        raw!(LLVMGetMDNodeOperands(node, operands.as_mut_ptr()));
        operands.into_iter().skip(1).map(|operand| raw!(LLVMValueAsMetadata(operand))).collect()
    }
}

impl Metadata {
    /// Nodes may refer to themselves; two levels are read.
    fn of(value: Value, depth: usize) -> Metadata {
        if value.0.is_null() {
            return Metadata::Nothing;
        }
        if value.is_constant() {
            return Metadata::Constant(value);
        }
        if !raw!(LLVMIsAMDString(value.0)).is_null() {
            let mut length = 0;
            let text: *const c_char = raw!(LLVMGetMDString(value.0, &mut length));
            return Metadata::Text(owned_text(text, length as usize));
        }
        if depth < 2 && !raw!(LLVMIsAMDNode(value.0)).is_null() {
            let mut operands = vec![std::ptr::null_mut(); raw!(LLVMGetMDNodeNumOperands(value.0)) as usize];
            raw!(LLVMGetMDNodeOperands(value.0, operands.as_mut_ptr()));
            return Metadata::Node(
                operands.into_iter().map(|operand| Metadata::of(Value(operand), depth + 1)).collect(),
            );
        }
        Metadata::Nothing
    }
}
