//! ORC, LLVM's in-process linker, behind a small safe interface. Only this file uses its C interface.
//!
//! A [`Linker`] takes finished objects and the addresses of symbols that the host provides, finds the rest in the
//! process (the C library), and gives addresses back. Objects are linked when something in them is first looked up,
//! all they refer to included, so [`Linker::address`] reports an unresolved symbol.
//!
//! The code goes into a JIT library of its own and not into LLJIT's main one: that one brings an
//! `atexit` whose handlers only C++ hosts can run.
//!
//! Ownership follows LLVM's conventions: an object's bytes and a generator belong to ORC once they
//! were added, error values are consumed when their message is taken, interned names given to
//! `LLVMOrcAbsoluteSymbols` are consumed by it.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use inkwell::llvm_sys::prelude::LLVMMemoryBufferRef;
use thiserror::Error;

use super::unwind_records;
use crate::emit::{target, thread_locals};

/// ORC's error instead of an address.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LinkError {
    /// Symbols that no object, no runtime and no library defines.
    #[error("undefined symbol{}: {}", if .0.len() == 1 { "" } else { "s" }, .0.join(", "))]
    Undefined(Vec<String>),
    /// Two objects define the same symbol.
    #[error("symbol defined twice: {0}")]
    Duplicate(String),
    /// A variable of the environment has a wrong value.
    #[error("{0}")]
    Option(String),
    /// Anything else, in ORC's words.
    #[error("in-process linker: {0}")]
    Other(String),
}

/// An in-process linker and the code it holds.
#[derive(Debug)]
pub struct Linker {
    jit: LLVMOrcLLJITRef,
    /// The library for all objects and symbols.
    library: LLVMOrcJITDylibRef,
    /// The errors that ORC reported to its session instead of the caller. In a box: the session has its address.
    reported: Box<Reported>,
}

type Reported = Mutex<Vec<String>>;

impl Linker {
    /// A linker that knows the process's own symbols and nothing else.
    pub fn new() -> Result<Linker, LinkError> {
        target::initialize(target::Target::host());
        let mut jit = std::ptr::null_mut();
        // SAFETY: makes a builder.
        let builder = unsafe { LLVMOrcCreateLLJITBuilder() };
        // SAFETY: the builder is consumed by the call.
        check(unsafe { LLVMOrcCreateLLJIT(&mut jit, builder) })?;
        // SAFETY: the JIT was just made and lives until `Linker` is dropped.
        let session = unsafe { LLVMOrcLLJITGetExecutionSession(jit) };
        // SAFETY: the session lives as long as the JIT, and so does the library.
        let library = unsafe { LLVMOrcExecutionSessionCreateBareJITDylib(session, c"program".as_ptr()) };
        let linker = Linker { jit, library, reported: Box::default() };
        let reported = (&raw const *linker.reported).cast_mut().cast::<c_void>();
        // SAFETY: the box of reports lives a little longer than the JIT (fields are dropped after `drop`).
        unsafe { LLVMOrcExecutionSessionSetErrorReporter(session, report, reported) };
        let mut process = std::ptr::null_mut();
        // SAFETY: the JIT is alive.
        let prefix = unsafe { LLVMOrcLLJITGetGlobalPrefix(jit) };
        // SAFETY: makes a generator; no filter means that every symbol of the process passes.
        check(unsafe {
            LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&mut process, prefix, None, std::ptr::null_mut())
        })?;
        // SAFETY: the generator is handed over.
        unsafe { LLVMOrcJITDylibAddGenerator(library, process) };
        Ok(linker)
    }

    /// Defines symbols that lie at known addresses of this process.
    pub fn define(&self, symbols: &[(&str, u64)]) -> Result<(), LinkError> {
        let mut pairs: Vec<LLVMOrcCSymbolMapPair> = symbols
            .iter()
            .map(|&(name, address)| {
                let name = c_string(name);
                LLVMOrcCSymbolMapPair {
                    // SAFETY: the JIT is alive; the name is copied into its pool.
                    Name: unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) },
                    Sym: LLVMJITEvaluatedSymbol {
                        Address: address,
                        Flags: LLVMJITSymbolFlags {
                            GenericFlags: LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8,
                            TargetFlags: 0,
                        },
                    },
                }
            })
            .collect();
        // SAFETY: the pairs are live for the call, which takes over their interned names.
        let definitions = unsafe { LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len()) };
        // SAFETY: the library takes over the definitions.
        check(unsafe { LLVMOrcJITDylibDefine(self.library, definitions) })
    }

    /// Adds an object; `name` appears in messages.
    pub(crate) fn add_object(&self, object: &[u8], name: &str) -> Result<(), LinkError> {
        let buffer = copy(object, name);
        // SAFETY: the buffer is handed over.
        check(unsafe { LLVMOrcLLJITAddObjectFile(self.jit, self.library, buffer) })
    }

    /// Makes a tracker for objects that will be removed together.
    pub(crate) fn tracker(&self) -> Tracker {
        // SAFETY: the library is alive.
        Tracker(unsafe { LLVMOrcJITDylibCreateResourceTracker(self.library) })
    }

    /// Adds an object that goes away with its tracker.
    pub(crate) fn add_object_to(&self, tracker: &Tracker, object: &[u8], name: &str) -> Result<(), LinkError> {
        let buffer = copy(object, name);
        // SAFETY: the buffer is handed over; the tracker is of this linker's library.
        check(unsafe { LLVMOrcLLJITAddObjectFileWithRT(self.jit, tracker.0, buffer) })
    }

    /// The address of a symbol; links the object that defines it, and all it needs, first.
    pub fn address(&self, symbol: &str) -> Result<u64, LinkError> {
        self.reported().clear();
        let name = c_string(symbol);
        let (sender, answer) = mpsc::channel::<Answer>();
        // SAFETY: the JIT is alive, and the name ends in NUL.
        let interned = unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) };
        let mut order = LLVMOrcCJITDylibSearchOrderElement {
            JD: self.library,
            JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchAllSymbols,
        };
        let mut wanted = LLVMOrcCLookupSetElement {
            Name: interned,
            LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
        };
        // SAFETY: the JIT is alive.
        let session = unsafe { LLVMOrcLLJITGetExecutionSession(self.jit) };
        // SAFETY: the session and the library are alive; the interned name is consumed by the lookup set; the sender lives until its
        // only use, in `deliver`, has happened: `recv` waits for that.
        unsafe {
            LLVMOrcExecutionSessionLookup(
                session,
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                &mut order,
                1,
                &mut wanted,
                1,
                deliver,
                (&raw const sender).cast_mut().cast::<c_void>(),
            );
        }
        let answer = answer.recv().map_err(|_| LinkError::Other("no answer to a lookup".into()))?;
        answer.map_err(|error| explain(error, &self.reported()))
    }

    fn reported(&self) -> MutexGuard<'_, Vec<String>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Objects that are removed together. When it is dropped, they stay as long as the linker.
