//! Types of objects, described like a struct: fields by name, then elements.

use tally_llvm::inkwell::types::{BasicType, BasicTypeEnum};
use tally_llvm::inkwell::values::{FunctionValue, IntValue, PointerValue};
use tally_llvm::lower::type_description::layout::{FieldKind, Layout};
use tally_llvm::lower::type_description::{FLAG_ACYCLIC, FLAG_FINALIZE_OWNER_FIRST};

use super::frontend::Frontend;
use super::frontend_error::FrontendError;

/// A type of objects while it is described: [`Frontend::object`] begins one, [`define`](Self::define) ends it.
///
/// Fields lie as a C compiler would put them, in the order of the calls. The runtime needs no header in them: an object begins with
/// its first field.
///
/// ```
/// use tally::llvm::{Frontend, inkwell::context::Context};
///
/// let context = Context::create();
/// let frontend = Frontend::new(&context, "m")?;
/// let (byte, word) = (context.i8_type(), frontend.word());
/// let node = frontend.object("Node").reference("next").plain("value", word).define()?;
/// let text = frontend.object("Text").length("length").elements(byte).define()?;
/// let closure = frontend.object("Closure").plain("code", context.ptr_type(0.into())).length("size").tagged_words().define()?;
/// assert_eq!([node.size(), text.size(), closure.size()], [16, 8, 16]); // without elements
/// # Ok::<(), tally::llvm::FrontendError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct ObjectBuilder<'f, 'ctx> {
    frontend: &'f Frontend<'ctx>,
    name: String,
    layout: Layout,
    fields: Vec<(String, Place<'ctx>)>,
    element: Option<Place<'ctx>>,
}

impl<'f, 'ctx> ObjectBuilder<'f, 'ctx> {
    pub(super) fn new(frontend: &'f Frontend<'ctx>, name: &str, layout: Layout) -> ObjectBuilder<'f, 'ctx> {
        ObjectBuilder { frontend, name: name.to_owned(), layout, fields: Vec::new(), element: None }
    }

    /// Adds a field that holds a reference, or null.
    pub fn reference(mut self, field: &str) -> Self {
        let offset = self.layout.reference(field);
        let of = self.frontend.reference().into();
        self.with(field, FieldKind::Reference, offset, of)
    }

    /// Adds a word that may hold a reference: its tag says so ([`Frontend::tags`]).
    pub fn tagged(mut self, field: &str) -> Self {
        let offset = self.layout.tagged(field);
        let of = self.frontend.word().into();
        self.with(field, FieldKind::Tagged, offset, of)
    }

    /// Adds a field without references, of any type: a number, a pointer to code.
    pub fn plain(mut self, field: &str, of: impl BasicType<'ctx>) -> Self {
        let (bytes, align) = self.measure(&format!("a field `{field}`"), of.as_basic_type_enum());
        let offset = self.layout.plain(field, bytes, align);
        self.with(field, FieldKind::Plain, offset, of.as_basic_type_enum())
    }

    /// Adds the word in which the runtime keeps the number of elements. It is read, and not written.
    pub fn length(mut self, field: &str) -> Self {
        let offset = self.layout.length(field);
        let of = self.frontend.word().into();
        let mut with = self.with(field, FieldKind::Plain, offset, of);
        with.fields.last_mut().expect("it was just added").1.is_length = true;
        with
    }

    /// Objects end with any number of references.
    pub fn references(self) -> Self {
        let of = self.frontend.reference().into();
        self.with_elements(FieldKind::Reference, of)
    }

    /// Objects end with any number of tagged words.
    pub fn tagged_words(self) -> Self {
        let of = self.frontend.word().into();
        self.with_elements(FieldKind::Tagged, of)
    }

    /// Objects end with any number of elements without references: bytes of a string, numbers.
    pub fn elements(self, of: impl BasicType<'ctx>) -> Self {
        self.with_elements(FieldKind::Plain, of.as_basic_type_enum())
    }

