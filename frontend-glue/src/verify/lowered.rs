//! Checks a lowered module: finds every place where the collector would not find a root.
//!
//! - no `llvm.gc*` and no gc strategy of Tally's is left;
//! - every safepoint call carries its bundle, but guaranteed tail calls, and the three kinds of call that are bare by
//!   design: the inner call of a result thunk, the call of `tally_run_main` below which nothing is managed, and calls
//!   of the C library that LLVM's passes made (`library.rs`); and what LLVM makes for `--coverage`;
//! - a bundle is pairs of a constant id and a slot, and the slot is still a local variable: null means a slot that
//!   was optimised away, but an undefined or loaded address means a lost root;
//! - the address of a slot is not returned.

use super::library;
use crate::analysis::callee::Callees;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Block, HandleSet, Module, Opcode, Value};
use crate::lower::entry_point::RUN_MAIN;
use crate::lower::{LOWERED_FLAG, Plan, result_thunk};
use crate::verify::source::{self, frames::MOST_ROOTS};
use stack_roots::{SITE_ID, STATE_ID};

/// Returns all faults that could lose a root.
pub(crate) fn errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let callees = Callees::of(module);
    let mut findings = Vec::new();
    let is_lowered = module.has_flag(LOWERED_FLAG);
    let runs_main = module.function(RUN_MAIN);
    for function in module.functions() {
        let is_intrinsic = function.name().starts_with("llvm.gc") && function.intrinsic_id() != 0;
        if is_intrinsic && (is_lowered || used_in_tally_function(function)) {
            let users = function.users().filter(|user| user.is_instruction());
            let users: Vec<Value> = users.filter(|user| !source::is_of_llvm(user.function())).collect();
            findings.extend(users.into_iter().map(|user| {
                Diagnostic::at(name, user, format!("{} was not lowered", function.name()))
                    .help("lower every module before it is linked or optimised")
            }));
        }
        if let Some(gc) = function.gc().filter(|gc| function.has_body() && is_ours(gc)) {
            let finding = Diagnostic::about_function(name, function, format!("gc \"{gc}\" was not lowered"));
            findings.push(finding.help("lower every module before it is linked or optimised"));
        }
        let checked = function.has_body() && !source::is_of_llvm(function) && !is_of_coverage(function);
        if is_lowered && checked && !function.name().starts_with(result_thunk::PREFIX) {
            check_function(&callees, name, function, runs_main, &mut findings);
        }
    }
    findings
}

fn used_in_tally_function(intrinsic: Value) -> bool {
    intrinsic
        .users()
        .filter(|user| user.is_instruction())
        .any(|user| user.function().gc().is_none_or(|gc| is_ours(&gc)))
}

/// Whether a pass of LLVM has made the function to write what `--coverage` counts: it has no references, and runs before and behind `main`.
fn is_of_coverage(function: Value) -> bool {
    function.name().starts_with("__llvm_gcov_")
}

fn is_ours(gc: &str) -> bool {
    Plan::ALL.iter().any(|plan| plan.strategy() == gc)
}

fn check_function(
    callees: &Callees,
    name: &str,
    function: Value,
    runs_main: Option<Value>,
    findings: &mut Vec<Diagnostic>,
) {
    // Bundles may be long and many, so slots are gathered for the rare function that returns the address of an alloca.
    let returned: Vec<Value> = function.blocks().filter_map(Block::terminator).filter(returns_an_alloca).collect();
    let mut slots = HandleSet::default();
    for call in function.calls() {
        if !callees.is_safepoint(call) || call.is_musttail() || Some(call.callee()) == runs_main {
            continue;
        }
        match call.bundle(DEOPT) {
            Some(operands) => {
                if let Some(fault) = bundle_fault(&operands) {
                    findings.push(Diagnostic::at(name, call.value(), fault));
                }
                if !returned.is_empty() {
                    slots.extend(operands.iter().skip(1).step_by(2).copied());
                }
            }
            None if library::may_be_called_bare(call.callee()) => {}
            None => findings.push(missing_bundle(name, call)),
        }
    }
    for user in returned.into_iter().filter(|user| slots.contains(&user.operand(0))) {
        let message = format!("the address of the root slot %{} is returned", user.operand(0).name());
        let help = "a root slot ends with its function; return the reference";
        findings.push(Diagnostic::at(name, user, message).help(help));
    }
}

fn returns_an_alloca(instruction: &Value) -> bool {
    instruction.is(Opcode::LLVMRet) && instruction.operands().any(|value| value.is(Opcode::LLVMAlloca))
}

fn missing_bundle(name: &str, call: Call) -> Diagnostic {
    let callee = call.callee();
    let what = if callee.is_function() { format!("the call of @{}", callee.name()) } else { "a call".to_owned() };
    Diagnostic::at(name, call.value(), format!("{what} may run an epoch but carries no bundle of roots"))
        .help("code was added after the lowering; lower it first, or mark the callee \"gc-leaf-function\"")
}

fn bundle_fault(operands: &[Value]) -> Option<String> {
    if !operands.len().is_multiple_of(2) {
        return Some(format!("the bundle of roots has {} operands; they come in pairs", operands.len()));
    }
    if operands.len() > 2 * MOST_ROOTS {
        return Some(format!("the call names {} roots, and {MOST_ROOTS} is the most", operands.len() / 2));
    }
    for pair in operands.chunks_exact(2) {
        if pair[0].constant_integer().is_none() {
            return Some(format!("the bundle of roots has an id that is no constant: {}", pair[0].print()));
        }
        if matches!(pair[0].constant_integer(), Some(STATE_ID | SITE_ID)) {
            continue;
        }
        if !pair[1].is(Opcode::LLVMAlloca) && !names_a_slot(pair[1]) {
            return Some(format!("the bundle of roots names something that is no slot: {}", pair[1].print()));
        }
    }
    None
}

/// An alloca, a place in one, a choice among such, or null; or a constant table, which LLVM puts in place of a variable that the
/// program only fills from it: no word of that leads to an object.
fn names_a_slot(address: Value) -> bool {
    let (mut seen, mut pending) = (HandleSet::default(), vec![address]);
    while let Some(address) = pending.pop() {
        if !seen.insert(address) {
            continue;
        }
        match address.opcode().or(address.constant_opcode()) {
            Some(Opcode::LLVMAlloca) => {}
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast) => {
                pending.push(address.operand(0));
            }
            Some(Opcode::LLVMPHI) => pending.extend(address.incoming().into_iter().map(|(value, _)| value)),
            Some(Opcode::LLVMSelect) => pending.extend([address.operand(1), address.operand(2)]),
            _ if address.is_null() || address.is_constant_variable() => {}
            _ => return false,
        }
    }
    true
}
