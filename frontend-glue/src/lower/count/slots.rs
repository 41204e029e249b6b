//! The two kinds of root for counting: a slot of one reference that only this function reads and writes, or any
//! other.
//!
//! A **simple** slot holds one plain reference, and its address is not passed on: every change of its content is a
//! store in this function, so its count can be placed and moved by analysis. Any other root (aggregates, arrays,
//! tagged words, slots whose address is passed on) is **settled** at safepoints: a shadow of the slot has the counted
//! words, and is compared (`settle`). The meaning is the same: at a safepoint a root has counted its objects.

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::{Builder, HandleSet, Module, Opcode, Value};
use crate::lower::descriptor::RootWord;
use crate::lower::named_root::root_id;
use crate::lower::roots::Root;
use tally_compiled::module::record::{OWN_ROOT, SHADOW_ROOT};

/// Whether the root is one plain reference whose every access is a load or store of this function.
pub(super) fn is_simple(callees: &Callees, root: &Root) -> bool {
    root.how.is_none()
        && root.slot.allocated_type().is_plain_pointer()
        && root.bytes == 8
        && root.slot.users().all(|user| is_plain_access(callees, user, root.slot))
}

fn is_plain_access(callees: &Callees, user: Value, slot: Value) -> bool {
    match user.opcode() {
        Some(Opcode::LLVMLoad) => user.type_of().is_plain_pointer() && !user.is_volatile() && !user.is_atomic(),
        Some(Opcode::LLVMStore) => {
            user.operand(0) != slot
                && user.operand(0).type_of().is_plain_pointer()
                && !user.is_volatile()
                && !user.is_atomic()
        }
        Some(Opcode::LLVMCall) => user
            .as_call()
            .is_some_and(|call| matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd)),
        _ => false,
    }
}

/// References of a root that compiled code settles, at most; a root of more is left to the runtime.
const COMPILED_REFERENCES: usize = 32;

/// How to read a root that compiled code can settle: some references, plain or told by the masks of its descriptor.
pub(super) fn known_words(module: Module, root: &Root) -> Option<Vec<RootWord>> {
    match root.how {
        Some(how) => RootWord::all_of_type(module, how, root.bytes).filter(|words| words.len() <= COMPILED_REFERENCES),
        None if root.bytes == 8 => Some(vec![RootWord::PLAIN]),
        None => None,
    }
}

/// Makes a simple root null at the function's entry. The lowering has done so before, but a loop made of tail
/// recursion begins after the entry block and has taken the store along: without this it would release a word that
/// was never stored.
pub(super) fn begin_as_null(builder: &Builder, function: Value, root: &Root) {
    let entry = function.entry();
    let is_store = |value: Value| value.is(Opcode::LLVMStore) && value.operand(1) == root.slot;
    if !entry.instructions().any(is_store) {
        builder.before_unlocated(entry.behind_allocas());
        builder.store(builder.module().pointer().null(), root.slot);
    }
}

/// Whether other functions may have the root's address, and write to it.
pub(in crate::lower) fn is_address_taken(callees: &Callees, root: &Root) -> bool {
    !stays_within(root.slot, |user, _| tells_nobody(callees, user).then(Vec::new))
}

/// Whether an instruction that gets the address of a root is a call that the lowering knows; of an invoke it knows nothing.
fn tells_nobody(callees: &Callees, user: Value) -> bool {
    user.is(Opcode::LLVMCall) && user.as_call().is_some_and(|call| is_told_nobody(callees.of_call(call)))
}

/// Where the address of a root goes.
pub(super) struct Ways {
    /// The instructions that pass it on, to where somebody may write to it.
    pub(super) passed_on: Vec<Value>,
    /// The values that are the address, or lead into the root.
    pub(super) addresses: HandleSet<Value>,
}

impl Ways {
    pub(super) fn of(callees: &Callees, slot: Value) -> Ways {
        let mut passed_on = Vec::new();
        let goes_on = |user: Value, _| {
            if !tells_nobody(callees, user) {
                passed_on.push(user);
            }
            Some(Vec::new())
        };
        let addresses = addresses_within(slot, goes_on).expect("each goes on somewhere");
        Ways { passed_on, addresses }
    }
}

/// Whether an address is loaded from, stored to and compared, and goes nowhere but where `goes_on` knows it: the values that are the address
/// behind an instruction that does something else with it; `None` for what nobody knows.
pub(super) fn stays_within(slot: Value, goes_on: impl FnMut(Value, Value) -> Option<Vec<Value>>) -> bool {
    addresses_within(slot, goes_on).is_some()
}

fn addresses_within(
    slot: Value,
    mut goes_on: impl FnMut(Value, Value) -> Option<Vec<Value>>,
) -> Option<HandleSet<Value>> {
    let (mut seen, mut queue) = (HandleSet::default(), vec![slot]);
    while let Some(address) = queue.pop() {
        if !seen.insert(address) {
            continue;
        }
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => {}
                Some(Opcode::LLVMStore) if user.operand(0) != address => {}
                Some(
                    Opcode::LLVMGetElementPtr
                    | Opcode::LLVMBitCast
                    | Opcode::LLVMPHI
                    | Opcode::LLVMSelect
                    | Opcode::LLVMFreeze,
                ) => queue.push(user),
                _ => match goes_on(user, address) {
                    Some(addresses) => queue.extend(addresses),
                    None => return None,
                },
            }
        }
    }
    Some(seen)
}

/// Whether the lowering knows the call, and the address of a root may be passed to it.
pub(super) fn is_told_nobody(callee: Callee) -> bool {
    matches!(callee, Callee::GcRoot | Callee::LifetimeStart | Callee::LifetimeEnd | Callee::Fill | Callee::Copy)
}

/// A new root of `function`: an empty slot at the top of its entry block.
pub(super) fn add_hidden(builder: &Builder, identity: &str, function: Value, number: usize) -> Root {
    let name = format!("{OWN_ROOT}argument.{number}");
    let pointer = builder.module().pointer();
    let slot = builder.alloca_at_entry(function, pointer, &name);
    builder.before_unlocated(function.entry().behind_allocas());
    builder.store(pointer.null(), slot);
    let id = root_id(identity, &function.name(), &name, number);
    Root { slot, how: None, bytes: 8, id, name, place: None, inferred: false }
}

/// The shadow of a root that is settled: the words whose objects are counted for it.
pub(super) fn add_shadow(builder: &Builder, identity: &str, function: Value, root: &Root) -> Root {
    let name = format!("{SHADOW_ROOT}{}", root.name);
    let words = root.bytes.div_ceil(8);
    let slot = builder.alloca_at_entry(function, builder.module().integer(64).array(words), &name);
    builder.before_unlocated(function.entry().behind_allocas());
    builder.clear(slot, words * 8, 8);
    let id = root_id(identity, &function.name(), &name, usize::MAX);
    Root { slot, how: root.how, bytes: words * 8, id, name, place: None, inferred: false }
}
