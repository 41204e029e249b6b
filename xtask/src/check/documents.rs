//! The programs in the documents are compiled and run, so that what a newcomer copies works.
//!
//! In a document the fenced blocks of C are read in order and joined until one has a `main`: that is a program, and it must
//! run and leave nothing behind. So must a fenced block of IR that has one; others that define a function must pass `tally verify`. Blocks after
//! the last `main` are fragments that show a form; they are not run.
//!
//! Lines of `sh` blocks that begin with `tally`, `cargo xtask run` or `./` are run, too, in a folder of the document's: a file that
//! they name and that is not in the tree is the last program before the block. They must succeed, or end with the status that the
//! block's fence names (`sh status=5`). An `output` block behind an `sh` block is what its commands write, first to standard output,
//! then to standard error; `…` in it stands for any text.

use crate::failure::Failure;
use crate::{process, tree};
use std::path::Path;
use std::process::Output;

/// The documents whose programs are tried.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "docs/port/strategies.md",
    "docs/use/c-frontend.md",
    "docs/use/coroutines.md",
    "docs/use/services.md",
    "docs/use/tutorial.md",
];

/// A program found in a document.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    ending: &'static str,
    text: String,
}

impl Program {
    /// Whether it is whole; otherwise it is a part for the page's reader.
    fn runs(&self) -> bool {
        self.ending == "c" || self.text.contains("@main(")
    }
}

/// Tries every program with the `tally` command given.
pub fn try_programs(tally: &Path) -> Result<(), Failure> {
    let folder = tree::release()?.join("documents");
    let failed = |what: &str, error: std::io::Error| Failure::step(format!("{what}: {error}"));
    std::fs::create_dir_all(&folder).map_err(|error| failed(&folder.display().to_string(), error))?;
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(tree::root().join(document)).map_err(|error| failed(document, error))?;
        let programs = programs_in(&text);
        if programs.is_empty() {
            return Err(Failure::step(format!("{document}: no program was found in it")));
        }
        let stem = document.trim_end_matches(".md").replace('/', "-");
        for (number, program) in programs.iter().enumerate() {
            let file = folder.join(format!("{stem}-{number}.{}", program.ending));
            std::fs::write(&file, &program.text).map_err(|error| failed(&file.display().to_string(), error))?;
            let arguments: &[&str] = if program.runs() { &["run", "--leak-check"] } else { &["verify"] };
            process::must_succeed(process::command(tally).args(arguments).arg(&file))?;
        }
        let place = folder.join(&stem);
        std::fs::create_dir_all(&place).map_err(|error| failed(&place.display().to_string(), error))?;
        for session in sessions_in(&text) {
            let mut written = String::new();
            for words in &session.commands {
                let arguments = arguments_of(words, &programs[..session.programs], &place)?;
                written += &session.run(tally, &arguments, &place, document)?;
            }
            session.compare(&written, document)?;
        }
    }
    Ok(())
}

/// An `sh` block of a document.
#[derive(Debug, PartialEq, Eq)]
struct Session {
    /// The words of each command that is run; the first is `tally` or begins with `./`.
    commands: Vec<Vec<String>>,
    /// So many programs stand before it.
    programs: usize,
    /// The status with which each command must end.
    status: i32,
    /// What the commands write, where the document shows it.
    output: Option<String>,
}

impl Session {
    /// Runs one command in the folder `place`; returns what it wrote, with paths as in the tree.
    fn run(&self, tally: &Path, words: &[String], place: &Path, document: &str) -> Result<String, Failure> {
        let program = if words[0] == "tally" { tally.to_path_buf() } else { place.join(&words[0]) };
        let mut command = process::command(&program);
        command.args(&words[1..]).current_dir(place);
        let shown = process::shown(&command);
        eprintln!("+ {shown}");
        let output: Output =
            command.output().map_err(|error| Failure::step(format!("{document}: cannot run {shown}: {error}")))?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        if output.status.code() != Some(self.status) {
            let status = self.status;
            return Err(Failure::step(format!("{document}: {shown}: {}, not {status}:\n{text}", output.status)));
        }
        Ok(text.replace(&format!("{}/", tree::root().display()), ""))
    }

    fn compare(&self, written: &str, document: &str) -> Result<(), Failure> {
        match &self.output {
            Some(shown) if !matches(shown.trim_end(), written.trim_end()) => {
                let commands = self.commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("; ");
                Err(Failure::step(format!("{document}: {commands}: shown is\n{shown}\nbut written was\n{written}")))
            }
            _ => Ok(()),
        }
    }
}

