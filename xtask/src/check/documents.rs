//! The programs in the documents are compiled and run, so that what a newcomer copies works.
//!
//! In a document the fenced blocks of C are read in order and joined until one has a `main`: that is a program, and it must
//! run and leave nothing behind. Fenced blocks of IR that define a function must pass `tally verify`. Blocks after
//! the last `main` are fragments that show a form; they are not run.
//!
//! Lines of `sh` blocks that begin with `tally` or `cargo xtask run` are run, too, in a folder of the document's: a file that
//! they name and that is not in the tree is the last program before the block.

use crate::failure::Failure;
use crate::{process, tree};
use std::path::Path;

/// The documents whose programs are tried.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/c-frontend.md", "docs/services.md"];

/// A program found in a document.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    ending: &'static str,
    text: String,
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
            let arguments: &[&str] = if program.ending == "c" { &["run", "--leak-check"] } else { &["verify"] };
            process::must_succeed(process::command(tally).args(arguments).arg(&file))?;
        }
        let place = folder.join(&stem);
        std::fs::create_dir_all(&place).map_err(|error| failed(&place.display().to_string(), error))?;
        for command in commands_in(&text) {
            let arguments = arguments_of(&command, &programs, &place)?;
            process::must_succeed(process::command(tally).args(arguments).current_dir(&place))?;
        }
    }
    Ok(())
}

/// A command found in a document.
#[derive(Debug, PartialEq, Eq)]
struct ShellCommand {
    /// What `tally` is given.
    arguments: Vec<String>,
    /// So many programs stand before it.
    programs: usize,
}

/// The arguments as they are in the folder `place`, in which the programs that they name are written.
fn arguments_of(command: &ShellCommand, programs: &[Program], place: &Path) -> Result<Vec<String>, Failure> {
    let mut arguments = Vec::new();
    for word in &command.arguments {
        let in_tree = tree::root().join(word);
        let is_source = word.ends_with(".c") || word.ends_with(".ll");
        if is_source && in_tree.is_file() {
            arguments.push(in_tree.display().to_string());
            continue;
        }
        if is_source {
            let program = command.programs.checked_sub(1).map(|last| &programs[last].text);
            let text =
                program.ok_or_else(|| Failure::step(format!("`{word}` is neither a file nor a program before it")))?;
            std::fs::write(place.join(word), text).map_err(|error| Failure::step(format!("{word}: {error}")))?;
        }
        arguments.push(word.clone());
    }
    Ok(arguments)
}

fn commands_in(document: &str) -> Vec<ShellCommand> {
    let (mut commands, mut before) = (Vec::new(), String::new());
    for (language, text) in blocks(document) {
        let programs = programs_in(&before).len();
        for line in text.lines().filter(|_| language == "sh") {
            let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#')).map(str::to_owned);
            let arguments: Vec<String> = match words.next().as_deref() {
                Some("tally") => words.collect(),
                Some("cargo") if words.next().as_deref() == Some("xtask") => match words.next().as_deref() {
                    Some("run") => ["run".to_owned()].into_iter().chain(words).collect(),
                    _ => continue,
                },
                _ => continue,
            };
            commands.push(ShellCommand { arguments, programs });
        }
        before.push_str(&format!("\n```{language}\n{text}\n```\n"));
    }
    commands
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
    use super::{Program, ShellCommand, commands_in, programs_in};

    #[test]
    fn pieces_of_a_program_are_joined_and_fragments_after_it_left_out() {
        let document = "A\n\n```c\nint f(void);\n```\nprose\n\n```sh\nls\n```\n\n```c\nint main(void) {}\n```\n\n```c\nf();\n```\n";
        let text = "int f(void);\nint main(void) {}\n".to_owned();
        assert_eq!(programs_in(document), [Program { ending: "c", text }]);
    }

    #[test]
    fn commands_know_the_programs_before_them() {
        let document = "A\n\n```sh\ncargo xtask run a.c --stats   # try it\ncargo xtask test\nls\n```\n\n```c\nint main(void) {}\n```\n\n```sh\ntally verify b.c  # or: tally run b.c\n```\n";
        let command =
            |text: &str, programs| ShellCommand { arguments: text.split(' ').map(str::to_owned).collect(), programs };
        assert_eq!(commands_in(document), [command("run a.c --stats", 0), command("verify b.c", 1)]);
    }

    #[test]
    fn declarations_alone_are_no_module() {
        let document = "\n```llvm\ndeclare void @f()\n```\n\n```llvm\ndefine void @f() { ret void }\n```\n";
        assert_eq!(programs_in(document).len(), 1);
    }
}
