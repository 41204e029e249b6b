//! The builder of modules: what it refuses before anything is compiled; what a session says of a module.

use tally::llvm::inkwell::AddressSpace;
use tally::llvm::inkwell::context::Context;
use tally::llvm::inkwell::memory_buffer::MemoryBuffer;
use tally::llvm::inkwell::types::{BasicType, FunctionType};
use tally::llvm::inkwell::values::BasicValue;
use tally::llvm::{CompileOptions, Frontend, FrontendError, Session, Tags};

/// An empty module.
fn frontend(context: &Context) -> Frontend<'_> {
    Frontend::new(context, "m").expect("code for this machine")
}

/// The message of the error, which must be a collision of this name.
fn collision(error: FrontendError, expected: &str) -> String {
    let message = error.to_string();
    assert!(matches!(error, FrontendError::Name { name, .. } if name == expected), "{message}");
    message
}

/// The message for a declaration that collides; it fails all that follows, too.
fn refused(name: &str, declare: impl Fn(&Frontend)) -> String {
    let context = Context::create();
    let frontend = frontend(&context);
    let before = frontend.function("before", nothing(&frontend));
    let before = frontend.body(before).expect("a body");
    declare(&frontend);
    let message = collision(frontend.check().expect_err(name), name);
    let after = frontend.function("after", nothing(&frontend));
    let others = [frontend.body(after).map(drop), frontend.object("After").define().map(drop), before.safepoint()];
    assert!(others.into_iter().all(|other| other.expect_err(name).to_string() == message), "{message}");
    message
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
fn entry_point_of_another_type_is_refused() {
    let context = Context::create();
    let nothing = context.void_type().fn_type(&[], false);
    let real = context.f64_type().fn_type(&[context.i8_type().into()], false);
    for (name, wrong) in [("tally_new", nothing), ("tally_new", real), ("tally_safepoint", real)] {
        let frontend = frontend(&context);
        frontend.native(name, wrong);
        let message = collision(frontend.check().expect_err("another type"), name);
        assert!(message.contains("is a function of the runtime"), "{message}");
    }
    // Behind the frontend's back.
    for name in ["tally_new", "tally_new_array", "tally_safepoint", "llvm.gcroot", "llvm.gcwrite"] {
        let frontend = frontend(&context);
        let node = frontend.object("Node").reference("next").define().expect("a type");
        let text = frontend.object("Text").elements(context.i8_type()).define().expect("a type");
        let work = frontend.function("work", context.void_type().fn_type(&[frontend.reference().into()], false));
        let body = frontend.body(work).expect("a body");
        frontend.module().add_function(name, real, None);
        let object = body.parameter(0).into_pointer_value();
        let error = match name {
            "tally_new" => body.allocate(&node).map(drop),
            "tally_new_array" => body.allocate_array(&text, frontend.word().const_zero()).map(drop),
            "tally_safepoint" => body.safepoint(),
            "llvm.gcroot" => body.root("root", object).map(drop),
            _ => body.write(object, node.field("next").expect("a field"), object),
        };
        collision(error.expect_err("another type"), name);
    }
}

#[test]
fn names_that_collide_are_refused() {
    let twice = [
        refused("T", |frontend| _ = (frontend.global("T"), frontend.global("T"))),
        refused("T", |frontend| _ = (frontend.object("T").define().expect("a type"), frontend.global("T"))),
        refused("T", |frontend| {
            frontend.object("T").define().expect("a type");
            frontend.function("T", nothing(frontend));
        }),
        refused("T", |frontend| _ = (frontend.native("T", nothing(frontend)), frontend.global("T"))),
        refused("T", |frontend| _ = (frontend.global("T"), frontend.leaf("T", nothing(frontend)))),
        refused("T", |frontend| {
            frontend.function("T", nothing(frontend));
            frontend.native("T", frontend.word().fn_type(&[], false));
        }),
    ];
    assert!(twice.iter().all(|message| message.contains("declared already")), "{twice:?}");
    for name in ["tally_new", "tally_safepoint", "tally_mine", "tally.word", "tally.module"] {
        refused(name, |frontend| _ = frontend.global(name));
        refused(name, |frontend| _ = frontend.function(name, nothing(frontend)));
        let context = Context::create();
        let error = frontend(&context).object(name).reference("a").define().expect_err(name);
        assert!(collision(error, name).contains("the runtime may use"));
    }
    refused("tally_mine", |frontend| _ = frontend.native("tally_mine", nothing(frontend)));
    refused("a\0b", |frontend| _ = frontend.native("a\0b", nothing(frontend)));
}

#[test]
fn functions_may_be_declared_again_and_those_of_the_runtime_called() {
    let context = Context::create();
    for typed in [false, true] {
        let mut frontend = frontend(&context);
        if typed {
            frontend = frontend.typed_references();
        }
        let nothing = nothing(&frontend);
        let node = frontend.object("Node").reference("next").define().expect("a type");
        let collect = frontend.native("tally_collect", nothing);
        frontend.leaf("tally_live_bytes", frontend.word().fn_type(&[], false));
        let of_new = frontend.reference().fn_type(&[context.ptr_type(AddressSpace::default()).into()], false);
        frontend.native("tally_new", of_new);
        let work = frontend.function("work", nothing);
        assert_eq!(frontend.function("work", nothing), work);
        assert_eq!(frontend.native("work", nothing), work);
        let body = frontend.body(work).expect("a body");
        body.call(collect, &[]).expect("a call");
        body.allocate(&node).expect("an object");
        body.builder().build_return(None).expect("a return");
        assert_eq!(frontend.check().expect("in order"), []);
    }
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

/// A session whose options ask for warnings returns them with the module; otherwise none is looked for.
#[test]
fn session_returns_what_the_verifier_warns_of_if_it_is_asked_to() {
    const IR: &[u8] = b"\
        declare ptr @tally_new(ptr)\n\
        @Node = external constant i8\n\
        !tally.types = !{!0}\n\
        !0 = !{ptr @Node, !\"size\", i64 16, !\"refs\", !{i32 0}}\n\
        define i64 @forgets() gc \"refcount\" {\n\
          %first = call ptr @tally_new(ptr @Node)\n\
          %second = call ptr @tally_new(ptr @Node)\n\
          %value = load i64, ptr %first\n\
          ret i64 %value\n\
        }\n";
    for asked in [false, true] {
        let context = Context::create();
        let text = MemoryBuffer::create_from_memory_range_copy(IR, "forgets.ll");
        let module = context.create_module_from_ir(text).expect("valid IR");
        let options = CompileOptions { warns: asked, ..CompileOptions::default() };
        let mut session = Session::new(options).expect("a session");
        // SAFETY: it has no constructors of its own, and no function of it is called.
        let added = unsafe { session.add_module_with_warnings("forgets.ll", &module) };
        let (_, warnings) = added.expect("a warning is no error");
        let of: Vec<_> = warnings.iter().map(|warning| warning.function.as_deref()).collect();
        assert_eq!(of, if asked { vec![Some("forgets")] } else { vec![] }, "{warnings:?}");
    }
}
