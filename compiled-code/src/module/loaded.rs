//! The data of loaded modules about stacks: their frames, and the names and types of their roots.
//!
//! The registry passes each module on ([`registered`]). A [`Snapshot`] describes all modules that are loaded at one
//! time, and never changes. A heap keeps the snapshot it last used and compares one version number per flip, so a
//! walk takes no lock.
//!
//! A host with a read-eval-print loop registers thousands of modules one by one. The snapshot's list of frame tables
//! is copied for each (40 bytes a module, see `stack_roots::snapshot`). Names of roots are many more and are not
//! copied each time: they are in layers ([`RootNames`]). A new module adds a layer and merges the layers of its size,
//! like the digits of a counter. So each name is copied about log₂ n times while n modules are registered.
//!
//! Names are not kept by module, because a link-time optimiser merges modules: one stack map then names roots of
//! several.

use crate::module::compact_frames;
use crate::module::name_text::NameText;
use crate::module::record::{
    METADATA_ROOT, MODULE_FLAG_LENDS, MODULE_FLAG_METADATA, MODULE_FLAG_STATEPOINTS, ModuleRecord, RootInfo,
    SHADOW_ROOT,
};
use dashmap::DashMap;
use rustc_hash::FxHashMap;
use stack_roots::{Convention, FrameTable, FrameTables, RootsIn, compact_map, stack_map};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use tally_heap::type_registry::{self, TypeInfo};

/// Everything registered at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) frames: FrameTables,
    pub(crate) roots: RootNames,
    /// Whether frames of all modules say that they lend roots ([`MODULE_FLAG_LENDS`]).
    pub(crate) say_what_they_lend: bool,
}

/// A root as its module described it.
#[derive(Debug, Clone)]
pub(crate) struct NamedRoot {
    /// How its slot is read; `None` = one plain reference.
    pub(crate) how: Option<How>,
    /// Address of the descriptor or the metadata that says so, or 0.
    pub(crate) descriptor: u64,
    /// The variable's name.
    pub(crate) name: NameText,
    /// The function it was declared in.
    pub(crate) function: NameText,
    /// Prompt plan: what it holds is counted by another root, its shadow.
    pub(crate) has_shadow: bool,
}

/// How a root is read that is no plain reference.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// By a type.
    Type(Arc<TypeInfo>),
    /// As one reference, to an object that this metadata describes to the program's callback.
    Metadata(u64),
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
    roots: Box<[(u64, NamedRoot)]>,
    says_what_it_lends: bool,
}

#[derive(Default)]
struct Registry {
    modules: DashMap<u64, LoadedModule>,
    current: Mutex<Arc<Snapshot>>,
    version: AtomicU64,
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
    let roots = read_roots(module)?.into();
    let says_what_it_lends = module.flags & MODULE_FLAG_LENDS != 0;
    registry().publish(key, Some(LoadedModule { frames, roots, says_what_it_lends }));
    Ok(())
}

/// Adds the frames of code that other tools compiled. Their roots are plain references without a name.
pub(crate) fn registered_frames(key: u64, frames: FrameTable) {
    let module = LoadedModule { frames: Arc::new(frames), roots: [].into(), says_what_it_lends: false };
    registry().publish(key, Some(module));
}

/// Removes a module.
pub(crate) fn unregistered(key: u64) {
    registry().publish(key, None);
}

