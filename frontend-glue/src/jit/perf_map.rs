//! Names of compiled code for perf, which looks addresses up in the file `/tmp/perf-PID.map`: a line `START SIZE NAME` for each function,
//! numbers in hexadecimal (`tools/perf/Documentation/jit-interface.txt` of Linux).
//!
//! perf reads the file when it reports, after the process has ended. So entries of modules that were removed stay. Where a later
//! module has the same addresses, perf may show either name.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::placed::{Function, Placed};

/// The file of this process, and why there is none. The name has the process's number in it, so there is one for all sessions.
static MAP: OnceLock<Result<File, String>> = OnceLock::new();

/// Adds the functions of an object. The first failure is reported on standard error; the program goes on without a map.
pub(super) fn append(placed: &Placed) {
    let place = PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
    let failed = |error: io::Error| format!("cannot write {}: {error}", place.display());
    let map = MAP.get_or_init(|| {
        let opened = create(&place).map_err(failed);
        opened.inspect_err(|message| tally_heap::tell_line!("tally: {message}"))
    });
    let Ok(mut file) = map.as_ref() else { return };
    // One write, so lines of several threads do not mix.
    if let Err(error) = file.write_all(lines(placed.functions()).as_bytes()) {
        tally_heap::tell_line!("tally: {}", failed(error));
    }
}

/// Makes the file. One that a process of the same number has left is replaced. Names in /tmp are anybody's, so a link or a file
/// of another user is not written to.
fn create(place: &Path) -> io::Result<File> {
    match std::fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().append(true).create_new(true).open(place)
}

fn lines<'a>(functions: impl Iterator<Item = Function<'a>>) -> String {
    let mut text = String::new();
    for Function { start, size, name } in functions {
        // A name of IR may have any character in it.
        let name = name.replace(char::is_control, "?");
        let _ = writeln!(text, "{start:x} {size:x} {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        let functions = [("one", 0x1f, 0x10), ("two\nwords here", 0x7fff_0000_1000, 0x200)];
        let functions = functions.map(|(name, start, size)| Function { start, size, name });
        assert_eq!(lines(functions.into_iter()), "1f 10 one\n7fff00001000 200 two?words here\n");
    }

    #[test]
    fn a_link_that_lies_there_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (place, target) = (folder.path().join("map"), folder.path().join("target"));
        std::fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &place).unwrap();
        create(&place).unwrap().write_all(b"line").unwrap();
        assert_eq!(std::fs::read_to_string(target).unwrap(), "precious");
        assert_eq!(std::fs::read_to_string(place).unwrap(), "line");
    }
}
