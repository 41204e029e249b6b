//! The uses of one object in one function: where its address goes, and what is done to it there.
//!
//! An address that leads into the object is a *place*. It is followed through offsets, casts, phis, selects, and local variables that are
//! only loaded and stored whole, which roots are, too. A use that lets the address out of what is followed is an escape, and the search
//! ends: stored anywhere else, also by `gcwrite`, made an integer, passed on by a call through a pointer, to a function of the runtime,
//! or in a guaranteed tail call. A comparison is no escape: an object on the stack is equal to itself and to nothing else.

use super::site::MADE;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, Module, Opcode, Value};

/// All uses of an object that does not escape in this function, but for what callees and returns do.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Each value that may lead into the object, with its distance from the object's start if that is constant.
    pub(super) places: HandleMap<Value, Option<u64>>,
    /// Loads, stores, copies, and reads and writes of references.
    pub(super) accesses: Vec<Value>,
    /// Local variables that hold its address at times.
    pub(super) slots: Vec<Slot>,
    /// Calls that get its address, with the number of the argument.
    pub(super) passed: Vec<(Call, u32)>,
    /// Returns of its address.
    pub(super) returns: Vec<Value>,
    /// Whether a place may lead to something else than the object or null.
    pub(super) is_merged: bool,
}

/// A local variable that holds the object's address at times.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) variable: Value,
    pub(super) stores: Vec<Value>,
    pub(super) loads: Vec<Value>,
    /// The calls of `llvm.gcroot` that name it.
    pub(super) gcroots: Vec<Call>,
    /// The ends of its life, where a root becomes null.
    pub(super) ends: Vec<Value>,
}

impl Uses {
    /// Follows `object`: an allocation, a call that returns a new object, or a parameter. `None` if it escapes.
    pub(super) fn follow(module: Module, callees: &Callees, object: Value) -> Option<Uses> {
        let mut search = Search { module, callees, uses: Uses::default(), queue: Vec::new() };
        search.reach(object, Some(0));
        while let Some(place) = search.queue.pop() {
            search.follow(place)?;
        }
        let mut uses = search.uses;
        uses.is_merged |= uses.slots.iter().any(|slot| !uses.holds_nothing_else(slot));
        Some(uses)
    }

    /// Whether a variable holds null or this very object.
    pub(super) fn holds_nothing_else(&self, slot: &Slot) -> bool {
        let is_object = |value: Value| self.places.get(&value) == Some(&Some(0));
        let mut stored = slot.stores.iter().map(|store| store.operand(0));
        stored.all(|value| is_nothing(value) || is_object(value))
    }

    /// Whether anything is read from it. What is only made, and written to, is made for the sake of the allocation.
    pub(super) fn is_read(&self, callees: &Callees) -> bool {
        let is_read = |access: &Value| match access.as_call() {
            None => access.is(Opcode::LLVMLoad),
            Some(call) => match callees.of_call(call) {
                Callee::GcRead => true,
                Callee::Copy => self.places.contains_key(&call.argument(1)),
                _ => false,
            },
        };
        !self.passed.is_empty() || self.accesses.iter().any(is_read)
    }

    /// The writes of references to it.
    pub(super) fn writes(&self, callees: &Callees) -> impl Iterator<Item = Call> {
        let calls = self.accesses.iter().filter_map(|access| access.as_call());
        calls.filter(|&call| callees.of_call(call) == Callee::GcWrite)
    }

    /// Whether all writes of references surely go to it, so that they may become stores.
    pub(super) fn writes_lie_in_it(&self, callees: &Callees) -> bool {
        let is_place = |value: Value| self.places.contains_key(&value);
        let lies_in_it = |call: Call| !self.is_merged && is_place(call.argument(1)) && is_place(call.argument(2));
        self.writes(callees).all(lies_in_it)
    }

    /// The variables that are roots, but for those of makers.
    pub(super) fn own_roots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.gcroots.iter().any(|call| !call.value().has_mark(MADE)))
    }
}

/// Null, or a value that no correct program uses.
pub(super) fn is_nothing(value: Value) -> bool {
    value.is_null() || value.is_undef()
}

struct Search<'a> {
    module: Module,
    callees: &'a Callees,
    uses: Uses,
    queue: Vec<Value>,
}

