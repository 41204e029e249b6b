//! One finding of the verifier or the lowering: the fault of a module, its place, and advice.
//!
//! A finding is about the user's program, never about us, so it names the user's places: the source file and line of
//! the debug location where there is one, else the module and the function. The help is a sentence of its own, so
//! that the command can print it apart.
//!
//! ```text
//! prog.c:41: in @push: gcwrite in a function without a gc strategy; add gc "refcount" to the function
//! ```
//!
//! That is the form for scripts, logs and hosts. [`report`] also shows the line of the source.

mod excerpt;
pub mod report;

use crate::llvm::Value;
use std::fmt;

/// One finding about a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The source file of the place, or the module's name.
    pub file: Option<String>,
    /// The line in that file, where debug locations say it.
    pub line: Option<u32>,
    /// The rest of the debug location, for reports with the line of the source.
    pub place: Option<Box<SourcePlace>>,
    /// The function, without `@`.
    pub function: Option<String>,
    /// The fault.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

/// The parts of a place that the one line of a finding leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// The folder that the compiler worked in, from which the file is named; empty if it is not known.
    pub folder: String,
    /// The column in the line, in bytes from 1; 0 if it is not known.
    pub column: u32,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            write!(f, " ")?;
        }
        if let Some(function) = &self.function {
            write!(f, "in @{function}: ")?;
        }
        write!(f, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// Findings as text, one on a line.
pub(crate) fn lines(findings: &[Diagnostic]) -> String {
    findings.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}

impl Diagnostic {
    /// A finding about the module `file` as a whole.
    pub(crate) fn about_module(file: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            file: Some(file.to_owned()),
            line: None,
            place: None,
            function: None,
            message: message.into(),
            help: None,
        }
    }

    /// A finding about `function`.
    pub(crate) fn about_function(file: &str, function: Value, message: impl Into<String>) -> Diagnostic {
        Diagnostic { function: Some(function.name()), ..Diagnostic::about_module(file, message) }
    }

    /// A finding at `instruction`: its debug location says file and line, else the module's name stands in.
    pub(crate) fn at(file: &str, instruction: Value, message: impl Into<String>) -> Diagnostic {
        let finding =
            Diagnostic { function: Some(instruction.function().name()), ..Diagnostic::about_module(file, message) };
        let Some(place) = instruction.debug_place() else { return finding };
        Diagnostic {
            file: Some(place.file),
            line: Some(place.line),
            place: Some(Box::new(SourcePlace { folder: instruction.debug_folder(), column: place.column })),
            ..finding
        }
    }

    /// The same with advice.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, SourcePlace};

    #[test]
    fn a_finding_reads_as_one_line() {
        let whole = Diagnostic {
            file: Some("prog.ll".into()),
            line: Some(41),
            place: Some(Box::new(SourcePlace { folder: "/src".into(), column: 3 })),
            function: Some("f".into()),
            message: "gcwrite in a function without a gc strategy".into(),
            help: Some("add gc \"refcount\"".into()),
        };
        assert_eq!(
            whole.to_string(),
            "prog.ll:41: in @f: gcwrite in a function without a gc strategy; add gc \"refcount\""
        );
        let bare = Diagnostic { line: None, function: None, help: None, ..whole };
        assert_eq!(bare.to_string(), "prog.ll: gcwrite in a function without a gc strategy");
    }
}
