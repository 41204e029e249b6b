//! Functions begin at multiples of 64 bytes, and innermost loops at multiples of 32.
//!
//! A processor fetches decoded instructions by lines of 64 bytes (AMD's op cache) or 32 (Intel's). A short loop that crosses such a
//! line may take twice as long as one that does not. LLVM places both at multiples of 16, so that chance decides: the size of whatever is
//! linked in front. Here a loop of 32 bytes crosses no line of 64, and a longer one the same lines always.
//!
//! LLVM reads `llvm.loop.align` from the metadata of a loop's latches (`MachineBlockPlacement`). Functions whose size matters more
//! (`optsize`, `minsize`) keep LLVM's choice.

use crate::analysis::flow::Flow;
use crate::llvm::{Block, Builder, Module, Value};

/// A line of the widest op cache, and half of it.
const FUNCTION_BYTES: u32 = 64;
const LOOP_BYTES: u32 = 32;

/// Runs last, since passes that rotate or unroll loops make others.
pub(crate) fn align(module: Module) {
    let builder = Builder::new(module);
    let is_small = |function: Value| ["optsize", "minsize"].iter().any(|name| function.has_attribute(name));
    for function in module.functions().filter(|&function| function.has_body() && !is_small(function)) {
        function.set_alignment(function.alignment().max(FUNCTION_BYTES));
        for latches in innermost_loops(&Flow::of(function)) {
            let ends: Vec<Value> = latches.iter().filter_map(|block| block.terminator()).collect();
            builder.align_loop(&ends, LOOP_BYTES);
        }
    }
}

/// The latches of each: blocks that end with a way back to its header, which has no other header in its loop.
fn innermost_loops(flow: &Flow) -> Vec<Vec<Block>> {
    let is_header: Vec<bool> = (0..flow.reachable).map(|block| latches(flow, block).next().is_some()).collect();
    let innermost = (0..flow.reachable).filter(|&block| is_header[block] && is_innermost(flow, block, &is_header));
    innermost.map(|header| latches(flow, header).map(|latch| flow.blocks[latch]).collect()).collect()
}

/// In reverse post-order the source of a way back comes later than its target, or is the same block.
fn latches(flow: &Flow, header: usize) -> impl Iterator<Item = usize> {
    flow.predecessors[header].iter().copied().filter(move |latch| (header..flow.reachable).contains(latch))
}

fn is_innermost(flow: &Flow, header: usize, is_header: &[bool]) -> bool {
    let mut in_loop = vec![false; flow.reachable];
    in_loop[header] = true;
    let mut waiting: Vec<usize> = latches(flow, header).collect();
    while let Some(block) = waiting.pop() {
        if std::mem::replace(&mut in_loop[block], true) {
            continue;
        }
        // A block in front of the header is another way in: not a loop that LLVM knows.
        if block < header || is_header[block] {
            return false;
        }
        waiting.extend(flow.predecessors[block].iter().filter(|&&above| above < flow.reachable));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    /// What @f is after its loops were aligned, and its metadata.
    fn aligned(function: &str) -> String {
        let text = format!("define void @f(i1 %one, i1 %other) {function}\n");
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).expect("valid IR");
        align(Module::of(&module));
        module.verify().expect("still valid");
        module.print_to_string().to_string()
    }

    /// The names of the blocks whose ends say that their loop is aligned.
    fn latches_that_ask(function: &str) -> Vec<String> {
        let text = aligned(function);
        let mut block = "";
        let mut found = Vec::new();
        for line in text.lines() {
            match line.split_once(':') {
                Some((name, _)) if !line.starts_with([' ', ';']) => block = name,
                _ if line.contains("!llvm.loop") => found.push(block.to_owned()),
                _ => {}
            }
        }
        assert_eq!(text.contains(r#"!{!"llvm.loop.align", i32 32}"#), !found.is_empty());
        found
    }

    #[test]
    fn the_inner_loop_of_a_nest_is_aligned() {
        let nest = "{\nentry:\n  br label %outer\nouter:\n  br label %inner\ninner:\n  br i1 %one, label %inner, label %latch\n\
                    latch:\n  br i1 %other, label %outer, label %done\ndone:\n  ret void\n}";
        assert_eq!(latches_that_ask(nest), ["inner"]);
    }

    #[test]
    fn all_latches_of_a_loop_carry_the_same_node() {
        let two = "{\nentry:\n  br label %head\nhead:\n  br i1 %one, label %a, label %b\n\
                   a:\n  br label %head\nb:\n  br i1 %other, label %head, label %done\ndone:\n  ret void\n}";
        assert_eq!(latches_that_ask(two), ["a", "b"]);
        assert_eq!(aligned(two).matches("!llvm.loop !0").count(), 2);
    }

    #[test]
    fn a_cycle_with_two_ways_in_and_one_that_is_never_reached_are_left_alone() {
        let irreducible = "{\nentry:\n  br i1 %one, label %a, label %b\na:\n  br label %b\n\
                           b:\n  br i1 %other, label %a, label %done\ndone:\n  ret void\n}";
        assert!(latches_that_ask(irreducible).is_empty());
        let dead = "{\nentry:\n  ret void\ndead:\n  br i1 %one, label %dead, label %done\ndone:\n  ret void\n}";
        assert!(latches_that_ask(dead).is_empty());
    }

    #[test]
    fn what_the_loop_asked_for_before_it_still_asks_for() {
        let text = aligned(
            "{\nentry:\n  br label %loop\nloop:\n  br i1 %one, label %loop, label %done, !llvm.loop !0\ndone:\n  ret void\n}\n\
             !0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.mustprogress\"}",
        );
        assert!(text.contains("distinct !{!0, !1, !2}"), "{text}");
        assert!(text.contains(r#"!1 = !{!"llvm.loop.mustprogress"}"#), "{text}");
    }

    #[test]
    fn functions_begin_at_a_line_unless_their_size_matters_or_they_ask_for_more() {
        for (attributes, alignment) in [("", "align 64"), ("align 16", "align 64"), ("align 128", "align 128")] {
            let text = aligned(&format!("{attributes} {{\n  ret void\n}}"));
            assert!(text.contains(&format!("{alignment} {{")), "{text}");
        }
        for attribute in ["optsize", "minsize"] {
            let looping =
                "{\nentry:\n  br label %loop\nloop:\n  br i1 %one, label %loop, label %done\ndone:\n  ret void\n}";
            let text = aligned(&format!("{attribute} {looping}"));
            assert!(!text.contains("align"), "{text}");
        }
    }
}
