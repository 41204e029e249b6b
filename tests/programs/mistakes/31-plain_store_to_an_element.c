/* An element of an array object is assigned plainly.
 * verify: is stored plainly to an object
 * zeal: which is not live
 */
#include "node.h"

int main(void) {
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 4);
    TALLY_ROOT(nodes);
    work();
    for (long i = 0; i < 4; i++) nodes->at[i] = make(i); // warned
    work();
    printf("%ld\n", nodes->at[0]->value);
}
