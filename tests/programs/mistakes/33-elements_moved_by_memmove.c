/* memmove shifts the elements of an array object to make room at the front.
 * verify: are copied into an object without the barrier
 * zeal: memcpy of a reference
 */
#include "node.h"

int main(void) {
    Nodes *from = TALLY_NEW_ARRAY(Nodes, 4), *to = NULL;
    TALLY_ROOT(from, to);
    for (long i = 0; i < 4; i++) TALLY_WRITE(from, at[i], make(i));
    to = TALLY_NEW_ARRAY(Nodes, 8);
    work();
    memmove(to->at, from->at, 4 * sizeof to->at[0]); // warned, stops
    from = NULL;
    work();
    work();
    printf("%ld\n", to->at[1]->value);
}
