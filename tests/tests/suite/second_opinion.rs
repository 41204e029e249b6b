//! Tally's stack maps against LLVM's shadow stack: examples, hazards of the lowering, random programs, and maps damaged
//! on purpose.
//!
//! `cargo run --release -p tally-tests --bin random_programs -- --second-opinion --count 300 --go-on` runs more random
//! programs. With `TALLY_EVERY_WAY` in the environment each program here meets all levels under both plans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tally_kit::tally_command::{source_tree, tally};
use tally_kit::ways::every_way;
use tally_kit::workers;
use tally_tests::random_program::{passes, program, trial};
use tally_tests::second_opinion::{Compared, Opinion, Witness};

/// Allocations of a program at which roots are looked at.
const LOOKS: u64 = 1500;
/// Hazards are looked at over several rounds of 3,000 boxes that overwrite what is dead.
const LOOKS_OF_HAZARDS: u64 = 60_000;
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];
const PLANS: [&str; 2] = ["refcount", "refcount-prompt"];

/// All savings but held parameters: these are no roots, since another root has what they hold, and a shadow stack has both.
const SAVED: [&str; 2] = ["--save-counts", "moves,lazy-roots,quiet-calls,leaf-calls,last-use,owned-results,postponed"];

/// Examples that use services, which the shadow build's allocator has none of.
const WITH_SERVICES: [&str; 8] = [
    "closed_coroutines",
    "finalizers",
    "generators",
    "native_handles",
    "prompt_files",
    "scheduler",
    "services",
    "weak_cache",
];

/// Hazards that have no shadow build, and why.
const NOT_OVER_A_SHADOW_STACK: [(&str, &str); 18] = [
    ("bundles_that_are_kept", "calls become invokes, and LLVM makes no code of invokes with such bundles"),
    (
        "calls_that_promise_too_much",
        "it promises that calls have no effect, so the optimiser leaves some out, and their allocations",
    ),
    ("calls_that_become_invokes", "unwinding past its frames leaves the shadow stack as it is"),
    ("constructors_of_every_form", "clang crashes at some of these lists, which only Tally puts in order"),
    ("intrinsics_about_frames", "calls become invokes, and LLVM crashes at a statepoint that is one"),
    ("musttail_cycle_of_ten_million", "too slow"),
    ("musttail_ten_million", "too slow"),
    ("promises_about_entry_points", "what the program promises wrongly, only Tally's lowering takes back"),
    ("result_half", "needs a function of compiler-rt that libgcc lacks"),
    (
        "root_stored_to_between_setjmp_and_longjmp",
        "LLVM takes what the variable held before the call, and longjmp leaves frames in the shadow stack",
    ),
    ("safe_stack", "needs the sanitizer's library"),
    ("setjmp_of_llvms_own", "the jump leaves frames in the shadow stack"),
    ("swifterror", "LLVM at level 0 loses what a swifterror variable holds"),
    ("tail_recursion_ten_million", "too slow"),
    ("stack_probes_of_odd_sizes", "LLVM cannot read the sizes, which only Tally takes back"),
    ("typed_references_written_several_at_once", "only Tally finds the roots of typed references"),
    ("types_described_in_metadata", "only Tally makes descriptors of the descriptions"),
    ("volatile_stores_to_roots", "only Tally finds the roots of typed references"),
];

/// Runs jobs, which share some modules, on all processors and lists what failed.
fn all<T: Sync>(
    jobs: &[T],
    shared: &[PathBuf],
    run: impl Fn(&Witness, usize, &T, &Path) -> Result<Compared, String> + Sync,
) -> Compared {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let witness = Witness::compile(folder.path(), shared).expect("clang 22 compiles the witness");
    let sum = Mutex::new(Compared::default());
    let failures = workers::each_number(jobs.len() as u64, usize::MAX, |place| {
        let own = folder.path().join(place.to_string());
        std::fs::create_dir(&own).expect("the folder can be written to");
        let place = place as usize;
        run(&witness, place, &jobs[place], &own).map(|compared| *sum.lock().expect("whole") += compared)
    });
    let failures: Vec<String> = failures.into_iter().map(|(_, why)| why).collect();
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), jobs.len(), failures.join("\n"));
    sum.into_inner().expect("whole")
}

/// Levels and plans by turns, or all of them.
fn ways(place: usize, plans: &[&'static str], count: usize) -> Vec<[&'static str; 4]> {
    let turns = if every_way() { LEVELS.len() * plans.len() } else { count };
    let way = |turn: usize| {
        ["--plan", plans[(place + turn) % plans.len()], "--opt", LEVELS[(place * 3 + turn) % LEVELS.len()]]
    };
    (0..turns).map(way).collect()
}

fn compare(name: &str, opinion: &Opinion, ways: &[[&str; 4]]) -> Result<Compared, String> {
    let mut sum = Compared::default();
    for way in ways {
        let saved: &[&str] = if way[1] == "refcount-prompt" && way[3] != "0" { &SAVED } else { &[] };
        let way = [&way[..], saved].concat();
        sum += opinion.compare(tally(), &way).map_err(|why| format!("{name} {}: {why}", way.join(" ")))?;
    }
    Ok(sum)
}

fn files(folder: &Path, kinds: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("readable").path());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|kind| kinds.iter().any(|one| kind == *one));
    paths.filter(is_one).collect::<BTreeSet<_>>().into_iter().collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A file as textual IR with managed functions in it.
