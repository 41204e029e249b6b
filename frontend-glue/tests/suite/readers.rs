//! Objects as a bad disk, a bad tool or somebody with bad intentions leaves them, before everything that reads objects.
//!
//! So are modules that are legal and odd (`hostile.rs`). Nothing panics, nothing takes more memory or time than the object's size allows, and what is refused is refused in a
//! sentence. Some of it runs with the other tests; this goes on for longer and says how many inputs there were:
//! `TALLY_DAMAGE_SECONDS=600 cargo test --release -p tally-llvm --test suite readers:: -- --nocapture`.

mod command;
mod damaged;
mod elf;
mod hostile;
mod lying;
mod modules;
mod objects;
mod stock_tools;
