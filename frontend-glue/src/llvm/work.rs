//! The calls of LLVM that this thread has made, for tests: a measure of work that neither the machine nor its load changes.
//!
//! What the lowering does for a module must grow with the module. `tests/suite/scale.rs` holds that by the clock, with much room;
//! here each further function may take hardly more calls than those before it.

use std::cell::Cell;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

#[cfg(test)]
mod tests {
    use super::CALLS;
    use crate::lower::{LowerOptions, Plan, Roots, lower};
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use std::fmt::Write;

    const DECLARATIONS: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\n\
        declare ptr @tally_new(ptr)\ndeclare void @use(ptr)\n@Cell = external constant i8\n";

    /// Functions with an allocation, two calls, a write and a phi each, and two roots if they are written.
    fn functions(count: usize, plan: Plan, roots: Roots) -> String {
        let mut text = DECLARATIONS.to_owned();
        for number in 0..count {
            let (callee, strategy) = (number.saturating_sub(1), plan.strategy());
            let (slots, first, second) = match roots {
                Roots::Auto => ("", "", ""),
                _ => (
                    "  %a = alloca ptr\n  %b = alloca ptr\n  call void @llvm.gcroot(ptr %a, ptr null)\n  \
                     call void @llvm.gcroot(ptr %b, ptr null)\n",
                    "  store ptr %list, ptr %a\n",
                    "  store ptr %made, ptr %b\n",
                ),
            };
            writeln!(
                text,
                "define ptr @f{number}(ptr %list, i64 %n) gc \"{strategy}\" {{\n{slots}{first}  \
                 %made = call ptr @tally_new(ptr @Cell)\n{second}  br label %loop\nloop:\n  \
                 %i = phi i64 [ 0, %0 ], [ %next, %loop ]\n  %at = phi ptr [ %made, %0 ], [ %x, %loop ]\n  \
                 %x = call ptr @f{callee}(ptr %made, i64 %i)\n  call void @use(ptr %at)\n  \
                 call void @llvm.gcwrite(ptr %made, ptr %made, ptr %made)\n  %next = add i64 %i, 1\n  \
                 %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done\ndone:\n  ret ptr %made\n}}"
            )
            .unwrap();
        }
        text
    }

    /// One function of many blocks, each of which makes an object, merges it with another, and may start again.
    fn blocks(count: usize, plan: Plan, _roots: Roots) -> String {
        let strategy = plan.strategy();
        let mut text = format!("{DECLARATIONS}define void @f(i64 %n) gc \"{strategy}\" {{\n  br label %b0\n");
        for block in 0..count {
            writeln!(
                text,
                "b{block}:\n  %v{block} = call ptr @tally_new(ptr @Cell)\n  %c{block} = icmp eq i64 %n, {block}\n  \
                 br i1 %c{block}, label %s{block}, label %t{block}\ns{block}:\n  \
                 %w{block} = call ptr @tally_new(ptr @Cell)\n  br label %t{block}\nt{block}:\n  \
                 %m{block} = phi ptr [ %v{block}, %b{block} ], [ %w{block}, %s{block} ]\n  \
                 call void @use(ptr %m{block})\n  br label %b{}",
                block + 1
            )
            .unwrap();
        }
        writeln!(text, "b{count}:\n  ret void\n}}").unwrap();
        text
    }

    fn calls(text: &str, roots: Roots) -> u64 {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "large.ll");
        let module = context.create_module_from_ir(buffer).expect("valid IR");
        let options = LowerOptions { module_name: "large.ll".into(), roots, ..LowerOptions::default() };
        let before = CALLS.get();
        lower(&module, &options).expect("nothing to refuse");
        CALLS.get() - before
    }

    /// What is added to a module takes as many calls as what was added before.
    fn grows_steadily(what: &str, step: usize, room: f64, generate: impl Fn(usize, Plan, Roots) -> String) {
        for (plan, roots) in
            [(Plan::Deferred, Roots::Auto), (Plan::Prompt, Roots::Auto), (Plan::Deferred, Roots::Typed)]
        {
            let [one, two, four] = [1, 2, 4].map(|factor| calls(&generate(step * factor, plan, roots), roots));
            let growth = (four - two) as f64 / (2 * (two - one)) as f64;
            assert!(growth < room, "{what}, {plan:?}, {roots:?}: {one}, {two}, {four} calls of LLVM");
        }
    }

    #[test]
    fn each_function_more_takes_as_many_calls() {
        grows_steadily("functions", 40, 1.01, functions);
    }

    #[test]
    fn each_block_more_takes_as_many_calls() {
        // Work in proportion to the square would grow twofold; the prompt plan's part that does is a tenth at this size.
        grows_steadily("blocks", 40, 1.15, blocks);
    }
}
