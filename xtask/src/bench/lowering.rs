//! `cargo xtask bench lowering`: what the lowering costs on SQLite and Lua, beside -O2 and beside the same code without gc.
//!
//! The sources come from crates.io at the first run (`libsqlite3-sys` ships SQLite's amalgamation, `lua-src` Lua's C files)
//! and stay in the target folder. clang makes bitcode of them; frontend-glue/benches/lowering_cost.rs gives every function
//! the strategy and a root, and times verifier, lowering and -O2 in rounds. Then both forms are linked with a small driver
//! from benches/lowering and run in turn; what they compute must be the same. Code and stack maps are measured in the
//! programs' own objects, so the runtime that only one of them links does not count. `--count` has callgrind count the
//! instructions of lowering and -O2 as well, which takes a quarter of an hour and does not depend on neighbours. The table
//! is Markdown: docs/port/lowering-cost.md holds one.

use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, run, setup, tree};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const DRIVERS: &str = "benches/lowering";

/// `cargo xtask bench lowering`
#[derive(clap::Args)]
pub struct Arguments {
    /// Rounds of everything that is timed
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Count instructions under valgrind, too
    #[arg(long)]
    count: bool,
}

/// A large C program and where its sources are.
struct Program {
    name: &'static str,
    /// The crate that ships it, exactly this version, so that figures can be compared.
    crate_name: &'static str,
    version: &'static str,
    /// Folder of the sources in the crate.
    folder: &'static str,
    /// Files of the folder; empty for all but `without`.
    files: &'static [&'static str],
    without: &'static [&'static str],
    options: &'static [&'static str],
    libraries: &'static [&'static str],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "sqlite",
        crate_name: "libsqlite3-sys",
        version: "0.39.1",
        folder: "sqlite3",
        files: &["sqlite3.c"],
        without: &[],
        options: &["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"],
        libraries: &[],
    },
    Program {
        name: "lua",
        crate_name: "lua-src",
        version: "551.1.0",
        folder: "lua-5.4.9",
        files: &[],
        without: &["lua.c", "luac.c", "onelua.c", "ltests.c"],
        options: &["-DLUA_USE_C89"],
        libraries: &[],
    },
];

