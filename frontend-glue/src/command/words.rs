//! The words of a command line before clap reads them: response files, and long options that compilers spell with one dash.
//!
//! `@FILE` stands for the words in FILE, as builds write them that would exceed the system's limit: between blanks, quoted by `'…'`,
//! `"…"` or a backslash, with files of files. `-std=c11`, `-shared`, `-static`, `-no-pie`, `-rdynamic` and `-fexceptions` are read with two dashes.
//! Words behind `--` are the program's, and those of `tally cc` are clang's: both stay as they are.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::failure::Failure;

/// The largest response file.
const BYTES_MAX: u64 = 64 << 20;
/// How many files may refer to each other in a row.
const DEPTH_MAX: usize = 8;

/// Compilers spell these with one dash.
const WITH_ONE_DASH: [&str; 5] = ["-shared", "-static", "-no-pie", "-rdynamic", "-fexceptions"];

/// The commands that read no words themselves.
const OF_CLANG: [&str; 2] = ["cc", "c++"];

/// The command line with the words of its response files in their place.
pub(super) fn with_response_files(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if is_of_clang(&words) { Ok(words) } else { expanded(words) }
}

/// The same, whoever's words they are.
pub(super) fn expanded(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let mut all = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    for word in words.by_ref() {
        if word == "--" {
            all.push(word);
            break;
        }
        push(word, Path::new("the command line"), 0, &mut all)?;
    }
    all.extend(words);
    Ok(all)
}

/// The command line with two dashes before long options.
pub(super) fn with_two_dashes(words: Vec<OsString>) -> Vec<OsString> {
    if is_of_clang(&words) {
        return words;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_long = |word: &OsStr| word.as_bytes().starts_with(b"-std=") || WITH_ONE_DASH.iter().any(|&it| word == it);
    let word = |(place, word): (usize, OsString)| match place < end && is_long(&word) {
        true => super::sources::joined("-", &word),
        false => word,
    };
    words.into_iter().enumerate().map(word).collect()
}

fn is_of_clang(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|command| OF_CLANG.iter().any(|name| command == name))
}

/// Adds a word, or those of the response file that it names.
fn push(word: OsString, within: &Path, depth: usize, all: &mut Vec<OsString>) -> Result<(), Failure> {
    let Some(name) = word.as_bytes().strip_prefix(b"@").filter(|name| !name.is_empty()) else {
        all.push(word);
        return Ok(());
    };
    let file = Path::new(OsStr::from_bytes(name));
    if depth == DEPTH_MAX {
        return Err(Failure(format!("@{}: more than {DEPTH_MAX} response files within each other", file.display())));
    }
    for word in split(&read(file, within)?) {
        push(word, file, depth + 1, all)?;
    }
    Ok(())
}

fn read(file: &Path, within: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |reason: &dyn std::fmt::Display| {
        let named = format!("the response file {} of {}", file.display(), within.display());
        Failure(format!("{named} cannot be read: {reason}; for a file of that name write ./@{}", file.display()))
    };
    let there = std::fs::metadata(file).map_err(|error| refused(&error))?;
    if !there.is_file() {
        return Err(refused(&"it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).and_then(|opened| opened.take(BYTES_MAX + 1).read_to_end(&mut bytes));
    opened.map_err(|error| refused(&error))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(refused(&format_args!("it is larger than {} MiB", BYTES_MAX >> 20)));
    }
    Ok(bytes)
}

/// The words of a text, as compilers on Unix read them.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => {
                let next = bytes.next();
                word.get_or_insert_default().extend(next);
            }
            (byte, Some(end)) if byte == end => quote = None,
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::{split, with_response_files, with_two_dashes};
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn response_files_are_read_with_quotes_and_files_of_files() {
        assert_eq!(split(b"-O2 \t'a b.c'\n\"c \\\" d\" e\\ f ''"), ["-O2", "a b.c", "c \" d", "e f", ""]);
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(name("inner"), "b.c -lm").unwrap();
        std::fs::write(name("outer"), format!("a.c @{}\n", name("inner"))).unwrap();
        std::fs::write(name("loop"), format!("@{}", name("loop"))).unwrap();
        let line = |text: &str| with_response_files(words(text)).map_err(|failure| failure.0);
        let outer = format!("tally build @{} -o p", name("outer"));
        assert_eq!(line(&outer).unwrap(), words("tally build a.c b.c -lm -o p"));
        assert!(line(&format!("tally build @{}", name("loop"))).unwrap_err().ends_with("within each other"));
        let missing = line(&format!("tally build @{}", name("missing"))).unwrap_err();
        assert!(missing.contains("of the command line cannot be read: No such file"), "{missing}");
        for untouched in ["tally cc @words", "tally run a.c -- @words", "tally build ./@words @"] {
            assert_eq!(line(untouched).unwrap(), words(untouched));
        }
    }

    #[test]
    fn compilers_spell_some_long_options_with_one_dash() {
        let line = |text: &str| with_two_dashes(words(text));
        assert_eq!(line("tally build -std=c11 -shared a.c"), words("tally build --std=c11 --shared a.c"));
        assert_eq!(line("tally run -fexceptions a.c"), words("tally run --fexceptions a.c"));
        for untouched in ["tally cc -shared a.c", "tally run a.c -- -static"] {
            assert_eq!(line(untouched), words(untouched));
        }
    }
}
