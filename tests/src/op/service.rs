//! The ops of the heap's services: weak references, ephemerons, weak maps and sets, finalizers, handles, control, limits.
//!
//! docs/use/services.md defines them; `replay/services.rs`, `replay/finalizers.rs` and `replay/control.rs` compare
//! their results. A place with a weak slot is written like any other, `r3.1`, and the number is taken modulo the
//! number of weak slots.

use std::fmt;

use tally_heap::services::weak_map::WeakMode;

use super::text::{OptionalRegister, Words};
use super::{Deed, Place, Register, Value};
use crate::shape::Kind;

/// Number of global handles that a program has at most.
pub const GLOBAL_HANDLES: usize = 4;
/// Number of objects that a program has open at most.
pub const OPEN_OBJECTS: usize = 3;
/// The handle stack does not grow beyond this.
pub const HANDLES_MAX: usize = 48;

/// An op that uses one of the heap's services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named in the text form of each op")]
pub enum Service {
    /// A new object of a kind with a finalizer, and the finalizer's deed.
    Finalizable { kind: Kind, deed: Deed, into: Register },
    /// `tally_finalize_register`.
    Register { object: Register },
    /// `tally_finalize_forget`.
    Forget { object: Register },
    /// `tally_weak_new`, or `_with` a callback.
    Weak { into: Register, target: Register, called: bool },
    /// `tally_weak_write`, or `tally_ephemeron_key_write` where the slot is a key.
    WeakWrite { place: Place, target: Option<Register> },
    /// `tally_weak_get`; the result goes into a register.
    Upgrade { into: Register, place: Place },
    /// `tally_ephemeron_new`.
    Ephemeron { into: Register, key: Register, value: Option<Register> },
    /// `tally_weak_map_new`.
    Map { mode: WeakMode, into: Register },
    /// `tally_weak_map_set`.
    MapSet { map: Register, key: Register, value: Register },
    /// `tally_weak_map_get`.
    MapGet { into: Register, map: Register, key: Register },
    /// `tally_weak_map_remove`.
    MapRemove { map: Register, key: Register },
    /// `tally_weak_set_new`, of members whose first word is their hash: that of some changes.
    Set { into: Register },
    /// `tally_weak_set_add`.
    SetAdd { set: Register, member: Register },
    /// `tally_weak_set_probe` for the hash of an object: the last member that is found goes into a register.
    SetFind { into: Register, set: Register, like: Register },
    /// `tally_weak_set_remove`.
    SetRemove { set: Register, member: Register },
    /// `tally_handles_open`.
    OpenScope,
    /// `tally_handle_new`.
    Handle { object: Register },
    /// The content of a scoped handle (modulo their number) into a register.
    PeekHandle { index: u8, into: Register },
    /// `tally_handles_close` of the innermost scope.
    CloseScope,
    /// The innermost scope is left without being closed, as by `longjmp`: its handles stay until one further out is
    /// closed.
    AbandonScope,
    /// A scope with `count` handles on an object, a poll, and a panic through it, which is caught.
    Raise { object: Register, count: u32 },
    /// `tally_global_new` or `tally_global_set`.
    GlobalHandle { handle: u8, object: Option<Register> },
    /// `tally_global_free`.
    FreeHandle { handle: u8 },
    /// `tally_object_open`, once that of the number is closed; `tally_object_close` alone with null.
    Open { number: u8, object: Option<Register> },
    /// `tally_write_open`, if the object is open.
    OpenWrite { place: Place, value: Value },
    /// `tally_stop`.
    Stop,
    /// `tally_restart`.
    Restart,
    /// `tally_set_limits`: a hard limit in KiB, 0 for none.
    Limit { kib: u32 },
    /// The n-th allocation from now on finds no room.
    Fail { number: u32 },
    /// `tally_step` for no time: the smallest part of an explicit collection.
    Part,
}

impl Service {
    /// Objects it allocates.
    pub fn allocations(self) -> u64 {
        match self {
            Service::Finalizable { .. } | Service::Weak { .. } | Service::Ephemeron { .. } | Service::Map { .. } => 1,
            Service::Set { .. } | Service::SetAdd { .. } => 1,
            Service::MapSet { .. } => 2,
            _ => 0,
        }
    }

