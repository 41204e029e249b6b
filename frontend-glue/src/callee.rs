//! What a call means to the collector: intrinsic, entry point of the runtime, leaf, or a safepoint like any other.
//!
//! Verifier and lowering ask this room and nothing else, so that both agree on what a safepoint is (rule 1 of the IR
//! contract): a call or invoke without `gc-leaf-function`; gcwrite, gcread, inline asm and intrinsics are none. Two
//! additions: the runtime's own leaves are leaves however they were declared, and a call that returns twice (`setjmp`)
//! is taken as a leaf, because a safepoint's return address must be returned to once.

use crate::llvm::call::Call;
use crate::llvm::{Module, Type, Value};
use rc_runtime::symbols::{CallKind, RUNTIME_SYMBOLS, RuntimeSymbol};
use std::collections::HashMap;

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    GcRoot,
    GcWrite,
    GcRead,
    /// `tally_gcwrite_i64`: gcwrite of a tagged word.
    WriteWord,
    LifetimeStart,
    LifetimeEnd,
    /// `llvm.memset`.
    Fill,
    /// `llvm.memcpy`, `llvm.memmove`.
    Copy,
    OtherIntrinsic,
    InlineAsm,
    /// `tally_new`.
    New,
    /// `tally_new_array`.
    NewArray,
    /// `tally_safepoint`.
    Poll,
    /// Another symbol of the runtime.
    Runtime(CallKind),
    Ordinary,
}

/// The functions of a module, sorted by what a call of them means.
#[derive(Debug)]
pub(crate) struct Callees {
    known: HashMap<Value, Callee>,
}

/// Name of the runtime's write of tagged words; it exists only as this name, the lowering expands every call.
pub(crate) const WRITE_WORD: &str = "tally_gcwrite_i64";
/// Its signature, in the letters of the runtime's list.
pub(crate) const WRITE_WORD_SIGNATURE: &str = "v(lpp)";

impl Callees {
    pub(crate) fn of(module: Module) -> Callees {
        let mut known = HashMap::new();
        for function in module.functions() {
            if let Some(callee) = classify(function) {
                known.insert(function, callee);
            }
        }
        Callees { known }
    }

    pub(crate) fn of_call(&self, call: Call) -> Callee {
        let callee = call.callee();
        if callee.is_inline_asm() {
            return Callee::InlineAsm;
        }
        if let Some(known) = self.known.get(&callee) {
            return *known;
        }
        // The lowering's own memset was taken for a safepoint in modules that had declared none.
        let is_new_intrinsic = callee.is_function() && callee.intrinsic_id() != 0;
        if is_new_intrinsic { classify(callee).expect("an intrinsic") } else { Callee::Ordinary }
    }

    /// Rule 1. A safepoint call carries a bundle, unless it is a guaranteed tail call.
    pub(crate) fn is_safepoint(&self, call: Call) -> bool {
        let may_stop = match self.of_call(call) {
            Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint) => return true,
            Callee::Ordinary => true,
            _ => false,
        };
        may_stop && !call.has_string_attribute(LEAF) && !call.has_attribute("returns_twice")
    }

    /// Whether the call is a write of a reference that a barrier may have to see.
    pub(crate) fn is_write(&self, call: Call) -> bool {
        matches!(self.of_call(call), Callee::GcWrite | Callee::WriteWord)
    }
}

/// The attribute of functions and calls that never reach a safepoint.
pub(crate) const LEAF: &str = "gc-leaf-function";

fn classify(function: Value) -> Option<Callee> {
    let name = function.name();
    if function.intrinsic_id() != 0 {
        return Some(match name.as_str() {
            "llvm.gcroot" => Callee::GcRoot,
            "llvm.gcwrite" => Callee::GcWrite,
            "llvm.gcread" => Callee::GcRead,
            name if name.starts_with("llvm.lifetime.start") => Callee::LifetimeStart,
            name if name.starts_with("llvm.lifetime.end") => Callee::LifetimeEnd,
            name if name.starts_with("llvm.memset.") => Callee::Fill,
            name if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => Callee::Copy,
            _ => Callee::OtherIntrinsic,
        });
    }
    match name.as_str() {
        "tally_new" => Some(Callee::New),
        "tally_new_array" => Some(Callee::NewArray),
        "tally_safepoint" => Some(Callee::Poll),
        WRITE_WORD => Some(Callee::WriteWord),
        _ => runtime_symbol(&name).map(|symbol| Callee::Runtime(symbol.kind)),
    }
}

/// The runtime's entry of this name.
pub(crate) fn runtime_symbol(name: &str) -> Option<&'static RuntimeSymbol> {
    RUNTIME_SYMBOLS.iter().find(|symbol| symbol.name == name)
}

/// Reads a signature of the runtime's list: `p(pl)`.
pub(crate) fn signature(module: Module, text: &str) -> Type {
    let mut types = text.chars().filter(|letter| letter.is_alphabetic()).map(|letter| match letter {
        'p' => module.pointer(),
        'l' => module.integer(64),
        'i' => module.integer(32),
        'v' => module.void(),
        _ => unreachable!("the runtime's list uses p, l, i and v, not {letter}"),
    });
    let result = types.next().expect("a result");
    Type::function(result, &types.collect::<Vec<_>>(), false)
}
