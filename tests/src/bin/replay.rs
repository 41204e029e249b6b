//! `cargo xtask replay WHAT`: runs a failing random program again, makes it short, and draws the heap.
//!
//! WHAT is a file with a program, the origin that a failure has printed (`sliced/17/42/1500`), or a bare seed, whose
//! first programs are then run in all setups until one fails. Every run is a process of its own. It writes the short
//! program, a picture as Graphviz text and one as SVG. Exit status: 0 no program fails, 1 one fails, 2 wrong command
//! line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use tally_tests::failure_report::{graph_at, report_without_picture, write_pictures};
use tally_tests::journal::{entry_text, folder};
use tally_tests::minimise::{Failing, minimise, read, run_apart};
use tally_tests::origin::Origin;
use tally_tests::setup::{Setup, setups};

#[derive(Parser)]
#[command(name = "replay", about = "Runs a failing random program again, makes it short, and draws the heap")]
struct Arguments {
    /// A file with a program, an origin as a failure prints it (SETUP/SEED/NUMBER/LONGEST), or a seed
    #[arg(required_unless_present = "run")]
    what: Option<String>,
    /// With a seed: only this setup
    #[arg(long, value_name = "SETUP")]
    setup: Option<String>,
    /// With a seed: so many programs in each setup
    #[arg(long, default_value_t = 60)]
    programs: u64,
    /// With a seed: their longest; a tenth under zeal
    #[arg(long, default_value_t = 1500)]
    longest: usize,
    /// Where program and pictures are written
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Run the program in this file and say nothing
    #[arg(long, hide = true)]
    run: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.run {
        Some(place) => read(place).map(|(setup, ops)| setup.run(&ops).is_err()),
        None => replay(&arguments),
    };
    match outcome {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(1),
        Err(error) => {
            eprintln!("replay: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether any program fails.
fn replay(arguments: &Arguments) -> Result<bool, String> {
    let out = arguments.out.clone().unwrap_or_else(|| folder().join("replay"));
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let what = arguments.what.as_deref().expect("required without --run");
    let place = out.join("program.txt");
    let found = match what.parse::<u64>() {
        Ok(seed) => search(arguments, seed, &place)?,
        Err(_) if Path::new(what).is_file() => Some(PathBuf::from(what)),
        Err(_) => {
            let origin: Origin = what.parse().map_err(|error| format!("no file is called so, and {error}"))?;
            write(&origin, &place)?;
            Some(place)
        }
    };
    let Some(place) = found else { return Ok(false) };
    let mut shown = usize::MAX;
    let failing = minimise(&place, &out.join("smaller.txt"), |length| {
        if length < shown / 2 {
            shown = length;
            eprintln!("replay: it fails; {length} ops so far");
        }
    })?;
    match failing {
        None => {
            println!("no difference: {} passes", place.display());
            Ok(false)
        }
        Some(failing) => show(&failing, &out).map(|()| true),
    }
}

fn write(origin: &Origin, place: &Path) -> Result<(), String> {
    let text = entry_text(&origin.setup, &origin.program());
    std::fs::write(place, text).map_err(|error| format!("{}: {error}", place.display()))
}

/// The first program of the seed that fails in any setup.
fn search(arguments: &Arguments, seed: u64, place: &Path) -> Result<Option<PathBuf>, String> {
    let chosen = match &arguments.setup {
        Some(name) => vec![Setup::named(name)?],
        None => setups(),
    };
    let count = chosen.len();
    for (place_in_list, setup) in chosen.into_iter().enumerate() {
        let longest = if setup.options.zeal { arguments.longest.div_ceil(10) } else { arguments.longest };
        eprintln!("replay: {} programs in setup {} ({} of {count})", arguments.programs, setup.name, place_in_list + 1);
        for number in 0..arguments.programs {
            let origin = Origin { setup: setup.name.to_owned(), seed, number, longest };
            write(&origin, place)?;
            if !run_apart(place)?.success() {
                eprintln!("replay: {origin} fails");
                return Ok(Some(place.to_owned()));
            }
        }
    }
    println!("no difference: {} programs of seed {seed} in each of {count} setups pass", arguments.programs);
    Ok(None)
}

/// Prints the report of the short program, and draws the heap.
fn show(failing: &Failing, out: &Path) -> Result<(), String> {
    let Failing { setup, ops, place, status, before: (length, tries) } = failing;
    println!("{length} ops shrunk to {} in {tries} runs: {}", ops.len(), place.display());
    let difference = if status.code() == Some(1) { setup.run(ops).err() } else { None };
    match &difference {
        Some(failure) => println!("{}", report_without_picture(setup, None, ops, failure)),
        None => println!("the process that ran it ended with {status}:\n{}", entry_text(setup.name, ops)),
    }
    let graph = graph_at(setup, ops, difference.as_ref());
    let [dot, svg] = write_pictures(&graph, &out.join("heap"))?;
    println!("pictures of the heap then: {}, {}", dot.display(), svg.display());
    Ok(())
}
