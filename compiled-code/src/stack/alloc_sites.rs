//! Finds allocation sites: the innermost frames of compiled code at a sampled allocation, and their places in the source.
//!
//! The walk is that of a collection (`roots`), and ends after a few frames. It begins where compiled code, or native code that was called from
//! there, has called the runtime. Native frames are stepped over, but for the one that asked for the object. A host that allocates while no
//! such call runs has no frame.

use crate::module::{loaded, registry};
use crate::stack::roots::{self, StackRoots};
use stack_roots::{Frame, FrameTables, Lookup};
use std::cell::RefCell;
use std::path::Path;
use tally_heap::context;
use tally_heap::services::alloc_site::{CodePlace, PLACES_MAX, SiteFinder};

impl SiteFinder for StackRoots {
    fn find(&mut self, returns: &mut Vec<u64>) -> u64 {
        self.refresh();
        let version = loaded::version();
        // SAFETY: [CONTEXT] this thread's context, in which the shim has written the anchor.
        let context = unsafe { &*context::current() };
        if let Some(registers) = roots::anchor_of_running_call(context) {
            let noting = Noting { all: &self.snapshot.frames, returns: RefCell::new(returns) };
            roots::walk_innermost(registers, &noting, PLACES_MAX);
        }
        returns.truncate(PLACES_MAX);
        version
    }

    fn places(&mut self, returns: &[u64]) -> Vec<CodePlace> {
        let mut places = vec![];
        for &return_address in returns {
            match registry::places_of_call(return_address) {
                Some(known) => places.extend(known),
                None => places.push(self.without_names(return_address)),
            }
        }
        places
    }
}

impl StackRoots {
    /// The place of a call in code that keeps no names: its function if a root names it, or an exported symbol does; else where the
    /// code lies in its file.
    fn without_names(&self, return_address: u64) -> CodePlace {
        let snapshot = &self.snapshot;
        let root = snapshot.frames.lookup(return_address).and_then(|frame| frame.roots.last());
        let of_root = root.and_then(|root| snapshot.roots.get(root.id)).map(|root| root.function.to_string());
        let function = of_root.unwrap_or_else(|| match roots::symbol_of(return_address) {
            (Some(symbol), ..) => symbol,
            (None, Some(file), offset) => {
                let file =
                    Path::new(&file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into());
                format!("{file}+{offset:#x}")
            }
            (None, None, offset) => format!("{offset:#x}"),
        });
        CodePlace { function: function.into(), file: "".into(), line: 0 }
    }
}

/// Looks frames up, and notes the return addresses that were known, and the first one.
struct Noting<'t, 'r> {
    all: &'t FrameTables,
    returns: RefCell<&'r mut Vec<u64>>,
}

impl Lookup for Noting<'_, '_> {
    fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
        let found = self.all.lookup(pc);
        let mut returns = self.returns.borrow_mut();
        if (found.is_some() || returns.is_empty()) && returns.last() != Some(&pc) {
            returns.push(pc);
        }
        found
    }
}
