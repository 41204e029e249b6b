/* A table of objects in a global array, written plainly at a computed index.
 * verify: is stored plainly to the global variable @table
 * zeal: `Node`
 */
#include "node.h"

static Node *table[8];

int main(void) {
    for (long i = 0; i < 8; i++) table[i] = make(i); // warned
    printf("%ld\n", table[3]->value); // stops
}
