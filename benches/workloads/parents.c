/* parents: a tree whose nodes know their parents, and whose subtrees are replaced at random, small ones more often than large ones:
 * each height makes as many nodes. All garbage is cyclic, and of any age. */
#include <tally_gc.h>
#include "workload.h"

typedef struct Tree {
    struct Tree *parent, *left, *right;
    long value;
} Tree;
TALLY_TYPE(Tree, parent, left, right);

static Tree *build(Tree *parent, int height) {
    TALLY_ROOT(parent);
    Tree *tree = TALLY_NEW(Tree);
    TALLY_ROOT(tree);
    tree->value = height;
    TALLY_WRITE(tree, parent, parent);
    if (height > 0) {
        TALLY_WRITE(tree, left, build(tree, height - 1));
        TALLY_WRITE(tree, right, build(tree, height - 1));
    }
    return tree;
}

long parents(void) {
    Tree *tree = build(NULL, sizes.tree_depth);
    TALLY_ROOT(tree);
    long sum = 0;
    first_tick();
    for (int replacement = 0; replacement < sizes.replacements; replacement++) {
        /* The lowest set bit of a random number is bit n for one in 2^(n+1). */
        int height = __builtin_ctz(random_word() >> 16 | 1 << (sizes.tree_depth - 5));
        uint32_t turns = random_word();
        Tree *parent = tree;
        TALLY_ROOT(parent);
        for (int above = sizes.tree_depth - 1; above > height; above--, turns <<= 1)
            parent = turns >> 31 ? parent->left : parent->right;
        if (turns >> 31) {
            sum += parent->left->value;
            TALLY_WRITE(parent, left, build(parent, height));
            sum += parent->left->parent->value;
        } else {
            sum += parent->right->value;
            TALLY_WRITE(parent, right, build(parent, height));
            sum += parent->right->parent->value;
        }
        for (Tree *node = parent; node; node = node->parent) sum++;
        if (!(replacement & 15)) tick();
    }
    return sum;
}
