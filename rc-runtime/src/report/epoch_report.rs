//! The report of one epoch, as plain data. The trigger reads the same report that users can read.

mod open_and_close;

/// The figures of one epoch, from its flip to the end of its passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochReport {
    /// The epoch's number: the stamp of objects allocated after its flip.
    pub epoch: u32,
    /// Bytes handed out for allocation before the flip.
    pub given_bytes: u64,
    /// Log entries that the flip closed.
    pub log_entries: u64,
    /// Roots that held a reference.
    pub roots: u64,
    /// Objects promoted.
    pub promoted: u64,
    /// Objects whose count fell to zero.
    pub freed_by_count: u64,
    /// Objects freed by trials.
    pub freed_by_trial: u64,
    /// Objects freed by the backup mark.
    pub freed_by_mark: u64,
    /// Trials run.
    pub trials: u64,
    /// Time the mutator was stopped for this epoch.
    pub work_ns: u64,
    /// Mature objects alive at the end.
    pub live_objects: u64,
    promoted_before: u64,
}
