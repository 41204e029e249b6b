//! Which values are references, by their type and by what they lead to.

use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::llvm::{Module, Opcode, Type, TypeKind, Value};
use crate::lower::global_slots;

/// The address space of typed references, as in LLVM's `statepoint-example`.
const TYPED: u32 = 1;

/// Typed references alone.
const TYPED_ONES: References = References { every: false, plain_arguments: false };

/// Attributes of pointers to memory that the caller made for the call, and of values that are no memory.
const NO_OBJECTS: [&str; 5] = ["byval", "sret", "swifterror", "inalloca", "preallocated"];

/// What counts as a reference.
#[derive(Debug, Clone, Copy)]
pub(in crate::lower) struct References {
    /// Pointers of address space 0, too.
    pub(in crate::lower) every: bool,
    /// Whether arguments of address space 0 are: those of a function whose callers may be gone while it runs.
    pub(super) plain_arguments: bool,
}

impl References {
    /// Whether pointers of this type are references.
    pub(in crate::lower) fn is_type(self, of: Type) -> bool {
        of.is_pointer() && (of.address_space() == TYPED || self.every && of.address_space() == 0)
    }

    /// Whether this value may be the address of an object or of a place inside one.
    pub(super) fn is_reference(self, value: Value) -> bool {
        let is_held = || value.is_argument() && !self.plain_arguments && !is_typed(value.type_of());
        value.is_local() && self.is_type(value.type_of()) && !is_held() && leads_to_objects(value)
    }

    /// Whether a value of this type is a reference, or has some among its members.
    pub(super) fn may_carry(self, of: Type) -> bool {
        self.is_type(of)
            || of.has_members() && of.members().into_iter().any(|(member, count)| count > 0 && self.may_carry(member))
    }

    /// Whether values of this type have references in vectors.
    fn in_vector(self, of: Type) -> bool {
        let is_vector = matches!(of.kind(), TypeKind::LLVMVectorTypeKind | TypeKind::LLVMScalableVectorTypeKind);
        of.has_members()
            && self.may_carry(of)
            && (is_vector || of.members().into_iter().any(|(member, _)| self.in_vector(member)))
    }

    /// Adds the byte offsets of the references in a variable of this type that begins at `at`.
    pub(super) fn offsets(self, module: Module, of: Type, at: u64, found: &mut Vec<u64>) {
        if self.is_type(of) {
            found.push(at);
        }
        for (index, (member, count)) in of.members().into_iter().enumerate() {
            if !self.may_carry(member) {
                continue;
            }
            let begin = if of.is_structure() { module.member_offset(of, index as u32) } else { 0 };
            for number in 0..count {
                self.offsets(module, member, at + begin + number * module.size_of(member), found);
            }
        }
    }
}

/// Whether these are pointers of address space 1.
pub(in crate::lower) fn is_typed(of: Type) -> bool {
    TYPED_ONES.is_type(of)
}

/// Whether values of this type are typed references, or have some among their members.
pub(crate) fn holds_typed(of: Type) -> bool {
    TYPED_ONES.may_carry(of)
}

/// The byte offsets of the typed references in a type.
pub(super) fn typed_offsets(module: Module, of: Type) -> Vec<u64> {
    let mut offsets = Vec::new();
    TYPED_ONES.offsets(module, of, 0, &mut offsets);
    offsets
}

/// Whether any function of the module has a pointer of address space 1.
pub(super) fn has_typed(module: Module) -> bool {
    module.functions().any(is_function_with_typed)
}

/// Whether the function has one in its signature, or in its body.
pub(super) fn is_function_with_typed(function: Value) -> bool {
    let in_body = |value: Value| {
        TYPED_ONES.may_carry(value.type_of())
            || value.is(Opcode::LLVMAlloca) && TYPED_ONES.may_carry(value.allocated_type())
    };
    let signature = function.value_type();
    signature.parameters().into_iter().chain([signature.return_type()]).any(|it| TYPED_ONES.may_carry(it))
        || function.blocks().flat_map(|block| block.instructions()).any(in_body)
}

/// Whether no value of the function may be a reference, where every pointer is one: it computes with numbers, its variables are
/// numbers, and it calls nothing of Tally's.
pub(super) fn has_none(callees: &Callees, function: Value) -> bool {
    let every = References { every: true, plain_arguments: false };
    let signature = function.value_type();
    let is_variable = |value: Value| value.is(Opcode::LLVMAlloca) && !every.may_carry(value.allocated_type());
    let is_of_none = |value: Value| !every.may_carry(value.type_of()) || is_variable(value.base());
    !signature.parameters().into_iter().any(|it| every.may_carry(it))
        && function.instructions().into_iter().all(is_of_none)
        && function.calls().all(|call| matches!(callees.of_call(call), Callee::Ordinary | Callee::OtherIntrinsic))
}

/// Whether a function computes vectors of references.
pub(super) fn has_vectors(references: References, function: Value) -> bool {
    function.instructions().into_iter().any(|it| has_vector_at(references, it))
}

/// Whether the instruction takes or makes a vector of references.
fn has_vector_at(references: References, instruction: Value) -> bool {
    instruction.operands().chain([instruction]).any(|value| references.in_vector(value.type_of()))
}

/// The instructions of a function that handle references in a way for which no root or barrier can be inferred.
pub(super) fn unsupported(name: &str, references: References, function: Value, has_barrier: bool) -> Vec<Diagnostic> {
    let refusal = |instruction: Value| {
        if has_vector_at(references, instruction) {
            return Some(("a vector of references, for which no root is inferred", "keep references in single values"));
        }
        let is_seen = |slot: Value| {
            let is_of_a_variable = instruction.is_volatile() && slot.base().is(Opcode::LLVMAlloca);
            has_barrier && !is_of_a_variable || global_slots::global_behind(slot).is_some()
        };
        let is_shared = match instruction.opcode()? {
            Opcode::LLVMStore => {
                holds_typed(instruction.operand(0).type_of())
                    && (instruction.is_atomic() || instruction.is_volatile())
                    && is_seen(instruction.operand(1))
            }
            Opcode::LLVMAtomicRMW => is_typed(instruction.operand(1).type_of()) && is_seen(instruction.operand(0)),
            Opcode::LLVMAtomicCmpXchg => is_typed(instruction.operand(2).type_of()) && is_seen(instruction.operand(0)),
            _ => false,
        };
        is_shared.then_some((
            "an atomic or volatile store of a reference",
            "store it plainly: objects belong to one thread, and the barrier must see each store",
        ))
    };
    let found = function.instructions().into_iter().filter_map(|place| refusal(place).map(|why| (place, why)));
    found.map(|(place, (message, help))| Diagnostic::at(name, place, message).help(help)).collect()
}

fn leads_to_objects(value: Value) -> bool {
    if value.is_argument() {
        return !NO_OBJECTS.iter().any(|attribute| value.is_parameter_with(attribute));
    }
    match value.opcode() {
        Some(Opcode::LLVMAlloca) => false,
        // An exception.
        Some(Opcode::LLVMExtractValue) => !value.operand(0).is(Opcode::LLVMLandingPad),
        _ => true,
    }
}
