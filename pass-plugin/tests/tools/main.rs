//! The pass plugin in the tools that it is for: clang, opt, llc and lld of LLVM 22, as a user starts them.

mod clang;
mod driver;
mod link_time;
mod messages;
mod opt;
mod workbench;
