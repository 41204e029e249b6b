//! The frontend's side of a module: its functions, types and globals, so that the contract of Tally's IR is kept without knowing it.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::path::PathBuf;

use tally_compiled::symbols::{RUNTIME_SYMBOLS, RuntimeSymbol};
use tally_llvm::diagnostic::Diagnostic;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::target;
use tally_llvm::inkwell::AddressSpace;
use tally_llvm::inkwell::attributes::AttributeLoc;
use tally_llvm::inkwell::context::Context;
use tally_llvm::inkwell::module::{Linkage, Module};
use tally_llvm::inkwell::targets::TargetMachine;
use tally_llvm::inkwell::types::{BasicMetadataTypeEnum, FunctionType, IntType, PointerType};
use tally_llvm::inkwell::values::{FunctionValue, GlobalValue, PointerValue};
use tally_llvm::lower::type_description::layout::Layout;
pub use tally_llvm::lower::type_description::layout::Tags;
use tally_llvm::pipeline::{CompileOptions, inspect};

use super::body::Body;
use super::frontend_error::FrontendError;
use super::object_type::ObjectBuilder;
use crate::Plan;

/// A module of a frontend while it is built, over [`inkwell`](tally_llvm::inkwell).
///
/// | to | call |
/// |---|---|
/// | describe a type | [`object`](Self::object): fields by name, no offsets, no descriptor |
/// | make a function whose objects are Tally's | [`function`](Self::function), then [`body`](Self::body) |
/// | declare what the host defines | [`native`](Self::native), or [`leaf`](Self::leaf) if it never collects |
/// | keep a reference in a global variable | [`global`](Self::global) |
/// | see what is wrong | [`check`](Self::check) |
/// | compile it | [`module`](Self::module), for [`Session::add_module`](super::Session::add_module), or for passes of your own after [`lower`](super::lower()) |
///
/// Each name stands for one thing: a type, a function or a global. Names that begin with `tally_` or `tally.` are the runtime's; its
/// functions may be declared with [`native`](Self::native), as `docs/port/ir-contract.md` has them. After a declaration that collides,
/// everything else that is built fails with [`FrontendError::Name`], and so does [`check`](Self::check).
///
/// A list of squares, summed up in the host:
///
/// ```
/// use tally::llvm::inkwell::context::Context;
/// use tally::llvm::{CompileOptions, Frontend, Session};
///
/// let context = Context::create();
/// let frontend = Frontend::new(&context, "lists")?;
/// let (reference, word) = (frontend.reference(), frontend.word());
/// let node = frontend.object("Node").reference("next").plain("value", word).define()?;
///
/// // fn push(list, value): a new node in front of a list.
/// let push = frontend.function("push", reference.fn_type(&[reference.into(), word.into()], false));
/// let body = frontend.body(push)?;
/// let list = body.root("list", body.parameter(0).into_pointer_value())?; // used after the next call
/// let cell = body.allocate(&node)?;
/// body.write(cell, node.field("value")?, body.parameter(1))?; // a plain store
/// body.write(cell, node.field("next")?, body.load(&list)?)?; // through the barrier
/// body.builder().build_return(Some(&cell))?;
///
/// assert_eq!(frontend.check()?, []); // no warnings
/// let mut session = Session::new(CompileOptions::default())?;
/// // SAFETY: it has no constructors, and is right IR.
/// unsafe { session.add_module("lists", frontend.module()) }?;
/// assert!(session.lookup("push").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Frontend<'ctx> {
    context: &'ctx Context,
    module: Module<'ctx>,
    machine: TargetMachine,
    plan: Plan,
    typed: bool,
    tags: Tags,
    /// The first name that collided, and its fault.
    collision: OnceCell<(String, String)>,
}

