//! One state for all that differ only in the objects' names.
//!
//! Objects are ordered by their properties without names, then by the properties of their targets and referrers.
//! Objects that are still alike keep their order: if they are not interchangeable after all, a state is searched
//! twice, which costs time and is not wrong.

use super::{Entry, NULL, Name, OBJECTS_MAX, Object, State, Words};

/// Old name → new name.
pub(super) type Renaming = [Name; OBJECTS_MAX];

/// Rounds in which the properties of neighbours are included.
const ROUNDS: usize = 2;

impl State {
    /// The state with its objects in canonical order, and the renaming.
    pub(super) fn canonical(&self, objects: usize) -> (State, Renaming) {
        let mut order: [usize; OBJECTS_MAX] = std::array::from_fn(|name| name);
        let signatures = self.signatures();
        order[..objects].sort_by_key(|&name| signatures[name]);
        let mut renaming = [0; OBJECTS_MAX];
        for (new, &old) in order.iter().enumerate() {
            renaming[old] = new as Name;
        }
        let mut state = *self;
        for (new, &old) in order.iter().enumerate() {
            state.objects[new] = renamed(&self.objects[old], &renaming);
        }
        (state, renaming)
    }

    /// 64 bits that tell states apart.
    pub(super) fn fingerprint(&self) -> u64 {
        let first = mix(self.phase as u64 | (self.stage as u64) << 8 | u64::from(self.operations) << 16);
        self.objects.iter().fold(first, |so_far, object| mix(so_far.rotate_left(23) ^ packed(object, |name| name)))
    }

    fn signatures(&self) -> [u64; OBJECTS_MAX] {
        let mut signatures: [u64; OBJECTS_MAX] = std::array::from_fn(|this| {
            mix(packed(&self.objects[this], |name| match name {
                NULL => NULL,
                name => (usize::from(name) == this).into(),
            }))
        });
        for _ in 0..ROUNDS {
            let before = signatures;
            for (this, object) in self.objects.iter().enumerate() {
                let places = [object.words, object.running.words, object.last.words];
                for (place, &target) in places.as_flattened().iter().enumerate() {
                    if target != NULL {
                        let target = usize::from(target);
                        let (out, into) = (before[target] ^ place as u64, before[this] ^ (place + 99) as u64);
                        signatures[this] = signatures[this].wrapping_add(mix(out));
                        signatures[target] = signatures[target].wrapping_add(mix(into));
                    }
                }
            }
        }
        signatures
    }
}

fn renamed(object: &Object, renaming: &Renaming) -> Object {
    let words = |words: Words| words.map(|name| if name == NULL { NULL } else { renaming[usize::from(name)] });
    let entry = |entry: Entry| Entry { words: words(entry.words), ..entry };
    Object { words: words(object.words), running: entry(object.running), last: entry(object.last), ..*object }
}

/// All data of an object in one word; counts stay below 16, which a heap of four objects cannot reach.
fn packed(object: &Object, name: impl Fn(Name) -> Name) -> u64 {
    let mut word = 0;
    let mut push = |bits: u32, value: u8| word = word << bits | u64::from(value);
    push(8, object.flags);
    push(1, object.block);
    push(2, object.stamp as u8);
    push(3, object.queue as u8);
    push(5, object.count.min(31));
    push(2, object.held);
    push(2, object.roots);
    push(2, object.last_roots);
    push(4, object.buffered.min(15));
    push(4, object.stale.min(15));
    push(2, object.running.read as u8);
    push(2, object.last.read as u8);
    for target in [object.words, object.running.words, object.last.words].as_flattened() {
        push(3, name(*target));
    }
    word
}

/// Mixes a word: every bit of the result depends on every bit of the word (the finalizer of splitmix64).
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
