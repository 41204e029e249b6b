//! The slice: how much is done before the program has its turn, by units of work and by the clock. `[BOUND]`
//!
//! Both plans' drivers work in a loop until their slice ends. A unit is about one reference that is followed. The clock
//! is looked at after each [`CHUNK_UNITS`], which is the least that a slice by time does. A fixed number of units
//! (`HeapOptions::slice_units`) is one chunk, and no clock is looked at: such runs repeat.

use std::time::{Duration, Instant};
use tally_heap::HeapOptions;
pub use tally_heap::services::control::CHUNK_UNITS;

/// Units of a slice, if its time suffices; and of the longest step.
pub(crate) const SLICE_UNITS: i64 = 16 * CHUNK_UNITS;
/// Roots, records or objects of a list that one step goes through.
pub(crate) const OBJECTS_PER_STEP: usize = CHUNK_UNITS as usize / 16;

/// The work that may be done at once.
#[derive(Debug)]
pub(crate) struct Slice {
    units: i64,
    /// Then it ends. The clock is looked at when `units` are as few as `next_look`.
    until: Option<Instant>,
    next_look: i64,
    /// Time in which the thread did not run does not count: so much of its own it may have.
    own: Option<Duration>,
    ended: bool,
}

impl Default for Slice {
    fn default() -> Self {
        Slice::of_units(i64::MAX)
    }
}

impl Slice {
    /// So many units.
    pub(crate) fn of_units(units: i64) -> Slice {
        Slice { units, until: None, next_look: 0, own: None, ended: false }
    }

    /// So many units at most, and for so much time from now on, but a chunk at least.
    pub(crate) fn of_time(units: i64, ns: u64) -> Slice {
        let until = Instant::now().checked_add(Duration::from_nanos(ns));
        Slice { until, next_look: units - CHUNK_UNITS, ..Slice::of_units(units) }
    }

    /// As the heap's options say: a fixed number of units, or up to `units` for the time of a slice.
    pub(crate) fn of_heap(options: &HeapOptions, units: i64) -> Slice {
        match options.slice_units {
            Some(fixed) => Slice::of_units(fixed.into()),
            None => Slice::of_time(units, options.slice_ns),
        }
    }

    /// For a mark that is given up when it ends. It is not, because another process had the processor.
    pub(crate) fn of_mark(options: &HeapOptions) -> Slice {
        match options.slice_units {
            Some(_) => Slice::of_units(options.mark_bound_units() as i64),
            None => {
                let ns = options.mark_bound_ns();
                let own = thread_time() + Duration::from_nanos(ns);
                Slice { own: Some(own), ..Slice::of_time(i64::MAX, ns) }
            }
        }
    }

    /// The units that may be done before the next look.
    pub(crate) fn chunk(&self) -> i64 {
        if self.until.is_some() { self.units.min(CHUNK_UNITS) } else { self.units }
    }

    /// So much has been done.
    pub(crate) fn spend(&mut self, units: i64) {
        self.units -= units;
        if self.units <= self.next_look
            && let Some(until) = self.until
        {
            self.next_look = self.units - CHUNK_UNITS;
            if Instant::now() >= until {
                self.end_or_go_on();
            }
        }
    }

    #[cold]
    fn end_or_go_on(&mut self) {
        let left = self.own.map_or(Duration::ZERO, |own| own.saturating_sub(thread_time()));
        match left.is_zero() {
            true => self.units = 0,
            false => self.until = Instant::now().checked_add(left),
        }
    }

    /// Whether nothing is left of it.
    pub(crate) fn ends(&mut self) -> bool {
        self.ended |= self.units <= 0;
        self.ended
    }

    /// Whether it was used up when it was last asked.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

/// The time for which this thread has had a processor.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes a time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_ends_with_its_units_or_its_time_but_not_before_a_chunk() {
        let mut by_units = Slice::of_units(3000);
        assert_eq!(by_units.chunk(), 3000);
        by_units.spend(2999);
        assert!(!by_units.ends());
        by_units.spend(1);
        assert!(by_units.ends() && by_units.has_ended());

        let mut late = Slice::of_time(100_000, 0);
        assert_eq!(late.chunk(), CHUNK_UNITS);
        late.spend(CHUNK_UNITS - 1);
        assert!(!late.ends());
        late.spend(1);
        assert!(late.ends());

        let mut early = Slice::of_time(10_000, 60_000_000_000);
        (0..9).for_each(|_| early.spend(1000));
        assert!(!early.ends() && early.chunk() == 1000);
        early.spend(1000);
        assert!(early.ends());

        let mut unbounded = Slice::default();
        unbounded.spend(1 << 40);
        assert!(!unbounded.ends());
    }
}
