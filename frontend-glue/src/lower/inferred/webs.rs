//! Phis and their operands share a slot: a loop's reference is stored once where it is made, not again where the next
//! turn begins.
//!
//! A web is a set of bases that phis connect and of which no two are wanted at the same time: none is defined while
//! another is wanted (Briggs, Cooper and Torczon, *Improvements to Graph Coloring Register Allocation*, 1994, coalescing).
//! Then what the slot holds is at each place the one that is wanted. Where a call returns twice, none share a slot.

use super::bases::Bases;
use super::needs::Needs;
use crate::analysis::flow::Flow;
use crate::llvm::{HandleMap, Opcode};
use crate::lower::bit_set::BitSet;

/// The webs of one function. A base that no safepoint needs may be in one for a phi's sake.
#[derive(Debug)]
pub(super) struct Webs {
    /// The members of each, by their numbers in [`Bases`].
    pub(super) members: Vec<Vec<usize>>,
    /// The web of each base that is wanted anywhere.
    pub(super) of: Vec<Option<usize>>,
}

impl Webs {
    pub(super) fn of(flow: &Flow, bases: &Bases, needs: &Needs) -> Webs {
        let mut joining = Joining::of(flow, bases, needs);
        if let Some(kept) = &needs.kept {
            joining.wanted.union(kept);
            return joining.webs();
        }
        let phis = bases.all.iter().enumerate().filter(|(_, base)| base.is(Opcode::LLVMPHI));
        for (phi, base) in phis {
            for (value, _) in base.incoming() {
                if let Some(operand) = bases.number_of(value)
                    && value.type_of() == base.type_of()
                {
                    joining.join(phi, operand);
                }
            }
        }
        joining.webs()
    }
}

struct Joining {
    wanted: BitSet,
    /// The web of each base, which is the number of one of its members.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
    /// For each web of bases that phis connect: those that are wanted where a member is defined, or defined where one is
    /// wanted.
    apart: HandleMap<usize, BitSet>,
}

impl Joining {
    fn of(flow: &Flow, bases: &Bases, needs: &Needs) -> Joining {
        let count = bases.all.len();
        let mut joining = Joining {
            wanted: BitSet::empty(count),
            of: (0..count).collect(),
            members: (0..count).map(|number| vec![number]).collect(),
            apart: connected(bases).into_iter().map(|number| (number, BitSet::empty(count))).collect(),
        };
        let mut begin = vec![Vec::new(); flow.reachable];
        for (number, base) in bases.all.iter().enumerate() {
            let block = if base.is_argument() { 0 } else { flow.number(base.block()) };
            if base.is_argument() || base.is(Opcode::LLVMPHI) {
                begin[block].push(number);
            }
        }
        for (block, begin) in begin.iter().enumerate() {
            joining.note_block(needs, block, begin);
        }
        joining
    }

    /// `begin` are the bases that the block begins with: its phis, and in the first one the arguments.
    fn note_block(&mut self, needs: &Needs, block: usize, begin: &[usize]) {
        let (Some(at_begin), Some(at_end)) = (needs.at_begin.get(block), needs.at_end.get(block)) else { return };
        self.wanted.union(at_begin);
        let mut wanted = at_end.clone();
        self.wanted.union(&wanted);
        for step in needs.steps[block].iter().rev() {
            if let Some(number) = step.defines {
                self.note_definition(number, &wanted);
            }
            needs.before(step, &mut wanted);
            self.wanted.union(&wanted);
        }
        for &number in begin {
            self.note_definition(number, at_begin);
        }
    }

    /// Notes that a base is defined where these are wanted, itself perhaps among them.
    fn note_definition(&mut self, number: usize, wanted: &BitSet) {
        if !wanted.contains(number) {
            return;
        }
        if let Some(apart) = self.apart.get_mut(&number) {
            apart.union(wanted);
            apart.remove(number);
        }
        for other in wanted.bits().filter(|&other| other != number) {
            if let Some(apart) = self.apart.get_mut(&other) {
                apart.insert(number);
            }
        }
    }

    fn join(&mut self, first: usize, second: usize) {
        let (first, second) = (self.of[first], self.of[second]);
        if first == second || !self.wanted.contains(first) || !self.wanted.contains(second) {
            return;
        }
        if self.members[second].iter().any(|&member| self.apart[&first].contains(member)) {
            return;
        }
        let moved = std::mem::take(&mut self.members[second]);
        moved.iter().for_each(|&member| self.of[member] = first);
        self.members[first].extend(moved);
        let others = self.apart.remove(&second).expect("phis connect it");
        self.apart.get_mut(&first).expect("phis connect it").union(&others);
    }

    fn webs(self) -> Webs {
        let mut webs = Webs { members: Vec::new(), of: vec![None; self.of.len()] };
        for mut members in self.members {
            members.retain(|&member| self.wanted.contains(member));
            if members.is_empty() {
                continue;
            }
            members.iter().for_each(|&member| webs.of[member] = Some(webs.members.len()));
            webs.members.push(members);
        }
        webs
    }
}

/// The phis among the bases, and those of their operands that are.
fn connected(bases: &Bases) -> Vec<usize> {
    let mut all = Vec::new();
    for (number, phi) in bases.all.iter().enumerate().filter(|(_, base)| base.is(Opcode::LLVMPHI)) {
        all.push(number);
        all.extend(phi.incoming().into_iter().filter_map(|(value, _)| bases.number_of(value)));
    }
    all
}
