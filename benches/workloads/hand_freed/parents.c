/* parents: a tree whose nodes know their parents, and whose subtrees are replaced at random. */
#include <stdlib.h>
#include "../workload.h"

typedef struct Tree {
    struct Tree *parent, *left, *right;
    long value;
} Tree;

static Tree *build(Tree *parent, int height) {
    Tree *tree = malloc(sizeof(Tree));
    tree->parent = parent;
    tree->value = height;
    tree->left = height > 0 ? build(tree, height - 1) : NULL;
    tree->right = height > 0 ? build(tree, height - 1) : NULL;
    return tree;
}

static void free_tree(Tree *tree) {
    if (tree->left) {
        free_tree(tree->left);
        free_tree(tree->right);
    }
    free(tree);
}

long parents(void) {
    Tree *tree = build(NULL, sizes.tree_depth);
    long sum = 0;
    first_tick();
    for (int replacement = 0; replacement < sizes.replacements; replacement++) {
        /* The lowest set bit of a random number is bit n for one in 2^(n+1). */
        int height = __builtin_ctz(random_word() >> 16 | 1 << (sizes.tree_depth - 5));
        uint32_t turns = random_word();
        Tree *parent = tree;
        for (int above = sizes.tree_depth - 1; above > height; above--, turns <<= 1)
            parent = turns >> 31 ? parent->left : parent->right;
        Tree **place = turns >> 31 ? &parent->left : &parent->right;
        sum += (*place)->value;
        free_tree(*place);
        *place = build(parent, height);
        sum += (*place)->parent->value;
        for (Tree *node = parent; node; node = node->parent) sum++;
        if (!(replacement & 15)) tick();
    }
    return sum;
}
