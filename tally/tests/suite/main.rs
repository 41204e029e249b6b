//! The facade: what a host in Rust sees, under both plans, and what it is refused.

mod external;
mod handles;
mod host;
mod misuse;
mod services;
mod type_builder;
