//! Run-time options, from the flags of `tally run` and the `TALLY_*` variables of a built program.
//!
//! Both are read here, so that the same words mean the same and a wrong value gets the same message.

use std::path::PathBuf;
use std::time::Instant;
use tally_heap::heap::{HeapOptions, MARK_NS, Traces, ZEAL_LOOKS};
use tally_heap::services::alloc_site;
use tally_heap::services::control::EPOCH_BYTES_MIN;

/// Bytes between recorded objects, at most.
const SITES_INTERVAL_MAX: u64 = 1 << 40;

/// The target of statistics at exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatsTarget {
    /// A table on standard error.
    Stderr,
    /// JSON in a file, or to a descriptor or device that has a name.
    File(PathBuf),
}

/// The options of one run; the default of each is "not set".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Bytes of heap that must not be exceeded.
    pub heap_limit: Option<u64>,
    /// Bytes allocated between two flips.
    pub epoch_bytes: Option<u64>,
    /// Longest stop to aim at, in nanoseconds.
    pub pause_goal_ns: Option<u64>,
    /// Whether and where to report statistics at exit.
    pub stats: Option<StatsTarget>,
    /// An epoch at every safepoint, poison, verification.
    pub zeal: bool,
    /// Collect fully at exit and report what is left.
    pub leak_check: bool,
    /// Say each collection in a line on standard error.
    pub log_collections: bool,
    /// Say at exit which fields closed the cycles that were collected.
    pub log_cycles: bool,
    /// The name of a type: say at exit why its objects are alive.
    pub why: Option<String>,
    /// Record where objects are allocated: one for so many bytes on average, all with 0.
    pub alloc_sites: Option<u64>,
    /// The allocation that finds no room, counted from 1.
    pub fail_allocation: Option<u64>,
    /// Units of work of each slice, in place of a length of time: runs repeat exactly.
    pub slice_units: Option<u32>,
    /// When a heap of the deferred plan traces; where it pays if nothing is said.
    pub tracing: Option<Traces>,
}

/// A value that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Not a size.
    #[error("`{0}` is not a size; write a number with an optional unit, such as 65536, 64KiB, 8MiB or 2GiB")]
    Size(String),
    /// Not a time.
    #[error("`{0}` is not a time; write a number with a unit, such as 500us, 1ms or 2s")]
    Time(String),
    /// Not the number of an allocation.
    #[error("`{0}` is not the number of an allocation; they are counted from 1")]
    Number(String),
    /// Not a number of units.
    #[error("`{0}` is not a number of units; write a whole number from 1 to 4294967295")]
    Units(String),
    /// No place for statistics.
    #[error(
        "`{0}` is no place for statistics; write 1 or - for a table on standard error, or a file's name with a `/` or a `.` in it, \
         such as stats.json, ./stats or /dev/stdout"
    )]
    Stats(String),
    /// The name of a file or of a type that is no UTF-8.
    #[error("`{0}` is no UTF-8; give a name that is")]
    Unreadable(String),
    /// Nothing that can be logged.
    #[error("`{0}` cannot be logged; write collections, cycles or both with a comma")]
    Log(String),
    /// Not a distance between samples.
    #[error(
        "`{0}` is no number of bytes between recorded objects; write 1 for 128KiB, all for every object, a size such as 4KiB, or 0"
    )]
    AllocSites(String),
    /// Neither yes nor no.
    #[error("`{0}` is neither 1 nor 0")]
    Switch(String),
    /// A variable whose value is wrong.
    #[error("{variable}: {error}")]
    Variable {
        /// The variable's name.
        variable: &'static str,
        /// The fault.
        error: Box<OptionError>,
    },
}

/// Reads a size: a number and an optional unit B, K/KB/KiB, M/MB/MiB, G/GB/GiB (all powers of 1024).
///
/// # Errors
/// [`OptionError::Size`].
pub fn parse_size(text: &str) -> Result<u64, OptionError> {
    tally_heap::environment::size(text).ok_or_else(|| OptionError::Size(text.to_owned()))
}

/// Reads a time in ns, us, ms or s; returns nanoseconds.
///
/// # Errors
/// [`OptionError::Time`].
pub fn parse_time(text: &str) -> Result<u64, OptionError> {
    let wrong = || OptionError::Time(text.to_owned());
    let (number, unit) = tally_heap::environment::split_unit(text);
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(scale).ok_or_else(wrong)
}

/// Reads the number of an allocation.
///
/// # Errors
/// [`OptionError::Number`].
pub fn parse_allocation(text: &str) -> Result<u64, OptionError> {
    text.trim().parse().ok().filter(|&number| number != 0).ok_or_else(|| OptionError::Number(text.to_owned()))
}

