//! Calls in tail position, for which a bundle without roots would keep a frame.
//!
//! Every function of a lowered module gets bundles, because a bare call, inlined into a function with roots, would
//! lose these (`lower/bundle.rs`). LLVM keeps a frame for a call with a bundle, so functions that call each other
//! without end in tail position would fill the stack, even if none of them is a gc function. But after all inlining,
//! a function whose bundles are all empty names no root: nothing is lost with its frame. Its caller's call has its
//! own record, and the callee returns there. So its last calls become `musttail` here, as if the frontend had marked
//! them.
//!
//! The tail call must be guaranteed: in code of the JIT the walk cannot pass the frame of a call without a bundle. So
//! this is done where LLVM guarantees it, between functions of one type and convention, and where no variable is in
//! the frame.

use crate::llvm::call::{AttributeKind, Call, DEOPT, Position};
use crate::llvm::surgery::forget_edge;
use crate::llvm::{Block, Builder, Module, Opcode, Value};

/// Attributes that change how parameters are passed.
const PASSED_OTHERWISE: [&str; 11] = [
    "sret",
    "byval",
    "byref",
    "inalloca",
    "preallocated",
    "inreg",
    "nest",
    "swiftself",
    "swifterror",
    "swiftasync",
    "alignstack",
];

/// Runs after the last pass that inlines; after it the module may only go to the code generator. Returns whether it
/// changed anything.
pub(crate) fn restore(module: Module) -> bool {
    let mut has_changed = false;
    let builder = Builder::new(module);
    let otherwise = PASSED_OTHERWISE.map(AttributeKind::named);
    for function in module.functions().filter(|function| function.has_body() && is_plain(*function)) {
        let calls: Vec<Call> = function.calls().collect();
        let is_empty = |call: &Call| call.bundle(DEOPT).is_none_or(|operands| operands.is_empty());
        if !calls.iter().all(is_empty)
            || calls.iter().any(|call| call.has_attribute(AttributeKind::named("returns_twice")))
        {
            continue;
        }
        for call in calls {
            let is_alike = call.function_type() == function.value_type()
                && call.convention() == function.function_convention()
                && call.bundle_tags() == [DEOPT]
                && !is_passed_otherwise(call, function, &otherwise);
            if let Some(way) = way_out(call).filter(|_| is_alike) {
                take(&builder, call, way);
                has_changed = true;
            }
        }
    }
    has_changed
}

/// Whether the frame holds no variable, and the function is one that LLVM makes sibling calls in.
fn is_plain(function: Value) -> bool {
    !function.value_type().is_variadic()
        && function.string_attribute("disable-tail-calls").is_none_or(|disabled| disabled != "true")
        && !function.instructions().iter().any(|it| it.is(Opcode::LLVMAlloca))
}

fn is_passed_otherwise(call: Call, function: Value, kinds: &[AttributeKind]) -> bool {
    let callee = Some(call.callee()).filter(|callee| callee.is_function());
    (0..call.argument_count()).map(Position::Parameter).any(|position| {
        kinds.iter().any(|&kind| {
            call.has_own_attribute(position, kind)
                || function.has_attribute_at(position, kind)
                || callee.is_some_and(|callee| callee.has_attribute_at(position, kind))
        })
    })
}

/// The way in which a function ends after its last call.
enum WayOut {
    /// It returns.
    Return,
    /// By a branch to a return that is shared.
    Shared(Block),
}

/// The way out after the call, if only a return of its result follows.
fn way_out(call: Call) -> Option<WayOut> {
    if call.is_invoke() || call.is_musttail() || call.is_never_tail() {
        return None;
    }
    let next = call.value().next_instruction()?;
    if next.is(Opcode::LLVMRet) {
        return returns(next, call.value()).then_some(WayOut::Return);
    }
    // Optimised code shares one return: `br label %out`, and there a phi of the results.
    if !next.is(Opcode::LLVMBr) || next.block().successors().len() != 1 {
        return None;
    }
    let out = next.block().successors()[0];
    let end = out.terminator().filter(|end| end.is(Opcode::LLVMRet))?;
    let before: Vec<Value> = out.instructions().filter(|&it| it != end).collect();
    let is_shared = match before[..] {
        [] => returns(end, call.value()),
        [phi] if phi.is(Opcode::LLVMPHI) && end.operands().next() == Some(phi) => {
            phi.incoming().contains(&(call.value(), next.block()))
        }
        _ => false,
    };
    is_shared.then_some(WayOut::Shared(out))
}

fn returns(end: Value, result: Value) -> bool {
    end.operands().next().is_none_or(|returned| returned == result)
}

/// Makes the call one that takes the function's frame.
fn take(builder: &Builder, call: Call, way: WayOut) {
    let call = call.without_bundle(builder, DEOPT);
    if let WayOut::Shared(out) = way {
        let branch = call.value().next_instruction().expect("a branch");
        forget_edge(builder, out, branch.block());
        builder.before(branch);
        builder.return_value(Some(call.value()).filter(|it| !it.type_of().is_void()));
        branch.erase();
    }
    call.make_musttail();
}
