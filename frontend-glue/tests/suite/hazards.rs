//! What the programs of `hazards/` meet beyond their own runs, which are trials of the executable `cases`: limits of the maps, and
//! other tools between the lowering and the executable.

mod limits;
mod patch_points;
mod tools;
