//! The **seal** of a compact map: a number made of its bytes, by which a reader knows that they are those which the writer has checked.
//!
//! A check reads each call and each root, 110 instructions a call at each start of a program. The seal takes three for eight bytes. It is no
//! protection against someone who writes a map on purpose, and need not be: that one could as well write the code beside it. Readers of a sealed
//! map look at nothing outside its bytes either.
//!
//! What a linker fills in, the places of groups, is left out. Each step maps words to numbers one to one, so a change within one word is always
//! found, and others but for one in 2⁶⁴.

/// Bytes at the end of a sealed map: u32 calls, u32 0, u64 seal.
pub(super) const SEAL_BYTES: usize = 16;

/// Bytes of a group: its place, then its first chunk.
const GROUP_BYTES: usize = 8;

/// The seal of a map by its header, its groups, and what follows up to the place of the seal.
pub(super) fn of(header: &[u8], groups: &[u8], rest: &[u8]) -> u64 {
    let mut lanes = [1, 2, 3, 4];
    words(header, &mut lanes);
    let firsts = groups.chunks_exact(GROUP_BYTES).filter_map(|group| group.last_chunk());
    lanes[0] = firsts.fold(lanes[0], |lane, &first| mix(lane, u64::from(u32::from_le_bytes(first))));
    words(rest, &mut lanes);
    lanes.into_iter().fold(0, mix)
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
