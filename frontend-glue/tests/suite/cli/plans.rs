//! Which plan a program gets, and that it gets one.

use tally_kit::folder::Folder;

fn succeed(folder: &Folder, arguments: &[&str]) {
    let outcome = folder.tally(arguments);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

const PROMPT: &str =
    "define i32 @main() gc \"refcount-prompt\" {\n  call void @work()\n  ret i32 0\n}\ndeclare void @work()\n";
const DEFERRED: &str = "define void @work() gc \"refcount\" {\n  ret void\n}\n";

#[test]
fn modules_of_two_plans_are_no_program() {
    let folder = Folder::with(&[("prompt.ll", PROMPT), ("deferred.ll", DEFERRED)]);
    let expected = "deferred.ll: in @work: gc \"refcount\" is asked for here, and gc \"refcount-prompt\" by @main of prompt.ll; \
                    a heap has one plan";
    for arguments in [&["run", "prompt.ll", "deferred.ll"][..], &["build", "prompt.ll", "deferred.ll", "-o", "both"]] {
        let outcome = folder.tally(arguments);
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    succeed(&folder, &["lower", "deferred.ll", "-o", "lowered.bc"]);
    let outcome = folder.tally(&["run", "prompt.ll", "lowered.bc"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("lowered.bc: gc \"refcount\" is asked for here"), "{}", outcome.stderr);
    assert_eq!(folder.names(), ["deferred.ll", "lowered.bc", "prompt.ll"]);
}

#[test]
fn one_option_gives_all_modules_one_plan() {
    let folder = Folder::with(&[("prompt.ll", PROMPT), ("deferred.ll", DEFERRED)]);
    succeed(&folder, &["run", "--plan", "refcount-prompt", "prompt.ll", "deferred.ll"]);
    succeed(&folder, &["run", "--gc-name", "refcount-prompt=refcount", "prompt.ll", "deferred.ll"]);
    let outcome = folder.tally(&["run", "--plan", "eager", "prompt.ll"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("there are refcount, refcount-prompt, trace"), "{}", outcome.stderr);
}

#[test]
fn lowered_modules_of_two_plans_are_not_linked() {
    let folder = Folder::with(&[("prompt.ll", PROMPT), ("deferred.ll", DEFERRED)]);
    for file in ["prompt", "deferred"] {
        succeed(&folder, &["lower", &format!("{file}.ll"), "-o", &format!("{file}.bc")]);
    }
    let linked = folder.run("llvm-link-22", &["prompt.bc", "deferred.bc", "-o", "both.bc"]);
    assert_ne!(linked.status, Some(0), "the module flags contradict each other");
    assert!(linked.stderr.contains("tally.lowered"), "{}", linked.stderr);
}
