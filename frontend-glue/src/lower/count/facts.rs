//! What is known of a module's functions: which release nothing, and which hand the count of their result over.
//!
//! A function is **quiet** if nothing can die while it runs: it writes no reference, allocates nothing, and calls only what
//! is quiet. A reference that somebody holds when it is called is still held when it returns, so neither its parameters
//! nor its caller's roots need a count for it. (In Swift's words, its arguments are *guaranteed*; here the guarantee is
//! found, not declared.)
//!
//! A function has an **owned result** if everything that it returns is known to be a reference or null, and something of
//! that came with a count. By the IR contract a returned reference is valid until the caller's next safepoint, and no
//! more; within a module a count can go along with it. Callers elsewhere get the contract: a wrapper of the old name
//! lets the count go, so that the object, if that was the last, waits on the pending list for the caller to root it.

use super::Patterns;
use crate::callee::{Callee, Callees};
use crate::llvm::call::{AttributeKind, Call};
use crate::llvm::{Builder, HandleSet, Module, Opcode, Value, Visibility};
use rc_runtime::symbols::CallKind;

/// See the file's first lines.
#[derive(Debug, Default)]
pub(super) struct Facts {
    quiet: HandleSet<Value>,
    owned_results: HandleSet<Value>,
    managed: HandleSet<Value>,
}

impl Facts {
    /// Finds the facts; functions with an owned result that others may call get a wrapper, which is managed, too.
    pub(super) fn of(builder: &Builder, callees: &Callees, managed: &mut Vec<Value>, patterns: Patterns) -> Facts {
        let module = builder.module();
        let mut facts = Facts { managed: managed.iter().copied().collect(), ..Facts::default() };
        if patterns.quiet_calls {
            facts.quiet = quiet_functions(callees, module);
        }
        if patterns.owned_results {
            facts.owned_results = owned_results(callees, managed);
            for function in managed.clone() {
                if facts.owned_results.contains(&function) && is_called_from_elsewhere(function, &facts.managed) {
                    let wrapper = wrap(builder, function, &facts.managed);
                    facts.managed.insert(wrapper);
                    managed.push(wrapper);
                }
            }
        }
        facts
    }

    /// Whether roots must have settled their counts before the call: it may release objects, or unwind.
    pub(super) fn settles(&self, callees: &Callees, call: Call) -> bool {
        match callees.of_call(call) {
            Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint) => true,
            Callee::Ordinary => !self.is_quiet(call) && (callees.is_safepoint(call) || may_unwind(call)),
            _ => false,
        }
    }

    /// Whether nothing can die during the call.
    pub(super) fn is_quiet(&self, call: Call) -> bool {
        self.quiet.contains(&call.callee()) || never_calls_back(call)
    }

    /// Whether a count comes with the result of the call.
    pub(super) fn hands_over(&self, callees: &Callees, call: Call) -> bool {
        matches!(callees.of_call(call), Callee::New | Callee::NewArray) || self.has_owned_result(call.callee())
    }

    /// Whether the function's callers get a count with its result.
    pub(super) fn has_owned_result(&self, function: Value) -> bool {
        self.owned_results.contains(&function)
    }

    /// Whether objects without a reference may be waiting for a drain after the call.
    pub(super) fn leaves_pending(&self, callees: &Callees, call: Call) -> bool {
        match callees.of_call(call) {
            Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint) => false,
            Callee::Ordinary => {
                let drains_itself = self.managed.contains(&call.callee()) && !call.callee().may_be_replaced();
                let result = call.function_type().return_type();
                !drains_itself || !(result.is_void() || self.has_owned_result(call.callee()))
            }
            _ => true,
        }
    }
}

fn never_calls_back(call: Call) -> bool {
    call.has_attribute(AttributeKind::named("nocallback")) && !may_unwind(call)
}

/// Whether an exception may come out of the call.
pub(super) fn may_unwind(call: Call) -> bool {
    !call.has_attribute(AttributeKind::named("nounwind"))
}

fn quiet_functions(callees: &Callees, module: Module) -> HandleSet<Value> {
    let bodies = || module.functions().filter(|function| function.has_body());
    let mut quiet: HandleSet<Value> = bodies().filter(|function| !function.may_be_replaced()).collect();
    let mut loud: Vec<Value> = bodies().filter(|&function| !quiet.contains(&function) || is_loud(callees, &quiet, function)).collect();
    while let Some(function) = loud.pop() {
        quiet.remove(&function);
        let callers = function.users().filter_map(Value::as_call).map(|call| call.value().function());
        loud.extend(callers.filter(|caller| quiet.contains(caller)));
        for caller in loud.iter() {
            quiet.remove(caller);
        }
    }
    quiet
}

fn is_loud(callees: &Callees, quiet: &HandleSet<Value>, function: Value) -> bool {
    function.calls().any(|call| match callees.of_call(call) {
        Callee::Ordinary => {
            let known_quiet = quiet.contains(&call.callee()) || never_calls_back(call);
            !known_quiet && (callees.is_safepoint(call) || may_unwind(call))
        }
        Callee::GcRoot
        | Callee::GcRead
        | Callee::LifetimeStart
        | Callee::LifetimeEnd
        | Callee::Fill
        | Callee::Copy
        | Callee::OtherIntrinsic
        | Callee::InlineAsm => false,
        _ => true,
    })
}

