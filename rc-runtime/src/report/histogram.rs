//! How often values of which size were seen, by powers of two: the statistics' pauses and cells.
//!
//! Plain words without a pointer in them: a report at exit copies the statistics of a heap whose thread is running.

/// Classes of a histogram.
pub(crate) const BUCKETS: usize = 48;

/// Bucket `n` counts the values from 2ⁿ up to 2ⁿ⁺¹ exclusive; the first also 0, the last everything above.
#[repr(C)]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// The counts.
    pub buckets: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: [0; BUCKETS] }
    }
}

impl Histogram {
    /// Counts `times` values of this size.
    #[inline(always)]
    pub fn add(&mut self, value: u64, times: u64) {
        let bucket = (value | 1).ilog2() as usize;
        self.buckets[bucket.min(BUCKETS - 1)] += times;
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The buckets up to the last that is not empty.
    pub fn used(&self) -> &[u64] {
        let end = self.buckets.iter().rposition(|&count| count != 0).map_or(0, |last| last + 1);
        &self.buckets[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_between_its_powers_of_two() {
        let mut histogram = Histogram::default();
        for (value, bucket) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (1 << 30, 30), (u64::MAX, BUCKETS - 1)] {
            let before = histogram.buckets[bucket];
            histogram.add(value, 2);
            assert_eq!(histogram.buckets[bucket], before + 2, "{value}");
        }
        assert_eq!(histogram.total(), 14);
        assert_eq!(histogram.used().len(), BUCKETS);
        assert_eq!(Histogram::default().used(), &[0; 0]);
    }
}
