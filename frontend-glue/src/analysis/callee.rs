//! The meaning of a call to the collector: intrinsic, entry point of the runtime, leaf, or an ordinary safepoint.
//!
//! Verifier and lowering both use this module, so that they agree on the definition of a safepoint (rule 1 of the IR
//! contract): a call or invoke without `gc-leaf-function`; gcwrite, gcread, inline asm and intrinsics are none. There
//! are two additions. The runtime's own leaves are leaves however they were declared. A call that returns twice
//! (`setjmp`) counts as a leaf, because a call must return to a safepoint's return address only once.

use crate::llvm::call::{AttributeKind, Call, Position};
use crate::llvm::{HandleMap, Module, Type, Value};
use tally_compiled::symbols::{CallKind, RUNTIME_SYMBOLS, RuntimeSymbol};

/// The target of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    GcRoot,
    GcWrite,
    GcRead,
    /// `tally_gcwrite_i64`: gcwrite of a tagged word.
    WriteWord,
    /// `tally_write_pair`: a write of a tag and a word at once, as (object, pair, first word, second word).
    WritePair,
    LifetimeStart,
    LifetimeEnd,
    /// `llvm.memset`.
    Fill,
    /// `llvm.memcpy`, `llvm.memmove`.
    Copy,
    OtherIntrinsic,
    /// `llvm.experimental.patchpoint`: calls a function that the program may exchange while it runs, and takes no bundle.
    PatchPoint,
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

impl Callee {
    /// A write of one word that a barrier may have to see, as (value, object, slot).
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Callee::GcWrite | Callee::WriteWord)
    }

    /// The same, or a write of a pair.
    pub(crate) fn is_write_or_pair(self) -> bool {
        self.is_write() || self == Callee::WritePair
    }
}

/// The place that a write changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) object: Value,
    /// The first word.
    pub(crate) slot: Value,
    pub(crate) bytes: i64,
}

/// The functions of a module, sorted by the meaning of their calls.
#[derive(Debug)]
pub(crate) struct Callees {
    known: HandleMap<Value, Known>,
    returns_twice: AttributeKind,
}

/// The properties that a function gives all its calls; a call may add others.
#[derive(Debug, Clone, Copy)]
struct Known {
    callee: Callee,
    leaf: bool,
    returns_twice: bool,
}

/// Name of the runtime's write of tagged words; under the deferred plan the lowering expands every call.
pub(crate) const WRITE_WORD: &str = "tally_gcwrite_i64";
/// Name of its write of pairs.
pub(crate) const WRITE_PAIR: &str = "tally_write_pair";

impl Callees {
    pub(crate) fn of(module: Module) -> Callees {
        let known = module.functions().map(|function| (function, known(function))).collect();
        Callees { known, returns_twice: AttributeKind::named("returns_twice") }
    }

    pub(crate) fn of_call(&self, call: Call) -> Callee {
        self.look_up(call).callee
    }

    fn look_up(&self, call: Call) -> Known {
        let callee = call.callee();
        if let Some(known) = self.known.get(&callee) {
            return *known;
        }
        if callee.is_function() {
            // Declared since the list was made. The lowering's own memset was once taken for a safepoint in modules
            // that had declared none.
            return known(callee);
        }
        let callee = if callee.is_inline_asm() { Callee::InlineAsm } else { Callee::Ordinary };
        Known { callee, leaf: false, returns_twice: false }
    }

    /// Rule 1. A safepoint call carries a bundle, unless it is a guaranteed tail call.
    pub(crate) fn is_safepoint(&self, call: Call) -> bool {
        let known = self.look_up(call);
        match known.callee {
            Callee::New | Callee::NewArray | Callee::Poll | Callee::Runtime(CallKind::Safepoint) => true,
            Callee::Ordinary => {
                !known.leaf
                    && !known.returns_twice
                    && !call.has_own_string_attribute(LEAF)
                    && !call.has_own_attribute(Position::Function, self.returns_twice)
            }
            _ => false,
        }
    }

    /// Whether a call may be turned into an invoke: it calls an ordinary function.
    pub(crate) fn may_be_invoked(&self, call: Call) -> bool {
        self.of_call(call) == Callee::Ordinary
    }

    /// Whether the call may return a second time, as one of `setjmp` does.
    pub(crate) fn returns_twice(&self, call: Call) -> bool {
        self.look_up(call).returns_twice || call.has_own_attribute(Position::Function, self.returns_twice)
    }

    /// The calls of all functions of a kind, function by function, as LLVM lists uses: in no order to rely on.
    pub(crate) fn calls_of(&self, is_wanted: impl Fn(Callee) -> bool) -> impl Iterator<Item = Call> {
        let wanted = self.known.iter().filter(move |(_, known)| is_wanted(known.callee));
        wanted.flat_map(|(&function, _)| function.calls_of_it())
    }

    /// Whether the call is a write of one word that a barrier may have to see.
    pub(crate) fn is_write(&self, call: Call) -> bool {
        self.of_call(call).is_write()
    }

    /// The place that a write of a word or a pair changes.
    pub(crate) fn written(&self, call: Call) -> Option<Written> {
        match self.of_call(call) {
            Callee::GcWrite | Callee::WriteWord => {
                Some(Written { object: call.argument(1), slot: call.argument(2), bytes: 8 })
            }
            Callee::WritePair => Some(Written { object: call.argument(0), slot: call.argument(1), bytes: 16 }),
            _ => None,
        }
    }
}

/// The attribute of functions and calls that never reach a safepoint.
pub(crate) const LEAF: &str = "gc-leaf-function";

fn known(function: Value) -> Known {
    let callee = classify(function).unwrap_or(Callee::Ordinary);
    // LLVM's own setjmp is known by its name: the code generator treats it so, and declarations do not say it.
    let is_llvms_setjmp = || callee == Callee::OtherIntrinsic && function.name() == "llvm.eh.sjlj.setjmp";
    Known {
        callee,
        leaf: function.has_string_attribute(LEAF),
        // Code of a managed function shows what it does: it is none of the C library's that jump back.
        returns_twice: function.has_attribute("returns_twice") && !(function.has_body() && function.gc().is_some())
            || is_llvms_setjmp(),
    }
}

fn classify(function: Value) -> Option<Callee> {
    let name = function.name();
    if function.intrinsic_id() != 0 {
        return Some(match name.as_str() {
            "llvm.gcroot" => Callee::GcRoot,
            "llvm.gcwrite" => Callee::GcWrite,
            "llvm.gcread" => Callee::GcRead,
            name if name.starts_with("llvm.experimental.patchpoint.") => Callee::PatchPoint,
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
        WRITE_PAIR => Some(Callee::WritePair),
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
