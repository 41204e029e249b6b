//! Allocation sites: the places in the program where objects were allocated, of a sample of them or of all.
//!
//! A heap records sites if [`HeapOptions::alloc_sites`](crate::HeapOptions) or [`Heap::record_alloc_sites`](crate::Heap::record_alloc_sites) says so. A sampled object has the number of its site in its record
//! ([`crate::services::special`]), which ends with the object; other objects cost nothing. `sampler` chooses the objects, in the slow path of
//! allocation, so the inline path stays as it is.
//!
//! The heap walks no stack: a [`SiteFinder`] returns the return addresses of the innermost calls, and their names. Names are asked for once for
//! each new list of addresses, at once: the code may be gone when a report is made. A heap without a finder, and an
//! object that no compiled code has asked for, have the site of the host, which has no places.
//!
//! Of an object of `s` bytes a byte is a sampling point with probability `p = 1 − exp(−s / interval)`. So each sampled object stands for `1/p` objects and
//! `s/p` bytes, and the sums are without bias (as in the heap profilers of tcmalloc and Go).

mod record;
mod report;
mod sample;
mod sampler;

use crate::type_registry::TypeId;
use rustc_hash::FxHashMap;
use sampler::Sampler;
use std::fmt;
use std::sync::Arc;

/// Bytes between sampled objects, on average, where no number is given.
pub const INTERVAL: u64 = 128 << 10;
/// Calls of a site, at most: a function that only wraps the allocation does not hide its caller.
pub const PLACES_MAX: usize = 4;
/// Where the host's site stands.
const HOST: u32 = 0;
/// Sites that are told apart. `[BOUND]`
const SITES_MAX: usize = 1 << 16;
/// Lists of return addresses that are remembered. `[BOUND]`
const KNOWN_MAX: usize = 1 << 17;

/// A place in the program's code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodePlace {
    /// The function.
    pub function: Arc<str>,
    /// The source file; empty where it is not known.
    pub file: Arc<str>,
    /// The line; 0 where it is not known.
    pub line: u32,
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.function)?;
        match (&*self.file, self.line) {
            ("", _) => Ok(()),
            (file, 0) => write!(f, " in {file}"),
            (file, line) => write!(f, " at {file}:{line}"),
        }
    }
}

/// The places of the calls that were running, the innermost first; none: the host allocated the object.
pub type Site = Arc<[CodePlace]>;

/// The site in words: "in `push` at list.c:7, called from `main` at list.c:20".
pub fn text_of_site(site: &[CodePlace]) -> String {
    let Some((first, callers)) = site.split_first() else { return "by the host".to_owned() };
    let mut text = format!("in {first}");
    callers.iter().for_each(|place| text += &format!(", called from {place}"));
    text
}

/// The objects of one type that were allocated at one site. Estimates, unless every object is recorded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SiteTotals {
    /// The places, innermost first; none: the host.
    pub site: Site,
    /// The type's name.
    pub type_name: String,
    /// Objects that are alive, or not yet known to be dead.
    pub live_objects: u64,
    /// Bytes of their cells.
    pub live_bytes: u64,
    /// Objects that were allocated.
    pub allocated_objects: u64,
    /// Bytes of their cells.
    pub allocated_bytes: u64,
}

/// Finds the calls that are running, and names them.
pub trait SiteFinder: fmt::Debug {
    /// Pushes the return addresses of the innermost calls of compiled code, [`PLACES_MAX`] at most. Returns a number that changes whenever one
    /// of them may mean another place from then on.
    fn find(&mut self, returns: &mut Vec<u64>) -> u64;

    /// Returns the places that these addresses return to; of one, those of all functions that were inlined there.
    fn places(&mut self, returns: &[u64]) -> Vec<CodePlace>;
}

/// The sites of one heap.
#[derive(Debug)]
pub(crate) struct AllocSites {
    sampler: Sampler,
    finder: Option<Box<dyn SiteFinder>>,
    /// What the finder said of the code to which `known` refers.
    code: u64,
    /// The sites, each once, and where each stands.
    sites: Vec<Site>,
    places: FxHashMap<Site, u32>,
    /// The site of each list of return addresses that was met.
    known: FxHashMap<Box<[u64]>, u32>,
    returns: Vec<u64>,
    /// Numbers of sites with types: entries are `number − 1`.
    numbers: FxHashMap<(u32, TypeId), u32>,
    entries: Vec<Entry>,
}

/// A site, and what was allocated there of one type.
#[derive(Debug)]
struct Entry {
    site: Site,
    type_id: TypeId,
    /// Objects and bytes, estimated.
    objects: f64,
    bytes: f64,
}

impl AllocSites {
    pub(crate) fn new(interval: u64) -> AllocSites {
        AllocSites {
            sampler: Sampler::new(interval),
            finder: None,
            code: 0,
            sites: vec![Arc::default()],
            places: FxHashMap::from_iter([(Arc::default(), HOST)]),
            known: FxHashMap::default(),
            returns: vec![],
            numbers: FxHashMap::default(),
            entries: vec![],
        }
    }

    /// Where the site of the calls that run now stands.
    fn here(&mut self) -> u32 {
        let Some(finder) = &mut self.finder else { return HOST };
        self.returns.clear();
        let code = finder.find(&mut self.returns);
        if code != self.code || self.known.len() >= KNOWN_MAX {
            self.known.clear();
            self.code = code;
        }
        if let Some(&site) = self.known.get(&*self.returns) {
            return site;
        }
        let mut places = finder.places(&self.returns);
        places.truncate(PLACES_MAX);
        let site = self.place_of(places.into());
        self.known.insert(self.returns.as_slice().into(), site);
        site
    }

    fn place_of(&mut self, site: Site) -> u32 {
        let site = if self.sites.len() < SITES_MAX || self.places.contains_key(&site) { site } else { others() };
        *self.places.entry(site).or_insert_with_key(|site| {
            self.sites.push(site.clone());
            self.sites.len() as u32 - 1
        })
    }

    /// Counts an object of `cell` bytes; returns the number of its entry.
    fn note(&mut self, site: u32, type_id: TypeId, cell: u64) -> u32 {
        let number = *self.numbers.entry((site, type_id)).or_insert_with(|| {
            let site = self.sites[site as usize].clone();
            self.entries.push(Entry { site, type_id, objects: 0.0, bytes: 0.0 });
            self.entries.len() as u32
        });
        let objects = self.sampler.objects_for_one(cell);
        let entry = &mut self.entries[number as usize - 1];
        entry.objects += objects;
        entry.bytes += objects * cell as f64;
        number
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get((number as usize).checked_sub(1)?)
    }
}

/// Where there are too many sites, the site of new ones.
fn others() -> Site {
    Arc::new([CodePlace { function: "(another site)".into(), file: "".into(), line: 0 }])
}
