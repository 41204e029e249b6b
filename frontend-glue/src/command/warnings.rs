//! The note of `tally run` and `tally build` about files that `tally verify` would warn about: one line for each
//! file.
//!
//! Only the first warning is shown, so that the program's own output is not hidden among warnings. It goes to
//! standard error, before the program starts.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::report::Severity;
use crate::pipeline::Object;

use super::messages::Messages;

/// Reports files with warnings on standard error.
pub(super) fn report(objects: &[Object], messages: &Messages) {
    let mut reporter = messages.reporter();
    for object in objects {
        let Some(first) = first(object) else { continue };
        match &mut reporter {
            Some(reporter) => tally_heap::tell!("{}", reporter.show(Severity::Warning, &first, Some(&others(object)))),
            None => tally_heap::tell_line!("tally: warning: {}", line(&first, object)),
        }
    }
}

/// The first warning, without advice.
fn first(object: &Object) -> Option<Diagnostic> {
    object.warnings.first().map(|first| Diagnostic { help: None, ..first.clone() })
}

fn line(first: &Diagnostic, object: &Object) -> String {
    let more = match object.warnings.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{first}{more}; `tally verify {}` says what to do", object.file.display())
}

/// The line below a warning that is shown with its source: the number of others, and the command that gives advice.
fn others(object: &Object) -> String {
    let more = match object.warnings.len() - 1 {
        0 => String::new(),
        more => format!("{more} more in this file; "),
    };
    format!("{more}`tally verify {}` says what to do", object.file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(warnings: usize) -> Object {
        let warning = |number| Diagnostic::about_module("prog.c", format!("mistake {number}")).help("do better");
        let warnings = (0..warnings).map(warning).collect();
        Object { file: "prog.c".into(), bytes: Vec::new(), defines_main: true, warnings, remarks: Vec::new() }
    }

    #[test]
    fn one_line_for_a_file_however_many_warnings() {
        let line = |warnings| first(&object(warnings)).map(|first| line(&first, &object(warnings)));
        assert_eq!(line(0), None);
        assert_eq!(line(1).unwrap(), "prog.c: mistake 0; `tally verify prog.c` says what to do");
        assert_eq!(line(3).unwrap(), "prog.c: mistake 0 (and 2 more); `tally verify prog.c` says what to do");
        assert_eq!(others(&object(1)), "`tally verify prog.c` says what to do");
        assert_eq!(others(&object(3)), "2 more in this file; `tally verify prog.c` says what to do");
    }
}
