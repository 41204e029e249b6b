//! The references that managed functions pass to each other: as arguments, as results, and through pointers to
//! variables.
//!
//! Only calls in the module itself count. A parameter is a reference if a call in the module passes one; a word that
//! may also be a number is one only if every call does. Summaries only grow, so functions are analysed again until
//! nothing new is found.

use crate::llvm::{HandleSet, Type, TypeKind, Value};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The references that functions pass to each other.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    /// Calls that pass a reference as this parameter, or in its memory at this offset (`byval`).
    passed: HashMap<(Value, u32, Option<i64>), HashSet<Value>>,
    /// Parameters to which some call passes a reference that nothing else holds.
    born: HashSet<(Value, u32)>,
    /// Functions that return a reference at this offset of their result, and the fate of all objects there.
    returned: HashMap<(Value, i64), Option<Fate>>,
    finalizers: HashSet<Value>,
    /// The places to which functions store references: a parameter, and the offset from it.
    stored: HashMap<Value, BTreeSet<(u32, i64)>>,
}

/// Whether each of some objects lives for ever, or one of them may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Immortal,
    MayDie,
}

impl Summaries {
    /// Starts from functions that return references.
    pub(super) fn of(returning: &HandleSet<Value>) -> Summaries {
        let returned = returning.iter().map(|&function| ((function, 0), None)).collect();
        Summaries { returned, ..Summaries::default() }
    }

    /// Notes a call that passes a reference; returns whether that is new.
    pub(super) fn pass(&mut self, call: Value, callee: Value, parameter: u32, offset: Option<i64>) -> bool {
        self.passed.entry((callee, parameter, offset)).or_default().insert(call)
    }

    /// Notes that nothing else holds a passed reference; returns whether that is new.
    pub(super) fn bear(&mut self, callee: Value, parameter: u32) -> bool {
        self.born.insert((callee, parameter))
    }

    /// Notes that a finalizer gets an object that nothing else holds.
    pub(super) fn give_to_finalizer(&mut self, finalizer: Value) {
        self.finalizers.insert(finalizer);
        self.born.insert((finalizer, 0));
    }

    pub(super) fn is_finalizer(&self, function: Value) -> bool {
        self.finalizers.contains(&function)
    }

    pub(super) fn is_born(&self, function: Value, parameter: u32) -> bool {
        self.born.contains(&(function, parameter))
    }

    /// Notes a reference in a function's result; returns whether that is new.
    pub(super) fn give_back(&mut self, function: Value, offset: i64, immortal: bool) -> bool {
        let fate = Some(if immortal { Fate::Immortal } else { Fate::MayDie });
        let is_new = self.returned.get(&(function, offset)).is_none_or(|&known| known < fate);
        if is_new {
            self.returned.insert((function, offset), fate);
        }
        is_new
    }

    /// Whether the references at this offset of a function's results are all of objects that cannot die.
    pub(super) fn returns_immortal(&self, function: Value, offset: i64) -> bool {
        self.returned.get(&(function, offset)) == Some(&Some(Fate::Immortal))
    }

    pub(super) fn store(&mut self, function: Value, parameter: u32, offset: i64) -> bool {
        self.stored.entry(function).or_default().insert((parameter, offset))
    }

    pub(super) fn is_reference(&self, function: Value, parameter: u32) -> bool {
        if parameter == 0 && self.finalizers.contains(&function) {
            return true;
        }
        let Some(calls) = self.passed.get(&(function, parameter, None)) else { return false };
        let is_certain = function.parameter(parameter).type_of().is_pointer();
        is_certain || only_called(function) && function.users().count() == calls.len()
    }

    /// The offsets of references in the memory of a parameter that is passed by value.
    pub(super) fn references_in_memory(&self, function: Value, parameter: u32) -> Vec<i64> {
        let keys = self.passed.keys().filter(|key| key.0 == function && key.1 == parameter);
        let mut offsets: Vec<i64> = keys.filter_map(|key| key.2).collect();
        offsets.sort_unstable();
        offsets
    }

    /// The offsets of references in a function's result.
    pub(super) fn returns(&self, function: Value, offsets: &[i64]) -> Vec<i64> {
        offsets.iter().copied().filter(|&offset| self.returned.contains_key(&(function, offset))).collect()
    }

    pub(super) fn stores(&self, function: Value) -> impl Iterator<Item = (u32, i64)> {
        self.stored.get(&function).into_iter().flatten().copied()
    }
}

/// Whether all callers are known: the function is the module's own, and its address is not taken.
pub(super) fn only_called(function: Value) -> bool {
    function.is_internal()
        && function.users().all(|user| {
            user.as_call().is_some_and(|call| call.callee() == function && !call.arguments().contains(&function))
        })
}

/// Whether a word of this type may be something other than a pointer.
pub(super) fn is_integer(of: Type) -> bool {
    matches!(of.kind(), TypeKind::LLVMIntegerTypeKind | TypeKind::LLVMDoubleTypeKind)
}
