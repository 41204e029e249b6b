//! Writing a result whole or not at all.
//!
//! The old file stays until the new one is complete: that is made in a hidden directory beside its place and renamed
//! over it. A failing linker, a full disk or an interrupt never leaves half an executable under the name that a
//! script is about to run. A descriptor such as `/dev/stdout`, a device or a FIFO is written to instead, once the
//! result is complete: `tally_compiled::program::destination` lists the kinds of places, and why links and other
//! users' files are safe.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tally_compiled::program::destination::Destination;
use thiserror::Error;

/// Why a result could not be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The name cannot be that of a new file.
    #[error("{}: {reason}", path.display())]
    Unsuitable {
        /// The output's name.
        path: PathBuf,
        /// The kind of file that is there instead.
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
pub(crate) struct OutputFile {
    folder: tempfile::TempDir,
    place: PathBuf,
    destination: Destination,
}

impl OutputFile {
    /// Prepares to write `place`.
    pub(crate) fn new(place: &Path) -> Result<OutputFile, OutputError> {
        let place = place.to_owned();
        if place.file_name().is_none() {
            return Err(OutputError::Unsuitable { path: place, reason: "is not the name of a file" });
        }
        let destination = match Destination::of(&place) {
            Ok(destination) => destination,
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(OutputError::Unsuitable { path: place, reason: "is a directory" });
            }
            Err(error) => return Err(OutputError::System { path: place, error }),
        };
        let beside = match &destination {
            Destination::File(file) => match file.parent() {
                Some(parent) if parent != Path::new("") => parent.to_owned(),
                _ => PathBuf::from("."),
            },
            Destination::Descriptor(_) | Destination::Stream(_) => std::env::temp_dir(),
        };
        let folder = tempfile::Builder::new().prefix(".tally-").tempdir_in(beside);
        match folder {
            Ok(folder) => Ok(OutputFile { folder, place, destination }),
            Err(error) => Err(OutputError::System { path: place, error }),
        }
    }

    /// Prepares to write an executable: its place may be no device or FIFO.
    pub(crate) fn for_executable(place: &Path) -> Result<OutputFile, OutputError> {
        let output = OutputFile::new(place)?;
        match output.destination {
            Destination::File(_) => Ok(output),
            Destination::Descriptor(_) | Destination::Stream(_) => {
                let reason = "exists and is not a regular file";
                Err(OutputError::Unsuitable { path: output.place, reason })
            }
        }
    }

    /// A directory for this output's intermediate files, removed with it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path to write to until [`finish`](OutputFile::finish).
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Moves the written file to its place.
    pub(crate) fn finish(self) -> Result<(), OutputError> {
        let put = match &self.destination {
            Destination::File(file) => std::fs::rename(self.temporary(), file),
            other => std::fs::read(self.temporary()).and_then(|content| other.write(&content)),
        };
        put.map_err(|error| OutputError::System { path: self.place, error })
    }
}

/// Refuses to write over one of the files that the result is made from.
pub(crate) fn spare_inputs(place: &Path, inputs: &[PathBuf]) -> Result<(), OutputError> {
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
    fn directories_are_refused_and_a_device_takes_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let refused = write(folder.path(), b"x").unwrap_err().to_string();
        assert!(refused.ends_with("is a directory"), "{refused}");
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(&folder.path().join("missing/out"), b"x").is_err());
    }
}
