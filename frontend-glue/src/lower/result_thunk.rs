//! Calls whose results LLVM's statepoints cannot carry: those that do not fit in registers, and `swifterror`. A thunk
//! does.
//!
//! A bundled call that returns four i64 or three doubles crashes the code generator of LLVM 22; one that returns
//! x86_fp80, <32 x i1> or i256 comes out as `call 0`. Such a call becomes a bundled call of
//!
//! ```text
//!   define internal void @tally.ret.N(ptr %out, args…) noinline { %r = call T @callee(args…)  store %r, %out  ret void }
//! ```
//!
//! whose inner call is bare. The value that such a call returns in the register of `swifterror` is dropped, and the
//! caller would read its old value. So the thunk gets the address of an ordinary variable, and has a `swifterror`
//! variable of its own:
//!
//! ```text
//!   define internal i64 @tally.ret.N(ptr %error, args…) noinline { %e = alloca swifterror ptr   copy %error to %e
//!     %r = call swiftcc i64 @callee(ptr swifterror %e, args…)   copy %e to %error   ret i64 %r }
//! ```
//! The walker finds no record for the thunk's frame and crosses it as it crosses native ones; the caller's frame has
//! a record, and the roots are there.

use super::walkable::make_walkable;
use crate::llvm::call::{Attribute, AttributeKind, Call, Position};
use crate::llvm::surgery::split_normal_edge;
use crate::llvm::{Builder, Module, Opcode, Type, TypeKind, Value, Visibility};
use std::collections::{HashMap, HashSet};

/// Names of thunks begin so.
pub(crate) const PREFIX: &str = "tally.ret.";

/// Two calls can share a thunk when all of this is equal.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shape {
    function_type: Type,
    /// The callee; `None` if it is passed as an argument.
    callee: Option<Value>,
    convention: u32,
    argument_types: Vec<Type>,
    attributes: Vec<Vec<Attribute>>,
}

/// The thunks of a module so far.
#[derive(Debug)]
pub(super) struct Thunks {
    made: HashMap<Shape, Value>,
    /// `swifterror` variables whose loads are copied.
    hidden: HashSet<Value>,
    swifterror: AttributeKind,
    /// Off only to show the hazard without thunks.
    enabled: bool,
}

/// Whether a call with a bundle may not return this type. Only types that are known to work are accepted: nothing, or
/// up to two integer registers and two vector registers, scalar by scalar.
fn is_needed(of: Type) -> bool {
    let mut registers = (0, 0);
    !fits(of, 1, &mut registers) || registers.0 > 2 || registers.1 > 2
}

fn fits(of: Type, times: u64, registers: &mut (u64, u64)) -> bool {
    match of.kind() {
        TypeKind::LLVMVoidTypeKind => {}
        TypeKind::LLVMPointerTypeKind => registers.0 += times,
        TypeKind::LLVMIntegerTypeKind => registers.0 += times * u64::from(of.integer_bits().unwrap_or(0).div_ceil(64)),
        TypeKind::LLVMHalfTypeKind
        | TypeKind::LLVMBFloatTypeKind
        | TypeKind::LLVMFloatTypeKind
        | TypeKind::LLVMDoubleTypeKind => registers.1 += times,
        TypeKind::LLVMVectorTypeKind => {
            let (element, count) = of.members()[0];
            let bits = match element.kind() {
                TypeKind::LLVMFloatTypeKind => 32,
                TypeKind::LLVMDoubleTypeKind => 64,
                _ => u64::from(element.integer_bits().unwrap_or(u32::MAX)),
            };
            registers.1 += times;
            return bits >= 8 && bits.saturating_mul(count) <= 128;
        }
        TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind => {
            return of.members().into_iter().all(|(member, count)| fits(member, times * count, registers));
        }
        _ => return false,
    }
    true
}

impl Thunks {
    pub(super) fn new(enabled: bool) -> Thunks {
        Thunks { made: HashMap::new(), hidden: HashSet::new(), swifterror: AttributeKind::named(SWIFTERROR), enabled }
    }

    /// Whether this call goes through a thunk.
    pub(super) fn needed_for(&self, call: Call) -> bool {
        self.enabled && (is_needed(call.function_type().return_type()) || !errors(call, self.swifterror).is_empty())
    }

    /// Replaces `call` by a bundled call of a thunk and a load of the result.
    pub(super) fn route(&mut self, builder: &Builder, call: Call, operands: &[Value]) {
        let function = call.value().function();
        let result = call.function_type().return_type();
        let callee = Some(call.callee()).filter(|callee| callee.is_function());
        let arguments = call.arguments();
        let thunk = self.thunk(builder.module(), call, callee, &arguments);

        let out = is_needed(result).then(|| builder.alloca_at_entry(function, result, "tally.result"));
        let pointer = builder.module().pointer();
        let mut handed: Vec<Value> = out.into_iter().collect();
        if callee.is_none() {
            handed.push(call.callee());
        }
        let shift = handed.len() as u32;
        handed.extend(&arguments);
        let mut errors_and_copies = Vec::new();
        for index in errors(call, self.swifterror) {
            let copy = builder.alloca_at_entry(function, pointer, "tally.error");
            errors_and_copies.push((arguments[index as usize], copy));
            handed[(index + shift) as usize] = copy;
        }
        builder.before(call.value());
        for &(error, copy) in &errors_and_copies {
            self.hide_loads(builder, error);
            builder.before(call.value());
            builder.store(builder.load(pointer, error), copy);
        }
        let new = call.emit_instead(builder, thunk.value_type(), thunk, &handed, operands);
        copy_argument_attributes(call, shift, Side::Thunk, |position, attribute| {
            new.add_attribute(position, attribute)
        });
        if call.is_invoke() {
            let between = split_normal_edge(builder, new.value());
            builder.before(between.terminator().expect("the new block ends in a branch"));
        } else {
            builder.before(call.value());
        }
        for (error, copy) in errors_and_copies {
            builder.store(builder.load(pointer, copy), error);
        }
        let Some(out) = out else { return call.replace_by(new) };
        let loaded = builder.load(result, out);
        call.value().replace_all_uses(loaded);
        let name = call.value().name();
        call.value().erase();
        loaded.set_name(&name);
    }

