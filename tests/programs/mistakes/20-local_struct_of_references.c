/* A local struct holds two references over a call.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Pair {
    Node *left, *right;
};

int main(void) {
    struct Pair pair;
    pair.left = make(1);
    pair.right = make(2);
    printf("%ld\n", pair.left->value + pair.right->value); // warned, stops
}
