/* { make(1), make(2) }: the first sits in the struct, and the struct is no root.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Pair {
    Node *left, *right;
};

int main(void) {
    struct Pair pair = {make(1), make(2)};
    printf("%ld\n", pair.left->value + pair.right->value); // warned, stops
}
