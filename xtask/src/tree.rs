//! Where things are: the project's folder and what cargo builds in it.
//!
//! The folder is fixed when `xtask` is compiled (it is always compiled in the tree it serves). The target folder is
//! the one this very executable stands in, so `CARGO_TARGET_DIR`, `build.target-dir` and `--target` are followed
//! without asking cargo: a release build of the same tree stands beside ours.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The project's folder, which holds the workspace's Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ stands inside the project's folder")
}

/// The folder of release builds: `tally` and `libtally.a` stand there after a release build.
pub fn release() -> Result<PathBuf, Failure> {
    let executable = std::env::current_exe()
        .map_err(|error| Failure::step(format!("cannot tell where xtask runs from: {error}")))?;
    let target = executable
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| Failure::step(format!("{} is not in a target folder", executable.display())))?;
    Ok(target.join("release"))
}

/// The files directly in `folder` whose name ends in one of `endings`, sorted by name; all relative to the project.
pub fn files(folder: &str, endings: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(root().join(folder))
        .map_err(|error| Failure::step(format!("cannot list {folder}: {error}")))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            path.is_file() && ending.is_some_and(|ending| endings.contains(&ending))
        })
        .filter_map(|path| Some(Path::new(folder).join(path.file_name()?)))
        .collect();
    found.sort();
    Ok(found)
}
