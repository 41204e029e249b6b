/* gcbench: trees built from the root down, through the write barrier, and from the leaves up, beside a long-lived tree and a large
 * array of numbers (after Ellis, Kovac and Boehm). */
#include <tally_gc.h>
#include "workload.h"

typedef struct Tree {
    struct Tree *left, *right;
    int i, j;
} Tree;
TALLY_TYPE(Tree, left, right);

typedef struct Numbers {
    uint64_t length;
    double at[];
} Numbers;
TALLY_DATA_ARRAY_TYPE(Numbers, length, at);

static inline Tree *new_tree(Tree *left, Tree *right) {
    TALLY_ROOT(left, right);
    Tree *tree = TALLY_NEW(Tree);
    TALLY_WRITE(tree, left, left);
    TALLY_WRITE(tree, right, right);
    tree->i = tree->j = 0;
    return tree;
}

static void populate(int depth, Tree *tree) {
    TALLY_ROOT(tree);
    if (depth <= 0) return;
    TALLY_WRITE(tree, left, new_tree(NULL, NULL));
    TALLY_WRITE(tree, right, new_tree(NULL, NULL));
    populate(depth - 1, tree->left);
    populate(depth - 1, tree->right);
}

static Tree *build(int depth) {
    if (depth <= 0) return new_tree(NULL, NULL);
    Tree *left = build(depth - 1);
    TALLY_ROOT(left);
    Tree *right = build(depth - 1);
    return new_tree(left, right);
}

static int size_of_tree(int depth) { return (1 << (depth + 1)) - 1; }

long gcbench(void) {
    int stretch_depth = 18 - sizes.depth_off, depth_max = 16 - sizes.depth_off;
    build(stretch_depth);
    Tree *long_lived = new_tree(NULL, NULL);
    TALLY_ROOT(long_lived);
    populate(depth_max, long_lived);
    Numbers *numbers = TALLY_NEW_ARRAY(Numbers, sizes.array_length);
    TALLY_ROOT(numbers);
    for (int i = 0; i < sizes.array_length / 2; i++) numbers->at[i] = 1.0 / (i + 1);

    for (int depth = 4; depth <= depth_max; depth += 2) {
        int trees = 2 * size_of_tree(stretch_depth) / size_of_tree(depth);
        for (int i = 0; i < trees; i++) populate(depth, new_tree(NULL, NULL));
        for (int i = 0; i < trees; i++) build(depth);
    }
    long sum = (long)(numbers->at[1000] * 1e6);
    for (Tree *tree = long_lived; tree; tree = tree->left) sum++;
    return sum;
}
