//! The values that depend on each root: the facts from which root liveness is computed.
//!
//! A value depends on a root if it was read from the slot, stored into it, is an origin of a stored value
//! (`origins.rs`: the operands of a phi), or was derived from any of these by arithmetic, casts, selection,
//! aggregates, or a call that got one and returns a value wide enough for a pointer; half a word is followed, too. An
//! alloca that such a value was stored into depends on the root itself, and so do all values read from it. All of
//! this ignores control flow; it can only make a root live longer, never shorter.
//!
//! A reference that goes from root to root by way of loads is in both. When the first is overwritten, only the second
//! protects a value read from the first ([`Reach::ThroughRoots`]).

use super::bit_set::BitSet;
use super::inferred::{References, is_protected_by_callers, is_typed, references as inferred_references};
use super::origins::{Origins, containers};
use super::roots::Root;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::same_object::{SameObject, stores_place_to};
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Type, TypeKind, Value};
use smallvec::SmallVec;

/// The effect of one instruction on a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotAccess {
    /// Reads (part of) it.
    Read { root: usize },
    /// Replaces the whole content by null.
    Empty { root: usize },
    /// Replaces the whole content.
    Overwrite { root: usize },
    /// Writes part of it, or in a way that was not followed.
    Touch { root: usize },
}

/// The extent to which values are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not to the origins of stored values: for tests of the hazard.
    WithoutOrigins,
    /// Through values and variables, from which the content of a root was stored.
    Values,
    /// Through roots as well, as if they were variables.
    ThroughRoots,
}

/// The dependence of values on the roots of one function.
#[derive(Debug)]
pub(super) struct Influence {
    /// Roots to be named at every safepoint.
    pub(super) always: BitSet,
    accesses: HandleMap<Value, SmallVec<[SlotAccess; 1]>>,
    values: HandleMap<Value, BitSet>,
    exact: HandleSet<Value>,
    /// The roots that were inferred, and for which references; none if there are none.
    inferred: Option<(BitSet, References)>,
    /// A value that one root protects went into another.
    shares: bool,
}

struct Survey<'a> {
    module: Module,
    callees: &'a Callees,
    origins: Origins<'a>,
    reach: Reach,
    roots: &'a [Root],
    slots: HandleSet<Value>,
    /// Roots of which no call returns a derived pointer, unless that is known of the call.
    inferred: BitSet,
    any_inferred: bool,
    /// Whether roots are inferred for all pointers of the module, in functions with roots of the program, too.
    every_is_inferred: bool,
    same_object: SameObject,
    /// Addresses inside a slot: which root, and whether it is the slot's very beginning.
    addresses: HandleMap<Value, (usize, bool)>,
    facts: Influence,
    /// Values that have got more roots since their uses were followed.
    pending: Vec<Value>,
    is_pending: HandleSet<Value>,
    /// The roots that may hold what a value is an origin of.
    may_be_in: HandleMap<Value, BitSet>,
    pending_origins: Vec<Value>,
    is_pending_origin: HandleSet<Value>,
}

impl Influence {
    pub(super) fn of(callees: &Callees, function: Value, roots: &[Root], reach: Reach) -> Influence {
        let module = function.module();
        let slots = roots.iter().map(|root| root.slot).collect();
        let mut inferred = BitSet::empty(roots.len());
        roots.iter().enumerate().filter(|(_, root)| root.inferred).for_each(|(root, _)| inferred.insert(root));
        let any_inferred = roots.iter().any(|root| root.inferred);
        let references = inferred_references(module);
        let facts = Influence {
            always: BitSet::empty(roots.len()),
            accesses: HandleMap::default(),
            values: HandleMap::default(),
            exact: HandleSet::default(),
            inferred: any_inferred.then(|| (inferred.clone(), references)),
            shares: false,
        };
        let mut survey = Survey {
            module,
            callees,
            origins: Origins::among(callees),
            reach,
            roots,
            slots,
            any_inferred,
            every_is_inferred: references.every,
            inferred,
            same_object: SameObject::new(),
            addresses: HandleMap::default(),
            facts,
            pending: Vec::new(),
            is_pending: HandleSet::default(),
            may_be_in: HandleMap::default(),
            pending_origins: Vec::new(),
            is_pending_origin: HandleSet::default(),
        };
        for (root, Root { slot, .. }) in roots.iter().enumerate() {
            survey.follow_address(root, *slot, true);
        }
        while let Some(value) = survey.pending_origins.pop() {
            survey.is_pending_origin.remove(&value);
            survey.follow_back(value);
        }
        while let Some(value) = survey.pending.pop() {
            survey.is_pending.remove(&value);
            survey.follow_value(value);
        }
        survey.merge_exact(function);
        survey.facts.shares = survey.shares();
        survey.facts
    }

