//! Compiled code: sessions whose modules come and go, and the lowering for a compiler that goes on by itself.
//!
//! | item | is |
//! |---|---|
//! | [`Session`] | modules of IR in this process, compiled, linked against the host, and called ([`SessionError`], [`ModuleHandle`]) |
//! | [`CompileOptions`] | what a session does with a module: [`Level`], zeal, warnings ([`Session::add_module_with_warnings`] has them) |
//! | [`lower`](lower()) | makes of a module in place what LLVM understands, as [`LowerOptions`] say; returns a [`LowerReport`] |
//! | [`verify_source`] | what is wrong with a module before that ([`Findings`], [`Diagnostic`]) |
//! | [`Frontend`] | builds a module: types ([`ObjectBuilder`], [`ObjectType`]), functions ([`Body`], [`Root`]), tagged words ([`Tags`]); [`FrontendError`] |
//! | [`RunOptions`], [`configure`] | the heaps of the threads that run compiled code |
//! | [`walk_roots`] | the roots of all frames on the stack, for a collector of your own ([`StackRoot`]) |
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
//!
//! A collector of your own, on the roots that Tally finds. The heap of a [`Session`]'s modules may be anything: references
//! to memory outside Tally's heap are legal wherever references are.
//!
//! ```
//! use std::cell::Cell;
//! use tally::llvm::{CompileOptions, Session, walk_roots};
//!
//! thread_local!(static SUM: Cell<u64> = const { Cell::new(0) });
//!
//! extern "C-unwind" fn collect() {
//!     for root in walk_roots() {
//!         assert_eq!((root.name.as_deref(), root.function.as_deref()), (Some("kept"), Some("keep")));
//!         // SAFETY: the slot of a frame that waits for this call to return.
//!         let object = unsafe { *root.slot } as *const u64;
//!         // SAFETY: the word that `keep` was given.
//!         SUM.set(SUM.get() + unsafe { *object });
//!     }
//! }
//!
//! const IR: &[u8] = br#"
//! declare void @llvm.gcroot(ptr, ptr)
//! declare void @collect()
//! define i64 @keep(ptr %object) gc "trace" {
//!   %kept = alloca ptr
//!   call void @llvm.gcroot(ptr %kept, ptr null)
//!   store ptr %object, ptr %kept
//!   call void @collect()
//!   %same = load ptr, ptr %kept
//!   %word = load i64, ptr %same
//!   ret i64 %word
//! }"#;
//!
//! let mut session = Session::new(CompileOptions::default())?;
//! session.define("collect", collect as *const ())?;
//! // SAFETY: it has no constructors, and is right IR.
//! unsafe { session.add("module", IR) }?;
//! let keep = session.lookup("keep").expect("the module defines it");
//! // SAFETY: the type of the function that was compiled; its module stays.
//! let keep: extern "C-unwind" fn(&u64) -> u64 = unsafe { std::mem::transmute(keep) };
//! assert_eq!((keep(&42), SUM.get()), (42, 42));
//! # Ok::<(), tally::llvm::SessionError>(())
//! ```

mod body;
mod frontend;
mod frontend_error;
mod object_type;

pub use body::{Body, Held, Root};
pub use frontend::{Frontend, Tags};
pub use frontend_error::FrontendError;
pub use object_type::{ObjectBuilder, ObjectType, Place};
pub use tally_compiled::program::configure;
pub use tally_compiled::program::options::RunOptions;
pub use tally_compiled::stack::root_listing::{StackRoot, walk_roots};
pub use tally_llvm::diagnostic::Diagnostic;
pub use tally_llvm::emit::level::Level;
pub use tally_llvm::inkwell;
pub use tally_llvm::jit::registered_code;
pub use tally_llvm::jit::{ModuleHandle, Session, SessionError};
pub use tally_llvm::lower::{LowerOptions, LowerReport, lower};
pub use tally_llvm::pipeline::{CompileError, CompileOptions};
pub use tally_llvm::verify::{Findings, verify_source};
