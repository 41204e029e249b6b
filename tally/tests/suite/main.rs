//! The facade: what a host in Rust sees, under both plans, and what it is refused.

mod external;
mod finalizers;
#[cfg(feature = "llvm")]
mod frontend;
mod handles;
mod host;
mod limits;
mod misuse;
mod mixed_fields;
mod random;
mod services;
mod type_builder;
mod weak;
mod why_alive;
