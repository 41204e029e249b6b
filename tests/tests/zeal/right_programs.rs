//! Programs without a mistake that zeal might take for one.

use super::prints;

/// Only the first block of a large object says which heap it belongs to.
#[test]
fn elements_of_an_array_of_many_blocks() {
    prints(
        r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Nodes { uint64_t length; Node *at[]; } Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);
int main(void) {
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 20000);
    TALLY_ROOT(nodes);
    for (int i = 0; i < 20000; i += 500) {
        Node *n = TALLY_NEW(Node);
        n->value = i;
        TALLY_WRITE(nodes, at[i], n);
    }
    long sum = 0;
    for (int i = 0; i < 20000; i += 500) sum += nodes->at[i]->value;
    printf("%ld\n", sum);
}
"#,
        "390000\n",
    );
}

/// The tutorial's tree, with a fifth of its nodes: an epoch at each safepoint does not look at all of them
/// (`rc-runtime/src/zeal/pace.rs` counts).
#[test]
fn the_tree_of_the_tutorial() {
    let tutorial = std::fs::read_to_string(tally_tests::tally_command::source_tree().join("docs/c-frontend.md"));
    let tutorial = tutorial.expect("the tutorial");
    let blocks: Vec<&str> =
        tutorial.split("```c\n").skip(1).take(3).map(|block| block.split("```").next().expect("its end")).collect();
    let program = blocks.concat().replace("i < 100000", "i < 20000");
    for plan in super::PLANS {
        let output = super::run(plan, "2", "tree.c", &program);
        let right = output.status.success() && output.stdout.starts_with(b"the smallest is ");
        assert!(right, "{plan}: {}", tally_tests::tally_command::describe(&output));
    }
}
