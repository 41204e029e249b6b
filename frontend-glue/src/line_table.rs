//! Where in the source an address of an object comes from, read from its DWARF.
//!
//! A thin room over `addr2line`: it hands over a placed object's sections and asks for one line at
//! a time. An object without debug information, or with some that cannot be read, has no lines;
//! that is no error, since lines only embellish.

use addr2line::gimli::{self, EndianSlice, LittleEndian, SectionId};

use crate::placed_object::PlacedObject;

/// The line table of an object.
pub struct LineTable<'a> {
    context: Option<addr2line::Context<EndianSlice<'a, LittleEndian>>>,
}

impl<'a> LineTable<'a> {
    /// Finds the debug sections of `placed`.
    pub fn read(placed: &'a PlacedObject) -> LineTable<'a> {
        let load = |id: SectionId| -> Result<_, gimli::Error> {
            Ok(EndianSlice::new(placed.section(id.name()).unwrap_or_default(), LittleEndian))
        };
        let context = gimli::Dwarf::load(load).and_then(addr2line::Context::from_dwarf).ok();
        LineTable { context }
    }

    /// `file:line` of an address.
    pub fn place(&self, address: u64) -> Option<String> {
        let location = self.context.as_ref()?.find_location(address).ok()??;
        let file = location.file?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{name}:{}", location.line?))
    }
}

impl std::fmt::Debug for LineTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineTable").field("has_lines", &self.context.is_some()).finish()
    }
}
