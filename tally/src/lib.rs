//! A heap for hosts in Rust: reference counting with a cycle collector, behind types that a program cannot misuse.
//!
//! No safe function of this crate can cause undefined behaviour, also in a host that says `#![forbid(unsafe_code)]`: a
//! reference that is used after the collector may have run does not compile, and what lifetimes cannot say is looked at.
//!
//! | type | is | lives |
//! |---|---|---|
//! | [`Heap`] | the heap; [`HeapOptions`] say how it is set up, [`Plan`] when objects die | as long as its owner |
//! | [`TypeId`] | what objects look like, made by a [`TypeBuilder`] | on its thread, for good |
//! | [`Scope`] | the right to use a heap; borrows the heap, or the scope around it | until it is dropped, with all its handles |
//! | [`Handle`] | a scoped root; a copy is the same root | as long as its scope |
//! | [`Global`] | a root of its own | until it is dropped |
//! | [`Ref`] | a bare reference; borrows the scope | until the next safepoint |
//!
//! ```
//! use tally::{Heap, HeapOptions, TypeBuilder};
//!
//! let mut heap = Heap::new(HeapOptions::new())?;
//! let node = TypeBuilder::new("Node", 24).reference("next", 0).reference("first", 8).register()?;
//! let mut scope = heap.scope();
//! let list = scope.allocate(node)?;
//! for number in 0..1000 {
//!     let mut inner = scope.nested();
//!     let item = inner.allocate(node)?; // a safepoint: objects used later are in handles
//!     let (list, item) = (inner.get(list), inner.get(item));
//!     inner.set_word(item, 16, number);
//!     inner.set_field(item, 0, list.field(0)); // no safepoint: bare references stay good
//!     inner.set_field(item, 8, Some(list)); // a cycle
//!     inner.set_field(list, 0, Some(item));
//! }
//! scope.collect();
//! assert_eq!(scope.get(list).field(0).expect("the last one").word(16), 999);
//! drop(scope);
//! assert_eq!(heap.scope().collect(), 1001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Safepoints
//!
//! A function that may run the collector, and with it finalizers and callbacks, takes `&mut Scope` and is called a
//! safepoint: [`allocate`](Scope::allocate) and all that makes an object, [`poll`](Scope::poll),
//! [`collect`](Scope::collect). A [`Ref`] borrows `&Scope`, so one that was read before cannot be used after:
//!
//! ```compile_fail,E0502
//! # use tally::{Heap, HeapOptions, TypeBuilder};
//! # let mut heap = Heap::new(HeapOptions::new())?;
//! # let node = TypeBuilder::new("Node", 8).reference("next", 0).register()?;
//! # let mut scope = heap.scope();
//! # let list = scope.allocate(node)?;
//! let first = scope.get(list).field(0);
//! scope.collect();
//! println!("{first:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A handle may be used in its scope and in those that are nested in it, and no longer:
//!
//! ```compile_fail,E0502
//! # use tally::{Heap, HeapOptions, TypeBuilder};
//! # let mut heap = Heap::new(HeapOptions::new())?;
//! # let node = TypeBuilder::new("Node", 8).register()?;
//! let mut scope = heap.scope();
//! let mut inner = scope.nested();
//! let item = inner.allocate(node)?;
//! drop(inner);
//! scope.get(item);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything of a heap stays on its thread, types too:
//!
//! ```compile_fail,E0277
//! # use tally::{Heap, HeapOptions};
//! let heap = Heap::new(HeapOptions::new()).unwrap();
//! std::thread::spawn(move || drop(heap));
//! ```
//!
//! # Services
//!
//! `docs/use/services.md` says what each means, under both plans.
//!
//! | service | functions |
//! |---|---|
//! | fields | [`set_field`](Scope::set_field), [`set_value`](Scope::set_value) for tagged words ([`Value`], [`FieldKind`]), [`set_pair`](Scope::set_pair), [`set_word`](Scope::set_word), [`copy_fields`](Scope::copy_fields), [`fill_fields`](Scope::fill_fields) |
//! | collection | [`collect`](Scope::collect), [`collect_for`](Scope::collect_for), [`collect_for_bytes`](Scope::collect_for_bytes), [`live_bytes`](Scope::live_bytes), [`epoch`](Scope::epoch), [`stop`](Scope::stop), [`set_epoch_bytes`](Scope::set_epoch_bytes), [`set_pause_goal`](Scope::set_pause_goal), [`log_collections`](Scope::log_collections), [`log_cycles`](Scope::log_cycles) |
//! | storage | [`resize`](Scope::resize), [`rehash`](Scope::rehash); [`open_object`](Scope::open_object), to be written to without a barrier |
//! | weak references | [`new_weak`](Scope::new_weak), [`new_weak_with`](Scope::new_weak_with) a callback, [`target`](Scope::target); [`set_weak_field`](Scope::set_weak_field) |
//! | ephemerons, weak maps | [`new_ephemeron`](Scope::new_ephemeron); [`new_weak_map`](Scope::new_weak_map) with a [`WeakMode`] |
//! | weak sets | [`new_weak_set`](Scope::new_weak_set), [`weak_set_find`](Scope::weak_set_find): interned strings |
//! | finalizers | [`TypeBuilder::finalizer`], which gets a [`FinalizerScope`], in a [`FinalizeOrder`]; [`register_finalizer`](Scope::register_finalizer), [`Heap::finalize_all`] |
//! | host values | [`allocate_host`](Scope::allocate_host), [`add_external_bytes`](Scope::add_external_bytes) |
//! | immortal objects | [`make_immortal`](Scope::make_immortal), [`freeze`](Scope::freeze) |
//! | limits | [`set_limits`](Scope::set_limits), [`on_soft_limit`](Scope::on_soft_limit), [`on_out_of_memory`](Scope::on_out_of_memory), which get a [`LimitScope`] |
//! | reports | [`Heap::statistics`], [`Heap::leak_report`], [`Heap::last_report`], [`Scope::objects`], [`Scope::count_of`], [`Heap::verify`] |
//! | where it was allocated | [`HeapOptions::alloc_sites`], [`alloc_site`](Scope::alloc_site), [`alloc_sites`](Scope::alloc_sites) |
//! | why it is alive | [`why_alive`](Scope::why_alive), [`referrers_of`](Scope::referrers_of), [`objects_of`](Scope::objects_of), [`count_of_type`](Scope::count_of_type) |
//!
//! What `tally.h` has and this crate has not: trace functions, and functions that clear weak slots, since they are run on
//! raw memory in the middle of a collection; ephemerons of a host's own types, whose reader must hold the key, which
//! nothing could check; declared types of fields, for which [`TypeBuilder::acyclic`] stands; free words in tagged weak
//! slots. Finalizers at exit are [`Heap::finalize_all`], at a moment that the host chooses.
//!
//! # Errors and panics
//!
//! | what | how it ends |
//! |---|---|
//! | a type is described wrongly | [`TypeError`], which names the field |
//! | memory runs out: a limit, the address range, an absurd size | [`OutOfMemory`], after a collection and the handler; nothing has changed |
//! | no address range can be reserved | [`RangeError`] |
//! | a handle or an object of another heap | a panic |
//! | an offset that is no field, no plain word, or outside the object | a panic |
//! | an object of another kind than a service takes | a panic |
//! | a finalizer, a callback of a weak reference, or the `drop` of a host value panics | it is caught; [`Heap::on_finalizer_error`] is called with a [`FinalizerError`] when the safepoint is over; the others run |
//! | a callback of the limits panics | the panic goes on from the safepoint that has called it |
//! | an invariant of the heap does not hold | [`Heap::verify`] returns a [`Violation`]; with [`HeapOptions::zeal`] the process stops at once |
//!
//! A panic leaves the heap as it was before the call.
//!
//! # Compiled code
//!
//! With the feature `llvm`, which needs LLVM 22, the module `llvm` has sessions of compiled code and the lowering. Compiled
//! code does what its source says: the promise of this page ends where it begins. It runs on the heaps of its threads, not
//! on a [`Heap`]. Without the feature the crate builds with no LLVM.

