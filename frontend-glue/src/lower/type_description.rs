//! Type descriptors by the names of their fields: for frontends that build modules in Rust, and for `!tally.types` in
//! IR.
//!
//! The runtime reads a struct of 19 fields (`tally_heap::descriptor`). A [`TypeDescription`] has only the fields that
//! a type needs, and [`TypeDescription::define`] makes the constant. In IR the same description is metadata
//! (`type_description/metadata.rs`), from which the constants are made when the module is loaded.
//!
//! ```
//! use tally_llvm::lower::type_description::TypeDescription;
//! let context = inkwell::context::Context::create();
//! let module = context.create_module("pairs");
//! let pair = TypeDescription { size: 24, refs: vec![0, 8], ..TypeDescription::default() };
//! pair.define(&module, "Pair").unwrap();
//! assert!(module.get_global("Pair").is_some());
//! ```

pub mod layout;
pub(crate) mod metadata;

use crate::llvm::{Module, Value, Visibility};
use crate::lower::descriptor;
use tally_heap::descriptor::{DESCRIPTOR_VERSION, PLAIN_REFERENCE, SlotKind, TypeDescriptor};
pub use tally_heap::descriptor::{
    FLAG_ACYCLIC, FLAG_EPHEMERON, FLAG_FINALIZE_OWNER_FIRST, FLAG_FINALIZE_REGISTERED, FLAG_FINALIZE_REVERSE,
};

/// The list of lines that name the fields of the types a module describes; zeal's lowering reads it.
pub(crate) const FIELDS: &str = "tally.fields";

/// The properties of a type; those left at their default are absent. Sizes and offsets are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDescription {
    /// The name in messages; empty: the name of the global.
    pub name: String,
    /// The fixed part of the payload.
    pub size: u64,
    /// A power of two; 0 means 8.
    pub align: u32,
    /// `FLAG_…`, added up.
    pub flags: u32,
    /// The way in which reference words are read.
    pub slots: Slots,
    /// Offsets of the references in the fixed part.
    pub refs: Vec<u32>,
    /// Those of `refs` that are plain references, beside others that have tags.
    pub plain_refs: Vec<u32>,
    /// The types of their targets, where known: the names of descriptors.
    pub ref_types: Vec<Option<String>>,
    /// Offset at which the runtime keeps the number of tail elements.
    pub length: u64,
    /// A tail element; 0 for no tail.
    pub stride: u64,
    /// Offsets of the references in an element.
    pub element_refs: Vec<u32>,
    /// As `plain_refs`, of those.
    pub element_plain_refs: Vec<u32>,
    /// As `ref_types`, for those.
    pub element_ref_types: Vec<Option<String>>,
    /// Names of fields, for messages: offset and name, of references and others, and of the elements as one field.
    pub fields: Vec<(u32, String)>,
    /// The destructor, by name.
    pub finalize: Option<String>,
    /// Whether other modules can name the descriptor.
    pub exported: bool,
}

/// The way in which the words at the offsets of references are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Slots {
    /// A reference, or null.
    #[default]
    Pointer,
    /// A reference if the bits of `mask` in the word beside are `pattern`, and the bits of `pointer` are not all zero.
    Pairs {
        /// Bits of the tag that tell.
        mask: u64,
        /// Their value beside a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
        /// Whether the tag is the word behind, or before.
        is_behind: bool,
    },
    /// A reference if the bits of `mask` are `pattern`, and the bits of `pointer`, which are the address, are not all
    /// zero.
    Tagged {
        /// Bits that tell.
        mask: u64,
        /// Their value in a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
        /// Whether the mask is over the high bits.
        nan_boxed: bool,
    },
    /// The function of this name finds the references.
    Trace(String),
}

