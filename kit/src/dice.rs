//! The random numbers of random programs and modules: SplitMix64 (Steele, Lea, Flood 2014), so that a seed means the
//! same for ever.
//!
//! Every random choice about a program and its run comes from one stream, in one order; none depends on the clock.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed }
    }

    /// The stream that begins at this state of the generator: random modules number their seeds this way.
    pub fn raw(state: u64) -> Dice {
        Dice { state }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit as u64) as usize
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_seed_others() {
        let several =
            |seed| (0..8).map(|_| 0).scan(Dice::new(seed), |dice, _: u64| Some(dice.draw())).collect::<Vec<_>>();
        assert_eq!(several(7), several(7));
        assert_ne!(several(7), several(8));
    }
}
