//! Weak slots: words of objects that refer without counting. `[WEAK]`
//!
//! A weak slot is any word of an object that its descriptor does not name. Which words are weak slots now, and what
//! they refer to, is known here and nowhere else: the passes never see such a word. When the reclaim of a target
//! begins, its slots are cleared: they become 0, or what the holder's type makes of them
//! ([`TypeInfo::on_clear`](crate::type_registry::TypeInfo)).
//!
//! The key of an ephemeron is such a slot, too; it is cleared later, when the memory of its target goes: a dead key
//! with a finalizer is still one while that runs.
//!
//! **Upgrade** makes a reference of a weak slot's word, or null. Under the prompt plan counts say all: what is not
//! being taken apart may be had, also when it is at zero and waits for the drain. Under the deferred plan the target
//! may have been unreachable at the last flip, while the passes over that are still running: it is counted once more
//! and entered with the flip's roots, so that it survives what they will find, as if a root had held it
//! ([`Specials::upgraded`](crate::services::special::Specials)). Expected cost: when the target is young or among the flip's
//! roots 20 instructions; the first upgrade of an epoch a push.
//!
//! Both ends of a slot find it in constant time, so that a holder with a million of them, or a target, is no worse than
//! a million holders (`weak/links.rs`).

pub mod links;
mod upgrade;

/// The kind of a slot that does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakKind {
    /// A weak reference.
    Reference,
    /// The key of an ephemeron.
    Key,
}
