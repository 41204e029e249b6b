//! How tagged words and pairs are read, as one number: equal numbers, equal readings.
//!
//! Compiled code knows how its own types read words, but not the type of the object that it writes to. So each type has the number of
//! its reading in a table (`range::reading_cell`), and the code compares one load with a constant. The number says all: where the
//! bits lie that tell a reference, their value, where the address lies, and whether the bits are of the word itself or of a tag before or
//! behind it. A reading that does not fit, a `trace` function, and plain references have the number 0; writes of words and pairs to
//! such objects take a call.

/// The number of no reading.
pub const NO_NUMBER: u64 = 0;
/// Set in every other number.
const IS_NUMBER: u64 = 1 << 63;
/// Bits of the pattern's own bits.
const PATTERN_BITS: u32 = 35;
/// Set in the numbers of pairs whose tag stands before the word, and behind it.
const TAG_BEFORE: u64 = 1 << 61;
const TAG_BEHIND: u64 = 1 << 62;

/// The number of a reading: a word is a reference iff `word & mask == pattern`, and its address is `word & pointer`.
pub const fn number(mask: u64, pattern: u64, pointer: u64) -> u64 {
    let (Some(tag), Some(address)) = (run(mask), run(pointer)) else { return NO_NUMBER };
    let shifted = pattern >> mask.trailing_zeros();
    if pattern & !mask != 0 || shifted >> PATTERN_BITS != 0 {
        return NO_NUMBER;
    }
    IS_NUMBER | shifted << 26 | (tag as u64) << 13 | address as u64
}

/// The number of a reading of pairs: the word is a reference iff `tag & mask == pattern`, and its address is `word & pointer`.
pub const fn number_of_pairs(mask: u64, pattern: u64, pointer: u64, is_behind: bool) -> u64 {
    match number(mask, pattern, pointer) {
        NO_NUMBER => NO_NUMBER,
        number => number | if is_behind { TAG_BEHIND } else { TAG_BEFORE },
    }
}

/// Begin and length of a word's ones, if they are one run.
const fn run(word: u64) -> Option<u32> {
    if word == 0 {
        return None;
    }
    let (begin, length) = (word.trailing_zeros(), word.count_ones());
    if (word >> begin).trailing_ones() != length { None } else { Some(begin << 7 | length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_that_differ_anywhere_have_different_numbers() {
        let masks = [1, 3, 7, 0xffff << 48, 0xfffe << 48, 0x7ff << 52, 1 << 63, u64::MAX];
        let pointers = [u64::MAX, !1, !3, !7, (1 << 48) - 1, (1 << 47) - 1, (1 << 48) - 8];
        let mut seen = std::collections::HashMap::new();
        for mask in masks {
            for pattern in [0, 1, 2, 5, 0xfffc << 48, 0x7ff << 52, 1 << 63, 1 << 51] {
                for pointer in pointers {
                    let pairs = [false, true].map(|is_behind| number_of_pairs(mask, pattern, pointer, is_behind));
                    for (form, number) in [number(mask, pattern, pointer), pairs[0], pairs[1]].into_iter().enumerate() {
                        if number != NO_NUMBER {
                            assert_eq!(seen.insert(number, (form, mask, pattern, pointer)), None);
                        }
                    }
                }
            }
        }
        assert!(seen.len() > 300, "{}", seen.len());
    }

    #[test]
    fn a_reading_that_does_not_fit_into_a_number_has_none() {
        let address = (1 << 48) - 1;
        for (mask, pattern, pointer) in [
            (0, 0, u64::MAX),             // nothing tells
            (5, 1, !7),                   // two runs
            (1, 2, !3),                   // never a reference
            (1, 0, 0),                    // never an address
            (7, 0, 0xff00 << 32 | 0xff),  // an address in two parts
            (u64::MAX, 1 << 40, address), // a pattern too long
        ] {
            assert_eq!(number(mask, pattern, pointer), NO_NUMBER, "{mask:#x} {pattern:#x} {pointer:#x}");
        }
        assert_ne!(number(0xffff << 48, 0xfffc << 48, address), NO_NUMBER);
        assert_ne!(number(0xffff << 48, 0, address), NO_NUMBER);
    }
}
