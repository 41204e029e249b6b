/* A local array of references is no root by itself: TALLY_ROOT_AS takes one with a type.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *nodes[4];
    for (long i = 0; i < 4; i++) nodes[i] = make(i);
    long sum = 0;
    for (long i = 0; i < 4; i++) sum += nodes[i]->value; // warned, stops
    printf("%ld\n", sum);
}
