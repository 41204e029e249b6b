/* An element of an array object is assigned plainly.
 * verify: is stored plainly to an object
 * zeal: plain store of a reference
 */
#include "node.h"

int main(void) {
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 4);
    TALLY_ROOT(nodes);
    work();
    for (long i = 0; i < 4; i++) nodes->at[i] = make(i); // warned, stops
    work();
    printf("%ld\n", nodes->at[0]->value);
}
