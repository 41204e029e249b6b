/* References in an array from malloc.
 * verify: is stored plainly to memory from malloc
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node **nodes = malloc(4 * sizeof *nodes);
    for (long i = 0; i < 4; i++) nodes[i] = make(i); // warned
    printf("%ld\n", nodes[0]->value); // stops
    free(nodes);
}