fn as_ir(file: &Path, folder: &Path) -> Result<PathBuf, String> {
    if file.extension().is_some_and(|kind| kind == "ll") {
        return Ok(file.to_owned());
    }
    let copy = folder.join(file.file_name().expect("a file"));
    std::fs::copy(file, &copy).map_err(|error| error.to_string())?;
    let headers = format!("-I{}", file.parent().expect("a folder").display());
    passes::compile(&copy, &[&headers])
}

#[test]
fn examples_have_the_roots_that_a_shadow_stack_has() {
    let folder = source_tree().join("examples");
    let mut programs: Vec<Vec<PathBuf>> = files(&folder, &["c", "ll"]).into_iter().map(|file| vec![file]).collect();
    programs.retain(|program| !WITH_SERVICES.contains(&&*stem(&program[0])));
    programs.push(files(&folder.join("several_modules"), &["c", "ll"]));
    assert!(programs.len() > 14, "the examples are missing");
    let sum = all(&programs, &[], |witness, place, program, folder| {
        let name = program[0].display().to_string();
        let modules = program.iter().map(|file| as_ir(file, folder)).collect::<Result<Vec<_>, _>>()?;
        let opinion =
            Opinion::of(witness, folder, &modules, &[], &[], LOOKS).map_err(|why| format!("{name}: {why}"))?;
        compare(&name, &opinion, &ways(place, &PLANS, 3))
    });
    println!("{sum:?}");
    assert!(sum.needed > 100_000, "{sum:?}");
}

#[test]
fn hazards_have_the_roots_that_a_shadow_stack_has() {
    let folder = source_tree().join("frontend-glue/tests/hazards");
    let mut programs: Vec<(PathBuf, String)> = files(&folder, &["ll"])
        .into_iter()
        .filter(|file| stem(file) != "support" && NOT_OVER_A_SHADOW_STACK.iter().all(|(name, _)| *name != stem(file)))
        .map(|file| (file.clone(), std::fs::read_to_string(file).expect("readable")))
        .collect();
    let said = |text: &str, what: &str| text.lines().any(|line| line.starts_with(&format!("; {what}: ")));
    programs.retain(|(_, text)| !said(text, "REFUSED"));
    assert!(programs.len() > 55, "the programs are missing");
    let support = folder.join("support.ll");
    let sum = all(&programs, std::slice::from_ref(&support), |witness, place, (file, text), own| {
        let name = stem(file);
        let others = text.lines().find_map(|line| line.strip_prefix("; WITH: ")).unwrap_or("");
        let others = others.split_whitespace().map(|other| folder.join(other));
        let all = [file.clone(), support.clone()].into_iter().chain(others);
        let (modules, native): (Vec<_>, Vec<_>) =
            all.partition(|file| file.extension().is_some_and(|kind| kind == "ll"));
        let plans = if said(text, "PROMPT-REFUSED") { &PLANS[..1] } else { &PLANS };
        let opinion = Opinion::of(witness, own, &modules, &native, &[], LOOKS_OF_HAZARDS)
            .map_err(|why| format!("{name}: {why}"))?;
        let levels = text.lines().find_map(|line| line.strip_prefix("; LEVELS: "));
        let runs_at = |way: &&[&str; 4]| levels.is_none_or(|levels| levels.split(' ').any(|level| level == way[3]));
        let wanted = if every_way() { usize::MAX } else { 1 };
        let ways = ways(place, plans, LEVELS.len());
        compare(&name, &opinion, &ways.iter().filter(runs_at).take(wanted).copied().collect::<Vec<_>>())
    });
    println!("{sum:?}");
    assert!(sum.needed > 10_000, "{sum:?}");
}

#[test]
fn random_programs_have_the_roots_that_a_shadow_stack_has() {
    let seeds: Vec<u64> = (1..=8).collect();
    let sum = all(&seeds, &[], |witness, place, &seed, folder| {
        let file = folder.join("program.c");
        std::fs::write(&file, program(seed)).map_err(|error| error.to_string())?;
        let modules = trial::as_ir(&file)?;
        let opinion =
            Opinion::of(witness, folder, &modules, &[], &[], LOOKS).map_err(|why| format!("seed {seed}: {why}"))?;
        compare(&format!("seed {seed}"), &opinion, &ways(place, &PLANS, 2))
    });
    println!("{sum:?}");
    assert!(sum.needed > 1000, "{sum:?}");
}

/// Two roots that are needed across allocations, one that no longer is, and a variable that is none and
/// holds an object that nothing else holds. No two roots hold the same: what one names would stand in for the other.
const TWO_KEPT: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null,
                               ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