impl Default for TypeDescription {
    fn default() -> TypeDescription {
        TypeDescription {
            name: String::new(),
            size: 0,
            align: 0,
            flags: 0,
            slots: Slots::Pointer,
            refs: Vec::new(),
            plain_refs: Vec::new(),
            ref_types: Vec::new(),
            length: 0,
            stride: 0,
            element_refs: Vec::new(),
            element_plain_refs: Vec::new(),
            element_ref_types: Vec::new(),
            fields: Vec::new(),
            finalize: None,
            exported: true,
        }
    }
}

impl TypeDescription {
    /// Defines the descriptor as the global `name`, which the module may have declared and used.
    ///
    /// # Errors
    /// A description that the runtime would refuse, a name that the module does not have, or a global that has a
    /// value already.
    pub fn define(&self, module: &inkwell::module::Module, name: &str) -> Result<(), String> {
        self.define_in(Module::of(module), name)
    }

    pub(crate) fn define_in(&self, module: Module, name: &str) -> Result<(), String> {
        let declared = module.global(name);
        if module.function(name).is_some() || declared.is_some_and(|global| !global.type_of().is_plain_pointer()) {
            return Err("is no variable of the address space 0".into());
        }
        if declared.is_some_and(|global| global.initializer().is_some()) {
            return Err("has a value already; declare it `external`".into());
        }
        self.check_fields()?;
        let constant = self.constant(module, name)?;
        let global = module.add_global("", constant.type_of());
        global.set_initializer(constant);
        global.set_global_constant();
        global.set_alignment(8);
        if let Some(fault) = descriptor::fault(module, global) {
            module.delete_global(global);
            return Err(fault);
        }
        if !self.exported {
            global.set_visibility(Visibility::Internal);
        }
        if let Some(declared) = declared {
            declared.replace_all_uses(global);
            module.delete_global(declared);
        }
        global.set_name(name);
        if !self.fields.is_empty() {
            module.append_named_text(FIELDS, &self.line_of_fields(name));
        }
        Ok(())
    }

    /// Messages print names of fields between words.
    fn check_fields(&self) -> Result<(), String> {
        for (offset, field) in &self.fields {
            if field.is_empty() || field.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
                return Err(format!("the name of the field at {offset} is \"{}\", and no word", field.escape_debug()));
            }
            if u64::from(*offset) >= self.size && !(self.stride != 0 && u64::from(*offset) == self.size) {
                return Err(format!("the field `{field}` at {offset} lies outside the {} bytes", self.size));
            }
        }
        Ok(())
    }

    /// `Node 0 next 8 value`.
    fn line_of_fields(&self, global: &str) -> String {
        let fields = self.fields.iter().map(|(offset, field)| format!(" {offset} {field}"));
        fields.fold(self.display_name(global).to_owned(), |line, field| line + &field)
    }

    fn display_name<'a>(&'a self, global: &'a str) -> &'a str {
        if self.name.is_empty() { global } else { &self.name }
    }

    /// The list of references of that name as the runtime reads it: with a mark at those that are plain beside others.
    fn entries(&self, list: &str, refs: &[u32], plain: &[u32]) -> Result<Vec<u32>, String> {
        let has_tags = matches!(self.slots, Slots::Pairs { .. } | Slots::Tagged { .. });
        let key = if list == "refs" { "plain_refs" } else { "element_plain_refs" };
        if !plain.is_empty() && !has_tags {
            return Err(format!(
                "{key} names references among others that have tags, and no reference of this type has"
            ));
        }
        match plain.iter().find(|offset| !refs.contains(offset)) {
            Some(offset) => Err(format!("{key} has the offset {offset}, and {list} has not")),
            None => Ok(refs
                .iter()
                .map(|offset| if plain.contains(offset) { offset | PLAIN_REFERENCE } else { *offset })
                .collect()),
        }
    }

    /// The struct that the runtime reads.
    fn constant(&self, module: Module, global: &str) -> Result<Value, String> {
        let i32 = |value: usize| module.integer(32).constant(value as u64);
        let i64 = |value: u64| module.integer(64).constant(value);
        let (kind, [mask, pattern, pointer], trace) = match &self.slots {
            Slots::Pointer => (SlotKind::Pointer, [0; 3], None),
            Slots::Tagged { mask, pattern, pointer, nan_boxed: false } => {
                (SlotKind::Tagged, [*mask, *pattern, *pointer], None)
            }
            Slots::Tagged { mask, pattern, pointer, .. } => (SlotKind::NanBoxed, [*mask, *pattern, *pointer], None),
            Slots::Pairs { mask, pattern, pointer, is_behind } => {
                let kind = if *is_behind { SlotKind::TagBehind } else { SlotKind::TagBefore };
                (kind, [*mask, *pattern, *pointer], None)
            }
            Slots::Trace(function) => (SlotKind::Trace, [0; 3], Some(function)),
        };
        let record = module.structure_constant(&[
            i32(DESCRIPTOR_VERSION as usize),
            i32(self.flags as usize),
            i64(self.size),
            i32(self.align as usize),
            i32(kind as usize),
            i64(mask),
            i64(pattern),
            i64(pointer),
            i32(self.refs.len()),
            i32(self.element_refs.len()),
            offsets(module, &self.entries("refs", &self.refs, &self.plain_refs)?),
            i64(self.length),
            i64(self.stride),
            offsets(module, &self.entries("element_refs", &self.element_refs, &self.element_plain_refs)?),
            module.text_global(self.display_name(global)),
            named(module, self.finalize.as_ref())?,
            named(module, trace)?,
            types(module, &self.ref_types, self.refs.len(), "ref_types")?,
            types(module, &self.element_ref_types, self.element_refs.len(), "element_ref_types")?,
        ]);
        assert_eq!(
            module.size_of(record.type_of()),
            size_of::<TypeDescriptor>() as u64,
            "[HEADER] the runtime's layout"
        );
        Ok(record)
    }
}

