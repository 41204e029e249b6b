//! Programs of the trace plan with a pause goal: their collections go in slices if all modules have the barrier, and stop the program
//! otherwise. Each prints the same in all ways.

use tally_kit::folder::Folder;

/// A ring of lists: for each step a list moves from one holder to the next, through a new one, and the oldest is dropped. Prints a sum.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next, *other; long value; } Node;
TALLY_TYPE(Node, next, other);

static Node *list(long length) {
    Node *first = NULL;
    TALLY_ROOT(first);
    for (long i = 0; i < length; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, first);
        first = node;
    }
    return first;
}

int main(int words, char **arguments) {
    long steps = words > 1 ? atol(arguments[1]) : 800, sum = 0;
    Node *holder = NULL, *fresh = NULL;
    TALLY_ROOT(holder);
    TALLY_ROOT(fresh);
    holder = list(300);
    Node *kept = list(50);
    TALLY_WRITE(holder, other, kept);
    for (long step = 0; step < steps; step++) {
        fresh = list(300);
        TALLY_WRITE(fresh, other, holder->other);
        TALLY_WRITE(holder, other, NULL);
        holder = fresh;
    }
    for (Node *node = holder->other; node; node = node->next) sum += node->value;
    for (Node *node = holder; node; node = node->next) sum += node->value;
    printf("%ld\n", sum);
    return 0;
}
"#;

/// A function that stores a reference plainly.
const PLAIN: &str = r#"
target triple = "x86_64-unknown-linux-gnu"
define void @store(ptr %object, ptr %value) gc "trace" {
  store ptr %value, ptr %object
  ret void
}
"#;

const SUM: &str = "46075\n";
/// Slices are short, so that a collection has many.
const SHORT: [(&str, &str); 3] =
    [("TALLY_SLICE_UNITS", "300"), ("TALLY_EPOCH_BYTES", "16KiB"), ("TALLY_PAUSE_GOAL", "1ms")];

/// The statistics' `slices` and `epochs`.
fn counted(stderr: &str) -> [u64; 2] {
    ["slices", "epochs"].map(|name| {
        let line = stderr.lines().find(|line| line.starts_with(&format!("tally: {name} ")));
        line.and_then(|line| line.split(' ').next_back()?.parse().ok()).expect("the statistics have it")
    })
}

#[test]
fn collections_go_in_slices_where_all_modules_have_the_barrier() {
    let folder = Folder::with(&[("program.c", PROGRAM), ("plain.ll", PLAIN)]);
    for (level, files, sliced) in
        [("0", &["program.c"][..], true), ("2", &["program.c"], true), ("2", &["program.c", "plain.ll"], false)]
    {
        let built = folder.tally(&[&["build", "--plan", "trace", "--opt", level], files, &["-o", "program"]].concat());
        assert_eq!(built.status, Some(0), "{}", built.stderr);
        let ran = folder.program(&[&SHORT[..], &[("TALLY_STATS", "1")]].concat(), &[]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), SUM), "{files:?}: {}", ran.stderr);
        let [slices, epochs] = counted(&ran.stderr);
        assert!(epochs > 20, "{}", ran.stderr);
        assert_eq!(slices > 4 * epochs, sliced, "{files:?}: {slices} slices of {epochs} collections");
    }
    let zeal = folder.tally_with(&SHORT, &["run", "--plan", "trace", "--zeal", "--leak-check", "program.c", "--", "4"]);
    assert_eq!((zeal.status, zeal.stdout.as_str()), (Some(0), SUM), "{}", zeal.stderr);
}
