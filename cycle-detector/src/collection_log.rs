//! `--log=collections`: a line on standard error for each epoch, collection, round of trials or mark, when the stop in
//! which it ended is over.
//!
//! ```text
//! tally: epoch 7 at 0.153 s: 12.1 MiB -> 4.2 MiB, 8123 objects freed (100 by count, 20 by trial), 30002 live; 3 stops, 0.412 ms at most, 0.900 ms in all
//! ```
//!
//! The first figure is what lived at the last line and what was allocated since; the stops are those since the last
//! line. So the lines add up, whatever dies between them. A line takes no memory. `[MEMORY]` Without the log each stop
//! costs one test.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use tally_heap::Heap;
use tally_heap::report::epoch_report::EpochReport;

/// What has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Kind {
    /// An epoch of the deferred plan that counts.
    #[default]
    Epoch,
    /// A mark of all that lives, and the end of all else.
    Collection,
    /// A round of trials of the prompt plan.
    Round,
    /// A backup mark of the prompt plan.
    Mark,
}

/// What has happened since the last line.
#[derive(Debug, Default)]
pub(crate) struct CollectionLog {
    kind: Kind,
    is_due: bool,
    stops: u64,
    stopped_ns: u64,
    longest_ns: u64,
    /// At the last line: bytes that lived, bytes allocated, objects freed.
    live_bytes: u64,
    allocated_bytes: u64,
    freed: u64,
}

impl CollectionLog {
    /// The running epoch is of that kind.
    #[inline(always)]
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.kind = kind;
    }

    /// The running epoch has ended.
    #[inline(always)]
    pub(crate) fn note_end(&mut self, heap: &Heap) {
        self.is_due = heap.options().log_since.is_some();
    }

    /// A stop of the program has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_stop(&mut self, heap: &Heap, ns: u64, report: &EpochReport) {
        self.stops += 1;
        self.stopped_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
        if std::mem::take(&mut self.is_due) {
            let mut line = Line { bytes: [0; 400], len: 0 };
            // What has no room is cut.
            _ = self.write_line(heap, report, &mut line);
            _ = std::io::stderr().write_all(&line.bytes[..line.len]);
        }
    }

    fn write_line(&mut self, heap: &Heap, report: &EpochReport, line: &mut Line) -> fmt::Result {
        let now = heap.statistics_with_young();
        let since = heap.options().log_since.map_or(0, |start| start.elapsed().as_millis() as u64);
        let allocated = now.allocated_bytes.saturating_sub(self.allocated_bytes);
        let freed = now.freed_objects().saturating_sub(self.freed);
        let mib = |bytes: u64| Decimal::<1>::of(bytes, 1 << 20);
        let kind = match self.kind {
            Kind::Epoch => "epoch",
            Kind::Collection => "collection",
            Kind::Round => "round",
            Kind::Mark => "mark",
        };
        write!(line, "tally: {kind} {} at {} s: ", now.epochs, Decimal::<3>::of(since, 1000))?;
        write!(line, "{} MiB -> {} MiB, ", mib(self.live_bytes + allocated), mib(now.live_bytes))?;
        write!(line, "{freed} objects freed")?;
        let means =
            [("count", report.freed_by_count), ("trial", report.freed_by_trial), ("mark", report.freed_by_mark)];
        let mut before = " (";
        for (means, objects) in means.into_iter().filter(|&(_, objects)| objects != 0) {
            write!(line, "{before}{objects} by {means}")?;
            before = ", ";
        }
        write!(line, "{}, {} live; ", if before == ", " { ")" } else { "" }, now.live_objects)?;
        let ms = |ns: u64| Decimal::<3>::of(ns, 1_000_000);
        let stops = if self.stops == 1 { "stop" } else { "stops" };
        write!(line, "{} {stops}, {} ms at most, ", self.stops, ms(self.longest_ns))?;
        writeln!(line, "{} ms in all", ms(self.stopped_ns))?;
        (self.stops, self.stopped_ns, self.longest_ns) = (0, 0, 0);
        (self.live_bytes, self.allocated_bytes) = (now.live_bytes, now.allocated_bytes);
        self.freed = now.freed_objects();
        Ok(())
    }
}

/// A number with so many digits behind its point, in units of which it is a part. Numbers with a floating point would bring 20 kB of code into
/// every executable.
struct Decimal<const DIGITS: u32>(u64);

impl<const DIGITS: u32> Decimal<DIGITS> {
    fn of(amount: u64, unit: u64) -> Decimal<DIGITS> {
        let parts = u128::from(amount) * 10_u128.pow(DIGITS) + u128::from(unit / 2);
        Decimal((parts / u128::from(unit)) as u64)
    }
}

impl<const DIGITS: u32> fmt::Display for Decimal<DIGITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(DIGITS);
        write!(f, "{}.{:0width$}", self.0 / unit, self.0 % unit, width = DIGITS as usize)
    }
}

/// A line while it is written.
struct Line {
    bytes: [u8; 400],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_and_have_all_their_digits() {
        let ms = |ns| Decimal::<3>::of(ns, 1_000_000).to_string();
        assert_eq!(
            [0, 499, 500, 1_999_499, 1_999_500, 12_034_000_000].map(ms),
            ["0.000", "0.000", "0.001", "1.999", "2.000", "12034.000"]
        );
        let mib = |bytes| Decimal::<1>::of(bytes, 1 << 20).to_string();
        assert_eq!([0, 52_428, 52_429, u64::MAX].map(mib), ["0.0", "0.0", "0.1", "17592186044416.0"]);
    }
}
