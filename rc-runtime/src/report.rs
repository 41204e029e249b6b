//! Reports of a heap: counters, histograms, utilisation, the report of an epoch, and the findings of a recount.
pub mod cycles;
pub mod epoch_report;
pub mod histogram;
pub mod statistics;
pub mod utilisation;
pub mod violation;
