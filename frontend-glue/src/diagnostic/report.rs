//! The report of a finding with the line of the source, and the place in it marked.
//!
//! ```text
//! error: in @push: gcwrite in a function without a gc strategy
//!     ,-[ prog.c:41:3 ]
//!     |
//!  41 |   self->next = other;
//!     |   ^^|^
//!     |     `--- here
//!     |
//!     | Help: add gc "refcount" to the function
//! ----'
//! ```
//!
//! Without the source, the report is the line of [`Diagnostic`] as text. `ariadne` draws the part below the first
//! line. It gets the source line with as many empty lines in front as the file has, because it computes the width of
//! its margin from them.

use super::Diagnostic;
use super::excerpt::{Excerpt, Sources, printable};
use ariadne::{CharSet, Color, Config, Fmt, IndexType, Label, Report, ReportKind, Source};
use std::ops::Range;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The module is refused.
    Error,
    /// The module is accepted.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }

    const fn color(self) -> Color {
        match self {
            Severity::Error => Color::Red,
            Severity::Warning => Color::Yellow,
        }
    }
}

/// Shows findings.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    sources: Sources,
    /// Whether words are coloured, by the escape sequences of terminals.
    colored: bool,
}

impl Reporter {
    /// A reporter that has read no source yet.
    pub(crate) fn new(colored: bool) -> Reporter {
        Reporter { sources: Sources::default(), colored }
    }

    /// Returns the text to print, with its line end; `note` is printed below.
    pub(crate) fn show(&mut self, severity: Severity, finding: &Diagnostic, note: Option<&str>) -> String {
        let drawn = self.sources.excerpt(finding).and_then(|excerpt| self.draw(severity, finding, &excerpt, note));
        drawn.unwrap_or_else(|| {
            let note = note.map(|note| format!("; {note}")).unwrap_or_default();
            format!("{}: {finding}{note}\n", severity.word())
        })
    }

    fn draw(&self, severity: Severity, finding: &Diagnostic, excerpt: &Excerpt, note: Option<&str>) -> Option<String> {
        let name = printable(finding.file.as_ref()?.as_bytes());
        let lines_before = usize::try_from(finding.line?).ok()?.checked_sub(1)?;
        let source = Source::from("\n".repeat(lines_before) + &excerpt.text);
        let marked: (&str, Range<usize>) =
            (&name, lines_before + excerpt.marked.start..lines_before + excerpt.marked.end);
        let config =
            Config::default().with_color(self.colored).with_char_set(CharSet::Ascii).with_index_type(IndexType::Byte);
        let kind = ReportKind::Custom(severity.word(), severity.color());
        let mut report = Report::build(kind, marked.clone())
            .with_config(config)
            .with_label(Label::new(marked).with_color(severity.color()).with_message("here"));
        if let Some(help) = &finding.help {
            report.set_help(printable(help.as_bytes()));
        }
        if let Some(note) = note {
            report.set_note(printable(note.as_bytes()));
        }
        let mut drawn = Vec::new();
        report.finish().write((name.as_str(), source), &mut drawn).ok()?;
        let drawn = String::from_utf8(drawn).ok()?;
        let below = drawn.lines().skip(1).map(|line| line.trim_end().to_owned() + "\n");
        Some(self.heading(severity, finding) + &below.collect::<String>())
    }

    /// The first line. `ariadne` would colour the word for its kind in any case.
    fn heading(&self, severity: Severity, finding: &Diagnostic) -> String {
        let function = finding.function.as_ref().map(|function| format!("in @{function}: ")).unwrap_or_default();
        let message = printable(format!("{function}{}", finding.message).as_bytes());
        match self.colored {
            true => format!("{}: {message}\n", severity.word().fg(severity.color())),
            false => format!("{}: {message}\n", severity.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourcePlace;

    fn finding(folder: &std::path::Path, file: &str) -> Diagnostic {
        let help = "add gc \"refcount\" to the function";
        Diagnostic {
            line: Some(141),
            place: Some(Box::new(SourcePlace { folder: folder.to_str().unwrap().into(), column: 4 })),
            function: Some("push".into()),
            ..Diagnostic::about_module(file, "gcwrite in a function without a gc strategy").help(help)
        }
    }

    fn folder_with_source() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let text = "\n".repeat(140) + "\t (self)->next = gr\u{fc}n;\n}\n";
        std::fs::write(folder.path().join("prog.c"), text).unwrap();
        folder
    }

    #[test]
    fn a_finding_is_shown_with_its_line() {
        let folder = folder_with_source();
        let shown = Reporter::new(false).show(Severity::Error, &finding(folder.path(), "prog.c"), Some("see below"));
        let expected = "\
error: in @push: gcwrite in a function without a gc strategy
     ,-[ prog.c:141:4 ]
     |
 141 |      (self)->next = gr\u{fc}n;
     |       ^^|^
     |         `--- here
     |
     | Help: add gc \"refcount\" to the function
     |
     | Note: see below
-----'
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn without_the_source_a_finding_stays_one_line() {
        let folder = folder_with_source();
        let finding = finding(folder.path(), "elsewhere.c");
        let mut reporter = Reporter::new(true);
        assert_eq!(reporter.show(Severity::Error, &finding, None), format!("error: {finding}\n"));
        let with_note = reporter.show(Severity::Warning, &finding, Some("see below"));
        assert_eq!(with_note, format!("warning: {finding}; see below\n"));
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let folder = folder_with_source();
        let finding = finding(folder.path(), "prog.c");
        let shown = |colored| Reporter::new(colored).show(Severity::Warning, &finding, None);
        assert!(shown(true).contains("\u{1b}[") && !shown(false).contains('\u{1b}'));
    }
}
