/* Binary trees: the allocation benchmark of the Benchmarks Game. Many short-lived trees beside one that stays.
 *
 * Shows roots in recursion: `left` must outlive the building of `right`, and both the allocation of their parent. The dead trees
 * never cost a thing: a tree that is gone before its first epoch is neither counted nor visited.
 *
 *     tally run examples/binary_trees.c             depth 14
 *     tally run examples/binary_trees.c -- 18       another depth
 *
 * (scenario 52)
 */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

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

static long nodes(Tree *tree) {
    TALLY_ROOT(tree);
    return tree->left ? 1 + nodes(tree->left) + nodes(tree->right) : 1;
}

int main(int count, char **arguments) {
    int depth_max = count > 1 ? atoi(arguments[1]) : 14;
    if (depth_max < 4) depth_max = 4;
    printf("stretch tree of depth %d: %ld nodes\n", depth_max + 1, nodes(build(depth_max + 1)));

    Tree *long_lived = build(depth_max);
    TALLY_ROOT(long_lived);
    for (int depth = 4; depth <= depth_max; depth += 2) {
        int trees = 1 << (depth_max - depth + 4);
        long sum = 0;
        for (int i = 0; i < trees; i++) sum += nodes(build(depth));
        printf("%d trees of depth %d: %ld nodes\n", trees, depth, sum);
    }
    printf("long-lived tree of depth %d: %ld nodes\n", depth_max, nodes(long_lived));
}
