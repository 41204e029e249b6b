//! Variables that hold references and stay in memory, because their address is taken or they are structs, unions or arrays: each
//! is a root, with a descriptor made from its type and from what is done with it (`accessed.rs`).
//!
//! A variable whose address goes to functions like `strtol` alone becomes a value first: each call gets a variable of its
//! own, which is no root, and what is read from it lies in the object that the call was given.

use super::accessed::Accessed;
use super::references::References;
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::same_object::stores_place_to;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleSet, Module, Opcode, Value};
use crate::lower::roots::{rooted_variable, variable_count, variable_type};
use crate::lower::type_description::TypeDescription;

/// The mark of a variable that one call of a function like `strtol` stores a place to.
pub(super) const PLACE: &str = "tally.place";

/// Gives calls of functions like `strtol` variables of their own, so that those of the program can become values.
pub(super) fn separate_places(builder: &Builder, references: &References, function: Value) {
    let is_pointer = |it: &Value| it.is(Opcode::LLVMAlloca) && references.is_type(it.allocated_type());
    let variables: Vec<Value> = function.instructions().into_iter().filter(is_pointer).collect();
    for variable in variables {
        let calls: Vec<Call> = variable.users().filter_map(Value::as_call).collect();
        let (storing, others): (Vec<Call>, Vec<Call>) =
            calls.into_iter().partition(|&it| stores_place_to(it, variable));
        let is_marker = |call: &Call| call.callee().name().starts_with("llvm.lifetime.");
        if !others.iter().all(is_marker) || storing.iter().any(|call| call.is_invoke()) {
            continue;
        }
        let of = variable.allocated_type();
        for call in storing {
            let own = builder.alloca_at_entry(function, of, &variable.name());
            builder.mark(own, PLACE);
            builder.before(call.value().next_instruction().expect("a call ends no block"));
            let place = builder.load(of, own);
            builder.store(place, variable);
            call.set_argument(1, own);
        }
    }
}

/// Roots all variables of a function that hold references, but for those that the module roots itself. Returns a finding
/// for each that cannot be described; what has no constant size is refused by the checks that follow.
pub(super) fn root(
    builder: &Builder,
    references: &References,
    callees: &Callees,
    name: &str,
    function: Value,
) -> Vec<Diagnostic> {
    let gcroots = function.calls().filter(|&call| callees.of_call(call) == Callee::GcRoot);
    let rooted: HandleSet<Value> = gcroots.filter_map(|call| rooted_variable(call.argument(0))).collect();
    let parameters = (0..function.parameter_count()).map(|index| function.parameter(index));
    let in_memory = parameters.filter(|it| it.type_of().is_pointer());
    let in_memory = in_memory.filter(|it| it.is_parameter_with("byval") || it.is_parameter_with("sret"));
    let allocas = function.instructions().into_iter().filter(|it| it.is(Opcode::LLVMAlloca));
    let mut findings = Vec::new();
    let variables: Vec<Value> = in_memory.chain(allocas).collect();
    let accessed = Accessed::of(builder.module(), references, callees, &variables);
    for variable in variables.into_iter().filter(|variable| !rooted.contains(variable)) {
        if !accessed.has(variable)
            || variable.is_swifterror()
            || variable.is(Opcode::LLVMAlloca) && variable.has_mark(PLACE)
        {
            continue;
        }
        match descriptor(builder.module(), &accessed, function, variable) {
            Ok(descriptor) => root_variable(builder, function, variable, descriptor),
            Err(fault) => {
                let message = format!("no root can be made of the variable %{}: {fault}", variable.name());
                findings.push(Diagnostic::about_function(name, function, message));
            }
        }
    }
    findings
}

/// What says which words of a variable are references: null for one reference.
fn descriptor(module: Module, accessed: &Accessed, function: Value, variable: Value) -> Result<Value, String> {
    let of = variable_type(variable);
    let count = match variable_count(variable) {
        Some(count) if !(of.is_pointer() && count == 1) => count,
        _ => return Ok(module.pointer().null()),
    };
    if let Some(odd) = accessed.offsets(variable).find(|offset| offset % 8 != 0) {
        return Err(format!(
            "a reference lies at its byte {odd}, and roots lie at multiples of 8; keep it in what is not packed"
        ));
    }
    let names = [function, variable].map(Value::name);
    let description = TypeDescription {
        name: format!("variable {} of {}", names[1], names[0]),
        size: module.size_of(of) * count,
        refs: accessed.offsets(variable).map(|offset| offset as u32).collect(),
        exported: false,
        ..TypeDescription::default()
    };
    let name = names.iter().fold("tally.variable".to_owned(), |whole, part| format!("{whole}.{part}"));
    let mut candidates = (0..).map(|number| if number == 0 { name.clone() } else { format!("{name}.{number}") });
    let free = candidates.find(|it| module.global(it).is_none()).expect("numbers do not end");
    description.define_in(module, &free)?;
    Ok(module.global(&free).expect("it was just defined"))
}

fn root_variable(builder: &Builder, function: Value, variable: Value, descriptor: Value) {
    let place = match variable.is_argument() {
        true => function.entry().behind_allocas(),
        false => variable.next_instruction().expect("an alloca is no terminator"),
    };
    builder.before_unlocated(place);
    let module = builder.module();
    let address = match variable.type_of().is_plain_pointer() {
        true => variable,
        false => builder.cast(Opcode::LLVMAddrSpaceCast, variable, module.pointer()),
    };
    let gcroot = module.intrinsic("llvm.gcroot", &[]);
    builder.call(gcroot.value_type(), gcroot, &[address, descriptor]);
}
