//! Compiled code: sessions whose modules come and go, and the lowering for a compiler that goes on by itself.
//!
//! | item | is |
//! |---|---|
//! | [`Session`] | modules of IR in this process, compiled, linked against the host, and called ([`SessionError`], [`ModuleHandle`]) |
//! | [`CompileOptions`] | what a session does with a module: [`Level`], zeal, warnings |
//! | [`lower`](lower()) | makes of a module in place what LLVM understands, as [`LowerOptions`] say; answers a [`LowerReport`] |
//! | [`verify_source`] | what is wrong with a module before that ([`Findings`], [`Diagnostic`]) |
//! | [`RunOptions`], [`configure`] | the heaps of the threads that run compiled code |
//! | [`inkwell`] | the wrapper of LLVM whose modules these functions take |
//!
//! ```
//! use tally::llvm::{CompileOptions, Session};
//!
//! const IR: &[u8] = b"define i64 @twice(i64 %n) gc \"refcount\" { %sum = add i64 %n, %n ret i64 %sum }";
//!
//! let mut session = Session::new(CompileOptions::default())?;
//! // SAFETY: it has no constructors, and is right IR.
//! unsafe { session.add("prelude", IR) }?;
//! let twice = session.lookup("twice").expect("the module defines it");
//! // SAFETY: the type of the function that was compiled; its module stays.
//! let twice: extern "C-unwind" fn(i64) -> i64 = unsafe { std::mem::transmute(twice) };
//! assert_eq!(twice(21), 42);
//! # Ok::<(), tally::llvm::SessionError>(())
//! ```
//!
//! The lowering alone, for a compiler that has its own passes:
//!
//! ```
//! use tally::llvm::inkwell::{context::Context, memory_buffer::MemoryBuffer};
//! use tally::llvm::{LowerOptions, lower, verify_source};
//!
//! const IR: &[u8] = b"define void @f() gc \"refcount\" { ret void }";
//!
//! let context = Context::create();
//! let text = MemoryBuffer::create_from_memory_range_copy(IR, "example");
//! let module = context.create_module_from_ir(text).expect("valid IR");
//! assert!(verify_source(&module, "example", &[]).errors.is_empty());
//! lower(&module, &LowerOptions::default()).expect("in order");
//! ```

pub use tally_compiled::program::configure;
pub use tally_compiled::program::options::RunOptions;
pub use tally_llvm::diagnostic::Diagnostic;
pub use tally_llvm::emit::level::Level;
pub use tally_llvm::inkwell;
pub use tally_llvm::jit::{ModuleHandle, Session, SessionError};
pub use tally_llvm::lower::{LowerOptions, LowerReport, lower};
pub use tally_llvm::pipeline::{CompileError, CompileOptions};
pub use tally_llvm::verify::{Findings, verify_source};
