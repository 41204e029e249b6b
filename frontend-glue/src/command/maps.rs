//! `tally maps`: list the roots at every call.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::options::Compiling;
use frontend_glue::pipeline::{self, Destination};
use frontend_glue::root_listing::{self, CallSite, Root};

/// List the roots that the collector finds at every call
///
/// One line for each root of each call: the function, the call (offset of its return address, and
/// the source line where there is debug information), the root variable, where its slot is while
/// the call runs, and the descriptor by which the slot is read (- is one plain reference).
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Maps {
    #[command(flatten)]
    compiling: Compiling,
    /// A module: .ll, .bc or .c
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

const EPILOGUE: &str = "\
Examples:
  tally maps program.ll
  tally maps --opt 0 program.c";

const HEADINGS: [&str; 5] = ["FUNCTION", "CALL", "ROOT", "SLOT", "DESCRIPTOR"];

impl Maps {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let options = self.compiling.compile_options(false, Destination::LinkedImage);
        for object in pipeline::compile(&[self.file], &options)? {
            super::print(table(&root_listing::list(&object.bytes)?).as_bytes())?;
        }
        Ok(())
    }
}

type Row = [String; 5];

fn table(calls: &[CallSite]) -> String {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(calls.iter().flat_map(rows_of));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn rows_of(call: &CallSite) -> Vec<Row> {
    let site = match &call.line {
        Some(line) => format!("+{:#x} {line}", call.offset),
        None => format!("+{:#x}", call.offset),
    };
    let row =
        |root: String, slot: String, descriptor: String| [call.function.clone(), site.clone(), root, slot, descriptor];
    if call.roots.is_empty() {
        return vec![row("(no roots)".into(), String::new(), String::new())];
    }
    call.roots
        .iter()
        .map(|root| {
            let descriptor = root.descriptor.clone().unwrap_or_else(|| "-".into());
            row(name(root, &call.function), root.slot.to_string(), descriptor)
        })
        .collect()
}

/// The variable; with its function's name where that was inlined into another.
fn name(root: &Root, function: &str) -> String {
    let variable = if root.name.is_empty() { "(unnamed)" } else { &root.name };
    match &root.owner {
        Some(owner) if owner != function => format!("{owner}.{variable}"),
        _ => variable.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stack_roots::{BaseRegister, Location};

    #[test]
    fn columns_line_up() {
        let root = Root {
            name: "list".into(),
            owner: Some("push".into()),
            slot: Location::Direct { base: BaseRegister::Rsp, offset: 16 },
            descriptor: None,
        };
        let calls = [
            CallSite { function: "main".into(), offset: 0x2f, line: Some("a.c:7".into()), roots: vec![root] },
            CallSite { function: "main".into(), offset: 0x40, line: None, roots: vec![] },
        ];
        assert_eq!(
            table(&calls),
            "FUNCTION  CALL         ROOT        SLOT      DESCRIPTOR\n\
             main      +0x2f a.c:7  push.list   [rsp+16]  -\n\
             main      +0x40        (no roots)\n"
        );
    }
}
