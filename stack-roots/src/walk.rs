//! The frame-pointer walk: every root of a run of managed frames, from one frame's registers downwards.
//!
//! An epoch starts it at the registers that a runtime shim left in the context; `thread_stack` resumes it below native
//! frames. It is a pure function over memory it is given, so a test is sixteen words of stack and a crash replays.
//!
//! ```text
//! higher │ caller's frame …                 next.sp = fp + 16   (x86-64; `machine` has the others)
//!        │ return address          fp + 8   next.pc = [fp + 8]     (looked up: whose frame is next?)
//!        │ caller's frame pointer  fp       next.fp = [fp]
//!        │ locals, root slots …
//! lower  │ …                       sp       as it is when the call has returned
//! ```
//!
//! `[ADVANCE]` Each step raises sp or the walk stops: the saved pair must be 8-aligned and not below sp, and the
//! caller's sp not below its end. So it ends on any memory, however damaged, and reports a word that it cannot read or a frame that it does not
//! know.
//!
//! A walk may pause after so many frames and go on later: below them the stack does not change until the program
//! returns there. The caller that paused the walk must prevent that return (a *diverted* return, `anchor`).
//!
//! Frame pointers (3–6 ns a frame, code compiled with "frame-pointer"="all") and, on x86-64, not stack sizes (twice that):
//! frames of dynamic size and pushed arguments have no constant size. rbx is known in the frame the registers are from and
//! in no other; over-aligned dynamic frames that need it further down are left to the unwinder.

use crate::anchor::{Diversion, Entries};
use crate::frame_table::{Frame, Lookup, Roots};
use crate::machine::Machine;
use crate::root_records::{BaseRegister, Location, RootSlot};
use crate::stack_fault::StackFault;

/// Visits the roots of every managed frame from `registers` to the first return address that is not in `frames`.
///
/// `read_word` returns `None` for an address that must not be read. A frame's roots are visited in the order of its
/// record. `entry_return` is the return address of the call by which managed code was entered.
pub fn walk<F: Lookup + ?Sized>(
    registers: Registers,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entry_return: u64,
    visit: impl FnMut(&FrameRoot),
) -> Walk {
    walk_some(registers, read_word, frames, Entries::from(entry_return), usize::MAX, visit)
}

/// The same for at most `limit` frames: a walk that is not over by then pauses, and another may go on where it ended.
pub(crate) fn walk_some<F: Lookup + ?Sized>(
    registers: Registers,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: Entries,
    limit: usize,
    visit: impl FnMut(&FrameRoot),
) -> Walk {
    walk_on(Machine::NATIVE, registers, read_word, frames, entries, limit, visit)
}

/// The same for the stack of a processor.
#[inline(always)]
pub fn walk_on<F: Lookup + ?Sized>(
    machine: Machine,
    mut registers: Registers,
    mut read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: Entries,
    limit: usize,
    mut visit: impl FnMut(&FrameRoot),
) -> Walk {
    let mut walked = 0;
    let mut pair = 0;
    let mut seen: [Option<Seen<'_>>; SEEN] = [const { None }; SEEN];
    let end = loop {
        if registers.pc == entries.bottom {
            break WalkEnd::Bottom { registers };
        }
        if walked >= limit.max(1) {
            break WalkEnd::Paused { registers, pair };
        }
        let seen = &mut seen[registers.pc as usize % SEEN];
        if seen.as_ref().is_none_or(|seen| seen.frame.pc != registers.pc) {
            match frames.lookup(registers.pc) {
                None => break WalkEnd::Unknown { registers },
                Some(frame) => *seen = Some(Seen::of(frame)),
            }
        }
        let Some(seen) = seen else { break WalkEnd::Unknown { registers } };
        let frame = &seen.frame;
        if (frame.needs_rbx && registers.rbx.is_none()) || frame.needs_unwinder {
            break WalkEnd::NeedsUnwinder { registers };
        }
        let visited = match seen.slots() {
            Some(slots) => visit_roots(slots.iter().copied(), &registers, &mut read_word, &mut visit),
            None => visit_frame(frame, &registers, &mut read_word, &mut visit),
        };
        let stepped = visited.and_then(|()| caller_of(machine, frame, &registers, entries.diversion, &mut read_word));
        match stepped {
            Ok(caller) => (pair, registers) = (machine.saved_pair(registers.fp), caller),
            Err(fault) => break WalkEnd::Malformed { registers, fault },
        }
        walked += 1;
    };
    Walk { frames: walked, end }
}

/// Frames that are remembered, each by the low bits of its return address: a recursion returns to few places. A
/// lookup for each frame took as long as the rest of the walk.
const SEEN: usize = 16;

/// A frame that is remembered, and its roots if they had to be unpacked and are few: long lists are read where they lie.
struct Seen<'t> {
    frame: Frame<'t>,
    unpacked: [RootSlot; UNPACKED_MAX],
}

