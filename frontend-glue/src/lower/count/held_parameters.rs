//! Held parameters: references that every caller's root holds for as long as the call lasts, so that the callee's root is none.
//!
//! ```text
//!   static void move_disks(Piles *piles, …) { TALLY_ROOT(piles);  … move_disks(piles, …); … }
//! ```
//!
//! A root that holds nothing but such a parameter counts an object that a root below it on the stack counts already. It is replaced by
//! the parameter: it costs no count, no word of the frame and no place in the stack map.
//!
//! The argument of a call is *held* if it is null, a held parameter of the caller, or the content of a root of the caller that is only
//! loaded and stored. At a safepoint such a root owns what it holds (`balance` checks it), and keeps it until the call returns: no
//! other code can write to it. A guaranteed tail call ends the caller's frame first, so there only a held parameter is held.
//! A parameter is held if its function is internal, only called, by managed functions, and each call holds its argument: the largest such set.
//!
//! What a program sees is the same: the object could not die before the call returned, and the caller's root decides when it
//! does. Functions that call `setjmp` neither have held parameters nor hold any: their roots are read again all the time. (In Swift's
//! words these parameters are *guaranteed*.)

use super::facts::{Effect, Facts};
use super::slots;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::{Direction, Flow, solve_in_rounds};
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};
use crate::lower::roots::Root;

/// Rounds after which nothing is said of a function.
const ROUNDS_MAX: usize = 32;

/// The functions of a module with their roots, and what those hold where.
struct Contents {
    /// Loads of roots whose content is known, and that content; phis that are always the same parameter, and that one.
    same: HandleMap<Value, Value>,
    /// At each call the values that roots hold.
    at_calls: HandleMap<Call, Vec<Value>>,
}

/// Finds the held parameters, and replaces the roots that hold nothing else.
pub(super) fn replace_roots(
    callees: &Callees,
    facts: &Facts,
    managed: &HandleSet<Value>,
    rooted: &mut [(Value, Vec<Root>)],
) -> HandleSet<Value> {
    let is_candidate = |&(function, _): &&(Value, Vec<Root>)| may_be_held(callees, facts, managed, *function);
    let candidates: Vec<Value> = rooted.iter().filter(is_candidate).map(|&(function, _)| function).collect();
    let mut held: HandleSet<Value> = candidates.iter().copied().flat_map(references).collect();
    if held.is_empty() {
        return held;
    }
    let contents: HandleMap<Value, Contents> =
        rooted.iter().map(|(function, roots)| (*function, contents(callees, *function, roots))).collect();
    let mut queue = candidates;
    while let Some(function) = queue.pop() {
        let calls = || function.users().filter_map(Value::as_call);
        let is_open = |parameter: &Value| {
            let place = parameter.parameter_index().expect("a parameter") as usize;
            !calls().all(|call| is_held(&held, &contents[&call.value().function()], call, place))
        };
        let open: Vec<Value> = references(function).filter(|it| held.contains(it)).filter(is_open).collect();
        if !open.is_empty() {
            open.iter().for_each(|parameter| _ = held.remove(parameter));
            // What it passes on is not held by it any more.
            let callees_of = function.calls().map(Call::callee);
            queue.extend(callees_of.filter(|callee| managed.contains(callee)));
        }
    }
    for (function, roots) in rooted.iter_mut() {
        let same = &contents[function].same;
        if roots.is_empty() {
            continue;
        }
        for (phi, parameter) in same.iter().filter(|(value, known)| value.is(Opcode::LLVMPHI) && held.contains(known)) {
            phi.replace_all_uses(*parameter);
        }
        roots.retain(|root| !is_replaced(callees, &held, same, root));
    }
    held
}

fn may_be_held(callees: &Callees, facts: &Facts, managed: &HandleSet<Value>, function: Value) -> bool {
    let holds = |call: Call| call.is_musttail() || facts.effect(callees, call) == Effect::Safepoint;
    let is_only_called = |user: Value| {
        let call = user.as_call().filter(|call| call.callee() == function && managed.contains(&user.function()));
        call.is_some_and(|call| holds(call) && call.arguments().iter().all(|&argument| argument != function))
    };
    function.is_internal()
        && !function.may_be_replaced()
        && !function.calls().any(|call| callees.returns_twice(call))
        && function.users().all(is_only_called)
}

/// The parameters of a function that may be references.
fn references(function: Value) -> impl Iterator<Item = Value> {
    const OTHERS: [&str; 7] = ["byval", "sret", "byref", "inalloca", "preallocated", "swifterror", "nest"];
    let parameters = (0..function.parameter_count()).map(move |index| function.parameter(index));
    parameters.filter(|it| it.type_of().is_plain_pointer() && !OTHERS.iter().any(|other| it.is_parameter_with(other)))
}

