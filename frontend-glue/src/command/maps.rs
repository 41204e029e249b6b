//! `tally maps`: list the roots at every call.
//!
//! For modules it lists the compiled code, for objects their content. Objects may be damaged: the listing is printed
//! as it is made, so that it takes no memory, however wide damage makes its columns.

use std::path::{Path, PathBuf};

use clap::Args;
use stack_roots::Machine;

use super::failure::Failure;
use super::messages::Messages;
use super::options::Compiling;
use crate::load::source_file;
use crate::maps::placed_object::PlacedObject;
use crate::maps::root_listing::{self, CallSite, Root};
use crate::pipeline::{self, Destination};

/// List the roots that the collector finds at every call
///
/// One line for each root of each call: the function, the call (offset of its return address, and
/// the source line where there is debug information), the root variable, the place of its slot
/// during the call, and the descriptor by which the slot is read (- is one plain reference).
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Maps {
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    messages: Messages,
    /// A module (.ll, .bc or .c), or an object that was made of one
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

const EPILOGUE: &str = "\
Examples:
  tally maps program.ll
  tally maps --opt 0 program.c
  tally maps program.o";

/// Bytes that are printed at a time.
const CHUNK_BYTES: usize = 64 << 10;

const HEADINGS: [&str; 5] = ["FUNCTION", "CALL", "ROOT", "SLOT", "DESCRIPTOR"];

impl Maps {
    pub(super) fn execute(self) -> Result<(), Failure> {
        if let Some(object) = source_file::read_object(&self.file)? {
            return list(&self.file, &object);
        }
        let options = self.compiling.compile_options(false, Destination::LinkedImage);
        let compiled = pipeline::compile(std::slice::from_ref(&self.file), &options);
        for object in compiled.map_err(|error| self.messages.failure(error))? {
            list(&object.file, &object.bytes)?;
        }
        Ok(())
    }
}

fn list(file: &Path, object: &[u8]) -> Result<(), Failure> {
    let named = |error: &dyn std::fmt::Display| Failure(format!("{}: {error}", file.display()));
    let placed = PlacedObject::read(object).map_err(|error| named(&error))?;
    let calls = root_listing::list(&placed).map_err(|error| named(&error))?;
    print_table(&calls, placed.target().frames(), |text| super::failure::print(text.as_bytes()))
}

type Row = [String; 5];

fn print_table(
    calls: &[CallSite],
    machine: Machine,
    mut print: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let rows =
        || std::iter::once(HEADINGS.map(str::to_owned)).chain(calls.iter().flat_map(|call| rows_of(call, machine)));
    let mut widths = [0; 5];
    for row in rows() {
        widths = std::array::from_fn(|column| row[column].chars().count().max(widths[column]));
    }
    let mut text = String::new();
    for row in rows() {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        if text.len() > CHUNK_BYTES {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)
}

fn rows_of(call: &CallSite, machine: Machine) -> Vec<Row> {
    let site = match &call.line {
        Some(line) => format!("+{:#x} {line}", call.offset),
        None => format!("+{:#x}", call.offset),
    };
    let row = |root: String, slot: String, descriptor: String| {
        [call.function.to_string(), site.clone(), root, slot, descriptor]
    };
    if call.roots.is_empty() {
        return vec![row("(no roots)".into(), String::new(), String::new())];
    }
    call.roots
        .iter()
        .map(|root| {
            let descriptor = root.descriptor.as_deref().unwrap_or("-");
            row(name(root, &call.function), root.slot.on(machine), descriptor.to_owned())
        })
        .collect()
}

/// The variable; with its function's name if that function was inlined into another.
fn name(root: &Root, function: &str) -> String {
    let variable = if root.name.is_empty() { "(unnamed)" } else { root.name };
    match root.owner {
        Some(owner) if owner != function => format!("{owner}.{variable}"),
        _ => variable.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::line_table::SourceLine;
    use stack_roots::{BaseRegister, Location};

    #[test]
    fn columns_line_up() {
        let root = Root {
            name: "list",
            owner: Some("push"),
            slot: Location::Direct { base: BaseRegister::Rsp, offset: 16 },
            descriptor: None,
        };
        let line = Some(SourceLine { file: "a.c", line: 7 });
        let calls = [
            CallSite { function: "main".into(), offset: 0x2f, line, roots: [root].into() },
            CallSite { function: "main".into(), offset: 0x40, line: None, roots: [].into() },
        ];
        let mut printed = String::new();
        print_table(&calls, Machine::X86_64, |text| {
            printed.push_str(text);
            Ok(())
        })
        .unwrap();
        assert_eq!(
            printed,
            "FUNCTION  CALL         ROOT        SLOT      DESCRIPTOR\n\
             main      +0x2f a.c:7  push.list   [rsp+16]  -\n\
             main      +0x40        (no roots)\n"
        );
    }
}