impl Search<'_> {
    fn reach(&mut self, place: Value, offset: Option<u64>) {
        match self.uses.places.get_mut(&place) {
            None => {
                self.uses.places.insert(place, offset);
                self.queue.push(place);
            }
            Some(known) if *known != offset && known.is_some() => {
                *known = None;
                self.queue.push(place);
            }
            Some(_) => {}
        }
    }

    fn follow(&mut self, place: Value) -> Option<()> {
        let offset = self.uses.places[&place];
        for user in place.users().collect::<Vec<_>>() {
            match user.opcode()? {
                Opcode::LLVMLoad => self.access(user)?,
                Opcode::LLVMStore if user.operand(0) == place => self.store_of(place, user)?,
                Opcode::LLVMStore => self.access(user)?,
                Opcode::LLVMGetElementPtr if user.type_of().is_pointer() => {
                    let more = user.own_offset(self.module).and_then(|more| u64::try_from(more).ok());
                    self.reach(user, offset.zip(more).map(|(offset, more)| offset + more));
                }
                Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMFreeze => self.reach(user, offset),
                Opcode::LLVMPHI | Opcode::LLVMSelect => {
                    self.uses.is_merged = true;
                    self.reach(user, None);
                }
                Opcode::LLVMICmp => {}
                Opcode::LLVMRet => self.uses.returns.push(user),
                Opcode::LLVMCall | Opcode::LLVMInvoke => self.call(place, user.as_call()?)?,
                _ => return None,
            }
        }
        Some(())
    }

    fn access(&mut self, instruction: Value) -> Option<()> {
        let is_plain = instruction.as_call().is_some() || !instruction.is_volatile() && !instruction.is_atomic();
        if !self.uses.accesses.contains(&instruction) {
            self.uses.accesses.push(instruction);
        }
        is_plain.then_some(())
    }

    fn call(&mut self, place: Value, call: Call) -> Option<()> {
        let is_argument = |index: u32| call.argument(index) == place;
        match self.callees.of_call(call) {
            Callee::GcWrite if !is_argument(0) => self.access(call.value()),
            Callee::GcRead | Callee::Copy => self.access(call.value()),
            Callee::Fill if is_argument(0) => self.access(call.value()),
            Callee::Ordinary => {
                let arguments: Vec<u32> = (0..call.argument_count()).filter(|&index| is_argument(index)).collect();
                let is_known = call.callee().is_function() && call.callee().value_type() == call.function_type();
                let stays = is_known && !call.is_musttail() && call.bundle_tags().is_empty() && !arguments.is_empty();
                let new = arguments.into_iter().map(|index| (call, index));
                let new: Vec<(Call, u32)> = new.filter(|passed| !self.uses.passed.contains(passed)).collect();
                self.uses.passed.extend(new);
                stays.then_some(())
            }
            _ => None,
        }
    }

    /// Follows a store of the address, into a local variable that is only loaded and stored whole.
    fn store_of(&mut self, place: Value, store: Value) -> Option<()> {
        let variable = store.operand(1);
        let is_variable = variable.is(Opcode::LLVMAlloca)
            && variable.allocated_type() == place.type_of()
            && variable.operand(0).constant_integer() == Some(1)
            && variable.block() == variable.function().entry();
        if !is_variable {
            return None;
        }
        if !self.uses.slots.iter().any(|slot| slot.variable == variable) {
            let slot = self.slot(variable)?;
            self.uses.slots.push(slot);
        }
        let offset = self.uses.places[&place];
        let slot = self.uses.slots.iter().find(|slot| slot.variable == variable);
        slot.expect("just noted").loads.clone().into_iter().for_each(|load| self.reach(load, offset));
        Some(())
    }

    fn slot(&self, variable: Value) -> Option<Slot> {
        let mut slot = Slot { variable, stores: vec![], loads: vec![], gcroots: vec![], ends: vec![] };
        let of = variable.allocated_type();
        for user in variable.users() {
            let is_access = |of_user| of_user == of && !user.is_volatile() && !user.is_atomic();
            match user.opcode()? {
                Opcode::LLVMLoad if is_access(user.type_of()) => slot.loads.push(user),
                Opcode::LLVMStore if user.operand(1) == variable && is_access(user.operand(0).type_of()) => {
                    slot.stores.push(user);
                }
                Opcode::LLVMCall => {
                    let call = user.as_call()?;
                    match self.callees.of_call(call) {
                        Callee::GcRoot if call.argument(1).is_null() => slot.gcroots.push(call),
                        Callee::LifetimeStart => {}
                        Callee::LifetimeEnd => slot.ends.push(user),
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(slot)
    }
}
