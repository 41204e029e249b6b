//! Which words of a function's variables are references: by their types, and by what is done with them.
//!
//! A type does not say all. clang gives a union the type of its largest member and passes a small one in integers, and a frontend may keep
//! references in plain bytes:
//!
//! ```text
//!   %value = alloca double               ; union { double number; Node *node; }
//!   store ptr %node, ptr %value          ; word 0 is a reference
//!   memcpy(%copy, %value, 8)             ; and so is that of the copy, whatever its type
//! ```
//!
//! A word is a reference if it is loaded or stored as one, or copied to or from one that is. Where an address is not constant, all words
//! that it may name are. At other times such a word may hold something else: what lies outside the heap is ignored.

use super::references::References;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::offset::greatest_common_divisor;
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Type, Value};
use crate::lower::roots::{slot_bytes, variable_count, variable_type};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Bytes of a reference, and where one may lie.
const WORD: u64 = 8;

/// The references in the variables of a function.
pub(super) struct Accessed {
    /// Byte offsets.
    words: HandleMap<Value, BTreeSet<u64>>,
}

/// An address in a variable: an offset plus a multiple of a step, which is 0 for none.
#[derive(Debug, Clone, Copy)]
struct Place {
    variable: Value,
    offset: i64,
    step: u64,
}

/// Bytes that go from one address to another. An end may lie elsewhere, or in one of several variables, between which the program chooses.
#[derive(Debug, Clone, Default)]
struct Transfer {
    to: SmallVec<[Place; 1]>,
    from: SmallVec<[Place; 1]>,
    /// `None`: not constant.
    bytes: Option<u64>,
}

struct Search<'a> {
    module: Module,
    references: &'a References,
    callees: &'a Callees,
    found: Accessed,
    transfers: HandleMap<Value, Transfer>,
}

impl Accessed {
    /// Those of these variables.
    pub(super) fn of(module: Module, references: &References, callees: &Callees, variables: &[Value]) -> Accessed {
        let found = Accessed { words: HandleMap::default() };
        let mut search = Search { module, references, callees, found, transfers: HandleMap::default() };
        for &variable in variables {
            search.take_type(variable);
            search.look_at_uses(variable);
        }
        while search.spread() {}
        search.found
    }

    /// The byte offsets of the references in a variable, in order.
    pub(super) fn offsets(&self, variable: Value) -> impl Iterator<Item = u64> + '_ {
        self.words.get(&variable).into_iter().flatten().copied()
    }

    /// Whether it has some.
    pub(super) fn has(&self, variable: Value) -> bool {
        self.words.contains_key(&variable)
    }
}

