//! A second opinion about roots: the same program over LLVM's own shadow stack.
//!
//! Tally's maps are compared with a program that knows nothing of them. Its functions have LLVM's strategy
//! `shadow-stack`, which links each frame's roots into a list while the program runs; it is compiled without any
//! pass, and allocates with calloc. At every allocation both builds report the objects in their roots, by number in
//! order of allocation (`second_opinion/witness.c`), and the shadow build also reports the roots that were read
//! later. At each look
//!
//! ```text
//! what is read from a root later  ⊆  what Tally's map leads to  ⊆  what the shadow stack holds
//! ```
//!
//! as multisets of objects. A lost root breaks the left side; a slot that is named while it holds another value or
//! none breaks the right side. Between them liveness decides: a root that is not used again need not be in the map.
//!
//! `instrument.rs` makes the two texts of one; `tests/tests/suite/second_opinion.rs` runs examples, hazards and
//! random programs, and maps damaged on purpose; `cargo run -p tally-tests --bin random_programs -- --second-opinion`
//! runs any number.

pub mod instrument;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::random_program::passes::CLANG;
use tally_kit::tally_command::{describe, run, source_tree};

const WITNESS: &str = include_str!("second_opinion/witness.c");

/// The extent of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Allocations and collections at which both builds looked.
    pub looks: u64,
    /// References that the maps led to.
    pub found: u64,
    /// References that were read from their roots later.
    pub needed: u64,
    /// References that the shadow stack held.
    pub held: u64,
}

impl std::ops::AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.looks += other.looks;
        self.found += other.found;
        self.needed += other.needed;
        self.held += other.held;
    }
}

/// `witness.c`, compiled for both builds, and modules that many programs are linked with.
#[derive(Debug)]
pub struct Witness {
    shadow: PathBuf,
    tally: PathBuf,
    /// Their objects over the shadow stack.
    shared: HashMap<PathBuf, PathBuf>,
}

impl Witness {
    /// Compiles it into a folder, and the modules of textual IR that programs share.
    ///
    /// # Errors
    /// The message of clang.
    pub fn compile(folder: &Path, modules: &[PathBuf]) -> Result<Witness, String> {
        let source = folder.join("witness.c");
        std::fs::write(&source, WITNESS).map_err(|error| error.to_string())?;
        let shared = modules.iter().enumerate().map(|(number, module)| {
            Ok((module.clone(), over_shadow_stack(&read(module)?, &folder.join(format!("shared{number}.ll")))?))
        });
        Ok(Witness {
            shadow: compile(&source, &folder.join("witness.shadow.o"), &["-c", "-DSHADOW"])?,
            tally: compile(&source, &folder.join("witness.ll"), &["-S", "-emit-llvm"])?,
            shared: shared.collect::<Result<_, String>>()?,
        })
    }
}

/// A program in a folder of its own, with its shadow build's account.
#[derive(Debug)]
pub struct Opinion {
    folder: PathBuf,
    files: Vec<PathBuf>,
    arguments: Vec<OsString>,
    shadow: Account,
    output: Vec<u8>,
    looks_max: u64,
}

impl Opinion {
    /// Builds modules of textual IR over the shadow stack and runs them until `looks_max` allocations were made.
    /// `native` is linked as it is.
    ///
    /// # Errors
    /// The message of a tool, or the program's exit status.
    pub fn of(
        witness: &Witness,
        folder: &Path,
        modules: &[PathBuf],
        native: &[PathBuf],
        arguments: &[OsString],
        looks_max: u64,
    ) -> Result<Opinion, String> {
        let (mut shadow, mut files) = (vec![witness.shadow.clone()], vec![witness.tally.clone()]);
        for (number, module) in modules.iter().enumerate() {
            let (text, file) = (read(module)?, folder.join(format!("{number}.tally.ll")));
            std::fs::write(&file, instrument::for_tally(&text)).map_err(|error| error.to_string())?;
            files.push(file);
            shadow.push(match witness.shared.get(module) {
                Some(made) => made.clone(),
                None => over_shadow_stack(&text, &folder.join(format!("{number}.shadow.ll")))?,
            });
        }
        for (number, file) in native.iter().enumerate() {
            shadow.push(compile(file, &folder.join(format!("{number}.native.o")), &["-c"])?);
            files.push(compile(file, &folder.join(format!("{number}.native.ll")), &["-S", "-emit-llvm"])?);
        }
        let executable = folder.join("shadow");
        link(&shadow, &executable)?;
        let mut opinion = Opinion {
            folder: folder.to_owned(),
            files,
            arguments: arguments.to_vec(),
            shadow: Account::default(),
            output: Vec::new(),
            looks_max,
        };
        (opinion.shadow, opinion.output) = opinion.run(&executable)?;
        Ok(opinion)
    }

