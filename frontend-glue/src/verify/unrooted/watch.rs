//! The dataflow through one function: each reference is followed through values and words of local memory.
//!
//! It knows which roots may hold each reference. A safepoint makes those stale that no root may hold. The effects on
//! references are reported as events, which the callers evaluate.

use super::memory::{Word, WordKind, split, words_of_type};
use super::references::References;
use super::state::{Carrier, Facts, State, either, merge};
use super::summaries::{Summaries, is_integer};
use crate::analysis::callee::Callees;
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::AttributeKind;
use crate::llvm::{Block, HandleMap, Module, Opcode, Value};
use smallvec::SmallVec;

/// An event of a reference.
#[derive(Debug)]
pub(super) enum Event {
    /// Its object is used.
    Used { facts: Facts, user: usize },
    /// It is an argument, or lies at this offset of an argument that is passed by value.
    Passed { call: Value, parameter: u32, offset: Option<i64>, born: bool },
    /// It is returned at this offset of the result.
    Returned { offset: i64, immortal: bool },
    /// It is stored to memory that is not local; `to_object` says whether that is an object.
    Stored { at: Value, address: Value, to_object: bool, facts: Facts },
    /// From here on an object or a table of the runtime holds it.
    Kept { origin: usize },
    /// From here on a root holds it.
    Rooted { origin: usize },
    /// It is a pointer into its object, and stored to a root.
    RootedInside { at: Value },
    /// Several words of memory that may be an object's are written at once.
    Overwritten { call: Value, address: Value, is_aged_object: bool },
    /// A reference lies at this offset of the memory for a result when the function returns.
    LeftInResult { parameter: Value, offset: i64 },
}

/// Whether safepoints make references stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staleness {
    Ignored,
    Noted,
}

/// What the states at the ends of all blocks may weigh together: a gigabyte or so. A function in which hundreds of merges follow each other,
/// each of what all before it may be, has states of the third power of its length.
const WEIGHT_MAX: usize = 6_000_000;

/// What the states at the ends of blocks weigh.
struct Weights {
    of_blocks: Vec<usize>,
    sum: usize,
}

impl Weights {
    fn of(flow: &Flow) -> Weights {
        Weights { of_blocks: vec![0; flow.blocks.len()], sum: 0 }
    }

    fn note(&mut self, block: usize, end: &State) {
        let weight = end.values().map(Facts::weight).sum();
        self.sum = self.sum - std::mem::replace(&mut self.of_blocks[block], weight) + weight;
    }

    fn are_too_much(&self) -> bool {
        self.sum > WEIGHT_MAX
    }
}

/// The values of which a place is the last use.
type LastUses = SmallVec<[usize; 2]>;

