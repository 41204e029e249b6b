//! Code that the tests of several crates share. Only tests and fuzz targets depend on it, and it is never published.
//!
//! * `damage`: damages bytes by a seed, and stops a reader that takes more memory or time than its input may cost
//! * `checks`: checks of any bytes as a descriptor, a stack map, a stack, a module or an object, for fuzz targets and
//!   suites
//! * `stack_map_section`: writes stack map sections without the reader's code
//! * `tally_command`, `folder`: the `tally` command, found or built once; a test's files and the outcome of its
//!   programs
//! * `own_process`: a test that needs a process of its own gets one, also where all tests share an executable
//! * `dice`: random numbers; a seed gives the same numbers for ever
//! * `progress`: the progress of a long check
//! * `savings`: which counts a program may save under the prompt plan
//! * `situation`: files that say in comments what is expected of them
//! * `seed`: the seed of a run: fixed, unless the environment sets another; `workers`: many inputs on all processors
//! * `ways`: in how many ways a program is run, in a gate and on demand
//! * `snippets`: snippets that rustc takes or refuses, for suites of what must not compile
//! * `nodes`: mutators and objects for suites that drive a heap from Rust

#![warn(unreachable_pub)]

pub mod checks;
pub mod damage;
pub mod dice;
pub mod folder;
pub mod nodes;
pub mod own_process;
pub mod progress;
pub mod savings;
pub mod seed;
pub mod situation;
pub mod snippets;
pub mod stack_map_section;
pub mod tally_command;
pub mod ways;
pub mod workers;
