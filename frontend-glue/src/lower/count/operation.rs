//! The vocabulary of counts: the operations that stand in the IR between the decision where counts change and the code
//! that changes them.
//!
//! Each is a call of a function that exists only during the lowering, `tally.count.*`, so that the IR at that stage can be
//! read, checked (`balance`) and rewritten like any other. Who holds a count is always one of three: a **root** (its slot, by
//! number), a **temporary** (an SSA value that came with a count: a fresh object, the result of a function that hands its
//! count over), or nobody yet, a **credit**, which the very next consumer takes: a write into an object, a root, a phi, a
//! return.
//!
//! | operation | code | what it says |
//! |---|---|---|
//! | `own(v, root)` | increment | the reference that the root borrowed so far is its own now |
//! | `take(v, root)` | – | the value just stored into the root came with a credit |
//! | `drop(v, root)` | decrement | the root lets go of what it holds; it borrows it until it is overwritten |
//! | `give(v, root)` | – | the root's count becomes a credit; it borrows what it holds |
//! | `spend(v)` | – | a temporary's count becomes a credit |
//! | `increment(v)` | increment | a credit out of nothing |
//! | `release(v)` | decrement | a temporary is let go |
//! | `pass(v)`, `join(phi)` | – | a credit goes along an edge into a phi, which is a temporary from there on |
//! | `result(v)` | – | the credit goes to the caller |
//! | `settle(root)` | a comparison, or a call | a root that is not plain counts what it holds now, and no longer what it held before |
//! | `unsettle(root)` | decrement, or a call | a root that is not plain lets go of all that it counted |
//! | `lend()`, `unlend()` | a counter | others may write to roots of this frame, whose address they have; they no longer may |
//! | `apply()` | a test | counts that were put off are made up for (`postponed`) |
//! | `drain(words…)` | a test | what has no reference left dies, unless one of these words still means it |
//! | `finish(words…)` | a test | the same at the end of a function, whose roots hold nothing any more |

use crate::analysis::callee::LEAF;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, Module, Type, Value};

/// See the file's first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::lower) enum Operation {
    Own,
    Take,
    Drop,
    Give,
    Spend,
    Increment,
    Release,
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
}

use Operation::*;

const ALL: [(Operation, &str); 17] = [
    (Own, "own"),
    (Take, "take"),
    (Drop, "drop"),
    (Give, "give"),
    (Spend, "spend"),
    (Increment, "increment"),
    (Release, "release"),
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
                Spend | Increment | Release | Pass | Join | Result => &[pointer],
                Settle | Unsettle => &[number],
                Lend | Unlend | Drain | Finish | Apply => &[],
            };
            let is_safepoint = matches!(operation, Drain | Finish);
            let of = Type::function(void, parameters, is_safepoint); // of any number of words
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

    /// Emits an operation where the builder stands.
    pub(super) fn emit(&self, builder: &Builder, operation: Operation, operands: &[Value]) -> Value {
        let function = self.of[&(operation as u8)];
        builder.call(function.value_type(), function, operands)
    }

    /// Removes the declarations; no call of them is left.
    pub(super) fn remove(&self, module: Module) {
        for &function in self.functions.keys() {
            module.delete_function(function);
        }
    }
}
