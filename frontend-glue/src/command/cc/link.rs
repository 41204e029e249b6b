//! What clang links for a command line, and by which linker.

use super::Failure;
use std::ffi::OsString;

/// Words with which clang does not link, or makes an object of objects.
const NO_LINK: [&str; 15] = [
    "-c",
    "--compile",
    "-S",
    "--assemble",
    "-E",
    "--preprocess",
    "-M",
    "--dependencies",
    "-MM",
    "--user-dependencies",
    "-fsyntax-only",
    "-emit-ast",
    "--analyze",
    "--precompile",
    "-r",
];
/// Words with which it makes a shared library.
const SHARED: [&str; 4] = ["-shared", "--shared", "-Wl,-shared", "-Wl,--shared"];
/// Options whose value is the next word: that is no input.
const WITH_A_VALUE: [&str; 38] = [
    "-o",
    "-x",
    "-D",
    "-U",
    "-I",
    "-L",
    "-l",
    "-F",
    "-B",
    "-T",
    "-e",
    "-u",
    "-z",
    "-A",
    "-arch",
    "-target",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-iframework",
    "-framework",
    "-rpath",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xclang",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-mllvm",
    "--param",
    "--sysroot",
];

/// What is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Nothing,
    /// It takes the runtime of the program that loads it.
    Library,
    Executable,
}

impl Link {
    /// What a command line links, whose response files were read.
    pub(super) fn of(words: &[OsString]) -> Link {
        let has = |options: &[&str]| words.iter().any(|word| options.iter().any(|option| word == option));
        match has(&SHARED) {
            _ if has(&NO_LINK) || !has_input(words) => Link::Nothing,
            true => Link::Library,
            false => Link::Executable,
        }
    }

    /// Whether lld links, with the plugin: it compiles what was left to the link. A library of finished code has the linker that clang has
    /// for it.
    pub(super) fn is_by_lld(self, words: &[OsString], has_lld: impl Fn() -> bool) -> Result<bool, Failure> {
        let named = words.iter().rev().find_map(|word| word.to_str()?.strip_prefix("-fuse-ld="));
        let is_left_to_link = leaves_code_to_the_link(words);
        match self {
            Link::Nothing => Ok(false),
            Link::Library | Link::Executable if is_left_to_link && named.is_some_and(|name| name != "lld") => {
                let name = named.unwrap_or_default();
                Err(Failure(format!("-flto needs lld, which loads the plugin at the link; leave out -fuse-ld={name}")))
            }
            Link::Library | Link::Executable if named.is_some() => Ok(named == Some("lld")),
            Link::Library => Ok(is_left_to_link && has_lld()),
            Link::Executable => Ok(has_lld()),
        }
    }
}

fn leaves_code_to_the_link(words: &[OsString]) -> bool {
    let last = words.iter().rev().find(|word| {
        let word = word.as_encoded_bytes();
        word == b"-flto" || word.starts_with(b"-flto=") || word == b"-fno-lto"
    });
    last.is_some_and(|word| word != "-fno-lto")
}

/// Whether there is a file, or standard input, to compile or link.
fn has_input(words: &[OsString]) -> bool {
    words.iter().enumerate().any(|(place, word)| {
        let is_option = word.len() > 1 && word.as_encoded_bytes().starts_with(b"-");
        let is_value = place.checked_sub(1).is_some_and(|before| WITH_A_VALUE.iter().any(|it| words[before] == *it));
        !is_option && !is_value && !word.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::Link;
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn clang_links_where_it_has_an_input_and_no_other_order() {
        for line in [
            "main.c",
            "-O2 a.o b.o -o program",
            "-x c - main.o",
            "-x c -o p -",
            "-x c list -o p",
            "list.lo -o p",
            "a.os b.so.1",
        ] {
            assert_eq!(Link::of(&words(line)), Link::Executable, "{line}");
        }
        for line in ["-shared a.o -o a.so", "--shared a.o", "-fPIC a.c -Wl,-shared"] {
            assert_eq!(Link::of(&words(line)), Link::Library, "{line}");
        }
        for line in [
            "--version",
            "-v",
            "-c main.c",
            "--compile main.c",
            "-E main.c",
            "-dumpmachine",
            "-MM main.c",
            "-shared -c a.c",
            "-emit-ast a.c",
            "-target x86_64-linux-gnu -print-search-dirs",
            "-o program -MF a.d --version",
            "-r a.o b.o",
        ] {
            assert_eq!(Link::of(&words(line)), Link::Nothing, "{line}");
        }
    }

    #[test]
    fn lld_links_executables_and_whatever_is_compiled_at_the_link() {
        let by_lld = |line: &str| {
            let words = words(line);
            Link::of(&words).is_by_lld(&words, || true).map_err(|failure| failure.0)
        };
        for line in ["main.c", "-shared -flto a.c", "-flto=thin a.o", "-fuse-ld=lld a.o", "-shared -fuse-ld=lld a.o"] {
            assert_eq!(by_lld(line), Ok(true), "{line}");
        }
        for line in ["-shared a.c", "-c -flto a.c", "-fuse-ld=bfd a.o", "-shared -flto -fno-lto a.o", "-flto --version"]
        {
            assert_eq!(by_lld(line), Ok(false), "{line}");
        }
        assert!(by_lld("-flto -fuse-ld=bfd a.c").is_err_and(|message| message.contains("leave out -fuse-ld=bfd")));
    }
}
