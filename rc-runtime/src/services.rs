//! Services for languages beside objects: weak references, ephemerons, finalizers, handles, limits, and requests of a host.
pub mod alloc_site;
pub mod builtin;
pub mod collector_mode;
pub mod control;
pub mod coroutine;
pub mod ephemeron;
pub mod exception;
pub mod external;
pub mod finalizer;
pub mod global_roots;
pub mod handle;
pub mod host_roots;
pub mod immortal;
pub mod inventory;
pub mod limits;
pub mod open_object;
pub(crate) mod post_clear_queue;
pub mod reach;
pub mod special;
pub mod weak;
pub mod weak_map;
pub mod weak_set;

use crate::heap::HeapOptions;
use crate::object::ObjectRef;
use alloc_site::AllocSites;
use collector_mode::CollectorMode;
use coroutine::Coroutines;
use external::External;
use finalizer::Finalizers;
use handle::Handles;
use host_roots::HostRoots;
use immortal::Immortals;
use open_object::OpenObjects;
use special::Specials;

/// The state of the services of one heap.
#[derive(Default)]
pub struct Services {
    /// Records of special objects.
    pub specials: Specials,
    /// Finalizers that are to run.
    pub finalizers: Finalizers,
    /// Roots that a host in Rust holds on its stack.
    pub host_roots: HostRoots,
    /// Roots that native code holds by handles.
    pub handles: Handles,
    /// Coroutines that run, or wait for one that does.
    pub coroutines: Coroutines,
    /// Objects that never die.
    pub immortals: Immortals,
    /// Where objects were allocated, if it is recorded.
    pub(crate) alloc_sites: Option<Box<AllocSites>>,
    /// Memory that objects own outside the heap.
    pub(crate) external: External,
    /// Objects that are written to without a barrier.
    pub(crate) open_objects: OpenObjects,
    /// What the program has said of its objects.
    pub(crate) collector_mode: CollectorMode,
}

impl Services {
    /// Those of a new heap.
    pub(crate) fn of(options: &HeapOptions) -> Services {
        let interval = options.alloc_sites.map(|interval| if options.zeal { 0 } else { interval });
        Services { alloc_sites: interval.map(|interval| Box::new(AllocSites::new(interval))), ..Services::default() }
    }

    /// Objects with a count that no reference accounts for, held for their finalizers or immortal; once for each count.
    pub fn held_by_counts(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.finalizers.held().chain(self.immortals.objects())
    }

    /// The same but for the two lists of finalizers that may be long: the queue, and the objects whose finalizers have run.
    pub fn held_beside_lists(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.finalizers.held_beside_lists().chain(self.immortals.objects())
    }
}
