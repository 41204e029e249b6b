//! clang for tests that run one C program in many ways: what it made of a file once it does not make again.
//!
//! `tally` turns a C file into the same bitcode whatever the level and the plan, and the suites run each program in about twenty
//! ways. `TALLY_CLANG` names this program for them (`kit/src/tally_command.rs`); `CLANG_ONCE` is the folder of what was made, which
//! `cargo xtask test` empties before it begins. A compilation is the same if arguments, place, source and headers beside it and in
//! the folder of `-I` are the same, but for the names of folders that `tally` makes for one run. Only what was made without a word
//! is kept; everything else goes to clang as it is.
//!
//! Links are made once as far as they are alike: which command of lld they are is asked of clang once, and `libtally.a` loses its
//! debug information once, which is most of its bytes. lld then takes half the time, and clang need not start.

use std::hash::{DefaultHasher, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

/// Stand in a link's command where its inputs and its output belong.
const INPUTS: &str = "INPUTS.o";
const OUTPUT: &str = "OUTPUT";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let Some(kept) = env::var_os("CLANG_ONCE").map(|folder| Kept { folder: folder.into() }) else {
        return as_it_is(&words);
    };
    match kept.answer(&words) {
        Ok(Some(code)) => code,
        Ok(None) | Err(_) => as_it_is(&words),
    }
}

/// clang itself, instead of this.
fn as_it_is(words: &[String]) -> ExitCode {
    let error = clang().args(words).exec();
    eprintln!("clang_once: cannot run clang: {error}");
    ExitCode::FAILURE
}

fn clang() -> Command {
    let on_path =
        env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|at| at.join("clang-22").is_file()));
    Command::new(if on_path { "clang-22" } else { "/usr/lib/llvm-22/bin/clang" })
}

/// What was made.
struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Does what the words ask for with what is kept, and keeps what it makes; `None`: clang is to do it.
    fn answer(&self, words: &[String]) -> io::Result<Option<ExitCode>> {
        let has = |word: &str| words.iter().any(|given| given == word);
        if words == ["--version"] {
            return Ok(Some(ExitCode::SUCCESS));
        }
        if let [asked] = words
            && asked.starts_with("-print-prog-name=")
        {
            let said = self.text_of(&asked.replace('/', "_"), || {
                let said = clang().arg(asked).output()?;
                Ok(said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned()))
            })?;
            return Ok(said.map(|said| {
                print!("{said}");
                ExitCode::SUCCESS
            }));
        }
        if has("-fuse-ld=lld") && has("-lgcc_s") {
            return self.link(words);
        }
        if has("-emit-llvm") { self.compile(words) } else { Ok(None) }
    }

    /// The text in the file of that name, which is made if need be.
    fn text_of(&self, name: &str, make: impl FnOnce() -> io::Result<Option<String>>) -> io::Result<Option<String>> {
        let place = self.folder.join(name);
        if let Ok(text) = fs::read_to_string(&place) {
            return Ok(Some(text));
        }
        let Some(text) = make()? else { return Ok(None) };
        self.keep(&place, |made| fs::write(made, &text))?;
        Ok(Some(text))
    }

    /// Makes a file under another name first. Another process may make the same: who is last puts equal bytes in place of equal bytes.
    fn keep(&self, place: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let made = self.folder.join(format!("{}.being-made", std::process::id()));
        make(&made)?;
        fs::rename(made, place)
    }

    /// Bitcode of a C file.
    fn compile(&self, words: &[String]) -> io::Result<Option<ExitCode>> {
        let Some(compilation) = Compilation::of(words) else { return Ok(None) };
        let made = self.folder.join(format!("{}.bc", compilation.key()?));
        if fs::copy(&made, compilation.output).is_ok() {
            return Ok(Some(ExitCode::SUCCESS));
        }
        let said = clang().args(words).output()?;
        let text = [said.stdout, said.stderr].concat();
        if !text.is_empty() {
            eprint!("{}", String::from_utf8_lossy(&text));
        } else if said.status.success() {
            self.keep(&made, |made| fs::copy(compilation.output, made).map(drop))?;
        }
        Ok(Some(said.status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8))))
    }

    /// A link of objects and `libtally.a`.
    fn link(&self, words: &[String]) -> io::Result<Option<ExitCode>> {
        let output = words.iter().position(|word| word == "-o").and_then(|at| words.get(at + 1));
        let Some(output) = output else { return Ok(None) };
        let is_object = |word: &&String| word.ends_with(".o");
        let is_library = |word: &&String| word.ends_with("/libtally.a");
        let objects = words.iter().filter(is_object);
        let Some(library) = words.iter().find(is_library) else { return Ok(None) };
        let is_output = |word: &&String| *word == "-o" || *word == output;
        let flags: Vec<&String> =
            words.iter().filter(|word| !is_object(word) && !is_library(word) && !is_output(word)).collect();
        // Some symbols' names are longer than a file's may be.
        let name = format!("link-{}", key_of(flags.iter().map(|flag| flag.as_bytes())));
        let Some(command) = self.text_of(&name, || self.command_of_link(&flags))? else { return Ok(None) };
        let inputs: Vec<String> = objects.cloned().chain([self.stripped(library)?]).collect();
        let place_of_inputs = self.folder.join(INPUTS);
        let replaced = command.lines().flat_map(|word| match word {
            OUTPUT => vec![output.clone()],
            word if Path::new(word) == place_of_inputs => inputs.clone(),
            word => vec![word.to_owned()],
        });
        let replaced: Vec<String> = replaced.collect();
        let Some((linker, words)) = replaced.split_first() else { return Ok(None) };
        Err(Command::new(linker).args(words).exec())
    }

    /// The command of lld by which clang would make such a link, a word in a line.
    fn command_of_link(&self, flags: &[&String]) -> io::Result<Option<String>> {
        let inputs = self.folder.join(INPUTS);
        fs::write(&inputs, "")?;
        let after = flags.iter().position(|flag| flag.starts_with("-lgcc_s")).unwrap_or(flags.len());
        let said = clang()
            .arg("-###")
            .args(&flags[..after])
            .arg(inputs)
            .args(&flags[after..])
            .args(["-o", OUTPUT])
            .output()?;
        let said = String::from_utf8_lossy(&said.stderr);
        // Each word in quotes; one with a quote or a line in it is none that a link of these tests has.
        let words = said
            .lines()
            .find(|line| line.contains("ld.lld"))
            .map(|line| line.split('"').skip(1).step_by(2).map(|word| format!("{word}\n")).collect::<String>());
        Ok(words.filter(|words| !words.contains('\\')))
    }

    /// The library without its debug information.
    fn stripped(&self, library: &str) -> io::Result<String> {
        let place = self.folder.join(library.replace('/', "_"));
        if !place.is_file() {
            self.keep(&place, |made| {
                let done = Command::new("objcopy").arg("--strip-debug").arg(library).arg(made).status()?;
                if done.success() { Ok(()) } else { Err(io::Error::other("objcopy failed")) }
            })?;
        }
        Ok(place.to_string_lossy().into_owned())
    }
}