/// Reads the units of work of a slice.
///
/// # Errors
/// [`OptionError::Units`].
pub(crate) fn parse_units(text: &str) -> Result<u32, OptionError> {
    text.trim().parse().ok().filter(|&units| units != 0).ok_or_else(|| OptionError::Units(text.to_owned()))
}

/// Reads where statistics go: `1` or `-` is standard error, nothing or `0` nowhere. A file's name has a `/` or a `.`
/// in it, so that `yes` is a mistake and not a file.
///
/// # Errors
/// [`OptionError::Stats`].
pub fn parse_stats(text: &str) -> Result<Option<StatsTarget>, OptionError> {
    match text {
        "" | "0" => Ok(None),
        "1" | "-" => Ok(Some(StatsTarget::Stderr)),
        text if text.contains(char::REPLACEMENT_CHARACTER) => Err(OptionError::Unreadable(text.to_owned())),
        file if file.contains(['/', '.']) => Ok(Some(StatsTarget::File(PathBuf::from(file)))),
        _ => Err(OptionError::Stats(text.to_owned())),
    }
}

/// Reads which allocation sites are recorded: `all`, or one for a size of bytes; `1` is the usual one, nothing or `0` none.
///
/// # Errors
/// [`OptionError::AllocSites`].
pub fn parse_alloc_sites(text: &str) -> Result<Option<u64>, OptionError> {
    match text {
        "" | "0" => Ok(None),
        "1" => Ok(Some(alloc_site::INTERVAL)),
        "all" => Ok(Some(0)),
        text => {
            let size = tally_heap::environment::size(text).filter(|&size| size != 0 && size <= SITES_INTERVAL_MAX);
            size.map(Some).ok_or_else(|| OptionError::AllocSites(text.to_owned()))
        }
    }
}

/// What is logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logged {
    /// Each collection.
    pub collections: bool,
    /// Which fields closed cycles.
    pub cycles: bool,
}

/// Reads what is to be logged: `collections`, `cycles`, both with a comma between them, or nothing.
///
/// # Errors
/// [`OptionError::Log`].
pub fn parse_log(text: &str) -> Result<Logged, OptionError> {
    let mut logged = Logged::default();
    for word in text.split(',').filter(|_| !matches!(text, "" | "0")) {
        match word {
            "collections" => logged.collections = true,
            "cycles" => logged.cycles = true,
            _ => return Err(OptionError::Log(word.to_owned())),
        }
    }
    Ok(logged)
}

/// Reads the name of a type; an empty one is none.
///
/// # Errors
/// [`OptionError::Unreadable`].
pub(crate) fn parse_type_name(text: &str) -> Result<Option<String>, OptionError> {
    match text.contains(char::REPLACEMENT_CHARACTER) {
        true => Err(OptionError::Unreadable(text.to_owned())),
        false => Ok((!text.is_empty()).then(|| text.to_owned())),
    }
}

/// Reads when a heap of the deferred plan traces: `0` never, `1` where it pays; `turns` is for tests, and then small heaps count.
///
/// # Errors
/// [`OptionError::Switch`].
fn parse_tracing(text: &str) -> Result<Traces, OptionError> {
    match text {
        "turns" => Ok(Traces::ByTurns(2)),
        text => Ok(if parse_switch(text)? { Traces::WhereItPays } else { Traces::Never }),
    }
}

/// Reads a variable of the environment that is 1 or 0; off if it is not there.
///
/// # Errors
/// [`OptionError::Variable`].
pub fn switch_of(variable: &'static str) -> Result<bool, OptionError> {
    let value = tally_heap::environment::variable(variable).unwrap_or_default();
    parse_switch(&value).map_err(|error| OptionError::Variable { variable, error: Box::new(error) })
}

fn parse_switch(text: &str) -> Result<bool, OptionError> {
    match text {
        "1" => Ok(true),
        "0" | "" => Ok(false),
        _ => Err(OptionError::Switch(text.to_owned())),
    }
}

impl RunOptions {
    /// The options of the program's heaps. A pause goal halves into slice budgets, since a slice may overrun by one
    /// chunk.
    pub(crate) fn heap_options(&self) -> HeapOptions {
        let default = HeapOptions::default();
        HeapOptions {
            heap_limit: self.heap_limit,
            epoch_bytes: self.epoch_bytes.unwrap_or(default.epoch_bytes).max(EPOCH_BYTES_MIN),
            epoch_grows: self.epoch_bytes.is_none(),
            mark_ns: if matches!(self.tracing, Some(Traces::ByTurns(_))) { 0 } else { MARK_NS },
            traces: self.tracing.unwrap_or(Traces::WhereItPays),
            slice_ns: self.pause_goal_ns.map_or(default.slice_ns, |goal| (goal / 2).clamp(10_000, default.slice_ns)),
            pause_goal_ns: self.pause_goal_ns,
            count_objects: self.stats.is_some() || self.leak_check || self.zeal || self.log_collections,
            log_since: self.log_collections.then(Instant::now),
            note_cycles: self.log_cycles,
            slice_units: self.slice_units,
            alloc_sites: self.alloc_sites,
            fail_allocation: self.fail_allocation,
            zeal: self.zeal,
            zeal_looks: ZEAL_LOOKS,
            ..default
        }
    }

