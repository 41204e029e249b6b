//! Programs without a mistake that zeal might take for one.

use super::prints;
use tally_heap::zeal::EARNED_BY_EPOCH;

/// References that trials may follow while a program's heap is small, each epoch all of them.
const ZEALOUS_EDGES: u64 = 16 << 20;

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

/// The tutorial's tree, all 99,999 nodes of it: an epoch at each safepoint neither looks at all of them nor tries all that
/// candidates reach (`rc-runtime/src/zeal/pace.rs` counts). Without that the prompt plan followed references in proportion to
/// safepoints times nodes, and was not seen to end.
#[test]
fn the_tree_of_the_tutorial() {
    let tutorial = std::fs::read_to_string(tally_kit::tally_command::source_tree().join("docs/use/c-frontend.md"));
    let tutorial = tutorial.expect("the tutorial");
    let blocks: Vec<&str> =
        tutorial.split("```c\n").skip(1).take(3).map(|block| block.split("```").next().expect("its end")).collect();
    for plan in super::PLANS {
        let (output, figures) = super::run_with_statistics(plan, "2", "tree.c", &blocks.concat());
        let right = output.status.success() && output.stdout.starts_with(b"the smallest is ");
        assert!(right, "{plan}: {}", tally_kit::tally_command::describe(&output));
        let (edges, epochs) = (&figures["trial_edges"], &figures["pauses"]);
        // While the heap is small, every epoch tries everything: 4,096 nodes have about 4,096 references.
        let allowed = epochs.as_u64().expect("a number") * EARNED_BY_EPOCH + ZEALOUS_EDGES;
        assert!(edges.as_u64() <= Some(allowed), "{plan}: {allowed} references may be followed\n{figures}");
    }
}

/// What a callee hands over through an out-parameter lives when the variable is a root, whatever the address goes through.
#[test]
fn out_parameters_that_are_roots() {
    prints(&out_parameters("TALLY_ROOT"), "20\n");
}

/// And if it is none, it is dead: under the prompt plan it dies where the callee ends, with zeal or without. The contract is
/// the same for both plans, so zeal stops the program under both.
#[test]
fn out_parameter_that_is_no_root() {
    let program = out_parameters("(void)");
    for plan in super::PLANS {
        for level in ["0", "2"] {
            let output = super::run(plan, level, "program.c", &program);
            let said = tally_kit::tally_command::describe(&output);
            assert_eq!(output.status.code(), Some(5), "{plan}, --opt {level}: {said}");
            assert!(said.contains("use of a dead object: the `Node`"), "{plan}, --opt {level}: {said}");
        }
    }
    let finalized = "static void died(Node *node) { printf(\"dies\\n\"); }\nTALLY_FINALIZED_TYPE(Node, died, next);";
    let program =
        program.replace("TALLY_TYPE(Node, next);", finalized).replace("sum +=", "printf(\"used\\n\"); sum +=");
    for level in ["0", "2"] {
        let output = super::run_without_zeal("refcount-prompt", level, &program);
        let said = tally_kit::tally_command::describe(&output);
        assert!(output.stdout.starts_with(b"dies\nused\n"), "--opt {level}: {said}");
    }
}

/// A function for each way in which an address may reach a callee; `root` makes roots of the variables.
fn out_parameters(root: &str) -> String {
    r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static __attribute__((noinline)) void make(long value, Node **out) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    *out = node;
}
typedef struct Box { Node **out; } Box;
static __attribute__((noinline)) void make_boxed(long value, Box *box) { make(value, box->out); }
int main(void) {
    long sum = 0;
    for (long i = 0; i < 5; i++) {
        Node *made = NULL, *boxed = NULL;
        ROOT(made);
        ROOT(boxed);
        make(i, &made);
        sum += made->value;
        Box box = { &boxed };
        make_boxed(i, &box);
        sum += boxed->value;
    }
    printf("%ld\n", sum);
}
"#
    .replace("ROOT", root)
}
