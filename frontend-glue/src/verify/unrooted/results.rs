//! The results of instructions that are references or carry some: loads, conversions, tags, parts of aggregates and
//! vectors.

use super::memory::words_of_type;
use super::state::{Carrier, Facts, State};
use super::summaries::is_integer;
use super::watch::Watch;
use crate::llvm::{Opcode, Value};

impl Watch<'_> {
    pub(super) fn load(&self, state: &mut State, load: Value, number: usize) -> Vec<(i64, Facts)> {
        let new = || Facts::from(number);
        let of = load.type_of();
        let Some((region, start)) = self.references.memory.place(load.operand(0)) else {
            if !self.references.is_reference(load) {
                return Vec::new();
            }
            let words = self.references.memory.chosen_roots(load.operand(0)).into_iter().map(|word| word.number);
            return vec![(0, Facts { aged: true, words: words.collect(), ..new() })];
        };
        let Some(word) = self.references.memory.word(region, start) else { return Vec::new() };
        if self.references.memory.is_root(word.number) {
            if !self.references.is_reference(load) {
                let known =
                    if of.members().is_empty() { state.get(&Carrier::Word(word.number)).cloned() } else { None };
                return known.into_iter().map(|facts| (0, Facts { stale: None, ..facts })).collect();
            }
            let mut facts =
                state.get(&Carrier::Word(word.number)).cloned().unwrap_or_else(|| Facts { aged: true, ..new() });
            // An object in a root is live, even if it counted as stale before.
            facts.stale = None;
            facts.words.insert(word.number);
            state.entry(Carrier::Word(word.number)).or_insert_with(|| facts.clone());
            return vec![(0, facts)];
        }
        let integer = is_integer(of);
        let offsets = words_of_type(self.module, of);
        let words = offsets.into_iter().filter_map(|offset| {
            let word = self.references.memory.word(region, start.map(|start| start.wrapping_add(offset)))?;
            let facts = self.held(state, word.number, word.kind)?;
            Some((offset, Facts { integer: facts.integer | integer, ..facts }))
        });
        let mut found: Vec<(i64, Facts)> = words.collect();
        if found.is_empty() && self.references.is_reference(load) {
            found.push((0, Facts { aged: true, ..new() }));
        }
        found
    }

    /// Results that are references, or carry some.
    pub(super) fn computed(&self, state: &State, instruction: Value, number: usize) -> Vec<(i64, Facts)> {
        let first = || instruction.operand(0);
        match instruction.opcode() {
            Some(Opcode::LLVMIntToPtr) => self.parts_of(state, first()),
            // A tag is added or removed.
            Some(Opcode::LLVMOr | Opcode::LLVMAdd | Opcode::LLVMSub) if instruction.operand(1).is_constant() => {
                self.parts_of(state, first())
            }
            Some(Opcode::LLVMAnd) if instruction.operand(1).constant_integer().is_some_and(|mask| mask >> 32 != 0) => {
                self.parts_of(state, first())
            }
            Some(Opcode::LLVMExtractValue) => {
                let offset = instruction.aggregate_offset(self.module);
                let parts = self.parts_of(state, first()).into_iter().map(|(at, facts)| (at - offset, facts));
                let inside = words_of_type(self.module, instruction.type_of());
                parts.filter(|(at, _)| inside.contains(at)).collect()
            }
            Some(Opcode::LLVMInsertValue) => {
                let offset = instruction.aggregate_offset(self.module);
                self.inserted(state, instruction, offset)
            }
            Some(Opcode::LLVMInsertElement) => match instruction.operand(2).constant_integer() {
                Some(index) => self.inserted(state, instruction, (index as i64).wrapping_mul(8)),
                None => self.parts_of(state, first()),
            },
            Some(Opcode::LLVMExtractElement) => {
                let index = instruction.operand(1).constant_integer().map(|index| (index as i64).wrapping_mul(8));
                let parts = self.parts_of(state, first()).into_iter();
                parts.filter(|(at, _)| Some(*at) == index).map(|(_, facts)| (0, facts)).take(1).collect()
            }
            _ if self.references.is_reference(instruction) => vec![(0, Facts::from(number))],
            _ => Vec::new(),
        }
    }

    fn inserted(&self, state: &State, instruction: Value, offset: i64) -> Vec<(i64, Facts)> {
        let value = instruction.operand(1);
        let inside = words_of_type(self.module, value.type_of());
        let mut parts = self.parts_of(state, instruction.operand(0));
        parts.retain(|(at, _)| !inside.contains(&(at - offset)));
        parts.extend(self.parts_of(state, value).into_iter().map(|(at, facts)| (at + offset, facts)));
        parts
    }
}
