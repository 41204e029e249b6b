//! The data of loaded modules about stacks: their frames, and the names and types of their roots.
//!
//! The registry passes each module on ([`registered`]). A [`Snapshot`] describes all modules that are loaded at one
//! time, and never changes. A heap keeps the snapshot it last used and compares one version number per flip, so a
//! walk takes no lock.
//!
//! A host with a read-eval-print loop registers thousands of modules one by one. The snapshot's lists of frame tables
//! and of tables of roots are copied for each (56 bytes a module, see `stack_roots::snapshot`); the tables stay where they
//! are ([`RootTable`]). A root is looked for in all of them, because a link-time optimiser merges modules: one stack map
//! then names roots of several.
//!
//! Each walk asks how a root is read. While all roots are plain references, there is nothing to look up. With the first
//! module that has others, all roots are put into layers of hash tables ([`RootTypes`]). From then on a new module adds a layer
//! and merges the layers of its size, like the digits of a counter. So each root is copied about log₂ n times while n modules
//! are registered.

use crate::module::compact_frames;
use crate::module::record::{MODULE_FLAG_LENDS, MODULE_FLAG_METADATA, MODULE_FLAG_STATEPOINTS, ModuleRecord};
use crate::module::root_table::{How, NamedRoot, RootTable};
use rustc_hash::FxHashMap;
use stack_roots::{Convention, FrameTable, FrameTables, RootsIn, compact_map, stack_map};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use tally_heap::shared_map::{SharedMap, shared_map};

/// Everything registered at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) frames: FrameTables,
    pub(crate) roots: RootNames,
    /// Whether frames of all modules say that they lend roots ([`MODULE_FLAG_LENDS`]).
    pub(crate) say_what_they_lend: bool,
}

/// Returns a number that changes with every module that is registered or unregistered.
pub(crate) fn version() -> u64 {
    registry().version.load(Ordering::Acquire)
}