    /// Reads the op that begins with `word`; `None` if none does.
    pub(super) fn parse(word: &str, words: &mut Words<'_>) -> Result<Option<Service>, String> {
        let service = match word {
            "finalizable" => {
                let kind = words.kind()?;
                if kind.shape().finalizer.is_none() {
                    return Err(format!("a {} has no finalizer", kind.word()));
                }
                Service::Finalizable { kind, deed: Deed::parse(words)?, into: words.register()? }
            }
            "register" => Service::Register { object: words.register()? },
            "forget" => Service::Forget { object: words.register()? },
            "weak" | "weak-called" => {
                let called = word == "weak-called";
                Service::Weak { into: words.register()?, target: words.after("=")?.register()?, called }
            }
            "weak-write" => {
                Service::WeakWrite { place: words.place()?, target: words.after("=")?.optional_register()? }
            }
            "upgrade" => Service::Upgrade { into: words.register()?, place: words.after("=")?.place()? },
            "ephemeron" => Service::Ephemeron {
                into: words.register()?,
                key: words.after("=")?.register()?,
                value: words.optional_register()?,
            },
            "weak-map" => Service::Map { mode: mode(words.next()?)?, into: words.register()? },
            "map-set" => {
                Service::MapSet { map: words.register()?, key: words.register()?, value: words.after("=")?.register()? }
            }
            "map-get" => {
                Service::MapGet { into: words.register()?, map: words.after("=")?.register()?, key: words.register()? }
            }
            "map-remove" => Service::MapRemove { map: words.register()?, key: words.register()? },
            "weak-set" => Service::Set { into: words.register()? },
            "set-add" => Service::SetAdd { set: words.register()?, member: words.register()? },
            "set-find" => Service::SetFind {
                into: words.register()?,
                set: words.after("=")?.register()?,
                like: words.register()?,
            },
            "set-remove" => Service::SetRemove { set: words.register()?, member: words.register()? },
            "open-scope" => Service::OpenScope,
            "handle" => Service::Handle { object: words.register()? },
            "peek-handle" => Service::PeekHandle { index: words.number()?, into: words.register()? },
            "close-scope" => Service::CloseScope,
            "abandon-scope" => Service::AbandonScope,
            "raise" => Service::Raise { object: words.register()?, count: words.times()? },
            "global-handle" => {
                Service::GlobalHandle { handle: words.number()?, object: words.after("=")?.optional_register()? }
            }
            "free-handle" => Service::FreeHandle { handle: words.number()? },
            "open" => Service::Open { number: words.number()?, object: words.after("=")?.optional_register()? },
            "open-write" => Service::OpenWrite { place: words.place()?, value: words.after("=")?.value()? },
            "stop" => Service::Stop,
            "restart" => Service::Restart,
            "limit" => Service::Limit { kib: words.number()? },
            "fail" => Service::Fail { number: words.number()? },
            "part" => Service::Part,
            _ => return Ok(None),
        };
        Ok(Some(service))
    }
}

fn mode(word: &str) -> Result<WeakMode, String> {
    match word {
        "keys" => Ok(WeakMode::Keys),
        "values" => Ok(WeakMode::Values),
        "both" => Ok(WeakMode::Both),
        other => Err(format!("`{other}` is none of keys, values, both")),
    }
}

fn mode_word(mode: WeakMode) -> &'static str {
    match mode {
        WeakMode::Keys => "keys",
        WeakMode::Values => "values",
        WeakMode::Both => "both",
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Service::Finalizable { kind, deed, into } => write!(f, "finalizable {} {deed} r{into}", kind.word()),
            Service::Register { object } => write!(f, "register r{object}"),
            Service::Forget { object } => write!(f, "forget r{object}"),
            Service::Weak { into, target, called } => {
                write!(f, "weak{} r{into} = r{target}", if called { "-called" } else { "" })
            }
            Service::WeakWrite { place, target } => write!(f, "weak-write {place} = {}", OptionalRegister(target)),
            Service::Upgrade { into, place } => write!(f, "upgrade r{into} = {place}"),
            Service::Ephemeron { into, key, value } => {
                write!(f, "ephemeron r{into} = r{key} {}", OptionalRegister(value))
            }
            Service::Map { mode, into } => write!(f, "weak-map {} r{into}", mode_word(mode)),
            Service::MapSet { map, key, value } => write!(f, "map-set r{map} r{key} = r{value}"),
            Service::MapGet { into, map, key } => write!(f, "map-get r{into} = r{map} r{key}"),
            Service::MapRemove { map, key } => write!(f, "map-remove r{map} r{key}"),
            Service::Set { into } => write!(f, "weak-set r{into}"),
            Service::SetAdd { set, member } => write!(f, "set-add r{set} r{member}"),
            Service::SetFind { into, set, like } => write!(f, "set-find r{into} = r{set} r{like}"),
            Service::SetRemove { set, member } => write!(f, "set-remove r{set} r{member}"),
            Service::OpenScope => write!(f, "open-scope"),
            Service::Handle { object } => write!(f, "handle r{object}"),
            Service::PeekHandle { index, into } => write!(f, "peek-handle {index} r{into}"),
            Service::CloseScope => write!(f, "close-scope"),
            Service::AbandonScope => write!(f, "abandon-scope"),
            Service::Raise { object, count } => write!(f, "raise r{object} x {count}"),
            Service::GlobalHandle { handle, object } => {
                write!(f, "global-handle {handle} = {}", OptionalRegister(object))
            }
            Service::FreeHandle { handle } => write!(f, "free-handle {handle}"),
            Service::Open { number, object } => write!(f, "open {number} = {}", OptionalRegister(object)),
            Service::OpenWrite { place, value } => write!(f, "open-write {place} = {value}"),
            Service::Stop => write!(f, "stop"),
            Service::Restart => write!(f, "restart"),
            Service::Limit { kib } => write!(f, "limit {kib}"),
            Service::Fail { number } => write!(f, "fail {number}"),
            Service::Part => write!(f, "part"),
        }
    }
}
