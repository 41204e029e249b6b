/* A value of a tag and a word is written in two stores: with the tag's the word becomes a reference, and no barrier sees it.
 * verify: is stored plainly to an object
 * zeal: plain store of a reference
 */
#include "values.h"

int main(void) {
    Values *values = TALLY_NEW_ARRAY(Values, 4);
    Node *node = NULL;
    TALLY_ROOT(values, node);
    work();
    node = make(2);
    values->at[1].as.object = node; // warned
    values->at[1].tag = NODE; // stops
    node = NULL;
    work();
    work();
    printf("%ld\n", ((Node *)values->at[1].as.object)->value);
}
