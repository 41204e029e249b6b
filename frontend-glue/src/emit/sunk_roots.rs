//! Stores into roots sink into the branch that needs them.
//!
//! ```text
//! define void @visit(ptr %node) {                define void @visit(ptr %node) {
//!   %root = alloca ptr                             %root = alloca ptr
//!   store ptr %node, ptr %root                     %none = icmp eq ptr %node, null
//!   %none = icmp eq ptr %node, null                br i1 %none, label %done, label %more
//!   br i1 %none, label %done, label %more        more:
//! more:                                            store ptr %node, ptr %root
//!   call void @f() [ "deopt"(…, ptr %root) ]       call void @f() [ "deopt"(…, ptr %root) ]
//! ```
//!
//! A function roots its parameters when it begins. If it ends at once, as half of the calls of a recursive function do, it made a
//! frame for nothing: LLVM makes the frame later where only a part of the function needs one, but never moves a store. The
//! deepest calls of a recursion then cost what they cost without roots.
//!
//! A store sinks over the branch at its block's end, into each successor that may read the slot before it is overwritten. A call
//! that names the slot reads it. `[ROOT]` Every such successor must have no other way in, and one at least must not read it.
//!
//! A function that calls `setjmp` is left alone: a branch behind it would store once more when `setjmp` returns again, over what
//! the program has stored since.

use crate::analysis::flow::Flow;
use crate::llvm::call::AttributeKind;
use crate::llvm::surgery::copy_before;
use crate::llvm::{Block, Builder, Module, Opcode, Value};

/// Of a function with more stores at its entry the frame is the least.
const STORES_MAX: usize = 16;

/// Runs after the last pass that could move a store back. Returns whether it changed anything.
pub(crate) fn sink(module: Module) -> bool {
    let builder = Builder::new(module);
    let mut has_changed = false;
    for function in module.functions().filter(|function| function.has_body()) {
        let Some(entry) = function.blocks().next() else { continue };
        let mut stores: Vec<Value> = entry.instructions().filter(|it| it.is(Opcode::LLVMStore)).collect();
        if entry.successors().len() < 2 || stores.is_empty() || stores.len() > STORES_MAX {
            continue;
        }
        if function.calls().any(|call| call.has_attribute(AttributeKind::named("returns_twice"))) {
            continue;
        }
        let flow = Flow::of(function);
        while let Some(store) = stores.pop() {
            if let Some(places) = Slot::of(store).and_then(|slot| slot.places_below(&flow, store)) {
                stores.extend(
                    places
                        .iter()
                        .map(|place| copy_before(&builder, store, place.first_insertion_point(), |operand| operand)),
                );
                store.erase();
                has_changed = true;
            }
        }
    }
    has_changed
}

/// A variable that loads, whole stores and bundles alone use.
struct Slot(Value);

/// The first thing that a block does with a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Reads,
    Overwrites,
}

impl Slot {
    /// The slot of a store, if that is one.
    fn of(store: Value) -> Option<Slot> {
        let slot = store.operand(1);
        let is_plain = |user: Value| match user.opcode() {
            Some(Opcode::LLVMLoad) => !user.is_volatile() && !user.is_atomic(),
            Some(Opcode::LLVMStore) => {
                !user.is_volatile()
                    && !user.is_atomic()
                    && user.operand(0) != slot
                    && user.operand(0).type_of() == slot.allocated_type()
            }
            _ => user.as_call().is_some_and(|call| call.callee() != slot && !call.arguments().contains(&slot)),
        };
        (slot.is(Opcode::LLVMAlloca) && slot.users().all(is_plain)).then_some(Slot(slot))
    }

    /// The successors of the store's block that need it, if it can sink there.
    fn places_below(&self, flow: &Flow, store: Value) -> Option<Vec<Block>> {
        let block = store.block();
        let end = block.terminator()?;
        let rest = std::iter::successors(store.next_instruction(), |it| it.next_instruction());
        if !matches!(end.opcode(), Some(Opcode::LLVMBr | Opcode::LLVMSwitch))
            || rest.into_iter().any(|it| self.is_used_by(it))
        {
            return None;
        }
        let reading = self.blocks_that_may_read(flow);
        let here = flow.number(block);
        let needing: Vec<usize> = flow.successors[here].iter().copied().filter(|&below| reading[below]).collect();
        let has_one_way_in = |&below: &usize| below != here && flow.predecessors[below].len() == 1;
        let sinks =
            !needing.is_empty() && needing.len() < flow.successors[here].len() && needing.iter().all(has_one_way_in);
        sinks.then(|| needing.iter().map(|&below| flow.blocks[below]).collect())
    }

    fn is_used_by(&self, instruction: Value) -> bool {
        self.0.users().any(|user| user == instruction)
    }

