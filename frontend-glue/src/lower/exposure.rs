//! The references that a poll would expose: those that are still needed after it and are in no root.
//!
//! A poll is a safepoint that the frontend did not write. In a loop that reaches none of its own it may rightly keep
//! references in registers only (rule 2), and a poll there would let their objects die. So a latch is polled only if
//! everything live across it is provably safe: no pointer, a pointer into the stack or a global, or a reference (or
//! derived from one) that a root definitely holds at that moment. A forward dataflow knows the roots that hold each
//! value; where paths meet only the common knowledge remains. Integers count if they may be tagged words.
//!
//! Without the poll only time is lost: the log has at most one entry per live object, and the epoch that is due
//! begins at the next safepoint.

use super::hiding_place::{holds_pointers, holds_wide_integers, may_hide_references};
use super::roots::Root;
use super::tagged_words;
use crate::analysis::callee::Callees;
use crate::analysis::flow::{Direction, Flow};
use crate::llvm::call::Call;
use crate::llvm::{Block, HandleMap, HandleSet, Opcode, TypeKind, Value};
use crate::lower::carriers::{Carrier, Class, MustAlias};
use crate::lower::inferred;

/// The blocks of `flow` at whose end a poll would expose nothing.
pub(super) fn safe_to_poll(
    callees: &Callees,
    flow: &Flow,
    function: Value,
    roots: &[Root],
    held: &HandleSet<Value>,
) -> HandleSet<Block> {
    if may_be_a_leaf(function) {
        return HandleSet::default();
    }
    let ground = Ground::of(callees, function, roots);
    if ground.has_hidden_pointers {
        return HandleSet::default();
    }
    let aliases = ground.aliases_at_end(flow);
    let live = ground.live_at_end(flow);
    let is_safe = |&block: &usize| ground.exposes_nothing(&live[block], aliases[block].as_ref(), held);
    (0..flow.reachable).filter(is_safe).map(|block| flow.blocks[block]).collect()
}

/// Those of `places`, which are instructions, in front of which a poll would expose nothing.
pub(super) fn safe_places(
    callees: &Callees,
    flow: &Flow,
    function: Value,
    roots: &[Root],
    held: &HandleSet<Value>,
    places: &[Value],
) -> Vec<Value> {
    let ground = Ground::of(callees, function, roots);
    if ground.has_hidden_pointers {
        return Vec::new();
    }
    let wanted: HandleSet<Value> = places.iter().copied().collect();
    let mut live_before: HandleMap<Value, HandleSet<Value>> = HandleMap::default();
    ground.live_at_end_noting(flow, |instruction, live| {
        if wanted.contains(&instruction) {
            live_before.insert(instruction, live.clone());
        }
    });
    let mut safe = HandleSet::default();
    for (block, start) in ground.aliases_at_start(flow).into_iter().enumerate() {
        let Some(mut aliases) = start else { continue };
        for instruction in flow.blocks[block].instructions() {
            let live = live_before.get(&instruction);
            if live.is_some_and(|live| ground.exposes_nothing(live, Some(&aliases), held)) {
                safe.insert(instruction);
            }
            ground.pass(&mut aliases, instruction);
        }
    }
    places.iter().copied().filter(|place| safe.contains(place)).collect()
}

/// Calls `at` for each reachable safepoint with the values that roots definitely hold before it.
pub(super) fn aliases_at_safepoints(
    callees: &Callees,
    flow: &Flow,
    function: Value,
    roots: &[Root],
    mut at: impl FnMut(Call, &MustAlias),
) {
    let ground = Ground::of(callees, function, roots);
    for (block, start) in ground.aliases_at_start(flow).into_iter().enumerate() {
        let Some(mut aliases) = start else { continue };
        for instruction in flow.blocks[block].instructions() {
            if let Some(call) = Call::among_instructions(instruction).filter(|&call| callees.is_safepoint(call)) {
                at(call, &aliases);
            }
            ground.pass(&mut aliases, instruction);
        }
    }
}

/// Whether the function may be a leaf: one that its frontend calls as a leaf stays one.
pub(super) fn may_be_a_leaf(function: Value) -> bool {
    let called_as_leaf = |user: Value| {
        user.as_call()
            .is_some_and(|call| call.callee() == function && call.has_string_attribute(crate::analysis::callee::LEAF))
    };
    function.has_string_attribute(crate::analysis::callee::LEAF) || function.users().any(called_as_leaf)
}

