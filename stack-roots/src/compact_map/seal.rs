//! The **seal** of a compact map: a number made of its bytes, by which a reader knows that they are those which the writer has checked.
//!
//! A check reads each call and each root, 110 instructions a call at each start of a program. The seal takes three for eight bytes. It is no
//! protection against someone who writes a map on purpose, and need not be: that one could as well write the code beside it. Readers of a sealed
//! map look at nothing outside its bytes either.
//!
//! What a linker fills in, the places of groups, is left out. Each step maps words to numbers one to one, so a change within one word is always
//! found, and others but for one in 2⁶⁴.

use super::{GROUP_BYTES, HEADER_BYTES};

/// Bytes at the end of a sealed map: u32 calls, u32 0, u64 seal.
pub(super) const SEAL_BYTES: usize = 16;

/// The seal of a map of that many groups; `None` for bytes that are too few. The last eight are the place of the seal.
pub(super) fn of(map: &[u8], groups: usize) -> Option<u64> {
    let sealed = map.get(..map.len().checked_sub(8)?)?;
    let (header, rest) = sealed.split_at_checked(HEADER_BYTES)?;
    let (groups, rest) = rest.split_at_checked(groups.checked_mul(GROUP_BYTES)?)?;
    let mut lanes = [1, 2, 3, 4];
    words(header, &mut lanes);
    // A group's first chunk, without its place.
    let firsts = groups.chunks_exact(GROUP_BYTES).filter_map(|group| group.last_chunk());
    lanes[0] = firsts.fold(lanes[0], |lane, &first| mix(lane, u64::from(u32::from_le_bytes(first))));
    words(rest, &mut lanes);
    Some(lanes.into_iter().fold(0, mix))
}

/// Takes up words, four at a time beside each other: a multiplication waits for the one before it.
fn words(bytes: &[u8], lanes: &mut [u64; 4]) {
    let (fours, rest) = bytes.as_chunks::<32>();
    for four in fours {
        for (lane, word) in lanes.iter_mut().zip(four.as_chunks().0) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    for &word in rest.as_chunks().0 {
        lanes[0] = mix(lanes[0], u64::from_le_bytes(word));
    }
}

#[inline(always)]
fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
