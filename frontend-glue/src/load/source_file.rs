//! The bytes of a source file, or the reason why the file is none.
//!
//! Tally reads files itself, not LLVM, so that a message can name a directory, an empty file, a pipe or a missing
//! permission, and nothing is read without end: only regular files are opened, and standard input (`-`) if its language
//! is known, up to the size that a module may have.
//! The kind of a file is read from its name, except that bitcode is recognised by its first bytes whatever the name
//! (a `.ll` that is bitcode loads as bitcode, as it does in LLVM's own tools). Text with a zero byte in its beginning
//! is refused before the rest is read: LLVM skips such bytes and would take a file of zeros for an empty module.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The largest file that is read. Reading one takes twice its size, and parsing text many times that.
const BYTES_MAX: u64 = 512 << 20;

/// Bytes that are checked before the rest is read.
const BEGINNING_BYTES: u64 = 64 << 10;

/// Why a file was not read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The operating system refused to read it.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// A directory was named.
    #[error("{}: is a directory; name the .ll, .bc or .c files in it", .0.display())]
    Directory(PathBuf),
    /// A pipe, socket or device was named.
    #[error("{}: is not a regular file; write the program to a .ll, .bc or .c file and name that", .0.display())]
    Irregular(PathBuf),
    /// `-` was named, and what comes there is of no known kind.
    #[error("{STANDARD_INPUT}: unknown kind of file; say its language by -x: c, c++ or ir")]
    StandardInput,
    /// There is nothing in it.
    #[error("{}: is empty", .0.display())]
    Empty(PathBuf),
    /// The file is larger than any module that is written or generated.
    #[error("{}: is larger than {} MiB; split the module", .0.display(), BYTES_MAX >> 20)]
    TooLarge(PathBuf),
    /// Its name says text, its content does not.
    #[error("{}: is not text: byte {offset} is zero; was a binary file given this name?", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The offset of the first zero byte.
        offset: usize,
    },
    /// Neither its name nor its content tells its kind.
    #[error(
        "{}: unknown kind of file; expected .ll (LLVM IR), .bc (bitcode), .c or .cpp, or -x and its language", .0.display()
    )]
    UnknownKind(PathBuf),
    /// An object, or what was linked of objects.
    #[error("{}: is an object, and no module: `tally build` links objects that other tools compiled", .0.display())]
    Object(PathBuf),
}

/// The kind of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// LLVM IR as text.
    Text,
    /// LLVM bitcode.
    Bitcode,
    /// C.
    C,
    /// C++.
    Cpp,
}

/// The name of standard input in messages, as clang has it.
pub(crate) const STANDARD_INPUT: &str = "<stdin>";

/// Whether a path stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file that may be a module; `language` is that of files whose name and bytes tell none.
pub(crate) fn read(path: &Path, language: Option<Kind>) -> Result<(Kind, Vec<u8>), SourceError> {
    if is_standard_input(path) {
        return read_standard_input(io::stdin().lock(), language);
    }
    let unreadable = |error| SourceError::Unreadable { path: path.to_owned(), error };
    // Checked before it is opened: opening a pipe waits for a writer.
    let there = std::fs::metadata(path).map_err(unreadable)?;
    if there.is_dir() {
        return Err(SourceError::Directory(path.to_owned()));
    }
    if !there.is_file() {
        return Err(SourceError::Irregular(path.to_owned()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.by_ref().take(BEGINNING_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let kind = if bytes.is_empty() { None } else { Some(kind(path, &bytes, language)?) };
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0).filter(|_| kind != Some(Kind::Bitcode)) {
        return Err(SourceError::NotText { path: path.to_owned(), offset });
    }
    if there.len() > BYTES_MAX {
        return Err(SourceError::TooLarge(path.to_owned()));
    }
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    match kind {
        Some(kind) if !bytes.iter().all(u8::is_ascii_whitespace) => Ok((kind, bytes)),
        _ => Err(SourceError::Empty(path.to_owned())),
    }
}

/// Whether a file is a library for the linker: an archive, a shared library, or a script in the place of one.
pub(crate) fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if name.ends_with(".so") || name.contains(".so.") {
        return true;
    }
    let mut beginning = [0; 8];
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    is_file && read().is_ok() && [*b"!<arch>\n", *b"!<thin>\n"].contains(&beginning)
}

/// Endings of C++.
const CPP: [&str; 4] = ["cc", "cpp", "cxx", "C"];
/// Endings of the other kinds.
const OTHERS: [&str; 3] = ["ll", "bc", "c"];

/// Whether a file is C++ by its name, or by the `language` that was said of files whose name tells none.
pub(crate) fn is_cpp(path: &Path, language: Option<Kind>) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    CPP.contains(&ending) || (language == Some(Kind::Cpp) && !OTHERS.contains(&ending))
}

/// Whether a file is assembly, which clang makes an object of.
pub(crate) fn is_assembly(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "s" || ending == "S")
}

