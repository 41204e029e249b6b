//! The place in the source of an address of an object, read from its DWARF.
//!
//! `root_listing` looks up the line of each call. The programs of `.debug_line` follow each other, each with the
//! names of its files, and `file:line` needs nothing else. So they are run one after the other, each once. By the
//! units of `.debug_info`, as debuggers and `addr2line` go, a damaged object may have a thousand units run one
//! program each (decision 53 has the cost).
//!
//! An object without debug information, or with some that cannot be read, has no lines, or those before the damage;
//! that is no error, since lines are not essential.
//!
//! Source: DWARF Debugging Information Format, version 5, section 6.2.

use std::fmt;

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, Format, LineProgramHeader, LittleEndian, Reader};

use crate::maps::placed_object::PlacedObject;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The line table of an object.
#[derive(Debug, Default)]
pub(crate) struct LineTable<'a> {
    /// By `start`.
    rows: Vec<Row>,
    files: Vec<&'a str>,
}

/// A line of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// Without its folder.
    pub file: &'a str,
    /// From 1.
    pub line: u32,
}

impl fmt::Display for SourceLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}

/// The code of one line, from `start` to before `end`.
#[derive(Debug)]
struct Row {
    start: u64,
    end: u64,
    line: u32,
    file: u32,
}

impl<'a> LineTable<'a> {
    /// Runs the line programs of `placed`.
    pub(crate) fn read(placed: &'a PlacedObject<'_>) -> LineTable<'a> {
        let strings = Strings { line: section(placed, ".debug_line_str"), usual: section(placed, ".debug_str") };
        let programs = DebugLine::from(section(placed, ".debug_line"));
        let mut table = LineTable::default();
        let mut offset = 0;
        while let Ok(Some(next)) = table.run(&programs, offset, &strings) {
            offset = next;
        }
        table.rows.sort_by_key(|row| row.start);
        table
    }

    /// The line of an address.
    pub(crate) fn place(&self, address: u64) -> Option<SourceLine<'a>> {
        let behind = self.rows.partition_point(|row| row.start <= address);
        let row = self.rows.get(behind.checked_sub(1)?).filter(|row| address < row.end && row.line != 0)?;
        let file = self.files.get(row.file as usize)?;
        Some(SourceLine { file, line: row.line })
    }

    /// Runs the program at `offset` and returns the start of the next one.
    fn run(
        &mut self,
        programs: &DebugLine<Bytes<'a>>,
        offset: usize,
        strings: &Strings<'a>,
    ) -> Result<Option<usize>, gimli::Error> {
        const ADDRESS_BYTES: u8 = 8;
        let program = programs.program(DebugLineOffset(offset), ADDRESS_BYTES, None, None)?;
        let length_bytes = if program.header().format() == Format::Dwarf64 { 12 } else { 4 };
        let next = offset.checked_add(length_bytes).and_then(|start| start.checked_add(program.header().unit_length()));
        let first_file = self.add_files(program.header(), strings);
        let mut rows = program.rows();
        let mut before: Option<Row> = None;
        while let Some((_, row)) = rows.next_row()? {
            let start = row.address();
            if let Some(before) = before.take().filter(|before| before.start < start) {
                self.rows.push(Row { end: start, ..before });
            }
            if !row.end_sequence() {
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
                let file = u32::try_from(row.file_index()).ok().and_then(|file| file.checked_add(first_file));
                before = Some(Row { start, end: start, line, file: file.unwrap_or(u32::MAX) });
            }
        }
        Ok(next)
    }

    /// Adds the names of a program's files; the number of its file 0. Before version 5 files are counted from 1, and 0
    /// is the unit's own, which is not named here.
    fn add_files(&mut self, header: &LineProgramHeader<Bytes<'a>>, strings: &Strings<'a>) -> u32 {
        let first = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        if header.version() < 5 {
            self.files.push("");
        }
        self.files.extend(header.file_names().iter().map(|file| strings.name(file.path_name())));
        first
    }
}

fn section<'a>(placed: &'a PlacedObject<'_>, name: &str) -> Bytes<'a> {
    EndianSlice::new(placed.section(name).unwrap_or_default(), LittleEndian)
}

/// The sections that may contain names of files.
struct Strings<'a> {
    line: Bytes<'a>,
    usual: Bytes<'a>,
}

impl<'a> Strings<'a> {
    /// A file's name without its folder; empty where it cannot be read.
    fn name(&self, path: AttributeValue<Bytes<'a>>) -> &'a str {
        let at = |mut section: Bytes<'a>, offset: usize| {
            section.skip(offset)?;
            section.read_null_terminated_slice()
        };
        let path = match path {
            AttributeValue::String(path) => Ok(path),
            AttributeValue::DebugLineStrRef(offset) => at(self.line, offset.0),
            AttributeValue::DebugStrRef(offset) => at(self.usual, offset.0),
            _ => return "",
        };
        let path = path.ok().and_then(|path| std::str::from_utf8(path.slice()).ok()).unwrap_or("");
        path.rsplit('/').next().unwrap_or(path)
    }
}
