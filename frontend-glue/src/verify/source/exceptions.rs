//! The rules for exceptions: landing pads that LLVM can compile, all of one type.
//!
//! LLVM makes code for landing pads of two values only, the exception and the selector; at others it crashes. Its
//! inliner puts pads of different types into one function, which its verifier then refuses; and the prompt plan adds
//! pads of its own to functions (`lower/count/unwinding.rs`), which get the module's type. Funclets are the
//! exceptions of Windows.

use crate::diagnostic::Diagnostic;
use crate::llvm::{Opcode, Type, TypeKind, Value};

/// Personalities under which a handler is a funclet, or whose frames are described in another way than DWARF's.
const OF_FUNCLETS: [&str; 8] = [
    "__CxxFrameHandler3",
    "__C_specific_handler",
    "_except_handler3",
    "_except_handler4",
    "ProcessCLRException",
    "__gxx_wasm_personality_v0",
    "__gxx_personality_seh0",
    "__gcc_personality_seh0",
];

/// The type of the landing pads seen so far.
#[derive(Debug, Default)]
pub(super) struct Landings {
    first: Option<(Value, Type)>,
}

impl Landings {
    /// The faults of `function`, which is in a module with managed functions.
    pub(super) fn errors(&mut self, name: &str, function: Value) -> Vec<Diagnostic> {
        if !function.has_personality() {
            return Vec::new();
        }
        let mut findings: Vec<Diagnostic> = funclet(name, function).into_iter().collect();
        for (place, of) in landings(function) {
            let (first, expected) = *self.first.get_or_insert((place, of));
            let fault = if !is_pair(of) {
                format!("LLVM generates no code for {} of type {}", place.opcode_name(), of.print())
            } else if of != expected {
                let other = first.function().name();
                format!("{} of type {}, and of {} in @{other}", place.opcode_name(), of.print(), expected.print())
            } else {
                continue;
            };
            let help = "give all landing pads and resumes of the module the type { ptr, i32 }";
            findings.push(Diagnostic::at(name, place, fault).help(help));
            break;
        }
        findings
    }
}

/// The landing pads and resumes of a function, with their types.
pub(crate) fn landings(function: Value) -> impl Iterator<Item = (Value, Type)> {
    // Without a personality there are none: LLVM's verifier has checked that.
    let blocks = function.has_personality().then(|| function.blocks()).into_iter().flatten();
    blocks.flat_map(|block| block.instructions()).filter_map(|value| match value.opcode() {
        Some(Opcode::LLVMLandingPad) => Some((value, value.type_of())),
        Some(Opcode::LLVMResume) => Some((value, value.operand(0).type_of())),
        _ => None,
    })
}

/// Two values, as wide as a pointer and a number at most.
fn is_pair(of: Type) -> bool {
    let is_word = |of: Type| of.is_plain_pointer() || of.integer_bits().is_some_and(|bits| bits <= 64);
    let members = of.members();
    of.kind() == TypeKind::LLVMStructTypeKind
        && members.len() == 2
        && members.iter().all(|&(member, _)| is_word(member))
}

fn funclet(name: &str, function: Value) -> Option<Diagnostic> {
    let help = "use landing pads for exceptions, and a personality of this platform";
    let is_pad = |value: &Value| {
        let pads = [Opcode::LLVMCatchPad, Opcode::LLVMCleanupPad, Opcode::LLVMCatchSwitch];
        value.opcode().is_some_and(|opcode| pads.contains(&opcode))
    };
    if let Some(pad) = function.blocks().flat_map(|block| block.instructions()).find(is_pad) {
        let message = format!("{}: a funclet has no frame that a walk could read", pad.opcode_name());
        return Some(Diagnostic::at(name, pad, message).help(help));
    }
    let personality = function.personality().name();
    OF_FUNCLETS.contains(&personality.as_str()).then(|| {
        let message = format!("the personality @{personality} belongs to exceptions of another platform");
        Diagnostic::about_function(name, function, message).help(help)
    })
}