    /// By block, whether the slot may be read at its start or below, before it is overwritten.
    fn blocks_that_may_read(&self, flow: &Flow) -> Vec<bool> {
        let mut first = vec![None; flow.blocks.len()];
        for block in self.0.users().map(Value::block) {
            let here = flow.number(block);
            if first[here].is_none() {
                first[here] = block.instructions().find(|it| self.is_used_by(*it)).map(|it| match it.opcode() {
                    Some(Opcode::LLVMStore) => First::Overwrites,
                    _ => First::Reads,
                });
            }
        }
        let mut reading: Vec<bool> = first.iter().map(|&first| first == Some(First::Reads)).collect();
        let mut waiting: Vec<usize> = (0..reading.len()).filter(|&block| reading[block]).collect();
        while let Some(block) = waiting.pop() {
            for &above in &flow.predecessors[block] {
                if first[above].is_none() && !reading[above] {
                    reading[above] = true;
                    waiting.push(above);
                }
            }
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    /// The names of the blocks of @f that store into %root once its stores have sunk, in their order.
    fn blocks_that_store(body: &str) -> Vec<String> {
        let text = format!(
            "declare void @g()\ndeclare void @take(ptr)\ndefine void @f(ptr %object, i1 %one, i1 %other) {{\n\
             entry:\n  %root = alloca ptr\n  store ptr %object, ptr %root\n{body}\n}}\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).expect("valid IR");
        let before = module.print_to_string();
        let has_changed = sink(Module::of(&module));
        module.verify().expect("still valid");
        assert_eq!(has_changed, module.print_to_string() != before);
        let function = module.get_function("f").expect("just defined");
        let stores = |block: &inkwell::basic_block::BasicBlock| {
            block.get_instructions().any(|it| it.get_opcode() == inkwell::values::InstructionOpcode::Store)
        };
        let blocks = function.get_basic_blocks().into_iter().filter(stores);
        blocks.map(|block| block.get_name().to_string_lossy().into_owned()).collect()
    }

    const DONE: &str = "done:\n  ret void";
    const NAMES: &str = "call void @g() [ \"deopt\"(i64 0, ptr %root) ]";

    #[test]
    fn a_root_is_stored_in_the_branch_whose_call_names_it() {
        let body = format!("br i1 %one, label %done, label %more\nmore:\n  {NAMES}\n  br label %done\n{DONE}");
        assert_eq!(blocks_that_store(&body), ["more"]);
    }

    #[test]
    fn a_store_sinks_over_several_branches() {
        let body = format!(
            "br i1 %one, label %done, label %more\nmore:\n  br i1 %other, label %done, label %last\n\
             last:\n  {NAMES}\n  br label %done\n{DONE}"
        );
        assert_eq!(blocks_that_store(&body), ["last"]);
    }

    #[test]
    fn a_branch_that_overwrites_the_slot_does_not_need_the_store() {
        let body = format!(
            "br i1 %one, label %over, label %more\nover:\n  store ptr null, ptr %root\n  {NAMES}\n  br label %done\n\
             more:\n  {NAMES}\n  br label %done\n{DONE}"
        );
        assert_eq!(blocks_that_store(&body), ["over", "more"]);
    }

    #[test]
    fn a_call_far_below_reads_the_slot() {
        let body = format!(
            "br i1 %one, label %done, label %more\nmore:\n  br label %loop\nloop:\n  {NAMES}\n  \
             br i1 %other, label %loop, label %done\n{DONE}"
        );
        assert_eq!(blocks_that_store(&body), ["more"]);
    }

    #[test]
    fn a_store_stays_where_every_branch_or_the_block_itself_needs_it() {
        let both = format!(
            "br i1 %one, label %left, label %right\nleft:\n  {NAMES}\n  br label %done\n\
             right:\n  {NAMES}\n  br label %done\n{DONE}"
        );
        assert_eq!(blocks_that_store(&both), ["entry"]);
        let own =
            format!("{NAMES}\n  br i1 %one, label %done, label %more\nmore:\n  {NAMES}\n  br label %done\n{DONE}");
        assert_eq!(blocks_that_store(&own), ["entry"]);
    }

    #[test]
    fn a_store_stays_where_the_branch_has_another_way_in() {
        let body = format!(
            "br i1 %one, label %loop, label %done\nloop:\n  {NAMES}\n  br i1 %other, label %loop, label %done\n{DONE}"
        );
        assert_eq!(blocks_that_store(&body), ["entry"], "the store would be repeated, and with it what it overwrites");
    }

    #[test]
    fn a_store_stays_in_a_function_that_calls_setjmp() {
        let again = |marked: &str| {
            format!(
                "%again = call i32 @setjmp(ptr null) {marked}\n  %first = icmp eq i32 %again, 0\n  \
                 br i1 %first, label %over, label %landed\nover:\n  store ptr null, ptr %root\n  {NAMES}\n  unreachable\n\
                 landed:\n  {NAMES}\n  ret void\n}}\ndeclare i32 @setjmp(ptr)\ndefine void @unused() {{\n  ret void"
            )
        };
        assert_eq!(blocks_that_store(&again("")), ["over", "landed"]);
        assert_eq!(blocks_that_store(&again("returns_twice")), ["entry", "over"]);
    }

    #[test]
    fn a_store_stays_where_something_else_knows_the_slot() {
        for use_of_address in [
            "call void @take(ptr %root)",
            "%in = getelementptr i8, ptr %root, i64 4",
            "%seen = load volatile ptr, ptr %root",
        ] {
            let body = format!(
                "br i1 %one, label %done, label %more\nmore:\n  {NAMES}\n  {use_of_address}\n  br label %done\n{DONE}"
            );
            assert_eq!(blocks_that_store(&body), ["entry"], "{use_of_address}");
        }
    }
}
