//! Puts one object on the stack: the call that made it becomes a variable of the frame.
//!
//! ```text
//!   %pair = call ptr @tally_new(ptr @Pair)                 %pair = alloca [16 x i8]     at the entry
//!                                                          call void @llvm.gcroot(ptr %pair, ptr @Pair)
//!                                                 =>       store ptr null, ptr %pair    for each reference, in the call's place
//!   call void @llvm.gcwrite(ptr %v, ptr %pair, ptr %slot)  store ptr %v, ptr %slot
//! ```
//!
//! Its references are roots: the variable is one as a whole, which the type's own descriptor describes. Under the prompt plan each
//! reference has a plain root of its own, whose counts the lowering saves where it can. Roots that hold nothing but the object are roots no longer.

use super::site::Site;
use super::uses::{Slot, Uses, is_nothing};
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleMap, Opcode, Value};
use crate::lower::descriptor::constants::label;
use tally_heap::plan::Plan;

/// The places in the frame that take the object's.
pub(super) struct Rewrite<'a> {
    pub(super) builder: &'a Builder,
    pub(super) callees: &'a Callees,
    pub(super) site: &'a Site,
    pub(super) uses: &'a Uses,
    /// Where its fields become null with its only root (prompt plan).
    pub(super) ends: Vec<Value>,
}

impl Rewrite<'_> {
    pub(super) fn run(self, plan: Plan) {
        let (builder, module) = (self.builder, self.builder.module());
        let call = self.site.call.value();
        let function = call.function();
        let of = module.integer(8).array(self.site.size.max(1));
        let name =
            Some(call.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| label(module, self.site.descriptor));
        let object = builder.alloca_at_entry(function, of, &format!("{name}.on.stack"));
        object.set_alignment(self.site.alignment);
        if !self.site.references.is_empty() {
            match plan {
                Plan::Deferred | Plan::Trace => self.root_as_a_whole(object),
                Plan::Prompt => self.root_each_reference(),
            }
        }
        for (call, _) in &self.uses.passed {
            if !call.is_invoke() {
                call.forget_tail();
            }
        }
        let is_root = |slot: &&Slot| !slot.gcroots.is_empty() && self.uses.holds_nothing_else(slot);
        for slot in self.uses.slots.iter().filter(is_root) {
            unroot(builder, self.callees, slot.variable);
        }
        let made = self.site.call.make_call(builder).value();
        let object = match made.type_of() == object.type_of() {
            true => object,
            false => {
                builder.before(made);
                builder.cast(Opcode::LLVMAddrSpaceCast, object, made.type_of())
            }
        };
        made.replace_all_uses(object);
        made.erase();
    }

    fn root_as_a_whole(&self, object: Value) {
        let (builder, module) = (self.builder, self.builder.module());
        builder.before(self.site.call.value());
        for &offset in &self.site.references {
            builder.store(module.pointer().null(), builder.offset(object, u64::from(offset)));
        }
        self.writes(|call| call.argument(2));
        builder.before_unlocated(object.block().behind_allocas());
        let gcroot = module.intrinsic("llvm.gcroot", &[]);
        builder.call(gcroot.value_type(), gcroot, &[object, self.site.descriptor]);
    }

    /// Turns writes of references into stores.
    fn writes(&self, to: impl Fn(Call) -> Value) {
        let calls = self.uses.accesses.iter().filter_map(|access| access.as_call());
        for call in calls.filter(|&call| self.callees.of_call(call) == Callee::GcWrite) {
            self.builder.before(call.value());
            self.builder.store(call.argument(0), to(call));
            call.remove();
        }
    }

    fn root_each_reference(&self) {
        let (builder, module) = (self.builder, self.builder.module());
        let function = self.site.call.value().function();
        let null = module.pointer().null();
        let field = |&offset: &u32| {
            let name = format!("{}.{offset}", self.site.call.value().name());
            (u64::from(offset), builder.alloca_at_entry(function, module.pointer(), &name))
        };
        let fields: Vec<(u64, Value)> = self.site.references.iter().map(field).collect();
        let by_offset: HandleMap<u64, Value> = fields.iter().copied().collect();
        for place in self.ends.iter().copied().chain([self.site.call.value()]) {
            builder.before(place);
            fields.iter().for_each(|&(_, field)| _ = builder.store(null, field));
        }
        let of_place = |place: Value| self.uses.places.get(&place).and_then(|&offset| by_offset.get(&offset?));
        for &access in &self.uses.accesses {
            let Some(call) = access.as_call() else {
                let operand = if access.is(Opcode::LLVMLoad) { 0 } else { 1 };
                if let Some(&field) = of_place(access.operand(operand)) {
                    access.set_operand(operand, field);
                }
                continue;
            };
            if self.callees.of_call(call) == Callee::GcRead {
                let field = *of_place(call.argument(1)).expect("a field of the object");
                builder.before(access);
                access.replace_all_uses(builder.load(access.type_of(), field));
                access.erase();
            }
        }
        self.writes(|call| *of_place(call.argument(2)).expect("a field of the object"));
        // Roots die in reverse order, fields in ascending order.
        let gcroot = module.intrinsic("llvm.gcroot", &[]);
        let root = self.uses.own_roots().next().expect("the only root").gcroots[0];
        builder.before(root.value());
        for &(_, field) in fields.iter().rev() {
            builder.call(gcroot.value_type(), gcroot, &[field, null]);
        }
    }
}

