//! `cargo xtask install`: what a compiler's authors ship, laid out as Unix installs programs, or as a Debian package.
//!
//! Builds the release form and copies it below `--prefix`: the command, the three libraries, their headers, the documents, and the files by
//! which pkg-config, CMake, `man` and shells find all that (`texts`). Libraries are stripped of lines for debuggers. What is
//! installed is listed in `share/tally/installed.txt`, by which `--remove` takes it away again.

mod package;
mod texts;

use crate::failure::{Failure, Outcome};
use crate::{process, setup, tree};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

/// `cargo xtask install`
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder below which everything goes, as /usr/local
    #[arg(long, value_name = "DIR", required_unless_present = "deb")]
    prefix: Option<PathBuf>,
    /// Put the files below this folder instead of /, as makers of packages want them; --prefix is where they will be
    #[arg(long, value_name = "DIR", requires = "prefix")]
    destdir: Option<PathBuf>,
    /// Make a Debian package of what would be installed below /usr
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prefix", "destdir", "remove"])]
    deb: Option<PathBuf>,
    /// Remove what an installation at that prefix has put there
    #[arg(long)]
    remove: bool,
}

/// The list of what is installed, below the prefix.
const LIST: &str = "share/tally/installed.txt";
/// What goes to `lib`.
const LIBRARIES: [&str; 3] = ["libtally.a", "libtally_pass.so", "libtally_llvm.so"];
/// Folders of headers in the tree; what they hold goes to `include`.
const HEADERS: [&str; 2] = ["aot-runtime/include", "c-api/include"];
/// Documents that stand beside the folder `docs`.
const DOCUMENTS: [&str; 4] = ["README.md", "GLOSSARY.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Each shell's name for `tally completions`, and where it looks for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/tally"),
    ("zsh", "share/zsh/site-functions/_tally"),
    ("fish", "share/fish/vendor_completions.d/tally.fish"),
];

