//! The verbs of a plan: the operations that a plan provides to the rest of the heap, each one exhaustive match.
//!
//! Nothing outside this module tests which plan a heap has. A service calls a verb ("hold this object", "come back at
//! the next safepoint"), and an arm for each plan calls that plan's folder. A new plan is a folder, a variant of
//! [`Plan`](super::Plan), and an arm in each of these matches, which the compiler lists. So no verb compares plans,
//! and no match has a catch-all arm: either would treat a new plan as an old one.
//!
//! | file | verbs |
//! |---|---|
//! | `references` | hold, release, recount, write |
//! | `objects` | allocate, count, walk over all objects, make immortal |
//! | `weak` | upgrade, empty an ephemeron |
//! | `finalizers` | register, find, run, settle afterwards |
//! | `work` | request work, poll, collect, step |
//! | `counters` | statistics, bytes in use |
//! | `regime` | whose rules hold now |
//! | `sampling` | is a new object's allocation site recorded? |
//!
//! **Cost.** Compiled code is lowered for one plan and calls the entry points of that plan, so no verb is called
//! inline there. In the runtime a verb is one load and one branch.

mod counters;
mod finalizers;
mod objects;
mod references;
mod regime;
mod sampling;
mod weak;
mod work;
