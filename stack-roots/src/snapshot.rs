//! The tables of all modules that are loaded at one moment.
//!
//! Registration keeps one current snapshot and replaces it: `with` a new module, `without` one that is unregistered.
//! The walker holds a reference to a snapshot and looks frames up in it without locks. `[SNAPSHOT]` A snapshot never
//! changes; a module's table lives as long as any snapshot that names it.
//!
//! Modules are ordered by their first return address. Their ranges may overlap: a linker sorts `.text.startup` and
//! `.text.hot` away from the rest, and so interleaves two modules. Each entry therefore knows the highest address of
//! all entries up to it, and a search that goes backwards stops as soon as nothing before can reach the address.
//! Copying the list for each new module costs 40 bytes a module; merging all tables into one would copy every call of
//! a program each time a read-eval-print loop compiles a line.

use crate::frame_table::{Frame, FrameTable, Lookup};
use std::sync::Arc;

/// An immutable set of tables, each under the key of its module.
#[derive(Clone, Debug, Default)]
pub struct FrameTables {
    loaded: Box<[Loaded]>,
}

#[derive(Clone, Debug)]
struct Loaded {
    key: u64,
    first: u64,
    last: u64,
    /// The highest `last` of this entry and all before it.
    highest_so_far: u64,
    table: Arc<FrameTable>,
}

impl FrameTables {
    /// No tables.
    pub fn new() -> Self {
        FrameTables::default()
    }

    /// A snapshot that also has `table`, in place of one that had the same key.
    pub fn with(&self, key: u64, table: Arc<FrameTable>) -> FrameTables {
        let (first, last) = table.range().unwrap_or((u64::MAX, 0));
        let added = Loaded { key, first, last, highest_so_far: 0, table };
        FrameTables::ordered(self.others(key).chain([added]).collect())
    }

    /// A snapshot without the table of that key.
    pub fn without(&self, key: u64) -> FrameTables {
        FrameTables::ordered(self.others(key).collect())
    }

    /// The tables with their keys, by first return address.
    pub fn tables(&self) -> impl Iterator<Item = (u64, &Arc<FrameTable>)> {
        self.loaded.iter().map(|loaded| (loaded.key, &loaded.table))
    }

    /// The number of tables.
    pub fn len(&self) -> usize {
        self.loaded.len()
    }

    /// Whether the snapshot has no tables.
    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    fn others(&self, key: u64) -> impl Iterator<Item = Loaded> {
        self.loaded.iter().filter(move |loaded| loaded.key != key).cloned()
    }

    fn ordered(mut loaded: Vec<Loaded>) -> FrameTables {
        loaded.sort_unstable_by_key(|loaded| loaded.first);
        let mut highest = 0;
        for entry in &mut loaded {
            highest = highest.max(entry.last);
            entry.highest_so_far = highest;
        }
        FrameTables { loaded: loaded.into_boxed_slice() }
    }
}

impl Lookup for FrameTables {
    #[inline]
    fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
        let begun = self.loaded.partition_point(|loaded| loaded.first <= pc);
        self.loaded[..begun]
            .iter()
            .rev()
            .take_while(|loaded| pc <= loaded.highest_so_far)
            .filter(|loaded| pc <= loaded.last)
            .find_map(|loaded| loaded.table.lookup(pc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_map;
    use tally_kit::stack_map_section::Section;

    fn table(calls: &[u64]) -> Arc<FrameTable> {
        let mut section = Section::new();
        for &pc in calls {
            section = section.function(pc - 5, 8).call(5, &[(pc, (2, 7, 0))]);
        }
        let bytes = section.bytes();
        Arc::new(FrameTable::build(&stack_map::read(&bytes).unwrap(), |f| Some(f.address)).unwrap())
    }

    fn id(tables: &FrameTables, pc: u64) -> Option<u64> {
        tables.lookup(pc)?.roots.iter().next().map(|root| root.id)
    }

    #[test]
    fn modules_with_interleaved_ranges_are_all_found() {
        // One module reaches over both others; a fourth has no calls at all.
        let tables = FrameTables::new()
            .with(1, table(&[300, 310]))
            .with(2, table(&[100, 900]))
            .with(3, table(&[200, 320, 400]))
            .with(4, table(&[]));
        for pc in 0..1000 {
            let known = [100, 200, 300, 310, 320, 400, 900].contains(&pc);
            assert_eq!(id(&tables, pc), known.then_some(pc), "pc {pc}");
        }
        assert_eq!(id(&tables, u64::MAX), None);
        let keys: Vec<u64> = tables.tables().map(|(key, _)| key).collect();
        assert_eq!(keys, [2, 3, 1, 4]);
    }

    #[test]
    fn module_that_goes_stays_in_older_snapshots_only() {
        let before = FrameTables::new().with(1, table(&[100])).with(2, table(&[200]));
        let after = before.without(1);
        assert_eq!((id(&before, 100), id(&after, 100), id(&after, 200)), (Some(100), None, Some(200)));
        assert_eq!(after.len(), 1);
        assert!(after.without(2).is_empty());
    }

    #[test]
    fn reused_key_replaces_the_table() {
        let tables = FrameTables::new().with(1, table(&[100])).with(1, table(&[150]));
        assert_eq!((tables.len(), id(&tables, 100), id(&tables, 150)), (1, None, Some(150)));
    }
}
