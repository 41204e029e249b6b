//! The sources of a value, as far as its function shows them: the allocations, variables or other values that it may
//! be, each with the distance from it.
//!
//! Address arithmetic, casts, phis, selects, and local variables that only ever hold one value are followed:
//! unoptimised code keeps all its values in such variables. The errors of `writes.rs` and `raw_stores.rs` use these
//! sources.

use super::certain;
use crate::analysis::callee::{Callee, Callees, runtime_symbol};
use crate::llvm::call::Call;
use crate::llvm::{Module, Opcode, Value};
use smallvec::{SmallVec, smallvec};
use tally_compiled::symbols::RuntimeSymbol;

/// Values made of more than this are not followed.
const MOST_STEPS: usize = 64;

/// Nor are variables with more users.
const MOST_USERS: usize = 1000;

/// A value that another may be, and the distance from it; `None` if that is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) value: Value,
    pub(super) offset: Option<i64>,
}

type Steps = SmallVec<[Source; 4]>;

/// Whether a variable counts as holding its one value if it may still, or again, be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// For objects: an access of null does not come back.
    Ignored,
    /// For stored values: null is another value.
    Told,
}

/// All sources of `value`; empty if they are too many to follow.
pub(super) fn sources(module: Module, value: Value, nulls: Nulls) -> Vec<Source> {
    // Few as a rule, and never many: a linear search.
    let mut known: Steps = Steps::new();
    let mut found: Vec<Source> = Vec::new();
    let mut pending = Steps::from_slice(&[Source { value, offset: Some(0) }]);
    while let Some(Source { value, mut offset }) = pending.pop() {
        match known.iter_mut().find(|source| source.value == value) {
            None => known.push(Source { value, offset }),
            Some(before) if before.offset == offset || before.offset.is_none() => continue,
            // A value that leads to itself at another distance has no fixed one.
            Some(before) => (offset, before.offset) = (None, None),
        }
        if known.len() > MOST_STEPS {
            return Vec::new();
        }
        let before = steps(module, value, offset, nulls);
        if before.is_empty() {
            found.retain(|source| source.value != value);
            found.push(Source { value, offset });
        }
        pending.extend(before);
    }
    found
}

/// The operands from which one instruction makes its value; empty if the value is a source.
fn steps(module: Module, value: Value, offset: Option<i64>, nulls: Nulls) -> Steps {
    let same = |value| smallvec![Source { value, offset }];
    match value.opcode() {
        Some(Opcode::LLVMGetElementPtr) => {
            let offset = offset.zip(value.own_offset(module)).and_then(|(sum, more)| sum.checked_add(more));
            smallvec![Source { value: value.operand(0), offset }]
        }
        Some(
            Opcode::LLVMBitCast
            | Opcode::LLVMAddrSpaceCast
            | Opcode::LLVMFreeze
            | Opcode::LLVMPtrToInt
            | Opcode::LLVMIntToPtr,
        ) => same(value.operand(0)),
        Some(Opcode::LLVMPHI) => value.incoming().into_iter().map(|(value, _)| Source { value, offset }).collect(),
        Some(Opcode::LLVMSelect) => {
            [value.operand(1), value.operand(2)].map(|value| Source { value, offset }).into_iter().collect()
        }
        Some(Opcode::LLVMLoad) => only_content(value, nulls).map_or_else(Steps::new, same),
        _ => Steps::new(),
    }
}

/// The only value, except null, that is ever stored to the loaded local variable; `None` if other code may fill it.
fn only_content(load: Value, nulls: Nulls) -> Option<Value> {
    let variable = load.operand(0);
    if !variable.is(Opcode::LLVMAlloca) {
        return None;
    }
    let (mut content, mut stores) = (None, Vec::new());
    for (number, user) in variable.users().enumerate() {
        match user.opcode() {
            _ if number == MOST_USERS => return None,
            Some(Opcode::LLVMLoad) => {}
            Some(Opcode::LLVMStore) if user.operand(1) == variable && user.operand(0) != variable => {
                let stored = user.operand(0);
                if !stored.is_null() && content.replace(stored).is_some_and(|other| other != stored) {
                    return None;
                }
                stores.push(user);
            }
            Some(Opcode::LLVMCall) if is_marker(user) => {}
            _ => return None,
        }
    }
    let content = content?;
    let (of_null, of_content): (Vec<Value>, Vec<Value>) = stores.into_iter().partition(|it| it.operand(0).is_null());
    let is_filled = || match of_content[..] {
        [store] => certain::dominates(store, load) && !of_null.iter().any(|&null| certain::is_reachable(store, null)),
        _ => false,
    };
    (nulls == Nulls::Ignored || is_filled()).then_some(content)
}

/// Whether this is a call that does nothing when the program runs.
pub(super) fn is_marker(user: Value) -> bool {
    let name = user.as_call().map(|call| call.callee().name()).unwrap_or_default();
    name == "llvm.gcroot" || name.starts_with("llvm.lifetime.") || name.starts_with("llvm.dbg.")
}

/// The call that makes an object, and the descriptor if one is passed.
pub(super) fn allocation(callees: &Callees, value: Value) -> Option<(Call, Option<Value>)> {
    let call = value.as_call()?;
    match callees.of_call(call) {
        Callee::New | Callee::NewArray => Some((call, Some(call.argument(0)))),
        Callee::Runtime(_) => {
            let name = call.callee().name();
            let symbol = runtime_symbol(&name).filter(|symbol| symbol.allocates() && symbol.returns_reference())?;
            Some((call, makes_what_is_described(symbol).then(|| call.argument(0))))
        }
        _ => None,
    }
}

/// Whether the first argument is the type's descriptor.
fn makes_what_is_described(symbol: &RuntimeSymbol) -> bool {
    symbol.name.starts_with("tally_try_new")
}
