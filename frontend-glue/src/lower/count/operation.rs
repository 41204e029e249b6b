//! The vocabulary of counts: the operations in the IR between the decision where counts change and the code that
//! changes them.
//!
//! Each is a call of a function that exists only during the lowering, `tally.count.*`, so that the IR at that stage
//! can be read, checked (`balance`) and rewritten like any other. There are three holders of a count: a **root** (its
//! slot, by number), a **temporary** (an SSA value that came with a count: a fresh object, the result of a function
//! that passes on its count), or a **credit**, a count without a holder, which the very next consumer takes: a write
//! into an object, a root, a phi, a return.
//!
//! | operation | code | meaning |
//! |---|---|---|
//! | `own(v, root)` | increment | the reference that the root borrowed so far is its own now |
//! | `take(v, root)` | – | the value just stored into the root came with a credit |
//! | `drop(v, root)` | decrement | the root releases its object, and borrows it until it is overwritten |
//! | `give(v, root)` | – | the root's count becomes a credit; the root borrows its object |
//! | `hold(v)` | – | the credit that a root has given is a temporary's from here on |
//! | `spend(v)` | – | a temporary's count becomes a credit |
//! | `keep(v)` | a test | the next write replaces `v`, and does not release it: `v` is a temporary behind it |
//! | `increment(v)` | increment | a credit out of nothing |
//! | `release(v)` | decrement | a temporary is released |
//! | `release_in_result(v)` | decrement | the same of one that the result of the function leads to: it waits for the caller |
//! | `pass(v)`, `join(phi)` | – | a credit goes along an edge into a phi, which is a temporary from there on |
//! | `result(v)` | – | the credit goes to the caller |
//! | `settle(root)` | a comparison, or a call | a root that is not plain counts its new objects, not the old |
//! | `unsettle(root)` | decrement, or a call | a root that is not plain releases all objects that it counted |
//! | `lend()`, `unlend()` | a counter | other code may write to roots of this frame by address; it no longer may |
//! | `apply()` | a test | postponed counts are applied (`postponed`) |
//! | `drain(words…)` | a test | objects without a reference die, unless one of these words refers to them |
//! | `finish(words…)` | a test | the same at the end of a function, whose roots hold nothing any more |
//! | `due(poll)` | a test | whether a stop is due (`stops`) |
//! | `advance(v)` | – | a credit ahead of a write that will take `v` out of a field: the field's count is meant |
//! | `repay(v)` | – | the write has done so: the temporary's count is the one that was advanced |
//! | `left(words…)` | – | the body of a leaf, which was put in place of its call, ends here (`inlined_leaves`) |
//! | `stop(words…)` | a call | a drain in a stop: temporaries keep their counts |

use crate::analysis::callee::LEAF;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, Module, Type, Value};

/// An operation on counts; the table above lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::lower) enum Operation {
    Own,
    Take,
    Drop,
    Give,
    Hold,
    Spend,
    Keep,
    Increment,
    Release,
    ReleaseInResult,
    Pass,
    Join,
    Result,
    Settle,
    Unsettle,
    Lend,
    Unlend,
    Drain,
    Finish,
    Apply,
    Due,
    Stop,
    Advance,
    Repay,
    Left,
}

use Operation::*;

const ALL: [(Operation, &str); 25] = [
    (Own, "own"),
    (Take, "take"),
    (Drop, "drop"),
    (Give, "give"),
    (Hold, "hold"),
    (Spend, "spend"),
    (Keep, "keep"),
    (Increment, "increment"),
    (Release, "release"),
    (ReleaseInResult, "release_in_result"),
    (Pass, "pass"),
    (Join, "join"),
    (Result, "result"),
    (Settle, "settle"),
    (Unsettle, "unsettle"),
    (Lend, "lend"),
    (Unlend, "unlend"),
    (Drain, "drain"),
    (Finish, "finish"),
    (Apply, "apply"),
    (Due, "due"),
    (Stop, "stop"),
    (Advance, "advance"),
    (Repay, "repay"),
    (Left, "left"),
];

/// Names of the stand-in functions begin so.
pub(crate) const PREFIX: &str = "tally.count.";

/// The stand-ins of one module.
#[derive(Debug)]
pub(in crate::lower) struct Operations {
    functions: HandleMap<Value, Operation>,
    of: HandleMap<u8, Value>,
}

impl Operations {
    /// Declares the stand-ins. A drain may run finalizers: that makes it a safepoint.
    pub(in crate::lower) fn declare(module: Module) -> Operations {
        let (void, pointer, number) = (module.void(), module.pointer(), module.integer(32));
        let mut operations = Operations { functions: HandleMap::default(), of: HandleMap::default() };
        for (operation, name) in ALL {
            let parameters: &[Type] = match operation {
                Own | Take | Drop | Give => &[pointer, number],
                Hold | Spend | Keep | Increment | Release | ReleaseInResult => &[pointer],
                Pass | Join | Result | Advance | Repay => &[pointer],
                Settle | Unsettle => &[number],
                Due => &[number],
                Lend | Unlend | Drain | Finish | Apply | Stop | Left => &[],
            };
            let is_safepoint = matches!(operation, Drain | Finish | Stop);
            let result = if operation == Due { module.integer(1) } else { void };
            let of = Type::function(result, parameters, is_safepoint || operation == Left); // of any number of words
            let name = format!("{PREFIX}{name}");
            let function = module.function(&name).unwrap_or_else(|| module.add_function(&name, of));
            function.set_attribute("nounwind", 0);
            if !is_safepoint {
                function.set_string_attribute(LEAF, "");
            }
            operations.functions.insert(function, operation);
            operations.of.insert(operation as u8, function);
        }
        operations
    }

    /// The operation that a call stands for.
    pub(in crate::lower) fn of_call(&self, call: Call) -> Option<Operation> {
        self.functions.get(&call.callee()).copied()
    }

    /// The stand-in of an operation.
    pub(super) fn function(&self, operation: Operation) -> Value {
        self.of[&(operation as u8)]
    }

    /// Emits an operation at the builder's position.
    pub(super) fn emit(&self, builder: &Builder, operation: Operation, operands: &[Value]) -> Value {
        let function = self.function(operation);
        builder.call(function.value_type(), function, operands)
    }

    /// Removes the declarations; no call of them is left.
    pub(super) fn remove(&self, module: Module) {
        for &function in self.functions.keys() {
            module.delete_function(function);
        }
    }
}
