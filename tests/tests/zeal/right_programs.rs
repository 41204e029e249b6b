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
