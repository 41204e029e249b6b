/* storage: a tree of arrays with four children each, after "Are We Fast Yet". The tree lives until it is built, then
 * dies.
 */
#include "program.h"

typedef struct Tree {
    uint64_t length;
    struct Tree *at[];
} Tree;
TALLY_ARRAY_TYPE(Tree, length, at);

static int seed;
static long made;

static Tree *build(int depth) {
    made++;
    if (depth == 1) return TALLY_NEW_ARRAY(Tree, (seed = (seed * 1309 + 13849) & 65535) % 10 + 1);
    Tree *tree = TALLY_NEW_ARRAY(Tree, 4);
    TALLY_ROOT(tree);
    for (int i = 0; i < 4; i++) TALLY_WRITE(tree, at[i], build(depth - 1));
    return tree;
}

#ifdef FREED_BY_HAND
static void free_tree(Tree *tree, int depth) {
    for (int i = 0; depth > 1 && i < 4; i++) free_tree(tree->at[i], depth - 1);
    free(tree);
}
#endif

static uint64_t storage(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        seed = 74755 + (int)round;
        made = 0;
        int depth = size < 10 ? 5 : 7;
        Tree *tree = build(depth);
        TALLY_ROOT(tree);
        sum = mix(sum, made + tree->at[3]->at[2]->at[1]->at[0]->length);
        BY_HAND(free_tree(tree, depth);)
        tick();
    }
    return sum;
}
PROGRAM(storage, 3000, 10, 1)