    /// Whether names of fields or places are said in reports.
    pub fn asks_for_names(&self) -> bool {
        self.why.is_some() || self.log_cycles || self.alloc_sites.is_some()
    }

    /// Reads `TALLY_HEAP_LIMIT`, `TALLY_EPOCH_BYTES`, `TALLY_PAUSE_GOAL`, `TALLY_STATS`, `TALLY_ZEAL`,
    /// `TALLY_LEAK_CHECK`, `TALLY_WHY`, `TALLY_ALLOC_SITES`, `TALLY_LOG`, `TALLY_FAIL_ALLOCATION`, `TALLY_SLICE_UNITS` and `TALLY_TRACING`, and checks `TALLY_RESERVE` and
    /// `TALLY_HUGE_PAGES`. Where the environment is not trusted (`environment`), no option is set.
    ///
    /// # Errors
    /// [`OptionError::Variable`] with the name of the variable that has a wrong value.
    pub fn from_env() -> Result<RunOptions, OptionError> {
        RunOptions::from_variables(tally_heap::environment::variable)
    }

    /// The same from any source of variables.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub(crate) fn from_variables(read: impl Fn(&str) -> Option<String>) -> Result<RunOptions, OptionError> {
        fn get<T>(
            text: Option<String>,
            variable: &'static str,
            parse: impl Fn(&str) -> Result<T, OptionError>,
        ) -> Result<Option<T>, OptionError> {
            text.map(|text| parse(&text).map_err(|error| OptionError::Variable { variable, error: Box::new(error) }))
                .transpose()
        }
        // `range` reads the variable too early to report a mistake; wrong values are reported here.
        get(read("TALLY_RESERVE"), "TALLY_RESERVE", parse_size)?;
        get(read("TALLY_HUGE_PAGES"), "TALLY_HUGE_PAGES", parse_size)?;
        let logged = get(read("TALLY_LOG"), "TALLY_LOG", parse_log)?.unwrap_or_default();
        Ok(RunOptions {
            heap_limit: get(read("TALLY_HEAP_LIMIT"), "TALLY_HEAP_LIMIT", parse_size)?,
            epoch_bytes: get(read("TALLY_EPOCH_BYTES"), "TALLY_EPOCH_BYTES", parse_size)?,
            pause_goal_ns: get(read("TALLY_PAUSE_GOAL"), "TALLY_PAUSE_GOAL", parse_time)?,
            stats: get(read("TALLY_STATS"), "TALLY_STATS", parse_stats)?.flatten(),
            zeal: get(read("TALLY_ZEAL"), "TALLY_ZEAL", parse_switch)?.unwrap_or(false),
            leak_check: get(read("TALLY_LEAK_CHECK"), "TALLY_LEAK_CHECK", parse_switch)?.unwrap_or(false),
            log_collections: logged.collections,
            log_cycles: logged.cycles,
            why: get(read("TALLY_WHY"), "TALLY_WHY", parse_type_name)?.flatten(),
            alloc_sites: get(read("TALLY_ALLOC_SITES"), "TALLY_ALLOC_SITES", parse_alloc_sites)?.flatten(),
            fail_allocation: get(read("TALLY_FAIL_ALLOCATION"), "TALLY_FAIL_ALLOCATION", parse_allocation)?,
            slice_units: get(read("TALLY_SLICE_UNITS"), "TALLY_SLICE_UNITS", parse_units)?,
            tracing: get(read("TALLY_TRACING"), "TALLY_TRACING", parse_tracing)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        assert_eq!(parse_size("65536"), Ok(65536));
        assert_eq!(parse_size("64KiB"), Ok(64 << 10));
        assert_eq!(parse_size("8 MiB"), Ok(8 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_time("500us"), Ok(500_000));
        assert_eq!(parse_time("1ms"), Ok(1_000_000));
        for wrong in ["", "MiB", "-1", "8 apples", "99999999999999999999", "99999999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        assert!(parse_time("5").is_err());
        assert_eq!(parse_allocation("12"), Ok(12));
        assert!(parse_allocation("0").is_err() && parse_allocation("first").is_err());
        assert_eq!(parse_log("cycles,collections"), Ok(Logged { collections: true, cycles: true }));
        assert!(
            parse_log("0") == Ok(Logged::default()) && parse_log("cycles,") == Err(OptionError::Log(String::new()))
        );
        assert_eq!((parse_alloc_sites("all"), parse_alloc_sites("4KiB")), (Ok(Some(0)), Ok(Some(4096))));
        assert_eq!((parse_alloc_sites("1"), parse_alloc_sites("0")), (Ok(Some(128 << 10)), Ok(None)));
        assert!(parse_alloc_sites("2TiB").is_err() && parse_alloc_sites("every").is_err());
        assert_eq!(parse_units("4294967295"), Ok(u32::MAX));
        assert!(parse_units("0").is_err() && parse_units("4294967296").is_err() && parse_units("1ms").is_err());
    }

    #[test]
    fn a_wrong_variable_is_named() {
        for wrong in ["TALLY_EPOCH_BYTES", "TALLY_HEAP_LIMIT", "TALLY_RESERVE", "TALLY_HUGE_PAGES"] {
            let read = |name: &str| (name == wrong).then(|| "lots".to_owned());
            let message = RunOptions::from_variables(read).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{wrong}: `lots` is not a size")), "{message}");
        }
        let others = ["TALLY_PAUSE_GOAL", "TALLY_STATS", "TALLY_ZEAL", "TALLY_LEAK_CHECK", "TALLY_FAIL_ALLOCATION"];
        for wrong in others.into_iter().chain(["TALLY_SLICE_UNITS", "TALLY_TRACING", "TALLY_LOG", "TALLY_ALLOC_SITES"])
        {
            let read = |name: &str| (name == wrong).then(|| "yes".to_owned());
            let message = RunOptions::from_variables(read).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{wrong}: ")) && message.contains("`yes`"), "{message}");
        }
    }

    /// A slice may overrun by a chunk, and a slice of almost no time would only read the clock.
    #[test]
    fn a_pause_goal_is_halved_into_slices_within_bounds() {
        let default = HeapOptions::default().slice_ns;
        for (goal, slice) in [(None, default), (Some(600_000), 300_000), (Some(1), 10_000), (Some(u64::MAX), default)] {
            let run = RunOptions { pause_goal_ns: goal, epoch_bytes: Some(1), ..RunOptions::default() };
            let heap = run.heap_options();
            assert_eq!((heap.slice_ns, heap.pause_goal_ns), (slice, goal), "{goal:?}");
            assert_eq!((heap.epoch_bytes, heap.epoch_grows, heap.count_objects), (4096, false, false));
            assert!(RunOptions::default().heap_options().epoch_grows, "nobody has asked for a length");
        }
    }

    #[test]
    fn each_variable_is_read_into_its_option() {
        let read = |name: &str| {
            let text = match name {
                "TALLY_HEAP_LIMIT" => "64MiB",
                "TALLY_EPOCH_BYTES" => "1MiB",
                "TALLY_PAUSE_GOAL" => "2ms",
                "TALLY_STATS" => "figures.json",
                "TALLY_ZEAL" => "1",
                "TALLY_LEAK_CHECK" => "0",
                "TALLY_WHY" => "Node",
                "TALLY_ALLOC_SITES" => "16KiB",
                "TALLY_LOG" => "collections",
                "TALLY_FAIL_ALLOCATION" => "17",
                "TALLY_SLICE_UNITS" => "4096",
                "TALLY_TRACING" => "0",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let options = RunOptions::from_variables(read).expect("all are right");
        assert_eq!((options.heap_limit, options.epoch_bytes), (Some(64 << 20), Some(1 << 20)));
        assert_eq!((options.pause_goal_ns, options.fail_allocation), (Some(2_000_000), Some(17)));
        assert_eq!((options.zeal, options.leak_check, options.why.as_deref()), (true, false, Some("Node")));
        assert_eq!(options.stats, Some(StatsTarget::File(PathBuf::from("figures.json"))));
        let heap = options.heap_options();
        assert_eq!((heap.heap_limit, heap.epoch_bytes), (Some(64 << 20), 1 << 20));
        assert_eq!((heap.pause_goal_ns, heap.fail_allocation), (Some(2_000_000), Some(17)));
        assert_eq!((options.slice_units, heap.slice_units), (Some(4096), Some(4096)));
        assert_eq!((options.alloc_sites, heap.alloc_sites), (Some(16 << 10), Some(16 << 10)));
        assert!(heap.zeal && heap.count_objects, "figures that are shown are counted");
        assert!(options.log_collections && heap.log_since.is_some());
        for (text, target) in [
            ("", None),
            ("0", None),
            ("1", Some(StatsTarget::Stderr)),
            ("-", Some(StatsTarget::Stderr)),
            ("./stats", Some(StatsTarget::File(PathBuf::from("./stats")))),
        ] {
            let read = |name: &str| (name == "TALLY_STATS").then(|| text.to_owned());
            assert_eq!(RunOptions::from_variables(read).expect("right").stats, target, "{text}");
        }
    }
}
