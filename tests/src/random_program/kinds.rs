//! The types of random programs, as `prelude.h` declares them: which fields hold references, words, numbers.
//!
//! In a field `@` stands for an index: it becomes `AT(Type, variable, number)`, which is in bounds if `IS_Type` holds.

/// One type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// The type's name in C.
    pub name: &'static str,
    /// Fields that are plain references.
    pub references: &'static [&'static str],
    /// Fields that are tagged words: all `Low`, or all `Nan`.
    pub words: &'static [&'static str],
    /// Fields that are numbers.
    pub numbers: &'static [&'static str],
    /// Whether it is made by `TALLY_NEW_ARRAY`.
    pub is_array: bool,
    /// The relative frequency of new objects.
    pub weight: usize,
}

/// Kinds with destructors.
const FINALIZED: [&str; 3] = ["Guard", "Maker", "Shelf"];

const fn kind(
    name: &'static str,
    references: &'static [&'static str],
    words: &'static [&'static str],
    numbers: &'static [&'static str],
    is_array: bool,
    weight: usize,
) -> Kind {
    Kind { name, references, words, numbers, is_array, weight }
}

/// All types.
pub(super) const KINDS: [Kind; 13] = [
    kind("Leaf", &[], &[], &["x"], false, 3),
    kind("Pair", &["a", "b"], &[], &["x"], false, 8),
    kind("Node", &["left", "right", "inner.more[0]", "inner.more[1]"], &[], &["x", "inner.y"], false, 5),
    kind("Row", &["at[@]"], &[], &[], true, 4),
    kind("Table", &["owner", "at[@].key", "at[@].value"], &[], &["at[@].n"], true, 3),
    kind("Bytes", &["owner"], &[], &["at[@]"], true, 1),
    kind("Cell", &[], &["head", "tail"], &["x"], false, 4),
    kind("Vec", &[], &["first", "at[@]"], &[], true, 3),
    kind("Big", &["f[0]", "f[3]", "f[9]", "last"], &[], &["x", "pad[7]", "pad[1199]"], false, 1),
    kind("Wide", &["a", "b"], &[], &["x"], false, 1),
    kind("Guard", &["held"], &[], &["x"], false, 3),
    kind("Maker", &["made", "other"], &[], &["x"], false, 2),
    kind("Shelf", &["at[@]"], &[], &[], true, 2),
];

impl Kind {
    /// Whether its destructor counts.
    pub fn is_finalized(&self) -> bool {
        FINALIZED.contains(&self.name)
    }

    /// Whether it is small, of a known size, and has nothing but numbers and plain references.
    pub fn is_plain(&self) -> bool {
        !self.is_array && !self.is_finalized() && self.words.is_empty() && self.name != "Big"
    }

    /// The name of its words' type and the prefix of its macros: ("Low", "LOW").
    pub fn word(&self) -> (&'static str, &'static str) {
        if self.is_array { ("Nan", "NAN") } else { ("Low", "LOW") }
    }

    /// The field with its index: "at[AT(Row, v, n)]".
    pub fn field(&self, field: &str, variable: &str, index: &str) -> String {
        field.replace('@', &format!("AT({}, {variable}, {index})", self.name))
    }
}