    /// Whether a root may hold a value that was read from another or stored there: only then do roots stand in for
    /// each other.
    pub(super) fn shares(&self) -> bool {
        self.shares
    }

    /// The instructions that access slots, and their effects.
    pub(super) fn accesses(&self) -> impl Iterator<Item = (Value, &[SlotAccess])> {
        self.accesses.iter().map(|(&instruction, accesses)| (instruction, &accesses[..]))
    }

    /// All values and variables that depend on roots.
    pub(super) fn hanging(&self) -> impl Iterator<Item = Value> {
        self.values.keys().copied()
    }

    /// The roots that a value depends on.
    pub(super) fn of_value(&self, value: Value) -> Option<&BitSet> {
        self.values.get(&value)
    }

    /// Whether a reference has a root that was inferred for it, which holds its base at each safepoint that needs it, or callers
    /// keep that.
    pub(super) fn is_kept_by_inferred(&self, value: Value) -> bool {
        self.inferred.as_ref().is_some_and(|(inferred, references)| {
            // Where all pointers are references, an integer that was made of one keeps nothing.
            (references.every || references.is_type(value.type_of()))
                && !value.is(Opcode::LLVMAlloca)
                && (self.values.get(&value).is_some_and(|roots| roots.meets(inferred))
                    || value.base().is_argument() && is_protected_by_callers(value.base()))
        })
    }

    /// Whether the value is a root's whole content, not derived from it.
    pub(super) fn is_exact(&self, value: Value) -> bool {
        self.exact.contains(&value)
    }
}