/// The words of a compilation to bitcode.
struct Compilation<'a> {
    source: &'a Path,
    output: &'a Path,
    include: &'a Path,
    /// Those that are the same in all runs.
    same: Vec<&'a str>,
}

impl Compilation<'_> {
    fn of(words: &[String]) -> Option<Compilation<'_>> {
        let (mut source, mut output, mut include, mut same) = (None, None, None, Vec::new());
        let mut before = "";
        for word in words {
            match before {
                "-o" => output = Some(Path::new(word)),
                "-I" => include = Some(Path::new(word)),
                _ if word.starts_with("-ffile-prefix-map=") => {}
                _ => {
                    source = if word.ends_with(".c") { Some(Path::new(word)) } else { source };
                    same.push(word.as_str());
                }
            }
            before = word;
        }
        Some(Compilation {
            source: source.filter(|source| source.is_file())?,
            output: output?,
            include: include?,
            same,
        })
    }

    /// The name of what it makes.
    fn key(&self) -> io::Result<String> {
        let mut parts = vec![env::current_dir()?.into_os_string().into_encoded_bytes()];
        parts.extend(self.same.iter().map(|word| word.as_bytes().to_vec()));
        parts.push(fs::read(self.source)?);
        let beside = self.source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for folder in [self.include, beside] {
            parts.extend(headers_in(folder)?);
        }
        Ok(key_of(parts.iter().map(Vec::as_slice)))
    }
}

/// The headers of a folder, by name.
fn headers_in(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(folder)? {
        let place = entry?.path();
        if place.extension().is_some_and(|ending| ending == "h") {
            places.push(place);
        }
    }
    places.sort();
    places.iter().map(fs::read).collect()
}

/// A name for such bytes: 128 bits, so that no two of a run's thousands are alike.
fn key_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
    halves[1].write_u8(1);
    for part in parts {
        for half in &mut halves {
            half.write_usize(part.len());
            half.write(part);
        }
    }
    halves.iter().map(|half| format!("{:016x}", half.finish())).collect()
}
