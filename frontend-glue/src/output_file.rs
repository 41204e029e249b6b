//! Writing a result whole or not at all.
//!
//! What was there before stays until the new file is complete: it is made in a hidden directory
//! beside its place and renamed over it. A failing linker, a full disk or an interrupt never
//! leaves half an executable under the name that a script is about to run.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a result could not be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The name cannot be that of a new file.
    #[error("{}: {reason}", path.display())]
    Unsuitable {
        /// The output's name.
        path: PathBuf,
        /// What stands there instead.
        reason: &'static str,
    },
    /// The system refused.
    #[error("{}: cannot be written: {error}", path.display())]
    System {
        /// The output's name.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// A result in the making. Dropped without [`finish`](OutputFile::finish), it leaves no trace.
#[derive(Debug)]
pub struct OutputFile {
    folder: tempfile::TempDir,
    place: PathBuf,
}

impl OutputFile {
    /// Prepares to write `place`.
    pub fn new(place: &Path) -> Result<OutputFile, OutputError> {
        let unsuitable = |reason| OutputError::Unsuitable { path: place.to_owned(), reason };
        if place.file_name().is_none() {
            return Err(unsuitable("is not the name of a file"));
        }
        if let Ok(there) = std::fs::metadata(place) {
            if there.is_dir() {
                return Err(unsuitable("is a directory"));
            }
            if !there.is_file() {
                return Err(unsuitable("exists and is not a regular file"));
            }
        }
        // Through a symbolic link, the file it leads to is replaced and not the link.
        let place = std::fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let beside = match place.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let folder = tempfile::Builder::new()
            .prefix(".tally-")
            .tempdir_in(beside)
            .map_err(|error| OutputError::System { path: place.clone(), error })?;
        Ok(OutputFile { folder, place })
    }

    /// A directory for this output's intermediate files, gone with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where to write to until [`finish`](OutputFile::finish).
    pub fn temporary(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Puts what was written to its place.
    pub fn finish(self) -> Result<(), OutputError> {
        std::fs::rename(self.temporary(), &self.place)
            .map_err(|error| OutputError::System { path: self.place.clone(), error })
    }
}

/// Refuses to write over one of the files that the result is made from.
pub fn spare_inputs(place: &Path, inputs: &[PathBuf]) -> Result<(), OutputError> {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    let is_input = identity(place).is_some_and(|there| inputs.iter().any(|input| identity(input) == Some(there)));
    if is_input {
        let reason = "is one of the input files; name another file for the output";
        return Err(OutputError::Unsuitable { path: place.to_owned(), reason });
    }
    Ok(())
}

/// Writes `bytes` to `place`, whole or not at all.
pub fn write(place: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let output = OutputFile::new(place)?;
    std::fs::write(output.temporary(), bytes).map_err(|error| OutputError::System { path: place.to_owned(), error })?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_an_output_that_was_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        std::fs::write(&place, "old").unwrap();
        let output = OutputFile::new(&place).unwrap();
        std::fs::write(output.temporary(), "half").unwrap();
        drop(output);
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "old");
        write(&place, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn directories_and_devices_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = write(folder.path(), b"x").unwrap_err().to_string();
        assert!(refused.ends_with("is a directory"), "{refused}");
        assert!(write(Path::new("/dev/null"), b"x").is_err());
        assert!(write(&folder.path().join("missing/out"), b"x").is_err());
    }
}