/// The facts about the function that do not depend on control flow.
struct Ground {
    /// Root slots of one pointer or word that are only loaded and stored.
    roots: HandleSet<Value>,
    /// Local variables that are only loaded and stored, whole.
    variables: HandleSet<Value>,
    /// Integers that may be tagged words.
    words: HandleSet<Value>,
    /// Whether there are tagged words at all.
    has_words: bool,
    /// Some other local variable may hold pointers that cannot be followed.
    has_hidden_pointers: bool,
}

impl Ground {
    fn of(callees: &Callees, function: Value, roots: &[Root]) -> Ground {
        let module = function.module();
        let instructions = function.instructions();
        let bytes: HandleMap<Value, u64> = roots.iter().map(|root| (root.slot, root.bytes)).collect();
        let is_root = |alloca: &Value| bytes.contains_key(alloca);
        let allocas = instructions.iter().copied().filter(|value| value.is(Opcode::LLVMAlloca));
        let (known, other): (HandleSet<Value>, HandleSet<Value>) =
            allocas.partition(|&alloca| is_plain_variable(alloca));
        let is_holder =
            |slot: &Value| known.contains(slot) && bytes[slot] == 8 && module.size_of(slot.allocated_type()) == 8;
        let words = tagged_words::possible(callees, &instructions, &is_root);
        Ground {
            roots: bytes.keys().copied().filter(is_holder).collect(),
            has_hidden_pointers: other
                .iter()
                .any(|alloca| !is_root(alloca) && may_hide_references(callees, &words, *alloca)),
            variables: known.into_iter().filter(|alloca| !is_root(alloca)).collect(),
            has_words: !words.is_empty() || tagged_words::are_used(&instructions, &is_root),
            words,
        }
    }

    /// Whether roots, or callers, hold all that is live where those aliases hold.
    fn exposes_nothing(&self, live: &HandleSet<Value>, aliases: Option<&MustAlias>, held: &HandleSet<Value>) -> bool {
        let is_kept = |base: Value| {
            held.contains(&base)
                || base.is_argument() && inferred::is_protected_by_callers(base)
                || aliases.is_some_and(|aliases| aliases.class_of(Carrier::Now(base)).is_some())
        };
        live.iter().all(|&value| !self.can_expose(value) || is_kept(value.base()))
    }

    fn can_expose(&self, value: Value) -> bool {
        if self.variables.contains(&value) {
            return value.allocated_type().is_pointer() || self.words.contains(&value);
        }
        let source = value.base();
        let of = value.type_of();
        match of.kind() {
            TypeKind::LLVMPointerTypeKind => source.is_local() && !source.is(Opcode::LLVMAlloca),
            TypeKind::LLVMIntegerTypeKind | TypeKind::LLVMDoubleTypeKind => self.words.contains(&value),
            _ => holds_pointers(of) || (self.has_words && holds_wide_integers(of)),
        }
    }

    fn aliases_at_end(&self, flow: &Flow) -> Vec<Option<MustAlias>> {
        let mut ends: Vec<Option<MustAlias>> = vec![None; flow.blocks.len()];
        flow.solve(Direction::Forward, &MustAlias::default(), MustAlias::meet, |block, aliases| {
            let aliases = self.through(flow.blocks[block], aliases);
            ends[block] = Some(aliases.clone());
            aliases
        });
        ends
    }

    fn aliases_at_start(&self, flow: &Flow) -> Vec<Option<MustAlias>> {
        let through = |block: usize, aliases| self.through(flow.blocks[block], aliases);
        flow.solve(Direction::Forward, &MustAlias::default(), MustAlias::meet, through)
    }

    fn through(&self, block: Block, mut aliases: MustAlias) -> MustAlias {
        for instruction in block.instructions() {
            self.pass(&mut aliases, instruction);
        }
        self.prepare_phis(&mut aliases, block);
        aliases.tidy();
        aliases
    }