const UNPACKED_MAX: usize = 6;

impl<'t> Seen<'t> {
    #[inline]
    fn of(frame: Frame<'t>) -> Seen<'t> {
        const NONE: RootSlot = RootSlot { id: 0, location: Location::Direct { base: BaseRegister::Rsp, offset: 0 } };
        let mut unpacked = [NONE; UNPACKED_MAX];
        if let Roots::Packed(packed) = frame.roots {
            unpacked.iter_mut().zip(packed.iter()).for_each(|(place, root)| *place = root);
        }
        Seen { frame, unpacked }
    }

    #[inline(always)]
    fn slots(&self) -> Option<&[RootSlot]> {
        match self.frame.roots {
            Roots::Slots(slots) => Some(slots),
            Roots::Packed(packed) => self.unpacked.get(..packed.len()),
        }
    }
}

/// The registers of a frame that is stopped in a call, as they are when the call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The call's return address.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, rbp; x29 on AArch64, s0 on RISC-V.
    pub fp: u64,
    /// rbx, where it is known; x19 on AArch64, s1 on RISC-V.
    pub rbx: Option<u64>,
}

/// One root of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRoot {
    /// The frame's return address.
    pub pc: u64,
    /// The frame's stack pointer; with `pc` it tells one activation from another.
    pub sp: u64,
    /// The root's place in the frame's record, from 0.
    pub ordinal: usize,
    /// The root's id; 0 for a plain pointer without a name.
    pub id: u64,
    /// The address of the root's slot.
    pub slot_address: u64,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Managed frames whose roots were visited and whose caller was found.
    pub frames: usize,
    /// Why it ended.
    pub end: WalkEnd,
}

/// Why a walk ended. The registers are those of the frame it stopped at; unless it is `Malformed`, none of that
/// frame's roots have been visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// The frame that entered managed code: all is visited.
    Bottom {
        /// Of the frame that called into managed code.
        registers: Registers,
    },
    /// A return address of no recorded call: a native frame.
    Unknown {
        /// Of the native frame.
        registers: Registers,
    },
    /// The caller, managed or not, of the last frame within the limit. It was found by that frame's frame pointer:
    /// its own frame pointer lies at `pair`, its return address in the word above.
    Paused {
        /// Of that frame.
        registers: Registers,
        /// The address of the two words, in the frame that it called.
        pair: u64,
    },
    /// A managed frame that addresses roots by rbx, whose value only the unwinder can find, or that keeps no frame
    /// pointer.
    NeedsUnwinder {
        /// Of that frame, rbx missing.
        registers: Registers,
    },
    /// The stack is not as compiled code leaves it.
    Malformed {
        /// Of the frame where it shows.
        registers: Registers,
        /// The fault.
        fault: StackFault,
    },
}

/// Visits the roots of one frame. Indirect slots are read through `read_word`.
pub(crate) fn visit_frame(
    frame: &Frame<'_>,
    registers: &Registers,
    read_word: &mut impl FnMut(u64) -> Option<u64>,
    visit: &mut impl FnMut(&FrameRoot),
) -> Result<(), StackFault> {
    match frame.roots {
        Roots::Slots(slots) => visit_roots(slots.iter().copied(), registers, read_word, visit),
        Roots::Packed(packed) => visit_roots(packed.iter(), registers, read_word, visit),
    }
}

