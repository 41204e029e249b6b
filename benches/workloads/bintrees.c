/* bintrees14, 16, 18: many short-lived binary trees beside one that stays. Allocation and nothing else. */
#include <tally_gc.h>
#include "workload.h"

typedef struct Tree {
    struct Tree *left, *right;
} Tree;
TALLY_TYPE(Tree, left, right);

static Tree *build(int depth) {
    Tree *left = NULL, *right = NULL;
    TALLY_ROOT(left, right);
    if (depth > 0) {
        left = build(depth - 1);
        right = build(depth - 1);
    }
    Tree *tree = TALLY_NEW(Tree);
    TALLY_WRITE(tree, left, left);
    TALLY_WRITE(tree, right, right);
    return tree;
}

static int count(Tree *tree) {
    TALLY_ROOT(tree);
    return tree->left ? 1 + count(tree->left) + count(tree->right) : 1;
}

long bintrees(int depth_max) {
    long sum = count(build(depth_max + 1));
    Tree *long_lived = build(depth_max);
    TALLY_ROOT(long_lived);
    for (int depth = 4; depth <= depth_max; depth += 2) {
        int trees = 1 << (depth_max - depth + 4);
        for (int i = 0; i < trees; i++) sum += count(build(depth));
    }
    return sum + count(long_lived);
}