impl Search<'_> {
    fn take_type(&mut self, variable: Value) {
        let of = variable_type(variable);
        if !self.references.may_carry(of) {
            return;
        }
        let each = self.module.size_of(of);
        for number in 0..variable_count(variable).unwrap_or(1) {
            self.add_members(of, Place { variable, offset: (number * each) as i64, step: 0 });
        }
    }

    /// A value of this type is at that place: what references it has.
    fn add_members(&mut self, of: Type, place: Place) -> bool {
        let mut offsets = Vec::new();
        self.references.offsets(self.module, of, 0, &mut offsets);
        offsets.into_iter().fold(false, |any, at| self.add(place.behind(at as i64)) | any)
    }

    /// There is a reference at that place, or at one of those. Whether that is new.
    fn add(&mut self, place: Place) -> bool {
        let size = slot_bytes(self.module, place.variable);
        let all = match place.step {
            0 => u64::try_from(place.offset).into_iter().collect::<Vec<_>>(),
            step => {
                let step = if step.is_multiple_of(WORD) { step } else { WORD };
                let first = place.offset.rem_euclid(step as i64) as u64;
                (first..size.unwrap_or(first + 1)).step_by(step as usize).collect()
            }
        };
        let inside = all.into_iter().filter(|at| size.is_none_or(|size| at + WORD <= size));
        let words = inside.collect::<Vec<_>>();
        if words.is_empty() {
            return false;
        }
        let known = self.found.words.entry(place.variable).or_default();
        words.into_iter().fold(false, |any, at| known.insert(at) | any)
    }

    fn look_at_uses(&mut self, variable: Value) {
        if slot_bytes(self.module, variable).is_some_and(|bytes| bytes < WORD) {
            return;
        }
        let (mut seen, mut pending) = (HandleSet::default(), vec![(variable, Place { variable, offset: 0, step: 0 })]);
        while let Some((address, place)) = pending.pop() {
            if !seen.insert(address) {
                continue;
            }
            for user in address.users().collect::<Vec<_>>() {
                match user.opcode() {
                    Some(Opcode::LLVMGetElementPtr) if user.operand(0) == address => {
                        pending.push((user, place.moved_by(user.offset_and_step(self.module))));
                    }
                    Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => pending.push((user, place)),
                    // Of several addresses; or of the one before, in a loop.
                    Some(Opcode::LLVMPHI | Opcode::LLVMSelect) => pending.push((user, place.moved_by(None))),
                    Some(Opcode::LLVMLoad) => self.take_load(user, place),
                    Some(Opcode::LLVMStore) if user.operand(1) == address => self.take_store(user, place),
                    Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => self.take_call(user, address, place),
                    _ => {}
                }
            }
        }
    }

    fn take_load(&mut self, load: Value, place: Place) {
        self.add_members(load.type_of(), place);
        for store in load.users().filter(|it| it.is(Opcode::LLVMStore) && it.operand(0) == load).collect::<Vec<_>>() {
            self.transfers.entry(store).or_default().from.push(place);
        }
    }

    fn take_store(&mut self, store: Value, place: Place) {
        let of = store.operand(0).type_of();
        self.add_members(of, place);
        let transfer = self.transfers.entry(store).or_default();
        transfer.to.push(place);
        transfer.bytes = Some(self.module.size_of(of));
    }

    fn take_call(&mut self, call: Value, address: Value, place: Place) {
        let Some(call) = call.as_call().filter(|&call| self.callees.of_call(call) == Callee::Copy) else { return };
        let transfer = self.transfers.entry(call.value()).or_default();
        transfer.bytes = call.argument(2).constant_integer();
        if call.argument(0) == address {
            transfer.to.push(place);
        }
        if call.argument(1) == address {
            transfer.from.push(place);
        }
    }

    /// What is a reference at one end of a transfer is one at the other. Whether that was news.
    fn spread(&mut self) -> bool {
        let mut news = false;
        for Transfer { to, from, bytes } in self.transfers.values().cloned().collect::<Vec<_>>() {
            for (&to, &from) in to.iter().flat_map(|to| from.iter().map(move |from| (to, from))) {
                news |= self.carry(from, to, bytes);
                news |= self.carry(to, from, bytes);
            }
        }
        news
    }

    fn carry(&mut self, from: Place, to: Place, bytes: Option<u64>) -> bool {
        let most = slot_bytes(self.module, from.variable).unwrap_or(0) as i64;
        let bytes = bytes.map_or(most, |bytes| bytes.min(most as u64) as i64);
        let mut news = false;
        for at in self.found.offsets(from.variable).collect::<Vec<_>>() {
            let distance = at as i64 - from.offset;
            let distances = match from.step {
                0 => (distance..distance + 1).step_by(1),
                step => (distance.rem_euclid(step as i64)..bytes).step_by(step as usize),
            };
            // Of several places those are meant where a reference may lie.
            let may_lie = |distance: i64| from.step == 0 || (to.offset + distance) % WORD as i64 == 0;
            for distance in distances.filter(|distance| (0..bytes).contains(distance) && may_lie(*distance)) {
                news |= self.add(to.behind(distance));
            }
        }
        news
    }
}

impl Place {
    fn behind(self, bytes: i64) -> Place {
        Place { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// `None`: nobody knows by how much.
    fn moved_by(self, offset_and_step: Option<(i64, u64)>) -> Place {
        let (offset, step) = offset_and_step.unwrap_or((0, WORD));
        Place { step: greatest_common_divisor(self.step, step), ..self.behind(offset) }
    }
}