/// Whether each reference of the object may have a variable of its own: every access is to one of them, or to none.
pub(super) fn is_divisible(callees: &Callees, site: &Site, uses: &Uses) -> bool {
    let module = site.call.value().function().module();
    let is_reference = |offset: u64| site.references.iter().any(|&it| u64::from(it) == offset);
    let is_apart = |begin: u64, bytes: u64| {
        site.references.iter().all(|&it| begin >= u64::from(it) + 8 || begin + bytes <= u64::from(it))
    };
    let known =
        |place: Value| uses.places.get(&place).copied().flatten().filter(|_| place.type_of().is_plain_pointer());
    let fits = |access: &Value| match access.as_call() {
        Some(call) => match callees.of_call(call) {
            Callee::GcWrite => known(call.argument(2)).is_some_and(is_reference),
            Callee::GcRead => known(call.argument(1)).is_some_and(is_reference),
            _ => false,
        },
        None => {
            let (place, of) = match access.is(Opcode::LLVMLoad) {
                true => (access.operand(0), access.type_of()),
                false => (access.operand(1), access.operand(0).type_of()),
            };
            known(place).is_some_and(|offset| {
                is_reference(offset) && of.is_plain_pointer() || is_apart(offset, module.store_size_of(of))
            })
        }
    };
    uses.passed.is_empty() && !uses.is_merged && uses.accesses.iter().all(fits)
}

/// Makes a root an ordinary variable, which begins as null and becomes null where its life ends, as a root does.
pub(super) fn unroot(builder: &Builder, callees: &Callees, variable: Value) {
    let is_plain = |user: Value| match user.opcode() {
        Some(Opcode::LLVMLoad) => true,
        Some(Opcode::LLVMStore) => user.operand(0) != variable,
        Some(Opcode::LLVMCall) => user.as_call().is_some_and(|call| {
            let callee = callees.of_call(call);
            matches!(callee, Callee::LifetimeStart | Callee::LifetimeEnd)
                || callee == Callee::GcRoot && call.argument(1).is_null()
        }),
        _ => false,
    };
    if !variable.allocated_type().is_pointer() || !variable.users().all(is_plain) {
        return;
    }
    let null = variable.allocated_type().null();
    let calls: Vec<Call> = variable.users().filter_map(Value::as_call).collect();
    for call in calls {
        if callees.of_call(call) == Callee::LifetimeEnd {
            builder.before(call.value());
            builder.store(null, variable);
        }
        call.value().erase();
    }
    let is_filled_first = variable
        .next_instruction()
        .is_some_and(|next| next.is(Opcode::LLVMStore) && next.operand(1) == variable && is_nothing(next.operand(0)));
    if variable.block() == variable.function().entry() && !is_filled_first {
        builder.before_unlocated(variable.block().behind_allocas());
        builder.store(null, variable);
    }
}
