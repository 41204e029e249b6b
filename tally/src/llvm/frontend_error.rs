//! What is wrong with what a frontend builds: where, and what to do.

use tally_llvm::diagnostic::Diagnostic;
use tally_llvm::inkwell::builder::BuilderError;

/// What is wrong with what a [`Frontend`](super::Frontend) builds.
///
/// ```
/// use tally::llvm::{Frontend, inkwell::context::Context};
///
/// let context = Context::create();
/// let frontend = Frontend::new(&context, "m")?;
/// let node = frontend.object("Node").reference("next").plain("value", context.i64_type()).define()?;
/// let error = node.field("prev").unwrap_err();
/// assert_eq!(error.to_string(), "type `Node` has no field `prev`; its fields are `next`, `value`");
/// # Ok::<(), tally::llvm::FrontendError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontendError {
    /// LLVM makes no code for this machine.
    #[error("{0}")]
    Machine(String),
    /// A name that is taken, or the runtime's. It fails [`Frontend::check`](super::Frontend::check), and all that is built after it.
    #[error("the name `{name}` {fault}")]
    Name {
        /// The name.
        name: String,
        /// The fault, and what to do.
        fault: String,
    },
    /// A type is described wrongly.
    #[error("type `{name}` {fault}")]
    Type {
        /// The type.
        name: String,
        /// The fault, and what to do.
        fault: String,
    },
    /// There is no such field.
    #[error("type `{name}` has no field `{field}`; its fields are {}", listed(.known))]
    NoField {
        /// The type.
        name: String,
        /// The field.
        field: String,
        /// The fields that it has.
        known: Vec<String>,
    },
    /// Its objects have no elements.
    #[error("type `{name}` has no elements; describe them with `references`, `tagged_words` or `elements`")]
    NoElements {
        /// The type.
        name: String,
    },
    /// Its objects have elements, whose number is missing.
    #[error(
        "in @{function}: objects of type `{name}` have elements; make them with `allocate_array`, and say how many"
    )]
    HasElements {
        /// The function in which one was to be made.
        function: String,
        /// The type.
        name: String,
    },
    /// A value of another type than its place holds.
    #[error("in @{function}: {place} holds {expected}, and was given {given}")]
    WrongValue {
        /// The function.
        function: String,
        /// The field, element or variable.
        place: String,
        /// The type of its values, as IR has it.
        expected: String,
        /// The type of the value.
        given: String,
    },
    /// A write of the word that [`ObjectBuilder::length`](super::ObjectBuilder::length) describes.
    #[error("in @{function}: {place} is the number of elements, which only the runtime writes")]
    WritesLength {
        /// The function.
        function: String,
        /// The field.
        place: String,
    },
    /// The function is no function of Tally's.
    #[error(
        "@{function} is no function of the frontend's; declare it with `Frontend::function`, or it may have no roots and writes"
    )]
    NotManaged {
        /// The function.
        function: String,
    },
    /// The function has a body.
    #[error("@{function} has a body already")]
    HasBody {
        /// The function.
        function: String,
    },
    /// Inkwell refuses to build an instruction.
    #[error("in @{function}: {error}")]
    Build {
        /// The function.
        function: String,
        /// Its reason.
        error: BuilderError,
    },
    /// LLVM's verifier refuses the module.
    #[error("LLVM's verifier: {0}")]
    Invalid(String),
    /// The module breaks the contract of gc functions.
    #[error("{}", lines(.0))]
    Contract(Vec<Diagnostic>),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn lines(findings: &[Diagnostic]) -> String {
    findings.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}
