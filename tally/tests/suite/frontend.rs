//! The builder of modules: what it refuses before anything is compiled.

use tally::llvm::inkwell::context::Context;
use tally::llvm::{Frontend, FrontendError, Tags};

/// An empty module.
fn frontend(context: &Context) -> Frontend<'_> {
    Frontend::new(context, "m").expect("code for this machine")
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
