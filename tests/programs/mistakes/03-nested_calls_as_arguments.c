/* h(f(), g()): nothing holds what f returned while g runs.
 * verify: from @make
 * zeal: `Node`
 */
#include "node.h"

static long sum(Node *a, Node *b) {
    return a->value + b->value; // stops
}

int main(void) {
    printf("%ld\n", sum(make(1), make(2))); // warned
}
