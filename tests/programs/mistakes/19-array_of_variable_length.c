/* The same with a length that is not constant.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

static long sum(int n) {
    Node *nodes[n];
    for (long i = 0; i < n; i++) nodes[i] = make(i);
    long sum = 0;
    for (long i = 0; i < n; i++) sum += nodes[i]->value; // warned, stops
    return sum;
}

int main(void) {
    printf("%ld\n", sum(4));
}
