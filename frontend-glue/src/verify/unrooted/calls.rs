//! The effects of calls on references: their results, variables whose addresses are passed, and copies of memory.

use super::memory::words_of_type;
use super::state::{Carrier, Facts, State};
use super::summaries::is_integer;
use super::watch::{Event, Watch, remove_value};
use crate::analysis::callee::Callee;
use crate::llvm::Value;
use crate::llvm::call::Call;

/// Functions of the C library that permute the words of an array.
const SORTING: [&str; 4] = ["qsort", "qsort_r", "heapsort", "mergesort"];

/// The entry point that makes an object immortal.
const MAKE_IMMORTAL: &str = "tally_make_immortal";

impl Watch<'_> {
    pub(super) fn call(&self, state: &mut State, call: Call, number: usize, tell: &mut dyn FnMut(Event)) {
        match self.callees.of_call(call) {
            Callee::Copy => return self.copy(state, call, tell),
            Callee::Fill => return self.fill(state, call, tell),
            Callee::LifetimeStart | Callee::LifetimeEnd => {
                let memory = call.arguments().into_iter().find_map(|it| self.references.memory.place(it));
                if let Some((region, _)) = memory.filter(|(region, _)| !self.references.memory.is_root_region(*region))
                {
                    self.forget(state, region, |_| true);
                }
                return;
            }
            Callee::GcRoot => return,
            Callee::Ordinary if SORTING.contains(&call.callee().name().as_str()) => {
                self.overwritten(state, call, tell);
            }
            Callee::Runtime(_) if call.callee().name() == MAKE_IMMORTAL => self.shelter(state, call.argument(0)),
            _ => {}
        }
        self.variables(state, call, number, tell);
        let result = call.value();
        if let Some(argument) = call.returned_argument(self.returned) {
            // Valid until the next safepoint, as any result; then a root of the argument protects it.
            let parts = self.parts_of(state, argument);
            remove_value(state, number);
            for (offset, facts) in parts {
                state.insert(Carrier::Value(number, offset), Facts { stale: None, ..facts });
            }
            return;
        }
        let of = result.type_of();
        let returned = if self.references.is_reference(result) {
            vec![0]
        } else if of.is_void() {
            Vec::new()
        } else {
            self.summaries.returns(call.callee(), &words_of_type(self.module, of))
        };
        remove_value(state, number);
        for offset in returned {
            let sheltered = self.summaries.returns_immortal(call.callee(), offset);
            let facts = Facts { integer: is_integer(of), born: true, sheltered, ..Facts::from(number) };
            state.insert(Carrier::Value(number, offset), facts);
        }
    }

    /// Marks an immortal object as sheltered in all its carriers: it needs no root.
    fn shelter(&self, state: &mut State, object: Value) {
        let Some(immortal) = self.facts_of(state, object) else { return };
        for facts in state.values_mut() {
            facts.sheltered |=
                !facts.origins.is_disjoint(&immortal.origins) || !facts.words.is_disjoint(&immortal.words);
        }
    }

    /// Updates variables whose addresses are passed: they have the values that the callee left there.
    fn variables(&self, state: &mut State, call: Call, number: usize, tell: &mut dyn FnMut(Event)) {
        if call.callee().is_function() && call.callee().intrinsic_id() != 0 {
            return;
        }
        let by_value = call.arguments_by_value();
        for index in 0..call.argument_count() {
            let argument = call.argument(index);
            let Some((region, start)) = self.references.memory.place(argument) else { continue };
            let is_copied = by_value.iter().any(|(value, _)| *value == argument);
            if is_copied || self.references.memory.is_root_region(region) {
                continue;
            }
            self.forget(state, region, |_| true);
            for (_, offset) in self.summaries.stores(call.callee()).filter(|(parameter, _)| *parameter == index) {
                let offset = start.map(|start| start.wrapping_add(offset));
                self.put(state, (region, offset), Some(Facts::from(number)), None, call.value(), tell);
            }
        }
    }

    fn copy(&self, state: &mut State, call: Call, tell: &mut dyn FnMut(Event)) {
        let memory = &self.references.memory;
        let (to, from) = (memory.place(call.argument(0)), memory.place(call.argument(1)));
        let bytes = call.argument(2).constant_integer().map(|bytes| bytes as i64);
        let mut copied: Vec<(i64, Facts)> = Vec::new();
        if let Some((region, start)) = from {
            let start = start.unwrap_or(0);
            for (offset, word) in memory.words_of(region) {
                let behind = offset.wrapping_sub(start);
                if behind >= 0 && bytes.is_none_or(|bytes| behind < bytes) {
                    copied.extend(self.held(state, word.number, word.kind).map(|facts| (behind, facts)));
                }
            }
        }
        let Some((region, start)) = to else {
            let mut whole = copied.into_iter().map(|(_, facts)| facts).filter(Facts::is_whole_reference);
            if let Some(facts) = whole.next().map(|first| whole.find(|facts| facts.born).unwrap_or(first)) {
                let address = call.argument(0);
                let to_object = self.facts_of(state, address).is_some();
                return tell(Event::Stored { at: call.value(), address, to_object, facts });
            }
            return self.overwritten(state, call, tell);
        };
        if memory.is_root_region(region) {
            for (_, facts) in copied {
                self.put(state, (region, Some(0)), Some(facts), None, call.value(), tell);
            }
            return;
        }
        let (Some(start), Some(bytes)) = (start, bytes) else { return };
        self.forget(state, region, |offset| (start..start.saturating_add(bytes)).contains(&offset));
        for (behind, facts) in copied {
            self.put(state, (region, Some(start.wrapping_add(behind))), Some(facts), None, call.value(), tell);
        }
    }

    fn fill(&self, state: &mut State, call: Call, tell: &mut dyn FnMut(Event)) {
        let Some((region, start)) = self.references.memory.place(call.argument(0)) else {
            return self.overwritten(state, call, tell);
        };
        let bytes = call.argument(2).constant_integer().map(|bytes| bytes as i64);
        if let (Some(start), Some(bytes), false) = (start, bytes, self.references.memory.is_root_region(region)) {
            self.forget(state, region, |offset| (start..start.saturating_add(bytes)).contains(&offset));
        }
    }

    fn overwritten(&self, state: &State, call: Call, tell: &mut dyn FnMut(Event)) {
        let address = call.argument(0);
        if let Some(facts) = self.facts_of(state, address) {
            tell(Event::Overwritten { call: call.value(), address, is_aged_object: facts.aged });
        }
    }

    /// Forgets the words of a variable at these offsets.
    fn forget(&self, state: &mut State, region: Value, is_meant: impl Fn(i64) -> bool) {
        for (offset, word) in self.references.memory.words_of(region) {
            if !is_meant(offset) {
                continue;
            }
            state.remove(&Carrier::Word(word.number));
            state.retain(|carrier, facts| {
                facts.words.remove(word.number);
                !matches!(carrier, Carrier::Element(of, _) if *of == word.number)
            });
        }
    }
}
