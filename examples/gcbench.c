/* GCBench, after John Ellis, Pete Kovac and Hans Boehm: trees built from the leaves up and from the root down, beside a long-lived
 * tree and a large array of numbers. Scaled to run in about a second.
 *
 * Shows an object type with plain data beside its references, a data array (its megabytes are never looked at), and filling
 * existing objects from the root down: every such store goes through the write barrier.
 *
 *     tally run examples/gcbench.c
 *
 * (scenario 52)
 */
#include <stdio.h>
#include <tally_gc.h>

enum { STRETCH_DEPTH = 16, LONG_LIVED_DEPTH = 14, ARRAY_LENGTH = 500000, DEPTH_MIN = 4, DEPTH_MAX = 14 };

typedef struct Node {
    struct Node *left, *right;
    int i, j;
} Node;
TALLY_TYPE(Node, left, right);

typedef struct Numbers {
    uint64_t length;
    double at[];
} Numbers;
TALLY_DATA_ARRAY_TYPE(Numbers, length, at);

static Node *new_node(Node *left, Node *right) {
    TALLY_ROOT(left, right);
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, left, left);
    TALLY_WRITE(node, right, right);
    node->i = node->j = 0;
    return node;
}

/* From the root down: gives `node` two children and goes on with them. */
static void populate(int depth, Node *node) {
    TALLY_ROOT(node);
    if (depth <= 0) return;
    TALLY_WRITE(node, left, new_node(NULL, NULL));
    TALLY_WRITE(node, right, new_node(NULL, NULL));
    populate(depth - 1, node->left);
    populate(depth - 1, node->right);
}

/* From the leaves up. */
static Node *make_tree(int depth) {
    Node *left = NULL, *right = NULL;
    TALLY_ROOT(left, right);
    if (depth > 0) {
        left = make_tree(depth - 1);
        right = make_tree(depth - 1);
    }
    return new_node(left, right);
}

static long size_of_tree(int depth) { return (1L << (depth + 1)) - 1; }

static long count(Node *tree) {
    TALLY_ROOT(tree);
    return tree ? 1 + count(tree->left) + count(tree->right) : 0;
}

int main(void) {
    Node *long_lived = NULL, *tree = NULL;
    Numbers *numbers = NULL;
    TALLY_ROOT(long_lived, tree, numbers);

    printf("stretch tree: %ld nodes\n", count(make_tree(STRETCH_DEPTH)));
    long_lived = new_node(NULL, NULL);
    populate(LONG_LIVED_DEPTH, long_lived);
    numbers = TALLY_NEW_ARRAY(Numbers, ARRAY_LENGTH);
    for (int i = 0; i < ARRAY_LENGTH / 2; i++) numbers->at[i] = 1.0 / (i + 1);

    for (int depth = DEPTH_MIN; depth <= DEPTH_MAX; depth += 2) {
        long trees = 2 * size_of_tree(STRETCH_DEPTH) / size_of_tree(depth), down = 0, up = 0;
        for (long i = 0; i < trees; i++) {
            tree = new_node(NULL, NULL);
            populate(depth, tree);
            down += count(tree);
        }
        for (long i = 0; i < trees; i++) up += count(make_tree(depth));
        printf("%ld trees of depth %d: %ld nodes top down, %ld nodes bottom up\n", trees, depth, down, up);
    }
    printf("long-lived tree: %ld nodes, numbers[1000] = %.9f\n", count(long_lived), numbers->at[1000]);
}
