//! The builder of modules: what it refuses before anything is compiled.

use tally::llvm::inkwell::AddressSpace;
use tally::llvm::inkwell::context::Context;
use tally::llvm::inkwell::types::{BasicType, FunctionType};
use tally::llvm::inkwell::values::BasicValue;
use tally::llvm::{Frontend, FrontendError, Tags};

/// An empty module.
fn frontend(context: &Context) -> Frontend<'_> {
    Frontend::new(context, "m").expect("code for this machine")
}

/// The type of functions without parameters and result.
fn nothing<'ctx>(frontend: &Frontend<'ctx>) -> FunctionType<'ctx> {
    frontend.context().void_type().fn_type(&[], false)
}

#[test]
fn write_into_an_object_that_is_no_reference_is_refused() {
    let context = Context::create();
    for typed in [false, true] {
        let mut frontend = frontend(&context);
        if typed {
            frontend = frontend.typed_references();
        }
        let (reference, word) = (frontend.reference(), frontend.word());
        let node =
            frontend.object("Node").reference("next").tagged("tag").plain("value", word).define().expect("a type");
        let spaces = [u16::from(!typed), 5].map(|space| context.ptr_type(AddressSpace::from(space)).into());
        let parameters = [spaces[0], spaces[1], reference.into(), word.into()];
        let write = frontend.function("write", context.void_type().fn_type(&parameters, false));
        let body = frontend.body(write).expect("a body");
        for (field, value) in [("next", 2), ("tag", 3), ("value", 3)] {
            let place = node.field(field).expect("a field");
            for object in [0, 1] {
                let object = body.parameter(object).into_pointer_value();
                let error = body.write(object, place, body.parameter(value)).expect_err("no reference");
                assert!(matches!(error, FrontendError::WrongValue { .. }), "{error}");
                assert!(error.to_string().starts_with("in @write: the operand `object` holds"), "{error}");
            }
            body.write(body.parameter(2).into_pointer_value(), place, body.parameter(value)).expect("a reference");
        }
        body.builder().build_return(None).expect("a return");
        frontend.check().expect("in order");
    }
}

#[test]
fn function_that_is_only_declared_for_the_host_gets_no_body() {
    let context = Context::create();
    let frontend = frontend(&context);
    for function in [frontend.native("native", nothing(&frontend)), frontend.leaf("leaf", nothing(&frontend))] {
        let error = frontend.body(function).expect_err("not the frontend's");
        assert!(matches!(error, FrontendError::NotManaged { .. }), "{error}");
    }
}

#[test]
fn types_without_a_size_known_at_compile_time_are_refused() {
    let context = Context::create();
    let frontend = frontend(&context);
    let scalable = context.i32_type().scalable_vec_type(4);
    let inside = context.struct_type(&[context.i8_type().into(), scalable.into()], false);
    let opaque = context.opaque_struct_type("opaque");
    for of in [scalable.as_basic_type_enum(), inside.into(), opaque.into(), inside.array_type(2).into()] {
        for builder in [frontend.object("T").plain("field", of), frontend.object("T").elements(of)] {
            let error = builder.define().expect_err("no size");
            assert!(matches!(error, FrontendError::Type { .. }), "{error}");
            assert!(error.to_string().contains("whose size is not known at compile time"), "{error}");
        }
    }
    frontend.object("T").plain("field", context.i32_type().vec_type(4)).define().expect("a type");
}

#[test]
fn write_of_the_number_of_elements_is_refused() {
    let context = Context::create();
    let frontend = frontend(&context);
    let (reference, word) = (frontend.reference(), frontend.word());
    let vector = frontend.object("Vector").length("length").references().define().expect("a type");
    let grow = frontend.function("grow", word.fn_type(&[reference.into(), word.into()], false));
    let body = frontend.body(grow).expect("a body");
    let (object, length) = (body.parameter(0).into_pointer_value(), vector.field("length").expect("a field"));
    let error = body.write(object, length, body.parameter(1)).expect_err("the runtime's");
    assert_eq!(
        error.to_string(),
        "in @grow: the field `length` of `Vector` is the number of elements, which only the runtime writes"
    );
    assert!(body.read(object, length).expect("a read").as_basic_value_enum().is_int_value());
}

#[test]
fn tags_by_which_no_word_is_a_reference_are_refused() {
    let said = |mask: u64, pattern: u64, pointer: u64| {
        let context = Context::create();
        let frontend = frontend(&context).tags(Tags { mask, pattern, pointer });
        frontend.object("T").tagged("field").define().map(drop)
    };
    for (mask, pattern, pointer, fault) in [
        (1, 2, !7, "tag_pattern has bits outside tag_mask"),
        (1, 1, !0, "tag_pattern has bits of pointer_mask"),
        (!0, !0, !0, "tag_pattern has bits of pointer_mask"),
        (!0, 0, !0, "tag_mask leaves no bits of pointer_mask"),
        (1, 0, 7, "tag_mask leaves no bits of pointer_mask"),
        (1, 0, 0, "pointer_mask is 0"),
    ] {
        let error = said(mask, pattern, pointer).expect_err(fault);
        assert!(matches!(error, FrontendError::Type { .. }) && error.to_string().contains(fault), "{error}");
    }
    for (mask, pattern, pointer) in [
        (1, 0, !7),
        (1, 1, !7),
        (7, 5, !7),
        (7, 0, !0),
        (0, 0, !0),
        (0xffff << 48, 0xfffc << 48, (1 << 48) - 8),
        (0xfffe_0000_0000_0002, 0, !0),
        (0xffff << 48, 0, (1 << 48) - 1),
    ] {
        said(mask, pattern, pointer).expect("words that are references");
    }
}