fn read_standard_input(input: impl Read, language: Option<Kind>) -> Result<(Kind, Vec<u8>), SourceError> {
    let name = || PathBuf::from(STANDARD_INPUT);
    let mut bytes = Vec::new();
    let read = input.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| SourceError::Unreadable { path: name(), error })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(SourceError::TooLarge(name()));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(SourceError::Empty(name()));
    }
    let kind = by_content(&bytes).or(language).ok_or(SourceError::StandardInput)?;
    match bytes.iter().position(|&byte| byte == 0).filter(|_| kind != Kind::Bitcode) {
        Some(offset) => Err(SourceError::NotText { path: name(), offset }),
        None => Ok((kind, bytes)),
    }
}

/// Reads a file that is an object for a linker, or something that was linked; `None` if it is neither, or cannot be
/// read: [`read`] then returns the reason.
pub(crate) fn read_object(path: &Path) -> Result<Option<Vec<u8>>, SourceError> {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let Some(mut file) = is_file.then(|| File::open(path).ok()).flatten() else { return Ok(None) };
    let unreadable = |error| SourceError::Unreadable { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    file.by_ref().take(4).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes != b"\x7fELF" {
        return Ok(None);
    }
    if file.metadata().map_err(unreadable)?.len() > BYTES_MAX {
        return Err(SourceError::TooLarge(path.to_owned()));
    }
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Bitcode tells itself.
fn by_content(bytes: &[u8]) -> Option<Kind> {
    // Raw, and in the wrapper that Darwin tools put around it.
    let is_bitcode = bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(&0x0B17_C0DE_u32.to_le_bytes());
    is_bitcode.then_some(Kind::Bitcode)
}

fn kind(path: &Path, bytes: &[u8], language: Option<Kind>) -> Result<Kind, SourceError> {
    if let Some(kind) = by_content(bytes) {
        return Ok(kind);
    }
    match path.extension().and_then(OsStr::to_str) {
        Some("ll") => Ok(Kind::Text),
        Some("bc") => Ok(Kind::Bitcode),
        Some("c") => Ok(Kind::C),
        Some(ending) if CPP.contains(&ending) => Ok(Kind::Cpp),
        _ if bytes.starts_with(b"\x7fELF") => Err(SourceError::Object(path.to_owned())),
        _ => language.ok_or_else(|| SourceError::UnknownKind(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_bytes(name: &str, bytes: &[u8], length: u64) -> Result<Kind, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        // The rest is a hole: it takes no space on the disk.
        File::options().write(true).open(&path).unwrap().set_len(length.max(bytes.len() as u64)).unwrap();
        let message = |error: SourceError| error.to_string().replace(&format!("{}/", folder.path().display()), "");
        read(&path, None).map(|(kind, _)| kind).map_err(message)
    }

    #[test]
    fn the_kind_is_in_the_name_but_bitcode_in_the_bytes() {
        assert_eq!(read_bytes("a.ll", b"define", 0), Ok(Kind::Text));
        assert_eq!(read_bytes("a.c", b"int x;", 0), Ok(Kind::C));
        for name in ["a.bc", "a.ll", "a.bin", "a"] {
            assert_eq!(read_bytes(name, b"BC\xC0\xDE\0\0", 0), Ok(Kind::Bitcode));
        }
        assert!(read_bytes("a.o", b"\x7fELF\x02", 0).unwrap_err().contains("`tally build` links objects"));
        assert!(read_bytes("a.py", b"print(1)", 0).unwrap_err().starts_with("a.py: unknown kind of file"));
    }

    #[test]
    fn standard_input_is_of_the_language_that_was_said_unless_it_is_bitcode() {
        let read = |bytes: &[u8], language| read_standard_input(bytes, language).map(|(kind, _)| kind);
        let message = |bytes: &[u8], language| read(bytes, language).unwrap_err().to_string();
        assert_eq!(read(b"int x;", Some(Kind::C)).unwrap(), Kind::C);
        assert_eq!(read(b"BC\xC0\xDE\0\0", Some(Kind::C)).unwrap(), Kind::Bitcode);
        assert_eq!(message(b"int x;", None), "<stdin>: unknown kind of file; say its language by -x: c, c++ or ir");
        assert_eq!(message(b" \n", Some(Kind::C)), "<stdin>: is empty");
        assert!(message(b"int\0", Some(Kind::C)).starts_with("<stdin>: is not text: byte 3 is zero"));
    }

    #[test]
    fn a_gigabyte_of_nothing_is_refused_by_its_beginning() {
        for name in ["a.ll", "a.c"] {
            let message = read_bytes(name, b"", 1 << 30).unwrap_err();
            assert!(message.contains("is not text: byte 0 is zero"), "{message}");
        }
        assert_eq!(
            read_bytes("a.bc", b"BC\xC0\xDE", 1 << 30),
            Err("a.bc: is larger than 512 MiB; split the module".into())
        );
    }

    #[test]
    fn blank_text_is_empty() {
        assert_eq!(read_bytes("a.ll", b" \n", 0), Err("a.ll: is empty".into()));
        assert_eq!(read_bytes("a", b"", 0), Err("a: is empty".into()));
    }
}
