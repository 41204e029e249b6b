//! Starting other programs: print what is started, wait, and turn a failure into words.
//!
//! Every command goes through here, so that a chore's output reads as the list of what a person could have typed.
//! The environment is passed on as it is; cargo's own `[env]` table (LLVM_SYS_221_PREFIX) reaches the children
//! that way.

use crate::failure::Failure;
use crate::tree;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A command that runs in the project's folder.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(tree::root());
    command
}

/// Cargo. By its name, as a person types it: rustup's proxy is told by the environment to be the one that started us.
pub fn cargo() -> Command {
    command("cargo")
}

/// Prints the command, runs it, and fails unless it succeeds.
pub fn must_succeed(command: &mut Command) -> Result<(), Failure> {
    eprintln!("+ {}", shown(command));
    let status = status_of(command)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::step(format!("`{}` failed: {status}", shown(command))))
}

/// Runs the command without a word and returns how it ended.
pub fn status_of(command: &mut Command) -> Result<ExitStatus, Failure> {
    command.status().map_err(|error| cannot_start(command, &error))
}

/// Runs the command and returns what it wrote to standard output; fails unless it succeeds.
pub fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Failure::step(format!("`{}` failed: {}\n{text}{complaint}", shown(command), output.status)))
}

/// Does something with each item on all processors; what came of them, in their order.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { return };
                    let result = work(item);
                    results.lock().expect("no work panics").push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no work panics");
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Whether `program` is an executable file on the PATH.
pub fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The command as a person would type it (for messages; arguments with blanks are quoted).
pub fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| {
            let word = word.to_string_lossy();
            if word.is_empty() || word.contains(char::is_whitespace) { format!("'{word}'") } else { word.into_owned() }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::step(format!("cannot start `{}`: {error}", shown(command)))
}

#[cfg(test)]
mod tests {
    use super::{command, must_succeed, output_of, shown, side_by_side};

    #[test]
    fn words_with_blanks_are_quoted() {
        assert_eq!(shown(command("echo").args(["a b", "c", ""])), "echo 'a b' c ''");
    }

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let squares: Vec<u64> = (0..100).map(|number| number * number).collect();
        assert_eq!(side_by_side(&(0..100).collect::<Vec<u64>>(), |number| number * number), squares);
        assert!(side_by_side(&[], |&(): &()| ()).is_empty());
    }

    #[test]
    fn failing_command_is_named_with_its_status() {
        let failure = must_succeed(command("sh").args(["-c", "exit 3"])).expect_err("3 is a failure");
        assert!(failure.to_string().contains("exit status: 3"), "{failure}");
    }

    #[test]
    fn missing_program_is_named() {
        let failure = output_of(&mut command("no-such-program-anywhere")).expect_err("it cannot start");
        assert!(failure.to_string().contains("no-such-program-anywhere"), "{failure}");
    }
}
