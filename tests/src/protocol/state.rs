//! A state: the protocol's data about each object, and the position of the passes. Flat and small: millions are made.

use super::{FIELDS_MAX, NULL, Name, OBJECTS_MAX, Words};

/// The flags of the header and the bit tables.
pub mod flag {
    /// The cell holds an object.
    pub const USED: u8 = 1;
    /// It survived a flip.
    pub const MATURE: u8 = 2;
    /// A mark has condemned it, or it died while one ran.
    pub const DEAD: u8 = 4;
    /// The next write must log it.
    pub const UNLOGGED: u8 = 8;
    /// It is in the candidate buffer.
    pub const BUFFERED: u8 = 16;
    /// The running mark has reached it.
    pub const MARKED: u8 = 32;
    /// It is on the mark stack.
    pub const TO_VISIT: u8 = 64;
    /// It is in the promotion queue.
    pub const TO_PROMOTE: u8 = 128;
}

/// When an object was allocated or last logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stamp {
    /// Mature, and not logged.
    #[default]
    Clean,
    /// In the running epoch.
    Running,
    /// In the last one: pending until the increments have reached it.
    Last,
}

/// The queue of the dead that an object is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queue {
    /// None: it is not known to be dead.
    #[default]
    None,
    /// At count zero; its references are still to be released.
    Release,
    /// Its memory waits for the end of the mark.
    Mark,
    /// Its memory waits for the running log to be reconciled.
    Late,
    /// Its memory waits for the last log to be reconciled.
    LastLate,
}

/// An object's entry in a log, at most one in each. `[LOG]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The extent to which it was read.
    pub read: Read,
    /// The words.
    pub words: Words,
}

/// The extent to which a log entry was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Read {
    /// There is no entry.
    #[default]
    Absent,
    /// It has not been read.
    Unread,
    /// Running log: the mark has read it. Last log: the increments have, and its words are still to be decremented.
    Once,
}

impl Default for Entry {
    fn default() -> Self {
        Entry { read: Read::Absent, words: [NULL; FIELDS_MAX] }
    }
}

/// A cell, and the protocol's data about the object in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// See [`flag`].
    pub flags: u8,
    /// The cell's block, for ever.
    pub block: u8,
    /// See [`Stamp`].
    pub stamp: Stamp,
    /// See [`Queue`].
    pub queue: Queue,
    /// Its count.
    pub count: u8,
    /// The mutator's roots that hold it.
    pub held: u8,
    /// The roots of the last flip that held it: each is one count.
    pub roots: u8,
    /// The roots of the flip before that are still to be released.
    pub last_roots: u8,
    /// Entries of the candidate buffer with its address.
    pub buffered: u8,
    /// Those of them that were made for an object that has died.
    pub stale: u8,
    /// Its references.
    pub words: Words,
    /// Its entry in the running log.
    pub running: Entry,
    /// Its entry in the log of the epoch before.
    pub last: Entry,
}

impl Default for Object {
    fn default() -> Self {
        Object {
            flags: 0,
            block: 0,
            stamp: Stamp::Clean,
            queue: Queue::None,
            count: 0,
            held: 0,
            roots: 0,
            last_roots: 0,
            buffered: 0,
            stale: 0,
            words: [NULL; FIELDS_MAX],
            running: Entry::default(),
            last: Entry::default(),
        }
    }
}

impl Object {
    /// Whether one of the flags is set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// The objects it refers to.
    pub fn targets(&self) -> impl Iterator<Item = Name> + use<> {
        self.words.into_iter().filter(|&target| target != NULL)
    }
}

/// The phase of the last flip's passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are those of cycle-detector/src/plan/deferred/epoch.rs")]
pub enum Phase {
    #[default]
    Idle,
    Count,
    Sweep,
    Release,
    Try,
}

/// The stage of the backup mark. Its clearing of bits is part of its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are those of cycle-detector/src/plan/deferred/mark.rs")]
pub enum Stage {
    #[default]
    Off,
    Discover,
    Release,
    Free,
}

/// The heap and the collector between two actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The cells.
    pub objects: [Object; OBJECTS_MAX],
    /// See [`Phase`].
    pub phase: Phase,
    /// See [`Stage`].
    pub stage: Stage,
    /// Operations that the mutator has left.
    pub operations: u8,
}
