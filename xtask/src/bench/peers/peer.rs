//! Whom Tally is compared with: what each needs, how its programs are built, and how they are started.
//!
//! One source per language stands in benches/peers/. The C heaps need none of their own: what is freed by hand is
//! benches/workloads/hand_freed under another `malloc`, and what is not is benches/workloads itself, with the macros of
//! `tally_gc.h` over another heap (benches/peers/other_heap). Each does what its users would do for speed: release mode, no
//! bounds checks where there is a switch for that, the heap's own defaults.

use crate::bench::build::{DEFERRED, HAND_FREED, HAND_FREED_WORKLOADS, PROMPT, WORKLOADS};
use crate::failure::Failure;
use crate::{process, tree};
use std::path::Path;
use std::process::Command;

/// Where the sources in other languages are.
const SOURCES: &str = "benches/peers";

/// A way to manage memory, and a compiler for it.
pub struct Peer {
    /// What `--only` and the tables call it.
    pub name: &'static str,
    /// What it is, for readers of the table.
    pub what: &'static str,
    needs: &'static [Need],
    make: Make,
}

/// A program on the PATH or a file, and the Debian package that has it.
type Need = (&'static str, &'static str);

enum Make {
    /// `cargo xtask bench build` has made it.
    Built(&'static str),
    /// The hand-freed workloads, with these words before the sources and those after.
    HandFreed(&'static [&'static str], &'static [&'static str]),
    /// The workloads themselves over the other heap.
    OtherHeap(&'static [&'static str], &'static [&'static str]),
    Ocaml,
    Java(&'static str),
    Go,
    Nim(&'static str),
    /// A source that is interpreted by these words.
    Script(&'static [&'static str], &'static str),
}

/// All of them, in the order of the tables; the first is what the others are compared with.
pub const PEERS: &[Peer] = &[
    Peer { name: "malloc", what: "C, freed by hand, glibc", needs: &[], make: Make::Built(HAND_FREED) },
    Peer { name: DEFERRED.executable, what: "C on Tally", needs: &[], make: Make::Built(DEFERRED.executable) },
    Peer {
        name: PROMPT.executable,
        what: "C on Tally, objects die when their last reference goes",
        needs: &[],
        make: Make::Built(PROMPT.executable),
    },
    Peer {
        name: "mimalloc",
        what: "C, freed by hand, mimalloc",
        needs: &[("/usr/include/mimalloc-override.h", "libmimalloc-dev")],
        make: Make::HandFreed(&["-include", "stdlib.h", "-include", "mimalloc-override.h"], &["-lmimalloc"]),
    },
    Peer { name: "never-freed", what: "C that frees nothing", needs: &[], make: Make::OtherHeap(&[], &[]) },
    Peer {
        name: "boehm",
        what: "C on the conservative collector of Boehm and Demers",
        needs: &[("/usr/include/gc.h", "libgc-dev")],
        make: Make::OtherHeap(&["-DBOEHM"], &["-lgc"]),
    },
    Peer { name: "ocaml", what: "OCaml, ocamlopt", needs: &[("ocamlopt", "ocaml-nox")], make: Make::Ocaml },
    Peer { name: "java-serial", what: "Java, serial collector", needs: JAVA, make: Make::Java("-XX:+UseSerialGC") },
    Peer { name: "java-g1", what: "Java, G1", needs: JAVA, make: Make::Java("-XX:+UseG1GC") },
    Peer { name: "java-zgc", what: "Java, ZGC", needs: JAVA, make: Make::Java("-XX:+UseZGC") },
    Peer { name: "go", what: "Go", needs: &[("go", "golang-go")], make: Make::Go },
    Peer { name: "nim-orc", what: "Nim, counts and trial deletion", needs: NIM, make: Make::Nim("--mm:orc") },
    Peer { name: "nim-arc", what: "Nim, counts; cycles leak", needs: NIM, make: Make::Nim("--mm:arc") },
    Peer {
        name: "node",
        what: "JavaScript, V8",
        needs: &[("node", "nodejs")],
        make: Make::Script(&["node", "--stack-size=50000"], "peers.js"),
    },
    Peer {
        name: "luajit",
        what: "Lua, LuaJIT",
        needs: &[("luajit", "luajit")],
        make: Make::Script(&["luajit"], "peers.lua"),
    },
    Peer { name: "lua", what: "Lua 5.4", needs: &[("lua5.4", "lua5.4")], make: Make::Script(&["lua5.4"], "peers.lua") },
    Peer {
        name: "php",
        what: "PHP, counts and trial deletion",
        needs: &[("php", "php-cli")],
        make: Make::Script(&["php", "-d", "memory_limit=-1"], "peers.php"),
    },
    Peer {
        name: "cpython",
        what: "Python, counts and a cycle collector",
        needs: &[("python3", "python3")],
        make: Make::Script(&["python3"], "peers.py"),
    },
];

const JAVA: &[Need] = &[("javac", "default-jdk-headless")];
const NIM: &[Need] = &[("nim", "nim")];

/// A built program.
pub struct Program {
    words: Vec<String>,
}

impl Program {
    /// A program that is started by these words and a workload's name.
    pub fn of<Word: ToString>(words: impl IntoIterator<Item = Word>) -> Program {
        Program { words: words.into_iter().map(|word| word.to_string()).collect() }
    }

    /// The command that runs a workload. Deep structures are freed recursively by some: the stack may grow as far as it can.
    pub fn command(&self, workload: &str) -> Command {
        let mut command = process::command("sh");
        command.args(["-c", "ulimit -s unlimited 2>/dev/null; exec \"$@\"", "sh"]).args(&self.words).arg(workload);
        command
    }
}

impl Peer {
    /// The Debian packages that would make it run.
    pub fn missing_packages(&self) -> Vec<&'static str> {
        let is_there = |wanted: &str| {
            if wanted.starts_with('/') { Path::new(wanted).exists() } else { process::is_on_path(wanted) }
        };
        self.needs.iter().filter(|(wanted, _)| !is_there(wanted)).map(|&(_, package)| package).collect()
    }

    /// Builds it in `folder`, where the executables of `cargo xtask bench build` already are.
    pub fn build(&self, folder: &Path) -> Result<Program, Failure> {
        let output = folder.join(self.name);
        let sources = tree::root().join(SOURCES);
        let own = |name: &str| sources.join(name).display().to_string();
        let executable = vec![output.display().to_string()];
        let words = match self.make {
            Make::Built(name) => vec![folder.join(name).display().to_string()],
            Make::HandFreed(before, after) => {
                compile_c(before, HAND_FREED_WORKLOADS, &output, after)?;
                executable
            }
            Make::OtherHeap(before, after) => {
                let include = format!("-I{}", own("other_heap"));
                compile_c(&[&[include.as_str()], before].concat(), WORKLOADS, &output, after)?;
                executable
            }
            Make::Ocaml => {
                // The compiler leaves its files beside the source.
                let copy = folder.join("peers.ml");
                std::fs::copy(own("peers.ml"), &copy)
                    .map_err(|error| Failure::step(format!("cannot copy peers.ml to {}: {error}", folder.display())))?;
                let mut compile = process::command("ocamlopt");
                compile.args(["-O3", "-unsafe", "-inline", "100", "unix.cmxa"]).arg(copy);
                process::must_succeed(compile.arg("-o").arg(&output))?;
                executable
            }
            Make::Java(collector) => {
                process::must_succeed(process::command("javac").arg("-d").arg(&output).arg(own("Peers.java")))?;
                ["java", collector, "-cp"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain(executable)
                    .chain(["Peers".to_owned()])
                    .collect()
            }
            Make::Go => {
                process::must_succeed(process::command("go").args(["build", "-o"]).arg(&output).arg(own("peers.go")))?;
                executable
            }
            Make::Nim(memory) => {
                let mut compile = process::command("nim");
                compile.args(["compile", memory, "-d:danger", "--opt:speed", "--hints:off", "--warnings:off"]);
                compile.arg(format!("--nimcache:{}-c", output.display())).arg(format!("-o:{}", output.display()));
                process::must_succeed(compile.arg(own("peers.nim")))?;
                executable
            }
            Make::Script(interpreter, source) => {
                interpreter.iter().map(|&word| word.to_owned()).chain([own(source)]).collect()
            }
        };
        Ok(Program::of(words))
    }
}

/// Compiles the C files of a folder as `bench build` does.
fn compile_c(before: &[&str], folder: &str, output: &Path, after: &[&str]) -> Result<(), Failure> {
    let mut compile = process::command("cc");
    compile.arg("-O3").args(before).args(tree::files(folder, &["c"])?).arg("-o").arg(output).args(after);
    process::must_succeed(&mut compile)
}

#[cfg(test)]
mod tests {
    use super::{Make, PEERS, SOURCES};
    use crate::bench::compare::WORKLOADS;
    use crate::tree;

    #[test]
    fn first_peer_is_the_one_that_others_are_compared_with() {
        assert_eq!(PEERS[0].name, "malloc");
        assert!(PEERS[0].missing_packages().is_empty());
    }

    #[test]
    fn names_are_of_one_peer_or_of_one_workload() {
        let mut names: Vec<&str> = PEERS.iter().map(|peer| peer.name).chain(WORKLOADS).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_source_is_there_and_knows_every_workload() {
        for peer in PEERS {
            let source = match peer.make {
                Make::Ocaml => "peers.ml",
                Make::Java(_) => "Peers.java",
                Make::Go => "peers.go",
                Make::Nim(_) => "peers.nim",
                Make::Script(_, source) => source,
                Make::Built(_) | Make::HandFreed(..) | Make::OtherHeap(..) => continue,
            };
            let path = tree::root().join(SOURCES).join(source);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for workload in WORKLOADS {
                assert!(text.contains(workload), "{source} does not name {workload}");
            }
        }
    }
}
