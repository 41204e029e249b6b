//! What a heap says of itself: counters, histograms, utilisation, what an epoch did, and what a recount found.
pub mod epoch_report;
pub mod histogram;
pub mod statistics;
pub mod utilisation;
pub mod violation;
