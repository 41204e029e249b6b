//! Where managed code meets what is not: other threads, native callers and callees, exceptions, signals, the end of the
//! stack, the host that loads and unloads code. Promised in `docs/port/embedding.md`, for both plans: `program.rs` says how
//! each test comes to run under either.

mod after_exit;
mod alloc_sites;
mod anchors;
mod callbacks;
mod coroutines;
mod deep_stacks;
mod ends;
mod finalizers;
mod full_disk;
mod host;
mod host_in_c;
mod inside_collections;
mod llvm_interface;
mod native_code;
mod program;
mod signals;
mod stack_overflow;
mod thread_locals;
mod threads;
mod wrong_object;

use program::Folder;
use std::process::Command;
use tally_kit::folder::Outcome;
use tally_llvm::lower::Plan;

/// A program that ends in peace.
fn prints(stdout: &str) -> Outcome {
    Outcome { status: Some(0), stdout: stdout.into(), stderr: String::new() }
}

/// Runs a program in both ways, at both ends of optimisation, with a leak check and an epoch every 64 KiB; under the deferred plan also with
/// collections that trace between the epochs.
fn runs(program: &str, stdout: &str) {
    runs_in(&Folder::with(&[("program.c", program)]), stdout);
}

/// The same for the `program.c` of a folder, which may hold native code that it links.
fn runs_in(folder: &Folder, stdout: &str) {
    runs_with(folder, &[], stdout);
}

/// The same for a program that makes objects for the sake of roots that hold them, and of allocations: none is on the stack.
fn runs_on_the_heap(program: &str, stdout: &str) {
    runs_with(&Folder::with(&[("program.c", program)]), &["--stack-objects=off"], stdout);
}

fn runs_with(folder: &Folder, options: &[&str], stdout: &str) {
    for level in ["0", "2"] {
        let jit = ["run", "--leak-check", "--epoch-bytes", "64KiB", "--opt", level, "program.c"];
        assert_eq!(folder.tally(&[&jit, options].concat()), prints(stdout), "tally run --opt {level}");
        folder.build(&[&["--opt", level, "program.c"], options].concat());
        let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "64KiB")];
        assert_eq!(folder.program(&variables, &[]), prints(stdout), "tally build --opt {level}");
        if program::plan() == Plan::Deferred {
            let turns = [&variables[..], &[("TALLY_TRACING", "turns")]].concat();
            assert_eq!(folder.program(&turns, &[]), prints(stdout), "the same, which traces by turns");
        }
    }
}

/// All other tests, in a process of that plan.
#[test]
fn everything_here_holds_under_the_prompt_plan() {
    if program::plan() == Plan::Prompt {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let ran = Command::new(own).arg("boundaries::").env(program::VARIABLE, Plan::Prompt.strategy()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}