fn is_held(held: &HandleSet<Value>, contents: &Contents, call: Call, place: usize) -> bool {
    let Some(&argument) = call.arguments().get(place) else { return false };
    let value = contents.same.get(&argument).copied().unwrap_or(argument);
    let in_root = || !call.is_musttail() && contents.at_calls.get(&call).is_some_and(|held| held.contains(&value));
    value.is_null() || held.contains(&value) || in_root()
}

/// What the roots of a function hold, which are only loaded and stored.
fn contents(callees: &Callees, function: Value, roots: &[Root]) -> Contents {
    let nothing = || Contents { same: HandleMap::default(), at_calls: HandleMap::default() };
    let simple: HandleMap<Value, usize> =
        roots.iter().filter(|root| slots::is_simple(callees, root)).map(|root| root.slot).zip(0..).collect();
    if simple.is_empty() || function.calls().any(|call| callees.returns_twice(call)) {
        return nothing();
    }
    let flow = Flow::of(function);
    let mut contents = nothing();
    let found = solve_in_rounds(ROUNDS_MAX, |known| {
        contents = nothing();
        let entry: Vec<Option<Value>> = vec![None; simple.len()];
        let merge = |into: &mut Vec<Option<Value>>, from: &Vec<Option<Value>>| {
            into.iter_mut().zip(from).for_each(|(mine, theirs)| *mine = mine.filter(|_| *mine == *theirs));
        };
        flow.solve(Direction::Forward, &entry, merge, |block, mut state| {
            flow.blocks[block].instructions().for_each(|it| contents.pass(&simple, known, &mut state, it));
            state
        });
        contents.note_phis(&flow, known);
        contents.same.clone()
    });
    if found.is_some() { contents } else { nothing() }
}

impl Contents {
    /// The parameter that all values of a phi are, but for itself.
    fn one_parameter(known: &HandleMap<Value, Value>, phi: Value) -> Option<Value> {
        let values = phi.incoming().into_iter().map(|(value, _)| known.get(&value).copied().unwrap_or(value));
        let mut others = values.filter(|&value| value != phi);
        let first = others.next().filter(|value| value.is_argument())?;
        others.all(|value| value == first).then_some(first)
    }

    /// Recursion that became a loop hands the parameter to itself.
    fn note_phis(&mut self, flow: &Flow, known: &HandleMap<Value, Value>) {
        let phis = flow.blocks.iter().flat_map(|block| block.instructions()).filter(|it| it.is(Opcode::LLVMPHI));
        for phi in phis {
            if let Some(parameter) = Self::one_parameter(known, phi) {
                self.same.insert(phi, parameter);
            }
        }
    }

    fn pass(
        &mut self,
        simple: &HandleMap<Value, usize>,
        known: &HandleMap<Value, Value>,
        state: &mut [Option<Value>],
        instruction: Value,
    ) {
        match instruction.opcode() {
            Some(Opcode::LLVMStore) => {
                if let Some(&slot) = simple.get(&instruction.operand(1)) {
                    let value = instruction.operand(0);
                    state[slot] = Some(known.get(&value).copied().unwrap_or(value));
                }
            }
            Some(Opcode::LLVMLoad) => {
                if let Some(&slot) = simple.get(&instruction.operand(0)) {
                    match state[slot] {
                        Some(content) => _ = self.same.insert(instruction, content),
                        None => {
                            self.same.remove(&instruction);
                            state[slot] = Some(instruction);
                        }
                    }
                }
            }
            _ => {
                if let Some(call) = instruction.as_call() {
                    self.at_calls.insert(call, state.iter().copied().flatten().collect());
                }
            }
        }
    }
}

/// Replaces the root if it holds held parameters and null alone, and each load of it is known to yield such a parameter.
fn is_replaced(callees: &Callees, held: &HandleSet<Value>, same: &HandleMap<Value, Value>, root: &Root) -> bool {
    let is_known = |value: Value| {
        let value = same.get(&value).copied().unwrap_or(value);
        value.is_null() || held.contains(&value)
    };
    let users: Vec<Value> = root.slot.users().collect();
    let fits = |user: &Value| match user.opcode() {
        Some(Opcode::LLVMStore) => is_known(user.operand(0)),
        Some(Opcode::LLVMLoad) => same.contains_key(user) && is_known(*user),
        _ => user
            .as_call()
            .is_some_and(|call| matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd)),
    };
    let holds_one = users.iter().any(|user| user.is(Opcode::LLVMStore) && held.contains(&user.operand(0)));
    if !(holds_one && slots::is_simple(callees, root) && users.iter().all(fits)) {
        return false;
    }
    for user in users {
        if user.is(Opcode::LLVMLoad) {
            user.replace_all_uses(same[&user]);
        }
        user.erase();
    }
    root.slot.erase();
    true
}
