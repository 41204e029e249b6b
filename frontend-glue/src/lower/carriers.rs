//! The values that a root holds at a place in the program: classes of carriers that carry the same reference.
//!
//! A carrier is an SSA value, a local variable, or a phi's next value. Carriers and root slots that are known to hold
//! the same reference are in one class; a carrier is *rooted* as long as its class has a root. So when a root is
//! overwritten, which ends it for all carriers at once, its class has one root less, and neither a store to one of
//! thirty thousand roots nor a load from it visits the others. (With a set of roots for each carrier, each store went
//! through all sets: for n roots in a loop that writes, n³ / 64 steps.)
//!
//! A class whose last root is gone never gets another: a store of such a value to a root begins a new class.

use crate::llvm::{HandleMap, Value};

/// A value, a local variable (by its alloca), or a phi's value when its block is entered next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Carrier {
    Now(Value),
    NextPhi(Value),
}

/// A class of carriers and roots; the number is an index into `MustAlias::roots_in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Class(usize);

/// What must alias at one place: the carriers and roots that hold references, by class.
#[derive(Debug, Clone, Default)]
pub(super) struct MustAlias {
    carriers: HandleMap<Carrier, Class>,
    /// By the slot.
    roots: HandleMap<Value, Class>,
    /// The number of roots of each class.
    roots_in: Vec<usize>,
}

impl MustAlias {
    /// The class of a carrier that is rooted.
    pub(super) fn class_of(&self, carrier: Carrier) -> Option<Class> {
        self.carriers.get(&carrier).copied().filter(|class| self.roots_in[class.0] > 0)
    }

    /// Whether one of these slots holds what the carrier carries.
    pub(super) fn is_in_one_of(&self, carrier: Carrier, mut slots: impl Iterator<Item = Value>) -> bool {
        self.class_of(carrier).is_some_and(|class| slots.any(|slot| self.roots.get(&slot) == Some(&class)))
    }

    /// Notes that the carrier now carries the reference of the class; an unknown value for `None`.
    pub(super) fn set(&mut self, carrier: Carrier, class: Option<Class>) {
        match class {
            Some(class) => _ = self.carriers.insert(carrier, class),
            None => _ = self.carriers.remove(&carrier),
        }
    }

    /// The class of the reference in a root.
    pub(super) fn class_of_root(&mut self, root: Value) -> Class {
        if let Some(&class) = self.roots.get(&root) {
            return class;
        }
        let class = self.begin();
        self.add_root(root, class);
        class
    }

    /// Notes that the root no longer holds its reference.
    pub(super) fn empty_root(&mut self, root: Value) {
        if let Some(class) = self.roots.remove(&root) {
            self.roots_in[class.0] -= 1;
        }
    }

    /// Notes that the carrier's value was stored to the root, which was emptied before.
    pub(super) fn store(&mut self, carrier: Carrier, root: Value) -> Class {
        let class = self.class_of(carrier).unwrap_or_else(|| self.begin());
        self.carriers.insert(carrier, class);
        self.add_root(root, class);
        class
    }

    fn begin(&mut self) -> Class {
        self.roots_in.push(0);
        Class(self.roots_in.len() - 1)
    }

    fn add_root(&mut self, root: Value, class: Class) {
        self.roots.insert(root, class);
        self.roots_in[class.0] += 1;
    }

    /// Keeps the common knowledge of both: two carriers are in one class if they are so in both.
    pub(super) fn meet(&mut self, other: &MustAlias) {
        let mut pairs: HandleMap<(usize, usize), Class> = HandleMap::default();
        let mut met = MustAlias::default();
        for (&root, class) in &self.roots {
            if let Some(same) = other.roots.get(&root) {
                let class = *pairs.entry((class.0, same.0)).or_insert_with(|| met.begin());
                met.add_root(root, class);
            }
        }
        for (&carrier, class) in &self.carriers {
            // A pair without a root holds nothing.
            if let Some(same) = other.carriers.get(&carrier)
                && let Some(&class) = pairs.get(&(class.0, same.0))
            {
                met.carriers.insert(carrier, class);
            }
        }
        *self = met;
    }

    /// Removes the carriers that are no longer rooted, and the numbers of classes without a root.
    pub(super) fn tidy(&mut self) {
        let same = self.clone();
        self.meet(&same);
    }
}

/// States with the same knowledge are equal, for any numbers of their classes; both are tidy.
impl PartialEq for MustAlias {
    fn eq(&self, other: &MustAlias) -> bool {
        if self.roots.len() != other.roots.len() || self.carriers.len() != other.carriers.len() {
            return false;
        }
        let (mut there, mut back) = (HandleMap::default(), HandleMap::default());
        let mut agree = |one: Class, other: Option<&Class>| {
            other.is_some_and(|other| {
                *there.entry(one.0).or_insert(other.0) == other.0 && *back.entry(other.0).or_insert(one.0) == one.0
            })
        };
        self.roots.iter().all(|(root, &class)| agree(class, other.roots.get(root)))
            && self.carriers.iter().all(|(carrier, &class)| agree(class, other.carriers.get(carrier)))
    }
}
