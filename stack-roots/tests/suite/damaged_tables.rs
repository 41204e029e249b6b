//! Damaged tables of code that other tools compiled: an error, or a table that fits the bytes.
//!
//! `[MAP]` As in `damaged_sections`; `TALLY_DAMAGE_SECONDS` says how long.

use tally_kit::checks::foreign_tables::{READERS, check};
use tally_kit::damage::budget::{each_input, within};
use tally_kit::damage::mutation::Mutation;
use tally_kit::stack_map_section::Section;

/// How many times its bytes a table may cost while it is read: a call without roots of Erlang's is four bytes, and becomes a
/// list, an entry in a hash table that is half empty, and a function.
const FACTOR: usize = 128;

fn u16s(bytes: &mut Vec<u8>, words: &[u16]) {
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
}

fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

fn statepoints() -> Vec<u8> {
    let header = [(4, 0, 0), (4, 0, 0)];
    let record = |deopt: i32, rest: &[(u8, u16, i32)]| [&header[..], &[(4, 0, deopt)], rest].concat();
    let section = Section::new().function(0x1000, 24).record(7, 5, &record(0, &[(3, 7, 8), (3, 7, 16)]));
    let section = section.record(7, 9, &record(1, &[(1, 3, 0), (3, 6, -8), (3, 6, -8), (2, 7, 32)]));
    section.function(0x2000, u64::MAX).record(0xABCD_EF0F, 7, &record(2, &[(4, 0, 1), (2, 7, 0)])).bytes()
}

fn ocaml() -> Vec<u8> {
    let mut bytes = vec![];
    u16s(&mut bytes, &[20]);
    align(&mut bytes);
    for call in 0..20u16 {
        bytes.extend((0x40_1000 + u64::from(call) * 16).to_le_bytes());
        u16s(&mut bytes, &[64, 3, 8, 8 * (call % 8), 0xffe0]);
        align(&mut bytes);
    }
    bytes
}

fn erlang() -> Vec<u8> {
    let mut bytes = vec![];
    for function in 0..10u16 {
        u16s(
            &mut bytes,
            &[2, 0x1000 + function * 16, 0x40, 0x1008 + function * 16, 0x40, 8, 0, 2, function % 8, 0xfffe],
        );
        align(&mut bytes);
    }
    bytes
}

/// A file with the section, and its names.
fn elf() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes.extend(b"\0.note.gc\0.names\0");
    align(&mut bytes);
    let headers = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&headers.to_le_bytes());
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    for (name, offset, length) in [(0u32, 0u64, 0u64), (1, 8, 32), (10, 64, 17)] {
        let start = bytes.len();
        bytes.resize(start + 64, 0);
        bytes[start..start + 4].copy_from_slice(&name.to_le_bytes());
        bytes[start + 24..start + 32].copy_from_slice(&offset.to_le_bytes());
        bytes[start + 32..start + 40].copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

#[test]
fn damaged_tables_of_other_tools_are_read_or_refused() {
    let sound: Vec<Vec<u8>> = [statepoints(), ocaml(), erlang(), elf()]
        .into_iter()
        .zip(0..READERS)
        .map(|(bytes, reader)| [&[reader][..], &bytes].concat())
        .collect();
    for table in &sound {
        assert!(check(table), "reader {}", table[0]);
    }
    let (mut inputs, mut read) = (0, [0u64; READERS as usize]);
    each_input("tables of other tools", 60_000, |input| {
        let mut mutation = Mutation::new(input);
        let reader = input as usize % sound.len();
        let mut bytes = sound[reader][1..].to_vec();
        mutation.damage(&mut bytes);
        bytes.insert(0, reader as u8);
        within(bytes.len(), FACTOR, || read[reader] += u64::from(check(&bytes)));
        inputs += 1;
    });
    // Or the damage is so crude that nothing behind the first check is tried.
    assert!(inputs < 400 || read.iter().all(|&read| read > inputs / 100), "{read:?} of {inputs}");
}