fn offsets(module: Module, offsets: &[u32]) -> Value {
    let of = module.integer(32);
    table(
        module,
        module.array_constant(of, &offsets.iter().map(|&offset| of.constant(offset.into())).collect::<Vec<_>>()),
    )
}

/// A private constant; the null address if it is empty.
fn table(module: Module, entries: Value) -> Value {
    if module.size_of(entries.type_of()) == 0 {
        return module.pointer().null();
    }
    let global = module.add_global(".tally.type", entries.type_of());
    global.set_initializer(entries);
    global.set_global_constant();
    global.make_private();
    global
}

fn types(module: Module, names: &[Option<String>], count: usize, what: &str) -> Result<Value, String> {
    if names.is_empty() {
        return Ok(module.pointer().null());
    }
    if names.len() != count {
        return Err(format!("{what} has {} entries, and there are {count} references", names.len()));
    }
    let entries = names.iter().map(|name| named(module, name.as_ref())).collect::<Result<Vec<_>, _>>()?;
    Ok(table(module, module.array_constant(module.pointer(), &entries)))
}

/// The function or global of that name; null for none.
fn named(module: Module, name: Option<&String>) -> Result<Value, String> {
    let Some(name) = name else { return Ok(module.pointer().null()) };
    let found = module.function(name).or_else(|| module.global(name));
    found.ok_or_else(|| format!("the module has no @{name}"))
}

#[cfg(test)]
mod tests {
    use crate::lower::type_description::{Slots, TypeDescription};
    use inkwell::context::Context;
    use tally_heap::descriptor::FLAG_ACYCLIC;

