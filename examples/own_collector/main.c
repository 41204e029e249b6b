/* A collector of your own on Tally's stack maps: the frames' roots are found for you, the heap is yours (heap.c).
 *
 * Nothing is allocated on Tally's heap. heap.c asks for the roots of every frame by tally_walk_roots. It could write to the slots, too; but
 * objects may not move, because compiled code keeps references in registers across a call. docs/port/own-collector.md
 * says more.
 *
 *     tally run examples/own_collector/main.c examples/own_collector/heap.c
 */
#include <stdio.h>
#include "heap.h"

static Node *tree(int depth) {
    Node *left = NULL, *right = NULL;
    TALLY_ROOT(left, right);
    if (depth) {
        left = tree(depth - 1);
        right = tree(depth - 1);
    }
    Node *node = new_node(depth);
    node->left = left;
    node->right = right;
    return node;
}

static long sum(const Node *node) { return node ? node->value + sum(node->left) + sum(node->right) : 0; }

int main(void) {
    Node *kept = NULL;
    TALLY_ROOT(kept);
    kept = tree(10);
    long sums = 0;
    for (int i = 0; i < 200; i++) {
        Node *dropped = tree(7);
        sums += sum(dropped);
    }
    printf("sum of the kept tree %ld, of those that were dropped %ld\n", sum(kept), sums);
    collect();
    printf("%ld nodes are live, whose sum is %ld; there were %s collections\n", live, sum(kept), collections > 5 ? "several" : "few");
    kept = NULL;
    collect();
    printf("%ld nodes are live\n", live);
}
