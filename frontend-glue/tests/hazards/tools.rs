//! Tools of LLVM and the system on lowered modules.
