//! Local memory in the analysis: the variable and word that an address names.
//!
//! A variable is a region: an alloca, or a parameter whose memory the caller made for this call (`byval`, `sret`). It
//! is tracked as long as its address is used only in accesses and arguments of calls. Its words are distinguished by
//! their offsets; a variable that is accessed at an index that is not constant is an array, one word for all of it. A
//! root of several words is one word for all of it, too, where it is not a variable that is accessed at constant offsets alone. Words are
//! numbered at their first access.

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::{HandleSet, Module, Opcode, Type, TypeKind, Value};
use crate::lower::roots::{rooted_variable, variable_type};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Addresses that are chosen among more are not followed.
const MOST_CHOICES: usize = 64;
/// Values with more words than this are not taken apart.
const MOST_WORDS: usize = 64;

/// The tracked variables of a function, and their words.
#[derive(Debug)]
pub(super) struct Memory {
    module: Module,
    regions: HashMap<Value, Kind>,
    words: RefCell<Words>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of words that are told apart, or of others.
    Root {
        has_words: bool,
    },
    Variable,
    Array,
}

#[derive(Debug, Default)]
struct Words {
    numbers: HashMap<Value, BTreeMap<i64, usize>>,
    roots: HashSet<usize>,
    count: usize,
}

/// A word of local memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) number: usize,
    pub(super) kind: WordKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A store there replaces all that was there.
    Whole,
    /// A store to a root of several words replaces a part.
    PartOfRoot,
    /// A store to an array replaces one element, which is not known.
    Array,
}

impl Memory {
    pub(super) fn of(callees: &Callees, function: Value, instructions: &[Value]) -> Memory {
        let module = function.module();
        let mut regions = HashMap::new();
        for &instruction in instructions {
            if let Some(slot) = rooted_slot(callees, instruction) {
                let is_word = module.size_of(variable_type(slot)) == 8;
                let has_words = is_word || kind_of(module, slot) == Some(Kind::Variable);
                regions.insert(slot, Kind::Root { has_words });
            } else if instruction.is(Opcode::LLVMAlloca) && !regions.contains_key(&instruction) {
                regions.extend(kind_of(module, instruction).map(|kind| (instruction, kind)));
            }
        }
        for parameter in (0..function.parameter_count()).map(|index| function.parameter(index)) {
            let is_variable = parameter.is_parameter_with("byval") || parameter.is_parameter_with("sret");
            if is_variable && !regions.contains_key(&parameter) {
                regions.extend(kind_of(module, parameter).map(|kind| (parameter, kind)));
            }
        }
        Memory { module, regions, words: RefCell::default() }
    }

    /// The variable that an address lies in, and the offset from its start.
    pub(super) fn place(&self, address: Value) -> Option<(Value, Option<i64>)> {
        let (base, offset) = split(self.module, address);
        self.regions.contains_key(&base).then_some((base, offset))
    }

    /// The roots that an address may be of which a select or a phi chooses one.
    pub(super) fn chosen_roots(&self, address: Value) -> Vec<Word> {
        let (mut pending, mut seen, mut found) = (vec![address], HandleSet::default(), Vec::new());
        while let Some(value) = pending.pop() {
            let (base, offset) = split(self.module, value);
            if !seen.insert(base) || seen.len() > MOST_CHOICES {
                continue;
            }
            match base.opcode() {
                Some(Opcode::LLVMSelect) => pending.extend([base.operand(1), base.operand(2)]),
                Some(Opcode::LLVMPHI) => pending.extend(base.incoming().into_iter().map(|(value, _)| value)),
                _ if self.is_root_region(base) => found.extend(self.word(base, offset)),
                _ => {}
            }
        }
        // A store there may leave what each of them holds.
        found.into_iter().map(|word| Word { kind: WordKind::PartOfRoot, ..word }).collect()
    }

    pub(super) fn word(&self, region: Value, offset: Option<i64>) -> Option<Word> {
        let (offset, kind) = match *self.regions.get(&region)? {
            Kind::Root { has_words: true } => (offset.unwrap_or(0), WordKind::Whole),
            Kind::Root { has_words: false } => (0, WordKind::PartOfRoot),
            Kind::Array => (0, WordKind::Array),
            Kind::Variable => (offset?, WordKind::Whole),
        };
        let mut words = self.words.borrow_mut();
        let next = words.count;
        let number = *words.numbers.entry(region).or_default().entry(offset).or_insert(next);
        if number == next {
            words.count += 1;
            if matches!(self.regions[&region], Kind::Root { .. }) {
                words.roots.insert(number);
            }
        }
        Some(Word { number, kind })
    }

