//! Services for languages beside objects: weak references, ephemerons, finalizers, handles, limits, and requests of a host.
pub mod builtin;
pub mod control;
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
pub mod post_clear_queue;
pub mod special;
pub mod weak;
pub mod weak_map;
