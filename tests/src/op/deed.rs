//! The action of a finalizer: a little program of one line, which its object carries in a word of the payload.
//!
//! A finalizer runs inside a safepoint of the heap under test, where the driver cannot take part. So it does not
//! consult the model: it reads its deed from the object, does it, and leaves [`Event`]s, which the driver applies to
//! the model in the order in which they happened, as soon as the heap has returned. Deeds touch only the object
//! itself, globals and the objects in globals: the registers of the program stay as they are, so that an op may rely
//! on them across its own safepoints.

use std::fmt;

use super::text::Words;
use crate::shape::{Encoding, Kind};

/// The action of an object's finalizer when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Nothing.
    Nothing,
    /// Stores the object in a global: it lives on.
    Keep(u8),
    /// Stores it in the first slot of a global's object.
    Hang(u8),
    /// Writes the content of a global into the object's own first slot.
    Write(u8),
    /// Writes null into both of its slots.
    Clear,
    /// Allocates a pair and writes it into its second slot.
    Allocate,
    /// Writes null into a global.
    Drop(u8),
    /// Registers its object anew, so many times.
    Again(u8),
    /// Unwinds.
    Panic,
    /// Requests a collection, which is postponed.
    Collect,
    /// Polls.
    Poll,
}

/// Something that a heap did inside a safepoint, in the words of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The finalizer of the object began.
    Finalized(u64),
    /// It allocated a pair for its second slot; nothing if there was no room.
    Allocated {
        /// The object with the finalizer.
        object: u64,
        /// The pair.
        pair: Option<u64>,
    },
    /// The exception that escaped the finalizer was caught.
    Escaped(u64),
    /// The callback of the weak reference was called.
    Called(u64),
}

/// The upper bits of a deed in its object: no address, no count.
const PATTERN: u64 = 0xdeed_0000_0000_0000;

impl Deed {
    /// The word that an object carries.
    pub fn encode(self) -> u64 {
        let (code, number) = match self {
            Deed::Nothing => (0, 0),
            Deed::Keep(global) => (1, global),
            Deed::Hang(global) => (2, global),
            Deed::Write(global) => (3, global),
            Deed::Clear => (4, 0),
            Deed::Allocate => (5, 0),
            Deed::Drop(global) => (6, global),
            Deed::Again(times) => (7, times),
            Deed::Panic => (8, 0),
            Deed::Collect => (9, 0),
            Deed::Poll => (10, 0),
        };
        PATTERN | code << 8 | u64::from(number)
    }

    /// The deed in such a word; `None` if it is none: then something has overwritten it.
    pub fn decode(word: u64) -> Option<Deed> {
        let number = word as u8;
        let deed = match (word ^ PATTERN) >> 8 {
            0 => Deed::Nothing,
            1 => Deed::Keep(number),
            2 => Deed::Hang(number),
            3 => Deed::Write(number),
            4 => Deed::Clear,
            5 => Deed::Allocate,
            6 => Deed::Drop(number),
            7 => Deed::Again(number),
            8 => Deed::Panic,
            9 => Deed::Collect,
            10 => Deed::Poll,
            _ => return None,
        };
        Some(deed)
    }

    /// The object's word after the finalizer has begun: an object is registered anew only that many times.
    pub fn after(self) -> Deed {
        match self {
            Deed::Again(times) => Deed::Again(times.saturating_sub(1)),
            deed => deed,
        }
    }

    pub(super) fn parse(words: &mut Words<'_>) -> Result<Deed, String> {
        Ok(match words.next()? {
            "nothing" => Deed::Nothing,
            "keep" => Deed::Keep(words.number()?),
            "hang" => Deed::Hang(words.number()?),
            "write" => Deed::Write(words.number()?),
            "clear" => Deed::Clear,
            "allocate" => Deed::Allocate,
            "drop" => Deed::Drop(words.number()?),
            "again" => Deed::Again(words.number()?),
            "panic" => Deed::Panic,
            "collect" => Deed::Collect,
            "poll" => Deed::Poll,
            other => return Err(format!("no deed of a finalizer is called `{other}`")),
        })
    }
}

/// The offset at which [`Deed::Hang`] stores into an object of that kind, if it does.
pub fn hang_offset(kind: Kind) -> Option<u64> {
    let shape = kind.shape();
    let plain = shape.encoding == Encoding::Pointer && kind != Kind::Label && !shape.ephemeron;
    shape.refs.first().filter(|_| plain).map(|offset| u64::from(*offset))
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deed::Nothing => write!(f, "nothing"),
            Deed::Keep(global) => write!(f, "keep {global}"),
            Deed::Hang(global) => write!(f, "hang {global}"),
            Deed::Write(global) => write!(f, "write {global}"),
            Deed::Clear => write!(f, "clear"),
            Deed::Allocate => write!(f, "allocate"),
            Deed::Drop(global) => write!(f, "drop {global}"),
            Deed::Again(times) => write!(f, "again {times}"),
            Deed::Panic => write!(f, "panic"),
            Deed::Collect => write!(f, "collect"),
            Deed::Poll => write!(f, "poll"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_read_from_its_word_and_a_stray_word_is_none() {
        let all = [Deed::Nothing, Deed::Keep(3), Deed::Clear, Deed::Again(2), Deed::Panic, Deed::Poll];
        for deed in all {
            assert_eq!(Deed::decode(deed.encode()), Some(deed));
        }
        assert_eq!(Deed::decode(0), None);
        assert_eq!(Deed::decode(0x2000_0000_1000), None);
    }
}