impl Survey<'_> {
    /// Follows the uses of an address inside a slot.
    fn follow_address(&mut self, root: usize, address: Value, beginning: bool) {
        if self.addresses.insert(address, (root, beginning)).is_some() {
            return;
        }
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::LLVMLoad) => self.read(root, user, beginning),
                Some(Opcode::LLVMStore) if user.operand(1) == address && user.operand(0) != address => {
                    self.write(root, user, beginning);
                }
                Some(Opcode::LLVMGetElementPtr) if user.operand(0) == address => {
                    let stays = beginning && user.operands().skip(1).all(Value::is_null);
                    self.follow_address(root, user, stays);
                }
                Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => self.follow_address(root, user, beginning),
                Some(Opcode::LLVMICmp) => {}
                Some(Opcode::LLVMCall) => self.memory_intrinsic(root, user, address, beginning),
                _ => self.facts.always.insert(root),
            }
        }
    }

    fn access(&mut self, instruction: Value, access: SlotAccess) {
        self.facts.accesses.entry(instruction).or_default().push(access);
    }

    fn read(&mut self, root: usize, load: Value, beginning: bool) {
        self.access(load, SlotAccess::Read { root });
        if beginning && self.is_rooted_by_callees(root, load) {
            self.facts.exact.insert(load);
        }
        self.hang(load, &self.only(root));
    }

    fn write(&mut self, root: usize, store: Value, beginning: bool) {
        let value = store.operand(0);
        let whole = beginning && self.module.store_size_of(value.type_of()) >= self.roots[root].bytes;
        self.access(
            store,
            match whole {
                true if value.is_null() => SlotAccess::Empty { root },
                true => SlotAccess::Overwrite { root },
                false => SlotAccess::Touch { root },
            },
        );
        if value.is_local() {
            if whole && self.is_rooted_by_callees(root, value) {
                self.facts.exact.insert(value);
            }
            self.went_to(value, &self.only(root));
        }
    }

    /// Whether a function that gets the content of this root makes a root for it. Where roots are inferred, it does so for typed
    /// references alone.
    fn is_rooted_by_callees(&self, root: usize, content: Value) -> bool {
        let of = content.type_of();
        is_typed(of) || !(self.every_is_inferred || self.inferred.contains(root) && of.is_plain_pointer())
    }

    fn memory_intrinsic(&mut self, root: usize, user: Value, address: Value, beginning: bool) {
        let call = user.as_call().expect("a call");
        let length = || call.argument(2).constant_integer();
        let whole = beginning && call.arguments().len() > 2 && length() >= Some(self.roots[root].bytes);
        match self.callees.of_call(call) {
            Callee::Fill if call.argument(0) == address => {
                let empties = whole && call.argument(1).is_null();
                self.access(user, if empties { SlotAccess::Empty { root } } else { SlotAccess::Touch { root } });
            }
            Callee::Copy => {
                // A copy out of the slot is followed as a value that went to the destination; a copy into it as a
                // stored value.
                if call.argument(1) == address {
                    self.access(user, SlotAccess::Read { root });
                    self.stored_to(&self.only(root), call.argument(0));
                }
                if call.argument(0) == address {
                    self.access(user, if whole { SlotAccess::Overwrite { root } } else { SlotAccess::Touch { root } });
                    if self.reach != Reach::WithoutOrigins {
                        let sources = containers(call.argument(1)).into_iter();
                        sources.for_each(|variable| self.went_to(variable, &self.only(root)));
                    }
                }
            }
            Callee::LifetimeStart | Callee::LifetimeEnd | Callee::GcRoot => {}
            _ => self.facts.always.insert(root),
        }
    }

    /// Notes that `roots` may hold `value`, or the content of this variable.
    fn went_to(&mut self, value: Value, roots: &BitSet) {
        if self.reach != Reach::ThroughRoots && self.slots.contains(&value) {
            return;
        }
        let count = self.roots.len();
        let grew = self.may_be_in.entry(value).or_insert_with(|| BitSet::empty(count)).union(roots);
        if grew && self.is_pending_origin.insert(value) {
            self.pending_origins.push(value);
        }
    }

    /// Follows a value that roots may hold back to its origins.
    fn follow_back(&mut self, value: Value) {
        let roots = self.may_be_in[&value].clone();
        self.hang(value, &roots);
        if self.reach != Reach::WithoutOrigins {
            self.origins.of(value).into_iter().for_each(|origin| self.went_to(origin, &roots));
        }
    }

    /// A phi of nothing but typed references that are exact is one, too: inferred roots hold it without a store of its own.
    fn merge_exact(&mut self, function: Value) {
        if !self.any_inferred {
            return;
        }
        let is_typed = |phi: &Value| phi.type_of().is_pointer() && !phi.type_of().is_plain_pointer();
        let phis = function.blocks().flat_map(|block| block.instructions().take_while(|it| it.is(Opcode::LLVMPHI)));
        let mut phis: Vec<Value> = phis.filter(is_typed).collect();
        let mut before = usize::MAX;
        while std::mem::replace(&mut before, phis.len()) != phis.len() {
            phis.retain(|&phi| {
                let is_exact = |value: Value| value.is_constant() || value == phi || self.facts.exact.contains(&value);
                let is_new = phi.incoming().into_iter().all(|(value, _)| is_exact(value));
                if is_new {
                    self.facts.exact.insert(phi);
                }
                !is_new
            });
        }
    }

    /// See [`Influence::shares`].
    fn shares(&self) -> bool {
        let is_shared = |access: &SlotAccess, store: Value| {
            let (SlotAccess::Overwrite { root } | SlotAccess::Touch { root }) = *access else { return false };
            let held = |value: Value| self.facts.values.get(&value);
            match store.opcode() {
                Some(Opcode::LLVMStore) => {
                    held(store.operand(0)).is_some_and(|roots| roots.bits().any(|other| other != root))
                }
                _ => true,
            }
        };
        self.facts.accesses.iter().any(|(&store, accesses)| accesses.iter().any(|access| is_shared(access, store)))
    }

    /// Notes that `value` depends on `roots`.
    fn hang(&mut self, value: Value, roots: &BitSet) {
        let count = self.roots.len();
        let grew = self.facts.values.entry(value).or_insert_with(|| BitSet::empty(count)).union(roots);
        // Once, however many roots hold it: with a pass for each root, an object in thirty thousand roots took hours.
        if grew && self.is_pending.insert(value) {
            self.pending.push(value);
        }
    }

    fn only(&self, root: usize) -> BitSet {
        let mut set = BitSet::empty(self.roots.len());
        set.insert(root);
        set
    }

    /// Follows a value that depends on roots to the values made of it.
    fn follow_value(&mut self, value: Value) {
        let roots = self.facts.values[&value].clone();
        // The address of an alloca that holds such values: values read through it depend on the roots, too.
        let is_address = container(value).is_some_and(|alloca| self.facts.values.contains_key(&alloca));
        for user in value.users() {
            match user.opcode() {
                Some(Opcode::LLVMStore) if user.operand(0) == value && is_address => self.always(&roots),
                Some(Opcode::LLVMStore) if user.operand(0) == value => self.stored_to(&roots, user.operand(1)),
                Some(Opcode::LLVMStore | Opcode::LLVMICmp | Opcode::LLVMRet) => {}
                // A word of an object is another reference; the content of such an alloca is this one.
                Some(Opcode::LLVMLoad) if !is_address => {}
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => self.follow_call(user, value, is_address, &roots),
                Some(
                    Opcode::LLVMPHI
                    | Opcode::LLVMSelect
                    | Opcode::LLVMPtrToInt
                    | Opcode::LLVMInsertValue
                    | Opcode::LLVMInsertElement,
                ) if is_address => self.always(&roots),
                Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => self.always(&roots),
                Some(_) if bits(user.type_of()) >= 32 => self.hang(user, &roots),
                _ => {}
            }
        }
    }

    fn follow_call(&mut self, user: Value, value: Value, is_address: bool, roots: &BitSet) {
        let call = user.as_call().expect("a call or invoke");
        match self.callees.of_call(call) {
            Callee::Copy if is_address && call.argument(1) == value => self.stored_to(roots, call.argument(0)),
            Callee::GcWrite | Callee::GcRead | Callee::WriteWord | Callee::Fill | Callee::Copy => {}
            Callee::New | Callee::NewArray => {}
            _ => {
                let held = roots;
                let mut of_written;
                let roots = match self.any_inferred && self.same_object.argument(call) != Some(value) {
                    false => held,
                    true => {
                        of_written = held.clone();
                        of_written.subtract(&self.inferred);
                        &of_written
                    }
                };
                // The callee may store an argument to a variable whose address is also an argument, or a place in its object.
                for alloca in call.arguments().into_iter().filter_map(container) {
                    let is_place = call.argument(0) == value && stores_place_to(call, alloca);
                    self.stored_to(if is_place { held } else { roots }, alloca);
                }
                if bits(user.type_of()) >= 64 {
                    self.hang(user, roots);
                }
            }
        }
    }

    fn always(&mut self, roots: &BitSet) {
        self.facts.always.union(roots);
    }

    /// Notes that a value that depends on `roots` was stored to `address`.
    fn stored_to(&mut self, roots: &BitSet, address: Value) {
        match container(address) {
            // A slot of its own protects it.
            Some(alloca) if self.slots.contains(&alloca) && self.reach != Reach::ThroughRoots => {}
            Some(alloca) => self.hang(alloca, roots),
            None => {
                // Where roots are inferred, what lies in memory keeps nothing: a reference is needed until its own last use.
                let mut written = roots.clone();
                written.subtract(&self.inferred);
                self.always(&written);
            }
        }
    }
}

