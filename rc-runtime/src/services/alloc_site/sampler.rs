//! Which objects are sampled: those that a sampling point falls into. Points lie an exponentially distributed number of bytes apart,
//! so that no regular pattern of allocation is met in step.
//!
//! Plans that bump a cursor limit it at the next point, so the object that goes beyond comes to the slow path. Under the prompt plan a list of free
//! cells ends there, and the next object of that size class is the sampled one: it is not the very object at the point, but chosen without regard to
//! its site. An interval of 0 or 1 samples every object: the limit is 0, and lists have one cell.

/// Chooses the objects.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Bytes between points, on average; 0 or 1: every object.
    interval: u64,
    /// Bytes to the next point; none or fewer: it has been passed.
    pub(super) until: i64,
    /// The cursor up to which bytes were counted.
    pub(super) counted_to: u64,
    /// Prompt plan: the size classes, a bit each, whose next object is sampled; and whether the object that is being allocated is it.
    pub(super) due: u128,
    pub(super) is_it: bool,
    random: u64,
}

impl Sampler {
    pub(super) fn new(interval: u64) -> Sampler {
        let mut sampler =
            Sampler { interval, until: 0, counted_to: 0, due: 0, is_it: false, random: 0x9e37_79b9_7f4a_7c15 };
        sampler.until = sampler.distance();
        sampler
    }

    /// Another number of bytes between points; `u64::MAX`: there are none any more.
    pub(super) fn set_interval(&mut self, interval: u64) {
        self.interval = interval;
        self.until = self.distance();
        (self.due, self.is_it) = (0, false);
    }

    /// Whether every object is sampled.
    pub(super) fn takes_all(&self) -> bool {
        self.interval <= 1
    }

    /// The number of objects that one of `cell` bytes stands for.
    pub(super) fn objects_for_one(&self, cell: u64) -> f64 {
        match self.interval {
            0 | 1 => 1.0,
            interval => -1.0 / (-(cell as f64) / interval as f64).exp_m1(),
        }
    }

    /// Bytes from one point to the next. A run of a program draws the same each time.
    fn distance(&mut self) -> i64 {
        // Xorshift (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let uniform = ((self.random >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        // Saturates where there is no point.
        (-uniform.ln() * self.interval as f64) as i64
    }

    /// So many bytes were allocated; whether a point lay in them.
    pub(super) fn pass(&mut self, bytes: u64) -> bool {
        if self.takes_all() {
            return true;
        }
        self.until = self.until.saturating_sub_unsigned(bytes);
        let is_passed = self.until <= 0;
        if is_passed {
            self.until = self.distance();
        }
        is_passed
    }

    /// Counts what was allocated inline up to `cursor`. A point there is left to the next object of the slow path.
    pub(super) fn count_to(&mut self, cursor: u64) {
        self.until = self.until.saturating_sub_unsigned(cursor.saturating_sub(self.counted_to));
        self.counted_to = cursor;
    }

    /// The limit of a cursor in a hole.
    pub(super) fn limit(&self, cursor: u64, end: u64) -> u64 {
        match self.takes_all() {
            true => 0,
            false => cursor.saturating_add_signed(self.until.max(0)).min(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_an_interval_apart_on_average_and_objects_stand_for_what_they_are_worth() {
        let mut sampler = Sampler::new(1000);
        let hits = (0..100_000).filter(|_| sampler.pass(64)).count() as f64;
        let estimate = hits * sampler.objects_for_one(64);
        assert!((estimate - 100_000.0).abs() < 5_000.0, "{estimate}");
        assert_eq!(sampler.objects_for_one(1 << 30), 1.0);
    }

    #[test]
    fn every_object_is_sampled_at_an_interval_of_none() {
        let mut sampler = Sampler::new(1);
        assert!(sampler.takes_all() && Sampler::new(0).takes_all() && sampler.pass(64));
        assert_eq!((sampler.limit(4096, 8192), sampler.objects_for_one(16)), (0, 1.0));
    }

    #[test]
    fn cursor_is_limited_at_the_next_point_within_its_hole() {
        let mut sampler = Sampler::new(1 << 20);
        sampler.until = 100;
        assert_eq!((sampler.limit(4096, 8192), sampler.limit(4096, 4100)), (4196, 4100));
        sampler.counted_to = 4096;
        sampler.count_to(4160);
        assert_eq!(sampler.until, 36);
        sampler.count_to(4224);
        assert_eq!(sampler.limit(4224, 8192), 4224, "a point that was passed inline is due");
    }
}
