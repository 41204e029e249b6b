//! Functions that settle a root: called for roots of more references than four, and by functions that settle others at many places.
//!
//! ```text
//!   define internal void @tally.settle.N(ptr %slot, ptr %shadow) noinline nounwind
//!   define internal void @tally.unsettle.N(ptr %shadow) noinline nounwind
//! ```
//!
//! Each has the code that `recount_root` would put in place, once for all roots of the same references. They change
//! counts, shadows and nothing else, and never stop, so they are in no stack map. An unchanged root costs the call, three instructions a word and
//! the return. As a rule a safepoint follows, across which no register is kept that a call may change: so these may be changed here, and
//! nothing has to be saved.
//!
//! Without this `sqlite3VdbeExec` with every pointer a root became a million lines: 16,600 words are settled there.

use super::expand::Expansion;
use super::operation::{Operation, Operations};
use crate::analysis::callee::LEAF;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Type, Value, Visibility};
use crate::lower::descriptor::RootWord;
use crate::lower::walkable;
use std::collections::{BTreeMap, HashMap};

/// References of a root that inline code settles, at most.
const INLINE_REFERENCES: usize = 4;
/// References that the inline code of one function settles, at most.
const INLINE_WORDS: usize = 64;

/// The functions of one module, by what they settle.
#[derive(Debug, Default)]
pub(super) struct Recounts(HashMap<(Vec<RootWord>, bool), Value>);

/// The two of one root.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecountCalls {
    settle: Value,
    unsettle: Value,
}

/// The roots for which a function, whose operations are in place, calls others, and their references: roots of many, and all if those of
/// few are settled at many places.
pub(super) fn called<'a>(
    operations: &Operations,
    function: Value,
    words: &'a [Option<Vec<RootWord>>],
) -> BTreeMap<usize, &'a [RootWord]> {
    let is_settling = |call: &Call| matches!(operations.of_call(*call), Some(Operation::Settle | Operation::Unsettle));
    let settled = function.calls().filter(is_settling).map(root_of);
    let settled: Vec<(usize, &[RootWord])> = settled.filter_map(|root| Some((root, words[root].as_deref()?))).collect();
    let is_small = |words: &[RootWord]| words.len() <= INLINE_REFERENCES;
    let inline: usize = settled.iter().filter(|(_, words)| is_small(words)).map(|(_, words)| words.len()).sum();
    settled.into_iter().filter(|(_, words)| inline > INLINE_WORDS || !is_small(words)).collect()
}

/// The number of the root that an operation settles.
pub(super) fn root_of(operation: Call) -> usize {
    operation.argument(0).constant_integer().expect("a root's number") as usize
}

impl Recounts {
    /// The functions for roots of such references; they are made for the first.
    pub(super) fn of(&mut self, expansion: &Expansion, words: &[RootWord]) -> RecountCalls {
        let mut one = |leave: bool| {
            let number = self.0.len();
            let made = self.0.entry((words.to_vec(), leave));
            *made.or_insert_with(|| define(expansion, words, leave, number))
        };
        RecountCalls { settle: one(false), unsettle: one(true) }
    }
}

fn define(expansion: &Expansion, words: &[RootWord], leave: bool, number: usize) -> Value {
    let module = expansion.builder.module();
    let (verb, parameters) = if leave { ("unsettle", 1) } else { ("settle", 2) };
    let of = Type::function(module.void(), &vec![module.pointer(); parameters], false);
    let function = module.add_function(&format!("tally.{verb}.{number}"), of);
    function.set_visibility(Visibility::Internal);
    for attribute in ["noinline", "nounwind"] {
        function.set_attribute(attribute, 0);
    }
    function.set_string_attribute(LEAF, "");
    walkable::make_walkable(function, None);
    let builder = Builder::new(module);
    builder.at_end(function.append_block(""), None);
    let end = builder.return_value(None);
    for &word in words {
        match leave {
            true => expansion.release_shadow(end, function.parameter(0), word),
            false => expansion.settle_word(end, function.parameter(0), function.parameter(1), word),
        }
    }
    function
}

impl RecountCalls {
    /// Puts the call in front of `place`.
    pub(super) fn call(self, builder: &Builder, place: Value, leave: bool, slot: Value, shadow: Value) {
        builder.before(place);
        let (function, arguments) =
            if leave { (self.unsettle, vec![shadow]) } else { (self.settle, vec![slot, shadow]) };
        builder.call(function.value_type(), function, &arguments);
    }
}
