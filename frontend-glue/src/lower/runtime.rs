//! The runtime as compiled code sees it: declarations of its entry points, and the thread's context.
//!
//! Signatures come from the one list that the runtime exports its symbols by (`tally_compiled::symbols`), offsets and
//! table addresses from its constants: no fact about the runtime is repeated here.

use crate::analysis::callee::{LEAF, runtime_symbol, signature};
use crate::emit::target::Target;
use crate::llvm::call::Position;
use crate::llvm::surgery::split_before;
use crate::llvm::{Block, Builder, Module, Opcode, Type, Value};
use tally_compiled::symbols::CallKind;
use tally_heap::context::CONTEXT_BYTES;

/// The way in which compiled code finds its thread's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextAccess {
    /// By the thread-local symbol `tally_context`: for code that a linker places.
    Symbol,
    /// At this distance from the thread pointer (`tally_heap::context::fs_offset`): for a JIT, whose code cannot
    /// refer to the host's thread-locals.
    FsOffset(i64),
}

/// Slow paths of inline code: they save the registers of the code around them.
const RARE_AND_SAVING: [&str; 4] = ["tally_log_slow", "tally_count_low", "tally_count_full", "tally_postpone"];

/// LLVM's number of `preserve_mostcc`.
pub(super) const PRESERVE_MOST: u32 = 14;

/// Alias class of reference words as the lowering's own code reads and writes them.
pub(super) const REFERENCES: &str = "tally reference";

/// LLVM's address space of pointers relative to the thread pointer on x86: `%fs`.
const FS: u32 = 257;

/// The declaration of the runtime's `name`, made if the module has none.
pub(super) fn declare(module: Module, name: &str) -> Value {
    if let Some(function) = module.function(name) {
        return function;
    }
    let symbol = runtime_symbol(name).expect("a symbol of the runtime's list");
    let function = module.add_function(name, signature(module, symbol.signature));
    function.set_attribute("nounwind", 0);
    if symbol.kind == CallKind::Leaf {
        function.set_string_attribute(LEAF, "");
    }
    if RARE_AND_SAVING.contains(&name) {
        function.set_attribute("cold", 0);
        function.set_function_convention(PRESERVE_MOST);
    }
    function
}

/// Attributes that would let LLVM remove, merge or reorder calls that may run an epoch (rule 6), with where they hang.
const FORBIDDEN: [(Option<Position>, &str); 10] = [
    (Some(Position::Function), "memory"),
    (Some(Position::Function), "allockind"),
    (Some(Position::Function), "allocsize"),
    (Some(Position::Function), "nofree"),
    (Some(Position::Function), "nosync"),
    (Some(Position::Function), "nocallback"),
    (Some(Position::Function), "norecurse"),
    (Some(Position::Function), "speculatable"),
    (Some(Position::Result), "noalias"),
    (None, "noalias"),
];

/// Strips the declarations and calls of the runtime's entry points of promises that they do not keep.
pub(super) fn strip_promises(module: Module) {
    let names = tally_compiled::symbols::RUNTIME_SYMBOLS.iter().map(|symbol| symbol.name);
    for function in names.chain([crate::analysis::callee::WRITE_WORD]).filter_map(|name| module.function(name)) {
        for position in forbidden_positions(function.parameter_count()) {
            function.remove_attribute(position.0, position.1);
        }
        function.remove_string_attribute("alloc-family");
        for user in function.users().collect::<Vec<_>>() {
            if let Some(call) = user.as_call().filter(|call| call.callee() == function) {
                for position in forbidden_positions(call.arguments().len() as u32) {
                    call.remove_attribute(position.0, position.1);
                }
            }
        }
    }
}

/// Removes declarations that the lowering has left without a use, the gc intrinsics among them.
pub(super) fn remove_unused_declarations(module: Module) {
    let ours = |function: &Value| {
        let name = function.name();
        name.starts_with("llvm.gc") || name == crate::analysis::callee::WRITE_WORD || runtime_symbol(&name).is_some()
    };
    let unused: Vec<Value> = module
        .functions()
        .filter(|function| !function.has_body() && function.users().next().is_none())
        .filter(ours)
        .collect();
    for function in unused {
        module.delete_function(function);
    }
}

fn forbidden_positions(parameters: u32) -> impl Iterator<Item = (Position, &'static str)> {
    FORBIDDEN.into_iter().flat_map(move |(position, name)| match position {
        Some(position) => vec![(position, name)],
        None => (0..parameters).map(|index| (Position::Parameter(index), name)).collect(),
    })
}

/// Splits in front of `place`. Returns a block, still empty, that is entered when a field of the context is not zero,
/// which is seldom; and the rest.
pub(super) fn if_field_is_set(
    builder: &Builder,
    access: ContextAccess,
    place: Value,
    field: u32,
    of: Type,
) -> (Block, Block) {
    let head = split_before(builder, place);
    let rest = place.block();
    let stop = rest.insert_before(builder.module());
    builder.at_end(head, Some(place));
    let content = builder.load(of, context_field(builder, access, field));
    builder.branch_usually(builder.is_zero(content), rest, stop);
    (stop, rest)
}

/// The module becomes a part of an executable that has the runtime in itself: no instruction has to load where the context is.
pub(crate) fn find_context_at_fixed_distance(module: Module) {
    if let Some(symbol) = module.global("tally_context").filter(|symbol| symbol.is_thread_local()) {
        symbol.make_local_exec();
    }
}

/// The address of a field of the thread's context, for the builder's position.
pub(super) fn context_field(builder: &Builder, access: ContextAccess, field: u32) -> Value {
    let module = builder.module();
    match access {
        ContextAccess::FsOffset(offset) => {
            let distance = offset.wrapping_add(i64::from(field)) as u64;
            match Target::of(module) {
                Target::X86_64 => builder.cast(Opcode::LLVMIntToPtr, builder.i64(distance), module.pointer_in(FS)),
                Target::AArch64 | Target::RiscV64 => {
                    let find = module.intrinsic("llvm.thread.pointer", &[module.pointer()]);
                    let thread = builder.call(find.value_type(), find, &[]);
                    builder.offset(thread, distance)
                }
            }
        }
        ContextAccess::Symbol => {
            let symbol = module.global("tally_context").unwrap_or_else(|| {
                let symbol = module.add_global("tally_context", module.integer(8).array(CONTEXT_BYTES as u64));
                symbol.make_initial_exec();
                symbol
            });
            let find = module.intrinsic("llvm.threadlocal.address", &[module.pointer()]);
            let base = builder.call(find.value_type(), find, &[symbol]);
            builder.offset(base, u64::from(field))
        }
    }
}
