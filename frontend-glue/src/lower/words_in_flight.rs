//! Values in flight as words in which the runtime finds references. It reads words at multiples of eight bytes; in a packed struct a
//! reference may lie across two of them.

use crate::llvm::{Builder, Module, Type, TypeKind, Value};

/// Bytes of a word.
const WORD: u64 = 8;

/// The value, or its members, if some words of it would not lie at multiples of eight bytes.
pub(super) fn parts(builder: &Builder, value: Value) -> Vec<Value> {
    if !has_split_words(builder.module(), value.type_of(), 0) {
        return vec![value];
    }
    let (mut whole, mut queue) = (Vec::new(), vec![value]);
    while let Some(value) = queue.pop() {
        match member_count(value.type_of()).filter(|_| has_split_words(builder.module(), value.type_of(), 0)) {
            Some(count) => queue.extend((0..count).map(|member| builder.extract(value, member))),
            None => whole.push(value),
        }
    }
    whole
}

/// Bytes of the words that these values take, each a word or more of its own.
pub(super) fn bytes(module: Module, parts: &[Value]) -> u64 {
    parts.iter().map(|part| module.store_size_of(part.type_of()).next_multiple_of(WORD)).sum()
}

/// Stores them one behind the other.
pub(super) fn lay_down(builder: &Builder, parts: &[Value], buffer: Value) {
    let mut offset = 0;
    for &part in parts {
        // A vector's own alignment would be larger than that of the words.
        builder.store(part, builder.offset(buffer, offset)).set_alignment(WORD as u32);
        offset += bytes(builder.module(), &[part]);
    }
}

fn member_count(of: Type) -> Option<u32> {
    match of.kind() {
        TypeKind::LLVMStructTypeKind => Some(of.members().len() as u32),
        TypeKind::LLVMArrayTypeKind => Some(of.members()[0].1 as u32),
        _ => None,
    }
}

/// Whether a word of a value of this type, which begins at byte `at`, lies across two words.
fn has_split_words(module: Module, of: Type, at: u64) -> bool {
    match of.kind() {
        TypeKind::LLVMStructTypeKind => {
            let mut members = of.members().into_iter().zip(0..);
            members.any(|((member, _), index)| has_split_words(module, member, at + module.member_offset(of, index)))
        }
        // After eight elements they lie as before.
        TypeKind::LLVMArrayTypeKind => {
            let (element, count) = of.members()[0];
            let size = module.size_of(element);
            (0..count.min(WORD)).any(|index| has_split_words(module, element, at + index * size))
        }
        _ => !at.is_multiple_of(WORD) && module.store_size_of(of) >= WORD,
    }
}
