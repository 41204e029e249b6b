/* bintrees14, 16, 18: many short-lived binary trees beside one that stays. */
#include <stdlib.h>
#include "../workload.h"

typedef struct Tree {
    struct Tree *left, *right;
} Tree;

static Tree *build(int depth) {
    Tree *tree = malloc(sizeof(Tree));
    tree->left = depth > 0 ? build(depth - 1) : NULL;
    tree->right = depth > 0 ? build(depth - 1) : NULL;
    return tree;
}

static int count(Tree *tree) { return tree->left ? 1 + count(tree->left) + count(tree->right) : 1; }

static void free_tree(Tree *tree) {
    if (tree->left) {
        free_tree(tree->left);
        free_tree(tree->right);
    }
    free(tree);
}

long bintrees(int depth_max) {
    Tree *stretch = build(depth_max + 1);
    long sum = count(stretch);
    free_tree(stretch);
    Tree *long_lived = build(depth_max);
    for (int depth = 4; depth <= depth_max; depth += 2) {
        int trees = 1 << (depth_max - depth + 4);
        for (int i = 0; i < trees; i++) {
            Tree *tree = build(depth);
            sum += count(tree);
            free_tree(tree);
        }
    }
    return sum + count(long_lived);
}
