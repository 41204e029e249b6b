//! The calls of one chunk of a compact map, one after the other.
//!
//! A chunk needs nothing from the one before it: it begins with what its first codes refer to.

use super::faults::{CompactError, uleb};
use super::lists::Lists;

/// The cursor over the codes of a chunk.
pub(super) struct Calls<'a> {
    codes: &'a [u8],
    at: usize,
    chunk: u32,
    last_return: u32,
    function: u32,
    next_list: u32,
    last_list: Option<u32>,
}

/// One call; offsets are from the group's code.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) return_offset: u32,
    pub(super) function: u32,
    /// The word of its list.
    pub(super) list: Option<u32>,
}

/// Kinds of codes.
pub(super) const NO_ROOTS: u32 = 0;
pub(super) const SAME_LIST: u32 = 1;
pub(super) const NEXT_LIST: u32 = 2;
pub(super) const NAMED_LIST: u32 = 3;
/// The code that starts a function.
pub(super) const FUNCTION: u32 = NAMED_LIST;

impl<'a> Calls<'a> {
    pub(super) fn open(codes: &'a [u8], chunk: u32, first_return: u32) -> Result<Calls<'a>, CompactError> {
        let wrong = CompactError::Chunk { chunk };
        let mut at = 0;
        let next_list = uleb(codes, &mut at).ok_or(wrong)?;
        let distance = uleb(codes, &mut at).ok_or(wrong)?;
        let last_return = first_return.wrapping_sub(1);
        let function = first_return.wrapping_sub(distance);
        Ok(Calls { codes, at, chunk, last_return, function, next_list, last_list: None })
    }

    #[inline(always)]
    pub(super) fn next_call(&mut self, lists: &Lists<'_>) -> Result<Option<Call>, CompactError> {
        let wrong = CompactError::Chunk { chunk: self.chunk };
        loop {
            if self.at == self.codes.len() {
                return Ok(None);
            }
            let code = uleb(self.codes, &mut self.at).ok_or(wrong)?;
            if code == FUNCTION {
                let distance = uleb(self.codes, &mut self.at).ok_or(wrong)?;
                self.function = self.last_return.checked_add(distance).ok_or(wrong)?;
                self.last_return = self.function;
                continue;
            }
            self.last_return = match self.last_return {
                // The first return address of a chunk may be 0: a group begins at any label.
                u32::MAX if code >> 2 == 1 => 0,
                last => last.checked_add(code >> 2).ok_or(wrong)?,
            };
            let list = match code & 3 {
                NO_ROOTS => None,
                SAME_LIST => Some(self.last_list.ok_or(wrong)?),
                NEXT_LIST => {
                    let list = self.next_list;
                    self.next_list = lists.length(list).and_then(|length| list.checked_add(length)).ok_or(wrong)?;
                    Some(list)
                }
                _ => Some(uleb(self.codes, &mut self.at).ok_or(wrong)?),
            };
            self.last_list = list.or(self.last_list);
            return Ok(Some(Call { return_offset: self.last_return, function: self.function, list }));
        }
    }

    /// The call that returns there.
    pub(super) fn find(mut self, return_offset: u32, lists: &Lists<'_>) -> Option<Call> {
        loop {
            let call = self.next_call(lists).ok().flatten()?;
            if call.return_offset >= return_offset {
                return (call.return_offset == return_offset).then_some(call);
            }
        }
    }
}
