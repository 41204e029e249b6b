//! The records of unwind tables, each a multiple of eight bytes long, as the in-process linker needs them.
//!
//! `.eh_frame` is a list of records that ends with a length of zero. LLVM makes them multiples of four bytes. JITLink takes the
//! section to pieces, a record each; where an object has a function that another has defined already (weak, linkonce), the record
//! of that function goes. The next keeps its address modulo eight. So up to four bytes are left in between, which are zero: to the
//! unwinder the list ends there. Exceptions did not pass the functions behind it, and walks stopped at them.
//!
//! ```text
//!   before:  24 | 36: of a function that goes | 32 …      ->   24 | 0000 | 32 …
//!   here:    24 | 40                          | 32 …      ->   24 | 32 …
//! ```
//!
//! Records that are longer end in instructions that do nothing (`DW_CFA_nop` is 0).

use std::collections::BTreeMap;

use object::LittleEndian;
use object::elf::{FileHeader64, Rela64, SHT_RELA, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};

use crate::emit::object_file;

const SECTION: &[u8] = b".eh_frame";

/// The object with longer records; none if it may stay as it is, or is not understood, which the linker will say.
pub(super) fn in_eights(bytes: &[u8]) -> Option<Vec<u8>> {
    object_file::parse(bytes).ok()?;
    let endian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let (table, frames) =
        sections.enumerate().find(|(_, section)| sections.section_name(endian, section) == Ok(SECTION))?;
    let records = Records::of(frames.data(endian, bytes).ok()?)?;
    let relocations = sections
        .iter()
        .filter(|section| section.sh_type(endian) == SHT_RELA && section.info_link(endian) == table)
        .map(|section| usize::try_from(section.sh_offset(endian)).ok().zip(section.rela(endian, bytes).ok()?))
        .collect::<Option<Vec<_>>>()?;
    let mut longer = bytes.to_vec();
    for (start, (entries, _)) in relocations {
        for (number, entry) in entries.iter().enumerate() {
            let place = usize::try_from(entry.r_offset.get(endian)).ok()?;
            let at = start + number * size_of::<Rela64<LittleEndian>>();
            put(&mut longer, at, &(records.moved(place)? as u64).to_le_bytes())?;
        }
    }
    longer.resize(longer.len().next_multiple_of(8), 0);
    let headers = usize::try_from(header.e_shoff(endian)).ok()?;
    let frames = headers + table.0 * size_of::<SectionHeader64<LittleEndian>>();
    let offset = frames + std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_offset);
    let size = frames + std::mem::offset_of!(SectionHeader64<LittleEndian>, sh_size);
    let end = longer.len() as u64;
    put(&mut longer, offset, &end.to_le_bytes())?;
    put(&mut longer, size, &(records.longer.len() as u64).to_le_bytes())?;
    longer.extend_from_slice(&records.longer);
    Some(longer)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8; 8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(value);
    Some(())
}

/// The records of a section.
struct Records {
    /// Where each begins, and begins now.
    starts: BTreeMap<usize, usize>,
    longer: Vec<u8>,
}

impl Records {
    /// None if all are long enough.
    fn of(section: &[u8]) -> Option<Records> {
        let word = |at: usize| Some(u32::from_le_bytes(section.get(at..at.checked_add(4)?)?.try_into().ok()?));
        let mut records = Records { starts: BTreeMap::new(), longer: Vec::new() };
        let mut at = 0;
        while at < section.len() {
            let length = word(at)?;
            let record = section.get(at..(at + 4).checked_add(length as usize)?)?;
            let now = records.longer.len();
            records.starts.insert(at, now);
            records.longer.extend_from_slice(record);
            if length == 0 {
                break;
            }
            records.longer.resize(records.longer.len().next_multiple_of(8), 0);
            let longer = u32::try_from(records.longer.len() - now - 4).ok()?;
            records.longer[now..now + 4].copy_from_slice(&longer.to_le_bytes());
            // What a function's record has in common with others stands so many bytes before this word.
            let back = word(at + 4)?;
            if back != 0 {
                let common = records.starts.get(&(at + 4).checked_sub(back as usize)?)?;
                let back = u32::try_from(now + 4 - common).ok()?;
                records.longer[now + 4..now + 8].copy_from_slice(&back.to_le_bytes());
            }
            at += record.len();
        }
        (records.longer.len() != section.len()).then_some(records)
    }

    /// Where a byte of a record is now.
    fn moved(&self, place: usize) -> Option<usize> {
        let (start, now) = self.starts.range(..=place).next_back()?;
        Some(now + (place - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;
    use object::{Object, ObjectSection};

    fn compiled(text: &str) -> Vec<u8> {
        emit::object_of_text(text, Level::O1)
    }

    const FUNCTIONS: &str = "\
        define i64 @short(i64 %n) uwtable {\n  ret i64 %n\n}\n\
        define i64 @saves(i64 %n) uwtable {\n  call void asm sideeffect \"\", \"~{rbx}\"()\n  ret i64 %n\n}\n\
        define i64 @last(i64 %n) uwtable {\n  call void asm sideeffect \"\", \"~{rbx},~{r12}\"()\n  ret i64 %n\n}\n";

    /// Lengths, and the word that leads to the common record, and what the function's address is relocated by.
    fn records_of(object: &[u8]) -> Vec<(usize, usize, Option<u64>)> {
        let file = object_file::parse(object).unwrap();
        let section = file.section_by_name(".eh_frame").unwrap();
        let (data, mut at, mut found) = (section.data().unwrap(), 0, Vec::new());
        while at < data.len() {
            let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
            let common = if word(at + 4) == 0 { at } else { at + 4 - word(at + 4) };
            let begins = section.relocations().find(|(place, _)| *place == at as u64 + 8);
            found.push((word(at) + 4, common, begins.map(|(_, it)| it.addend() as u64)));
            at += word(at) + 4;
        }
        found
    }

    #[test]
    fn records_become_multiples_of_eight_and_mean_the_same() {
        let object = compiled(FUNCTIONS);
        let before = records_of(&object);
        assert!(before.iter().any(|(length, ..)| length % 8 != 0), "{before:?}");
        let after = records_of(&in_eights(&object).unwrap());
        assert!(after.iter().all(|(length, common, _)| length % 8 == 0 && *common == 0), "{after:?}");
        let functions = |records: &[(usize, usize, Option<u64>)]| records.iter().map(|it| it.2).collect::<Vec<_>>();
        assert_eq!(functions(&after), functions(&before));
    }

    #[test]
    fn an_object_whose_records_are_long_enough_stays_as_it_is() {
        let object = in_eights(&compiled(FUNCTIONS)).unwrap();
        assert_eq!(in_eights(&object), None);
        assert_eq!(in_eights(b"no object"), None);
    }

    #[test]
    fn records_that_lead_nowhere_are_left_to_the_linker() {
        let object = compiled(FUNCTIONS);
        let file = object_file::parse(&object).unwrap();
        let (start, size) = file.section_by_name(".eh_frame").unwrap().file_range().unwrap();
        for place in start..start + size {
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = object.clone();
                damaged[place as usize] = byte;
                let _ = in_eights(&damaged);
            }
        }
    }
}