    /// The words of a variable that were accessed so far, with their offsets.
    pub(super) fn words_of(&self, region: Value) -> Vec<(i64, Word)> {
        let known: Vec<i64> =
            self.words.borrow().numbers.get(&region).into_iter().flat_map(|words| words.keys().copied()).collect();
        known.into_iter().filter_map(|offset| Some((offset, self.word(region, Some(offset))?))).collect()
    }

    pub(super) fn is_root(&self, number: usize) -> bool {
        self.words.borrow().roots.contains(&number)
    }

    pub(super) fn is_root_at(&self, address: Value) -> bool {
        matches!(self.place(address), Some((region, _)) if self.is_root_region(region))
    }

    pub(super) fn is_root_region(&self, region: Value) -> bool {
        matches!(self.regions.get(&region), Some(Kind::Root { .. }))
    }
}

/// The base of an address, and the offset if it is constant. An address that is computed from itself, in code that
/// never runs, is its own base.
pub(super) fn split(module: Module, address: Value) -> (Value, Option<i64>) {
    let mut offset = Some(0_i64);
    let end = address.follow(|value| {
        match value.opcode()? {
            Opcode::LLVMGetElementPtr => {
                offset = offset.and_then(|sum| sum.checked_add(value.own_offset(module)?));
            }
            Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze => {}
            _ => return None,
        }
        Some(value.operand(0))
    });
    end.map_or((address, None), |end| (end, offset))
}

/// The offsets of the words of a type that may hold references.
pub(super) fn words_of_type(module: Module, of: Type) -> Vec<i64> {
    let mut found = Vec::new();
    let mut pending = vec![(of, 0_i64)];
    while let Some((of, offset)) = pending.pop() {
        if found.len() + pending.len() > MOST_WORDS {
            return Vec::new();
        }
        let members = of.members();
        match of.kind() {
            TypeKind::LLVMPointerTypeKind | TypeKind::LLVMDoubleTypeKind => found.push(offset),
            TypeKind::LLVMIntegerTypeKind if of.integer_bits() == Some(64) => found.push(offset),
            TypeKind::LLVMStructTypeKind => pending.extend(
                (0..)
                    .zip(&members)
                    .map(|(index, &(member, _))| (member, offset + module.member_offset(of, index) as i64)),
            ),
            TypeKind::LLVMArrayTypeKind | TypeKind::LLVMVectorTypeKind => {
                let (element, count) = members[0];
                let step = module.size_of(element) as i64;
                pending
                    .extend((0..count.min(MOST_WORDS as u64 + 1)).map(|index| (element, offset + index as i64 * step)));
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found
}

pub(super) fn rooted_slot(callees: &Callees, instruction: Value) -> Option<Value> {
    let call = instruction.as_call().filter(|&call| callees.of_call(call) == Callee::GcRoot)?;
    rooted_variable(call.argument(0))
}

/// The way in which a variable is tracked; `None` if its address is kept somewhere.
fn kind_of(module: Module, region: Value) -> Option<Kind> {
    let is_alloca = region.is(Opcode::LLVMAlloca);
    let mut kind =
        if is_alloca && region.operand(0).constant_integer() != Some(1) { Kind::Array } else { Kind::Variable };
    let mut pending = vec![(region, true)];
    while let Some((address, is_constant)) = pending.pop() {
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::LLVMStore) if user.operand(0) == address => return None,
                Some(Opcode::LLVMLoad | Opcode::LLVMStore) if !is_constant => kind = Kind::Array,
                Some(Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMICmp) => {}
                Some(Opcode::LLVMGetElementPtr) => {
                    if user.operands().skip(1).any(|index| index == address) {
                        return None;
                    }
                    pending.push((user, is_constant && user.own_offset(module).is_some()));
                }
                Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze) => {
                    pending.push((user, is_constant));
                }
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                    if user.as_call().is_none_or(|call| call.callee() == address) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
    Some(kind)
}