define ptr @spare() noinline gc "refcount" {
  %spare = call ptr @tally_new(ptr @pair)
  ret ptr %spare
}
define ptr @two(ptr %tail) noinline gc "refcount" {
  %kept = alloca ptr
  %first = alloca ptr
  %gone = alloca ptr
  %other = alloca ptr
  call void @llvm.gcroot(ptr %kept, ptr null)
  call void @llvm.gcroot(ptr %first, ptr null)
  call void @llvm.gcroot(ptr %gone, ptr null)
  store ptr %tail, ptr %kept
  %spare = call ptr @spare()
  store volatile ptr %spare, ptr %other
  %a = call ptr @tally_new(ptr @pair)
  store ptr %a, ptr %first
  %b = call ptr @tally_new(ptr @pair)
  store ptr %b, ptr %gone
  call void @llvm.gcwrite(ptr %a, ptr %b, ptr %b)
  store ptr null, ptr %gone
  %c = call ptr @tally_new(ptr @pair)
  %x = load ptr, ptr %kept
  %y = load ptr, ptr %first
  call void @llvm.gcwrite(ptr %x, ptr %c, ptr %c)
  %second = getelementptr i8, ptr %c, i64 8
  call void @llvm.gcwrite(ptr %y, ptr %c, ptr %second)
  ret ptr %c
}
define i32 @main() gc "refcount" {
entry:
  %list = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = load ptr, ptr %list
  store ptr null, ptr %list
  %new = call ptr @two(ptr %old)
  store ptr %new, ptr %list
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 5
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"#;

/// The bundles of allocations, and the pairs of an id and a slot in each.
fn pairs(text: &str) -> Vec<(usize, Vec<String>)> {
    let lines =
        text.lines().enumerate().filter(|(_, line)| line.contains("@witness_new(") && line.contains("[ \"deopt\"("));
    let pairs = |line: &str| {
        let inside =
            line.split_once("\"deopt\"(").and_then(|(_, rest)| rest.split_once(')')).map_or("", |(pairs, _)| pairs);
        let words: Vec<&str> = inside.split(", ").filter(|word| !word.is_empty()).collect();
        words.chunks(2).map(|pair| pair.join(", ")).collect()
    };
    lines.map(|(number, line)| (number, pairs(line))).collect()
}

/// A line of the lowered text with one pair of its bundle replaced.
fn with_pair(text: &str, number: usize, pair: &str, to: &str) -> String {
    let change = |line: &str| {
        let removed = [format!("{pair}, "), format!(", {pair}"), pair.to_owned()];
        let found =
            removed.iter().find(|words| line.contains(words.as_str())).expect("the lowering is the same each time");
        if to.is_empty() { line.replacen(found.as_str(), "", 1) } else { line.replacen(pair, to, 1) }
    };
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| if at == number { change(line) } else { line.to_owned() } + "\n").collect()
}

/// A root taken out of a bundle, and a slot named in it that is no root: each is noticed, in whichever bundle.
#[test]
fn maps_without_a_root_and_maps_with_a_slot_that_is_none_are_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = Witness::compile(folder.path(), &[]).expect("clang 22 compiles the witness");
    let file = folder.path().join("two.ll");
    std::fs::write(&file, TWO_KEPT).expect("it can be written to");
    let opinion = Opinion::of(&witness, folder.path(), &[file], &[], &[], LOOKS).expect("a shadow build");
    for plan in PLANS {
        let options = ["--plan", plan];
        let bundles = Mutex::new(Vec::new());
        let whole = opinion.compare_changed(tally(), &options, |text| {
            bundles.lock().expect("whole").extend(pairs(text));
            text.to_owned()
        });
        whole.unwrap_or_else(|why| panic!("{plan}: {why}"));
        let bundles = bundles.into_inner().expect("whole");
        let (mut lost, mut strange) = (0, 0);
        for (number, pairs) in &bundles {
            // The third root holds null at each allocation, or is not named.
            for pair in pairs.iter().filter(|pair| !pair.contains("%gone")) {
                let damaged = |to: &str| {
                    let is_it = |text: &str| text.lines().nth(*number).is_some_and(|line| line.contains(pair.as_str()));
                    let change = |text: &str| {
                        if is_it(text) { with_pair(text, *number, pair, to) } else { text.to_owned() }
                    };
                    let outcome = opinion.compare_changed(tally(), &options, change);
                    outcome.err().unwrap_or_else(|| panic!("{plan}, line {number}: {pair} became {to:?}, unnoticed"))
                };
                let why = damaged("");
                assert!(why.contains("are read later"), "{plan}, {pair}: {why}");
                lost += 1;
                let id = pair.split(", ").next().expect("an id");
                let why = damaged(&format!("{pair}, {id}, ptr %other"));
                assert!(why.contains("roots of the map hold object"), "{plan}, {pair}: {why}");
                strange += 1;
            }
        }
        assert!(lost >= 5 && strange >= 5, "{plan}: {bundles:?}");
    }
}