pub(super) struct Watch<'a> {
    pub(super) callees: &'a Callees,
    pub(super) references: References,
    pub(super) summaries: &'a Summaries,
    pub(super) module: Module,
    pub(super) flow: Flow,
    pub(super) places: Vec<Value>,
    numbers: HandleMap<Value, usize>,
    pub(super) parameters: usize,
    /// Values that only their own block uses, also as the base of a derived pointer, by the place of their last use:
    /// they are not needed after it. Otherwise long blocks would carry all values that were ever there, and every
    /// safepoint would visit them.
    last_uses: Vec<LastUses>,
    pub(super) returned: AttributeKind,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        callees: &'a Callees,
        references: References,
        summaries: &'a Summaries,
        function: Value,
    ) -> Watch<'a> {
        let mut places: Vec<Value> = (0..function.parameter_count()).map(|index| function.parameter(index)).collect();
        let parameters = places.len();
        places.extend(function.instructions());
        let numbers: HandleMap<Value, usize> = places.iter().copied().zip(0..).collect();
        let last_uses = last_uses_at_home(&places, &numbers);
        let (module, flow) = (function.module(), Flow::of(function));
        let returned = AttributeKind::named("returned");
        Watch { callees, references, summaries, module, flow, places, numbers, parameters, last_uses, returned }
    }

    /// Returns all events of references in the function; `None` if it is too large to be followed.
    pub(super) fn events(&self) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for (block, start) in self.states()?.into_iter().enumerate() {
            let Some(start) = start else { continue };
            self.through(block, start, Staleness::Noted, &mut |event| events.push(event));
        }
        Some(events)
    }

    /// The state at the start of each block, in two parts: where references are, then which are stale.
    ///
    /// Staleness depends on the roots that may hold a reference, and not the other way round. In a single pass a
    /// reference could be taken for stale before its root was known; two phis that swap their values in a loop then
    /// passed that on for ever.
    fn states(&self) -> Option<Vec<Option<State>>> {
        let entry = self.at_entry();
        let solve = |through: &dyn Fn(usize, State) -> State| {
            let mut weights = Weights::of(&self.flow);
            let starts = self.flow.solve(Direction::Forward, &entry, merge, |block, state| {
                if weights.are_too_much() {
                    return State::new();
                }
                let end = through(block, state);
                weights.note(block, &end);
                end
            });
            (!weights.are_too_much()).then_some(starts)
        };
        let placed = solve(&|block, state| self.through(block, state, Staleness::Ignored, &mut |_| {}))?;
        let here = |block: usize, state: &State| {
            let mut here = placed[block].clone().unwrap_or_default();
            for (carrier, facts) in &mut here {
                facts.stale = state.get(carrier).and_then(|facts| facts.stale);
            }
            here
        };
        let mut starts =
            solve(&|block, state| self.through(block, here(block, &state), Staleness::Noted, &mut |_| {}))?;
        for (block, start) in starts.iter_mut().enumerate() {
            if let Some(state) = start {
                *state = here(block, state);
            }
        }
        Some(starts)
    }

    fn at_entry(&self) -> State {
        let mut entry = State::new();
        for (number, &parameter) in self.places[..self.parameters].iter().enumerate() {
            let (function, index) = (self.flow.blocks[0].function(), number as u32);
            let sheltered = number == 0 && self.summaries.is_finalizer(function);
            let aged = Facts { aged: true, sheltered, ..Facts::from(number) };
            if self.references.is_reference(parameter) {
                let born = self.summaries.is_born(function, index);
                entry.insert(Carrier::Value(number, 0), Facts { born, ..aged });
            } else if self.references.memory.place(parameter).is_some() {
                for offset in self.summaries.references_in_memory(function, index) {
                    if let Some(word) = self.references.memory.word(parameter, Some(offset)) {
                        let facts = Facts { words: word.number.into(), ..aged.clone() };
                        entry.insert(Carrier::Word(word.number), facts);
                    }
                }
            } else if self.summaries.is_reference(function, index) {
                let integer = is_integer(parameter.type_of());
                let born = self.summaries.is_born(function, index);
                entry.insert(Carrier::Value(number, 0), Facts { integer, born, ..aged });
            }
        }
        entry
    }

    fn through(&self, block: usize, mut state: State, staleness: Staleness, tell: &mut dyn FnMut(Event)) -> State {
        let block = self.flow.blocks[block];
        for instruction in block.instructions() {
            self.pass(&mut state, instruction, staleness, tell);
            for &number in &self.last_uses[self.numbers[&instruction]] {
                remove_value(&mut state, number);
            }
        }
        self.prepare_phis(&mut state, block);
        state
    }

    fn pass(&self, state: &mut State, instruction: Value, staleness: Staleness, tell: &mut dyn FnMut(Event)) {
        let number = self.numbers[&instruction];
        self.uses(state, instruction, number, tell);
        if let Some(call) = instruction.as_call() {
            if self.callees.is_safepoint(call) {
                self.age(state, number, staleness);
            }
            return self.call(state, call, number, tell);
        }
        let result = match instruction.opcode() {
            Some(Opcode::LLVMStore) => return self.store(state, instruction, tell),
            Some(Opcode::LLVMAtomicRMW) => {
                self.store_elsewhere(state, instruction, (1, 0), tell);
                self.computed(state, instruction, number)
            }
            Some(Opcode::LLVMAtomicCmpXchg) => {
                self.store_elsewhere(state, instruction, (2, 0), tell);
                self.computed(state, instruction, number)
            }
            Some(Opcode::LLVMPHI) => {
                state.remove(&Carrier::NextPhi(number)).into_iter().map(|facts| (0, facts)).collect()
            }
            Some(Opcode::LLVMLoad) => self.load(state, instruction, number),
            Some(Opcode::LLVMSelect) => {
                let [one, other] = [1, 2].map(|index| self.facts_of(state, instruction.operand(index)));
                either(one, other).into_iter().map(|facts| (0, facts)).collect()
            }
            _ => self.computed(state, instruction, number),
        };
        remove_value(state, number);
        state.extend(result.into_iter().map(|(offset, facts)| (Carrier::Value(number, offset), facts)));
    }

    /// A safepoint: references that no root may hold become stale.
    fn age(&self, state: &mut State, safepoint: usize, staleness: Staleness) {
        for facts in state.values_mut() {
            facts.aged = true;
            if staleness == Staleness::Noted && !facts.sheltered && !self.may_be_rooted(facts) {
                // The first of all paths, not of this one: the state must only grow.
                facts.stale = Some(facts.stale.map_or(safepoint, |before| before.min(safepoint)));
            }
        }
    }

    fn may_be_rooted(&self, facts: &Facts) -> bool {
        facts.words.iter().any(|word| self.references.memory.is_root(word))
    }

    /// The facts about a pointer or word: about the value itself, or its base.
    pub(super) fn facts_of(&self, state: &State, value: Value) -> Option<Facts> {
        let mut facts = self.number(value.base()).and_then(|number| state.get(&Carrier::Value(number, 0)))?.clone();
        facts.derived |= split(self.module, value).1 != Some(0);
        facts.integer |= is_integer(value.type_of());
        Some(facts)
    }

    /// The references in a value of any type, by their offsets.
    pub(super) fn parts_of(&self, state: &State, value: Value) -> Vec<(i64, Facts)> {
        if value.type_of().members().is_empty() {
            return self.facts_of(state, value).into_iter().map(|facts| (0, facts)).collect();
        }
        let Some(number) = self.number(value) else { return Vec::new() };
        let parts = state.range(Carrier::Value(number, i64::MIN)..=Carrier::Value(number, i64::MAX));
        parts
            .map(|(carrier, facts)| match carrier {
                Carrier::Value(_, offset) => (*offset, facts.clone()),
                _ => unreachable!("the range holds values"),
            })
            .collect()
    }

    pub(super) fn number(&self, value: Value) -> Option<usize> {
        self.numbers.get(&value).copied()
    }

    /// The facts about a word of local memory; for an array, those of the element in the worst state.
    pub(super) fn held(&self, state: &State, word: usize, kind: WordKind) -> Option<Facts> {
        if kind != WordKind::Array {
            return state.get(&Carrier::Word(word)).cloned();
        }
        let mut elements =
            state.range(Carrier::Element(word, 0)..=Carrier::Element(word, usize::MAX)).map(|(_, it)| it);
        let first = elements.next()?;
        Some(
            if first.stale.is_some() { first } else { elements.find(|facts| facts.stale.is_some()).unwrap_or(first) }
                .clone(),
        )
    }

    fn store(&self, state: &mut State, store: Value, tell: &mut dyn FnMut(Event)) {
        let (value, address) = (store.operand(0), store.operand(1));
        let Some((region, start)) = self.references.memory.place(address) else {
            return self.store_elsewhere(state, store, (0, 1), tell);
        };
        let parts = self.parts_of(state, value);
        for offset in words_of_type(self.module, value.type_of()) {
            let facts = parts.iter().find(|part| part.0 == offset).map(|part| part.1.clone());
            self.put(
                state,
                (region, start.map(|start| start.wrapping_add(offset))),
                facts,
                self.number(value.base()),
                store,
                tell,
            );
        }
        if words_of_type(self.module, value.type_of()).is_empty() {
            self.put(state, (region, start), None, None, store, tell);
        }
    }

    /// Stores or exchanges a value at an address that is not that of one word of local memory; `operands` are the places of both.
    fn store_elsewhere(&self, state: &mut State, at: Value, operands: (u32, u32), tell: &mut dyn FnMut(Event)) {
        let (value, address) = (at.operand(operands.0), at.operand(operands.1));
        let mut parts = self.parts_of(state, value).into_iter().map(|(_, facts)| facts);
        let Some(facts) = parts.find(Facts::is_whole_reference) else { return };
        for root in self.references.memory.chosen_roots(address) {
            self.put_in(state, root, Some(facts.clone()), self.number(value.base()), at, tell);
        }
        let to_object = self.facts_of(state, address).is_some();
        tell(Event::Stored { at, address, to_object, facts });
    }

    /// Stores a reference, or another value, to a word of local memory. `source` is the value that it came from.
    pub(super) fn put(
        &self,
        state: &mut State,
        (region, offset): (Value, Option<i64>),
        facts: Option<Facts>,
        source: Option<usize>,
        at: Value,
        tell: &mut dyn FnMut(Event),
    ) {
        if let Some(word) = self.references.memory.word(region, offset) {
            self.put_in(state, word, facts, source, at, tell);
        }
    }

    fn put_in(
        &self,
        state: &mut State,
        word: Word,
        facts: Option<Facts>,
        source: Option<usize>,
        at: Value,
        tell: &mut dyn FnMut(Event),
    ) {
        if word.kind == WordKind::Whole {
            for facts in state.values_mut() {
                facts.words.remove(word.number);
            }
            state.remove(&Carrier::Word(word.number));
        }
        let Some(mut facts) = facts else { return };
        let is_root = self.references.memory.is_root(word.number);
        if is_root && facts.derived && !facts.integer {
            return tell(Event::RootedInside { at });
        }
        if word.kind == WordKind::Array {
            // A reference that a root has held may leave the array before it leaves the root: this is not known.
            if !self.may_be_rooted(&facts) {
                let element = Carrier::Element(word.number, facts.origin);
                let before = state.remove(&element);
                state.extend(either(before, Some(facts)).map(|facts| (element, Facts { partial: false, ..facts })));
            }
            return;
        }
        facts.words.remove(word.number);
        // A carrier of the same reference shares a word with it, is the stored value, or was computed with it. A
        // reference that is one of several is rooted by a root that holds one of the same several.
        let is_copy = facts.integer || at.operand(0).type_of() != self.module.pointer() || facts.origins.len() > 1;
        for (carrier, other) in state.iter_mut() {
            let is_source = matches!((carrier, source), (Carrier::Value(of, 0), Some(source)) if *of == source);
            if is_source
                || is_copy && !other.origins.is_disjoint(&facts.origins)
                || !other.words.is_disjoint(&facts.words)
            {
                other.words.insert(word.number);
            }
        }
        if is_root {
            tell(Event::Rooted { origin: facts.origin });
            state.retain(|carrier, facts| !matches!(carrier, Carrier::Element(..)) || !self.may_be_rooted(facts));
        }
        facts.words.insert(word.number);
        state.insert(Carrier::Word(word.number), facts);
    }

    fn prepare_phis(&self, state: &mut State, block: Block) {
        for successor in block.successors() {
            for phi in successor.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
                let number = self.numbers[&phi];
                for (value, _) in phi.incoming().into_iter().filter(|(_, from)| *from == block) {
                    match self.facts_of(state, value) {
                        Some(facts) => _ = state.insert(Carrier::NextPhi(number), facts),
                        None => _ = state.remove(&Carrier::NextPhi(number)),
                    }
                }
            }
        }
    }
}

