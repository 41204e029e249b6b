//! The form of findings on standard error: one line each, or with the line of the source.
//!
//! Scripts, logs and other tools read lines, so a pipe gets those, and so does a user who sets `NO_COLOR`
//! (<https://no-color.org>). A terminal gets the source and colours, as from clang and rustc, and `--diagnostics` and
//! `--color` say otherwise.

use std::ffi::OsStr;
use std::io::IsTerminal;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::report::{Reporter, Severity};
use crate::pipeline::CompileError;
use clap::{Args, ValueEnum};

use super::failure::Failure;

/// How findings are shown.
#[derive(Args, Debug)]
pub(super) struct Messages {
    /// How to show errors and warnings: short is one line for each, full shows the line of the source; auto is full where
    /// they are coloured
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Auto)]
    diagnostics: Form,
    /// When to colour them; auto is on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    color: When,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Auto,
    Short,
    Full,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Auto,
    Always,
    Never,
}

impl Messages {
    /// Shows the findings of an error about a program, and returns the failure with which the command ends. The
    /// failure holds the message of any other error.
    pub(super) fn failure(&self, error: impl Into<CompileError>) -> Failure {
        let error = error.into();
        match error.findings() {
            Some(findings) if self.reporter().is_some() => {
                self.show_all(Severity::Error, findings);
                Failure(counted(findings.len(), "error"))
            }
            _ => Failure(error.to_string()),
        }
    }

    /// Shows findings, each on its own line or with its source.
    pub(super) fn show_all(&self, severity: Severity, findings: &[Diagnostic]) {
        match self.reporter() {
            Some(mut reporter) => {
                findings.iter().for_each(|finding| tally_heap::tell!("{}", reporter.show(severity, finding, None)));
            }
            None => findings.iter().for_each(|finding| tally_heap::tell_line!("{}: {finding}", severity.word())),
        }
    }

    /// Shows findings with their source, if the options say so.
    pub(super) fn reporter(&self) -> Option<Reporter> {
        let colored = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => is_colored_by_itself(std::io::stderr().is_terminal(), |name| std::env::var_os(name)),
        };
        let full = match self.diagnostics {
            Form::Auto => colored,
            Form::Short => false,
            Form::Full => true,
        };
        full.then(|| Reporter::new(colored))
    }
}

/// Whether standard error is a terminal, and `NO_COLOR` is not set.
fn is_colored_by_itself<V: AsRef<OsStr>>(is_terminal: bool, variable: impl Fn(&str) -> Option<V>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.as_ref().is_empty());
    let is_dumb = variable("TERM").is_none_or(|kind| kind.as_ref() == "dumb");
    is_terminal && !is_set("NO_COLOR") && !is_dumb
}

/// A number of things in words.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_whose_user_has_not_refused_colours_gets_them() {
        let colored = |is_terminal, set: &[(&str, &'static str)]| {
            is_colored_by_itself(is_terminal, |name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| value))
        };
        assert!(colored(true, &[("TERM", "xterm")]));
        assert!(colored(true, &[("TERM", "xterm"), ("NO_COLOR", "")]));
        assert!(!colored(true, &[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(!colored(true, &[("TERM", "dumb")]));
        assert!(!colored(true, &[]));
        assert!(!colored(false, &[("TERM", "xterm")]));
    }

    #[test]
    fn the_source_is_shown_where_there_are_colours_or_where_it_is_asked_for() {
        let shows = |diagnostics, color| Messages { diagnostics, color }.reporter().is_some();
        assert!(shows(Form::Auto, When::Always) && shows(Form::Full, When::Never));
        assert!(!shows(Form::Auto, When::Never) && !shows(Form::Short, When::Always));
    }
}
