//! Edges into phis that are temporaries: as many credits go along one as the phis behind it take.

use super::Checker;
use crate::analysis::flow::Flow;
use crate::llvm::{HandleSet, Value};
use crate::lower::count::operation::Operation;

impl Checker<'_> {
    /// One credit goes along an edge for each temporary that begins with a value from there; null has none. They are
    /// passed at the end of the block that is left, or at the start of the one that is entered, if that has no other
    /// predecessor.
    pub(super) fn edge_into_phis(&mut self, flow: &Flow, from: usize, to: usize, phis: &HandleSet<Value>) {
        let origin = flow.blocks[from];
        let brings = |phi: &&Value| phi.incoming().iter().any(|(value, block)| *block == origin && !value.is_null());
        let wanted = phis.iter().filter(brings).count();
        // (in front of a block's joins, behind them)
        let passes = |block: usize| {
            let all: Vec<Operation> =
                flow.blocks[block].calls().filter_map(|call| self.operations.of_call(call)).collect();
            let joins = all.iter().position(|&operation| operation == Operation::Join).unwrap_or(0);
            let count = |part: &[Operation]| part.iter().filter(|&&operation| operation == Operation::Pass).count();
            (count(&all[..joins]), count(&all[joins..]))
        };
        let enters_here = flow.predecessors[to].len() == 1 && flow.successors[from].len() != 1;
        let at_start = if enters_here { passes(to).0 } else { 0 };
        let at_end = if flow.successors[from].len() == 1 { passes(from).1 } else { 0 };
        let passed = at_end + at_start;
        if wanted != passed {
            let end = origin.terminator().expect("a block ends in a terminator");
            self.blame(end, &format!("{passed} credits go along an edge into phis that take {wanted}"));
        }
    }
}
