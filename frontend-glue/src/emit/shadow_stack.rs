//! Makes functions of LLVM's strategy `shadow-stack` ready for its code generator, in a module that Tally compiles.
//!
//! LLVM moves the rooted variables of such a function into an entry of a list, late, and stumbles over three things that are
//! right for all other code (LLVM 22, `ShadowStackGCLowering.cpp`):
//!
//! - The inliner marks where a variable lives. The marks are left behind on what is no variable any more, which LLVM's verifier calls
//!   broken. They are removed, and inlined variables move to the entry block.
//! - A root that is no pointer (an integer, a struct) and is not stored to at once crashes it. It is made zero in the entry
//!   block.
//! - `longjmp` leaves frames without unlinking them, and the list would begin with frames that are gone. So where a function
//!   calls `setjmp`, the head of the list is noted before and set again after:
//!
//! ```text
//!   %tally.chain = alloca ptr
//!   %0 = load ptr, ptr @llvm_gc_root_chain
//!   store ptr %0, ptr %tally.chain
//!   %jumped = call i32 @setjmp(ptr %where) returns_twice
//!   %1 = load ptr, ptr %tally.chain
//!   store ptr %1, ptr @llvm_gc_root_chain
//! ```
//!
//! No pass runs behind this one that would look through the variable. A function of a module without `shadow-stack`
//! that calls `setjmp` is not changed: such a program sets the head by itself (docs/port/strategies.md).

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::surgery::move_before;
use crate::llvm::{Builder, HandleSet, Module, Opcode, Value};
use crate::verify::source::foreign::SHADOW_STACK;

/// The head of the list of frames.
const HEAD: &str = "llvm_gc_root_chain";

/// Prepares the module's functions of that strategy; others are left alone.
pub(crate) fn make_ready(module: Module) {
    let bodies = || module.functions().filter(|function| function.has_body());
    let is_linked = |function: &Value| function.gc().as_deref() == Some(SHADOW_STACK);
    if !bodies().any(|function| is_linked(&function)) {
        return;
    }
    let (builder, callees) = (Builder::new(module), Callees::of(module));
    for function in bodies().filter(is_linked) {
        place_roots(&builder, &callees, function);
    }
    let jumps: Vec<Call> = bodies()
        .flat_map(|function| function.calls().collect::<Vec<_>>())
        .filter(|&call| callees.returns_twice(call))
        .collect();
    for call in jumps.into_iter().filter(|call| !call.is_invoke()) {
        restore_head(&builder, call);
    }
}

fn place_roots(builder: &Builder, callees: &Callees, function: Value) {
    let calls: Vec<Call> = function.calls().collect();
    let rooted = calls.iter().filter(|&&call| callees.of_call(call) == Callee::GcRoot);
    let rooted: HandleSet<Value> = rooted.map(|call| call.argument(0).base()).collect();
    for call in calls {
        let is_mark = matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd);
        if is_mark && rooted.contains(&call.argument(call.argument_count() - 1).base()) {
            call.value().erase();
        }
    }
    let mut slots: Vec<Value> = function.instructions();
    slots.retain(|value| value.is(Opcode::LLVMAlloca) && rooted.contains(value));
    for slot in slots {
        if slot.block() != function.entry() {
            move_before(builder, slot, function.entry().behind_allocas());
        }
        let of = slot.allocated_type();
        if !of.is_pointer() {
            builder.before(function.entry().behind_allocas());
            builder.store(of.null(), slot);
        }
    }
}

fn restore_head(builder: &Builder, call: Call) {
    let module = builder.module();
    let pointer = module.pointer();
    let head = module.global(HEAD).unwrap_or_else(|| module.add_global(HEAD, pointer));
    let (place, behind) = (call.value(), call.value().next_instruction().expect("a call is no terminator"));
    let noted = builder.alloca_at_entry(place.function(), pointer, "tally.chain");
    builder.before(place);
    builder.store(builder.load(pointer, head), noted);
    builder.before(behind);
    builder.store(builder.load(pointer, noted), head);
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    /// As the inliner leaves it: the root of a function that was called in a loop, and a plain variable beside it.
    const INLINED: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @use(ptr)\n\
        declare void @llvm.lifetime.start.p0(ptr)\ndeclare void @llvm.lifetime.end.p0(ptr)\n\
        define void @f() gc \"shadow-stack\" {\n  %plain = alloca i64\n  br label %loop\nloop:\n  %root = alloca ptr\n  \
        call void @llvm.lifetime.start.p0(ptr %root)\n  call void @llvm.lifetime.start.p0(ptr %plain)\n  \
        call void @llvm.gcroot(ptr %root, ptr null)\n  call void @use(ptr %root)\n  \
        call void @llvm.lifetime.end.p0(ptr %plain)\n  call void @llvm.lifetime.end.p0(ptr %root)\n  br label %loop\n}\n";

    #[test]
    fn an_inlined_root_has_no_marks_and_lies_in_the_entry_block() {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(INLINED.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        make_ready(Module::of(&module));
        module.verify().unwrap();
        let text = module.print_to_string().to_string();
        let marks: Vec<&str> = text.lines().filter(|line| line.contains("call void @llvm.lifetime")).collect();
        assert!(marks.len() == 2 && marks.iter().all(|mark| mark.contains("%plain")), "{text}");
        let (entry, _) = text.split_once("loop:").unwrap();
        assert!(entry.contains("%root = alloca ptr"), "{text}");
    }
}
