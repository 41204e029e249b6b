//! Roots, allocations and writes, built with LLVM's builder where that stands.

use std::ffi::{CStr, c_char};

use inkwell::llvm_sys::LLVMTypeKind;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;

/// The builder, the module in which it stands, and the types that calls of the runtime have.
struct Place {
    builder: LLVMBuilderRef,
    module: LLVMModuleRef,
    context: LLVMContextRef,
}

impl Place {
    /// # Safety
    /// A builder that stands in a block of a function of a module.
    unsafe fn of(builder: LLVMBuilderRef) -> Place {
        // SAFETY: the caller's duty.
        let block = unsafe { LLVMGetInsertBlock(builder) };
        // SAFETY: the builder stands in a block.
        let function = unsafe { LLVMGetBasicBlockParent(block) };
        // SAFETY: which is in a function.
        let module = unsafe { LLVMGetGlobalParent(function) };
        // SAFETY: which is in a module.
        let context = unsafe { LLVMGetModuleContext(module) };
        Place { builder, module, context }
    }

    fn pointer(&self) -> LLVMTypeRef {
        // SAFETY: a context that is alive.
        unsafe { LLVMPointerTypeInContext(self.context, 0) }
    }

    fn nothing(&self) -> LLVMTypeRef {
        // SAFETY: a context that is alive.
        unsafe { LLVMVoidTypeInContext(self.context) }
    }

    /// Builds a call of a function that the module declares, or gets a declaration of, with these arguments.
    fn call(&self, function: &CStr, result: LLVMTypeRef, arguments: &mut [LLVMValueRef], name: &CStr) -> LLVMValueRef {
        // SAFETY: values that are alive.
        let mut types: Vec<LLVMTypeRef> = arguments.iter().map(|&value| unsafe { LLVMTypeOf(value) }).collect();
        let count = u32::try_from(types.len()).unwrap_or(u32::MAX);
        // SAFETY: as many types as are counted.
        let of = unsafe { LLVMFunctionType(result, types.as_mut_ptr(), count, 0) };
        // SAFETY: a module that is alive.
        let declared = unsafe { LLVMGetNamedFunction(self.module, function.as_ptr()) };
        let callee = match declared.is_null() {
            // SAFETY: a module that is alive.
            true => unsafe { LLVMAddFunction(self.module, function.as_ptr(), of) },
            false => declared,
        };
        // SAFETY: the builder stands in a block; the arguments are of the function's types.
        unsafe { LLVMBuildCall2(self.builder, of, callee, arguments.as_mut_ptr(), count, name.as_ptr()) }
    }
}

/// # Safety
/// A C string, or null.
unsafe fn name_of<'a>(name: *const c_char) -> &'a CStr {
    // SAFETY: the caller's duty.
    if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } }
}

/// # Safety
/// A builder in a function of a gc strategy, a value, a descriptor or null, and a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_build_root(
    builder: LLVMBuilderRef,
    value: LLVMValueRef,
    descriptor: LLVMValueRef,
    name: *const c_char,
) -> LLVMValueRef {
    // SAFETY: the caller's duty.
    let place = unsafe { Place::of(builder) };
    // SAFETY: the caller's duty.
    let of = unsafe { LLVMTypeOf(value) };
    // SAFETY: the caller's duty.
    let name = unsafe { name_of(name) };
    // SAFETY: the builder stands in a block. The lowering moves a root's variable to the function's entry.
    let slot = unsafe { LLVMBuildAlloca(builder, of, name.as_ptr()) };
    let how = match descriptor.is_null() {
        // SAFETY: a type that is alive.
        true => unsafe { LLVMConstNull(place.pointer()) },
        false => descriptor,
    };
    place.call(c"llvm.gcroot", place.nothing(), &mut [slot, how], c"");
    // SAFETY: the builder stands in a block.
    unsafe { LLVMBuildStore(builder, value, slot) };
    slot
}

/// # Safety
/// A builder in a function of a gc strategy, a descriptor, a number of 64 bits or null, and a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_build_new(
    builder: LLVMBuilderRef,
    descriptor: LLVMValueRef,
    count: LLVMValueRef,
    name: *const c_char,
) -> LLVMValueRef {
    // SAFETY: the caller's duty.
    let place = unsafe { Place::of(builder) };
    // SAFETY: the caller's duty.
    let name = unsafe { name_of(name) };
    match count.is_null() {
        true => place.call(c"tally_new", place.pointer(), &mut [descriptor], name),
        false => place.call(c"tally_new_array", place.pointer(), &mut [descriptor, count], name),
    }
}

/// # Safety
/// A builder in a function of a gc strategy; an object, and a place in it, or a global twice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_build_write(
    builder: LLVMBuilderRef,
    value: LLVMValueRef,
    object: LLVMValueRef,
    slot: LLVMValueRef,
) -> LLVMValueRef {
    // SAFETY: the caller's duty.
    let place = unsafe { Place::of(builder) };
    // SAFETY: the caller's duty.
    let of = unsafe { LLVMTypeOf(value) };
    // SAFETY: a type that is alive.
    let is_word = unsafe { LLVMGetTypeKind(of) } == LLVMTypeKind::LLVMIntegerTypeKind;
    let function = if is_word { c"tally_gcwrite_i64" } else { c"llvm.gcwrite" };
    place.call(function, place.nothing(), &mut [value, object, slot], c"")
}

/// # Safety
/// A builder that stands in a function of a gc strategy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_build_safepoint(builder: LLVMBuilderRef) -> LLVMValueRef {
    // SAFETY: the caller's duty.
    let place = unsafe { Place::of(builder) };
    place.call(c"tally_safepoint", place.nothing(), &mut [], c"")
}

/// # Safety
/// A function that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_mark_leaf(function: LLVMValueRef) {
    const LEAF: &CStr = c"gc-leaf-function";
    // SAFETY: the caller's duty.
    unsafe { LLVMAddTargetDependentFunctionAttr(function, LEAF.as_ptr(), c"".as_ptr()) };
}