/// Installs, removes, or makes a package.
pub fn install(arguments: &Arguments) -> Outcome {
    if let Some(file) = &arguments.deb {
        make_package(file)?;
        println!("{}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let prefix = arguments.prefix.as_deref().expect("the command line has one without --deb");
    let prefix = std::path::absolute(prefix).map_err(|error| cannot("find", prefix, &error))?;
    let root = match &arguments.destdir {
        Some(other) => other.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix.clone(),
    };
    let installation = Installation { prefix, root };
    if arguments.remove {
        installation.remove()?;
        return Ok(ExitCode::SUCCESS);
    }
    let count = installation.fill()?;
    println!("{count} files below {}; {LIST} lists them", installation.root.display());
    println!("`cargo xtask install --remove` with the same folders takes them away");
    Ok(ExitCode::SUCCESS)
}

/// Installs everything below a folder.
pub fn install_at(prefix: &Path) -> Result<(), Failure> {
    Installation { prefix: prefix.to_owned(), root: prefix.to_owned() }.fill()?;
    Ok(())
}

/// Makes a Debian package of everything.
pub fn make_package(file: &Path) -> Result<(), Failure> {
    let folder = tree::release()?.join("deb");
    _ = std::fs::remove_dir_all(&folder);
    Installation { prefix: "/usr".into(), root: folder.join("usr") }.fill()?;
    package::make(&folder, file)
}

/// A place where Tally is installed.
struct Installation {
    /// Where the files say that they are.
    prefix: PathBuf,
    /// Where they are put.
    root: PathBuf,
}

impl Installation {
    /// Builds and installs everything; the number of files.
    fn fill(&self) -> Result<usize, Failure> {
        setup::ensure(setup::BUILD)?;
        let packages = ["-p", "tally-llvm", "-p", "aot-runtime", "-p", "tally-pass", "-p", "tally-c"];
        process::must_succeed(process::cargo().args(["build", "--release"]).args(packages))?;
        let built = tree::release()?;
        let mut files = Vec::new();
        self.copy(&built.join("tally"), "bin/tally", &mut files)?;
        for library in LIBRARIES {
            self.copy(&built.join(library), &format!("lib/{library}"), &mut files)?;
        }
        for binary in &files {
            process::must_succeed(process::command("strip").arg("--strip-debug").arg(self.root.join(binary)))?;
        }
        for folder in HEADERS {
            self.copy_all(&tree::root().join(folder), "include", &mut files)?;
        }
        for document in DOCUMENTS {
            self.copy(&tree::root().join(document), &format!("share/doc/tally/{document}"), &mut files)?;
        }
        self.copy_all(&tree::root().join("docs"), "share/doc/tally/docs", &mut files)?;
        for (name, text) in texts::all(&self.prefix) {
            self.write(name, text.as_bytes(), &mut files)?;
        }
        let tally = built.join("tally");
        for (shell, name) in COMPLETIONS {
            let text = process::output_of(process::command(&tally).args(["completions", shell]))?;
            self.write(name, text.as_bytes(), &mut files)?;
        }
        self.write_manuals(&tally, &mut files)?;
        files.push(LIST.to_owned());
        files.sort();
        self.write(LIST, (files.join("\n") + "\n").as_bytes(), &mut Vec::new())?;
        Ok(files.len())
    }

    fn write_manuals(&self, tally: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
        let folder = self.root.join("share/man/man1");
        std::fs::create_dir_all(&folder).map_err(|error| cannot("make", &folder, &error))?;
        process::must_succeed(process::command(tally).arg("man").arg(&folder))?;
        for page in std::fs::read_dir(&folder).map_err(|error| cannot("read", &folder, &error))? {
            let name = page.map_err(|error| cannot("read", &folder, &error))?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("tally") {
                files.push(format!("share/man/man1/{name}"));
            }
        }
        Ok(())
    }

    /// Copies what is in a folder of the tree and in its folders.
    fn copy_all(&self, from: &Path, to: &str, files: &mut Vec<String>) -> Result<(), Failure> {
        let mut folders = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = folders.pop() {
            for entry in std::fs::read_dir(&from).map_err(|error| cannot("read", &from, &error))? {
                let entry = entry.map_err(|error| cannot("read", &from, &error))?;
                let name = format!("{to}/{}", entry.file_name().to_string_lossy());
                match entry.path().is_dir() {
                    true => folders.push((entry.path(), name)),
                    false => self.copy(&entry.path(), &name, files)?,
                }
            }
        }
        Ok(())
    }

    fn copy(&self, from: &Path, name: &str, files: &mut Vec<String>) -> Result<(), Failure> {
        let to = self.place(name)?;
        // A running program's file cannot be written to, but another may take its name.
        _ = std::fs::remove_file(&to);
        std::fs::copy(from, &to).map_err(|error| cannot("copy", from, &error))?;
        files.push(name.to_owned());
        Ok(())
    }

    fn write(&self, name: &str, text: &[u8], files: &mut Vec<String>) -> Result<(), Failure> {
        let to = self.place(name)?;
        std::fs::write(&to, text).map_err(|error| cannot("write", &to, &error))?;
        files.push(name.to_owned());
        Ok(())
    }

    /// The place of a file, in a folder that there is.
    fn place(&self, name: &str) -> Result<PathBuf, Failure> {
        let place = self.root.join(name);
        let folder = place.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
        Ok(place)
    }

    /// Removes the files of the list, and the folders that are empty then.
    fn remove(&self) -> Result<(), Failure> {
        let list = self.root.join(LIST);
        let text = std::fs::read_to_string(&list)
            .map_err(|error| Failure::unprepared(format!("nothing is installed there: {}: {error}", list.display())))?;
        let names: Vec<&Path> = text.lines().map(Path::new).filter(|name| is_inside(name)).collect();
        for name in &names {
            let place = self.root.join(name);
            match std::fs::remove_file(&place) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(cannot("remove", &place, &error));
                }
                _ => {}
            }
        }
        for name in names {
            let folders = name.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
            for folder in folders {
                // One that is not empty stays.
                _ = std::fs::remove_dir(self.root.join(folder));
            }
        }
        println!("removed what {} had listed", list.display());
        Ok(())
    }
}

/// Whether a name of the list leads to a file below the prefix, and to no other.
fn is_inside(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

pub fn cannot(what: &str, place: &Path, error: &std::io::Error) -> Failure {
    Failure::step(format!("cannot {what} {}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::{Installation, LIST, is_inside};
    use std::path::Path;

    #[test]
    fn removal_takes_what_is_listed_and_leaves_the_rest() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let installation = Installation { prefix: "/usr".into(), root: folder.path().join("usr") };
        let mut files = vec![LIST.to_owned(), "../outside".to_owned()];
        installation.write("bin/tally", b"", &mut files).expect("it can be written");
        installation.write("share/doc/tally/README.md", b"", &mut files).expect("it can be written");
        installation.write(LIST, files.join("\n").as_bytes(), &mut Vec::new()).expect("it can be written");
        for other in ["bin/other", "../outside"] {
            installation.write(other, b"", &mut Vec::new()).expect("it can be written");
        }
        installation.remove().expect("all is there");
        assert!(folder.path().join("usr/bin/other").is_file() && folder.path().join("outside").is_file());
        assert!(!folder.path().join("usr/bin/tally").exists() && !folder.path().join("usr/share").exists());
        assert!(installation.remove().is_err_and(|failure| failure.to_string().contains("nothing is installed")));
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_removed() {
        assert!(is_inside(Path::new("bin/tally")));
        assert!(!is_inside(Path::new("../bin/tally")) && !is_inside(Path::new("/bin/tally")));
    }
}
