//! How often trials of one kind succeed, and whether to run all of them or a sample.
//!
//! An average that forgets: about the last [`MEMORY`] trials count, so that a run of failures in a row, which one array
//! full of live candidates brings, does not look like the end of garbage; while only a sample is tried it forgets
//! faster, since each trial stands for many candidates then.

/// Below this many in [`ONE`] only a sample is tried: one in eight.
const PAYS: u32 = ONE / 8;
const ONE: u32 = 1 << 16;
/// Trials that the average is over.
const MEMORY: u32 = 128;
/// The same while only a sample is tried.
const MEMORY_OF_SAMPLES: u32 = 32;

/// The success of trials of one kind, and the part of them that is run.
#[derive(Debug)]
pub(crate) struct SuccessRate {
    /// While trials do not pay, one in so many is run.
    one_in: u64,
    rate: u32,
    position: u64,
}

impl SuccessRate {
    /// Trials that pay until the contrary is known.
    pub(crate) const fn promising(one_in: u64) -> SuccessRate {
        SuccessRate { one_in, rate: ONE / 4, position: 0 }
    }

    /// Whether only a sample is tried.
    pub(crate) fn is_sampling(&self) -> bool {
        self.rate < PAYS
    }

    /// Whether the next trial is to be run.
    pub(crate) fn is_turn(&mut self) -> bool {
        self.position += 1;
        !self.is_sampling() || self.position.is_multiple_of(self.one_in)
    }

    /// One was run.
    pub(crate) fn learn(&mut self, succeeded: bool) {
        let memory = if self.is_sampling() { MEMORY_OF_SAMPLES } else { MEMORY };
        self.rate -= self.rate / memory;
        self.rate += if succeeded { ONE / memory } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_success_in_four_pays_however_they_are_clustered() {
        let mut rate = SuccessRate::promising(64);
        for trial in 0..100_000 {
            assert!(rate.is_turn(), "trial {trial}");
            rate.learn(trial % 85 < 21);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a hundred thousand candidates take minutes")]
    fn what_never_succeeds_is_soon_sampled_and_what_succeeds_again_soon_noticed() {
        let mut rate = SuccessRate::promising(64);
        let run = |rate: &mut SuccessRate, candidates: u32, succeeds: bool| {
            let tried = (0..candidates)
                .filter(|_| {
                    rate.is_turn() && {
                        rate.learn(succeeds);
                        true
                    }
                })
                .count();
            tried as u32
        };
        assert!(run(&mut rate, 100_000, false) < 500 + 100_000 / 64);
        assert!(run(&mut rate, 2000, true) > 1000);
    }
}
