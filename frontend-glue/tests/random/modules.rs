//! Random modules: llvm-stress writes them, roots, barriers and calls are put in, and all five levels must agree.
//!
//! Module number n of a seed is always the same one. Each is lowered, verified, optimised, verified again, compiled and
//! run by `tally run` at every level under either plan, with epochs after every 16 KiB; under the prompt plan also with
//! the counts of another level (literal where the level saves, saved at 0, or a part of the savings); every fourth one
//! under zeal, either plan at every other level. It must print the sum that its author knows (`inject.rs`). A failure
//! is kept in the folder that is printed, with the command that shows it. Where the plain module of llvm-stress makes
//! stock LLVM crash at that level, it is LLVM's own and only counted.
//!
//! Without a count, as in `cargo test`, it makes [`FIXED`].
//!
//! scenario 200.

mod inject;

use crate::Arguments;
use inject::{Program, inject};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tally_kit::dice::Dice;
use tally_kit::progress::Progress;
use tally_kit::savings::ALL_BUT_ONE;
use tally_kit::tally_command::checked_tally;
use tally_kit::workers::each_number;

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];
/// What a plain `cargo test` makes.
const FIXED: u64 = 30;
const FAILURES_MAX: usize = 20;
/// For what hangs, on a machine that has other work.
const RUN_SECONDS_MAX: &str = "600";
const STRESS: &str = "llvm-stress-22";

/// Makes modules and runs them.
pub fn main(arguments: &Arguments) -> ExitCode {
    assert!(arguments.without.is_none(), "random modules are lowered as they are: --without is for merged-pointers");
    if Command::new(STRESS).arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("random modules: skipped, there is no {STRESS} (Debian: apt install llvm-22-tools)");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("tally-random-modules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (seed, count) = (arguments.seed, arguments.count.unwrap_or(FIXED));
    let (ran, llvms_own, progress) = (AtomicU64::new(0), AtomicU64::new(0), Progress::new("modules", count));
    let failures = each_number(count, FAILURES_MAX, |number| {
        let verdict = check(&folder, seed, number);
        ran.fetch_add(1, Ordering::Relaxed);
        progress.advance(1);
        match verdict {
            Ok(Verdict::Right) => Ok(()),
            Ok(Verdict::LlvmsOwn) => {
                llvms_own.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(reason) => {
                progress.say(&reason);
                Err(())
            }
        }
    });
    drop(progress);
    println!(
        "random modules: {} of seed {seed} at {} levels, {} failed, {} crash stock LLVM",
        ran.into_inner(),
        LEVELS.len(),
        failures.len(),
        llvms_own.into_inner(),
    );
    if failures.is_empty() {
        let _ = std::fs::remove_dir_all(&folder);
        return ExitCode::SUCCESS;
    }
    let numbers: Vec<u64> = failures.into_iter().map(|(number, ())| number).collect();
    println!("numbers {numbers:?}; their modules are in {}", folder.display());
    ExitCode::FAILURE
}

enum Verdict {
    Right,
    LlvmsOwn,
}

fn check(folder: &Path, seed: u64, number: u64) -> Result<Verdict, String> {
    let mut dice = Dice::raw(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let (stress_seed, size) = (dice.below(1 << 31).to_string(), (20 + dice.below(300)).to_string());
    let stress = Command::new(STRESS).args(["-seed", &stress_seed, "-size", &size, "-o", "-"]).output().unwrap();
    assert!(stress.status.success(), "{STRESS} -seed {stress_seed} -size {size} failed");
    let stress = String::from_utf8(stress.stdout).unwrap();
    let Program { text, sum } = inject(&stress, &mut dice);
    let (plain, file) = (folder.join(format!("{number}.plain.ll")), folder.join(format!("{number}.ll")));
    std::fs::write(&plain, &stress).unwrap();
    std::fs::write(&file, &text).unwrap();
    let expected = format!("{sum}\n");
    let mut verdict = Verdict::Right;
    for (place, level) in LEVELS.into_iter().enumerate() {
        for way in WAYS {
            let turn = number / 4 + place as u64;
            if matches!(way, Way::Zeal | Way::PromptZeal) && !(number.is_multiple_of(4) && way.zeal_has_its_turn(turn))
            {
                continue;
            }
            let options = way.options(level, number + place as u64);
            let output = run(&file, level, &options);
            if output.status.code() == Some(0) && output.stdout == expected.as_bytes() {
                continue;
            }
            if stock_llvm_fails(&plain, level) {
                verdict = Verdict::LlvmsOwn;
                continue;
            }
            let options = options.join(" ");
            return Err(format!(
                "number {number} of seed {seed}: {}, printed {:?}, expected {sum}\n{}tally run --opt {level} {options} --epoch-bytes 16KiB {}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
                file.display()
            ));
        }
    }
    let remove = |file: PathBuf| std::fs::remove_file(file).unwrap();
    remove(plain);
    remove(file);
    Ok(verdict)
}

/// How a module is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Deferred,
    Zeal,
    Prompt,
    /// Other counts are saved than the level would.
    PromptSaving,
    PromptZeal,
}

const WAYS: [Way; 5] = [Way::Deferred, Way::Zeal, Way::Prompt, Way::PromptSaving, Way::PromptZeal];

impl Way {
    fn options(self, level: &str, number: u64) -> Vec<&'static str> {
        let prompt = ["--plan", "refcount-prompt"];
        let saved = match (level, number % 3) {
            (_, 0) => ALL_BUT_ONE[(number / 3 % ALL_BUT_ONE.len() as u64) as usize],
            ("0", _) => "all",
            _ => "none",
        };
        match self {
            Way::Deferred => vec![],
            Way::Zeal => vec!["--zeal"],
            Way::Prompt => prompt.to_vec(),
            Way::PromptSaving => [&prompt[..], &["--save-counts", saved]].concat(),
            Way::PromptZeal => [&prompt[..], &["--zeal"]].concat(),
        }
    }

    /// The plans take turns at a module's levels.
    fn zeal_has_its_turn(self, turn: u64) -> bool {
        turn.is_multiple_of(2) == (self == Way::Zeal)
    }
}

fn run(file: &Path, level: &str, options: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg(RUN_SECONDS_MAX).arg(checked_tally()).args(["run", "--opt", level, "--epoch-bytes", "16KiB"]);
    command.args(options).arg(file).output().unwrap()
}

/// Whether LLVM's own tools cannot compile the module as llvm-stress wrote it.
fn stock_llvm_fails(file: &Path, level: &str) -> bool {
    let passes = format!("-passes=default<O{level}>");
    let code = if level == "s" { "-O2".to_owned() } else { format!("-O{level}") };
    let script = format!(
        "timeout {RUN_SECONDS_MAX} opt-22 '{passes}' \"$0\" | timeout {RUN_SECONDS_MAX} llc-22 {code} -o /dev/null"
    );
    !Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .arg(file)
        .output()
        .is_ok_and(|done| done.status.success())
}
