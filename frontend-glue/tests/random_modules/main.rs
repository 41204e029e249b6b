//! Random modules: llvm-stress writes them, roots, barriers and calls are put in, and all five levels must agree.
//!
//! ```sh
//! cargo test --release -p tally-llvm --test random_modules -- --count 10000 --seed 1
//! ```
//!
//! Module number n of a seed is always the same one. Each is lowered, verified, optimised, verified again, compiled and
//! run by `tally run` at every level under either plan, with epochs after every 16 KiB; under the prompt plan also with
//! the counts of another level (literal where the level saves, saved at 0, or a part of the savings); every fourth one
//! under zeal, either plan at every other level. It must print the sum that its author knows (`inject.rs`). A failure
//! is kept in the folder that is printed, with the command that shows it. Where the plain module of llvm-stress makes
//! stock LLVM crash at that level, it is LLVM's own and only counted.
//!
//! Without arguments, as in `cargo test`, it stops after 15 seconds. It is no libtest program: its arguments are its own.
//!
//! scenario 200.

mod dice;
mod inject;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dice::Dice;
use inject::{Program, inject};

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];
/// What a plain `cargo test` spends.
const SHARE: Duration = Duration::from_secs(15);
const PROGRESS: Duration = Duration::from_secs(10);
const RUN_SECONDS_MAX: &str = "60";
const STRESS: &str = "llvm-stress-22";

struct Arguments {
    count: u64,
    seed: u64,
    /// Stop then, whatever the count.
    share: Option<Duration>,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else { return ExitCode::SUCCESS };
    if Command::new(STRESS).arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("random modules: skipped, there is no {STRESS} (Debian: apt install llvm-22-tools)");
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("tally-random-modules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (next, ran, llvms_own) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failures = Mutex::new(Vec::new());
    let start = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let over = arguments.share.is_some_and(|share| start.elapsed() > share);
                    if number >= arguments.count || over || failures.lock().unwrap().len() >= 20 {
                        return;
                    }
                    match check(&folder, arguments.seed, number) {
                        Ok(Verdict::Right) => {}
                        Ok(Verdict::LlvmsOwn) => _ = llvms_own.fetch_add(1, Ordering::Relaxed),
                        Err(reason) => {
                            println!("{reason}");
                            failures.lock().unwrap().push(number);
                        }
                    }
                    ran.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut told = Instant::now();
        while next.load(Ordering::Relaxed) < arguments.count && arguments.share.is_none() {
            std::thread::sleep(Duration::from_millis(200));
            if told.elapsed() > PROGRESS {
                told = Instant::now();
                let (ran, seconds) = (ran.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
                eprintln!("{ran} of {} modules, {seconds:.0} s, {:.2} a second", arguments.count, ran as f64 / seconds);
            }
            if failures.lock().unwrap().len() >= 20 {
                break;
            }
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let (ran, failed) = (ran.into_inner(), failures.into_inner().unwrap());
    println!(
        "random modules: {ran} of seed {} at {} levels, {} failed, {} crash stock LLVM, {seconds:.0} s, {:.2} a second",
        arguments.seed,
        LEVELS.len(),
        failed.len(),
        llvms_own.into_inner(),
        ran as f64 / seconds.max(0.001)
    );
    if failed.is_empty() {
        let _ = std::fs::remove_dir_all(&folder);
        return ExitCode::SUCCESS;
    }
    println!("numbers {failed:?}; their modules are in {}", folder.display());
    ExitCode::FAILURE
}

/// None: this program was not asked for (`cargo test NAME` passes the name to all).
fn arguments() -> Option<Arguments> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| -> Option<u64> {
        let place = words.iter().position(|word| word == name)?;
        Some(words.get(place + 1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{name} takes a number")))
    };
    if words.iter().any(|word| word == "--list") {
        return None;
    }
    let count = number("--count");
    let filters = words.iter().filter(|word| !word.starts_with('-') && word.parse::<u64>().is_err());
    if count.is_none() && words.iter().all(|word| word != "--seed") && filters.clone().next().is_some() {
        let asked = filters.clone().any(|filter| "random_modules".contains(filter.as_str()));
        if !asked {
            return None;
        }
    }
    let share = count.is_none().then_some(SHARE);
    Some(Arguments { count: count.unwrap_or(u64::MAX), seed: number("--seed").unwrap_or(1), share })
}

enum Verdict {
    Right,
    LlvmsOwn,
}

fn check(folder: &Path, seed: u64, number: u64) -> Result<Verdict, String> {
    let mut dice = Dice(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let (stress_seed, size) = (dice.roll(1 << 31).to_string(), (20 + dice.roll(300)).to_string());
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

/// All but one of the savings.
const MOST: [&str; 6] = [
    "lazy-roots,quiet-calls,last-use,owned-results,postponed",
    "moves,quiet-calls,last-use,owned-results,postponed",
    "moves,lazy-roots,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,last-use,postponed",
    "moves,lazy-roots,quiet-calls,last-use,owned-results",
];

impl Way {
    fn options(self, level: &str, number: u64) -> Vec<&'static str> {
        let prompt = ["--plan", "refcount-prompt"];
        let saved = match (level, number % 3) {
            (_, 0) => MOST[(number / 3 % MOST.len() as u64) as usize],
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
    command.args([RUN_SECONDS_MAX, env!("CARGO_BIN_EXE_tally"), "run", "--opt", level, "--epoch-bytes", "16KiB"]);
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
