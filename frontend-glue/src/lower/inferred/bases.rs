//! The base of each reference: the object's address from which a pointer into it was derived.
//!
//! Below phis and selects that is a chain of offsets and casts. A phi or select of derived pointers needs a second one
//! beside it that merges their bases, unless all have the same; which do is found as in `RewriteStatepointsForGC`
//! (LLVM's *Garbage Collection Safepoints*, "base pointers"):
//!
//! ```text
//!   unknown  ->  one base, common to all operands  ->  merges several
//! ```
//!
//! What leads to variables and constants has no base, and is null in a merge of bases.

use super::local_memory::PLACE;
use super::references::{References, is_typed};
use crate::analysis::flow::Flow;
use crate::analysis::same_object::SameObject;
use crate::llvm::{Builder, HandleMap, HandleSet, Opcode, Type, TypeKind, Value};
use smallvec::SmallVec;

/// The bases of one function.
#[derive(Debug)]
pub(super) struct Bases {
    /// All of them, in the order of the function.
    pub(super) all: Vec<Value>,
    numbers: HandleMap<Value, usize>,
    /// For each reference the number of its base; none for what has no base.
    of_values: HandleMap<Value, usize>,
    /// For each aggregate the bases of its members.
    of_aggregates: HandleMap<Value, Vec<usize>>,
    /// The instructions that take aggregates apart where these are defined.
    extracts: HandleSet<Value>,
}

impl Bases {
    /// Finds the bases of all references in reachable code, and adds merges of bases where there is none.
    pub(super) fn find(builder: &Builder, references: &References, flow: &Flow) -> Bases {
        let mut search = Search {
            builder,
            references: *references,
            flow,
            same_object: SameObject::new(),
            merges: HandleMap::default(),
            made: HandleMap::default(),
            extracts: HandleSet::default(),
        };
        let (merges, aggregates) = search.collect();
        let aggregates: Vec<(Value, Vec<Value>)> =
            aggregates.into_iter().map(|aggregate| (aggregate, search.members(aggregate))).collect();
        search.judge_merges(&merges);
        search.add_merges(&merges);
        let mut bases = Bases {
            all: Vec::new(),
            numbers: HandleMap::default(),
            of_values: HandleMap::default(),
            of_aggregates: HandleMap::default(),
            extracts: search.extracts.clone(),
        };
        for value in search.references_in_order() {
            if let Some(base) = search.base(value) {
                let number = bases.number(base);
                bases.of_values.insert(value, number);
            }
            if let Some(plain) = search.plain_form(value)
                && let Some(&number) = bases.of_values.get(&value)
            {
                bases.of_values.insert(plain, number);
            }
        }
        for (aggregate, members) in aggregates {
            let members = members.into_iter().filter_map(|member| search.base(member));
            let numbers = members.map(|base| bases.number(base)).collect();
            bases.of_aggregates.insert(aggregate, numbers);
        }
        bases
    }

    /// The number of the base of a reference.
    pub(super) fn of(&self, value: Value) -> Option<usize> {
        if value.type_of().is_pointer() { self.of_values.get(&value).copied() } else { None }
    }

    /// The number of a value that is a base.
    pub(super) fn number_of(&self, base: Value) -> Option<usize> {
        if base.type_of().is_pointer() { self.numbers.get(&base).copied() } else { None }
    }

    /// The bases on which an instruction relies, if it is no phi.
    pub(super) fn used_by_instruction(&self, instruction: Value) -> SmallVec<[usize; 2]> {
        let mut used = SmallVec::new();
        if self.extracts.is_empty() || !self.extracts.contains(&instruction) {
            instruction.local_operands().for_each(|operand| self.add_used_by(operand, &mut used));
            // What makes a typed reference of a plain pointer.
            used.retain(|&mut number| self.all[number] != instruction);
        }
        used
    }

    /// The bases on which a use of a value relies.
    pub(super) fn used_by(&self, value: Value) -> SmallVec<[usize; 2]> {
        let mut used = SmallVec::new();
        self.add_used_by(value, &mut used);
        used
    }

    fn add_used_by(&self, value: Value, used: &mut SmallVec<[usize; 2]>) {
        used.extend(self.of(value));
        if !self.of_aggregates.is_empty() {
            used.extend(self.of_aggregates.get(&value).into_iter().flatten().copied());
        }
    }

