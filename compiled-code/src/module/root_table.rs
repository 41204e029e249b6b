//! The roots of a module, as it lists them among its constants: sorted by id, and searched where they lie.
//!
//! A program has as many roots as it has variables that hold references, and asks for few of them: for a report, or where a stack
//! stopped. So nothing of the table is copied, hashed or sorted when a module is registered. It is only looked through once, for
//! roots that are no plain references and for its order, on which the search relies (the lowering sorts it).
//!
//! A snapshot may outlive the module: [`RootTable::close`] takes the constants away from those who still have one.

use crate::module::name_text::NameText;
use crate::module::record::{METADATA_ROOT, RootInfo, SHADOW_ROOT};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tally_heap::type_registry::{self, TypeInfo};

/// A root as its module described it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedRoot {
    /// Address of the descriptor or the metadata that says how its slot is read, or 0.
    pub(crate) descriptor: u64,
    /// The variable's name.
    pub(crate) name: NameText,
    /// The function it was declared in.
    pub(crate) function: NameText,
}

/// How a root is read that is no plain reference.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// By a type.
    Type(Arc<TypeInfo>),
    /// As one reference, to an object that this metadata describes to the program's callback.
    Metadata(u64),
}

/// The table of a module.
#[derive(Debug, Default)]
pub(crate) struct RootTable {
    entries: RwLock<Entries>,
    /// Roots that have a shadow, once they were asked for.
    shadowed: OnceLock<FxHashSet<u64>>,
}

/// Constants of a module that is registered.
#[derive(Clone, Copy, Debug, Default)]
struct Entries(&'static [RootInfo]);

// SAFETY: constants that are only read.
unsafe impl Send for Entries {}
// SAFETY: constants that are only read.
unsafe impl Sync for Entries {}

impl RootTable {
    /// The table that has these entries until it is closed.
    ///
    /// # Errors
    /// It is not in order.
    pub(crate) fn of(entries: &'static [RootInfo]) -> Result<RootTable, String> {
        if !entries.is_sorted_by_key(|root| root.id) {
            return Err("its roots are not in the order of their ids; lower it again, by this version".into());
        }
        Ok(RootTable { entries: RwLock::new(Entries(entries)), shadowed: OnceLock::new() })
    }

    /// The root of that id. Takes no memory, and does not wait: a signal handler may ask.
    pub(crate) fn get(&self, id: u64) -> Option<NamedRoot> {
        // A table that is being closed has none.
        let entries = self.entries.try_read().ok()?;
        let found = entries.0.binary_search_by_key(&id, |root| root.id).ok()?;
        Some(entries.0[found].named())
    }

    /// Prompt plan: whether what a root holds is counted by another root, its shadow.
    pub(crate) fn has_shadow(&self, id: u64) -> bool {
        self.shadowed.get_or_init(|| self.read(shadowed)).contains(&id)
    }

    /// How those roots are read that are no plain references.
    ///
    /// # Errors
    /// A descriptor is wrong.
    pub(crate) fn described(&self, has_metadata: bool) -> Result<Vec<(u64, How)>, String> {
        let mut types: FxHashMap<u64, Arc<TypeInfo>> = FxHashMap::default();
        let mut how = |root: &RootInfo| {
            let address = root.how as u64;
            if has_metadata && root.id & METADATA_ROOT != 0 {
                return Ok((root.id, How::Metadata(address)));
            }
            if let Some(known) = types.get(&address) {
                return Ok((root.id, How::Type(known.clone())));
            }
            // SAFETY: a non-null `how` is a descriptor of the module, unless the root says otherwise.
            let described = type_registry::describe(unsafe { &*root.how }).map_err(|error| error.to_string())?;
            let described = types.entry(address).or_insert(Arc::new(described));
            Ok((root.id, How::Type(described.clone())))
        };
        let is_described = |root: &&RootInfo| !root.how.is_null() || (has_metadata && root.id & METADATA_ROOT != 0);
        self.read(|entries| entries.iter().filter(is_described).map(&mut how).collect())
    }

    /// The ids of all roots.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.read(|entries| entries.iter().map(|root| root.id).collect())
    }

    /// The module goes, and its constants with it.
    pub(crate) fn close(&self) {
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = Entries::default();
    }

    fn read<T>(&self, look: impl FnOnce(&[RootInfo]) -> T) -> T {
        look(self.entries.read().unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl RootInfo {
    fn named(&self) -> NamedRoot {
        // SAFETY: names are C string constants of the module, or null. Roots are looked up by frames, and no frame of a
        // module that is unregistered is on any stack.
        let name = unsafe { NameText::of(self.name, c"(unnamed)") };
        // SAFETY: as for the name.
        let function = unsafe { NameText::of(self.function, c"(unknown)") };
        NamedRoot { descriptor: self.how as u64, name, function }
    }
}

/// The roots of which a root of the same function is the shadow.
fn shadowed(entries: &[RootInfo]) -> FxHashSet<u64> {
    let all = || entries.iter().map(|root| (root.id, root.named()));
    let of_shadow = |(_, root): (u64, NamedRoot)| Some((root.function.get(), root.name.behind(SHADOW_ROOT)?));
    let shadows: FxHashSet<(Cow<str>, Cow<str>)> = all().filter_map(of_shadow).collect();
    if shadows.is_empty() {
        return FxHashSet::default();
    }
    let is_shadowed = |(_, root): &(u64, NamedRoot)| shadows.contains(&(root.function.get(), root.name.get()));
    all().filter(is_shadowed).map(|(id, _)| id).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::ffi::{CString, c_char};
    use std::ptr;

    fn text(name: &str) -> *const c_char {
        CString::new(name).unwrap().into_raw()
    }

    /// An entry that lives as long as the process.
    pub(crate) fn entry(id: u64, name: &str, function: &str) -> RootInfo {
        RootInfo { id, how: ptr::null(), name: text(name), function: text(function) }
    }

    fn table(entries: Vec<RootInfo>) -> Result<RootTable, String> {
        RootTable::of(Box::leak(entries.into_boxed_slice()))
    }

    #[test]
    fn roots_are_found_by_id_until_the_module_goes() {
        let nameless = RootInfo { name: ptr::null(), function: ptr::null(), ..entry(9, "", "") };
        let table = table(vec![entry(3, "list", "push"), entry(7, "node", "push"), nameless]).unwrap();
        let name = |id| table.get(id).map(|root| format!("{} of {}", root.name, root.function));
        assert_eq!(name(3).as_deref(), Some("list of push"));
        assert_eq!(name(7).as_deref(), Some("node of push"));
        assert_eq!(name(9).as_deref(), Some("(unnamed) of (unknown)"));
        assert_eq!((name(0), name(4), name(10)), (None, None, None));
        assert_eq!(table.ids(), [3, 7, 9]);
        table.close();
        assert_eq!((name(3), table.ids()), (None, vec![]));
    }

    #[test]
    fn shadow_of_a_root_is_one_of_its_function_that_has_its_name() {
        let shadow = format!("{SHADOW_ROOT}list");
        let entries = vec![entry(1, "list", "pop"), entry(2, "list", "push"), entry(3, &shadow, "push")];
        let table = table(entries).unwrap();
        assert_eq!([1, 2, 3].map(|id| table.has_shadow(id)), [false, true, false]);
    }

    #[test]
    fn table_that_is_out_of_order_is_refused() {
        let fault = table(vec![entry(7, "a", "f"), entry(3, "b", "f")]).unwrap_err();
        assert!(fault.contains("not in the order of their ids"), "{fault}");
    }
}
