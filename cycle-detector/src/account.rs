//! The account of time between the collector and the program: after a slice the program has its turn. `[BOUND]`
//!
//! A longest stop says nothing of how soon the next one comes. So each stop is charged, with a quarter on top, and the time in
//! which the program runs pays for it. A slice begins when nothing is owed:
//!
//! ```text
//! owed  =  max(0, …(5/4 × stop − time of the program)…)  ≤  OWED_MAX
//! begin a slice:  owed × (1 − pressure)  ≤  time of the program since the last stop
//! ```
//!
//! So of any window that is long against a slice the collector has four ninths, and the slices that lie at both ends of it
//! reach a half of 20 ms at most. Flips, and slices that do not wait, are charged as well. What is owed has a limit, since
//! no window reaches further back: a program that was stopped for long would else collect nothing for as long.
//!
//! *Pressure* says how near the bound of what accumulates is: of memory that the dead keep, of an epoch that is extended, of a
//! mark. At its end slices come as soon as they can.
//!
//! By the clock both sides are nanoseconds. Where slices have a fixed number of units the program pays with what it
//! allocates, so that such runs repeat; the polls of the prompt plan, at which its slices come, wait for nothing then.

use crate::slice::SLICE_UNITS;

/// What a stop costs more than it took, in parts of it.
const SURCHARGE: u64 = 4;
/// The most that is owed, in nanoseconds.
const OWED_NS_MAX: u64 = 10_000_000;
/// The same in units: what four of the longest steps take.
const OWED_UNITS_MAX: u64 = 4 * SLICE_UNITS as u64;
/// Bytes allocated that pay for one unit of work.
pub const BYTES_PER_UNIT: u64 = 4;

/// Whether so much work in so much time leaves the program all of its turns: four ninths at most.
pub(crate) fn leaves_turns(work_ns: u64, elapsed_ns: u64) -> bool {
    u128::from(work_ns) * u128::from(2 * SURCHARGE + 1) <= u128::from(elapsed_ns) * u128::from(SURCHARGE)
}

/// How near a bound is, in sixteenths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pressure(u64);

impl Pressure {
    pub(crate) const NONE: Pressure = Pressure(0);
    pub(crate) const FULL: Pressure = Pressure(16);

    /// So much of the `room` before the bound is used up.
    pub(crate) fn of(used: u64, room: u64) -> Pressure {
        let sixteenths = u128::from(used) * 16 / u128::from(room.max(1));
        Pressure(sixteenths.min(16) as u64)
    }

    fn leaves(self, owed: u64) -> u64 {
        owed / 16 * (16 - self.0)
    }
}

/// What the program is owed, in nanoseconds or units.
#[derive(Debug, Default)]
pub(crate) struct Account {
    owed: u64,
}

impl Account {
    /// The program has run for so long.
    pub(crate) fn pay(&mut self, time: u64) {
        self.owed = self.owed.saturating_sub(time);
    }

    /// It was stopped for so many nanoseconds.
    pub(crate) fn charge_time(&mut self, ns: u64) {
        self.charge(ns, OWED_NS_MAX);
    }

    /// A slice of a fixed number of units has done so many.
    pub(crate) fn charge_units(&mut self, units: u64) {
        self.charge(units, OWED_UNITS_MAX);
    }

    fn charge(&mut self, time: u64, most: u64) {
        self.owed = self.owed.saturating_add(time).saturating_add(time / SURCHARGE).min(most);
    }

    /// How long the program runs before the next slice.
    pub(crate) fn owed(&self, pressure: Pressure) -> u64 {
        pressure.leaves(self.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of half a millisecond, and now and then one of eight tenths, whenever the account lets them: no window of 20 ms
    /// has more than 10 ms of them, wherever it begins.
    #[test]
    fn slices_as_soon_as_the_account_lets_them_leave_half_of_any_window() {
        const WINDOW: u64 = 20_000;
        let (mut account, mut now, mut stops) = (Account::default(), 0, Vec::new());
        for slice in 0..400_u64 {
            let length = if slice % 7 == 0 { 800 } else { 500 };
            stops.push((now, now + length));
            now += length;
            account.charge_time(length);
            let turn = account.owed(Pressure::NONE);
            account.pay(turn);
            now += turn + 1;
        }
        for &(_, end) in stops.iter().filter(|&&(_, end)| end > WINDOW) {
            let from = end - WINDOW;
            let stopped: u64 = stops
                .iter()
                .filter(|&&(start, stop)| stop > from && start < end)
                .map(|&(start, stop)| stop - start.max(from))
                .sum();
            assert!(stopped * 2 <= WINDOW, "{stopped} of {WINDOW} up to {end}");
        }
    }

    #[test]
    fn pressure_brings_slices_closer_little_by_little() {
        let mut account = Account::default();
        account.charge_units(1600);
        let turns = [0, 4, 8, 15, 16, 99].map(|used| account.owed(Pressure::of(used, 16)));
        assert_eq!(turns, [2000, 1500, 1000, 125, 0, 0]);
        assert_eq!(Pressure::of(0, 0), Pressure::NONE);
        assert!(Pressure::of(1, 0) == Pressure::FULL && Pressure::of(u64::MAX, 3) == Pressure::FULL);
    }

    #[test]
    fn work_of_four_ninths_of_the_time_leaves_turns() {
        assert!(leaves_turns(4, 9) && leaves_turns(0, 0) && leaves_turns(u64::MAX / 9 * 4, u64::MAX));
        assert!(!leaves_turns(5, 9) && !leaves_turns(u64::MAX, u64::MAX));
    }

    #[test]
    fn a_long_stop_is_not_owed_for_ever() {
        let mut account = Account::default();
        account.charge_time(u64::MAX);
        assert_eq!(account.owed(Pressure::NONE), OWED_NS_MAX);
        account.pay(OWED_NS_MAX + 1);
        assert_eq!(account.owed(Pressure::NONE), 0);
    }
}
