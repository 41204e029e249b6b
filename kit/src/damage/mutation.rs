//! Damages bytes as a bad disk, a bad tool or an attacker damages a file.
//!
//! Used by the tests of every reader of untrusted bytes. The same seed makes the same
//! damage, so that a failure is replayed by its number.
//!
//! Random bytes find little: a reader stops at the first that makes no sense. So most changes are made to sound input
//! and make sense locally: counts, offsets and sizes that are wrong by little or by much, pieces that are repeated,
//! moved or missing.

use std::ops::Range;

/// Seeded damage.
#[derive(Clone, Debug)]
pub struct Mutation {
    state: u64,
}

impl Mutation {
    /// The damage of a seed.
    pub fn new(seed: u64) -> Self {
        // The first numbers of neighbouring seeds must differ.
        let mut mutation = Mutation { state: seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 };
        for _ in 0..4 {
            mutation.number();
        }
        mutation
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() >> 16) as usize % end
    }

    /// One to eight changes anywhere.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(8) {
            let all = 0..bytes.len();
            if self.below(4) > 0 { self.change_in(bytes, all) } else { self.rearrange(bytes) }
        }
    }

    /// A change inside `range` that leaves everything where it is.
    pub fn change_in(&mut self, bytes: &mut [u8], range: Range<usize>) {
        let range = range.start..range.end.min(bytes.len());
        if range.is_empty() {
            return;
        }
        let length = bytes.len() as u64;
        let at = range.start + self.below(range.len());
        match self.below(4) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.number() as u8,
            _ => {
                let width = [1, 2, 4, 8, 8][self.below(5)];
                let at = range.start + (at - range.start) / width * width;
                let Some(field) = bytes.get_mut(at..at + width) else { return };
                let mut word = [0; 8];
                word[..width].copy_from_slice(field);
                let lie = self.lie(u64::from_le_bytes(word), length);
                field.copy_from_slice(&lie.to_le_bytes()[..width]);
            }
        }
    }

    /// A piece that is cut off, taken out, repeated, moved or zeroed.
    pub fn rearrange(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let (from, size) = (self.below(bytes.len()), 1 << self.below(10));
        let piece = from..(from + size).min(bytes.len());
        match self.below(5) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(piece)),
            2 => {
                let copy = bytes[piece.clone()].to_vec();
                bytes.splice(from..from, copy);
            }
            3 => {
                let to = self.below(bytes.len() - piece.len() + 1);
                bytes.copy_within(piece, to);
            }
            _ => bytes[piece].fill(0),
        }
    }

    /// A wrong value for a count, an offset or a size.
    fn lie(&mut self, truth: u64, length: u64) -> u64 {
        let near = self.below(64) as u64;
        match self.below(10) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX - near,
            3 => truth.wrapping_add(near),
            4 => truth.wrapping_sub(near),
            5 => 1 << self.below(64),
            6 => (1 << self.below(64)) - 1,
            7 => length.wrapping_sub(near),
            8 => truth.wrapping_mul(2),
            _ => self.number() % length.max(1),
        }
    }
}