    /// Builds the program with Tally and these options, runs it, and compares the two reports.
    ///
    /// # Errors
    /// The message of a tool, or the first look at which they differ.
    pub fn compare(&self, tally: &Path, options: &[&str]) -> Result<Compared, String> {
        self.compare_files(tally, options, &self.files)
    }

    /// The same, but each module is changed after it was lowered: tests damage maps this way.
    ///
    /// # Errors
    /// The same.
    pub fn compare_changed(
        &self,
        tally: &Path,
        options: &[&str],
        change: impl Fn(&str) -> String,
    ) -> Result<Compared, String> {
        let mut files = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let lowered = self.folder.join(format!("{number}.lowered.ll"));
            let arguments: Vec<OsString> = [OsString::from("lower"), "-o".into(), lowered.clone().into(), file.into()]
                .into_iter()
                .chain(options.iter().map(OsString::from))
                .collect();
            succeeds(tally, &arguments)?;
            let text = std::fs::read_to_string(&lowered).map_err(|error| error.to_string())?;
            std::fs::write(&lowered, change(&text)).map_err(|error| error.to_string())?;
            files.push(lowered);
        }
        self.compare_files(tally, &[], &files)
    }

    fn compare_files(&self, tally: &Path, options: &[&str], files: &[PathBuf]) -> Result<Compared, String> {
        let executable = self.folder.join("tally");
        let mut arguments: Vec<OsString> = vec!["build".into(), "-o".into(), executable.clone().into()];
        arguments.extend(options.iter().map(OsString::from));
        arguments.extend(files.iter().map(OsString::from));
        succeeds(tally, &arguments)?;
        let (account, output) = self.run(&executable)?;
        if output != self.output {
            return Err("the two builds print different things".to_owned());
        }
        account.against(&self.shadow)
    }

    fn run(&self, executable: &Path) -> Result<(Account, Vec<u8>), String> {
        let place = self.folder.join("account");
        let named = place.to_string_lossy();
        let looks = self.looks_max.to_string();
        let done = run(executable, &self.arguments, &[("WITNESS_FILE", &*named), ("WITNESS_LOOKS", &looks)]);
        if !done.status.success() {
            return Err(format!("{}: {}", executable.display(), describe(&done)));
        }
        let text = std::fs::read_to_string(&place).map_err(|error| format!("{named}: {error}"))?;
        Ok((Account::read(&text)?, done.stdout))
    }
}

fn read(module: &Path) -> Result<String, String> {
    std::fs::read_to_string(module).map_err(|error| format!("{}: {error}", module.display()))
}

/// Writes the module's text for the shadow stack to `file`, and compiles that; returns the path of the object.
fn over_shadow_stack(text: &str, file: &Path) -> Result<PathBuf, String> {
    std::fs::write(file, instrument::for_shadow_stack(text)).map_err(|error| error.to_string())?;
    compile(file, &file.with_extension("o"), &["-c", "-O0"])
}

/// Compiles a file with clang 22; returns the path of the result.
fn compile(file: &Path, to: &Path, options: &[&str]) -> Result<PathBuf, String> {
    let mut arguments: Vec<OsString> =
        ["-O1", "-w", "-fPIC", "-fasynchronous-unwind-tables", "-fexceptions", "-I"].map(OsString::from).to_vec();
    arguments.push(source_tree().join("aot-runtime/include").into());
    arguments.extend(options.iter().map(OsString::from));
    arguments.extend([file.into(), OsString::from("-o"), to.into()]);
    succeeds(Path::new(CLANG), &arguments)?;
    Ok(to.to_owned())
}

