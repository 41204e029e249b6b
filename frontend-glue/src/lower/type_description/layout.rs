//! The layout of an object, field after field: what frontends describe types with, in Rust and through the C API.
//!
//! A [`Layout`] gives each field its offset, as a C compiler would, and becomes a [`TypeDescription`]. So a frontend names fields
//! and counts no bytes. Fields are references, tagged words, or plain.
//!
//! ```
//! use tally_llvm::lower::type_description::layout::Layout;
//! let context = inkwell::context::Context::create();
//! let module = context.create_module("lists");
//! let mut node = Layout::new("Node");
//! assert_eq!(node.reference("next"), 0);
//! assert_eq!(node.plain("value", 8, 8), 8);
//! node.describe()?.define(&module, "Node")?;
//! # Ok::<(), String>(())
//! ```

use super::{Slots, TypeDescription};

/// A word of a reference.
const WORD: u64 = 8;
/// Bytes of the largest object.
const BYTES_MAX: u64 = 1 << 40;

/// How a field is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A reference, or null.
    Reference,
    /// A word that may be a reference: its tag says so.
    Tagged,
    /// No reference.
    Plain,
}

/// The way in which tagged words are read: a word is a reference if the bits of `mask` are `pattern`; then the bits of `pointer`
/// are the address, or all zero for null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tags {
    /// Bits that tell.
    pub mask: u64,
    /// Their value in a reference.
    pub pattern: u64,
    /// Bits of the address.
    pub pointer: u64,
}

impl Tags {
    /// Numbers have the lowest bit set, references have it clear.
    pub const LOW_BIT: Tags = Tags { mask: 1, pattern: 0, pointer: !7 };

    /// Refuses tags by which no word is a reference to an object. Bits of `mask` may be bits of `pointer`, if they are zero in
    /// `pattern`: those that every address has clear.
    fn check(self) -> Result<(), String> {
        let Tags { mask, pattern, pointer } = self;
        let fault = if pointer == 0 {
            "pointer_mask is 0".to_owned()
        } else if pattern & !mask != 0 {
            format!("tag_pattern has bits outside tag_mask: {:#x}", pattern & !mask)
        } else if pattern & pointer != 0 {
            format!(
                "tag_pattern has bits of pointer_mask, which would be bits of the address: {:#x}",
                pattern & pointer
            )
        } else if pointer & !mask & !(WORD - 1) == 0 {
            "tag_mask leaves no bits of pointer_mask for an address".to_owned()
        } else {
            return Ok(());
        };
        Err(format!("{fault}: no word could ever hold a reference"))
    }

    /// The `slots` of a type with such words.
    pub fn slots(self) -> Slots {
        // Low bits are those that the alignment of objects leaves free.
        let nan_boxed = self.mask > WORD - 1;
        Slots::Tagged { mask: self.mask, pattern: self.pattern, pointer: self.pointer, nan_boxed }
    }
}

#[derive(Debug, Clone)]
struct Field {
    name: String,
    kind: FieldKind,
    offset: u64,
}

/// The fields of a type while they are added.
#[derive(Debug, Clone)]
pub struct Layout {
    name: String,
    fields: Vec<Field>,
    size: u64,
    align: u64,
    length: Option<u64>,
    /// The kind of an element, and its size.
    elements: Option<(FieldKind, u64)>,
    tags: Tags,
    /// The first that was wrong in what was added.
    fault: Option<String>,
    /// `FLAG_…`, added up.
    pub flags: u32,
    /// The destructor, by the name of a function of the module.
    pub finalize: Option<String>,
    /// Whether other modules can name the descriptor.
    pub exported: bool,
}

impl Layout {
    /// No fields yet; the name stands in messages.
    pub fn new(name: &str) -> Layout {
        Layout {
            name: name.to_owned(),
            fields: Vec::new(),
            size: 0,
            align: WORD,
            length: None,
            elements: None,
            tags: Tags::LOW_BIT,
            fault: None,
            flags: 0,
            finalize: None,
            exported: true,
        }
    }

    /// Sets how tagged words are read; [`Tags::LOW_BIT`] without this.
    pub fn set_tags(&mut self, tags: Tags) {
        self.tags = tags;
    }

    /// Adds a reference. Returns its offset.
    pub fn reference(&mut self, name: &str) -> u64 {
        self.add(name, FieldKind::Reference, WORD, WORD)
    }

