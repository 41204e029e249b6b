//! The body of a function while it is built: roots, allocation, reads and writes, tagged words, safepoints.

use tally_llvm::inkwell::basic_block::BasicBlock;
use tally_llvm::inkwell::builder::{Builder, BuilderError};
use tally_llvm::inkwell::llvm_sys::core::LLVMGetGC;
use tally_llvm::inkwell::types::BasicTypeEnum;
use tally_llvm::inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, GlobalValue, InstructionOpcode,
    IntValue, PointerValue,
};
use tally_llvm::lower::type_description::layout::FieldKind;

use super::frontend::Frontend;
use super::frontend_error::FrontendError;
use super::object_type::{ObjectType, Place};

/// The body of a function while it is built. [`Frontend::body`] begins one.
///
/// | to | call |
/// |---|---|
/// | keep a reference that is used after a call | [`root`](Self::root), [`load`](Self::load), [`store`](Self::store) |
/// | make an object | [`allocate`](Self::allocate), [`allocate_array`](Self::allocate_array) |
/// | read and write a field, an element | [`read`](Self::read), [`write`](Self::write) |
/// | read and write a global | [`read_global`](Self::read_global), [`write_global`](Self::write_global) |
/// | put a reference into a word, and take it out | [`tag`](Self::tag), [`untag`](Self::untag), [`is_reference`](Self::is_reference) |
/// | let the collector run | [`safepoint`](Self::safepoint); every call does, too |
/// | all else | [`builder`](Self::builder), which is inkwell's |
///
/// Every call may collect, but for one of a [leaf](Frontend::leaf): what is used after it is in a root. Objects do not move, so a
/// reference that a root holds may go on being used.
#[derive(Debug)]
pub struct Body<'f, 'ctx> {
    frontend: &'f Frontend<'ctx>,
    function: FunctionValue<'ctx>,
    builder: Builder<'ctx>,
}

/// A variable that keeps what it holds alive: a reference ([`PointerValue`]) or a tagged word ([`IntValue`]).
#[derive(Debug, Clone, Copy)]
pub struct Root<'ctx, V> {
    slot: PointerValue<'ctx>,
    held: std::marker::PhantomData<V>,
}

impl<'ctx, V> Root<'ctx, V> {
    /// The address of the variable.
    pub fn slot(&self) -> PointerValue<'ctx> {
        self.slot
    }
}

/// What roots hold. Implemented for [`PointerValue`], a reference, and [`IntValue`], a tagged word.
pub trait Held<'ctx>: BasicValue<'ctx> + Copy + sealed::Held<'ctx> {}
impl<'ctx> Held<'ctx> for PointerValue<'ctx> {}
impl<'ctx> Held<'ctx> for IntValue<'ctx> {}

mod sealed {
    use tally_llvm::inkwell::values::{BasicValueEnum, IntValue, PointerValue};

    pub trait Held<'ctx>: Sized {
        const TAGGED: bool;
        fn from_value(value: BasicValueEnum<'ctx>) -> Self;
    }

    impl<'ctx> Held<'ctx> for PointerValue<'ctx> {
        const TAGGED: bool = false;
        fn from_value(value: BasicValueEnum<'ctx>) -> Self {
            value.into_pointer_value()
        }
    }

    impl<'ctx> Held<'ctx> for IntValue<'ctx> {
        const TAGGED: bool = true;
        fn from_value(value: BasicValueEnum<'ctx>) -> Self {
            value.into_int_value()
        }
    }
}

impl<'f, 'ctx> Body<'f, 'ctx> {
    pub(super) fn new(
        frontend: &'f Frontend<'ctx>,
        function: FunctionValue<'ctx>,
    ) -> Result<Body<'f, 'ctx>, FrontendError> {
        frontend.fault()?;
        let name = || function.get_name().to_string_lossy().into_owned();
        if function.count_basic_blocks() != 0 {
            return Err(FrontendError::HasBody { function: name() });
        }
        // SAFETY: the value is a function. Inkwell's `get_gc` may only be called where there is a strategy.
        if unsafe { LLVMGetGC(function.as_value_ref()) }.is_null() {
            return Err(FrontendError::NotManaged { function: name() });
        }
        let builder = frontend.context().create_builder();
        builder.position_at_end(frontend.context().append_basic_block(function, "entry"));
        Ok(Body { frontend, function, builder })
    }

