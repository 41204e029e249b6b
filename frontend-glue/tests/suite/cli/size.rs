//! What is in an executable of ten lines, README.md's, and what is not.

use std::ffi::OsString;
use tally_kit::folder::Folder;
use tally_kit::tally_command::{describe, run_tally, source_tree, tally};

/// Bytes of a stripped executable: 1.2 MiB.
const BYTES_MAX: u64 = 1_258_291;
/// Programs whose stack maps are weighed against their code.
const PROGRAMS: [&str; 5] = ["lua", "json", "dom", "server", "richards"];

#[test]
fn executable_has_the_collector_of_its_plan_and_what_it_calls() {
    let readme = std::fs::read_to_string(source_tree().join("README.md")).unwrap();
    let program = readme.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).expect("a program in C").0;
    let folder = Folder::with(&[("program.c", program)]);
    let [deferred, prompt, tracer] = ["DeferredDriver>::epoch", "PromptDriver>::epoch", "Tracer>::epoch"];
    // Heaps of the deferred plan trace where that costs less.
    for (plan, own, others) in [
        ("refcount", deferred, &[prompt][..]),
        ("refcount-prompt", prompt, &[deferred, tracer]),
        ("trace", tracer, &[deferred, prompt]),
    ] {
        folder.build(&["-O2", "--plan", plan, "program.c"]);
        let symbols = folder.inspect("nm", &["-C"]);
        let has = |word: &str| symbols.contains(word);
        let unwanted = [
            "tally_weak_map_new",
            "tally_zeal_write",
            "tally_register_frames",
            "gimli::Cache>::with_global",
            "available_parallelism",
        ];
        let unwanted: Vec<_> = unwanted.iter().chain(others).filter(|word| has(word)).collect();
        assert!(unwanted.is_empty() && has(own) && has("tally_panic_frames"), "{plan}: {unwanted:?}");
    }
    // The runtime as it is released, without its assertions.
    if tally().components().any(|part| part.as_os_str() == "release") {
        let [source, program] = ["program.c", "program"].map(|file| folder.path(file).into_os_string());
        for plan in ["refcount", "refcount-prompt", "trace"] {
            let words = ["build", "-O2", "--plan", plan].map(OsString::from);
            let built = run_tally(&[&words[..], &[source.clone(), "-o".into(), program.clone()]].concat(), &[]);
            assert!(built.status.success(), "{}", describe(&built));
            folder.inspect("strip", &[]);
            let bytes = std::fs::metadata(&program).unwrap().len();
            assert!(bytes <= BYTES_MAX, "{plan}: {bytes} bytes");
        }
    }
}

/// Under each plan, at each end of the levels, all programs together.
#[test]
fn stack_maps_are_an_eighth_of_the_code_at_most() {
    for plan in ["refcount", "refcount-prompt", "trace"] {
        for level in ["-O0", "-O2"] {
            let [code, maps] = PROGRAMS
                .iter()
                .map(|program| sizes(program, plan, level))
                .fold([0, 0], |sum, sizes| [sum[0] + sizes[0], sum[1] + sizes[1]]);
            assert!(maps > 0 && maps * 8 <= code, "{plan} {level}: {maps} bytes of maps for {code} of code");
        }
    }
}

/// Bytes of code and of stack maps in the object of one of `benches/programs`.
fn sizes(program: &str, plan: &str, level: &str) -> [u64; 2] {
    let folder = Folder::with(&[]);
    let source = source_tree().join("benches/programs").join(program).with_extension("c");
    let words = ["build", "--emit", "obj", level, "--plan", plan, source.to_str().unwrap(), "-o", "program.o"];
    let outcome = folder.tally(&words);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let listed = folder.run("size", &["-A", "program.o"]).stdout;
    let sections = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?.parse::<u64>().ok()?))
    });
    let mut sizes = [0, 0];
    for (name, bytes) in sections {
        sizes[0] += if name.starts_with(".text") { bytes } else { 0 };
        sizes[1] += if name.contains("stackmaps") { bytes } else { 0 };
    }
    sizes
}