/// Whether the text is the pattern, in which `…` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('…');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or("")) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// The arguments as they are in the folder `place`, in which the programs that they name are written.
fn arguments_of(words: &[String], programs: &[Program], place: &Path) -> Result<Vec<String>, Failure> {
    let mut arguments = Vec::new();
    for word in words {
        let in_tree = tree::root().join(word);
        let is_source = word.ends_with(".c") || word.ends_with(".ll");
        if is_source && in_tree.is_file() {
            arguments.push(in_tree.display().to_string());
            continue;
        }
        if is_source {
            let program = programs.last().map(|last| &last.text);
            let text =
                program.ok_or_else(|| Failure::step(format!("`{word}` is neither a file nor a program before it")))?;
            std::fs::write(place.join(word), text).map_err(|error| Failure::step(format!("{word}: {error}")))?;
        }
        arguments.push(word.clone());
    }
    Ok(arguments)
}

/// The words of a line that is run; `None` for another command.
fn command_in(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let words = match words.as_slice() {
        ["cargo", "xtask", "run", arguments @ ..] => [&["tally", "run"], arguments].concat(),
        ["tally", ..] => words,
        [program, ..] if program.starts_with("./") => words,
        _ => return None,
    };
    Some(words.into_iter().map(str::to_owned).collect())
}

fn sessions_in(document: &str) -> Vec<Session> {
    let (mut sessions, mut before) = (Vec::<Session>::new(), String::new());
    let mut is_behind_session = false;
    for (language, text) in blocks(document) {
        let is_session = language == "sh" || language.starts_with("sh ");
        if is_session {
            let status = language.split_once("status=").map_or(0, |(_, status)| status.parse().expect("a status"));
            let commands = text.lines().filter_map(command_in).collect();
            sessions.push(Session { commands, programs: programs_in(&before).len(), status, output: None });
        } else if language == "output" {
            let last =
                sessions.last_mut().filter(|_| is_behind_session).expect("an `output` block follows an `sh` block");
            last.output = Some(text.to_owned());
        }
        is_behind_session = is_session;
        before.push_str(&format!("\n```{language}\n{text}\n```\n"));
    }
    sessions.retain(|session| !session.commands.is_empty());
    sessions
}

fn programs_in(document: &str) -> Vec<Program> {
    let (mut programs, mut c) = (Vec::new(), String::new());
    for (language, text) in blocks(document) {
        match language {
            "c" => {
                c.push_str(text);
                c.push('\n');
                if c.contains("int main(") {
                    programs.push(Program { ending: "c", text: std::mem::take(&mut c) });
                }
            }
            "llvm" if text.contains("define ") => programs.push(Program { ending: "ll", text: text.to_owned() }),
            _ => {}
        }
    }
    programs
}

/// The fenced blocks of a Markdown text: language and content.
fn blocks(document: &str) -> Vec<(&str, &str)> {
    let mut parts = document.split("\n```").skip(1);
    let mut blocks = Vec::new();
    while let Some(block) = parts.next() {
        let (language, text) = block.split_once('\n').unwrap_or((block, ""));
        blocks.push((language.trim(), text));
        // What follows the closing fence is prose up to the next opening one.
        parts.next();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::{Program, Session, matches, programs_in, sessions_in};

    #[test]
    fn pieces_of_a_program_are_joined_and_fragments_after_it_left_out() {
        let document = "A\n\n```c\nint f(void);\n```\nprose\n\n```sh\nls\n```\n\n```c\nint main(void) {}\n```\n\n```c\nf();\n```\n";
        let text = "int f(void);\nint main(void) {}\n".to_owned();
        assert_eq!(programs_in(document), [Program { ending: "c", text }]);
    }

    #[test]
    fn commands_know_the_programs_before_them() {
        let document = "A\n\n```sh\ncargo xtask run a.c --stats   # try it\ncargo xtask test\nls\n```\n\n```c\nint main(void) {}\n```\n\n```sh status=3\ntally verify b.c  # or: tally run b.c\n./b\n```\n\n```output\n1\n```\n";
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let first = Session { commands: vec![words("tally run a.c --stats")], programs: 0, status: 0, output: None };
        let commands = vec![words("tally verify b.c"), words("./b")];
        let second = Session { commands, programs: 1, status: 3, output: Some("1".to_owned()) };
        assert_eq!(sessions_in(document), [first, second]);
    }

    #[test]
    fn ellipsis_stands_for_any_text_and_nothing_else_does() {
        assert!(matches("sum 3", "sum 3") && matches("sum … of …", "sum 3 of 4") && matches("a…", "a\nb"));
        assert!(!matches("sum 3", "sum 34") && !matches("sum …4", "sum 3") && !matches("a…b…c", "a c b"));
        assert!(!matches("ab…bc", "abc"), "one letter is not two");
    }

    #[test]
    fn declarations_alone_are_no_module() {
        let document = "\n```llvm\ndeclare void @f()\n```\n\n```llvm\ndefine void @f() { ret void }\n```\n";
        assert_eq!(programs_in(document).len(), 1);
    }
}
