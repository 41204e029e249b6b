/* gcbench: trees built from the root down and from the leaves up, beside a long-lived tree and a large array of numbers. */
#include <stdlib.h>
#include "../workload.h"

typedef struct Tree {
    struct Tree *left, *right;
    int i, j;
} Tree;

static inline Tree *new_tree(Tree *left, Tree *right) {
    Tree *tree = malloc(sizeof(Tree));
    tree->left = left;
    tree->right = right;
    tree->i = tree->j = 0;
    return tree;
}

static void populate(int depth, Tree *tree) {
    if (depth <= 0) return;
    tree->left = new_tree(NULL, NULL);
    tree->right = new_tree(NULL, NULL);
    populate(depth - 1, tree->left);
    populate(depth - 1, tree->right);
}

static Tree *build(int depth) {
    if (depth <= 0) return new_tree(NULL, NULL);
    Tree *left = build(depth - 1), *right = build(depth - 1);
    return new_tree(left, right);
}

static void free_tree(Tree *tree) {
    if (!tree) return;
    free_tree(tree->left);
    free_tree(tree->right);
    free(tree);
}

static int size_of_tree(int depth) { return (1 << (depth + 1)) - 1; }

long gcbench(void) {
    int stretch_depth = 18 - sizes.depth_off, depth_max = 16 - sizes.depth_off;
    free_tree(build(stretch_depth));
    Tree *long_lived = new_tree(NULL, NULL);
    populate(depth_max, long_lived);
    double *numbers = malloc(sizes.array_length * sizeof(double));
    for (int i = 0; i < sizes.array_length / 2; i++) numbers[i] = 1.0 / (i + 1);

    for (int depth = 4; depth <= depth_max; depth += 2) {
        int trees = 2 * size_of_tree(stretch_depth) / size_of_tree(depth);
        for (int i = 0; i < trees; i++) {
            Tree *tree = new_tree(NULL, NULL);
            populate(depth, tree);
            free_tree(tree);
        }
        for (int i = 0; i < trees; i++) free_tree(build(depth));
    }
    long sum = (long)(numbers[1000] * 1e6);
    for (Tree *tree = long_lived; tree; tree = tree->left) sum++;
    return sum;
}
