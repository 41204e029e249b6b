/* Lists of objects that are finalized after their owners die beside a tree that lives: at collections, and while the program runs. Each
 * list is finalized from its first node to its last, and nothing of the tree is lost. Prints the same in all ways. */
#include <stdio.h>
#include <tally_gc.h>

enum { LISTS = 6, LENGTH = 300 };

typedef struct Node {
    struct Node *next;
    long list, number;
} Node;
static const uint32_t references_of_node[] = {0};
static long finalized, wrong, expected[LISTS];
static void end(Node *node) {
    finalized++;
    wrong += node->number != --expected[node->list];
}
static const tally_type tally_type_Node = {
    .version = TALLY_TYPE_VERSION,
    .flags = TALLY_FINALIZE_OWNER_FIRST,
    .size = sizeof(Node),
    .ref_count = 1,
    .ref_offsets = references_of_node,
    .name = "Node",
    .finalize = (void *)end};

typedef struct Tree {
    struct Tree *left, *right;
    long depth;
} Tree;
TALLY_TYPE(Tree, left, right);

static Tree *tree(long depth) {
    if (depth == 0) return NULL;
    Tree *left = NULL, *right = NULL, *made = NULL;
    TALLY_ROOT(left, right, made);
    left = tree(depth - 1);
    right = tree(depth - 1);
    made = TALLY_NEW(Tree);
    TALLY_WRITE(made, left, left);
    TALLY_WRITE(made, right, right);
    made->depth = depth;
    return made;
}

static long sum(const Tree *tree) { return tree ? tree->depth + sum(tree->left) + sum(tree->right) : 0; }

static __attribute__((noinline)) void list_that_nobody_keeps(long number) {
    Node *first = NULL;
    TALLY_ROOT(first);
    expected[number] = LENGTH;
    for (long i = 0; i < LENGTH; i++) {
        Node *node = TALLY_NEW(Node);
        node->list = number;
        node->number = i;
        TALLY_WRITE(node, next, first);
        first = node;
    }
}

int main(void) {
    Tree *alive = tree(10), *dead = NULL;
    TALLY_ROOT(alive, dead);
    long before = sum(alive);
    for (long number = 0; number < LISTS; number++) {
        list_that_nobody_keeps(number);
        if (number % 2) tally_collect();
        for (int i = 0; i < 2000; i++) {
            dead = TALLY_NEW(Tree);
            TALLY_WRITE(dead, right, alive);
            tally_safepoint();
        }
        dead = tree(8);
    }
    tally_collect();
    printf("%ld finalized, %ld out of order, the tree is %s\n", finalized, wrong, before == sum(alive) ? "whole" : "NOT WHOLE");
}
