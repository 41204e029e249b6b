//! The source line of a finding, and the part of it that is marked.
//!
//! Debug locations are not trusted: the file may have changed, be a device, or contain control sequences for a
//! terminal. So only regular files are read, up to a limit, and control characters are replaced. If the line does not
//! exist, nothing is shown.

use super::Diagnostic;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Longer lines are not shown: no terminal has room for them.
const LINE_BYTES_MAX: usize = 400;

/// One line of a source file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The line, fit to be printed.
    pub(super) text: String,
    /// The bytes of it that are marked; never none.
    pub(super) marked: Range<usize>,
}

/// The source file that was read last: findings come in the order of the program.
#[derive(Debug, Default)]
pub(super) struct Sources {
    last: Option<(PathBuf, Vec<u8>)>,
}

impl Sources {
    /// The source line of `finding`, if its file is readable.
    pub(super) fn excerpt(&mut self, finding: &Diagnostic) -> Option<Excerpt> {
        let (file, line) = (Path::new(finding.file.as_ref()?), usize::try_from(finding.line?).ok()?);
        let from_folder = finding.place.as_ref().map(|place| Path::new(&place.folder).join(file));
        let text = from_folder.into_iter().chain([file.to_owned()]).find(|path| path.is_file())?;
        let line = self.bytes(&text)?.split(|&byte| byte == b'\n').nth(line.checked_sub(1)?)?;
        excerpt(line.strip_suffix(b"\r").unwrap_or(line), finding.place.as_ref().map_or(0, |place| place.column))
    }

    fn bytes(&mut self, path: &Path) -> Option<&[u8]> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let mut bytes = Vec::new();
            File::open(path).ok()?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
            self.last = Some((path.to_owned(), bytes));
        }
        self.last.as_ref().map(|(_, bytes)| bytes.as_slice()).filter(|bytes| bytes.len() as u64 <= FILE_BYTES_MAX)
    }
}

/// The line with the word at `column` marked; the whole line if no column is known, or it lies outside the line.
fn excerpt(line: &[u8], column: u32) -> Option<Excerpt> {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let first = line.iter().position(|byte| !is_blank(byte))?;
    let end = line.iter().rposition(|byte| !is_blank(byte))? + 1;
    if end > LINE_BYTES_MAX {
        return None;
    }
    let at = usize::try_from(column).ok().and_then(|column| column.checked_sub(1)).filter(|&at| at < end);
    let marked = match at {
        None => first..end,
        Some(at) => {
            let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || !byte.is_ascii();
            at..at + line[at..end].iter().take_while(is_word).count().max(1)
        }
    };
    let parts = [&line[..marked.start], &line[marked.clone()], &line[marked.end..end]].map(printable);
    let marked = parts[0].len()..parts[0].len() + parts[1].len();
    Some(Excerpt { text: parts.concat(), marked })
}

/// Text without characters that control a terminal: control characters, and those that change the direction of
/// writing.
pub(super) fn printable(bytes: &[u8]) -> String {
    let obeyed = |letter: char| letter.is_control() && letter != '\t';
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let replaced = |letter: char| if obeyed(letter) || turns(letter) { char::REPLACEMENT_CHARACTER } else { letter };
    String::from_utf8_lossy(bytes).chars().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourcePlace;

    fn marked(line: &[u8], column: u32) -> (String, String) {
        let excerpt = excerpt(line, column).unwrap();
        (excerpt.text.clone(), excerpt.text[excerpt.marked].to_owned())
    }

    #[test]
    fn the_word_at_the_column_is_marked() {
        let line = b"  node->next = make(1);  ";
        let text = "  node->next = make(1);";
        for (column, word) in [(3, "node"), (9, "next"), (7, "-"), (16, "make")] {
            assert_eq!(marked(line, column), (text.into(), word.into()));
        }
    }

    #[test]
    fn a_line_without_a_known_column_is_marked_as_a_whole() {
        for column in [0, 11, u32::MAX] {
            assert_eq!(marked(b"  f(g());", column).1, "f(g());");
        }
        assert_eq!(excerpt(b"  \t ", 1), None);
        assert_eq!(excerpt(&[b'x'; 10_000], 1), None);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown() {
        let (text, word) = marked("\x1b[31m gr\u{fc}n \u{202e}(\x07".as_bytes(), 7);
        assert_eq!((text.as_str(), word.as_str()), ("\u{fffd}[31m gr\u{fc}n \u{fffd}(\u{fffd}", "gr\u{fc}n"));
        // Half a letter, because of a wrong column.
        assert_eq!(marked("\u{fc}x".as_bytes(), 2).1, "\u{fffd}x");
    }

    #[test]
    fn files_that_are_no_files_or_end_before_the_line_show_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.c"), "one\ntwo\r\n").unwrap();
        let finding = |file: &str, line| Diagnostic {
            line: Some(line),
            place: Some(Box::new(SourcePlace { folder: folder.path().to_str().unwrap().into(), column: 1 })),
            ..Diagnostic::about_module(file, "wrong")
        };
        let mut sources = Sources::default();
        let two = Excerpt { text: "two".into(), marked: 0..3 };
        assert_eq!(sources.excerpt(&finding("a.c", 2)), Some(two));
        for (file, line) in [("a.c", 0), ("a.c", 3), ("a.c", 4), ("b.c", 1), (".", 1), ("/dev/zero", 1)] {
            assert_eq!(sources.excerpt(&finding(file, line)), None, "{file}:{line}");
        }
        std::fs::write(folder.path().join("large.c"), vec![b'x'; FILE_BYTES_MAX as usize + 1]).unwrap();
        assert_eq!(sources.excerpt(&finding("large.c", 1)), None);
    }
}
