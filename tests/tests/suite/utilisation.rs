//! Minimum mutator utilisation as the statistics compute it, against a computation that looks at every window.

use proptest::prelude::*;
use tally_heap::HeapOptions;
use tally_heap::report::utilisation::{SPANS_MAX, Utilisation, WHOLE, WINDOWS_NS};
use tally_kit::nodes::new_mutator;

/// A stop: start and end.
type Stop = (u64, u64);

/// Stops one behind the other, from gaps and lengths.
fn stops(parts: &[(u64, u64)]) -> Vec<Stop> {
    let mut now = 0;
    let stop = |&(gap, length): &(u64, u64)| {
        let start = now + gap;
        now = start + length;
        (start, now)
    };
    parts.iter().map(stop).collect()
}

fn computed(stops: &[Stop]) -> [u64; 3] {
    let mut utilisation = Utilisation::default();
    stops.iter().for_each(|&(start, end)| utilisation.note(start, end));
    utilisation.least()
}

/// Stopped time is linear between the moments at which a window begins or ends with a stop's beginning or end: the worst
/// window is among those.
fn by_all_windows(stops: &[Stop]) -> [u64; 3] {
    WINDOWS_NS.map(|window| {
        let window = window as i64;
        let overlap =
            |from: i64, &(start, end): &Stop| ((end as i64).min(from + window) - (start as i64).max(from)).max(0);
        let edges = stops.iter().flat_map(|&(start, end)| [start as i64, end as i64]);
        let begins = edges.flat_map(|edge| [edge, edge - window]);
        let worst = begins.map(|from| stops.iter().map(|stop| overlap(from, stop)).sum::<i64>()).max().unwrap_or(0);
        ((window - worst) * WHOLE as i64 / window) as u64
    })
}

/// Gaps and lengths of all orders of magnitude, those of a window among them.
fn part() -> impl Strategy<Value = (u64, u64)> {
    let time = || prop_oneof![0..2_000_u64, 0..1_000_000_u64, 0..8_000_000_u64, 0..60_000_000_u64];
    (time(), time())
}

proptest! {
    #[test]
    fn least_of_all_windows(parts in prop::collection::vec(part(), 0..60)) {
        let stops = stops(&parts);
        prop_assert_eq!(computed(&stops), by_all_windows(&stops));
    }

    /// More stops than are told apart: never more than the truth, and not much less.
    #[test]
    fn stops_without_number_are_never_flattered(
        parts in prop::collection::vec((0..20_000_u64, 0..20_000_u64), 1..200),
        dense in 0..3_000_u64,
    ) {
        let many = parts.iter().cycle().take(2 * SPANS_MAX).map(|&(gap, length)| (gap.min(dense), length.min(3_000)));
        let stops = stops(&many.collect::<Vec<_>>());
        // The last of them are enough for the other computation, which is quadratic.
        let truth = by_all_windows(&stops[stops.len() - 1500..]);
        let found = computed(&stops);
        for (found, truth) in found.into_iter().zip(truth) {
            prop_assert!(found <= truth, "{} of a window that had {}", found, truth);
        }
    }
}

#[test]
fn program_that_was_never_stopped_had_all_the_time() {
    assert_eq!(computed(&[]), [WHOLE; 3]);
    let m = new_mutator(HeapOptions::default()).expect("address space");
    let statistics = m.statistics();
    let least = [statistics.utilisation_5ms_min, statistics.utilisation_20ms_min, statistics.utilisation_100ms_min];
    assert_eq!((statistics.pauses, least), (0, [WHOLE; 3]));
}

#[test]
fn stop_longer_than_a_window_leaves_nothing_of_it() {
    let stops = [(7_000_000, 27_000_001)];
    assert_eq!(computed(&stops), [0, 0, 799]);
}

/// Four stops of 0.5 ms with 0.5 ms between them: 5 ms have 2 of them, wherever they end.
#[test]
fn short_stops_add_up() {
    let stops: Vec<Stop> = (0..4).map(|place| (place * 1_000_000, place * 1_000_000 + 500_000)).collect();
    assert_eq!(computed(&stops), [600, 900, 980]);
}

/// Seven million stops of half the time: memory is bounded, and so is what the figure loses.
#[test]
fn stops_by_the_million_are_told_apart_well_enough() {
    let mut utilisation = Utilisation::default();
    for place in 0..7_000_000_u64 {
        utilisation.note(place * 1_000, place * 1_000 + 500);
    }
    let least = utilisation.least();
    assert!(least[1] <= 500 && least[2] <= 500, "{least:?}");
    assert!(least[1] >= 490 && least[2] >= 490, "{least:?}");
}

#[test]
fn stop_around_one_that_was_noted_first_is_counted_once() {
    assert_eq!(computed(&[(1_000_000, 2_000_000), (0, 3_000_000)]), computed(&[(0, 3_000_000)]));
    let around = computed(&[(0, 1_000_000), (1_500_000, 1_700_000), (1_200_000, 2_000_000)]);
    assert_eq!(around, computed(&[(0, 1_000_000), (1_200_000, 2_000_000)]));
}

#[test]
fn stops_of_a_heap_are_seen_by_both_plans() {
    for options in tally_tests::setup::both_plans() {
        let mut m = new_mutator(options).expect("address space");
        m.collect();
        let statistics = m.statistics();
        assert!(statistics.pauses > 0 && statistics.pause_ns_max > 10, "{statistics:?}");
        let lost = 5_000_000 * (WHOLE - statistics.utilisation_5ms_min) / WHOLE;
        assert!(lost + 5_000 >= statistics.pause_ns_max.min(5_000_000), "{statistics:?}");
        assert!(statistics.utilisation_5ms_min <= statistics.utilisation_20ms_min, "{statistics:?}");
        assert!(statistics.utilisation_20ms_min <= statistics.utilisation_100ms_min, "{statistics:?}");
    }
}