/// Fetches, compiles, times and prints.
pub fn lowering(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::BUILD)?;
    let tally = run::build_tally()?;
    let folder = tree::release()?.join("lowering");
    let crates = fetch(&folder)?;
    let mut rows = Vec::new();
    for program in &PROGRAMS {
        rows.push(row(program, &crates, &folder, &tally, arguments)?);
    }
    let titles: Vec<&str> = rows[0].iter().map(|(title, _)| *title).collect();
    println!("| | {} |", titles.join(" | "));
    println!("|---|{}", "---|".repeat(titles.len()));
    for (program, row) in PROGRAMS.iter().zip(rows) {
        println!("| {} | {} |", program.name, row.into_iter().map(|(_, cell)| cell).collect::<Vec<_>>().join(" | "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Has cargo download the crates; they are unpacked, not built.
fn fetch(folder: &Path) -> Result<PathBuf, Failure> {
    let (wish, crates) = (folder.join("fetch"), folder.join("crates"));
    let complete = PROGRAMS.iter().all(|program| crates.join(program.crate_name).join(program.folder).is_dir());
    if complete {
        return Ok(crates);
    }
    let needs = PROGRAMS.iter().map(|program| format!("{} = \"={}\"\n", program.crate_name, program.version));
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{}",
        needs.collect::<String>()
    );
    let written = std::fs::create_dir_all(wish.join("src"))
        .and_then(|()| std::fs::write(wish.join("src/lib.rs"), ""))
        .and_then(|()| std::fs::write(wish.join("Cargo.toml"), manifest));
    written.map_err(|error| Failure::unprepared(format!("{}: {error}", wish.display())))?;
    let mut vendor = process::cargo();
    process::must_succeed(vendor.args(["vendor", "--quiet"]).arg(&crates).current_dir(&wish))?;
    Ok(crates)
}

type Row = Vec<(&'static str, String)>;

fn row(program: &Program, crates: &Path, folder: &Path, tally: &Path, arguments: &Arguments) -> Result<Row, Failure> {
    let sources = crates.join(program.crate_name).join(program.folder);
    let at = |name: &str| folder.join(format!("{}{name}", program.name));
    let (plain, left) = (at(".bc"), at("-objects"));
    compile(program, &sources, folder, &plain)?;
    std::fs::create_dir_all(&left).map_err(|error| Failure::step(format!("{}: {error}", left.display())))?;
    let mut bench = process::cargo();
    bench.args(["bench", "--quiet", "-p", "tally-llvm", "--bench", "lowering_cost", "--"]).arg(&plain);
    bench.arg("--rounds").arg(arguments.rounds.to_string()).arg("--folder").arg(&left);
    eprintln!("+ {}", process::shown(&bench));
    let figures = figures(&process::output_of(&mut bench)?);
    let figure = |name: &str| {
        figures.get(name).copied().ok_or_else(|| Failure::step(format!("the bench printed no figure `{name}`")))
    };
    let driver = tree::root().join(DRIVERS).join(format!("{}.c", program.name));
    let driver_bitcode = at(".driver.bc");
    let mut clang = clang(program);
    clang.arg("-I").arg(&sources).arg(driver).arg("-o").arg(&driver_bitcode);
    process::must_succeed(&mut clang)?;
    let sizes = [Sizes::of(&left.join("plain.o"))?, Sizes::of(&left.join("rooted.o"))?];
    let executables = [(plain.clone(), at("-plain")), (left.join("rooted.bc"), at("-rooted"))];
    for (module, executable) in &executables {
        let mut build = process::command(tally);
        build.args(["build", "--opt", "2"]).arg(&driver_bitcode).arg(module).arg("-o").arg(executable);
        build.args(program.libraries);
        process::must_succeed(&mut build)?;
    }
    let mut seconds = [Vec::new(), Vec::new()];
    let mut sums = HashSet::new();
    let progress = Progress::new(arguments.rounds as usize * executables.len());
    for _ in 0..arguments.rounds {
        for (times, (form, (_, executable))) in
            seconds.iter_mut().zip(["without gc", "with gc"].iter().zip(&executables))
        {
            progress.begin(&format!("{} {form}", program.name));
            let run = Run::of(executable)?;
            times.push(run.seconds);
            sums.insert(run.sum);
            progress.end();
        }
    }
    drop(progress);
    if sums.len() != 1 {
        return Err(Failure::step(format!("{} computes different sums with gc and without: {sums:?}", program.name)));
    }
    let [plain_seconds, rooted_seconds] = seconds.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let counted = if arguments.count { percent(counted_share(&plain, folder)?) } else { "not counted".to_owned() };
    let kib = |bytes: u64| format!("{} KiB", bytes / 1024);
    let change = |before: f64, after: f64| format!("{:+.1} %", (after / before - 1.0) * 100.0);
    Ok(vec![
        ("functions", format!("{}", figure("functions")?)),
        ("safepoints", format!("{}", figure("safepoints")?)),
        ("-O2 without gc", format!("{:.0} ms", figure("optimise_ms")?)),
        ("lowering", format!("{:.0} ms", figure("lower_ms")?)),
        ("lowering / -O2", percent(figure("lower_share")?)),
        (
            "in the rounds",
            format!("{} to {}", percent(figure("lower_share_least")?), percent(figure("lower_share_most")?)),
        ),
        ("of it LLVM's verifier", percent(figure("llvm_verify_share")?)),
        ("instructions", counted),
        ("check after -O2", percent(figure("check_optimised_share")?)),
        ("-O2 with gc", change(1.0, figure("optimise_lowered_share")?)),
        ("code generation", change(1.0, figure("emit_growth")?)),
        ("code", kib(sizes[0].code)),
        ("code with gc", change(sizes[0].code as f64, sizes[1].code as f64)),
        ("stack maps", kib(sizes[1].maps)),
        ("runs", format!("{plain_seconds:.2} s")),
        ("runs with gc", change(plain_seconds, rooted_seconds)),
    ])
}

fn clang(program: &Program) -> Command {
    let mut clang = process::command("clang-22");
    clang.args(["-c", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes", "-fPIC", "-w"]);
    clang.args(program.options);
    clang
}

/// All files of the program as one module of bitcode that no pass has touched.
fn compile(program: &Program, sources: &Path, folder: &Path, place: &Path) -> Result<(), Failure> {
    let names: Vec<String> = if program.files.is_empty() {
        let entries = std::fs::read_dir(sources.join("src")).or_else(|_| std::fs::read_dir(sources));
        let entries = entries.map_err(|error| Failure::step(format!("{}: {error}", sources.display())))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".c") && !program.without.contains(&name.as_str())).collect()
    } else {
        program.files.iter().map(|name| (*name).to_owned()).collect()
    };
    let inner = if sources.join("src").is_dir() { sources.join("src") } else { sources.to_owned() };
    let mut parts = Vec::new();
    for name in names {
        let part = folder.join(format!("{}-{name}.bc", program.name));
        process::must_succeed(clang(program).arg(inner.join(&name)).arg("-o").arg(&part))?;
        parts.push(part);
    }
    parts.sort();
    process::must_succeed(process::command("llvm-link-22").args(parts).arg("-o").arg(place))
}

/// `name=number` words of the bench.
fn figures(text: &str) -> HashMap<String, f64> {
    let words = text.split_whitespace().filter_map(|word| word.split_once('='));
    words.filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?))).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Instructions of the lowering beside those of -O2, as callgrind counts them.
fn counted_share(module: &Path, folder: &Path) -> Result<f64, Failure> {
    // `cargo bench` has just built it; asked again it says where.
    let mut build = process::cargo();
    build.args(["bench", "--no-run", "--message-format=json", "-p", "tally-llvm", "--bench", "lowering_cost"]);
    let answer = process::output_of(&mut build)?;
    let bench = answer.lines().rev().find_map(|line| Some(line.split_once("\"executable\":\"")?.1.split_once('"')?.0));
    let bench = bench.ok_or_else(|| Failure::step("cargo does not say where the bench is".to_owned()))?.to_owned();
    let count = |part: &str, function: &str| -> Result<f64, Failure> {
        let out = folder.join(format!("callgrind.{part}"));
        let mut valgrind = process::command("valgrind");
        valgrind.args(["--quiet", "--tool=callgrind", &format!("--toggle-collect={function}")]);
        valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(&bench).arg(module).args(["--only", part]);
        process::must_succeed(&mut valgrind)?;
        let text = std::fs::read_to_string(&out);
        let text = text.map_err(|error| Failure::step(format!("{}: {error}", out.display())))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<f64>().ok());
        total.filter(|&total| total > 0.0).ok_or_else(|| Failure::step(format!("callgrind counted no `{function}`")))
    };
    Ok(count("lower", "tally_llvm::pipeline::lower")? / count("optimise", "LLVMRunPasses")?)
}