    #[test]
    fn a_described_type_is_the_struct_that_the_runtime_reads() {
        let context = Context::create();
        let module = context.create_module("m");
        module.add_global(context.i8_type(), None, "Pair");
        let masks = Slots::Tagged { mask: 1, pattern: 0, pointer: !7, nan_boxed: false };
        let pair = TypeDescription {
            size: 24,
            align: 16,
            flags: FLAG_ACYCLIC,
            slots: masks,
            refs: vec![0, 8],
            ref_types: vec![Some("Pair".into()), None],
            ..TypeDescription::default()
        };
        pair.define(&module, "Pair").unwrap();
        let text = module.print_to_string().to_string();
        let expected = "{ i32 1, i32 1, i64 24, i32 16, i32 1, i64 1, i64 0, i64 -8, i32 2, i32 0, ptr @.tally.type, i64 0, i64 0, \
                        ptr null, ptr @.tally.text, ptr null, ptr null, ptr @.tally.type.1, ptr null }, align 8";
        assert!(text.contains("@Pair = constant ") && text.contains(expected), "{text}");
        assert!(
            text.contains("@.tally.type.1 = private unnamed_addr constant [2 x ptr] [ptr @Pair, ptr null]"),
            "{text}"
        );
        assert_eq!(pair.define(&module, "Pair").unwrap_err(), "has a value already; declare it `external`");
    }

    fn of_two_words() -> TypeDescription {
        TypeDescription { size: 16, ..TypeDescription::default() }
    }

    #[test]
    fn names_of_fields_are_kept_for_messages() {
        let context = Context::create();
        let module = context.create_module("m");
        let fields = vec![(0, "length".to_owned()), (8, "items".to_owned())];
        let list = TypeDescription { name: "List".into(), size: 8, stride: 8, fields, ..TypeDescription::default() };
        list.define(&module, "list.type").unwrap();
        let text = module.print_to_string().to_string();
        assert!(
            text.contains("!tally.fields = !{!0}") && text.contains("!0 = !{!\"List 0 length 8 items\"}"),
            "{text}"
        );
    }

    #[test]
    fn what_the_runtime_would_refuse_is_refused_and_leaves_nothing_behind() {
        let context = Context::create();
        let module = context.create_module("m");
        let wrong = TypeDescription { size: 16, refs: vec![16], ..TypeDescription::default() };
        assert!(wrong.define(&module, "Wrong").unwrap_err().contains("outside the 16 bytes"));
        let unknown = TypeDescription { size: 16, finalize: Some("gone".into()), ..TypeDescription::default() };
        assert_eq!(unknown.define(&module, "Unknown").unwrap_err(), "the module has no @gone");
        module.add_function("main", context.void_type().fn_type(&[], false), None);
        let to_code = TypeDescription { refs: vec![0], ref_types: vec![Some("main".into())], ..of_two_words() };
        let function = "ref_types names @main, which is a function and describes no type";
        assert_eq!(to_code.define(&module, "Unknown").unwrap_err(), function);
        let with = |offset, name: &str| TypeDescription { fields: vec![(offset, name.into())], ..of_two_words() };
        let outside = "the field `value` at 16 lies outside the 16 bytes";
        assert_eq!(with(16, "value").define(&module, "Unknown").unwrap_err(), outside);
        let two_words = "the name of the field at 8 is \"a b\", and no word";
        assert_eq!(with(8, "a b").define(&module, "Unknown").unwrap_err(), two_words);
        let beside = TypeDescription { refs: vec![0], plain_refs: vec![0], ..of_two_words() };
        let no_tags = "plain_refs names references among others that have tags, and no reference of this type has";
        assert_eq!(beside.define(&module, "Unknown").unwrap_err(), no_tags);
        let slots = Slots::Tagged { mask: 1, pattern: 0, pointer: !1, nan_boxed: false };
        let beside = TypeDescription { slots, refs: vec![0], plain_refs: vec![8], ..of_two_words() };
        let not_listed = "plain_refs has the offset 8, and refs has not";
        assert_eq!(beside.define(&module, "Unknown").unwrap_err(), not_listed);
        assert!(module.get_global("Wrong").is_none() && module.get_global("Unknown").is_none());
    }
}
