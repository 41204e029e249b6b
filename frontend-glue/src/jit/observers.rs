//! The tools that watch a process, gdb and perf, and what they are told of linked code.
//!
//! gdb is always told ([`gdb_interface`]): that costs a copy of the object and as many lookups as it has sections. perf's file is
//! written when it is asked for ([`perf_map`]), as the process leaves it behind.

use std::borrow::Cow;

use tally_compiled::program::options::switch_of;

use super::gdb_interface::Registration;
use super::landmarks;
use super::orc::{LinkError, Linker};
use super::perf_map;
use super::placed::Placed;

/// The tools that are told, beside gdb.
#[derive(Clone, Copy, Debug)]
pub struct Observers {
    /// Whether perf's file is written.
    pub perf_map: bool,
}

impl Observers {
    /// What the environment asks for, by `TALLY_PERF_MAP=1`.
    pub fn from_env() -> Result<Observers, LinkError> {
        let perf_map = switch_of("TALLY_PERF_MAP").map_err(|error| LinkError::Option(error.to_string()))?;
        Ok(Observers { perf_map })
    }

    /// The object as the linker is to have it. No other of that linker has the same `number`.
    pub(super) fn prepare(self, object: &[u8], number: usize) -> Cow<'_, [u8]> {
        landmarks::add(object, number).map_or(Cow::Borrowed(object), Cow::Owned)
    }

    /// Tells the tools of an object that was linked; gdb forgets it when the result is dropped. Its sections are found by the landmarks
    /// that it was given with the same `number`.
    pub(super) fn announce(self, object: &[u8], number: usize, linker: &Linker) -> Option<Registration> {
        let placed = Placed::find(object, number, |symbol| linker.address(symbol).ok())?;
        if self.perf_map {
            perf_map::append(&placed);
        }
        Some(Registration::of(&placed))
    }
}