/// The alloca that an address lies in.
fn container(address: Value) -> Option<Value> {
    let is_derived = |value: Value| {
        use Opcode::{LLVMAddrSpaceCast, LLVMBitCast, LLVMFreeze, LLVMGetElementPtr};
        matches!(value.opcode(), Some(LLVMGetElementPtr | LLVMBitCast | LLVMAddrSpaceCast | LLVMFreeze))
    };
    let end = address.follow(|value| is_derived(value).then(|| value.operand(0)))?;
    end.is(Opcode::LLVMAlloca).then_some(end)
}

/// The bits of a reference, or of a derived value, that a value of this type can hold: a NaN box may be passed as a
/// double or in a vector, a word in two halves.
pub(super) fn bits(of: Type) -> u64 {
    match of.kind() {
        TypeKind::LLVMPointerTypeKind | TypeKind::LLVMDoubleTypeKind | TypeKind::LLVMScalableVectorTypeKind => 64,
        TypeKind::LLVMIntegerTypeKind => of.integer_bits().map_or(0, u64::from),
        TypeKind::LLVMFloatTypeKind => 32,
        TypeKind::LLVMX86_FP80TypeKind | TypeKind::LLVMFP128TypeKind => 80,
        _ => of
            .members()
            .into_iter()
            .fold(0, |sum, (member, count)| sum.saturating_add(bits(member).saturating_mul(count))),
    }
}