impl Registry {
    /// Makes the snapshot in which module `key` has these roots, or none.
    fn publish(&self, key: u64, module: Option<LoadedModule>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = match module {
            Some(module) => {
                let frames = current.frames.with(key, module.frames.clone());
                let roots = current.roots.with(&module.roots);
                self.modules.insert(key, module);
                Snapshot { frames, roots, say_what_they_lend: false }
            }
            None => {
                let gone = self.modules.remove(&key).map_or(0, |(_, module)| module.roots.len());
                let all = || self.modules.iter().flat_map(|module| module.roots.to_vec());
                let (frames, roots) = (current.frames.without(key), current.roots.without(gone, all));
                Snapshot { frames, roots, say_what_they_lend: false }
            }
        };
        next.say_what_they_lend = self.modules.iter().all(|module| module.says_what_it_lends);
        *current = Arc::new(next);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// Roots by id. Roots of unregistered modules stay until they are half of all: no frame names them, and a later
/// module with the same ids is found first.
#[derive(Debug, Clone, Default)]
pub(crate) struct RootNames {
    /// The newest last; each at least twice as large as the next.
    layers: Vec<Arc<FxHashMap<u64, NamedRoot>>>,
    /// Entries of unregistered modules.
    dead: usize,
    /// Two modules had a root of the same id: it is not known which of the two is in the layers.
    twins: bool,
    /// Whether any root is read by a descriptor.
    any_described: bool,
    /// Entries put into layers so far.
    copied: u64,
}

impl RootNames {
    /// The root of that id.
    pub(crate) fn get(&self, id: u64) -> Option<&NamedRoot> {
        self.layers.iter().rev().find_map(|layer| layer.get(&id))
    }

    /// How the root of that id is read, unless it is a plain reference.
    #[inline(always)]
    pub(crate) fn how(&self, id: u64) -> Option<&How> {
        if !self.any_described || id == 0 {
            return None;
        }
        self.get(id)?.how.as_ref()
    }

    fn with(&self, roots: &[(u64, NamedRoot)]) -> RootNames {
        let mut next = self.clone();
        if roots.is_empty() {
            return next;
        }
        next.twins |= roots.iter().any(|(id, _)| self.get(*id).is_some());
        next.any_described |= roots.iter().any(|(_, root)| root.how.is_some());
        let mut merged: FxHashMap<u64, NamedRoot> = roots.iter().cloned().collect();
        next.copied += merged.len() as u64;
        while let Some(older) = next.layers.pop_if(|older| older.len() < 2 * merged.len()) {
            next.copied += older.len() as u64;
            for (id, root) in older.iter() {
                merged.entry(*id).or_insert_with(|| root.clone());
            }
        }
        next.layers.push(Arc::new(merged));
        next
    }

    /// Without `gone` entries; `all` are those that stay.
    fn without<R: IntoIterator<Item = (u64, NamedRoot)>>(&self, gone: usize, all: impl FnOnce() -> R) -> RootNames {
        let entries: usize = self.layers.iter().map(|layer| layer.len()).sum();
        let dead = self.dead + gone;
        if !self.twins && 2 * dead <= entries {
            return RootNames { dead, ..self.clone() };
        }
        let live: Vec<_> = all().into_iter().collect();
        let rebuilt = RootNames { copied: self.copied, ..RootNames::default() }.with(&live);
        let unique = rebuilt.layers.first().map_or(0, |layer| layer.len());
        RootNames { twins: unique < live.len(), ..rebuilt }
    }
}

fn read_frames(module: &ModuleRecord) -> Result<FrameTable, String> {
    if module.stack_maps.is_null() {
        let empty = stack_map::read(&[]).map_err(|error| error.to_string())?;
        return FrameTable::build(&empty, |_| None).map_err(|error| error.to_string());
    }
    let known = module.stack_maps_size != 0;
    let bytes = match module.stack_maps_size {
        0 => readable_bytes_from(module.stack_maps as u64),
        size => size,
    };
    // SAFETY: the emitter measured the section, or the mapping that holds it reaches this far. It stays until the
    // module is unregistered, and then no frame of the module is on any stack, so no walk looks into its map.
    let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(module.stack_maps, bytes as usize) };
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

fn read_roots(module: &ModuleRecord) -> Result<Vec<(u64, NamedRoot)>, String> {
    if module.root_count == 0 {
        return Ok(vec![]);
    }
    // SAFETY: the record's table has as many entries as it says.
    let table = unsafe { std::slice::from_raw_parts(module.roots, module.root_count as usize) };
    let has_metadata = module.flags & MODULE_FLAG_METADATA != 0;
    let mut roots = table
        .iter()
        .map(|root| read_root(root, has_metadata && root.id & METADATA_ROOT != 0))
        .collect::<Result<Vec<_>, _>>()?;
    let shadowed = |(_, root): &(u64, NamedRoot)| Some((root.function.get(), root.name.behind(SHADOW_ROOT)?));
    let shadowed: HashSet<(Cow<str>, Cow<str>)> = roots.iter().filter_map(shadowed).collect();
    if !shadowed.is_empty() {
        for (_, root) in &mut roots {
            root.has_shadow = shadowed.contains(&(root.function.get(), root.name.get()));
        }
    }
    Ok(roots)
}

fn read_root(root: &RootInfo, is_metadata: bool) -> Result<(u64, NamedRoot), String> {
    let how = match is_metadata {
        true => Some(How::Metadata(root.how as u64)),
        false => {
            // SAFETY: a non-null `how` is a descriptor of the module, unless the root says otherwise.
            let how = unsafe { root.how.as_ref() }.map(type_registry::describe).transpose();
            how.map_err(|error| error.to_string())?.map(|how| How::Type(Arc::new(how)))
        }
    };
    // SAFETY: names are C string constants of the module, or null. Roots are looked up by frames, and no frame of a module
    // that is unregistered is on any stack.
    let name = unsafe { NameText::of(root.name, c"(unnamed)") };
    // SAFETY: as for the name.
    let function = unsafe { NameText::of(root.function, c"(unknown)") };
    let named = NamedRoot { how, descriptor: root.how as u64, name, function, has_shadow: false };
    Ok((root.id, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(number: u64, roots: u64) -> LoadedModule {
        let empty = stack_map::read(&[]).unwrap();
        let named = |index: u64| {
            let name = NameText::leaked(&format!("{number}.{index}"));
            (number << 20 | index, NamedRoot { how: None, descriptor: 0, name, function: name, has_shadow: false })
        };
        LoadedModule {
            frames: Arc::new(FrameTable::build(&empty, |_| None).unwrap()),
            roots: (1..=roots).map(named).collect(),
            says_what_it_lends: true,
        }
    }

    fn name(registry: &Registry, number: u64, index: u64) -> Option<String> {
        let current = registry.current.lock().unwrap();
        current.roots.get(number << 20 | index).map(|root| root.name.to_string())
    }

    fn copied(registry: &Registry) -> u64 {
        registry.current.lock().unwrap().roots.copied
    }

    #[test]
    fn two_thousand_modules_come_and_go_and_each_name_is_copied_a_few_times() {
        let (modules, roots) = (if cfg!(miri) { 40 } else { 2000 }, 30);
        let registry = Registry::default();
        for number in 0..modules {
            registry.publish(number, Some(module(number, roots)));
            assert_eq!(name(&registry, number, roots), Some(format!("{number}.{roots}")));
        }
        // Rebuilding for each module would copy 60 million.
        let came = copied(&registry);
        assert!(came <= modules * roots * 12, "{came} entries copied");
        for number in 0..modules {
            registry.publish(number, None);
            let last = modules - 1;
            assert_eq!(name(&registry, last, 1).is_some(), number < last);
        }
        assert!(copied(&registry) - came <= modules * roots * 2, "{} entries copied", copied(&registry) - came);
        assert!(registry.current.lock().unwrap().roots.layers.is_empty());
    }

    #[test]
    fn module_that_comes_again_is_found_before_what_is_left_of_it() {
        let registry = Registry::default();
        registry.publish(1, Some(module(1, 10)));
        registry.publish(2, Some(module(2, 100)));
        registry.publish(1, None);
        let mut again = module(1, 10);
        again.roots[0].1.name = NameText::leaked("again");
        registry.publish(1, Some(again));
        assert_eq!(name(&registry, 1, 1), Some("again".to_owned()));
    }

    #[test]
    fn of_two_modules_with_the_same_roots_the_one_that_stays_is_found() {
        let registry = Registry::default();
        registry.publish(1, Some(module(7, 2)));
        let mut twin = module(7, 2);
        twin.roots[0].1.name = NameText::leaked("twin");
        registry.publish(2, Some(twin));
        registry.publish(3, Some(module(8, 100)));
        registry.publish(2, None);
        assert_eq!(name(&registry, 7, 1), Some("7.1".to_owned()));
    }
}
