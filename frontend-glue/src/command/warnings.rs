//! What `tally run` and `tally build` say of files that `tally verify` would warn about: one line for each file.
//!
//! The first warning stands for all, so that the program's own output is not drowned; it goes to standard error, before
//! the program starts.

use tally_llvm::pipeline::Object;

/// Reports files with warnings on standard error.
pub(super) fn report(objects: &[Object]) {
    for object in objects {
        if let Some(line) = line(object) {
            eprintln!("tally: warning: {line}");
        }
    }
}

fn line(object: &Object) -> Option<String> {
    let mut first = object.warnings.first()?.clone();
    first.help = None;
    let more = match object.warnings.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("{first}{more}; `tally verify {}` says what to do", object.file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tally_llvm::diagnostic::Diagnostic;

    fn object(warnings: usize) -> Object {
        let warning = |number| Diagnostic::about_module("prog.c", format!("mistake {number}")).help("do better");
        let warnings = (0..warnings).map(warning).collect();
        Object { file: "prog.c".into(), bytes: Vec::new(), defines_main: true, warnings, remarks: Vec::new() }
    }

    #[test]
    fn one_line_for_a_file_however_many_warnings() {
        assert_eq!(line(&object(0)), None);
        assert_eq!(line(&object(1)).unwrap(), "prog.c: mistake 0; `tally verify prog.c` says what to do");
        assert_eq!(line(&object(3)).unwrap(), "prog.c: mistake 0 (and 2 more); `tally verify prog.c` says what to do");
    }
}
