//! LLVM's appending arrays: `llvm.global_ctors`, `llvm.global_dtors` and `llvm.used`, in any form that a frontend
//! gave them.
//!
//! LLVM's verifier accepts many forms: elements of a named or packed struct, data in another address space, a list
//! that is `zeroinitializer` or `undef`, elements without a function or without a number as priority. LLVM's code
//! generator skips elements that it cannot run, but passes of LLVM crash at some of them, and one array can hold one
//! type only. So an array that is appended to, or optimised, is rebuilt in the plain form, without the elements that
//! would never run.

use crate::llvm::{Module, Type, Value};

/// The lists of functions that run by themselves.
const STRUCTORS: [&str; 2] = ["llvm.global_ctors", "llvm.global_dtors"];

/// The least priority: of the functions that register modules.
const FIRST: u64 = 0;

/// Puts `function` before all others in `llvm.global_ctors` or `llvm.global_dtors`, of this module and of others: its priority is
/// 0, and those of the module that had that priority get 1. Otherwise one of them could call a function of a module that is linked
/// after this one and not registered yet: its types had no ids, and its frames were not known.
pub(crate) fn prepend_structor(module: Module, name: &str, function: Value) {
    let number = |priority| module.integer(32).constant(priority);
    let later = |element: Value| match [0, 1, 2].map(|index| element.constant_member(index)) {
        [Some(priority), Some(function), Some(data)] if priority.constant_integer() == Some(FIRST) => {
            module.structure_constant(&[number(FIRST + 1), function, data])
        }
        _ => element,
    };
    let mut all: Vec<Value> = structors(module, name).into_iter().map(later).collect();
    all.insert(0, module.structure_constant(&[number(FIRST), function, module.pointer().null()]));
    replace(module, name, structor(module), &all);
}

/// Puts `function` behind the others of the module in such a list, with the priority 0 of those that register modules.
pub(crate) fn append_to_first(module: Module, name: &str, function: Value) {
    let mut all = structors(module, name);
    let first = module.integer(32).constant(FIRST);
    all.push(module.structure_constant(&[first, function, module.pointer().null()]));
    replace(module, name, structor(module), &all);
}

/// Whether `function` is one of those that run before `main`.
pub(crate) fn is_constructor(module: Module, function: Value) -> bool {
    let list = members(module.global("llvm.global_ctors").and_then(Value::initializer));
    list.into_iter().any(|element| element.constant_member(1) == Some(function))
}

/// Appends `global` to `llvm.used`.
pub(crate) fn append_used(module: Module, global: Value) {
    const USED: &str = "llvm.used";
    let old = module.global(USED).and_then(Value::initializer);
    let mut all: Vec<Value> = members(old).into_iter().map(|member| plain_address(module, member)).collect();
    all.push(global);
    replace(module, USED, module.pointer(), &all).set_section("llvm.metadata");
}

/// Removes globals from the lists of those that must be kept.
pub(crate) fn remove_used(module: Module, removed: &[Value]) {
    for name in ["llvm.used", "llvm.compiler.used"] {
        let Some(list) = module.global(name) else { continue };
        let mut all = members(list.initializer());
        let before = all.len();
        all.retain(|member| !removed.contains(&member.base()));
        if all.is_empty() {
            module.delete_global(list);
        } else if all.len() < before {
            let all: Vec<Value> = all.into_iter().map(|member| plain_address(module, member)).collect();
            replace(module, name, module.pointer(), &all).set_section("llvm.metadata");
        }
    }
}

/// Gives both lists of functions the form that every pass of LLVM understands.
pub(crate) fn tidy_structors(module: Module) {
    for name in STRUCTORS {
        if module.global(name).is_some_and(|list| list.initializer().is_some()) {
            let runnable = structors(module, name);
            replace(module, name, structor(module), &runnable);
        }
    }
}

/// `{ i32 priority, ptr function, ptr data }`
fn structor(module: Module) -> Type {
    module.structure(&[module.integer(32), module.pointer(), module.pointer()])
}

/// The elements of a list that a code generator runs.
fn structors(module: Module, name: &str) -> Vec<Value> {
    let runnable = |element: Value| {
        let [priority, function, data] = [0, 1, 2].map(|index| element.constant_member(index));
        let (priority, function) = (priority?, function?);
        let runs = priority.constant_integer().is_some() && !function.is_null() && !function.is_undef();
        let data = data.map_or_else(|| module.pointer().null(), |data| plain_address(module, data));
        runs.then(|| module.structure_constant(&[priority, function, data]))
    };
    members(module.global(name).and_then(Value::initializer)).into_iter().filter_map(runnable).collect()
}

/// The members of an array; none if it is all zeros or undefined: such an array may have any length.
fn members(array: Option<Value>) -> Vec<Value> {
    let array = array.filter(|array| !array.is_null() && !array.is_undef());
    array.map_or_else(Vec::new, |array| (0..).map_while(|index| array.constant_member(index)).collect())
}

fn plain_address(module: Module, address: Value) -> Value {
    if address.type_of().is_plain_pointer() { address } else { address.constant_cast_of_space(module.pointer()) }
}

/// Puts an array of these elements in the place of the old one, if there was one.
fn replace(module: Module, name: &str, element: Type, elements: &[Value]) -> Value {
    if let Some(old) = module.global(name) {
        module.delete_global(old);
    }
    let list = module.array_constant(element, elements);
    let global = module.add_global(name, list.type_of());
    global.set_initializer(list);
    global.make_appending();
    global
}