    fn number(&mut self, base: Value) -> usize {
        *self.numbers.entry(base).or_insert_with(|| {
            self.all.push(base);
            self.of_values.insert(base, self.all.len() - 1);
            self.all.len() - 1
        })
    }
}

/// What is known of a phi or select of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// No operand's base is known yet.
    Unknown,
    /// All operands have this base, or none.
    One(Option<Value>),
    /// Several bases: what merges them is a base, too.
    Several,
}

struct Search<'a> {
    builder: &'a Builder,
    references: References,
    flow: &'a Flow,
    same_object: SameObject,
    merges: HandleMap<Value, Merge>,
    /// The merge of bases beside a merge of derived pointers.
    made: HandleMap<Value, Value>,
    extracts: HandleSet<Value>,
}

impl Search<'_> {
    fn instructions(&self) -> impl Iterator<Item = Value> {
        self.flow.blocks[..self.flow.reachable].iter().flat_map(|block| block.instructions())
    }

    fn arguments(&self) -> impl Iterator<Item = Value> {
        let function = self.flow.blocks[0].function();
        (0..function.parameter_count()).map(move |index| function.parameter(index))
    }

    fn references_in_order(&self) -> Vec<Value> {
        self.arguments().chain(self.instructions()).filter(|&value| self.references.is_reference(value)).collect()
    }

    /// The merges of references, and the structs and arrays that carry some, in the order of the function. Null takes the place
    /// of undefined references in merges, which a root must not hold.
    fn collect(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut merges, mut aggregates) = (Vec::new(), Vec::new());
        for value in self.arguments().chain(self.instructions()) {
            let of = value.type_of();
            if of.has_members() {
                if self.references.may_carry(of) && !value.is(Opcode::LLVMLandingPad) {
                    aggregates.push(value);
                }
            } else if self.references.is_type(of) && is_merge(value) {
                merges.push(value);
                for (index, operand) in value.operands().enumerate().collect::<Vec<_>>() {
                    if operand.is_undef() && self.references.is_type(operand.type_of()) {
                        value.set_operand(index as u32, of.null());
                    }
                }
            }
        }
        (merges, aggregates)
    }

    /// The references in a struct or array, which are extracted where it is defined.
    fn members(&mut self, aggregate: Value) -> Vec<Value> {
        if aggregate.users().next().is_none() {
            return Vec::new();
        }
        self.builder.before(self.behind(aggregate));
        let mut found = Vec::new();
        self.extract(aggregate, &mut found);
        found
    }

    fn extract(&mut self, from: Value, found: &mut Vec<Value>) {
        let of = from.type_of();
        if self.references.is_type(of) {
            found.push(from);
            return;
        }
        let members = of.members().into_iter();
        let types = members.flat_map(|(member, count)| std::iter::repeat_n(member, count as usize));
        for (index, member) in types.enumerate() {
            if self.references.may_carry(member) && !matches!(of.kind(), TypeKind::LLVMVectorTypeKind) {
                let extract = self.builder.extract(from, index as u32);
                self.extracts.insert(extract);
                self.extract(extract, found);
            }
        }
    }

    fn behind(&self, value: Value) -> Value {
        place_behind(self.flow, value)
    }

    fn judge_merges(&mut self, merges: &[Value]) {
        self.merges = merges.iter().map(|&merge| (merge, Merge::Unknown)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &merge in merges {
                if self.merges[&merge] != Merge::Several {
                    let now = self.judge(merge);
                    changed |= self.merges.insert(merge, now) != Some(now);
                }
            }
        }
    }

    fn judge(&self, merge: Value) -> Merge {
        let mut judged = Merge::Unknown;
        for operand in self.reachable_operands(merge) {
            let derived_from = self.strip(operand);
            let base = match self.merges.get(&derived_from) {
                Some(Merge::Unknown) => continue,
                _ if derived_from == merge => continue,
                Some(&Merge::One(base)) => base,
                _ => self.object(derived_from),
            };
            match judged {
                Merge::Unknown => judged = Merge::One(base),
                Merge::One(known) if known == base => {}
                _ => return Merge::Several,
            }
        }
        judged
    }

    /// The operands of a merge that come from code that is reached.
    fn reachable_operands(&self, merge: Value) -> Vec<Value> {
        if merge.is(Opcode::LLVMSelect) {
            return vec![merge.operand(1), merge.operand(2)];
        }
        let incoming = merge.incoming().into_iter();
        incoming.filter(|(_, from)| self.flow.number(*from) < self.flow.reachable).map(|(value, _)| value).collect()
    }

    /// A value itself, if it is the address of an object.
    fn object(&self, value: Value) -> Option<Value> {
        self.references.is_reference(value).then_some(value)
    }

    /// Adds merges of bases beside those merges of several that are not their own base.
    fn add_merges(&mut self, merges: &[Value]) {
        let several: Vec<Value> = merges.iter().copied().filter(|merge| self.merges[merge] == Merge::Several).collect();
        let derived = self.merges_of_derived(&several);
        let (selects, phis): (Vec<Value>, Vec<Value>) =
            several.into_iter().filter(|merge| derived.contains(merge)).partition(|merge| merge.is(Opcode::LLVMSelect));
        for &phi in &phis {
            let null = phi.type_of().null();
            let from: Vec<_> = phi.incoming().into_iter().map(|(_, from)| (null, from)).collect();
            self.add(phi, self.builder.phi_before(phi, phi.type_of(), &from));
        }
        for select in selects {
            // In the order of the function, so that a select among the bases is there already.
            let [then, otherwise] = [1, 2].map(|operand| self.base_as(select.operand(operand), select.type_of()));
            self.builder.before(select);
            self.add(select, self.builder.select(select.operand(0), then, otherwise));
        }
        for phi in phis {
            for (index, (value, from)) in (0..).zip(phi.incoming()) {
                if self.flow.number(from) < self.flow.reachable {
                    self.made[&phi].set_operand(index, self.base_as(value, phi.type_of()));
                }
            }
        }
    }

    fn add(&mut self, merge: Value, of_bases: Value) {
        if of_bases.is_instruction() && of_bases.name().is_empty() {
            of_bases.set_name(&format!("{}.base", merge.name()));
        }
        self.made.insert(merge, of_bases);
    }

    /// Those of `several` that merge a derived pointer, one without a base (a plain argument may lead into an object), or what
    /// is beside another merge of those.
    fn merges_of_derived(&self, several: &[Value]) -> HandleSet<Value> {
        let mut derived = HandleSet::default();
        let mut changed = true;
        while changed {
            changed = false;
            for &merge in several {
                let is_own = |operand: &Value| {
                    self.strip(*operand) == *operand
                        && self.object(*operand).is_some()
                        && !matches!(self.merges.get(operand), Some(Merge::One(_)))
                        && !derived.contains(operand)
                };
                let merges_bases = self.reachable_operands(merge).iter().all(|it| it.is_constant() || is_own(it));
                changed |= !merges_bases && derived.insert(merge);
            }
        }
        derived
    }

    /// The base of a reference, once the merges have been added.
    fn base(&self, value: Value) -> Option<Value> {
        let derived_from = self.strip(value);
        let base = match self.merges.get(&derived_from) {
            Some(&Merge::One(base)) => base,
            Some(Merge::Unknown) => None,
            Some(Merge::Several) => Some(derived_from),
            None => self.object(derived_from),
        };
        // Where all operands have the base of another merge, that is what merges its bases.
        base.map(|base| self.made.get(&base).copied().unwrap_or(base))
    }

    /// The same as a value of type `of`: null if there is none.
    fn base_as(&self, value: Value, of: Type) -> Value {
        match self.base(value) {
            None => of.null(),
            Some(base) if base.type_of() == of => base,
            Some(base) => {
                self.builder.before(self.behind(base));
                self.builder.cast(Opcode::LLVMAddrSpaceCast, base, of)
            }
        }
    }

    /// The plain pointer that becomes a typed reference as soon as it is there: who uses it uses the reference. LLVM makes one of both where a
    /// reference is cast back, as in a body that was put in place of its call.
    fn plain_form(&self, value: Value) -> Option<Value> {
        let plain = value.is(Opcode::LLVMAddrSpaceCast).then(|| value.operand(0))?;
        let is_other = plain.is_local() && !self.references.is_type(plain.type_of());
        (is_other && self.behind(plain) == value).then_some(plain)
    }

    /// What a reference was derived from by offsets and casts.
    fn strip(&self, value: Value) -> Value {
        value.follow(|value| self.derived_from(value)).unwrap_or(value)
    }

    fn derived_from(&self, value: Value) -> Option<Value> {
        match value.opcode()? {
            // A number made into an address, as `inttoptr` makes one.
            Opcode::LLVMGetElementPtr if value.operand(0).is_null() => None,
            Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMFreeze => Some(value.operand(0)),
            Opcode::LLVMAddrSpaceCast => {
                let of = value.operand(0);
                (self.references.is_type(of.type_of()) && !self.is_base_itself(value)).then_some(of)
            }
            Opcode::LLVMExtractValue => self.inserted(value),
            // What a function like `strtol` has stored.
            Opcode::LLVMLoad if value.operand(0).is(Opcode::LLVMAlloca) && value.operand(0).has_mark(PLACE) => {
                let call = value.operand(0).users().find_map(Value::as_call)?;
                Some(call.argument(0)).filter(|of| self.references.is_type(of.type_of()))
            }
            Opcode::LLVMIntToPtr => self.address_in(value.operand(0)),
            Opcode::LLVMCall | Opcode::LLVMInvoke => {
                self.same_object.argument(value.as_call()?).filter(|it| self.references.is_type(it.type_of()))
            }
            _ => None,
        }
    }

    /// Whether a typed reference is a base, though it was made of a plain pointer: that may have none, as an argument has none that
    /// callers protect, and a store through the reference needs the object.
    fn is_base_itself(&self, cast: Value) -> bool {
        let of = cast.operand(0);
        if !is_typed(cast.type_of()) || is_typed(of.type_of()) {
            return false;
        }
        let origin = self.strip(of);
        is_merge(origin) || origin.is_argument() && self.object(origin).is_none()
    }

    /// The value that was put into an aggregate where `extract` takes it out.
    fn inserted(&self, extract: Value) -> Option<Value> {
        let module = self.builder.module();
        let offset = extract.aggregate_offset(module);
        let is_elsewhere = |insert: Value| {
            let (begin, size) = (insert.aggregate_offset(module), module.size_of(insert.operand(1).type_of()) as i64);
            !(begin..begin + size).contains(&offset)
        };
        let step = |value: Value| (value.is(Opcode::LLVMInsertValue) && is_elsewhere(value)).then(|| value.operand(0));
        let insert = extract.operand(0).follow(step).filter(|it| it.is(Opcode::LLVMInsertValue))?;
        let is_whole = insert.operand(1).type_of() == extract.type_of();
        (is_whole && insert.aggregate_offset(module) == offset).then(|| insert.operand(1))
    }

    /// The reference whose address an integer was computed from, with constants alone.
    fn address_in(&self, number: Value) -> Option<Value> {
        let step = |value: Value| match value.opcode()? {
            Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMAnd | Opcode::LLVMOr | Opcode::LLVMXor => {
                value.operand(1).is_constant().then(|| value.operand(0))
            }
            Opcode::LLVMFreeze => Some(value.operand(0)),
            _ => None,
        };
        let origin = number.follow(step)?;
        (origin.is(Opcode::LLVMPtrToInt) && self.references.is_type(origin.operand(0).type_of()))
            .then(|| origin.operand(0))
    }
}

fn is_merge(value: Value) -> bool {
    matches!(value.opcode(), Some(Opcode::LLVMPHI | Opcode::LLVMSelect))
}

/// The first place behind a definition at which it can be used. The reference that an invoke returns has a block of its
/// own.
pub(super) fn place_behind(flow: &Flow, value: Value) -> Value {
    if value.is_argument() {
        return flow.blocks[0].behind_allocas();
    }
    match value.opcode() {
        Some(Opcode::LLVMPHI) => value.block().first_insertion_point(),
        Some(Opcode::LLVMInvoke) => value.as_call().expect("an invoke").normal_destination().first_insertion_point(),
        _ => value.next_instruction().expect("only an invoke ends a block and is a reference"),
    }
}
