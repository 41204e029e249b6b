//! The operations on edges where two paths meet in different states; and the last walk, which records the decisions.

use super::state::{Holds, State};
use super::walk::Walk;
use crate::llvm::Opcode;
use crate::lower::bit_set::BitSet;
use crate::lower::count::decisions::{Decisions, EdgeEdits, What};
use crate::lower::count::operation::Operation;

impl Walk<'_> {
    /// The last walk: the states are known, and all decisions are recorded.
    pub(super) fn write_down(mut self, starts: &[Option<State>]) -> Decisions {
        self.output = Some(Decisions::default());
        let mut ends: Vec<Option<State>> = Vec::new();
        for (number, start) in starts.iter().enumerate() {
            ends.push(start.clone().map(|start| self.through(number, start)));
        }
        let mut output = self.output.take().expect("written into above");
        for (from, end) in ends.iter().enumerate() {
            for &to in &self.it.flow.successors[from] {
                if let (Some(end), Some(start)) = (end, &starts[to]) {
                    let mut start = start.clone();
                    self.decide_mixed(to, &mut start);
                    let what = self.at_edge(from, to, end, &start);
                    if !what.is_empty() {
                        output.edges.push(EdgeEdits { from, to, what });
                    }
                }
            }
        }
        output
    }

    fn at_edge(&self, from: usize, to: usize, end: &State, start: &State) -> Vec<What> {
        let mut what = Vec::new();
        for slot in 0..end.slots.len() {
            match (end.slots[slot], start.slots[slot]) {
                (Holds::Borrows, Holds::Owns) => what.push(What::OfRoot(Operation::Own, slot)),
                (Holds::Owns, Holds::Borrows) => what.push(What::OfRoot(Operation::Drop, slot)),
                _ => {}
            }
        }
        let (origin, block) = (self.it.flow.blocks[from], self.it.flow.blocks[to]);
        let mut left = end.temporaries.clone();
        let mut into_phis = BitSet::empty(self.temporaries.len());
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if !self.owned_phis.contains(&phi) {
                continue;
            }
            let incoming = phi.incoming().into_iter().find(|(_, block)| *block == origin);
            let value = self.canonical(incoming.expect("a phi knows its edges").0);
            if value.is_null() {
                continue;
            }
            match self.numbers.get(&value).filter(|&&number| left.contains(number)) {
                Some(&number) => {
                    left.remove(number);
                    into_phis.insert(number);
                    what.push(What::Of(Operation::Spend, value));
                }
                None => what.push(What::Of(Operation::Increment, value)),
            }
            what.push(What::Of(Operation::Pass, value));
        }
        let consumed_by_phis = self.incoming_of_owned_phis(to);
        for number in left.bits() {
            if !start.temporaries.contains(number) || consumed_by_phis.contains(number) {
                what.push(What::Of(Operation::Release, self.temporaries[number]));
            }
        }
        what
    }

    fn incoming_of_owned_phis(&self, block: usize) -> BitSet {
        let mut all = BitSet::empty(self.temporaries.len());
        for phi in self.it.flow.blocks[block].instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if self.owned_phis.contains(&phi) {
                for (value, _) in phi.incoming() {
                    if let Some(&number) = self.numbers.get(&self.canonical(value)) {
                        all.insert(number);
                    }
                }
            }
        }
        all
    }
}