impl<'ctx> Frontend<'ctx> {
    /// An empty module of the deferred plan.
    ///
    /// # Errors
    /// [`FrontendError::Machine`]: this LLVM makes no code for this machine.
    pub fn new(context: &'ctx Context, name: &str) -> Result<Frontend<'ctx>, FrontendError> {
        let machine = target::machine(Level::default()).map_err(|error| FrontendError::Machine(error.to_string()))?;
        let module = context.create_module(name);
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let collision = OnceCell::new();
        Ok(Frontend { context, module, machine, plan: Plan::Deferred, typed: false, tags: Tags::LOW_BIT, collision })
    }

    /// Sets when objects die. All modules of a process have one plan; set it before the first function.
    ///
    /// ```
    /// use tally::{Plan, llvm::{Frontend, inkwell::context::Context}};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?.plan(Plan::Prompt);
    /// let function = frontend.function("f", context.void_type().fn_type(&[], false));
    /// assert_eq!(function.get_gc().to_str(), Ok("refcount-prompt"));
    /// # Ok::<(), tally::llvm::FrontendError>(())
    /// ```
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Frontend<'ctx> {
        self.plan = plan;
        self
    }

    /// References are of type `ptr addrspace(1)` and need no roots: the lowering finds what lives across a call. Variables are
    /// [roots](Body::root) all the same, which are then ordinary allocas. Set it before the first type.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?.typed_references();
    /// let (reference, word) = (frontend.reference(), frontend.word());
    /// let node = frontend.object("Node").reference("next").plain("value", word).define()?;
    /// let push = frontend.function("push", reference.fn_type(&[reference.into(), word.into()], false));
    /// let body = frontend.body(push)?;
    /// let cell = body.allocate(&node)?; // the list is used below: it gets a root by itself
    /// body.write(cell, node.field("value")?, body.parameter(1))?;
    /// body.write(cell, node.field("next")?, body.parameter(0))?;
    /// body.builder().build_return(Some(&cell))?;
    /// assert_eq!(frontend.check()?, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn typed_references(mut self) -> Frontend<'ctx> {
        self.typed = true;
        self
    }

    /// Sets how tagged words are read: [`Tags::LOW_BIT`] without this. Set it before the first type.
    #[must_use]
    pub fn tags(mut self, tags: Tags) -> Frontend<'ctx> {
        self.tags = tags;
        self
    }

    /// The module, to add to it what is no matter of Tally's, and to hand it on.
    pub fn module(&self) -> &Module<'ctx> {
        &self.module
    }

    /// The context of its types.
    pub fn context(&self) -> &'ctx Context {
        self.context
    }

    /// The type of references.
    pub fn reference(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::from(u16::from(self.typed)))
    }

    /// The type of tagged words and of lengths: 64 bits.
    pub fn word(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }

    /// Begins a type of objects. The name stands in messages, and is that of the descriptor's global.
    pub fn object<'f>(&'f self, name: &str) -> ObjectBuilder<'f, 'ctx> {
        let mut layout = Layout::new(name);
        layout.set_tags(self.tags);
        ObjectBuilder::new(self, name, layout)
    }

    /// Declares a function whose objects are Tally's: every call of it, and every call in it, may collect. A function that is declared
    /// again with the same type is the same one.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let (word, reference) = (frontend.word(), frontend.reference());
    /// let size = frontend.function("size", word.fn_type(&[reference.into()], false));
    /// assert_eq!(frontend.function("size", word.fn_type(&[reference.into()], false)), size);
    /// frontend.global("size");
    /// let error = frontend.body(size).unwrap_err(); // and of whatever else is built
    /// assert_eq!(error.to_string(), "the name `size` is declared already; choose another");
    /// # Ok::<(), tally::llvm::FrontendError>(())
    /// ```
    pub fn function(&self, name: &str, of: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        self.reserve(name);
        let function = self.declare(name, of);
        function.set_gc(self.plan.strategy());
        if !self.plan.has_barrier() {
            // As under the other plans a reference is written by [`Body::write`], so that marks may go in slices.
            function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute("tally-barriers", ""));
        }
        function
    }

    /// Declares a function of the host, or another module's. A call of it may collect.
    pub fn native(&self, name: &str, of: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        match RUNTIME_SYMBOLS.iter().find(|symbol| symbol.name == name) {
            Some(symbol) => self.expect_type_of_runtime(symbol, of),
            None => self.reserve(name),
        }
        self.declare(name, of)
    }

    /// Declares a function of the host that never makes an object, collects, or calls what does: no root is needed across its calls.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let sine = frontend.leaf("sin", context.f64_type().fn_type(&[context.f64_type().into()], false));
    /// assert!(frontend.module().print_to_string().to_string().contains("gc-leaf-function"));
    /// # Ok::<(), tally::llvm::FrontendError>(())
    /// ```
    pub fn leaf(&self, name: &str, of: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        let function = self.native(name, of);
        self.attribute(function, "gc-leaf-function", "");
        function
    }

    /// A function stops for the collector at more places than its calls: `loops`, `entry`, `exits`, `calls`, separated by commas. One
    /// that computes for long without a call needs `loops`.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let compute = frontend.function("compute", context.void_type().fn_type(&[], false));
    /// frontend.stop_at(compute, "loops,entry");
    /// assert!(frontend.module().print_to_string().to_string().contains("\"tally-safepoints\"=\"loops,entry\""));
    /// # Ok::<(), tally::llvm::FrontendError>(())
    /// ```
    pub fn stop_at(&self, function: FunctionValue<'ctx>, places: &str) {
        self.attribute(function, "tally-safepoints", places);
    }

    /// Defines a global variable that holds a reference, and is a root: null at first. [`Body::write_global`] writes it.
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let reference = frontend.reference();
    /// let last = frontend.global("last");
    /// let exchange = frontend.function("exchange", reference.fn_type(&[reference.into()], false));
    /// let body = frontend.body(exchange)?;
    /// let before = body.read_global(last)?;
    /// body.write_global(last, body.parameter(0).into_pointer_value())?;
    /// body.builder().build_return(Some(&before))?;
    /// frontend.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn global(&self, name: &str) -> GlobalValue<'ctx> {
        self.reserve(name);
        let global = self.module.add_global(self.reference(), None, name);
        self.expect_name(name, global.get_name());
        global.set_initializer(&self.reference().const_null());
        global
    }

    /// Begins the body of a function, in an entry block.
    ///
    /// # Errors
    /// [`FrontendError::HasBody`], and [`FrontendError::NotManaged`] for a function of [`native`](Self::native) or
    /// [`leaf`](Self::leaf).
    pub fn body(&self, function: FunctionValue<'ctx>) -> Result<Body<'_, 'ctx>, FrontendError> {
        Body::new(self, function)
    }

    /// Looks for what is wrong before anything is compiled. Returns warnings: references that no root keeps alive, and stores past the
    /// barrier.
    ///
    /// # Errors
    /// [`FrontendError::Name`], [`FrontendError::Invalid`] in LLVM's words, and [`FrontendError::Contract`].
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let reference = frontend.reference();
    /// let pair = frontend.object("Pair").reference("first").reference("second").define()?;
    /// let wrong = frontend.function("wrong", reference.fn_type(&[], false));
    /// let body = frontend.body(wrong)?;
    /// let first = body.allocate(&pair)?; // no root holds it while the second is made
    /// let second = body.allocate(&pair)?;
    /// body.write(second, pair.field("first")?, first)?;
    /// body.builder().build_return(Some(&second))?;
    /// let warnings = frontend.check()?;
    /// assert_eq!(warnings[0].function.as_deref(), Some("wrong"));
    /// assert!(warnings[0].message.contains("sits in no root at the safepoint"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<Vec<Diagnostic>, FrontendError> {
        self.fault()?;
        self.module.verify().map_err(|text| FrontendError::Invalid(text.to_string()))?;
        let name = PathBuf::from(self.module.get_name().to_string_lossy().into_owned());
        // Roots of typed references are written into what is inspected.
        let findings = inspect(&self.module.clone(), &name, &CompileOptions::default());
        if findings.errors.is_empty() { Ok(findings.warnings) } else { Err(FrontendError::Contract(findings.errors)) }
    }

    pub(super) fn machine(&self) -> &TargetMachine {
        &self.machine
    }

    pub(super) fn is_typed(&self) -> bool {
        self.typed
    }

    pub(super) fn how_words_are_tagged(&self) -> Tags {
        self.tags
    }

    /// The type of plain pointers.
    pub(super) fn pointer(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    /// An entry point of the runtime, or an intrinsic.
    pub(super) fn runtime(&self, name: &str, of: FunctionType<'ctx>) -> Result<FunctionValue<'ctx>, FrontendError> {
        let function = self.declare(name, of);
        self.fault()?;
        Ok(function)
    }

    /// Fails if a name has collided.
    pub(super) fn fault(&self) -> Result<(), FrontendError> {
        self.collision
            .get()
            .map_or(Ok(()), |(name, fault)| Err(FrontendError::Name { name: name.clone(), fault: fault.clone() }))
    }

    /// Refuses a name of the runtime's for what the frontend declares.
    pub(super) fn reserve(&self, name: &str) {
        let is_entry = || RUNTIME_SYMBOLS.iter().any(|symbol| symbol.name == name);
        if name.contains('\0') {
            self.refuse(name, "contains a null character; leave it out".into());
        } else if name.starts_with("tally_") || name.starts_with("tally.") || is_entry() {
            self.refuse(name, "is one that the runtime may use; choose another".into());
        }
    }

    /// The descriptor of a variable that holds one tagged word.
    pub(super) fn descriptor_of_a_word(&self) -> Result<PointerValue<'ctx>, FrontendError> {
        const NAME: &str = "tally.word";
        if let Some(global) = self.module.get_global(NAME) {
            return Ok(global.as_pointer_value());
        }
        let mut layout = Layout::new("word");
        layout.set_tags(self.tags);
        layout.tagged("word");
        layout.exported = false;
        self.define(NAME, &layout)
    }

    /// Defines the descriptor of a layout as the global `name`.
    pub(super) fn define(&self, name: &str, layout: &Layout) -> Result<PointerValue<'ctx>, FrontendError> {
        self.fault()?;
        let wrong = |fault: String| FrontendError::Type { name: name.to_owned(), fault };
        layout.describe().and_then(|description| description.define(&self.module, name)).map_err(wrong)?;
        let global = self.module.get_global(name).expect("it was just defined");
        if !layout.exported {
            global.set_linkage(Linkage::Internal);
        }
        Ok(global.as_pointer_value())
    }

    /// The function of this name and type, declared if the module has none.
    fn declare(&self, name: &str, of: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        let function = self.module.get_function(name).unwrap_or_else(|| self.module.add_function(name, of, None));
        self.expect_name(name, function.get_name());
        let known = function.get_type();
        if known != of {
            let known = known.print_to_string().to_string();
            self.refuse(name, format!("is declared already, as a function of type `{known}`; choose another"));
        }
        function
    }

    /// LLVM renames what is declared with a name that something else has.
    fn expect_name(&self, name: &str, given: &CStr) {
        if given.to_bytes() != name.as_bytes() {
            self.refuse(name, "is declared already; choose another".into());
        }
    }

    /// Refuses a declaration of the runtime's function with another type. References may be of the type of the frontend's.
    fn expect_type_of_runtime(&self, symbol: &RuntimeSymbol, of: FunctionType<'ctx>) {
        let given = of.get_return_type().map_or("v", |result| self.letter(result.into()));
        let parameters: String = of.get_param_types().into_iter().map(|parameter| self.letter(parameter)).collect();
        if of.is_var_arg() || format!("{given}({parameters})") != symbol.signature {
            let of = of.print_to_string().to_string();
            let fault =
                format!("is a function of the runtime, whose type is not `{of}`; see `docs/port/ir-contract.md`");
            self.refuse(symbol.name, fault);
        }
    }

    /// The letter of a type in the runtime's list of signatures, or `?`.
    fn letter(&self, of: BasicMetadataTypeEnum<'ctx>) -> &'static str {
        match of {
            BasicMetadataTypeEnum::PointerType(of) if [self.pointer(), self.reference()].contains(&of) => "p",
            BasicMetadataTypeEnum::IntType(of) if of.get_bit_width() == 64 => "l",
            BasicMetadataTypeEnum::IntType(of) if of.get_bit_width() == 32 => "i",
            _ => "?",
        }
    }

    /// Only the first collision is told: what follows may come of it.
    fn refuse(&self, name: &str, fault: String) {
        self.collision.get_or_init(|| (name.to_owned(), fault));
    }

    fn attribute(&self, function: FunctionValue<'ctx>, name: &str, value: &str) {
        function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(name, value));
    }
}