fn link(objects: &[PathBuf], to: &Path) -> Result<(), String> {
    let mut arguments: Vec<OsString> = objects.iter().map(OsString::from).collect();
    arguments.extend(["-lm".into(), "-o".into(), to.into()]);
    succeeds(Path::new(CLANG), &arguments)
}

fn succeeds(program: &Path, arguments: &[OsString]) -> Result<(), String> {
    let done = run(program, arguments, &[]);
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{} {}: {}", program.display(), words.join(" "), describe(&done)))
    }
}

/// The report of a build.
#[derive(Debug, Default)]
struct Account {
    /// At each look, the objects in roots, with the number of roots.
    looks: Vec<HashMap<u64, u64>>,
    /// An object, and the first and last look at which a root held it that was read later.
    needs: Vec<(u64, usize, usize)>,
}

impl Account {
    fn read(text: &str) -> Result<Account, String> {
        let mut account = Account::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let kind = words.next();
            let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
            match (kind, numbers.as_deref()) {
                (Some("l"), Some(numbers)) => {
                    let mut look = HashMap::new();
                    numbers.iter().for_each(|&object| *look.entry(object).or_default() += 1);
                    account.looks.push(look);
                }
                (Some("n"), Some(&[object, from, to])) => account.needs.push((object, from as usize, to as usize)),
                _ => return Err(format!("the witness said {line:?}")),
            }
        }
        Ok(account)
    }

    /// Compares the report of Tally's build with the shadow build's.
    fn against(&self, shadow: &Account) -> Result<Compared, String> {
        if self.looks.len() != shadow.looks.len() {
            return Err(format!("{} looks, the shadow build has {}", self.looks.len(), shadow.looks.len()));
        }
        let mut compared = Compared { looks: self.looks.len() as u64, ..Compared::default() };
        let mut needed: Vec<HashMap<u64, u64>> = vec![HashMap::new(); self.looks.len()];
        for &(object, from, to) in &shadow.needs {
            for look in from..=to.min(needed.len()) {
                *needed[look - 1].entry(object).or_default() += 1;
            }
        }
        for (number, ((found, held), needed)) in self.looks.iter().zip(&shadow.looks).zip(&needed).enumerate() {
            let times = |of: &HashMap<u64, u64>, object: u64| of.get(&object).copied().unwrap_or(0);
            let at = number + 1;
            for (&object, &count) in found {
                if count > times(held, object) {
                    return Err(format!(
                        "look {at}: {count} roots of the map hold object {object}, on the shadow stack {}",
                        times(held, object)
                    ));
                }
            }
            for (&object, &count) in needed {
                if count > times(found, object) {
                    return Err(format!(
                        "look {at}: {count} roots that hold object {object} are read later, {} are in the map",
                        times(found, object)
                    ));
                }
            }
            let all = |of: &HashMap<u64, u64>| of.values().sum::<u64>();
            compared += Compared { looks: 0, found: all(found), needed: all(needed), held: all(held) };
        }
        Ok(compared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_lies_between_what_is_needed_and_what_is_held() {
        let shadow = Account::read("l\nl 1 1\nl 1 2\nn 1 2 3\nl 2\n").expect("an account");
        let says = |text: &str| Account::read(text).expect("an account").against(&shadow);
        let all = Compared { looks: 4, found: 3, needed: 2, held: 5 };
        assert_eq!(says("l\nl 1 1\nl 1\nl\n"), Ok(all));
        assert_eq!(says("l\nl 1\nl 1\nl 2\n"), Ok(all));
        for (text, why) in [
            ("l\nl 1\nl 2\nl\n", "look 3: 1 roots that hold object 1 are read later, 0 are in the map"),
            ("l 1\nl 1\nl 1\nl\n", "look 1: 1 roots of the map hold object 1, on the shadow stack 0"),
            ("l\nl 1 1 1\nl 1\nl\n", "look 2: 3 roots of the map hold object 1, on the shadow stack 2"),
            ("l\nl 1\nl 1\n", "3 looks, the shadow build has 4"),
        ] {
            assert_eq!(says(text), Err(why.to_owned()));
        }
        assert!(Account::read("l 1 x\n").is_err());
    }
}