pub(super) fn remove_value(state: &mut State, number: usize) {
    let parts: Vec<Carrier> = state
        .range(Carrier::Value(number, i64::MIN)..=Carrier::Value(number, i64::MAX))
        .map(|(carrier, _)| *carrier)
        .collect();
    for part in parts {
        state.remove(&part);
    }
}

/// See [`Watch::last_uses`].
fn last_uses_at_home(places: &[Value], numbers: &HandleMap<Value, usize>) -> Vec<LastUses> {
    // The last use of each value; `None` if another block uses it, too.
    let mut last: Vec<Option<usize>> = (0..places.len()).map(Some).collect();
    for (number, user) in places.iter().enumerate().filter(|(_, place)| place.is_instruction()) {
        for base in user.operands().map(Value::base) {
            let Some(&used) = numbers.get(&base) else { continue };
            let at_home = base.is_instruction() && base.block() == user.block() && !user.is(Opcode::LLVMPHI);
            last[used] = if at_home { last[used].map(|_| number) } else { None };
        }
    }
    let mut by_place = vec![LastUses::new(); places.len()];
    for (number, place) in last.into_iter().enumerate().filter(|(number, _)| places[*number].is_instruction()) {
        if let Some(place) = place {
            by_place[place].push(number);
        }
    }
    by_place
}