/// What the sections of an object take, by the beginnings of their names.
struct Sizes {
    code: u64,
    maps: u64,
}

impl Sizes {
    fn of(object: &Path) -> Result<Sizes, Failure> {
        let text = process::output_of(process::command("size").arg("-A").arg(object))?;
        let size = |section: &str| -> u64 {
            let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let ours = lines.filter(|words| words.len() > 1 && words[0].starts_with(section));
            ours.filter_map(|words| words[1].parse::<u64>().ok()).sum()
        };
        Ok(Sizes { code: size(".text"), maps: size(".llvm_stackmaps") + size("tally_stackmaps") })
    }
}

/// What a run of a program printed.
struct Run {
    /// What it computed: the same in every build.
    sum: String,
    /// Its CPU time.
    seconds: f64,
}

impl Run {
    fn of(executable: &Path) -> Result<Run, Failure> {
        let text = process::output_of(&mut process::command(executable))?;
        let word = |name: &str| text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let run = word("sum").zip(word("seconds").and_then(|seconds| seconds.parse().ok()));
        let (sum, seconds) =
            run.ok_or_else(|| Failure::step(format!("{} printed no sum and time:\n{text}", executable.display())))?;
        Ok(Run { sum: sum.to_owned(), seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn figures_are_read_wherever_they_stand() {
        let figures = figures("functions=10 of\nlower_ms=2.5 x=y\n");
        assert_eq!((figures["functions"], figures["lower_ms"], figures.len()), (10.0, 2.5, 2));
    }
}