#[derive(Debug)]
pub(crate) struct Tracker(LLVMOrcResourceTrackerRef);

impl Tracker {
    /// Unmaps the objects and forgets their symbols. The caller must ensure that no code in them runs on, and that
    /// the linker still exists.
    pub(crate) fn remove(&self) -> Result<(), LinkError> {
        // SAFETY: the tracker is alive; a second removal finds nothing.
        check(unsafe { LLVMOrcResourceTrackerRemove(self.0) })
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        // SAFETY: made by `Linker::tracker`, released once.
        unsafe { LLVMOrcReleaseResourceTracker(self.0) };
    }
}

/// A buffer of LLVM's with these bytes, to be passed on; JITLink gets its unwind records as it needs them.
fn copy(bytes: &[u8], name: &str) -> LLVMMemoryBufferRef {
    let longer = unwind_records::in_eights(bytes);
    let bytes = longer.as_deref().unwrap_or(bytes);
    let name = c_string(name);
    // SAFETY: bytes and name are copied by the call.
    unsafe { LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast::<c_char>(), bytes.len(), name.as_ptr()) }
}

/// An address, or the reason why there is none.
type Answer = Result<u64, LinkError>;

/// Gets the result of the lookup of one symbol, on this thread or another.
extern "C" fn deliver(error: LLVMErrorRef, result: LLVMOrcCSymbolMapPairs, count: usize, context: *mut c_void) {
    let answer = check(error).and_then(|()| match count {
        // SAFETY: the pairs are readable during this call.
        1 => Ok(unsafe { (*result).Sym.Address }),
        _ => Err(LinkError::Other(format!("{count} answers to the lookup of one symbol"))),
    });
    // SAFETY: `address` passes its sender and waits for this message before it drops it.
    let sender = unsafe { &*context.cast::<mpsc::Sender<Answer>>() };
    // The receiver exists: `address` goes on only after this message.
    let _ = sender.send(answer);
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made by `new`, disposed of once. The caller ensures that no code in it runs on.
        let error = unsafe { LLVMOrcDisposeLLJIT(self.jit) };
        if let Err(error) = check(error) {
            tally_heap::tell_line!("tally: {error}");
        }
    }
}

