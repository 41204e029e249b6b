//! Damaged modules, as text and as bitcode, as `tally lower` meets them under both plans: lowered, or refused in words.
//!
//! Through the command, not in this process: LLVM's reader of bitcode crashes at some damage, for which the command has
//! a net. The fuzz target `module` does the same in one process.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use std::path::{Path, PathBuf};
use std::process::Command;
use tally_kit::checks::module as fuzzed_module;
use tally_kit::damage::budget::each_input;
use tally_kit::damage::mutation::Mutation;
use tally_kit::tally_command::checked_tally;

/// The tests of the lowering are sound modules of every kind, or nearly so.
fn texts() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lowering");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "ll"));
    files.sort();
    assert!(files.len() > 50);
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// What somebody who edits text does: lines repeated, moved and taken out, words exchanged. Now and then a byte is wrong.
fn edit(text: &[u8], mutation: &mut Mutation) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let words: Vec<Vec<u8>> =
        text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect();
    for _ in 0..1 + mutation.below(4) {
        let (at, other) = (mutation.below(lines.len()), mutation.below(lines.len()));
        match mutation.below(8) {
            0 => lines.insert(at, lines[other].clone()),
            1 => lines.swap(at, other),
            2 if lines.len() > 1 => drop(lines.remove(at)),
            3 => {
                let mut bytes = lines[at].clone();
                mutation.damage(&mut bytes);
                lines[at] = bytes;
            }
            _ => {
                let mut parts: Vec<&[u8]> = lines[at].split(|&byte| byte == b' ').collect();
                let part = mutation.below(parts.len());
                parts[part] = &words[mutation.below(words.len())];
                lines[at] = parts.join(&b' ');
            }
        }
    }
    lines.join(&b'\n')
}

fn bitcode(text: &[u8]) -> Option<Vec<u8>> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(&[text, &[0]].concat(), "text");
    let module = context.create_module_from_ir(buffer).ok()?;
    Some(module.write_bitcode_to_memory().as_slice().to_vec())
}

#[derive(Debug, Default)]
struct Seen {
    inputs: u64,
    lowered: u64,
    crashed: u64,
}

impl Seen {
    fn lower(&mut self, folder: &Path, name: &str, bytes: &[u8], input: u64) {
        std::fs::write(folder.join(name), bytes).unwrap();
        let plan = ["refcount", "refcount-prompt"][input as usize % 2];
        let mut command = Command::new(checked_tally());
        let arguments = ["lower", "--plan", plan, name, "-o", "out.ll"];
        let outcome = command.args(arguments).current_dir(folder).env("RUST_BACKTRACE", "0").output().unwrap();
        let message = String::from_utf8_lossy(&outcome.stderr).into_owned();
        self.inputs += 1;
        match outcome.status.code() {
            Some(0) => self.lowered += 1,
            Some(2) if message.contains("crashed while compiling") => self.crashed += 1,
            Some(2) => {
                assert!(names_place(&message, name, bytes) && !message.contains("panicked"), "input {input}: {message}")
            }
            _ => panic!("input {input}, {plan}: {:?} {message}", outcome.status),
        }
        assert_eq!(folder.join("out.ll").exists(), outcome.status.success(), "input {input}: {message}");
        let _ = std::fs::remove_file(folder.join("out.ll"));
    }
}

/// Whether a message names the file, or the source file and line that debug information of the module names.
fn names_place(message: &str, name: &str, module: &[u8]) -> bool {
    const SOURCE: &str = "prog.c";
    let has_source = module.windows(SOURCE.len()).any(|bytes| bytes == SOURCE.as_bytes());
    message.contains(name) || has_source && message.contains(&format!("{SOURCE}:"))
}

#[test]
fn text_that_was_edited_at_random_is_lowered_or_refused_in_words() {
    let (folder, texts, mut seen) = (tempfile::tempdir().unwrap(), texts(), Seen::default());
    each_input("modules of text", 50, |input| {
        let mut mutation = Mutation::new(input);
        let text = edit(&texts[mutation.below(texts.len())], &mut mutation);
        seen.lower(folder.path(), "edited.ll", &text, input);
        assert_eq!(seen.crashed, 0, "input {input}: a crash, of ours or of LLVM");
    });
    println!("  {seen:?}");
    assert!(seen.inputs < 20 || seen.lowered > 0 && seen.lowered < seen.inputs, "{seen:?}");
}

/// Sound modules, in this process.
#[test]
fn modules_pass_the_check_of_the_fuzz_target() {
    let lowered: usize = texts().iter().step_by(5).map(|text| fuzzed_module::check(text)).sum();
    assert!(lowered > 20, "{lowered} were lowered");
}

#[test]
fn damaged_bitcode_is_lowered_or_refused_in_words() {
    let (folder, texts, mut seen) = (tempfile::tempdir().unwrap(), texts(), Seen::default());
    let sound: Vec<Vec<u8>> = texts.iter().step_by(7).filter_map(|text| bitcode(text)).collect();
    assert!(sound.len() > 5);
    each_input("modules of bitcode", 45, |input| {
        let mut mutation = Mutation::new(input);
        let mut bytes = sound[mutation.below(sound.len())].clone();
        // The first four bytes say what the file is.
        let rest = 4..bytes.len();
        (0..1 + mutation.below(3)).for_each(|_| mutation.change_in(&mut bytes, rest.clone()));
        seen.lower(folder.path(), "damaged.bc", &bytes, input);
    });
    println!("  {seen:?}");
}