    fn pass(&self, aliases: &mut MustAlias, instruction: Value) {
        let class = match instruction.opcode() {
            Some(Opcode::LLVMStore) => return self.store(aliases, instruction),
            Some(Opcode::LLVMLoad) if self.roots.contains(&instruction.operand(0)) => {
                Some(aliases.class_of_root(instruction.operand(0)))
            }
            Some(Opcode::LLVMLoad) => aliases.class_of(Carrier::Now(instruction.operand(0))),
            Some(Opcode::LLVMPHI) => {
                let class = aliases.class_of(Carrier::NextPhi(instruction));
                aliases.set(Carrier::NextPhi(instruction), None);
                class
            }
            Some(Opcode::LLVMSelect) => {
                let class = |operand: Value| aliases.class_of(Carrier::Now(operand.base()));
                class(instruction.operand(1)).filter(|&one| class(instruction.operand(2)) == Some(one))
            }
            _ => None,
        };
        aliases.set(Carrier::Now(instruction), class);
    }

    fn store(&self, aliases: &mut MustAlias, store: Value) {
        let (value, address) = (store.operand(0), store.operand(1));
        let class: Option<Class> = if self.roots.contains(&address) {
            aliases.empty_root(address);
            let is_whole = value.is_local() && value.base() == value;
            is_whole.then(|| aliases.store(Carrier::Now(value), address))
        } else if self.variables.contains(&address) {
            aliases.class_of(Carrier::Now(value.base()))
        } else {
            return;
        };
        aliases.set(Carrier::Now(address), class);
    }

    fn prepare_phis(&self, aliases: &mut MustAlias, block: Block) {
        for successor in block.successors() {
            for phi in successor.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
                for (value, _) in phi.incoming().into_iter().filter(|(_, from)| *from == block) {
                    let class = aliases.class_of(Carrier::Now(value.base()));
                    aliases.set(Carrier::NextPhi(phi), class);
                }
            }
        }
    }

    /// Values and local variables needed by or after the terminator of each block.
    fn live_at_end(&self, flow: &Flow) -> Vec<HandleSet<Value>> {
        self.live_at_end_noting(flow, |_, _| {})
    }

    /// The same; `note` gets what is live in front of each instruction, last the final set.
    fn live_at_end_noting(&self, flow: &Flow, mut note: impl FnMut(Value, &HandleSet<Value>)) -> Vec<HandleSet<Value>> {
        let mut ends: Vec<HandleSet<Value>> = vec![HandleSet::default(); flow.blocks.len()];
        let union = |into: &mut HandleSet<Value>, from: &HandleSet<Value>| into.extend(from);
        flow.solve(Direction::Backward, &HandleSet::default(), union, |block, mut live| {
            let here = flow.blocks[block];
            for successor in here.successors() {
                for phi in successor.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
                    let incoming = phi.incoming().into_iter().filter(|(_, from)| *from == here);
                    live.extend(incoming.map(|(value, _)| value).filter(|value| value.is_local()));
                }
            }
            let instructions: Vec<Value> = here.instructions().collect();
            for &instruction in instructions.iter().rev() {
                self.step_back(&mut live, instruction);
                note(instruction, &live);
                if Some(&instruction) == instructions.last() {
                    ends[block] = live.clone();
                }
            }
            live
        });
        ends
    }

    fn step_back(&self, live: &mut HandleSet<Value>, instruction: Value) {
        live.remove(&instruction);
        if instruction.is(Opcode::LLVMPHI) {
            return;
        }
        let overwritten = match instruction.opcode() {
            Some(Opcode::LLVMStore) => Some(instruction.operand(1)),
            Some(Opcode::LLVMCall) if is_lifetime_marker(instruction) => Some(instruction.operand(0)),
            _ => None,
        }
        .filter(|address| self.variables.contains(address));
        if let Some(variable) = overwritten {
            live.remove(&variable);
        }
        live.extend(instruction.operands().filter(|&operand| operand.is_local() && Some(operand) != overwritten));
    }
}

/// An alloca that is only loaded and stored, always whole.
fn is_plain_variable(alloca: Value) -> bool {
    let of = alloca.allocated_type();
    alloca.operand(0).constant_integer() == Some(1)
        && of.members().is_empty()
        && alloca.users().all(|user| match user.opcode() {
            Some(Opcode::LLVMLoad) => user.type_of() == of,
            Some(Opcode::LLVMStore) => user.operand(0) != alloca && user.operand(0).type_of() == of,
            Some(Opcode::LLVMCall) => is_lifetime_marker(user),
            _ => false,
        })
}

fn is_lifetime_marker(instruction: Value) -> bool {
    instruction.as_call().is_some_and(|call| call.callee().name().starts_with("llvm.lifetime."))
}