    /// Adds a tagged word. Returns its offset.
    pub fn tagged(&mut self, name: &str) -> u64 {
        self.add(name, FieldKind::Tagged, WORD, WORD)
    }

    /// Adds `bytes` bytes without references. Returns their offset.
    pub fn plain(&mut self, name: &str, bytes: u64, align: u64) -> u64 {
        self.add(name, FieldKind::Plain, bytes, align)
    }

    /// Adds a word in which the runtime keeps the number of elements. Returns its offset.
    pub fn length(&mut self, name: &str) -> u64 {
        let offset = self.add(name, FieldKind::Plain, WORD, WORD);
        if self.length.replace(offset).is_some() {
            self.refuse(format!("has two words for the number of its elements, the second is `{name}`; one is enough"));
        }
        offset
    }

    /// Objects end with elements of this kind, of `bytes` bytes each if they are plain. Returns the offset of the first one. A type
    /// without a word for their number gets one.
    pub fn elements(&mut self, kind: FieldKind, bytes: u64) -> u64 {
        if self.elements.is_some() {
            self.refuse("has elements of two kinds; make an element of all that repeats".into());
        }
        if self.length.is_none() {
            self.length("length");
        }
        self.size = self.size.next_multiple_of(WORD);
        self.elements = Some((kind, if kind == FieldKind::Plain { bytes } else { WORD }));
        self.size
    }

    fn add(&mut self, name: &str, kind: FieldKind, bytes: u64, align: u64) -> u64 {
        let align = align.max(1);
        if !align.is_power_of_two() {
            self.refuse(format!("has a field `{name}` that is aligned to {align} bytes; a power of two is needed"));
        }
        if self.elements.is_some() {
            self.refuse(format!("has a field `{name}` behind its elements; add it before them"));
        }
        let place = self.size.checked_next_multiple_of(align);
        let place = place.filter(|place| place.checked_add(bytes).is_some_and(|end| end <= BYTES_MAX));
        let Some(offset) = place else {
            self.refuse(format!(
                "has a field `{name}` of {bytes} bytes at {}; an object has at most 2^40 bytes",
                self.size
            ));
            return self.size;
        };
        self.align = self.align.max(align);
        self.size = offset + bytes;
        self.fields.push(Field { name: name.to_owned(), kind, offset });
        offset
    }

    /// [`describe`](Self::describe) fails with this fault, or an earlier one.
    pub fn refuse(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// Whether a word is read by its tag.
    fn has_tagged_words(&self) -> bool {
        let is_tagged = |kind| kind == FieldKind::Tagged;
        self.fields.iter().any(|field| is_tagged(field.kind)) || self.elements.is_some_and(|(kind, _)| is_tagged(kind))
    }

    /// The description of the type.
    ///
    /// # Errors
    /// Which field is wrong, and what to do.
    pub fn describe(&self) -> Result<TypeDescription, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        for (place, field) in self.fields.iter().enumerate() {
            if self.fields[..place].iter().any(|other| other.name == field.name) {
                return Err(format!("has two fields `{}`; name them differently", field.name));
            }
        }
        if let Some((_, 0)) = self.elements {
            return Err("has elements of 0 bytes; give their size".into());
        }
        let tagged = self.has_tagged_words();
        if tagged {
            self.tags.check()?;
        }
        // Without a pattern a bare reference is read as a word with a tag is: such a type need not be mixed.
        let is_mixed = tagged && self.tags.pattern != 0;
        let is_plain = |kind| is_mixed && kind == FieldKind::Reference;
        let is_read = |field: &&Field| field.kind != FieldKind::Plain;
        let refs = self.fields.iter().filter(is_read).map(|field| small(field.offset)).collect::<Result<_, _>>()?;
        let plain_refs =
            self.fields.iter().filter(|it| is_plain(it.kind)).map(|it| small(it.offset)).collect::<Result<_, _>>()?;
        let element_plain_refs = self.elements.iter().filter(|(kind, _)| is_plain(*kind)).map(|_| 0).collect();
        let fields = self
            .fields
            .iter()
            .map(|field| Ok((small(field.offset)?, field.name.clone())))
            .collect::<Result<_, String>>();
        let (stride, element_refs) = match self.elements {
            Some((FieldKind::Plain, bytes)) => (bytes, Vec::new()),
            Some((_, bytes)) => (bytes, vec![0]),
            None => (0, Vec::new()),
        };
        Ok(TypeDescription {
            name: self.name.clone(),
            size: self.size.next_multiple_of(if stride == 0 { 1 } else { WORD }),
            align: u32::try_from(self.align).map_err(|_| format!("is aligned to {} bytes", self.align))?,
            flags: self.flags,
            slots: if tagged { self.tags.slots() } else { Slots::Pointer },
            refs,
            plain_refs,
            length: self.length.unwrap_or(0),
            stride,
            element_refs,
            element_plain_refs,
            fields: fields?,
            finalize: self.finalize.clone(),
            exported: self.exported,
            ..TypeDescription::default()
        })
    }
}