/// Takes the message out of an error value.
fn check(error: LLVMErrorRef) -> Result<(), LinkError> {
    if error.is_null() {
        return Ok(());
    }
    let text = take_message(error);
    match text.split_once("uplicate definition of symbol '") {
        Some((_, rest)) => Err(LinkError::Duplicate(source_name(rest.trim_end_matches('\'')))),
        None => Err(LinkError::Other(text)),
    }
}

fn take_message(error: LLVMErrorRef) -> String {
    // SAFETY: the error is not null and consumed here.
    let raw = unsafe { LLVMGetErrorMessage(error) };
    // SAFETY: a C string, which is ours.
    let text = unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned();
    // SAFETY: ours to dispose of, and copied.
    unsafe { LLVMDisposeErrorMessage(raw) };
    text
}

extern "C" fn report(context: *mut c_void, error: LLVMErrorRef) {
    let text = take_message(error);
    // SAFETY: `Linker::new` passed its box, which outlives the session.
    let reported = unsafe { &*context.cast::<Reported>() };
    reported.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

/// A failed lookup says only which symbols could not be made; the reason went to the session.
fn explain(error: LinkError, reported: &[String]) -> LinkError {
    let LinkError::Other(text) = error else {
        return error;
    };
    let mut undefined: Vec<String> = reported
        .iter()
        .chain([&text])
        .filter_map(|message| listed(message, "Symbols not found: ["))
        .flatten()
        .collect();
    undefined.sort();
    undefined.dedup();
    if !undefined.is_empty() {
        LinkError::Undefined(undefined)
    } else if reported.is_empty() {
        LinkError::Other(text)
    } else {
        LinkError::Other(reported.join("; "))
    }
}

/// The names after `head` up to the closing bracket.
fn listed(message: &str, head: &str) -> Option<Vec<String>> {
    let (_, rest) = message.split_once(head)?;
    let (names, _) = rest.split_once(']')?;
    Some(names.split(',').map(|name| source_name(name.trim())).filter(|name| !name.is_empty()).collect())
}

/// A symbol as the program calls it.
fn source_name(symbol: &str) -> String {
    symbol.strip_prefix(thread_locals::DESCRIPTION).unwrap_or(symbol).to_owned()
}

/// A C string of a symbol's or file's name (a NUL inside ends it, as it would in C).
fn c_string(name: &str) -> CString {
    let bytes = name.split('\0').next().unwrap_or_default();
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;

    fn compiled(text: &str) -> Vec<u8> {
        emit::object_of_text(text, Level::O1)
    }

    #[test]
    fn objects_find_each_other_the_host_and_the_process() {
        extern "C" fn host() -> i32 {
            30
        }
        let a = compiled(
            "declare i32 @b()\ndeclare i32 @host()\ndeclare i32 @abs(i32)\n\
             define i32 @a() {\n  %x = call i32 @b()\n  %y = call i32 @host()\n  %z = call i32 @abs(i32 -10)\n  %s = add i32 %x, %y\n  %t = add i32 %s, %z\n  ret i32 %t\n}\n",
        );
        let b = compiled("define i32 @b() {\n  ret i32 2\n}\n");
        let linker = Linker::new().unwrap();
        linker.define(&[("host", host as *const () as u64)]).unwrap();
        linker.add_object(&a, "a").unwrap();
        linker.add_object(&b, "b").unwrap();
        let address = linker.address("a").unwrap();
        // SAFETY: `a` was compiled as a function of this type.
        let a: extern "C" fn() -> i32 = unsafe { std::mem::transmute(address) };
        assert_eq!(a(), 42);
    }

    #[test]
    fn undefined_and_duplicate_symbols_are_named() {
        let linker = Linker::new().unwrap();
        let a = compiled(
            "declare i32 @nowhere()\ndeclare i32 @nowhere_else()\n\
             define i32 @a() {\n  %x = call i32 @nowhere()\n  %y = call i32 @nowhere_else()\n  %z = add i32 %x, %y\n  ret i32 %z\n}\n",
        );
        linker.add_object(&a, "a").unwrap();
        assert_eq!(linker.address("a"), Err(LinkError::Undefined(vec!["nowhere".into(), "nowhere_else".into()])));
        let linker = Linker::new().unwrap();
        let b = compiled("define i32 @b() {\n  ret i32 2\n}\n");
        linker.add_object(&b, "b").unwrap();
        assert_eq!(linker.add_object(&b, "b"), Err(LinkError::Duplicate("b".into())));
    }
}