#[inline(always)]
fn visit_roots(
    roots: impl Iterator<Item = RootSlot>,
    registers: &Registers,
    read_word: &mut impl FnMut(u64) -> Option<u64>,
    visit: &mut impl FnMut(&FrameRoot),
) -> Result<(), StackFault> {
    for (ordinal, root) in roots.enumerate() {
        let slot_address = match root.location {
            Location::Direct { base, offset } => address(registers, base, offset),
            Location::Indirect { base, offset } => {
                let address = address(registers, base, offset);
                read_word(address).ok_or(StackFault::Unreadable { address })?
            }
        };
        visit(&FrameRoot { pc: registers.pc, sp: registers.sp, ordinal, id: root.id, slot_address });
    }
    Ok(())
}

/// `base + offset`. The caller must ensure that rbx is known where the frame needs it.
#[inline(always)]
fn address(registers: &Registers, base: BaseRegister, offset: i32) -> u64 {
    let base = match base {
        BaseRegister::Rsp => registers.sp,
        BaseRegister::Rbp => registers.fp,
        BaseRegister::Rbx => registers.rbx.unwrap_or(0),
    };
    base.wrapping_add_signed(i64::from(offset))
}

/// The registers of the caller of a frame that keeps a frame pointer.
#[inline(always)]
fn caller_of(
    machine: Machine,
    frame: &Frame<'_>,
    registers: &Registers,
    diversion: Option<Diversion>,
    read_word: &mut impl FnMut(u64) -> Option<u64>,
) -> Result<Registers, StackFault> {
    let Registers { sp, fp, .. } = *registers;
    let pair = machine.saved_pair(fp);
    let above = pair.checked_add(16).filter(|_| pair >= sp && pair.is_multiple_of(8));
    let next_sp = match machine {
        Machine::X86_64 => above,
        Machine::AArch64 | Machine::RiscV64 => {
            // The size is known: the frame would need the unwinder otherwise.
            let next_sp = frame.stack_size().and_then(|size| sp.checked_add(size));
            next_sp.filter(|&next_sp| above.is_some_and(|above| above <= next_sp))
        }
    };
    let next_sp = next_sp.ok_or(StackFault::FramePointer { fp, sp })?;
    let mut word = |address| read_word(address).ok_or(StackFault::Unreadable { address });
    let caller = Registers { pc: word(pair + 8)?, sp: next_sp, fp: word(pair)?, rbx: None };
    match diversion {
        Some(diversion) if diversion.through == caller.pc => Ok(behind_diverted(caller, &diversion)),
        _ => Ok(caller),
    }
}

