//! The suites of the oracle and of whole programs, in one executable: each module is a suite. `cargo test -p tally-tests --test suite barrier_clauses::` runs one alone.

mod barrier_clauses;
mod barriers;
mod c_header;
mod cycles;
mod deep;
mod destruction;
mod effort;
mod examples;
mod heap_ops;
mod layout;
mod limits;
mod marks;
mod misuse;
mod native_host;
mod prompt;
mod properties;
mod protocol;
mod random_programs;
mod replay_command;
mod scenarios;
mod second_opinion;
mod security;
mod services;
mod statistics;
mod utilisation;
mod zeal;
