//! `--remarks`: the counts that the prompt plan saved, the objects that are on the stack, and their places.
//!
//! On standard error as clang prints remarks, one per line; or in a file, in the YAML form of LLVM's remarks, which
//! `llvm-remarkutil` and opt-viewer read (LLVM's Remarks.rst, "YAML remarks").

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use crate::aot::output_file;
use crate::lower::Remark;

/// Where remarks go.
#[derive(Args, Debug)]
pub(super) struct Remarks {
    /// Say which objects are on the stack, and which counts the prompt plan saved: on standard error, or as LLVM remarks in FILE
    #[arg(long, value_name = "FILE.yaml", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    remarks: Option<PathBuf>,
}

impl Remarks {
    /// Writes the remarks, if the option is set.
    pub(super) fn report<'a>(&self, remarks: impl Iterator<Item = &'a Remark>) -> Result<(), Failure> {
        match &self.remarks {
            None => {}
            Some(place) if place.as_os_str() == "-" => remarks.for_each(|remark| tally_heap::tell_line!("{remark}")),
            Some(file) => output_file::write(file, yaml(remarks).as_bytes())?,
        }
        Ok(())
    }
}

fn yaml<'a>(remarks: impl Iterator<Item = &'a Remark>) -> String {
    let mut text = String::new();
    for remark in remarks {
        let (pass, name) = (remark.saving.pass(), remark.saving.name());
        let _ = writeln!(text, "--- !Passed\nPass:            {pass}\nName:            {name}");
        if let Some((file, line, column)) = &remark.place {
            let _ = writeln!(text, "DebugLoc:        {{ File: {}, Line: {line}, Column: {column} }}", quoted(file));
        }
        let _ = writeln!(text, "Function:        {}\nArgs:", quoted(&remark.function));
        let _ = writeln!(text, "  - String:          {}\n...", quoted(&remark.saving.to_string()));
    }
    text
}

/// A scalar in single quotes, in which only a quote must be escaped.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::Saving;

    #[test]
    fn a_remark_is_a_yaml_document() {
        let remark = Remark {
            function: "it's".into(),
            place: Some(("a.c".into(), 3, 7)),
            saving: Saving::MovedToRoot { root: "x".into() },
        };
        let expected = "--- !Passed\nPass:            tally-count\nName:            MovedToRoot\n\
            DebugLoc:        { File: 'a.c', Line: 3, Column: 7 }\nFunction:        'it''s'\nArgs:\n  \
            - String:          'no count: the value''s own count moves to root `x`'\n...\n";
        assert_eq!(yaml([&remark].into_iter()), expected);
    }
}