/// Returns the snapshot of the modules that are loaded now.
pub(crate) fn current() -> Arc<Snapshot> {
    registry().current.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Shows the current snapshot to a signal handler, which must not wait: `None` if another thread, or the interrupted
/// code, is changing it.
pub(crate) fn peek<T>(look: impl FnOnce(&Snapshot) -> T) -> Option<T> {
    match REGISTRY.get()?.current.try_lock() {
        Ok(current) => Some(look(&current)),
        Err(TryLockError::Poisoned(error)) => Some(look(&error.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The frame table of a module that is registered under `key`.
pub(crate) fn frames_of(key: u64) -> Option<Arc<FrameTable>> {
    registry().modules.get(&key).map(|module| module.frames.clone())
}

/// The frames and roots of one module.
#[derive(Debug)]
struct LoadedModule {
    frames: Arc<FrameTable>,
    roots: Arc<RootTable>,
    /// How those of the roots are read that are no plain references, by their ids.
    described: Box<[(u64, How)]>,
    says_what_it_lends: bool,
}

struct Registry {
    modules: SharedMap<u64, LoadedModule>,
    current: Mutex<Arc<Snapshot>>,
    version: AtomicU64,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry { modules: shared_map(), current: Mutex::default(), version: AtomicU64::default() }
    }
}

static REGISTRY: OnceLock<Registry> = OnceLock::new();

fn registry() -> &'static Registry {
    REGISTRY.get_or_init(Registry::default)
}

/// Adds the stack maps and root names of a module that was registered.
///
/// # Errors
/// A description of the fault in its stack maps or its roots.
pub(crate) fn registered(key: u64, module: &ModuleRecord) -> Result<(), String> {
    let frames = Arc::new(read_frames(module)?);
    let roots = read_roots(module)?;
    let described = roots.described(module.flags & MODULE_FLAG_METADATA != 0)?.into();
    let says_what_it_lends = module.flags & MODULE_FLAG_LENDS != 0;
    registry().publish(key, Some(LoadedModule { frames, roots: Arc::new(roots), described, says_what_it_lends }));
    Ok(())
}

/// Adds the frames of code that other tools compiled. Their roots are plain references without a name.
pub(crate) fn registered_frames(key: u64, frames: FrameTable) {
    let (roots, described) = (Arc::default(), [].into());
    registry()
        .publish(key, Some(LoadedModule { frames: Arc::new(frames), roots, described, says_what_it_lends: false }));
}

/// Removes a module.
pub(crate) fn unregistered(key: u64) {
    registry().publish(key, None);
}

impl LoadedModule {
    /// Each root with how it is read; `None` is a plain reference.
    fn types(&self) -> Vec<(u64, Option<How>)> {
        let mut described = self.described.iter().peekable();
        let how = |id| (id, described.next_if(|(other, _)| *other == id).map(|(_, how)| how.clone()));
        self.roots.ids().into_iter().map(how).collect()
    }
}

impl Registry {
    /// Makes the snapshot in which module `key` has these roots, or none.
    fn publish(&self, key: u64, module: Option<LoadedModule>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || self.modules.iter().flat_map(|module| module.types()).collect::<Vec<_>>();
        let (frames, tables, types) = match module {
            Some(module) => {
                let frames = current.frames.with(key, module.frames.clone());
                let tables = current.roots.tables.iter().cloned().chain([(key, module.roots.clone())]).collect();
                let is_first_described = !module.described.is_empty() && !current.roots.types.any_described;
                let own = if current.roots.types.any_described { module.types() } else { Vec::new() };
                self.modules.insert(key, module);
                let types = if is_first_described { RootTypes::of(&all()) } else { current.roots.types.with(&own) };
                (frames, tables, types)
            }
            None => {
                let gone = self.modules.remove(&key).map_or(0, |(_, module)| {
                    let count = if current.roots.types.any_described { module.roots.ids().len() } else { 0 };
                    module.roots.close();
                    count
                });
                let tables = current.roots.tables.iter().filter(|(other, _)| *other != key).cloned().collect();
                (current.frames.without(key), tables, current.roots.types.without(gone, all))
            }
        };
        let say_what_they_lend = self.modules.iter().all(|module| module.says_what_it_lends);
        *current = Arc::new(Snapshot { frames, roots: RootNames { tables, types }, say_what_they_lend });
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// The roots of all modules.
#[derive(Debug, Default)]
pub(crate) struct RootNames {
    /// By the keys of their modules; the newest last.
    tables: Vec<(u64, Arc<RootTable>)>,
    types: RootTypes,
}

impl RootNames {
    /// The root of that id.
    pub(crate) fn get(&self, id: u64) -> Option<NamedRoot> {
        self.tables.iter().rev().find_map(|(_, table)| table.get(id))
    }

    /// Prompt plan: whether a frame owns a count for what the root of that id holds, and no shadow does.
    pub(crate) fn is_counted(&self, id: u64) -> bool {
        let has = |table: &RootTable| table.get(id).is_some();
        self.tables.iter().rev().find(|(_, table)| has(table)).is_some_and(|(_, table)| !table.has_shadow(id))
    }

    /// How the root of that id is read, unless it is a plain reference.
    #[inline(always)]
    pub(crate) fn how(&self, id: u64) -> Option<&How> {
        if !self.types.any_described || id == 0 {
            return None;
        }
        self.types.get(id)?.as_ref()
    }
}

/// How roots are read, by their ids, once there are some that are no plain references. Roots of unregistered modules stay
/// until they are half of all: no frame names them, and a later module with the same ids is found first.
#[derive(Debug, Clone, Default)]
struct RootTypes {
    /// The newest last; each at least twice as large as the next.
    layers: Vec<Arc<FxHashMap<u64, Option<How>>>>,
    /// Entries of unregistered modules.
    dead: usize,
    /// Two modules had a root of the same id: it is not known which of the two is in the layers.
    twins: bool,
    /// Whether any root is read by a descriptor. If not, there are no layers.
    any_described: bool,
    /// Entries put into layers so far.
    copied: u64,
}

impl RootTypes {
    /// Those of all roots that there are.
    fn of(roots: &[(u64, Option<How>)]) -> RootTypes {
        if roots.iter().all(|(_, how)| how.is_none()) {
            return RootTypes::default();
        }
        let types = RootTypes { any_described: true, ..RootTypes::default() }.with(roots);
        let unique = types.layers.first().map_or(0, |layer| layer.len());
        RootTypes { twins: unique < roots.len(), ..types }
    }

    fn get(&self, id: u64) -> Option<&Option<How>> {
        self.layers.iter().rev().find_map(|layer| layer.get(&id))
    }

    fn with(&self, roots: &[(u64, Option<How>)]) -> RootTypes {
        let mut next = self.clone();
        if roots.is_empty() {
            return next;
        }
        next.twins |= roots.iter().any(|(id, _)| self.get(*id).is_some());
        let mut merged: FxHashMap<u64, Option<How>> = roots.iter().cloned().collect();
        next.copied += merged.len() as u64;
        while let Some(older) = next.layers.pop_if(|older| older.len() < 2 * merged.len()) {
            next.copied += older.len() as u64;
            for (id, how) in older.iter() {
                merged.entry(*id).or_insert_with(|| how.clone());
            }
        }
        next.layers.push(Arc::new(merged));
        next
    }

    /// Without `gone` entries; `all` returns those that stay.
    fn without(&self, gone: usize, all: impl FnOnce() -> Vec<(u64, Option<How>)>) -> RootTypes {
        let entries: usize = self.layers.iter().map(|layer| layer.len()).sum();
        let dead = self.dead + gone;
        if !self.twins && 2 * dead <= entries {
            return RootTypes { dead, ..self.clone() };
        }
        let rebuilt = RootTypes::of(&all());
        RootTypes { copied: self.copied + rebuilt.copied, ..rebuilt }
    }
}

fn read_frames(module: &ModuleRecord) -> Result<FrameTable, String> {
    if module.stack_maps.is_null() {
        let empty = stack_map::read(&[]).map_err(|error| error.to_string())?;
        return FrameTable::build(&empty, |_| None).map_err(|error| error.to_string());
    }
    let (bytes, known) = (stack_map_of(module), module.stack_maps_size != 0);
    if bytes.starts_with(&compact_map::MAGIC) {
        return compact_frames::of(bytes).map_err(|what| format!("its stack maps cannot be read: {what}"));
    }
    let map = if known { stack_map::read(bytes) } else { stack_map::read_first(bytes) };
    let map = map.map_err(|error| format!("its stack maps cannot be read: {error}"))?;
    let roots = match module.flags & MODULE_FLAG_STATEPOINTS {
        0 => RootsIn::Bundles,
        _ => RootsIn::Statepoints,
    };
    FrameTable::build_as(Convention { roots, ..Convention::LOWERED }, &map, |function| Some(function.address))
        .map_err(|error| format!("its stack maps do not follow the convention: {error}"))
}

/// The bytes of a module's stack map, and perhaps some behind them. They stay until the module is unregistered.
pub(super) fn stack_map_of(module: &ModuleRecord) -> &'static [u8] {
    let bytes = match module.stack_maps_size {
        0 => readable_bytes_from(module.stack_maps as u64),
        size => size,
    };
    // SAFETY: the emitter measured the section, or the mapping that holds it reaches this far. It stays until the
    // module is unregistered, and then no frame of the module is on any stack, so no walk looks into its map.
    unsafe { std::slice::from_raw_parts(module.stack_maps, bytes as usize) }
}

/// Bytes from `address` to the end of the mapping that holds it, if that can be read.
pub(crate) fn readable_bytes_from(address: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let end = maps.lines().find_map(|line| {
        let (range, rights) = line.split_once(' ')?;
        let (start, end) = range.split_once('-').filter(|_| rights.starts_with('r'))?;
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        (start..end).contains(&address).then_some(end)
    });
    end.map_or(0, |end| end - address)
}

fn read_roots(module: &ModuleRecord) -> Result<RootTable, String> {
    if module.root_count == 0 {
        return Ok(RootTable::default());
    }
    // SAFETY: the record's table has as many entries as it says, and stays until the module is unregistered; the table is
    // closed then.
    RootTable::of(unsafe { std::slice::from_raw_parts(module.roots, module.root_count as usize) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::root_table::tests::entry;

    /// A module whose roots are called by its number, or by another `name`; each is read by its metadata, which is `how`.
    fn module_as(number: u64, roots: u64, name: &str, how: Option<u64>) -> LoadedModule {
        let id = |index: u64| number << 20 | index;
        let named = |index: u64| entry(id(index), &format!("{name}.{index}"), "f");
        let entries: Vec<_> = (1..=roots).map(named).collect();
        LoadedModule {
            roots: Arc::new(RootTable::of(Box::leak(entries.into_boxed_slice())).unwrap()),
            described: how
                .map_or_else(Vec::new, |how| (1..=roots).map(|index| (id(index), How::Metadata(how))).collect())
                .into(),
            says_what_it_lends: true,
            frames: Arc::new(FrameTable::build(&stack_map::read(&[]).unwrap(), |_| None).unwrap()),
        }
    }

    fn module(number: u64, roots: u64) -> LoadedModule {
        module_as(number, roots, &number.to_string(), Some(number))
    }

    fn how(registry: &Registry, number: u64, index: u64) -> Option<u64> {
        match registry.current.lock().unwrap().roots.how(number << 20 | index) {
            Some(How::Metadata(how)) => Some(*how),
            _ => None,
        }
    }

    fn name(registry: &Registry, number: u64, index: u64) -> Option<String> {
        let current = registry.current.lock().unwrap();
        current.roots.get(number << 20 | index).map(|root| root.name.to_string())
    }

    fn copied(registry: &Registry) -> u64 {
        registry.current.lock().unwrap().roots.types.copied
    }

    #[test]
    fn two_thousand_modules_come_and_go_and_each_name_is_copied_a_few_times() {
        let (modules, roots) = (if cfg!(miri) { 40 } else { 2000 }, 30);
        let registry = Registry::default();
        for number in 0..modules {
            registry.publish(number, Some(module(number, roots)));
            assert_eq!(name(&registry, number, roots), Some(format!("{number}.{roots}")));
            assert_eq!(how(&registry, number, roots), Some(number));
        }
        // Rebuilding for each module would copy 60 million.
        let came = copied(&registry);
        assert!(came <= modules * roots * 12, "{came} entries copied");
        for number in 0..modules {
            registry.publish(number, None);
            let last = modules - 1;
            assert_eq!(name(&registry, last, 1).is_some(), number < last);
            assert_eq!(how(&registry, last, 1).is_some(), number < last);
        }
        assert!(copied(&registry) - came <= modules * roots * 2, "{} entries copied", copied(&registry) - came);
        assert!(registry.current.lock().unwrap().roots.types.layers.is_empty());
    }

    #[test]
    fn module_that_comes_again_is_found_before_what_is_left_of_it() {
        let registry = Registry::default();
        registry.publish(1, Some(module(1, 10)));
        registry.publish(2, Some(module(2, 100)));
        registry.publish(1, None);
        registry.publish(1, Some(module_as(1, 10, "again", Some(77))));
        assert_eq!(name(&registry, 1, 1), Some("again.1".to_owned()));
        assert_eq!(how(&registry, 1, 1), Some(77));
        registry.publish(1, None);
        registry.publish(1, Some(module_as(1, 10, "plain", None)));
        assert_eq!((name(&registry, 1, 1), how(&registry, 1, 1)), (Some("plain.1".to_owned()), None));
    }

    #[test]
    fn of_two_modules_with_the_same_roots_the_one_that_stays_is_found() {
        let registry = Registry::default();
        registry.publish(1, Some(module(7, 2)));
        registry.publish(2, Some(module_as(7, 2, "twin", None)));
        assert_eq!((name(&registry, 7, 1), how(&registry, 7, 1)), (Some("twin.1".to_owned()), None));
        registry.publish(3, Some(module(8, 100)));
        registry.publish(2, None);
        assert_eq!((name(&registry, 7, 1), how(&registry, 7, 1)), (Some("7.1".to_owned()), Some(7)));
    }

    #[test]
    fn plain_roots_have_no_layers_until_a_module_has_others() {
        let registry = Registry::default();
        registry.publish(1, Some(module_as(1, 10, "plain", None)));
        registry.publish(2, Some(module_as(2, 10, "more", None)));
        assert_eq!((copied(&registry), name(&registry, 1, 3)), (0, Some("plain.3".to_owned())));
        registry.publish(3, Some(module(3, 10)));
        assert_eq!((copied(&registry), how(&registry, 1, 3), how(&registry, 3, 3)), (30, None, Some(3)));
        registry.publish(3, None);
        registry.publish(2, None);
        assert_eq!((how(&registry, 3, 3), name(&registry, 2, 3)), (None, None));
        assert_eq!(name(&registry, 1, 3), Some("plain.3".to_owned()));
        assert!(!registry.current.lock().unwrap().roots.types.any_described);
    }

    #[test]
    fn snapshot_that_outlives_a_module_does_not_look_into_it() {
        let registry = Registry::default();
        registry.publish(1, Some(module(1, 10)));
        let old = registry.current.lock().unwrap().clone();
        registry.publish(1, None);
        assert!(old.roots.get(1 << 20 | 1).is_none() && !old.roots.is_counted(1 << 20 | 1));
    }
}
