//! The test whether a word leads into the heap, as a shift and a comparison with a byte.
//!
//! ```text
//!   lowering:        v >> 40 == 0x20
//!   LLVM's passes:   v & 0xffffff0000000000 == 0x200000000000
//! ```
//!
//! LLVM takes the second form for simpler. It needs two constants of 64 bits, which no instruction of x86-64 holds (nor of AArch64, for the mask, nor of RISC-V): the code generator
//! puts them into registers, keeps these across loops, and loads them again behind each call. A function that counts often has few
//! registers left. The first form has as many instructions and no constant of more than a byte. So it is made again here, when
//! no pass comes any more.

use crate::emit::target::Target;
use crate::llvm::{Builder, Module, Opcode, Value};
use tally_heap::memory::layout::Layout;

/// Runs after the last pass that combines instructions.
pub(crate) fn shift(module: Module) {
    let builder = Builder::new(module);
    let layout = &Target::of(module).layout();
    for function in module.functions().filter(|function| function.has_body()) {
        for masked in function.instructions().into_iter().filter(|&value| is_masked(value, layout)) {
            let tests: Vec<Value> = masked.users().filter(|&user| is_test(user, layout)).collect();
            if tests.is_empty() {
                continue;
            }
            builder.before(masked);
            let shift = masked.type_of().constant(u64::from(layout.span_shift()));
            let region = builder.binary(Opcode::LLVMLShr, masked.operand(0), shift);
            let heap = masked.type_of().constant(layout.heap_region());
            for test in tests {
                test.set_operand(0, region);
                test.set_operand(1, heap);
            }
            if masked.users().next().is_none() {
                masked.erase();
            }
        }
    }
}

/// Whether all but the upper bits are cleared.
fn is_masked(value: Value, layout: &Layout) -> bool {
    value.is(Opcode::LLVMAnd)
        && value.type_of().integer_bits() == Some(64)
        && value.operand(1).constant_integer() == Some(!(layout.heap_span - 1))
}

/// Whether these are compared with those of the heap's addresses.
fn is_test(user: Value, layout: &Layout) -> bool {
    user.is(Opcode::LLVMICmp)
        && user.asks_for_equality().is_some()
        && user.operand(1).constant_integer() == Some(layout.heap_base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use tally_heap::memory::range::{HEAP_BASE, HEAP_SPAN};

    const SPAN_SHIFT: u32 = HEAP_SPAN.trailing_zeros();

    /// The instructions of @f, one a line, after its tests were changed.
    fn shifted(body: &str) -> Vec<String> {
        let text = format!("define i1 @f(i64 %v, i64 %w) {{\n{body}\n}}\n");
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).expect("valid IR");
        shift(Module::of(&module));
        module.verify().expect("still valid");
        let text = module.print_to_string().to_string();
        text.lines().filter(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
    }

    fn masked() -> String {
        format!("%m = and i64 %v, {}", !(HEAP_SPAN - 1) as i64)
    }

    #[test]
    fn both_tests_of_a_word_share_a_shift() {
        let body = format!(
            "{}\n%in = icmp eq i64 %m, {HEAP_BASE}\n%out = icmp ne i64 %m, {HEAP_BASE}\n%r = xor i1 %in, %out\nret i1 %r",
            masked()
        );
        let region = HEAP_BASE >> SPAN_SHIFT;
        let expected = [
            format!("%1 = lshr i64 %v, {SPAN_SHIFT}"),
            format!("%in = icmp eq i64 %1, {region}"),
            format!("%out = icmp ne i64 %1, {region}"),
            "%r = xor i1 %in, %out".to_owned(),
            "ret i1 %r".to_owned(),
        ];
        assert_eq!(shifted(&body), expected);
    }

    #[test]
    fn the_mask_stays_where_something_else_needs_it() {
        let body = format!(
            "{}\n%in = icmp eq i64 %m, {HEAP_BASE}\n%o = icmp eq i64 %m, %w\n%r = xor i1 %in, %o\nret i1 %r",
            masked()
        );
        let after = shifted(&body);
        assert!(after[0].starts_with("%1 = lshr") && after[1].starts_with("%m = and"), "{after:?}");
        assert!(after[3].contains("icmp eq i64 %m, %w"), "{after:?}");
    }

    #[test]
    fn other_comparisons_are_left_alone() {
        for test in [format!("icmp ult i64 %m, {HEAP_BASE}"), format!("icmp eq i64 %m, {}", HEAP_BASE * 2)] {
            let after = shifted(&format!("{}\n%in = {test}\nret i1 %in", masked()));
            assert!(after[0].starts_with("%m = and") && after.len() == 3, "{after:?}");
        }
    }
}