    /// Inkwell's builder, at the place where the next instruction goes. It may be moved to any block of the function.
    pub fn builder(&self) -> &Builder<'ctx> {
        &self.builder
    }

    /// The function.
    pub fn function(&self) -> FunctionValue<'ctx> {
        self.function
    }

    /// A parameter, from 0.
    ///
    /// # Panics
    /// The function has not so many.
    pub fn parameter(&self, number: u32) -> BasicValueEnum<'ctx> {
        self.function.get_nth_param(number).expect("the function has so many parameters")
    }

    /// Appends a block to the function.
    pub fn block(&self, name: &str) -> BasicBlock<'ctx> {
        self.frontend.context().append_basic_block(self.function, name)
    }

    /// Makes a variable that keeps its value alive, and stores that: a reference, or a tagged word.
    ///
    /// # Errors
    /// [`FrontendError::WrongValue`]: no reference, and no word.
    pub fn root<V: Held<'ctx>>(&self, name: &str, value: V) -> Result<Root<'ctx, V>, FrontendError> {
        let of = self.type_of::<V>();
        let slot = self.in_entry(|builder| builder.build_alloca(of, name))?;
        if V::TAGGED || !self.frontend.is_typed() {
            let (pointer, void) = (self.frontend.pointer(), self.frontend.context().void_type());
            let gcroot =
                self.frontend.runtime("llvm.gcroot", void.fn_type(&[pointer.into(), pointer.into()], false))?;
            let how = if V::TAGGED { self.frontend.descriptor_of_a_word()? } else { pointer.const_null() };
            self.in_entry(|builder| builder.build_call(gcroot, &[slot.into(), how.into()], ""))?;
        }
        let root = Root { slot, held: std::marker::PhantomData };
        self.store(&root, value)?;
        Ok(root)
    }

    /// Reads a root.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn load<V: Held<'ctx>>(&self, root: &Root<'ctx, V>) -> Result<V, FrontendError> {
        self.built(self.builder.build_load(self.type_of::<V>(), root.slot, "")).map(V::from_value)
    }

    /// Replaces what a root holds. Null, or a number, ends its hold.
    ///
    /// # Errors
    /// [`FrontendError::WrongValue`].
    pub fn store<V: Held<'ctx>>(&self, root: &Root<'ctx, V>, value: V) -> Result<(), FrontendError> {
        self.expect("a root", self.type_of::<V>(), value.as_basic_value_enum())?;
        self.built(self.builder.build_store(root.slot, value)).map(drop)
    }

    /// Reads a root for the last time: it holds the object no longer. Under the prompt plan a root that is not taken holds it until the
    /// function returns. Not before a call of a [native](Frontend::native) function that uses the object: its caller's roots are all
    /// that keeps its arguments.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?;
    /// let reference = frontend.reference();
    /// let pair = frontend.object("Pair").reference("first").reference("second").define()?;
    /// let twice = frontend.function("twice", reference.fn_type(&[], false));
    /// let body = frontend.body(twice)?;
    /// let first = body.allocate(&pair)?;
    /// let first = body.root("first", first)?; // a temporary
    /// let second = body.allocate(&pair)?;
    /// body.write(second, pair.field("first")?, body.take(&first)?)?;
    /// body.builder().build_return(Some(&second))?;
    /// assert_eq!(frontend.check()?, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take<V: Held<'ctx>>(&self, root: &Root<'ctx, V>) -> Result<V, FrontendError> {
        let value = self.load(root)?;
        self.built(self.builder.build_store(root.slot, self.type_of::<V>().const_zero()))?;
        Ok(value)
    }

    /// Makes an object: its references are null, its other fields are undefined. A safepoint, before the object is made.
    ///
    /// # Errors
    /// [`FrontendError::HasElements`]; [`FrontendError::Name`] if the module declares the runtime's function with another type.
    pub fn allocate(&self, of: &ObjectType<'ctx>) -> Result<PointerValue<'ctx>, FrontendError> {
        if of.has_elements() {
            return Err(FrontendError::HasElements { function: self.name(), name: of.name().to_owned() });
        }
        let (reference, pointer) = (self.frontend.reference(), self.frontend.pointer());
        let new = self.frontend.runtime("tally_new", reference.fn_type(&[pointer.into()], false))?;
        self.value_of_call(new, &[of.descriptor().into()]).map(BasicValueEnum::into_pointer_value)
    }

    /// Makes an object with so many elements, all zero. A safepoint, before the object is made.
    ///
    /// # Errors
    /// [`FrontendError::NoElements`].
    pub fn allocate_array(
        &self,
        of: &ObjectType<'ctx>,
        length: IntValue<'ctx>,
    ) -> Result<PointerValue<'ctx>, FrontendError> {
        of.element(length)?;
        self.expect("the number of elements", self.frontend.word().into(), length.into())?;
        let (reference, pointer) = (self.frontend.reference(), self.frontend.pointer());
        let of_new = reference.fn_type(&[pointer.into(), self.frontend.word().into()], false);
        let new = self.frontend.runtime("tally_new_array", of_new)?;
        self.value_of_call(new, &[of.descriptor().into(), length.into()]).map(BasicValueEnum::into_pointer_value)
    }

    /// Reads a field or an element.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn read(&self, object: PointerValue<'ctx>, place: &Place<'ctx>) -> Result<BasicValueEnum<'ctx>, FrontendError> {
        let address = self.address(object, place)?;
        self.built(self.builder.build_load(place.of, address, ""))
    }

    /// Writes a field or an element: through the write barrier where the place holds references. `object` is of the
    /// [type of references](Frontend::reference).
    ///
    /// # Errors
    /// [`FrontendError::WrongValue`] names the place, or the object; [`FrontendError::WritesLength`].
    pub fn write(
        &self,
        object: PointerValue<'ctx>,
        place: &Place<'ctx>,
        value: impl BasicValue<'ctx>,
    ) -> Result<(), FrontendError> {
        let value = value.as_basic_value_enum();
        if place.is_length {
            return Err(FrontendError::WritesLength { function: self.name(), place: place.name.clone() });
        }
        self.expect(&place.name, place.of, value)?;
        // The lowering knows a write by the type of its address.
        self.expect("the operand `object`", self.frontend.reference().into(), object.into())?;
        let address = self.address(object, place)?;
        match place.kind {
            FieldKind::Reference if !self.frontend.is_typed() => self.barrier("llvm.gcwrite", value, object, address),
            FieldKind::Tagged => self.barrier("tally_gcwrite_i64", value, object, address),
            FieldKind::Plain | FieldKind::Reference => self.built(self.builder.build_store(address, value)).map(drop),
        }
    }

    /// The address of a field or element, for code that only reads it.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn address(
        &self,
        object: PointerValue<'ctx>,
        place: &Place<'ctx>,
    ) -> Result<PointerValue<'ctx>, FrontendError> {
        let (word, byte) = (self.frontend.word(), self.frontend.context().i8_type());
        let mut offset = word.const_int(place.offset, false);
        if let Some((index, stride)) = place.element {
            self.expect("an index", word.into(), index.into())?;
            let before = self.built(self.builder.build_int_mul(index, word.const_int(stride, false), ""))?;
            offset = self.built(self.builder.build_int_add(offset, before, ""))?;
        } else if place.offset == 0 {
            return Ok(object);
        }
        // SAFETY: it is arithmetic without promises (no `inbounds`): nothing is read here.
        self.built(unsafe { self.builder.build_gep(byte, object, &[offset], "") })
    }

    /// Reads a global of [`Frontend::global`].
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn read_global(&self, global: GlobalValue<'ctx>) -> Result<PointerValue<'ctx>, FrontendError> {
        let read = self.builder.build_load(self.frontend.reference(), global.as_pointer_value(), "");
        self.built(read).map(BasicValueEnum::into_pointer_value)
    }

    /// Writes a global of [`Frontend::global`].
    ///
    /// # Errors
    /// [`FrontendError::WrongValue`].
    pub fn write_global(&self, global: GlobalValue<'ctx>, value: PointerValue<'ctx>) -> Result<(), FrontendError> {
        self.expect("a global", self.frontend.reference().into(), value.into())?;
        let slot = global.as_pointer_value();
        if self.frontend.is_typed() {
            return self.built(self.builder.build_store(slot, value)).map(drop);
        }
        self.barrier("llvm.gcwrite", value.into(), slot, slot)
    }

    /// The word that stands for a reference.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    ///
    /// ```
    /// use tally::llvm::{Frontend, inkwell::context::Context};
    ///
    /// let context = Context::create();
    /// let frontend = Frontend::new(&context, "m")?; // Tags::LOW_BIT: a number n is the word 2n + 1
    /// let word = frontend.word();
    /// let cons = frontend.object("Cons").tagged("head").tagged("tail").define()?;
    /// let pair = frontend.function("pair", word.fn_type(&[word.into(), word.into()], false));
    /// let body = frontend.body(pair)?;
    /// let head = body.root("head", body.parameter(0).into_int_value())?; // a root for a word
    /// let tail = body.root("tail", body.parameter(1).into_int_value())?;
    /// let cell = body.allocate(&cons)?;
    /// body.write(cell, cons.field("head")?, body.load(&head)?)?;
    /// body.write(cell, cons.field("tail")?, body.load(&tail)?)?;
    /// let result = body.tag(cell)?;
    /// body.builder().build_return(Some(&result))?;
    /// assert_eq!(frontend.check()?, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag(&self, reference: PointerValue<'ctx>) -> Result<IntValue<'ctx>, FrontendError> {
        let word = self.frontend.word();
        let bits = self.built(self.builder.build_ptr_to_int(reference, word, ""))?;
        match self.frontend.how_words_are_tagged().pattern {
            0 => Ok(bits),
            pattern => self.built(self.builder.build_or(bits, word.const_int(pattern, false), "")),
        }
    }

    /// The reference in a word that is one.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn untag(&self, word: IntValue<'ctx>) -> Result<PointerValue<'ctx>, FrontendError> {
        let tags = self.frontend.how_words_are_tagged();
        let bits = match tags.pattern {
            0 => word,
            _ => {
                let mask = self.frontend.word().const_int(tags.pointer, false);
                self.built(self.builder.build_and(word, mask, ""))?
            }
        };
        self.built(self.builder.build_int_to_ptr(bits, self.frontend.reference(), ""))
    }

    /// Whether a word is a reference, which may be null: one bit.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn is_reference(&self, word: IntValue<'ctx>) -> Result<IntValue<'ctx>, FrontendError> {
        let (tags, of) = (self.frontend.how_words_are_tagged(), self.frontend.word());
        let tag = self.built(self.builder.build_and(word, of.const_int(tags.mask, false), ""))?;
        let equal = tally_llvm::inkwell::IntPredicate::EQ;
        self.built(self.builder.build_int_compare(equal, tag, of.const_int(tags.pattern, false), ""))
    }

    /// Lets the collector run, if it is due: for code that computes long without a call.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn safepoint(&self) -> Result<(), FrontendError> {
        let of = self.frontend.context().void_type().fn_type(&[], false);
        self.call(self.frontend.runtime("tally_safepoint", of)?, &[]).map(drop)
    }

    /// Calls a function; the result is `None` for `void`. The arguments need no roots during the call.
    ///
    /// # Errors
    /// [`FrontendError::Build`].
    pub fn call(
        &self,
        function: FunctionValue<'ctx>,
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<Option<BasicValueEnum<'ctx>>, FrontendError> {
        self.built(self.builder.build_call(function, arguments, "")).map(|call| call.try_as_basic_value().basic())
    }

    fn value_of_call(
        &self,
        function: FunctionValue<'ctx>,
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, FrontendError> {
        Ok(self.call(function, arguments)?.expect("it is declared with a result"))
    }

    fn barrier(
        &self,
        name: &str,
        value: BasicValueEnum<'ctx>,
        object: PointerValue<'ctx>,
        slot: PointerValue<'ctx>,
    ) -> Result<(), FrontendError> {
        let parameters = [value.get_type().into(), object.get_type().into(), slot.get_type().into()];
        let write = self.frontend.runtime(name, self.frontend.context().void_type().fn_type(&parameters, false))?;
        self.call(write, &[value.into(), object.into(), slot.into()]).map(drop)
    }

    fn type_of<V: Held<'ctx>>(&self) -> BasicTypeEnum<'ctx> {
        if V::TAGGED { self.frontend.word().into() } else { self.frontend.reference().into() }
    }

    /// Builds at the start of the entry block.
    fn in_entry<T>(&self, build: impl FnOnce(&Builder<'ctx>) -> Result<T, BuilderError>) -> Result<T, FrontendError> {
        let entry = self.function.get_first_basic_block().expect("`new` has made it");
        let elsewhere = self.frontend.context().create_builder();
        // Behind the variables that are there, in front of their roots.
        let mut next = entry.get_first_instruction();
        while let Some(alloca) = next.filter(|first| first.get_opcode() == InstructionOpcode::Alloca) {
            next = alloca.get_next_instruction();
        }
        match next {
            Some(instruction) => elsewhere.position_before(&instruction),
            None => elsewhere.position_at_end(entry),
        }
        self.built(build(&elsewhere))
    }

    fn expect(
        &self,
        place: &str,
        expected: BasicTypeEnum<'ctx>,
        value: BasicValueEnum<'ctx>,
    ) -> Result<(), FrontendError> {
        if value.get_type() == expected {
            return Ok(());
        }
        Err(FrontendError::WrongValue {
            function: self.name(),
            place: place.to_owned(),
            expected: expected.print_to_string().to_string(),
            given: value.get_type().print_to_string().to_string(),
        })
    }

    fn built<T>(&self, built: Result<T, BuilderError>) -> Result<T, FrontendError> {
        self.frontend.fault()?;
        built.map_err(|error| FrontendError::Build { function: self.name(), error })
    }

    fn name(&self) -> String {
        self.function.get_name().to_string_lossy().into_owned()
    }
}