/// The caller whose return is diverted, as the walk would have found it.
#[cold]
fn behind_diverted(caller: Registers, diversion: &Diversion) -> Registers {
    let pair = diversion.pairs.iter().find(|pair| pair.record == caller.fp);
    pair.map_or(caller, |pair| Registers { pc: pair.pc, fp: pair.fp, ..caller })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::DivertedPair;
    use crate::frame_table::FrameTable;
    use crate::stack_map;
    use tally_kit::stack_map_section::Section;

    const STACK: u64 = 0x7000;
    const ENTRY: u64 = 0xe00;

    /// Calls returning to 0x1005 (one root at rsp+8), 0x1105 (roots at rbp-8 and behind rsp+0), 0x1205 (a root at
    /// rbx+8), 0x1305 (none).
    fn table() -> FrameTable {
        let bytes = Section::new()
            .function(0x1000, 24)
            .call(5, &[(1, (2, 7, 8))])
            .function(0x1100, 40)
            .call(5, &[(2, (2, 6, -8)), (3, (3, 7, 0))])
            .function(0x1200, u64::MAX)
            .call(5, &[(4, (2, 3, 8))])
            .function(0x1300, 8)
            .call(5, &[])
            .bytes();
        FrameTable::build(&stack_map::read(&bytes).unwrap(), |function| Some(function.address)).unwrap()
    }

    /// Walks a stack whose words begin at 0x7000 and returns (id, slot address) of each root.
    fn walked(registers: Registers, stack: &[u64]) -> (Vec<(u64, u64)>, Walk) {
        let mut roots = Vec::new();
        let read = |address: u64| {
            let offset = address.checked_sub(STACK)?;
            stack.get(usize::try_from(offset / 8).ok()?).copied().filter(|_| offset % 8 == 0)
        };
        let walk = walk(registers, read, &table(), ENTRY, |root| roots.push((root.id, root.slot_address)));
        (roots, walk)
    }

    fn at(pc: u64, sp: u64, fp: u64) -> Registers {
        Registers { pc, sp, fp, rbx: None }
    }

    #[test]
    fn three_frames_to_the_entry() {
        #[rustfmt::skip]
        let stack = [
            0, 0, 0, 0x7048, 0x1105,       // 0x7000 the top frame: fp 0x7018, called from 0x1100
            0x7060, 0, 0, 0, 0x7060, 0x1305, // 0x7028 fp 0x7048; its first word holds a slot's address
            0, 0x7078, ENTRY,              // 0x7058 fp 0x7060
            0, 0,
        ];
        let (roots, walk) = walked(at(0x1005, 0x7000, 0x7018), &stack);
        assert_eq!(roots, [(1, 0x7008), (2, 0x7040), (3, 0x7060)]);
        assert_eq!(walk.frames, 3);
        assert_eq!(walk.end, WalkEnd::Bottom { registers: at(ENTRY, 0x7070, 0x7078) });
    }

    #[test]
    fn walk_that_pauses_goes_on_where_it_was() {
        #[rustfmt::skip]
        let stack = [
            0, 0, 0, 0x7048, 0x1105,
            0x7060, 0, 0, 0, 0x7060, 0x1305,
            0, 0x7078, ENTRY,
        ];
        let read = |address: u64| stack.get((address - STACK) as usize / 8).copied();
        let (mut roots, mut registers, mut pauses) = (Vec::new(), at(0x1005, 0x7000, 0x7018), Vec::new());
        loop {
            let walk =
                walk_some(registers, read, &table(), Entries::from(ENTRY), 0, |root| roots.push(root.slot_address));
            assert_eq!(walk.frames, 1, "one frame at least");
            match walk.end {
                WalkEnd::Paused { registers: next, pair } => {
                    (registers, _) = (next, pauses.push((next.sp, next.pc)));
                    // The return address and the frame pointer of the frame.
                    assert_eq!((read(pair), read(pair + 8)), (Some(next.fp), Some(next.pc)));
                }
                end => break assert_eq!(end, WalkEnd::Bottom { registers: at(ENTRY, 0x7070, 0x7078) }),
            }
        }
        assert_eq!(roots, [0x7008, 0x7040, 0x7060]);
        assert_eq!(pauses, [(0x7028, 0x1105), (0x7058, 0x1305)]);
    }

    #[test]
    fn diverted_returns_lead_to_where_they_led() {
        const THROUGH: u64 = 0xd00;
        #[rustfmt::skip]
        let stack = [
            0, 0, 0, 0xdead, THROUGH,      // the records of what stood here are elsewhere
            0x7060, 0, 0, 0, 0xbeef, THROUGH,
            0, 0x7078, ENTRY,
        ];
        let read = |address: u64| stack.get((address - STACK) as usize / 8).copied();
        let pairs = [
            DivertedPair { record: 0xbeef, pc: 0x1305, fp: 0x7060 },
            DivertedPair { record: 0xdead, pc: 0x1105, fp: 0x7048 },
        ];
        let entries = Entries { diversion: Some(Diversion { through: THROUGH, pairs }), ..Entries::from(ENTRY) };
        let mut roots = Vec::new();
        let walk = walk_some(at(0x1005, 0x7000, 0x7018), read, &table(), entries, usize::MAX, |root| {
            roots.push(root.slot_address)
        });
        assert_eq!(roots, [0x7008, 0x7040, 0x7060]);
        assert_eq!(walk, Walk { frames: 3, end: WalkEnd::Bottom { registers: at(ENTRY, 0x7070, 0x7078) } });
    }

    /// A frame table that counts what it is asked.
    struct Counting(FrameTable, std::cell::Cell<usize>);

    impl Lookup for Counting {
        fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
            self.1.set(self.1.get() + 1);
            self.0.lookup(pc)
        }
    }

    #[test]
    fn return_address_of_a_recursion_is_looked_up_once() {
        let depth = 40;
        let mut stack: Vec<u64> = (1..=depth).flat_map(|frame| [STACK + frame * 16, 0x1305]).collect();
        stack.extend([STACK + depth * 16 + 16, ENTRY]);
        let read = |address: u64| stack.get((address - STACK) as usize / 8).copied();
        let table = Counting(table(), std::cell::Cell::default());
        let walk = walk(at(0x1305, STACK - 8, STACK), read, &table, ENTRY, |_| ());
        assert_eq!(walk.frames, depth as usize + 1);
        assert!(matches!(walk.end, WalkEnd::Bottom { .. }), "{:?}", walk.end);
        assert_eq!(table.1.get(), 1, "the frame is remembered by its return address");
    }

    #[test]
    fn native_caller_ends_it_with_the_registers_there() {
        let stack = [0, 0, 0x1234, 0xbad];
        let (roots, walk) = walked(at(0x1005, 0x7000, 0x7010), &stack);
        assert_eq!((roots.len(), walk.frames), (1, 1));
        assert_eq!(walk.end, WalkEnd::Unknown { registers: at(0xbad, 0x7020, 0x1234) });
    }

    #[test]
    fn rbx_is_known_in_the_top_frame_only() {
        // Two over-aligned frames: the place of the second one's saved rbx is not known.
        let stack = [0, 0x7010, 0, 0x1205, 0, 0];
        let top = Registers { rbx: Some(0x7000), ..at(0x1205, 0x7000, 0x7010) };
        let (roots, walk) = walked(top, &stack);
        assert_eq!(roots, [(4, 0x7008)]);
        assert_eq!(walk, Walk { frames: 1, end: WalkEnd::NeedsUnwinder { registers: at(0x1205, 0x7020, 0) } });
        assert_eq!(walked(at(0x1205, 0x7000, 0x7010), &stack).0, []);
    }

    #[test]
    fn frame_pointer_that_does_not_advance_stops_the_walk() {
        let stack = [0, 0, 0x7000, 0x1305];
        for fp in [0x6ff8, 0x7004, 0, u64::MAX - 7] {
            let (_, walk) = walked(at(0x1305, 0x7000, fp), &stack);
            let fault = StackFault::FramePointer { fp, sp: 0x7000 };
            assert_eq!(walk, Walk { frames: 0, end: WalkEnd::Malformed { registers: at(0x1305, 0x7000, fp), fault } });
        }
        // A chain that points back at itself: its second frame would lie below its first.
        let (_, walk) = walked(at(0x1305, 0x7000, 0x7010), &stack);
        assert_eq!(walk.frames, 1);
        assert!(matches!(walk.end, WalkEnd::Malformed { fault: StackFault::FramePointer { fp: 0x7000, .. }, .. }));
    }

    #[test]
    fn unreadable_words_are_named() {
        let end = |registers, stack: &[u64]| match walked(registers, stack).1.end {
            WalkEnd::Malformed { fault, .. } => fault,
            other => panic!("{other:?}"),
        };
        // The stack ends before the return address, then before the word that holds a slot's address.
        assert_eq!(end(at(0x1305, 0x7000, 0x7010), &[0; 3]), StackFault::Unreadable { address: 0x7018 });
        assert_eq!(end(at(0x1105, 0x8000, 0x8010), &[0; 3]), StackFault::Unreadable { address: 0x8000 });
    }

    /// `[ADVANCE]` Sixteen words of anything: the walk ends, and visits no more than the words can hold frames.
    #[test]
    fn random_stacks_end() {
        let mut state = 0x2545_F491_4F6C_DD1Du64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let pcs = [0x1005, 0x1105, 0x1205, 0x1305, ENTRY, 0xbad];
        let mut deepest = 0;
        for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let stack: Vec<u64> = (0..16)
                .map(|_| match random(3) {
                    0 => pcs[random(6) as usize],
                    1 => STACK + random(20) * 8,
                    _ => STACK + random(160),
                })
                .collect();
            let registers = at(pcs[random(5) as usize], STACK + random(4) * 8, STACK + random(16) * 8);
            let (_, walk) = walked(registers, &stack);
            assert!(walk.frames <= 8);
            deepest = deepest.max(walk.frames);
        }
        assert!(deepest >= 2 || cfg!(miri));
    }
}