    /// At -O0, LLVM 22 folds a load of a `swifterror` variable into a comparison as if it were memory, and compares
    /// with a slot that is never written. A load that it does not recognise as one is compiled correctly.
    fn hide_loads(&mut self, builder: &Builder, error: Value) {
        if self.hidden.insert(error) {
            let loads: Vec<Value> = error.users().filter(|user| user.is(Opcode::LLVMLoad)).collect();
            loads.into_iter().for_each(|load| builder.hide(load));
        }
    }

    fn thunk(&mut self, module: Module, call: Call, callee: Option<Value>, arguments: &[Value]) -> Value {
        let positions = [Position::Function, Position::Result];
        let positions = positions.into_iter().chain((0..arguments.len() as u32).map(Position::Parameter));
        let shape = Shape {
            function_type: call.function_type(),
            callee,
            convention: call.convention(),
            argument_types: arguments.iter().map(|argument| argument.type_of()).collect(),
            attributes: positions.map(|position| call.attributes(position)).collect(),
        };
        let number = self.made.len();
        if let Some(&thunk) = self.made.get(&shape) {
            return thunk;
        }
        let thunk = build(module, call, &shape, &format!("{PREFIX}{number}"));
        self.made.insert(shape, thunk);
        thunk
    }
}

fn build(module: Module, call: Call, shape: &Shape, name: &str) -> Value {
    let result = shape.function_type.return_type();
    let in_memory = is_needed(result);
    let mut parameters = if in_memory { vec![module.pointer()] } else { Vec::new() };
    if shape.callee.is_none() {
        parameters.push(call.callee().type_of());
    }
    let shift = parameters.len() as u32;
    parameters.extend(&shape.argument_types);
    let returned = if in_memory { module.void() } else { result };
    let thunk = module.add_function(name, Type::function(returned, &parameters, false));
    thunk.set_visibility(Visibility::Internal);
    thunk.set_attribute("noinline", 0);
    copy_argument_attributes(call, shift, Side::Thunk, |position, attribute| thunk.add_attribute(position, attribute));

    let builder = Builder::new(module);
    builder.at_end(thunk.append_block(""), None);
    let callee = shape.callee.unwrap_or_else(|| thunk.parameter(shift - 1));
    let mut arguments: Vec<Value> =
        (0..shape.argument_types.len() as u32).map(|index| thunk.parameter(index + shift)).collect();
    let mut errors_and_copies = Vec::new();
    for index in errors(call, AttributeKind::named(SWIFTERROR)) {
        let copy = std::mem::replace(&mut arguments[index as usize], builder.alloca_swifterror());
        errors_and_copies.push((arguments[index as usize], copy));
    }
    for &(error, copy) in &errors_and_copies {
        builder.store(builder.load(module.pointer(), copy), error);
    }
    let inner = builder.call(shape.function_type, callee, &arguments);
    let inner_call = inner.as_call().expect("a call");
    inner_call.set_convention(shape.convention);
    for attribute in call.attributes(Position::Function).into_iter() {
        inner_call.add_attribute(Position::Function, attribute);
    }
    copy_argument_attributes(call, 0, Side::Callee, |position, attribute| {
        inner_call.add_attribute(position, attribute)
    });
    for (error, copy) in errors_and_copies {
        builder.store(builder.load(module.pointer(), error), copy);
    }
    if in_memory {
        builder.store(inner, thunk.parameter(0));
    }
    builder.return_value((!in_memory && !result.is_void()).then_some(inner));
    make_walkable(thunk, None);
    thunk
}

/// The arguments that are `swifterror` variables.
fn errors(call: Call, swifterror: AttributeKind) -> Vec<u32> {
    let is_error = |index: &u32| call.has_own_attribute(Position::Parameter(*index), swifterror);
    (0..call.argument_count()).filter(is_error).collect()
}

const SWIFTERROR: &str = "swifterror";

/// The one of the two calls in which an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Thunk,
    Callee,
}

/// Copies the attributes that say how an argument is passed; the others can be dropped.
fn copy_argument_attributes(call: Call, shift: u32, side: Side, add: impl Fn(Position, Attribute)) {
    const PASSING: [&str; 8] = ["byval", "inreg", "zeroext", "signext", "nest", "swiftself", "swiftasync", "align"];
    for index in 0..call.arguments().len() as u32 {
        for attribute in call.attributes(Position::Parameter(index)) {
            let is_error = attribute.is(SWIFTERROR);
            if PASSING.iter().any(|name| attribute.is(name)) || is_error && side == Side::Callee {
                add(Position::Parameter(index + shift), attribute);
            }
        }
    }
}
