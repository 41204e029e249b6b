//! The place that an output's name means, and writing there without harm to anything else.
//!
//! Statistics and the results of the `tally` command are written to places that a user names. Three kinds are told
//! apart ([`Destination::of`]), the first that fits:
//!
//! | place | written |
//! |---|---|
//! | `/dev/stdout`, `/dev/stderr`, `/dev/fd/N`, `/proc/self/fd/N` | to that descriptor, at its own position |
//! | a device, FIFO or socket that exists | into it; it stays what it is |
//! | a regular file, or a name that is free | beside it under a random name, then renamed over it: a reader sees all or nothing |
//!
//! Links are followed to what they lead to, and stay. The random name is created exclusively: a file or link that
//! another user put there in a shared folder is never opened. `[DESTINATION]`

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A place that can be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// An open descriptor of this process.
    Descriptor(RawFd),
    /// A device, FIFO or socket.
    Stream(PathBuf),
    /// A regular file, or one that will be made.
    File(PathBuf),
}

/// As many as Linux follows.
const LINKS_MAX: usize = 40;
/// Names tried before giving up: a name that is taken again and again means that the system's source of random bytes
/// is broken.
const NAMES_MAX: usize = 16;

impl Destination {
    /// The place that `path` names.
    ///
    /// # Errors
    /// A directory, a name without a folder, links in a circle.
    pub fn of(path: &Path) -> io::Result<Destination> {
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            if let Some(descriptor) = descriptor_named(&path) {
                return Ok(Destination::Descriptor(descriptor));
            }
            let there = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => {
                    return Ok(Destination::File(path));
                }
                there => there?.file_type(),
            };
            if there.is_symlink() {
                let target = std::fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("")).join(target);
            } else if there.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            } else if there.is_file() {
                return Ok(Destination::File(path));
            } else {
                debug_assert!(
                    there.is_fifo() || there.is_socket() || there.is_char_device() || there.is_block_device()
                );
                return Ok(Destination::Stream(path));
            }
        }
        Err(io::Error::from_raw_os_error(libc::ELOOP))
    }

    /// Writes all of `content`.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        match self {
            Destination::Descriptor(descriptor) => write_to_descriptor(*descriptor, content),
            Destination::Stream(path) => open_stream(path)?.write_all(content),
            Destination::File(path) => replace(path, content),
        }
    }
}

/// Writes `content` to the place that `path` names.
///
/// # Errors
/// As for [`Destination::of`] and [`Destination::write`].
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    Destination::of(path)?.write(content)
}

fn descriptor_named(path: &Path) -> Option<RawFd> {
    let path = path.to_str()?;
    match path {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => {
            let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok().filter(|number: &RawFd| *number >= 0)
        }
    }
}

/// Not by the name: a pipe may refuse to be opened anew, and a file opened anew begins at its start.
fn write_to_descriptor(descriptor: RawFd, content: &[u8]) -> io::Result<()> {
    // SAFETY: asks whether the number is an open descriptor's.
    if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an open descriptor, as just seen, which stays open: the file is not dropped.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    file.write_all(content)
}

/// Without waiting for a reader: a program that ends does not hang at a FIFO without a reader.
fn open_stream(path: &Path) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    // SAFETY: changes the status flags of the descriptor that was just opened: writes wait for a slow reader.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let (beside, mut file) = create_beside(path)?;
    let keep_permissions = || match std::fs::symlink_metadata(path) {
        Ok(old) if old.is_file() => std::fs::set_permissions(&beside, old.permissions()),
        _ => Ok(()),
    };
    let written = file.write_all(content).and_then(|()| keep_permissions());
    written.and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{:016x}.tmp", random_word()?));
        let beside = path.with_file_name(name);
        // `create_new` is O_CREAT | O_EXCL, which follows no link either.
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn random_word() -> io::Result<u64> {
    let mut word = 0u64;
    // SAFETY: fills the eight bytes of `word`.
    let got = unsafe { libc::getrandom((&raw mut word).cast(), size_of::<u64>(), 0) };
    if got == size_of::<u64>() as isize { Ok(word) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tally-destination-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a new folder");
        folder
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
        let folder = folder("file");
        let place = folder.join("stats.json");
        write(&place, b"one").expect("a free name");
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o600)).expect("our file");
        write(&place, b"two").expect("a file");
        assert_eq!(std::fs::read(&place).expect("there"), b"two");
        assert_eq!(std::fs::metadata(&place).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let folder = folder("link");
        std::fs::write(folder.join("target"), "old").expect("a new file");
        symlink("target", folder.join("link")).expect("a link");
        symlink("missing", folder.join("dangling")).expect("a link");
        symlink("/dev/stdout", folder.join("out")).expect("a link");
        symlink("circle", folder.join("circle")).expect("a link");
        write(&folder.join("link"), b"new").expect("a file behind a link");
        assert_eq!(std::fs::read(folder.join("target")).expect("there"), b"new");
        write(&folder.join("dangling"), b"made").expect("a free name behind a link");
        assert_eq!(std::fs::read(folder.join("missing")).expect("there"), b"made");
        for link in ["link", "dangling"] {
            assert!(std::fs::symlink_metadata(folder.join(link)).expect("there").is_symlink(), "{link}");
        }
        assert_eq!(Destination::of(&folder.join("out")).expect("a descriptor"), Destination::Descriptor(1));
        let circle = Destination::of(&folder.join("circle")).expect_err("no place");
        assert_eq!(circle.raw_os_error(), Some(libc::ELOOP));
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    #[test]
    fn devices_and_fifos_stay_what_they_are() {
        let folder = folder("fifo");
        write(Path::new("/dev/null"), b"x").expect("a device takes it");
        assert!(std::fs::metadata("/dev/null").expect("there").file_type().is_char_device());
        let fifo = folder.join("fifo");
        let name = std::ffi::CString::new(fifo.as_os_str().as_encoded_bytes()).expect("no NUL");
        // SAFETY: makes a FIFO in the test's folder.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let nobody_reads = write(&fifo, b"x").expect_err("it does not wait for a reader");
        assert_eq!(nobody_reads.raw_os_error(), Some(libc::ENXIO));
        let mut reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&fifo).expect("our FIFO");
        write(&fifo, b"read me").expect("somebody reads");
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).expect("the writer has closed it");
        assert_eq!(text, "read me");
        assert!(std::fs::metadata(&fifo).expect("there").file_type().is_fifo());
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    #[test]
    fn a_descriptor_is_written_at_its_position() {
        use std::os::fd::AsRawFd;
        let folder = folder("descriptor");
        let mut file = File::create(folder.join("out")).expect("a new file");
        file.write_all(b"first, ").expect("room");
        write(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), b"then").expect("an open descriptor");
        assert_eq!(std::fs::read(folder.join("out")).expect("there"), b"first, then");
        let closed = write(Path::new("/dev/fd/1000000"), b"x").expect_err("not open");
        assert_eq!(closed.raw_os_error(), Some(libc::EBADF));
        assert!(write(&folder, b"x").is_err() && write(&folder.join("missing/out"), b"x").is_err());
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
