//! What the tests of several crates share. No crate but tests and fuzz targets depends on it, and it is never published.
//!
//! * `damage`: damages bytes by a seed, and stops a reader that takes more memory or time than its input may cost
//! * `checks`: any bytes as a descriptor, a stack map, a stack, a module or an object: what fuzz targets and suites run
//! * `stack_map_section`: writes stack map sections without the reader's code
//! * `tally_command`, `folder`: the `tally` command, found or built once; files of a test and what a program left behind
//! * `own_process`: a test that needs a process of its own gets one, also where all tests share an executable
//! * `dice`: random numbers of which a seed means the same for ever
//! * `progress`: how far a long check has come
//! * `seed`: the seed of a run: fixed, unless somebody asks for another; `workers`: many inputs on all processors
//! * `nodes`: mutators and objects for suites that drive a heap from Rust

pub mod checks;
pub mod damage;
pub mod dice;
pub mod folder;
pub mod nodes;
pub mod own_process;
pub mod progress;
pub mod seed;
pub mod stack_map_section;
pub mod tally_command;
pub mod workers;