    /// Sets the destructor: a function of the module, `void (ptr object)`. It runs when an object has died, before it is freed.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let close = frontend.function("close_file", context.void_type().fn_type(&[frontend.reference().into()], false));
    /// frontend.body(close)?.builder().build_return(None)?;
    /// frontend.object("File").plain("number", context.i32_type()).finalizer(close).define()?;
    /// frontend.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finalizer(mut self, function: FunctionValue<'ctx>) -> Self {
        self.layout.finalize = Some(function.get_name().to_string_lossy().into_owned());
        self
    }

    /// Of objects that are found dead together, the destructor of an owner runs before those of what it owns.
    pub fn finalize_owner_first(mut self) -> Self {
        self.layout.flags |= FLAG_FINALIZE_OWNER_FIRST;
        self
    }

    /// No object of this type is ever part of a cycle: the collector need not look for one.
    pub fn acyclic(mut self) -> Self {
        self.layout.flags |= FLAG_ACYCLIC;
        self
    }

    /// Only this module knows the type. Without this the descriptor is a symbol that other modules may declare.
    pub fn internal(mut self) -> Self {
        self.layout.exported = false;
        self
    }

    /// Defines the type.
    ///
    /// # Errors
    /// [`FrontendError::Type`] names the field; [`FrontendError::Name`] a name that is the runtime's.
    pub fn define(self) -> Result<ObjectType<'ctx>, FrontendError> {
        self.frontend.reserve(&self.name);
        let descriptor = self.frontend.define(&self.name, &self.layout)?;
        let size = self.layout.describe().map_or(0, |described| described.size);
        Ok(ObjectType { name: self.name, descriptor, size, fields: self.fields, element: self.element })
    }

    fn with(mut self, field: &str, kind: FieldKind, offset: u64, of: BasicTypeEnum<'ctx>) -> Self {
        let name = format!("the field `{field}` of `{}`", self.name);
        self.fields.push((field.to_owned(), Place { name, kind, offset, of, element: None, is_length: false }));
        self
    }

    fn with_elements(mut self, kind: FieldKind, of: BasicTypeEnum<'ctx>) -> Self {
        let (stride, _) = self.measure("elements", of);
        let offset = self.layout.elements(kind, stride);
        let name = format!("an element of `{}`", self.name);
        self.element = Some(Place {
            name,
            kind,
            offset,
            of,
            element: Some((self.frontend.word().const_zero(), stride)),
            is_length: false,
        });
        self
    }

    /// Size and alignment in bytes. LLVM ends the process when it is asked for a size that it does not know.
    fn measure(&mut self, what: &str, of: BasicTypeEnum<'ctx>) -> (u64, u64) {
        if !is_measurable(of) {
            let of = of.print_to_string().to_string();
            self.layout.refuse(format!("has {what} of type `{of}`, whose size is not known at compile time"));
            return (1, 1);
        }
        let data = self.frontend.machine().get_target_data();
        (data.get_abi_size(&of), data.get_abi_alignment(&of).into())
    }
}

/// Whether a value of the type has the same size on every machine of the target: no part is opaque, or a scalable vector.
fn is_measurable(of: BasicTypeEnum) -> bool {
    match of {
        BasicTypeEnum::ArrayType(of) => is_measurable(of.get_element_type()),
        BasicTypeEnum::StructType(of) => !of.is_opaque() && of.get_field_types_iter().all(is_measurable),
        BasicTypeEnum::ScalableVectorType(_) => false,
        BasicTypeEnum::FloatType(_)
        | BasicTypeEnum::IntType(_)
        | BasicTypeEnum::PointerType(_)
        | BasicTypeEnum::VectorType(_) => true,
    }
}

/// A type of objects.
#[derive(Debug, Clone)]
pub struct ObjectType<'ctx> {
    name: String,
    descriptor: PointerValue<'ctx>,
    size: u64,
    fields: Vec<(String, Place<'ctx>)>,
    element: Option<Place<'ctx>>,
}

impl<'ctx> ObjectType<'ctx> {
    /// The place of a field.
    ///
    /// # Errors
    /// [`FrontendError::NoField`] lists those that there are.
    pub fn field(&self, name: &str) -> Result<&Place<'ctx>, FrontendError> {
        let found = self.fields.iter().find(|(known, _)| known == name).map(|(_, place)| place);
        found.ok_or_else(|| FrontendError::NoField {
            name: self.name.clone(),
            field: name.to_owned(),
            known: self.fields.iter().map(|(known, _)| known.clone()).collect(),
        })
    }

    /// The place of an element. Nothing checks that there are so many.
    ///
    /// # Errors
    /// [`FrontendError::NoElements`].
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let (reference, word) = (frontend.reference(), frontend.word());
    /// let vector = frontend.object("Vector").length("length").references().define()?;
    /// let set = frontend.function("set", context.void_type().fn_type(&[reference.into(), word.into(), reference.into()], false));
    /// let body = frontend.body(set)?;
    /// let (object, index) = (body.parameter(0).into_pointer_value(), body.parameter(1).into_int_value());
    /// body.write(object, &vector.element(index)?, body.parameter(2))?;
    /// body.builder().build_return(None)?;
    /// frontend.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn element(&self, index: IntValue<'ctx>) -> Result<Place<'ctx>, FrontendError> {
        let place = self.element.as_ref().ok_or_else(|| FrontendError::NoElements { name: self.name.clone() })?;
        Ok(Place { element: place.element.map(|(_, stride)| (index, stride)), ..place.clone() })
    }

    /// The global that the runtime reads: what `tally_new` is given.
    pub fn descriptor(&self) -> PointerValue<'ctx> {
        self.descriptor
    }

    /// Bytes of an object without elements.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_elements(&self) -> bool {
        self.element.is_some()
    }
}

/// A field or an element: what [`Body::read`](super::Body::read) and [`Body::write`](super::Body::write) take.
#[derive(Debug, Clone)]
pub struct Place<'ctx> {
    /// For messages.
    pub(super) name: String,
    pub(super) kind: FieldKind,
    pub(super) offset: u64,
    pub(super) of: BasicTypeEnum<'ctx>,
    /// Index and stride.
    pub(super) element: Option<(IntValue<'ctx>, u64)>,
    /// Whether the runtime keeps the number of elements there.
    pub(super) is_length: bool,
}
