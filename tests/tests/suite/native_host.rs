//! A host in C of which nothing was lowered: it links `libtally.a` and allocates before anything managed is there.

use std::path::Path;
use std::process::{Command, Output};
use tally_kit::tally_command::{describe, run, source_tree, tally};

/// Pairs held by handles, one of which dies.
const HOST: &str = r#"
#include <stdio.h>
#include <tally.h>
typedef struct Pair { struct Pair *first, *second; long value; } Pair;
static const uint32_t references[] = {0, 8};
static const tally_type pair_type = {.version = TALLY_TYPE_VERSION, .size = sizeof(Pair), .ref_count = 2,
                                     .ref_offsets = references, .name = "Pair"};
int main(void) {
    START
    Pair *held = tally_new(&pair_type);
    tally_handle *handle = tally_handle_new(held);
    held->value = 7;
    tally_fill_refs(held, &held->first, (uint64_t)(uintptr_t)tally_new(&pair_type), 1);
    tally_new(&pair_type);
    tally_collect();
    tally_statistics now;
    tally_get_statistics(&now);
    printf("%ld: %lu of %lu left, %lu freed\n", held->value, now.live_objects, now.allocated_objects, now.freed_objects);
    return handle == NULL;
}
"#;

/// Only a thread of it has a heap.
const HOST_WITH_A_THREAD: &str = r#"
#include <pthread.h>
#include <tally.h>
static const tally_type leaf_type = {.version = TALLY_TYPE_VERSION, .size = 8, .name = "Leaf"};
static void *work(void *unused) {
    (void)unused;
    return tally_new(&leaf_type) ? NULL : (void *)1;
}
int main(void) {
    pthread_t thread;
    void *failed;
    return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, &failed) || failed != NULL;
}
"#;

fn outcome(start: &str, whole: bool) -> Output {
    outcome_of(&HOST.replace("START", start), whole)
}

fn outcome_of(host: &str, whole: bool) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("host.c"), folder.path().join("host"));
    std::fs::write(&source, host).expect("room");
    let runtime = tally().with_file_name("libtally.a");
    let mut clang = Command::new("clang-22");
    clang.arg("-I").arg(source_tree().join("aot-runtime/include")).arg(&source);
    match whole {
        true => clang.arg("-Wl,--whole-archive").arg(&runtime).arg("-Wl,--no-whole-archive"),
        false => clang.arg(&runtime),
    };
    let built = clang.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-o"]).arg(&program).output().expect("clang-22");
    assert!(built.status.success(), "{}", describe(&built));
    // One that did not end would be killed.
    run(Path::new("timeout"), &["60".as_ref(), program.as_os_str()], &[])
}

#[test]
fn a_host_that_links_all_of_the_runtime_just_allocates() {
    let output = outcome("", true);
    assert!(output.status.success() && output.stdout == b"7: 2 of 3 left, 1 freed\n", "{}", describe(&output));
}

#[test]
fn a_host_that_links_what_it_uses_just_allocates_too() {
    for begins in ["tally_init(); tally_init();", ""] {
        let output = outcome(begins, false);
        assert!(output.status.success() && output.stdout == b"7: 2 of 3 left, 1 freed\n", "{}", describe(&output));
    }
}

/// The work at the end of the process is about the heap of the thread that ends it: here it has none.
#[test]
fn a_host_whose_main_thread_has_no_heap_ends() {
    for whole in [false, true] {
        let output = outcome_of(HOST_WITH_A_THREAD, whole);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", describe(&output));
    }
}
