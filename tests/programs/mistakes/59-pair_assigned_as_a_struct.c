/* A value of a tag and a word is assigned as a struct, which is a memcpy.
 * verify: is stored plainly to an object
 * zeal: memcpy of a reference
 */
#include "values.h"

int main(void) {
    Values *values = TALLY_NEW_ARRAY(Values, 4);
    Node *node = NULL;
    TALLY_ROOT(values, node);
    work();
    node = make(2);
    Value value = {.as.object = node, .tag = NODE};
    values->at[1] = value; // warned, stops
    node = NULL;
    work();
    work();
    printf("%ld\n", ((Node *)values->at[1].as.object)->value);
}