fn small(offset: u64) -> Result<u32, String> {
    u32::try_from(offset).map_err(|_| format!("has a field at {offset}, beyond 4 GiB"))
}

#[cfg(test)]
mod tests {
    use super::{FieldKind, Layout, Slots, Tags};

    #[test]
    fn fields_lie_where_a_c_compiler_puts_them() {
        let mut layout = Layout::new("Mixed");
        let offsets = [layout.plain("kind", 1, 1), layout.plain("count", 4, 4), layout.reference("next")];
        assert_eq!((offsets, layout.plain("vector", 16, 16), layout.plain("end", 1, 1)), ([0, 4, 8], 16, 32));
        let described = layout.describe().unwrap();
        assert_eq!((described.size, described.align, described.refs), (33, 16, vec![8]));
    }

    #[test]
    fn elements_follow_the_fields_and_their_number() {
        let mut layout = Layout::new("Text");
        layout.plain("kind", 4, 4);
        assert_eq!(layout.elements(FieldKind::Plain, 1), 16);
        let described = layout.describe().unwrap();
        assert_eq!((described.length, described.size, described.stride, described.element_refs), (8, 16, 1, vec![]));
        let mut closure = Layout::new("Closure");
        closure.plain("code", 8, 8);
        closure.length("captured");
        assert_eq!(closure.elements(FieldKind::Tagged, 0), 16);
        let described = closure.describe().unwrap();
        assert_eq!((described.length, described.stride, described.element_refs), (8, 8, vec![0]));
        assert_eq!(described.slots, Tags::LOW_BIT.slots());
    }

    #[test]
    fn what_is_added_wrongly_is_told_by_the_description() {
        let said = |add: &dyn Fn(&mut Layout)| {
            let mut layout = Layout::new("Wrong");
            add(&mut layout);
            layout.describe().unwrap_err()
        };
        let behind = said(&|layout| {
            layout.elements(FieldKind::Plain, 1);
            layout.reference("next");
        });
        assert_eq!(behind, "has a field `next` behind its elements; add it before them");
        let vast = said(&|layout| {
            layout.plain("all", u64::MAX, 8);
            layout.reference("next");
        });
        assert_eq!(vast, "has a field `all` of 18446744073709551615 bytes at 0; an object has at most 2^40 bytes");
        let odd = said(&|layout| _ = layout.plain("odd", 3, 3));
        assert_eq!(odd, "has a field `odd` that is aligned to 3 bytes; a power of two is needed");
        let lengths = said(&|layout| _ = (layout.length("one"), layout.length("two")));
        assert!(lengths.starts_with("has two words for the number of its elements, the second is `two`"), "{lengths}");
        let kinds =
            said(&|layout| _ = (layout.elements(FieldKind::Plain, 1), layout.elements(FieldKind::Reference, 0)));
        assert!(kinds.starts_with("has elements of two kinds"), "{kinds}");
    }

    #[test]
    fn bare_references_stand_beside_boxed_words() {
        let boxed = Tags { mask: 0xffff << 48, pattern: 0xfffc << 48, pointer: (1 << 48) - 8 };
        let mut layout = Layout::new("Closure");
        layout.set_tags(boxed);
        layout.tagged("value");
        layout.reference("next");
        layout.elements(FieldKind::Reference, 0);
        let described = layout.describe().unwrap();
        assert!(matches!(described.slots, Slots::Tagged { nan_boxed: true, .. }));
        assert_eq!((described.refs, described.plain_refs), (vec![0, 8], vec![8]));
        assert_eq!((described.element_refs, described.element_plain_refs), (vec![0], vec![0]));
        let mut cons = Layout::new("Cons");
        cons.tagged("head");
        cons.reference("tail");
        assert_eq!(cons.describe().unwrap().plain_refs, [], "a low bit that is clear is one of every address");
        cons.plain("tail", 8, 8);
        assert_eq!(cons.describe().unwrap_err(), "has two fields `tail`; name them differently");
    }
}
