//! Types: what a host says of its objects, checked before an object is made.
//!
//! The offsets are the host's own, so that it may share a layout with other code; the names are for messages. A type
//! belongs to the thread that registered it, as finalizers are closures, and lives as long as the process: a host
//! registers each once.

use crate::finalizer::{self, Finalize, FinalizerScope};
use crate::scope::Handle;
use crate::type_error::TypeError;
use crate::type_id::TypeId;
use std::ffi::CString;
use std::rc::Rc;
use tally_heap::descriptor::{
    DescriptorFault, FinalizeOrder, PLAIN_REFERENCE, RawDescriptor, SlotKind, TypeDescriptor, offset_of_entry,
};
use tally_heap::type_registry;

/// How the words of a type's fields are read, but for [plain references](TypeBuilder::plain_reference).
///
/// A word `w` of a tagged field is a reference if `w & mask == pattern` and `w & pointer != 0`, and then to the object at
/// `w & pointer`. Null, and words of zero, are none. See [`Value`](crate::Value). Of a pair, `mask` and `pattern` are those of a tag in the
/// word beside, which belongs to the field; see [`Ref::pair`](crate::Ref::pair).
///
/// ```
/// use tally::{FieldKind, TypeBuilder};
///
/// let boxed = FieldKind::NanBoxed { mask: 0xffff << 48, pattern: 0xfff9 << 48, pointer: 0x7fff_ffff_fff8 };
/// TypeBuilder::new("Slot", 8).kind(boxed).reference("value", 0).register()?;
/// # Ok::<(), tally::TypeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FieldKind {
    /// A reference or null.
    #[default]
    Plain,
    /// Low bits are a tag.
    Tagged {
        /// Bits that tell what the word is.
        mask: u64,
        /// Their value in a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
    /// High bits are a tag: the same test.
    NanBoxed {
        /// Bits that tell what the word is.
        mask: u64,
        /// Their value in a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
    /// Pairs: the word before that of the field is its tag.
    TagBefore {
        /// Bits of the tag that tell what the word is.
        mask: u64,
        /// Their value beside a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
    /// Pairs: the word behind that of the field is its tag.
    TagBehind {
        /// Bits of the tag that tell what the word is.
        mask: u64,
        /// Their value beside a reference.
        pattern: u64,
        /// Bits of the address.
        pointer: u64,
    },
}

/// A field, or one of each element.
struct Field {
    name: String,
    offset: u64,
    /// A plain reference, whatever the kind of the others.
    is_plain: bool,
}

/// A type that is being described.
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// // A word for the number of elements, a reference, and then elements of two words, the first of which is a reference.
/// let table = TypeBuilder::new("Table", 16)
///     .reference("class", 8)
///     .elements(0, 16)
///     .element_reference("key", 0)
///     .register()?;
/// let mut scope = heap.scope();
/// let table = scope.allocate_array(table, 10)?;
/// let table = scope.get(table);
/// scope.set_field(table, 16 + 3 * 16, Some(table)); // the key of element 3
/// scope.set_word(table, 16 + 3 * 16 + 8, 99); // the word beside it
/// assert_eq!((table.length(), table.word(16 + 3 * 16 + 8)), (10, 99));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct TypeBuilder {
    name: String,
    size: u64,
    fields: Vec<Field>,
    length_offset: u64,
    stride: u64,
    element: Vec<Field>,
    kind: FieldKind,
    align: u32,
    is_acyclic: bool,
    finalize: Option<Rc<Finalize>>,
    order: FinalizeOrder,
    on_request: bool,
}

impl TypeBuilder {
    /// A type of that many bytes, all of them plain words.
    pub fn new(name: impl Into<String>, size: u64) -> TypeBuilder {
        TypeBuilder {
            name: name.into(),
            size,
            fields: vec![],
            length_offset: 0,
            stride: 0,
            element: vec![],
            kind: FieldKind::Plain,
            align: 0,
            is_acyclic: false,
            finalize: None,
            order: FinalizeOrder::Any,
            on_request: false,
        }
    }

    /// A field that may hold a reference: the word at `offset`, which is read as [`kind`](Self::kind) says.
    pub fn reference(mut self, field: impl Into<String>, offset: u64) -> TypeBuilder {
        self.fields.push(Field { name: field.into(), offset, is_plain: false });
        self
    }

    /// A field that holds a reference or null, whatever the [`kind`](Self::kind) of the others is.
    ///
    /// ```
    /// use tally::{FieldKind, Heap, HeapOptions, TypeBuilder, Value};
    ///
    /// // A value of two words, of which bit 6 of the second says whether the first is a reference; and a link.
    /// let pairs = FieldKind::TagBehind { mask: 0x40, pattern: 0x40, pointer: !0 };
    /// let upvalue = TypeBuilder::new("UpVal", 24).kind(pairs).reference("closed", 0).plain_reference("next", 16).register()?;
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let mut scope = heap.scope();
    /// let upvalue = scope.allocate(upvalue)?;
    /// let upvalue = scope.get(upvalue);
    /// scope.set_pair(upvalue, 0, 0x45, Value::Reference(upvalue, 0));
    /// scope.set_field(upvalue, 16, Some(upvalue));
    /// assert_eq!(upvalue.pair(0), (0x45, Value::Reference(upvalue, 0)));
    /// assert_eq!(upvalue.field(16), Some(upvalue));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plain_reference(mut self, field: impl Into<String>, offset: u64) -> TypeBuilder {
        self.fields.push(Field { name: field.into(), offset, is_plain: true });
        self
    }

    /// Elements of `stride` bytes follow the bytes of [`new`](Self::new); the runtime keeps their number in the word at
    /// `length_offset`.
    pub fn elements(mut self, length_offset: u64, stride: u64) -> TypeBuilder {
        (self.length_offset, self.stride) = (length_offset, stride);
        self
    }

    /// The same in each element, `offset` bytes from its beginning.
    pub fn element_reference(mut self, field: impl Into<String>, offset: u64) -> TypeBuilder {
        self.element.push(Field { name: field.into(), offset, is_plain: false });
        self
    }

    /// [`plain_reference`](Self::plain_reference) in each element.
    pub fn element_plain_reference(mut self, field: impl Into<String>, offset: u64) -> TypeBuilder {
        self.element.push(Field { name: field.into(), offset, is_plain: true });
        self
    }

    /// How the words are read of all its fields that are not plain references.
    pub fn kind(mut self, kind: FieldKind) -> TypeBuilder {
        self.kind = kind;
        self
    }

    /// Objects are aligned to so many bytes: a power of two up to 4096.
    pub fn aligned(mut self, bytes: u32) -> TypeBuilder {
        self.align = bytes;
        self
    }

    /// No object of the type is ever part of a cycle: the cycle detector leaves them alone. If one is, it is never freed.
    pub fn acyclic(mut self) -> TypeBuilder {
        self.is_acyclic = true;
        self
    }

    /// `finalize` is called with each object that is found dead, once, at a safepoint. It may do anything with a scope, also
    /// store the object somewhere: then that lives on, and is not finalized again.
    ///
    /// ```
    /// use std::{cell::RefCell, rc::Rc};
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let closed = Rc::new(RefCell::new(vec![]));
    /// let note = closed.clone();
    /// let file = TypeBuilder::new("File", 8)
    ///     .finalizer(move |scope, file| note.borrow_mut().push(scope.get(file).word(0)))
    ///     .register()?;
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let mut scope = heap.scope();
    /// let opened = scope.allocate(file)?;
    /// scope.set_word(scope.get(opened), 0, 3);
    /// drop(scope);
    /// heap.scope().collect();
    /// assert_eq!(*closed.borrow(), [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It has no heap that it could replace, and a scope of its own alone:
    ///
    /// ```compile_fail,E0594
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// TypeBuilder::new("File", 8).finalizer(|scope, _| **scope = Heap::new(HeapOptions::new()).unwrap().scope());
    /// ```
    pub fn finalizer(
        mut self,
        finalize: impl for<'f> Fn(&mut FinalizerScope<'f>, Handle<'f>) + 'static,
    ) -> TypeBuilder {
        self.finalize = Some(Rc::new(finalize));
        self
    }

    /// In which order finalizers of objects run that are found dead together.
    ///
    /// ```
    /// use tally::{FinalizeOrder, TypeBuilder};
    ///
    /// TypeBuilder::new("Transaction", 8).finalizer(|_, _| {}).finalize_in(FinalizeOrder::Reverse).register()?;
    /// # Ok::<(), tally::TypeError>(())
    /// ```
    pub fn finalize_in(mut self, order: FinalizeOrder) -> TypeBuilder {
        self.order = order;
        self
    }

    /// Only objects are finalized that were given to [`register_finalizer`](crate::Scope::register_finalizer).
    pub fn finalize_on_request(mut self) -> TypeBuilder {
        self.on_request = true;
        self
    }

    /// Checks what was said, and registers the type on this thread.
    ///
    /// # Errors
    /// [`TypeError`] names the field, and its fault.
    pub fn register(mut self) -> Result<TypeId, TypeError> {
        self.fields.sort_by_key(|field| field.offset);
        self.element.sort_by_key(|field| field.offset);
        let fixed = self.entries(&self.fields, self.size, "the object without elements")?;
        let element = self.entries(&self.element, self.stride, "an element")?;
        let Ok(name) = CString::new(self.name.as_str()) else {
            return Err(self.error(None, "its name has a null character".to_owned()));
        };
        // SAFETY: checked here, and gone.
        let checked = unsafe { self.descriptor(&fixed, &element, &name) }.check();
        if let Err(error) = checked {
            let (fields, at) = match error.fault {
                DescriptorFault::LengthIsReference(offset) => (&self.fields, Some(offset)),
                DescriptorFault::Tag { field: "ref_offsets", offset } => (&self.fields, Some(u64::from(offset))),
                DescriptorFault::Tag { offset, .. } => (&self.element, Some(u64::from(offset))),
                _ => (&self.fields, None),
            };
            let of_fault = fields.iter().find(|field| Some(field.offset) == at);
            return Err(self.error(of_fault.map(|field| field.name.clone()), error.fault.to_string()));
        }
        // The registry keeps descriptors for good.
        let (fixed, element, name) = (fixed.leak(), element.leak(), Box::leak(name.into_boxed_c_str()));
        // SAFETY: none of the three is ever freed.
        let descriptor = Box::leak(Box::new(unsafe { self.descriptor(fixed, element, name) }));
        let id = type_registry::register(descriptor).map_err(|error| self.error(None, error.fault.to_string()))?;
        let fixed = self.fields.iter().map(|field| (&field.name, field.offset.to_string()));
        let element = self.element.iter().map(|field| (&field.name, format!("+{}", field.offset)));
        let named = fixed.chain(element).map(|(name, at)| format!("{at} {}", name.replace(char::is_whitespace, "_")));
        id.info().tell_field_names(&named.collect::<Vec<_>>().join(" "));
        if let Some(finalize) = self.finalize {
            finalizer::enter(id.info().id, finalize);
        }
        Ok(TypeId::of(id))
    }

    /// The list of a descriptor: offsets, with a mark for plain references beside others.
    fn entries(&self, fields: &[Field], bytes: u64, part: &str) -> Result<Vec<u32>, TypeError> {
        let mut entries: Vec<u32> = vec![];
        for Field { name, offset, is_plain } in fields {
            let wrong = |fault: String| Err(self.error(Some(name.clone()), fault));
            if !offset.is_multiple_of(8) {
                return wrong(format!("offset {offset} is not a multiple of 8; references are aligned words"));
            }
            let last = u32::try_from(*offset).ok().filter(|_| offset.saturating_add(8) <= bytes);
            let Some(last) = last else {
                return wrong(format!("offset {offset} lies outside the {bytes} bytes of {part}"));
            };
            if entries.last().is_some_and(|&entry| offset_of_entry(entry) == last) {
                return wrong(format!("another field has the offset {offset}"));
            }
            let is_marked = *is_plain && self.kind != FieldKind::Plain;
            entries.push(if is_marked { last | PLAIN_REFERENCE } else { last });
        }
        Ok(entries)
    }

    /// # Safety
    /// The offsets and the name stay where they are for as long as the descriptor is used.
    unsafe fn descriptor(&self, fixed: &[u32], element: &[u32], name: &std::ffi::CStr) -> TypeDescriptor {
        let raw = RawDescriptor {
            size: self.size,
            ref_count: fixed.len() as u32,
            ref_offsets: fixed.as_ptr(),
            name: name.as_ptr(),
            length_offset: self.length_offset,
            stride: self.stride,
            element_ref_count: element.len() as u32,
            element_ref_offsets: element.as_ptr(),
            align: self.align,
            ..*TypeDescriptor::plain(c"", 0, &[])
        };
        // SAFETY: [DESCRIPTOR] by the caller's promise.
        let plain = unsafe { TypeDescriptor::from_raw(raw) };
        let tagged = match self.kind {
            FieldKind::Plain => plain,
            FieldKind::Tagged { mask, pattern, pointer } => plain.tagged(SlotKind::Tagged, mask, pattern, pointer),
            FieldKind::NanBoxed { mask, pattern, pointer } => plain.tagged(SlotKind::NanBoxed, mask, pattern, pointer),
            FieldKind::TagBefore { mask, pattern, pointer } => {
                plain.tagged(SlotKind::TagBefore, mask, pattern, pointer)
            }
            FieldKind::TagBehind { mask, pattern, pointer } => {
                plain.tagged(SlotKind::TagBehind, mask, pattern, pointer)
            }
        };
        let acyclic = if self.is_acyclic { tagged.acyclic() } else { tagged };
        let ordered = acyclic.finalized_in(self.order);
        let asked = if self.on_request { ordered.finalized_on_request() } else { ordered };
        if self.finalize.is_none() {
            return asked;
        }
        // SAFETY: it looks up the closure by the object's type.
        unsafe { asked.finalized(finalizer::finalize) }
    }

    fn error(&self, field: Option<String>, fault: String) -> TypeError {
        TypeError::new(&self.name, field, fault)
    }
}

impl std::fmt::Debug for TypeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields: Vec<(&str, u64)> = self.fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
        write!(f, "TypeBuilder({}, {} bytes, fields {fields:?})", self.name, self.size)
    }
}