/// Functions all of whose results are references, some of which come with a count. Two fixed points: first whatever is not
/// certainly a reference is taken out, then what comes with a count is found from the allocations up.
fn owned_results(callees: &Callees, managed: &[Value]) -> HandleSet<Value> {
    let eligible = |function: &Value| {
        function.value_type().return_type().is_plain_pointer()
            && !function.value_type().is_variadic()
            && !function.may_be_replaced()
            && !function.calls().any(|call| call.is_musttail() || callees.returns_twice(call))
    };
    let mut all: HandleSet<Value> = managed.iter().copied().filter(eligible).collect();
    loop {
        let before = all.len();
        let references = Sources { callees, functions: &all };
        let fitting: HandleSet<Value> =
            all.iter().copied().filter(|&function| results(function).all(|value| references.is_reference(value))).collect();
        all = fitting;
        if all.len() == before {
            break;
        }
    }
    let mut owned = HandleSet::default();
    loop {
        let before = owned.len();
        let sources = Sources { callees, functions: &owned };
        let more: Vec<Value> =
            all.iter().copied().filter(|&function| results(function).any(|value| sources.has_count(value))).collect();
        owned.extend(more);
        if owned.len() == before {
            return owned;
        }
    }
}

fn results(function: Value) -> impl Iterator<Item = Value> {
    let ends = function.blocks().filter_map(crate::llvm::Block::terminator);
    ends.filter(|end| end.is(Opcode::LLVMRet)).map(|end| end.operand(0))
}

struct Sources<'a> {
    callees: &'a Callees,
    functions: &'a HandleSet<Value>,
}

impl Sources<'_> {
    fn is_reference(&self, value: Value) -> bool {
        self.search(value, |_| false, true)
    }

    fn has_count(&self, value: Value) -> bool {
        self.search(value, |value| self.comes_with_count(value), false)
    }

    fn comes_with_count(&self, value: Value) -> bool {
        value.as_call().is_some_and(|call| {
            matches!(self.callees.of_call(call), Callee::New | Callee::NewArray)
                || self.functions.contains(&call.callee())
        })
    }

    /// Looks through phis. `every`: whether all that flows in is a reference; otherwise whether anything is `wanted`, also by
    /// way of a root.
    fn search(&self, value: Value, wanted: impl Fn(Value) -> bool, every: bool) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![value]);
        while let Some(value) = queue.pop() {
            if !seen.insert(value) {
                continue;
            }
            if value.is(Opcode::LLVMPHI) {
                queue.extend(value.incoming().into_iter().map(|(value, _)| value));
            } else if every {
                if !(value.is_null() || self.comes_with_count(value) || is_load_of_root(self.callees, value)) {
                    return false;
                }
            } else if wanted(value) {
                return true;
            } else if is_load_of_root(self.callees, value) {
                let stores = value.operand(0).users().filter(|user| user.is(Opcode::LLVMStore));
                queue.extend(stores.map(|store| store.operand(0)));
            }
        }
        every
    }
}

/// Whether the value is what a root of one plain reference holds.
fn is_load_of_root(callees: &Callees, value: Value) -> bool {
    value.is(Opcode::LLVMLoad)
        && value.operand(0).is(Opcode::LLVMAlloca)
        && value.operand(0).allocated_type().is_plain_pointer()
        && value.operand(0).users().any(|user| {
            user.as_call().is_some_and(|call| callees.of_call(call) == Callee::GcRoot && call.argument(1).is_null())
        })
}

fn is_called_from_elsewhere(function: Value, managed: &HandleSet<Value>) -> bool {
    !function.is_internal() || function.users().any(|user| !is_direct_call(user, function, managed))
}

fn is_direct_call(user: Value, function: Value, managed: &HandleSet<Value>) -> bool {
    user.as_call().is_some_and(|call| {
        call.callee() == function
            && managed.contains(&user.function())
            && call.arguments().iter().all(|&argument| argument != function)
    })
}

/// The function of the old name, for all callers that do not know that a count comes with the result.
fn wrap(builder: &Builder, function: Value, managed: &HandleSet<Value>) -> Value {
    let module = builder.module();
    let name = function.name();
    function.set_name(&format!("{name}.owned"));
    let wrapper = module.add_function(&name, function.value_type());
    wrapper.copy_linkage_and_attributes(function);
    function.set_visibility(Visibility::Internal);
    function.forget_comdat();
    let known: Vec<Call> = function
        .users()
        .filter(|&user| is_direct_call(user, function, managed))
        .filter_map(Value::as_call)
        .collect();
    function.replace_all_uses(wrapper);
    for call in known {
        call.set_callee(function);
    }
    builder.at_end_unlocated(wrapper.append_block(""));
    let arguments: Vec<Value> = (0..wrapper.parameter_count()).map(|index| wrapper.parameter(index)).collect();
    let result = builder.call(function.value_type(), function, &arguments);
    result.as_call().expect("a call").set_convention(function.function_convention());
    builder.return_value(Some(result));
    wrapper
}