mod alloc_site;
mod errors;
mod field;
mod finalizer;
mod global_handle;
mod heap;
mod heap_core;
mod host;
mod inventory;
mod limits;
#[cfg(feature = "llvm")]
pub mod llvm;
mod open_object;
mod options;
mod resize;
mod scope;
mod type_builder;
mod type_error;
mod type_id;
mod weak;
mod weak_map;
mod weak_set;
mod why_alive;

pub use errors::FinalizerError;
pub use field::{Ref, Value};
pub use finalizer::FinalizerScope;
pub use global_handle::Global;
pub use heap::Heap;
pub use inventory::ObjectInfo;
pub use limits::LimitScope;
pub use open_object::OpenObject;
pub use options::HeapOptions;
pub use scope::{Handle, Scope};
pub use type_builder::{FieldKind, TypeBuilder};
pub use type_error::TypeError;
pub use type_id::TypeId;
pub use why_alive::Holder;

/// The result of [`Heap::last_report`].
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 8).reference("self", 0).register()?;
/// let mut scope = heap.scope();
/// let item = scope.allocate(node)?;
/// scope.epoch();
/// drop(scope);
/// assert_eq!(heap.last_report().roots, 1); // a small heap of the default plan marks: nothing is promoted
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_collector::EpochReport;
/// The error of [`Heap::verify`].
///
/// ```
/// use tally::{Heap, HeapOptions, Violation};
///
/// fn check(heap: &mut Heap) -> Result<(), Violation> {
///     heap.verify()
/// }
/// check(&mut Heap::new(HeapOptions::new())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_collector::Violation;
/// The error of all that allocates.
///
/// ```
/// use tally::{Heap, HeapOptions, OutOfMemory, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new().fail_allocation(1))?;
/// let node = TypeBuilder::new("Node", 8).register()?;
/// let mut scope = heap.scope();
/// assert!(matches!(scope.allocate(node), Err(OutOfMemory::AskedFor { .. })));
/// assert!(scope.allocate(node).is_ok()); // a refused allocation has changed nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::OutOfMemory;
/// The argument of [`TypeBuilder::finalize_in`].
///
/// ```
/// use tally::{FinalizeOrder, TypeBuilder};
///
/// TypeBuilder::new("Stream", 8).reference("file", 0).finalizer(|_, _| {}).finalize_in(FinalizeOrder::OwnerFirst).register()?;
/// # Ok::<(), tally::TypeError>(())
/// ```
#[doc(inline)]
pub use tally_heap::descriptor::FinalizeOrder;
/// The error of [`Heap::new`].
///
/// ```
/// use tally::{Heap, HeapOptions, RangeError};
///
/// fn heap() -> Result<Heap, RangeError> {
///     Heap::new(HeapOptions::new())
/// }
/// assert!(heap().is_ok());
/// ```
#[doc(inline)]
pub use tally_heap::memory::range::RangeError;
/// The argument of [`HeapOptions::plan`].
///
/// ```
/// use tally::{Heap, HeapOptions, Plan, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new().plan(Plan::Prompt))?;
/// let node = TypeBuilder::new("Node", 16).reference("next", 0).register()?;
/// heap.scope().allocate(node)?;
/// heap.scope().poll(); // under the prompt plan it dies at the next safepoint
/// assert_eq!(heap.statistics().live_objects, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::plan::Plan;
/// A part of [`Statistics`].
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let pair = TypeBuilder::new("Pair", 16).register()?;
/// heap.scope().allocate(pair)?;
/// heap.scope().collect();
/// let sizes = heap.statistics().size_histogram;
/// assert_eq!((sizes.total(), sizes.buckets[4]), (1, 1)); // a cell of 24 bytes, between 16 and 32
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::report::histogram::Histogram;
/// The result of [`Heap::statistics`].
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 8).reference("self", 0).register()?;
/// let mut scope = heap.scope();
/// let ring = scope.allocate(node)?;
/// scope.set_field(scope.get(ring), 0, Some(scope.get(ring)));
/// scope.collect();
/// drop(scope);
/// heap.scope().collect();
/// let counters = heap.statistics();
/// assert_eq!((counters.allocated_objects, counters.freed_objects()), (1, 1)); // counting alone would not free a ring
/// assert!(counters.utilisation_100ms_min <= 1000); // in thousandths
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::report::statistics::Statistics;
/// A place in a [`Site`].
///
/// ```
/// use tally::CodePlace;
///
/// let place = CodePlace { function: "push".into(), file: "list.c".into(), line: 7 };
/// assert_eq!(place.to_string(), "`push` at list.c:7");
/// ```
#[doc(inline)]
pub use tally_heap::services::alloc_site::CodePlace;
/// The result of [`Scope::alloc_site`].
///
/// ```
/// use tally::Site;
///
/// fn shown(site: &Site) -> String {
///     site.iter().map(|place| format!("\n  allocated by {place}")).collect()
/// }
/// assert_eq!(shown(&Site::default()), "", "the host has allocated it");
/// ```
#[doc(inline)]
pub use tally_heap::services::alloc_site::Site;
/// A row of [`Scope::alloc_sites`].
///
/// ```
/// use tally::SiteTotals;
///
/// fn largest(rows: &[SiteTotals]) -> Option<&SiteTotals> {
///     rows.iter().max_by_key(|row| row.live_bytes)
/// }
/// assert!(largest(&[]).is_none());
/// ```
#[doc(inline)]
pub use tally_heap::services::alloc_site::SiteTotals;
/// The argument of [`Scope::set_collector_mode`].
///
/// ```
/// use tally::{CollectorMode, Heap, HeapOptions};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// assert_eq!(heap.scope().set_collector_mode(CollectorMode::Generational), CollectorMode::Incremental);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::services::collector_mode::CollectorMode;
/// The result of [`Heap::leak_report`].
///
/// ```
/// use tally::{Heap, HeapOptions};
///
/// if let Some(report) = Heap::new(HeapOptions::new())?.leak_report() {
///     eprint!("{}", report.text("after a test"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::services::inventory::LeakReport;
/// A row of a [`LeakReport`].
///
/// ```
/// use tally::{Heap, HeapOptions, OfType, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let pair = TypeBuilder::new("Pair", 16).register()?;
/// let kept = { let mut scope = heap.scope(); let pair = scope.allocate(pair)?; scope.global(scope.get(pair)) };
/// let report = heap.leak_report().expect("one is left");
/// let OfType { name, objects, bytes, .. } = &report.types[0];
/// assert_eq!((name.as_str(), *objects, *bytes), ("Pair", 1, 24));
/// # drop(kept);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::services::inventory::OfType;
/// A root in a [`Holder`].
///
/// ```
/// use tally::{Heap, HeapOptions, Holder, Root, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 8).register()?;
/// let mut scope = heap.scope();
/// let node = scope.allocate(node)?;
/// scope.make_immortal(scope.get(node));
/// assert_eq!(scope.referrers_of(scope.get(node)), [Holder::Root(Root::Handle), Holder::Root(Root::Immortal)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::services::reach::Root;
/// The argument of [`Scope::new_weak_map`].
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder, WeakMode};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let text = TypeBuilder::new("Text", 8).register()?;
/// let mut scope = heap.scope();
/// let cache = scope.new_weak_map(WeakMode::Values)?; // an entry goes with the object that was cached
/// let (key, cached) = (scope.allocate(text)?, scope.allocate(text)?);
/// scope.weak_map_set(cache, key, cached)?;
/// assert_eq!(scope.weak_map_len(scope.get(cache)), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use tally_heap::services::weak_map::WeakMode;
