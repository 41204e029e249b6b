//! Minimum mutator utilisation: the least part of any window of time that the program had for itself.
//!
//! A longest stop says little of a program that is stopped again and again: ten stops of 0.5 ms in 6 ms are as bad as
//! one of 5. So for each window length the statistics have the worst window of that length, wherever it begins (Cheng &
//! Blelloch 2001, "A Parallel, Real-Time Garbage Collector", §2; Bacon, Cheng & Rajan 2003, "A Real-time Garbage
//! Collector with Low Overhead and Consistent Utilization").
//!
//! > The stopped time of a window, as the window moves, grows only while its end lies in a stop and its beginning does
//! > not. So the worst windows end at the end of a stop, and it is enough to look back from there.
//!
//! ```text
//!   stop(start, end):
//!       append the stop
//!       for each window length w:
//!           forget stops that ended before end − w
//!           stopped = their sum − what the oldest has before end − w
//! ```
//!
//! The stops of the longest window are remembered, [`SPANS_MAX`] at most. When there are more, neighbours are taken together as
//! one *span*, which knows its stopped time but not where in it that lies: a window that begins within one is charged with as
//! much of it as can lie in the window. So the figure is never higher than the truth, exact while no more stops than that come
//! in 100 ms, and else off by no more than a span, a tenth of a millisecond.
//!
//! Time before the first stop and after the last is the program's. Expected cost: some sixty instructions a stop.

mod stop;

use crate::memory::list::List;
use std::time::Instant;

/// The windows, in nanoseconds.
pub const WINDOWS_NS: [u64; 3] = [5_000_000, 20_000_000, 100_000_000];
/// A utilisation of 1.
pub const WHOLE: u64 = 1000;
/// Stops that are told apart, at most.
pub const SPANS_MAX: usize = 4096;
/// Stops for which there is memory at any time.
const SPANS_AT_FIRST: usize = 64;

/// One stop, or several neighbours; in nanoseconds since the first was measured.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
    stopped: u64,
}

impl Span {
    /// How much of its stopped time may lie behind `from`.
    fn stopped_after(self, from: u64) -> u64 {
        self.stopped.min(self.end.saturating_sub(from))
    }
}

/// One window length.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    ns: u64,
    /// The oldest span that may lie in the window.
    first: usize,
    /// Stopped time of all spans from there on.
    sum: u64,
    worst: u64,
}

/// The stops of a heap, as far as windows still reach back to them.
#[derive(Debug)]
pub struct Utilisation {
    origin: Option<Instant>,
    spans: List<Span>,
    windows: [Window; WINDOWS_NS.len()],
}

impl Default for Utilisation {
    fn default() -> Self {
        let windows = WINDOWS_NS.map(|ns| Window { ns, ..Window::default() });
        Utilisation { origin: None, spans: List::with_capacity(SPANS_AT_FIRST), windows }
    }
}

impl Utilisation {
    /// The program was stopped from `start` to `end`, in nanoseconds since some moment, and later than before.
    pub fn note(&mut self, start: u64, end: u64) {
        let mut span = Span { start, end, stopped: end.saturating_sub(start) };
        self.take_in_overlapped(&mut span);
        if !self.has_room() {
            self.make_room(end);
        }
        self.spans.push(span);
        for window in &mut self.windows {
            window.look_back(&self.spans, span);
        }
    }

    /// The least utilisation of each window so far, in thousandths, rounded down.
    pub fn least(&self) -> [u64; WINDOWS_NS.len()] {
        self.windows.map(|window| (window.ns - window.worst) * WHOLE / window.ns)
    }

    /// A stop inside another has been noted first.
    fn take_in_overlapped(&mut self, span: &mut Span) {
        let mut any = false;
        while let Some(&last) = self.spans.last()
            && last.end > span.start
        {
            span.start = span.start.min(last.start);
            span.stopped = span.end - span.start;
            self.spans.pop();
            any = true;
        }
        if any {
            self.sum_anew();
        }
    }

    fn has_room(&mut self) -> bool {
        self.spans.len() < SPANS_MAX && (self.spans.len() < self.spans.capacity() || self.spans.try_reserve(1))
    }

    /// Drops the spans that no window ending at `now` or later reaches. If few go, takes neighbours together.
    #[cold]
    fn make_room(&mut self, now: u64) {
        let longest = self.windows.iter().map(|window| window.ns).max().unwrap_or(0);
        let all = self.spans.len();
        let old = self.spans.iter().take_while(|span| span.end <= now.saturating_sub(longest)).count();
        self.spans.drain(..old);
        if self.spans.len() > all / 4 * 3 {
            self.join_neighbours(longest / (all as u64 / 4));
        }
        for window in &mut self.windows {
            let from = now.saturating_sub(window.ns);
            window.first = self.spans.iter().take_while(|span| span.end <= from).count();
        }
        self.sum_anew();
    }

    /// Takes neighbours together while that makes spans of up to `ns`: any two that are left are longer together, so half of
    /// the spans at most are left of a window of which a quarter of them are that long.
    fn join_neighbours(&mut self, ns: u64) {
        let mut last = 0;
        for place in 1..self.spans.len() {
            let [one, two] = [self.spans[last], self.spans[place]];
            if two.end - one.start <= ns {
                self.spans[last] = Span { start: one.start, end: two.end, stopped: one.stopped + two.stopped };
            } else {
                last += 1;
                self.spans[last] = two;
            }
        }
        self.spans.truncate(last + 1);
    }

    fn sum_anew(&mut self) {
        for window in &mut self.windows {
            window.first = window.first.min(self.spans.len());
            window.sum = self.spans[window.first..].iter().map(|span| span.stopped).sum();
        }
    }
}

impl Window {
    /// The window that ends with `last`, which has just been noted.
    fn look_back(&mut self, spans: &[Span], last: Span) {
        self.sum += last.stopped;
        let from = last.end.saturating_sub(self.ns);
        while let Some(oldest) = spans.get(self.first)
            && oldest.end <= from
        {
            self.sum -= oldest.stopped;
            self.first += 1;
        }
        let oldest = spans.get(self.first).copied().unwrap_or(last);
        let before = if oldest.start < from { oldest.stopped - oldest.stopped_after(from) } else { 0 };
        self.worst = self.worst.max((self.sum - before).min(self.ns));
    }
}
