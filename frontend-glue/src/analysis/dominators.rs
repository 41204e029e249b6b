//! Dominators and loops of a function: which block lies on every path to another, and what runs more often than it.
//!
//! Dominators are found as in Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm* (2001): in reverse
//! post-order, the immediate dominator of a block is where the paths up from its predecessors meet, until nothing
//! changes. A loop is what reaches an edge back to a block that dominates the edge's origin; a cycle with two entries is
//! none. Only blocks that can be reached have dominators.

use crate::analysis::flow::Flow;

/// The dominator tree and the loops of a function, by the numbers of its blocks in [`Flow`].
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The immediate dominator; the entry's is itself.
    above: Vec<usize>,
    loops: Vec<Loop>,
}

#[derive(Debug)]
struct Loop {
    header: usize,
    /// For each block whether it is in the loop.
    members: Vec<bool>,
}

impl Dominators {
    pub(crate) fn of(flow: &Flow) -> Dominators {
        let mut dominators = Dominators { above: immediate_dominators(flow), loops: Vec::new() };
        for origin in 0..flow.reachable {
            for &header in &flow.successors[origin] {
                if dominators.dominates(header, origin) {
                    dominators.add_loop(flow, header, origin);
                }
            }
        }
        dominators
    }

    /// Whether `first` lies on every path from the entry to `second`.
    pub(crate) fn dominates(&self, first: usize, mut second: usize) -> bool {
        while second > first {
            second = self.above[second];
        }
        second == first
    }

    /// The last block that lies on every path to either.
    pub(crate) fn common(&self, first: usize, second: usize) -> usize {
        meet(&self.above, first, second)
    }

    /// The last block on every path to `block` that is in no loop without `home`, which is on every such path.
    pub(crate) fn outside_loops(&self, mut block: usize, home: usize) -> usize {
        let runs_more_often = |it: &&Loop, block: usize| it.members[block] && !it.members[home];
        while let Some(inner) = self.loops.iter().find(|it| runs_more_often(it, block)) {
            block = self.above[inner.header];
        }
        block
    }

    /// Adds what reaches the edge from `origin` back to `header`.
    fn add_loop(&mut self, flow: &Flow, header: usize, origin: usize) {
        let known = self.loops.iter().position(|it| it.header == header);
        let place = known.unwrap_or_else(|| {
            self.loops.push(Loop { header, members: vec![false; flow.blocks.len()] });
            self.loops.len() - 1
        });
        let members = &mut self.loops[place].members;
        members[header] = true;
        let mut open = vec![origin];
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut members[block], true) {
                open.extend(flow.predecessors[block].iter().copied().filter(|&before| before < flow.reachable));
            }
        }
    }
}

fn immediate_dominators(flow: &Flow) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let mut above = vec![UNKNOWN; flow.blocks.len()];
    above[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..flow.reachable {
            let known = flow.predecessors[block].iter().copied().filter(|&before| above[before] != UNKNOWN);
            let found = known.reduce(|first, second| meet(&above, first, second)).expect("one comes before it");
            changed |= std::mem::replace(&mut above[block], found) != found;
        }
    }
    above
}

fn meet(above: &[usize], mut first: usize, mut second: usize) -> usize {
    while first != second {
        if first > second {
            first = above[first];
        } else {
            second = above[second];
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::Dominators;
    use crate::analysis::flow::Flow;
    use crate::llvm::Module;

    /// entry -> outer -> inner -> inner | latch -> outer | exit
    const LOOPS: &str = "define void @f(i1 %c) {\nentry:\n  br label %outer\nouter:\n  br label %inner\n\
        inner:\n  br i1 %c, label %inner, label %latch\nlatch:\n  br i1 %c, label %outer, label %exit\n\
        exit:\n  ret void\n}\n";

    #[test]
    fn loops_within_loops_are_left_one_by_one() {
        let context = inkwell::context::Context::create();
        let buffer = inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(LOOPS.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        let function = Module::of(&module).function("f").unwrap();
        let flow = Flow::of(function);
        let [entry, outer, inner, latch, exit] = [0, 1, 2, 3, 4];
        assert_eq!(flow.blocks.len(), 5);
        let dominators = Dominators::of(&flow);
        assert!(dominators.dominates(outer, exit) && !dominators.dominates(exit, latch));
        assert_eq!(dominators.common(inner, exit), inner);
        assert_eq!(dominators.outside_loops(inner, entry), entry);
        assert_eq!(dominators.outside_loops(inner, outer), outer);
        assert_eq!(dominators.outside_loops(latch, inner), latch);
        assert_eq!(dominators.outside_loops(exit, inner), exit);
    }
}
