//! The place of an instruction for zeal's messages: file and line, or, in IR without debug information, its name and
//! block.
//!
//! Each place becomes a constant of the module (`tally_heap::zeal::Site`), one for each line of a function. Values
//! without a name are numbered by LLVM as it prints them, and renumbered whenever something is inserted; so they are
//! given their numbers as names before the lowering begins ([`name_values`]).

use super::fields;
use crate::llvm::{Builder, Value};
use std::collections::HashMap;

/// The places of one function.
pub(super) struct Sites {
    function: String,
    module: String,
    known: HashMap<Key, Value>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    file: String,
    line: u32,
    column: u32,
    instruction: String,
}

impl Sites {
    pub(super) fn of(function: Value, module_name: &str) -> Sites {
        Sites { function: function.name(), module: module_name.to_owned(), known: HashMap::new() }
    }

    /// The constant with the place of the instruction.
    pub(super) fn of_instruction(&mut self, builder: &Builder, instruction: Value) -> Value {
        let key = match instruction.debug_place() {
            Some(place) => Key { file: place.file, line: place.line, column: place.column, instruction: String::new() },
            None => Key { file: self.module.clone(), line: 0, column: 0, instruction: in_words(instruction) },
        };
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let site = constant(builder, &self.function, &key);
        self.known.insert(key, site);
        site
    }
}

/// `{ ptr function, ptr file, i32 line, i32 column, ptr instruction, ptr fields }`.
fn constant(builder: &Builder, function: &str, key: &Key) -> Value {
    let module = builder.module();
    let value = module.structure_constant(&[
        module.text_global(function),
        module.text_global(&key.file),
        builder.i32(u64::from(key.line)),
        builder.i32(u64::from(key.column)),
        if key.instruction.is_empty() { module.pointer().null() } else { module.text_global(&key.instruction) },
        module.global(fields::TABLE).unwrap_or_else(|| module.pointer().null()),
    ]);
    let global = module.add_global(".tally.site", value.type_of());
    global.set_initializer(value);
    global.set_global_constant();
    global.make_private();
    global
}

/// "%5 in block %entry"; an instruction without a result is named by its operation.
fn in_words(instruction: Value) -> String {
    let named = |value: Value| match value.name() {
        name if name.is_empty() => None,
        name => Some(format!("{}{name}", if value.is_function() || value.is_global_variable() { '@' } else { '%' })),
    };
    let what = named(instruction).or_else(|| {
        let call =
            instruction.as_call().and_then(|call| named(call.callee())).map(|callee| format!("the call of {callee}"));
        call.or_else(|| Some(format!("the store to {}", named(instruction.operands().last()?)?)))
    });
    let block = named(instruction.block().as_value()).map(|block| format!(" in block {block}"));
    what.unwrap_or_else(|| "an instruction".to_owned()) + &block.unwrap_or_default()
}

/// Gives the values and blocks of a function without lines the numbers as names that LLVM prints for them.
pub(in crate::lower) fn name_values(function: Value) {
    if function.instructions().into_iter().any(|instruction| instruction.debug_place().is_some()) {
        return;
    }
    let mut number = 0;
    let mut name = |value: Value| {
        if value.name().is_empty() {
            value.set_name(&format!("{number}"));
            number += 1;
        }
    };
    (0..function.parameter_count()).for_each(|index| name(function.parameter(index)));
    for block in function.blocks() {
        name(block.as_value());
        block.instructions().filter(|instruction| !instruction.type_of().is_void()).for_each(&mut name);
    }
}
